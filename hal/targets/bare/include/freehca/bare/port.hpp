// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/platform.hpp>

#include <freehca/bare/pci.hpp>

namespace freehca::bare {

/// The HAL on a machine without an operating system, for the first adapter that it has. Lives as
/// long as the image. Interrupt handlers only call what arm_interrupts() was given.
class port {
 public:
  port() = default;
  port(const port&) = delete;
  port& operator=(const port&) = delete;

  /// Finds the adapter and makes its BARs reachable. `dma_bytes`: of the arena, which is the memory
  /// behind the image.
  trouble open(std::size_t dma_bytes);

  freehca::platform platform() { return {&operations_, this}; }
  const pci_function_place& function() const { return function_; }
  /// Registers (0), doorbells (2).
  const mmio_region& bar(unsigned i) const { return mapped_[i / 2]; }
  std::size_t arena_bytes_used() const { return most_used_; }
  bool combines_writes() const { return operations_.combines_writes; }
  unsigned interrupts() const { return interrupts_; }

  /// Called ahead of each answer to "what time is it", which the driver asks before each step.
  void watch_clock(void (*look)(void* context, std::uint64_t now), void* context) {
    look_ = look;
    look_context_ = context;
  }

  /// Called when a firmware command has ended.
  void watch_commands(void (*look)(void* context, const trace_record& command), void* context) {
    command_look_ = look;
    command_look_context_ = context;
  }

  /// Keeps the adapter from memory and from interrupting. True: it says so itself, or is gone.
  bool quieten();
  /// The same of the port that is open, if there is one.
  static void quieten_all() noexcept;
  static void on_message(unsigned vector) noexcept;

 private:
  static status map_bar(void* context, unsigned bar, mmio_region* mapped);
  static status read_configuration(void* context, unsigned offset, std::uint32_t* value);
  static status write_configuration(void* context, unsigned offset, std::uint32_t value);
  static status set_bus_master(void* context, bool allowed);
  static status restore_after_reset(void* context);
  static status allocate_dma(void* context, std::size_t bytes, std::size_t alignment,
                             dma_region* block);
  static void free_dma(void* context, const dma_region& block);
  static status map_memory(void* context, std::byte* memory, std::size_t bytes,
                           std::uint64_t* device_address);
  static status unmap_memory(void* context, std::uint64_t device_address, std::size_t bytes);
  static status arm_interrupts(void* context, unsigned count,
                               void (*notify)(void*, unsigned) noexcept, void* notify_context);
  static void disarm_interrupts(void* context);
  static std::uint64_t now(void* context);
  static void log(void* context, const log_record& record);
  static void trace(void* context, const trace_record& record);

  static port& of(void* context) { return *static_cast<port*>(context); }
  trouble map_bars();
  void find_messages();
  void write_messages() const;

  platform_operations operations_;
  pci_function_place function_;
  mmio_region mapped_[2];
  dma_region arena_;
  std::size_t used_ = 0, most_used_ = 0;
  unsigned blocks_ = 0;
  bool master_ = true;  // false, for a test: the function never masters the bus

  unsigned messages_at_ = 0;  // the capability; 0: it has none
  std::byte* message_table_ = nullptr;
  unsigned table_messages_ = 0;
  message messages_[most_messages];
  unsigned armed_ = 0;
  void (*notify_)(void*, unsigned) noexcept = nullptr;
  void* notify_context_ = nullptr;
  volatile unsigned interrupts_ = 0;  // written by the handler alone

  void (*look_)(void*, std::uint64_t) = nullptr;
  void* look_context_ = nullptr;
  void (*command_look_)(void*, const trace_record&) = nullptr;
  void* command_look_context_ = nullptr;
};

}  // namespace freehca::bare
