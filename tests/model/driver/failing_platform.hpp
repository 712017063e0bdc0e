// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>

#include <freehca/in_process/machine.hpp>

namespace freehca::testing {

/// The functions of the porting contract that may fail (docs/porting-contract.md).
enum class platform_function : std::uint8_t {
  map_bar,
  read_configuration,
  write_configuration,
  reset_function,
  set_bus_master,
  restore_after_reset,
  allocate_dma,
  arm_interrupts,
};
inline constexpr std::size_t platform_functions = 8;

inline std::ostream& operator<<(std::ostream& to, platform_function f) {
  static constexpr const char* names[platform_functions] = {
      "map_bar",        "read_configuration",  "write_configuration", "reset_function",
      "set_bus_master", "restore_after_reset", "allocate_dma",        "arm_interrupts"};
  return to << names[static_cast<std::size_t>(f)];
}

/// A machine's platform that counts calls, and whose n-th call of one function fails.
class failing_platform {
 public:
  using function = platform_function;

  explicit failing_platform(in_process::machine& m) : real_(m.platform()) {
    operations_ = *real_.operations;
    operations_.map_bar = [](void* self, unsigned bar, mmio_region* mapped) -> status {
      auto& p = of(self);
      if (p.fails(function::map_bar)) return p.failure_;
      return p.real_.operations->map_bar(p.real_.context, bar, mapped);
    };
    operations_.read_configuration = [](void* self, unsigned offset,
                                        std::uint32_t* value) -> status {
      auto& p = of(self);
      if (p.fails(function::read_configuration)) return p.failure_;
      return p.real_.operations->read_configuration(p.real_.context, offset, value);
    };
    operations_.write_configuration = [](void* self, unsigned offset,
                                         std::uint32_t value) -> status {
      auto& p = of(self);
      if (p.fails(function::write_configuration)) return p.failure_;
      return p.real_.operations->write_configuration(p.real_.context, offset, value);
    };
    operations_.reset_function = [](void* self) -> status {
      auto& p = of(self);
      if (p.fails(function::reset_function)) return p.failure_;
      return p.real_.operations->reset_function(p.real_.context);
    };
    operations_.set_bus_master = [](void* self, bool on) -> status {
      auto& p = of(self);
      if (p.fails(function::set_bus_master)) return p.failure_;
      return p.real_.operations->set_bus_master(p.real_.context, on);
    };
    operations_.restore_after_reset = [](void* self) -> status {
      auto& p = of(self);
      if (p.fails(function::restore_after_reset)) return p.failure_;
      return p.real_.operations->restore_after_reset(p.real_.context);
    };
    operations_.allocate_dma = [](void* self, std::size_t bytes, std::size_t alignment,
                                  dma_region* block) -> status {
      auto& p = of(self);
      if (p.fails(function::allocate_dma)) return p.failure_;
      const status s = p.real_.operations->allocate_dma(p.real_.context, bytes, alignment, block);
      block->device_address += p.misalignment;
      return s;
    };
    operations_.free_dma = [](void* self, const dma_region& block) {
      auto& p = of(self);
      dma_region whole = block;
      whole.device_address -= p.misalignment;
      p.real_.operations->free_dma(p.real_.context, whole);
    };
    operations_.arm_interrupts = [](void* self, unsigned count,
                                    void (*notify)(void*, unsigned) noexcept,
                                    void* context) -> status {
      auto& p = of(self);
      if (p.fails(function::arm_interrupts)) return p.failure_;
      return p.real_.operations->arm_interrupts(p.real_.context, count, notify, context);
    };
    operations_.disarm_interrupts = [](void* self) {
      auto& p = of(self);
      p.real_.operations->disarm_interrupts(p.real_.context);
    };
    operations_.now = [](void* self) {
      auto& p = of(self);
      return p.real_.operations->now(p.real_.context);
    };
    operations_.log = nullptr;
  }

  freehca::platform it() { return {&operations_, this}; }
  /// To make a function null before device::open().
  platform_operations& operations() { return operations_; }
  /// From now on the n-th call of `which` fails (1: the next), each other call works; 0: none
  /// fails. The counts begin again.
  void fail(function which, unsigned nth, status with = status(transport_error::refused, 7)) {
    calls_ = {};
    from_ = 0;
    which_ = which;
    nth_ = nth;
    failure_ = with;
  }
  void work() { fail(function::map_bar, 0); }
  /// From the n-th read of configuration space on, no access to it and no reset works.
  void fail_from(unsigned nth) {
    work();
    from_ = nth;
  }
  unsigned calls(function f) const { return calls_[static_cast<std::size_t>(f)]; }

  std::uint64_t misalignment = 0;  ///< of DMA memory, against the alignment that was asked for

 private:
  static failing_platform& of(void* self) { return *static_cast<failing_platform*>(self); }
  bool fails(function f) {
    if (++calls_[static_cast<std::size_t>(f)] == nth_ && f == which_) return true;
    return from_ != 0 && calls(function::read_configuration) >= from_ &&
           (f == function::read_configuration || f == function::write_configuration ||
            f == function::reset_function || f == function::set_bus_master);
  }

  freehca::platform real_;
  platform_operations operations_;
  std::array<unsigned, platform_functions> calls_{};
  function which_ = function::map_bar;
  unsigned nth_ = 0, from_ = 0;
  status failure_;
};

}  // namespace freehca::testing
