// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tree.hpp"

#include <unistd.h>

#include <cstdio>

namespace freehca::ibverbs_files {
namespace {

std::string hexadecimal(std::uint64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

/// Groups of four digits with colons.
std::string grouped(const std::uint8_t* bytes, unsigned count) {
  std::string text;
  for (unsigned i = 0; i != count; i += 2) {
    if (i != 0) text += ':';
    text += hexadecimal(static_cast<unsigned>(bytes[i]) << 8 | bytes[i + 1], 4);
  }
  return text;
}

std::string guid_text(std::uint64_t guid) {
  std::uint8_t bytes[8];
  for (unsigned i = 0; i != 8; ++i) bytes[i] = static_cast<std::uint8_t>(guid >> (56 - 8 * i));
  return grouped(bytes, 8);
}

/// All processors of the machine, in groups of 32 bits, highest group first.
std::string processor_mask(long count) {
  std::string text;
  for (long group = (count - 1) / 32; group >= 0; --group) {
    const long bits = count - group * 32 < 32 ? count - group * 32 : 32;
    if (!text.empty()) text += ',';
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    text += hexadecimal(mask, text.empty() ? static_cast<int>((bits + 3) / 4) : 8);
  }
  return text;
}

class builder {
 public:
  explicit builder(tree& to) : to_(to) { to_["/"] = {}; }

  void folder(const std::string& path) {
    for (std::size_t end = path.find('/', 1); end != std::string::npos;
         end = path.find('/', end + 1))
      to_.try_emplace(path.substr(0, end));
    to_.try_emplace(path);
  }

  void file(const std::string& path, std::string text) {
    add(path, {kind::file, std::move(text) + "\n"});
  }

  void link(const std::string& path, std::string target) {
    add(path, {kind::link, std::move(target)});
  }

  void device(const std::string& path) { add(path, {kind::device}); }

 private:
  void add(const std::string& path, node what) {
    folder(path.substr(0, path.rfind('/')));
    to_[path] = std::move(what);
  }

  tree& to_;
};

void add_counters(builder& to, const std::string& folder,
                  const std::vector<counter_facts>& counters) {
  to.folder(folder);
  for (const counter_facts& c : counters) to.file(folder + "/" + c.name, std::to_string(c.value));
}

void add_port(builder& to, const std::string& folder, const port_facts& port) {
  to.file(folder + "/state", port.state);
  to.file(folder + "/phys_state", port.physical_state);
  to.file(folder + "/rate", port.rate);
  to.file(folder + "/link_layer", port.link_layer);
  to.file(folder + "/lid", "0x" + hexadecimal(port.lid, 1));
  to.file(folder + "/sm_lid", "0x" + hexadecimal(port.sm_lid, 1));
  to.file(folder + "/lid_mask_count", std::to_string(port.lid_mask_count));
  to.file(folder + "/sm_sl", std::to_string(port.sm_sl));
  to.file(folder + "/cap_mask", "0x" + hexadecimal(port.capability_mask, 8));
  for (const char* name : {"/gids", "/pkeys", "/gid_attrs/types", "/gid_attrs/ndevs"})
    to.folder(folder + name);
  for (std::size_t i = 0; i != port.gids.size(); ++i) {
    const gid_facts& gid = port.gids[i];
    const std::string number = std::to_string(i);
    to.file(folder + "/gids/" + number, grouped(gid.raw.data(), 16));
    if (!gid.type.empty()) to.file(folder + "/gid_attrs/types/" + number, gid.type);
    if (!gid.network_device.empty())
      to.file(folder + "/gid_attrs/ndevs/" + number, gid.network_device);
  }
  for (std::size_t i = 0; i != port.pkeys.size(); ++i)
    to.file(folder + "/pkeys/" + std::to_string(i), "0x" + hexadecimal(port.pkeys[i], 4));
  add_counters(to, folder + "/counters", port.counters);
  add_counters(to, folder + "/hw_counters", port.hardware_counters);
}

/// The interface of an Ethernet port, with the files by which tools find its port. Linux 6.1
/// net/core/net-sysfs.c has their forms.
void add_network_device(builder& to, const std::string& folder, const port_facts& port,
                        unsigned index) {
  constexpr const char* arphrd_ether = "1";
  std::string address;
  for (const std::uint8_t byte : port.mac)
    address += (address.empty() ? "" : ":") + hexadecimal(byte, 2);
  to.file(folder + "/address", address);
  to.file(folder + "/dev_id", "0x" + hexadecimal(index, 1));
  to.file(folder + "/dev_port", std::to_string(index));
  to.file(folder + "/type", arphrd_ether);
  to.link(folder + "/device", std::string("../../../") + pci_address);
}

/// `function`: the folder, as seen from /sys.
void add_pci_function(builder& to, const std::string& function, const device_facts& facts) {
  const std::string folder = "/sys/" + function;
  to.file(folder + "/vendor", "0x" + hexadecimal(facts.vendor, 4));
  to.file(folder + "/device", "0x" + hexadecimal(facts.device, 4));
  to.file(folder + "/revision", "0x" + hexadecimal(facts.revision, 2));
  to.file(folder + "/current_link_speed", facts.link_speed);
  to.file(folder + "/current_link_width", std::to_string(facts.link_width));
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  to.file(folder + "/local_cpus", processor_mask(processors));
  to.file(folder + "/local_cpulist",
          processors > 1 ? "0-" + std::to_string(processors - 1) : std::string("0"));
  to.file(folder + "/numa_node", "-1");
  to.link(std::string("/sys/bus/pci/devices/") + pci_address, "../../../" + function);
  to.folder("/sys/bus/pci/drivers/mlx4_core");
  to.link(folder + "/driver", "../../../bus/pci/drivers/mlx4_core");
}

void add_infiniband_device(builder& to, const std::string& folder, const device_facts& facts) {
  to.link(folder + "/device", std::string("../../../") + pci_address);
  to.file(folder + "/node_type", "1: CA");
  to.file(folder + "/node_guid", guid_text(facts.node_guid));
  to.file(folder + "/sys_image_guid", guid_text(facts.system_image_guid));
  to.file(folder + "/fw_ver", facts.firmware_version);
  to.file(folder + "/hca_type", "MT" + std::to_string(facts.device));
  to.file(folder + "/board_id", facts.board_id);
  to.file(folder + "/hw_rev", hexadecimal(facts.revision, 1));
  to.file(folder + "/node_desc", facts.node_description);
  for (unsigned i = 0; i != facts.port_count && i != facts.ports.size(); ++i)
    add_port(to, folder + "/ports/" + std::to_string(i + 1), facts.ports[i]);
}

}  // namespace

tree tree_of(const device_facts& facts) {
  tree all;
  builder to(all);
  const std::string function = "devices/pciffff:00/" + std::string(pci_address);
  const std::string infiniband = function + "/infiniband/" + facts.name;
  const std::string uverbs = function + "/infiniband_verbs/" + facts.uverbs_name;
  add_pci_function(to, function, facts);
  add_infiniband_device(to, "/sys/" + infiniband, facts);
  to.link("/sys/class/infiniband/" + facts.name, "../../" + infiniband);
  for (unsigned i = 0; i != facts.port_count && i != facts.ports.size(); ++i)
    if (const port_facts& port = facts.ports[i]; !port.network_device.empty())
      add_network_device(to, "/sys/" + function + "/net/" + port.network_device, port, i);

  to.link("/sys/" + uverbs + "/device", std::string("../../../") + pci_address);
  to.file("/sys/" + uverbs + "/ibdev", facts.name);
  to.file("/sys/" + uverbs + "/abi_version", "1");
  to.file("/sys/" + uverbs + "/dev",
          std::to_string(device_major) + ":" + std::to_string(device_minor));
  to.link("/sys/class/infiniband_verbs/" + facts.uverbs_name, "../../" + uverbs);
  to.file("/sys/class/infiniband_verbs/abi_version", "6");
  to.device("/dev/infiniband/" + facts.uverbs_name);
  return all;
}

}  // namespace freehca::ibverbs_files
