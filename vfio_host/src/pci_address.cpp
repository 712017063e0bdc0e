// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/pci_address.hpp>

#include <charconv>

#include <fmt/format.h>

namespace freehca::vfio_host {
namespace {

// Parses a hexadecimal number of at most `digits` digits and at most `last`, and the character that
// must follow it.
bool take(std::string_view& text, std::size_t digits, unsigned last, char behind, unsigned& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || length == 0 || length > digits || value > last) return false;
  text.remove_prefix(length);
  if (behind == '\0') return text.empty();
  if (text.empty() || text.front() != behind) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string pci_address::text() const {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

outcome<pci_address> parse_pci_address(std::string_view text) {
  const std::string_view given = text;
  pci_address a;
  bool sound = text.size() <= 16;
  if (sound && text.find(':') != text.rfind(':')) sound = take(text, 8, 0xffffffff, ':', a.domain);
  sound = sound && take(text, 2, 0xff, ':', a.bus) && take(text, 2, 0x1f, '.', a.device) &&
          take(text, 1, 7, '\0', a.function);
  if (!sound)
    return failure{
        trouble::malformed_address,
        fmt::format(
            "'{}' is not a PCI address; write domain:bus:device.function in hexadecimal, such as "
            "0000:03:00.0 (hcactl list shows the adapters of this machine)",
            given)};
  return a;
}

}  // namespace freehca::vfio_host
