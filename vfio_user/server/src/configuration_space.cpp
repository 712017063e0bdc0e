// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "configuration_space.hpp"

#include <linux/pci_regs.h>

namespace freehca::device_server {
namespace {

void put(std::array<std::uint8_t, configuration_space::bytes>& to, unsigned offset,
         std::uint32_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) to[offset + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

}  // namespace

configuration_space::configuration_space(const configuration_options& how) : has_msix_(how.msix) {
  make_header(how);
  make_capabilities(how);
  power_on_ = now_;
}

std::uint32_t configuration_space::read(unsigned offset, unsigned size) const {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < size; ++i) value |= std::uint32_t{now_[offset + i]} << (8 * i);
  return value;
}

void configuration_space::set(unsigned offset, std::uint32_t value, unsigned size) {
  put(now_, offset, value, size);
  ++changes_;
}

void configuration_space::write(unsigned offset, std::uint32_t value, unsigned size) {
  ++changes_;
  for (unsigned i = 0; i < size; ++i) {
    const unsigned at = offset + i;
    const auto given = static_cast<std::uint8_t>(value >> (8 * i));
    const unsigned kept = now_[at] & ~unsigned{writable_[at]};
    now_[at] = static_cast<std::uint8_t>((kept | (given & writable_[at])) &
                                         ~(unsigned{given} & cleared_[at]));
  }
}

void configuration_space::reset(bool function_level) {
  ++changes_;
  const std::uint32_t payload = read(express_at + PCI_EXP_DEVCTL, 2) & PCI_EXP_DEVCTL_PAYLOAD;
  const std::uint32_t link_control = read(express_at + PCI_EXP_LNKCTL, 2);
  now_ = power_on_;
  if (!function_level) return;
  // Values that a function-level reset does not change (PCIe 3.0, 6.6.2).
  const std::uint32_t control = read(express_at + PCI_EXP_DEVCTL, 2);
  set(express_at + PCI_EXP_DEVCTL, (control & ~std::uint32_t{PCI_EXP_DEVCTL_PAYLOAD}) | payload, 2);
  set(express_at + PCI_EXP_LNKCTL, link_control, 2);
}

bool configuration_space::in_d0() const {
  return (read(power_management_at + PCI_PM_CTRL, 2) & PCI_PM_CTRL_STATE_MASK) == 0;
}

void configuration_space::show_intx(bool asserted) {
  const std::uint32_t status = read(PCI_STATUS, 2);
  const std::uint32_t bit = PCI_STATUS_INTERRUPT;
  set(PCI_STATUS, asserted ? status | bit : status & ~bit, 2);
}

void configuration_space::enable_msix(bool enabled) {
  const std::uint32_t control = read(msix_at + PCI_MSIX_FLAGS, 2);
  const std::uint32_t bit = PCI_MSIX_FLAGS_ENABLE;
  set(msix_at + PCI_MSIX_FLAGS, enabled ? control | bit : control & ~bit, 2);
}

void configuration_space::may_write(unsigned offset, std::uint32_t mask, unsigned size) {
  put(writable_, offset, mask, size);
}

void configuration_space::clears(unsigned offset, std::uint32_t mask, unsigned size) {
  put(cleared_, offset, mask, size);
}

void configuration_space::make_header(const configuration_options& how) {
  const identity& card = *how.card;
  set(PCI_VENDOR_ID, vendor_id, 2);
  set(PCI_DEVICE_ID, how.device_id != 0 ? how.device_id : card.device_id, 2);
  may_write(PCI_COMMAND,
            PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_SERR |
                PCI_COMMAND_INTX_DISABLE,
            2);
  set(PCI_STATUS, PCI_STATUS_CAP_LIST, 2);
  set(PCI_CLASS_REVISION, how.class_code << 8 | card.revision, 4);
  may_write(PCI_CACHE_LINE_SIZE, 0xff, 1);
  set(PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_MEM_TYPE_64, 4);
  may_write(PCI_BASE_ADDRESS_0, static_cast<std::uint32_t>(~(register_bar_bytes - 1)), 4);
  may_write(PCI_BASE_ADDRESS_1, 0xffffffff, 4);
  set(PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH, 4);
  may_write(PCI_BASE_ADDRESS_2, static_cast<std::uint32_t>(~(how.bar2_bytes - 1)), 4);
  may_write(PCI_BASE_ADDRESS_3, 0xffffffff, 4);
  set(PCI_SUBSYSTEM_VENDOR_ID, vendor_id, 2);
  set(PCI_SUBSYSTEM_ID, card.subsystem_id[how.ports - 1], 2);
  set(PCI_CAPABILITY_LIST, power_management_at, 1);
  may_write(PCI_INTERRUPT_LINE, 0xff, 1);
  set(PCI_INTERRUPT_PIN, 1, 1);
}

}  // namespace freehca::device_server
