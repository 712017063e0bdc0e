// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Accesses to configuration space that have effects: function-level reset, power states, VPD, and
// the gateway to registers, which firmware tools use.
#include <linux/pci_regs.h>

#include "adapter_function.hpp"

namespace freehca::device_server {
namespace {

constexpr unsigned device_control_at = express_at + PCI_EXP_DEVCTL;
constexpr unsigned power_control_at = power_management_at + PCI_PM_CTRL;
constexpr std::uint32_t d3hot = 3;

constexpr bool overlaps(unsigned offset, unsigned size, unsigned at, unsigned bytes) {
  return offset < at + bytes && at < offset + size;
}

}  // namespace

// Whether the gateway's address is in BAR 0, including the MSI-X table. Memory decoding may be off.
bool adapter_function::gateway_reaches(std::uint32_t& address) const {
  address = space_.read(gateway_address_at, 4);
  return address < register_bar_bytes && address % 4 == 0;
}

std::uint32_t adapter_function::read_configuration(unsigned offset, unsigned size) {
  if (!there()) return 0xffffffff;
  std::uint32_t address = 0;
  if (offset == gateway_data_at && size == 4)
    return gateway_reaches(address) ? static_cast<std::uint32_t>(read_registers(address, 4))
                                    : 0xffffffff;
  return space_.read(offset, size);
}

void adapter_function::power_state_written(std::uint32_t before) {
  const std::uint32_t now = space_.read(power_control_at, 2);
  const std::uint32_t state = now & PCI_PM_CTRL_STATE_MASK;
  before &= PCI_PM_CTRL_STATE_MASK;
  if (state != 0 && state != d3hot) {
    // D1 and D2 are not supported, so such a write has no effect.
    space_.set(power_control_at, (now & ~std::uint32_t{PCI_PM_CTRL_STATE_MASK}) | before, 2);
  } else if (before == d3hot && state == 0 && (now & PCI_PM_CTRL_NO_SOFT_RESET) == 0) {
    reset(false);
  }
}

void adapter_function::write_configuration(unsigned offset, std::uint32_t value, unsigned size) {
  if (!there()) return;
  const std::uint32_t power = space_.read(power_control_at, 2);
  space_.write(offset, value, size);
  if (overlaps(offset, size, vpd_at + PCI_VPD_ADDR, 2)) product_data_.address_written(space_);
  std::uint32_t address = 0;
  if (offset == gateway_data_at && size == 4 && gateway_reaches(address))
    write_registers(address, value, 4);
  if (overlaps(offset, size, power_control_at, 2)) power_state_written(power);
  interrupts_.registers_changed();
  // The reset comes last, because it clears the other effects of the write.
  const unsigned high = device_control_at + 1;
  const std::uint32_t flr_bit = PCI_EXP_DEVCTL_BCR_FLR >> 8;
  if (how_.configuration.function_level_reset && overlaps(offset, size, high, 1) &&
      (value >> (8 * (high - offset)) & flr_bit) != 0)
    reset(true);
}

}  // namespace freehca::device_server
