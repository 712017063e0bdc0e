// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/pci_function.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <freehca/layouts/pci_devices.hpp>

namespace freehca::vfio_host {
namespace {

namespace fs = std::filesystem;

std::uint16_t read_hex(const fs::path& file) {
  std::ifstream in(file);
  unsigned value = 0;
  in >> std::hex >> value;
  return static_cast<std::uint16_t>(value);
}

std::string target_name(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? std::string() : target.filename().string();
}

}  // namespace

const char* pci_function::model() const {
  const layouts::pci_device* known = layouts::find_pci_device(vendor, device);
  return known == nullptr ? nullptr : known->name;
}

outcome<pci_function> sysfs::read(const pci_address& address) const {
  const fs::path at = fs::path(root) / "bus/pci/devices" / address.text();
  std::error_code error;
  if (!fs::exists(at, error))
    return failure{
        trouble::absent,
        fmt::format(
            "there is no PCI function {} in this machine; hcactl list shows the adapters that "
            "there are, and 'echo 1 > /sys/bus/pci/rescan' looks for new ones",
            address.text())};
  pci_function f;
  f.address = address;
  f.vendor = read_hex(at / "vendor");
  f.device = read_hex(at / "device");
  f.subsystem_vendor = read_hex(at / "subsystem_vendor");
  f.subsystem = read_hex(at / "subsystem_device");
  f.driver = target_name(at / "driver");
  // Linux Documentation/ABI/testing/sysfs-devices-vfio-dev. Linux 6.1 has the folder without
  // character devices; then its entry has no file `dev`.
  for (const auto& entry : fs::directory_iterator(at / "vfio-dev", error))
    if (fs::exists(entry.path() / "dev", error))
      f.character_device = entry.path().filename().string();
  const std::string group = target_name(at / "iommu_group");
  unsigned number = 0;
  if (!group.empty() &&
      std::from_chars(group.data(), group.data() + group.size(), number).ec == std::errc()) {
    f.group = number;
    for (const auto& member : fs::directory_iterator(at / "iommu_group/devices", error)) {
      const std::string name = member.path().filename().string();
      if (name == address.text()) continue;
      const std::string driver = target_name(member.path() / "driver");
      f.others.push_back(fmt::format("{} ({})", name, driver.empty() ? "no driver" : driver));
    }
    std::sort(f.others.begin(), f.others.end());
  }
  return f;
}

std::vector<pci_function> sysfs::adapters() const {
  std::vector<pci_function> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "bus/pci/devices", error)) {
    const auto address = parse_pci_address(entry.path().filename().string());
    if (!address) continue;
    const auto f = read(*address);
    if (f && f->model() != nullptr) found.push_back(*f);
  }
  std::sort(found.begin(), found.end(), [](const pci_function& a, const pci_function& b) {
    return a.address.text() < b.address.text();
  });
  return found;
}

std::string how_to_bind(const pci_address& address) {
  const std::string a = address.text();
  return fmt::format(
      "  modprobe vfio-pci\n"
      "  echo vfio-pci > /sys/bus/pci/devices/{0}/driver_override\n"
      "  [ ! -e /sys/bus/pci/devices/{0}/driver ] || echo {0} > "
      "/sys/bus/pci/devices/{0}/driver/unbind\n"
      "  echo {0} > /sys/bus/pci/drivers_probe",
      a);
}

std::optional<failure> unusable(const pci_function& f) {
  const std::string a = f.address.text();
  if (f.model() == nullptr)
    return failure{
        trouble::not_mlx4,
        fmt::format(
            "{} is {:04x}:{:04x}, which is no ConnectX-2, ConnectX-3 or ConnectX-3 Pro physical "
            "function; hcactl list shows those of this machine",
            a, f.vendor, f.device)};
  if (!f.group)
    return failure{
        trouble::no_iommu,
        fmt::format(
            "{} is in no IOMMU group: this machine has no IOMMU, or it is off; switch it on in the "
            "firmware's setup, and on Intel machines boot the kernel with intel_iommu=on",
            a)};
  if (f.driver != "vfio-pci")
    return failure{
        trouble::wrong_driver,
        fmt::format("{} is bound to {}; give it to vfio-pci (as root; its users lose it):\n{}", a,
                    f.driver.empty() ? "no driver" : f.driver, how_to_bind(f.address))};
  return std::nullopt;
}

}  // namespace freehca::vfio_host
