// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/log.hpp>
#include <freehca/hal/regions.hpp>
#include <freehca/hal/status.hpp>

namespace freehca {

/// The cold half of the HAL: all that a port to a new environment implements, besides the accessors
/// of mmio.hpp and dma.hpp. Called on the control owner's thread only, except where noted; no call
/// may call back into the driver, except `notify` below. A function that the platform cannot offer
/// is null, and the driver does without or says what is missing.
struct platform_operations {
  /// Size that the port was compiled with. The driver takes what is behind as null, and does not
  /// look at what a newer port has beyond the driver's own table.
  std::uint32_t bytes = sizeof(platform_operations);

  /// Maps BAR `bar` (0 or 2) whole, uncached (BAR 2 may be write-combining in its second half).
  status (*map_bar)(void* context, unsigned bar, mmio_region* mapped) = nullptr;

  /// Configuration space, 4-byte accesses at multiples of 4, values in host order.
  status (*read_configuration)(void* context, unsigned offset, std::uint32_t* value) = nullptr;
  status (*write_configuration)(void* context, unsigned offset, std::uint32_t value) = nullptr;

  /// Resets the function by the platform's means (FLR, VFIO_DEVICE_RESET) and restores
  /// configuration space. driver_error::unsupported where there is none: the driver then resets
  /// through the register.
  status (*reset_function)(void* context) = nullptr;

  /// Bus mastering on or off. Off is what makes lent memory safe to take back from a device that
  /// does not answer.
  status (*set_bus_master)(void* context, bool allowed) = nullptr;

  /// After a register reset wiped configuration space: puts back what the platform owns of it
  /// (BARs, MSI-X).
  status (*restore_after_reset)(void* context) = nullptr;

  /// A block of zeroed memory for the device, aligned to 4096 or more (`alignment` a power of two).
  /// The driver asks for one or a few large ones and divides them itself.
  status (*allocate_dma)(void* context, std::size_t bytes, std::size_t alignment,
                         dma_region* block) = nullptr;
  void (*free_dma)(void* context, const dma_region& block) = nullptr;

  /// Makes memory of the program visible to the device. `memory`, `bytes` and `device_address` are
  /// multiples of 4096. The memory is contiguous for the device. A region can have the larger pages
  /// the more low bits of `device_address` and of the pointer agree. Mappings may overlap. Fails if
  /// a page is not there, or the program may not write it. From any thread that owns something of
  /// the device, and from several at a time.
  status (*map_memory)(void* context, std::byte* memory, std::size_t bytes,
                       std::uint64_t* device_address) = nullptr;
  /// Ends one mapping: takes the address and the length that it was made with. The same threads.
  status (*unmap_memory)(void* context, std::uint64_t device_address, std::size_t bytes) = nullptr;

  /// Arms MSI-X vectors 0..count-1. From then on `notify(notify_context, vector)` may be called
  /// from any thread or interrupt handler: it only takes note. driver_error::unsupported: there
  /// are fewer vectors; the driver asks again for one less, down to one. Null, or any other
  /// failure: the driver polls its event queues.
  status (*arm_interrupts)(void* context, unsigned count,
                           void (*notify)(void* notify_context, unsigned vector) noexcept,
                           void* notify_context) = nullptr;
  void (*disarm_interrupts)(void* context) = nullptr;

  /// Nanoseconds on a clock that never goes back. From any thread that owns something of the
  /// device, and from several at a time.
  std::uint64_t (*now)(void* context) = nullptr;

  /// One line of text, and one structured record; may be null. A line may come from any thread that
  /// owns something of the device.
  void (*log)(void* context, severity level, const char* text) = nullptr;
  void (*trace)(void* context, const trace_record& record) = nullptr;

  /// Is the second half of BAR 2, where BlueFlame pages are, mapped write-combining? Else BlueFlame
  /// is not used.
  bool combines_writes = false;

  /// A number of the calling thread, not 0; from any thread. With it a debug build finds out when
  /// two threads use one owner, says whose it is by log(), and traps.
  std::uintptr_t (*current_thread)(void* context) = nullptr;

  /// As map_memory(), but the device only reads, so that the program need not be able to write.
  /// Null: map_memory() serves for this too.
  status (*map_read_only_memory)(void* context, std::byte* memory, std::size_t bytes,
                                 std::uint64_t* device_address) = nullptr;
};

/// The port's table in the driver's size.
inline platform_operations known_part_of(const platform_operations& port) {
  platform_operations known;
  const std::size_t bytes = port.bytes < sizeof known ? port.bytes : sizeof known;
  __builtin_memcpy(&known, &port, bytes);
  known.bytes = static_cast<std::uint32_t>(bytes);
  return known;
}

/// A platform as the driver holds it: the table and its first argument. Both outlive the device
/// object.
struct platform {
  const platform_operations* operations = nullptr;
  void* context = nullptr;

  std::uint64_t now() const { return operations->now(context); }
};

}  // namespace freehca
