// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/log.hpp>
#include <freehca/hal/regions.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// The part of the HAL that is not time-critical. A port to a new environment implements these
/// functions and the accessors of mmio.hpp and dma.hpp. The control owner's thread alone calls the
/// functions, except where noted. They must not call back into the driver, except for `notify`
/// below. If the platform cannot offer a function, the pointer is null. The driver then works
/// without the function or reports that it is missing.
struct platform_operations {
  /// Size of this table when the port was compiled. The driver takes members beyond this size as
  /// null. It ignores members of a newer port beyond the end of the driver's own table.
  std::uint32_t bytes = sizeof(platform_operations);

  /// Maps BAR `bar` (0 or 2) whole, uncached (BAR 2 may be write-combining in its second half).
  status (*map_bar)(void* context, unsigned bar, mmio_region* mapped) = nullptr;

  /// Configuration space, 4-byte accesses at multiples of 4, values in host order.
  status (*read_configuration)(void* context, unsigned offset, std::uint32_t* value) = nullptr;
  status (*write_configuration)(void* context, unsigned offset, std::uint32_t value) = nullptr;

  /// Resets the function by the platform's means (FLR, VFIO_DEVICE_RESET) and restores
  /// configuration space. Returns driver_error::unsupported if the platform has no such means. The
  /// driver then resets through the register.
  status (*reset_function)(void* context) = nullptr;

  /// Switches bus mastering on or off. With bus mastering off, it is safe to take lent memory back
  /// from a device that does not answer.
  status (*set_bus_master)(void* context, bool allowed) = nullptr;

  /// Called after a register reset, which clears configuration space. Restores the platform's part
  /// of it (BARs, MSI-X).
  status (*restore_after_reset)(void* context) = nullptr;

  /// Allocates a block of zeroed memory for the device, contiguous for the device. Its device
  /// address is a multiple of `alignment`, a power of two of at least 4096. The driver refuses a
  /// block that is less aligned. It asks for one or a few large blocks and divides them itself.
  status (*allocate_dma)(void* context, std::size_t bytes, std::size_t alignment,
                         dma_region* block) = nullptr;
  void (*free_dma)(void* context, const dma_region& block) = nullptr;

  /// Makes memory of the program visible to the device. `memory`, `bytes` and `device_address` are
  /// multiples of 4096. The mapping is contiguous for the device. The more low bits of
  /// `device_address` and of `memory` agree, the larger the pages of a memory region can be.
  /// Mappings may overlap. Fails if a page is not present, or if the program may not write it.
  /// Called by the thread of any owner, also by several threads at a time.
  status (*map_memory)(void* context, std::byte* memory, std::size_t bytes,
                       std::uint64_t* device_address) = nullptr;
  /// Ends one mapping, which is given by its address and its length. Called by the same threads as
  /// map_memory().
  status (*unmap_memory)(void* context, std::uint64_t device_address, std::size_t bytes) = nullptr;

  /// Arms MSI-X vectors 0..count-1. From then on, any thread or interrupt handler may call
  /// `notify(notify_context, vector)`, which only leaves a note. If there are fewer vectors,
  /// arm_interrupts() returns driver_error::unsupported. The driver then asks again for one less,
  /// down to one. If the pointer is null, or after any other failure, the driver calls
  /// arm_line_interrupt().
  status (*arm_interrupts)(void* context, unsigned count,
                           void (*notify)(void* notify_context, unsigned vector) noexcept,
                           void* notify_context) = nullptr;
  /// Ends arm_interrupts() or arm_line_interrupt().
  void (*disarm_interrupts)(void* context) = nullptr;

  /// Returns nanoseconds of a clock that never goes back. Called by the thread of any owner, also
  /// by several threads at a time.
  std::uint64_t (*now)(void* context) = nullptr;

  /// The sinks of reports and of traces. Both may be null. The thread of any owner may call log().
  void (*log)(void* context, const log_record& record) = nullptr;
  void (*trace)(void* context, const trace_record& record) = nullptr;

  /// True if the second half of BAR 2, where the BlueFlame pages are, is mapped write-combining. If
  /// false, the driver does not use BlueFlame.
  bool combines_writes = false;

  /// Like map_memory(), but the device only reads the memory, so the program need not be able to
  /// write it. If null, the driver calls map_memory() instead.
  status (*map_read_only_memory)(void* context, std::byte* memory, std::size_t bytes,
                                 std::uint64_t* device_address) = nullptr;

  /// Arms the line interrupt (INTx), which is level-triggered. The port masks the line when it is
  /// asserted, and calls `notify(notify_context, 0)` from any thread or interrupt handler. Inside
  /// this call the driver writes the adapter's clear-interrupt register. The port unmasks the line
  /// after the call. If the line is asserted then, there is a new event, and the port calls
  /// `notify` again. If the pointer is null, or after any failure, the driver polls its event
  /// queues.
  status (*arm_line_interrupt)(void* context,
                               void (*notify)(void* notify_context, unsigned vector) noexcept,
                               void* notify_context) = nullptr;
};

/// Returns the port's table in the size that the driver knows.
inline platform_operations known_part_of(const platform_operations& port) {
  platform_operations known;
  const std::size_t bytes = port.bytes < sizeof known ? port.bytes : sizeof known;
  __builtin_memcpy(&known, &port, bytes);
  known.bytes = static_cast<std::uint32_t>(bytes);
  return known;
}

/// The table of functions and the first argument of each. Both outlive the device object.
struct platform {
  const platform_operations* operations = nullptr;
  void* context = nullptr;

  std::uint64_t now() const { return operations->now(context); }
  /// Passes a record to the log function, if there is one.
  void log(const log_record& record) const {
    if (operations->log != nullptr) operations->log(context, record);
  }
};

}  // namespace freehca
