// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "print.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace freehca::hcactl {

nlohmann::json to_json(const vfio_host::pci_function& f) {
  nlohmann::json j = {
      {"address", f.address.text()},
      {"pci_id", fmt::format("{:04x}:{:04x}", f.vendor, f.device)},
      {"pci_subsystem", fmt::format("{:04x}:{:04x}", f.subsystem_vendor, f.subsystem)},
      {"model", f.model() != nullptr ? f.model() : ""},
      {"driver", f.driver},
      {"group_others", f.others}};
  j["iommu_group"] = f.group ? nlohmann::json(*f.group) : nlohmann::json();
  return j;
}

std::string to_text(const vfio_host::pci_function& f) {
  return fmt::format(
      "{}  {:04x}:{:04x}  {:<16} driver {}, {}\n", f.address.text(), f.vendor, f.device,
      f.model() != nullptr ? f.model() : "not mlx4-class", f.driver.empty() ? "none" : f.driver,
      f.group ? fmt::format("IOMMU group {}{}", *f.group, f.others.empty() ? "" : ", shared")
              : std::string("no IOMMU group"));
}

std::string to_text(const vfio_host::pci_function& f, vfio_host::door way) {
  const std::string file =
      way == vfio_host::door::iommufd
          ? (f.character_device.empty() ? "no character device" : f.character_device_path())
          : fmt::format("/dev/vfio/{}", f.group.value_or(0));
  return fmt::format("{}, {}", vfio_host::name_of(way), file);
}

void add_door(nlohmann::json& to, const vfio_host::pci_function& f, vfio_host::door way) {
  if (f.driver == "vfio-pci" && f.group) to["door"] = vfio_host::name_of(way);
  else to["door"] = nullptr;
}

nlohmann::json to_json(const vfio_host::function_details& d) {
  nlohmann::json j = nlohmann::json::object();
  const auto add = [](nlohmann::json& to, const char* name, const std::string& value) {
    if (!value.empty()) to[name] = value;
  };
  add(j, "revision", d.revision);
  add(j, "link_speed", d.link_speed);
  add(j, "link_width", d.link_width);
  add(j, "link_speed_at_most", d.greatest_link_speed);
  add(j, "link_width_at_most", d.greatest_link_width);
  nlohmann::json kernel = nlohmann::json::object();
  add(kernel, "rdma_device", d.rdma_device);
  add(kernel, "firmware", d.firmware);
  add(kernel, "board", d.board);
  add(kernel, "node_guid", d.node_guid);
  add(kernel, "system_image_guid", d.system_image_guid);
  for (const vfio_host::kernel_port& p : d.ports) {
    nlohmann::json port{{"number", p.number}};
    add(port, "link_layer", p.link_layer);
    add(port, "state", p.state);
    add(port, "physical_state", p.physical_state);
    add(port, "rate", p.rate);
    add(port, "lid", p.lid);
    add(port, "sm_lid", p.sm_lid);
    kernel["ports"].push_back(std::move(port));
  }
  for (const vfio_host::kernel_interface& i : d.interfaces)
    kernel["interfaces"].push_back({{"name", i.name}, {"address", i.address}, {"state", i.state}});
  if (!kernel.empty()) j["kernel"] = std::move(kernel);
  return j;
}

std::string to_text(const vfio_host::function_details& d) {
  std::string text;
  if (!d.revision.empty()) text += fmt::format("revision   {}\n", d.revision);
  if (!d.link_speed.empty())
    text += fmt::format("PCIe link  {} x{}, at most {} x{}\n", d.link_speed, d.link_width,
                        d.greatest_link_speed, d.greatest_link_width);
  if (!d.rdma_device.empty())
    text +=
        fmt::format("kernel     {}: firmware {}, board {}, node GUID {}, system image GUID {}\n",
                    d.rdma_device, d.firmware, d.board, d.node_guid, d.system_image_guid);
  for (const vfio_host::kernel_port& p : d.ports)
    text += fmt::format("           port {}: {}, {}, {}, {}, LID {}, SM LID {}\n", p.number,
                        p.link_layer, p.state, p.physical_state, p.rate, p.lid, p.sm_lid);
  for (const vfio_host::kernel_interface& i : d.interfaces)
    text += fmt::format("           interface {}: {}, {}\n", i.name, i.address, i.state);
  return text;
}

std::string command_line_for(const std::string& command, const std::string& address,
                             const std::string& option) {
  const std::string line = address.find('/') == std::string::npos
                               ? fmt::format("hcactl {} {}", command, address)
                               : fmt::format("hcactl --vfio-user {} {}", address, command);
  return option.empty() ? line : line + " " + option;
}

int report(const vfio_host::failure& why, bool json, nlohmann::json document) {
  const int code = static_cast<int>(why.kind);
  if (json) {
    document["error"] = why.message;
    document["code"] = code;
    fmt::print("{}\n", document.dump(2));
  }
  fmt::print(stderr, "hcactl: {}\n", why.message);
  return code;
}

vfio_host::failure cannot_write(const std::string& file) {
  return {vfio_host::trouble::system,
          fmt::format("{} cannot be written: {}", file, std::strerror(errno))};
}

}  // namespace freehca::hcactl
