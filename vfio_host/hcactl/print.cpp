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
