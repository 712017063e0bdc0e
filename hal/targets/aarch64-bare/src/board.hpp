// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What differs between boards with an aarch64 processor. Two kinds of answers: ../device_tree takes
// them from what firmware hands over; a folder of hal/targets/boards has them as constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/bare/machine.hpp>
#include <freehca/bare/trouble.hpp>
#include <freehca/device_tree/serial.hpp>

namespace freehca::bare {

/// The interrupt controller's registers. A window of no bytes is one that is not there.
struct gic_registers {
  enum class version : std::uint8_t { unknown, v2, v3 };
  version which = version::unknown;  ///< unknown: event queues are polled
  window distributor = {};
  window interface = {};       ///< the processor's, of GICv2
  window redistributors = {};  ///< of GICv3
  window messages = {};        ///< what devices write to: the frame of GICv2m, the ITS of GICv3
  /// Of GICv2m, where they are not what the frame itself says; 0: they are.
  unsigned first_message = 0, messages_count = 0;
};

/// How firmware is called to switch the machine off (PSCI: Arm DEN 0022).
enum class firmware_calls : std::uint8_t { none, by_monitor, by_hypervisor };

namespace board {

/// The first call, on the stack and with caches on. `handed_over` is what x0 held at the first
/// instruction. Fills in kind and place of the serial line; nothing can be told when there is none.
void find_console(const std::byte* handed_over, device_tree::serial_line& to) noexcept;

/// The second one, from machine::start(): all that the functions below tell is known afterwards.
/// `image` is an address of the image.
trouble read(std::uint64_t image) noexcept;

/// The memory that the image lies in.
window memory() noexcept;
/// What of it is still to be read when the port divides memory; of no bytes: nothing.
window kept() noexcept;
const char* command_line() noexcept;

/// The rate of the generic timer in ticks a second; 0: CNTFRQ_EL0 has it.
std::uint64_t timer_rate() noexcept;
gic_registers gic() noexcept;
firmware_calls psci() noexcept;

/// As machine::find_pci(). A board whose devices do not see memory as the processor's caches do,
/// says so here.
trouble find_pci(pci_host* to) noexcept;

}  // namespace board
}  // namespace freehca::bare
