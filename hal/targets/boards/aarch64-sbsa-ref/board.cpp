// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// QEMU's machine "sbsa-ref": its constants are all that is known of it, and nothing has to be set
// up ahead. What is missing is told by the name it has in constants.hpp.
#include "board.hpp"

#include <freehca/hal/cache.hpp>
#include <freehca/hal/status.hpp>

#include "constants.hpp"

namespace freehca::bare {
namespace {

constexpr const char* pci_step = "looking for the PCI host bridge";

}  // namespace

/// No loader is needed, so nothing is looked for at `handed_over`. A board whose firmware leaves
/// the serial line switched off does here what has to be done ahead: clock, pins, rate.
void board::find_console(const std::byte*, device_tree::serial_line& to) noexcept {
  to.assume(constants::console_kind, constants::console, constants::console_register_step,
            constants::console_access);
}

/// Checks the constants: memory is known, and `image` lies in it. A board that learns its memory
/// only at run time asks its firmware in this function.
trouble board::read(std::uint64_t image) noexcept {
  constexpr const char* step = "reading the board's constants";
  constexpr window m = constants::memory;
  if (m.bytes == 0)
    return {step, "memory is not known", "write it into constants.hpp of this board (stage 3)",
            driver_error::unsupported};
  if (image - m.base >= m.bytes)
    return {step, "the image does not lie in memory",
            "compare memory of constants.hpp with load_address of board.cmake",
            driver_error::bad_argument};
  return {};
}

window board::memory() noexcept {
  return constants::memory;
}

/// Nothing that lies in memory is read later.
window board::kept() noexcept {
  return {};
}

const char* board::command_line() noexcept {
  return constants::command_line;
}

std::uint64_t board::timer_rate() noexcept {
  return constants::timer_rate;
}

gic_registers board::gic() noexcept {
  return constants::gic;
}

firmware_calls board::psci() noexcept {
  return constants::psci;
}

/// A board whose root port has to be set up (power, clock, reset of the slot, training of the link,
/// an outbound window) does it here, ahead of the last line: when this returns, configuration space
/// answers. Nothing is to be waited for beyond the link: the slot's second is the caller's.
trouble board::find_pci(pci_host* to) noexcept {
  if (constants::ecam.bytes == 0)
    return {pci_step, "ecam is not known", "write it into constants.hpp of this board (stage 5)",
            driver_error::unsupported};
  if (constants::devices_see_caches == constants::answer::not_known)
    return {pci_step, "devices_see_caches is not known",
            "write it into constants.hpp of this board (stage 5)", driver_error::unsupported};
  if (constants::devices_see_caches == constants::answer::no && !cache::is_maintained)
    return {pci_step, "caches and what devices do to memory do not agree on this board",
            "build with FREEHCA_INCOHERENT_DMA (docs/incoherent-dma.md)",
            driver_error::unsupported};
  *to = {constants::ecam, constants::first_bus, constants::bar_addresses};
  return {};
}

}  // namespace freehca::bare
