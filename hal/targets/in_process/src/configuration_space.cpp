// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/in_process/configuration_space.hpp>

namespace freehca::in_process {

// The values are those of captured headers (docs/hardware-pci.md, "PCI identity"). The capability
// chain is 40 PM, 48 VPD, 9c MSI-X, 60 Express. Values that no capture shows are zero.
configuration_space::configuration_space(model::variant kind, unsigned ports) {
  const std::uint32_t device = kind == model::variant::connectx2   ? 0x673c
                               : kind == model::variant::connectx3 ? 0x1003
                                                                   : 0x1007;
  power_on_[0x00 / 4] = device << 16 | 0x15b3;
  power_on_[0x04 / 4] = 0x00100000;  // has a capability list
  const bool older = kind == model::variant::connectx2;
  power_on_[0x08 / 4] = older ? 0x0c0600b0 : 0x02800000;
  power_on_[0x10 / 4] = 0x4;  // 64-bit
  power_on_[0x18 / 4] = 0xc;  // 64-bit, prefetchable
  const std::uint32_t one_port = older ? 0x0022 : 0x0051;
  power_on_[0x2c / 4] = (ports == 1 ? one_port : one_port - 1) << 16 | 0x15b3;
  power_on_[0x34 / 4] = 0x40;
  power_on_[0x3c / 4] = 0x00000100;
  power_on_[0x40 / 4] = 0x00034801;  // PM, next 48
  power_on_[0x48 / 4] = 0x00009c03;  // VPD, next 9c
  power_on_[0x9c / 4] = 0x007f6011;  // MSI-X, next 60, 128 vectors
  power_on_[0xa0 / 4] = 0x0007c000;
  power_on_[0xa4 / 4] = 0x0007d000;
  power_on_[0x60 / 4] = 0x00020010;  // Express, the last
  now_ = power_on_;
  configure_as_firmware_does();
}

void configuration_space::write(unsigned offset, std::uint32_t value) {
  const unsigned i = offset / 4 % 64;
  switch (i) {
    case 0x00 / 4:
    case 0x08 / 4:
    case 0x2c / 4:
    case 0x34 / 4:
      return;
    case command / 4:
      now_[i] = (now_[i] & 0xffff0000) | (value & 0x0547);
      return;
    case bar0 / 4:
      now_[i] = (value & 0xfff00000) | 0x4;
      return;
    case bar2 / 4:
      now_[i] = (value & 0xff800000) | 0xc;
      return;
    case 0x58 / 4:
    case 0x5c / 4:
      ++gateway_writes_;
      return;
    default:
      now_[i] = value;
  }
}

void configuration_space::wipe() {
  now_ = power_on_;
}

void configuration_space::configure_as_firmware_does() {
  now_[bar0 / 4] = bar0_value;
  now_[bar2 / 4] = bar2_value;
  now_[1] |= command_memory;
  now_[0x0c / 4] = 0x08;
  now_[0x3c / 4] = 0x010b;
  now_[0x68 / 4] = 0x00005020;  // Express device control: maximum read request 4096, payload 256
}

void configuration_space::set_bus_master(bool allowed) {
  now_[1] = (now_[1] & ~command_master) | (allowed ? command_master : 0);
}

}  // namespace freehca::in_process
