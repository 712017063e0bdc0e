// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Configuration space, from the PCI specification. Source for the dwords that are not saved:
// illumos hermon.c.
#include <freehca/hca/pci_function.hpp>

namespace freehca {

namespace {

constexpr unsigned command = 0x04, capabilities = 0x34;
constexpr std::uint32_t command_master = 1u << 2;
constexpr unsigned vital_product_data = 0x03;

/// The address and data registers at 0x58 and 0x5c (gateway). A read or a write of them acts on the
/// device.
constexpr bool is_gateway(unsigned dword) {
  return dword == 22 || dword == 23;
}

}  // namespace

void pci_function::open(const platform& given, const platform_operations& known) {
  if (given.context != context_ || given.operations != given_) wiped_ = saved_whole_ = false;
  context_ = given.context;
  given_ = given.operations;
  known_ = &known;
}

status pci_function::set_bus_master(bool allowed) const {
  std::uint32_t v = 0;
  if (known_->set_bus_master != nullptr) {
    FREEHCA_TRY(known_->set_bus_master(context_, allowed));
  } else {
    FREEHCA_TRY(read(command, v));
    // The upper half is the status register. Writing ones clears its bits.
    v &= 0xffff & ~command_master;
    FREEHCA_TRY(known_->write_configuration(context_, command, v | (allowed ? command_master : 0)));
  }
  // All earlier writes of the device arrive before the answer to a read (PCI Express ordering: a
  // completion does not pass posted writes).
  return allowed ? status() : read(command, v);
}

status pci_function::reset() {
  if (known_->reset_function == nullptr) return driver_error::unsupported;
  FREEHCA_TRY(known_->reset_function(context_));
  wiped_ = false;
  return {};
}

status pci_function::save() {
  for (unsigned i = 0; i < dwords && !wiped_; ++i)
    if (!is_gateway(i)) FREEHCA_TRY(read(i * 4, saved_[i]));
  saved_whole_ = true;
  return {};
}

bool pci_function::answers() const {
  std::uint32_t v = 0;
  return read(identity, v).ok() && (v & 0xffff) != 0xffff;
}

/// Writes all saved dwords except the gateway and the address of vital product data, whose flag
/// would start a write. The command register is last, when everything that it enables is in place.
status pci_function::restore() {
  const auto byte = [this](unsigned at) { return saved_[at / 4] >> at % 4 * 8 & 0xff; };
  unsigned product_data = dwords;
  unsigned at = byte(capabilities) & 0xfc;
  for (unsigned i = 0; at >= 0x40 && i < dwords; ++i, at = byte(at + 1) & 0xfc)
    if (byte(at) == vital_product_data) product_data = at / 4;
  for (unsigned i = 0; i < dwords; ++i)
    if (!is_gateway(i) && i != product_data && i != command / 4)
      FREEHCA_TRY(known_->write_configuration(context_, i * 4, saved_[i]));
  FREEHCA_TRY(known_->write_configuration(context_, command,
                                          saved_[command / 4] & 0xffff & ~command_master));
  if (known_->restore_after_reset != nullptr) FREEHCA_TRY(known_->restore_after_reset(context_));
  wiped_ = false;
  return {};
}

status pci_function::repair() {
  if (!wiped_) return {};
  std::uint32_t v = 0;
  FREEHCA_TRY(read(identity, v));
  return answers() ? restore() : status(transport_error::gone);
}

}  // namespace freehca
