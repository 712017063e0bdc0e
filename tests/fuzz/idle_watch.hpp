// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/device.hpp>
#include <freehca/in_process/machine.hpp>

namespace freehca::fuzz {

/// Watches how often a driver looks at its adapter: one that says again and again that it wants to
/// look at once, and has nothing to look for, would keep a processor busy for ever.
class idle_watch {
 public:
  idle_watch(in_process::machine& on, device& of) : machine_(on), device_(of) {}

  /// After a poll that found `handled` things, and the deadline that the driver gave: the one that
  /// the machine is to wait for. Traps when the driver spins.
  std::uint64_t polled(unsigned handled, std::uint64_t deadline) {
    check(handled, deadline);
    return patiently(deadline);
  }

 private:
  void check(unsigned handled, std::uint64_t deadline);
  void wait_in_storm();
  bool register_taken() const;
  std::uint64_t patiently(std::uint64_t deadline);

  static constexpr unsigned most_idle_looks = 100;  // more than an input can tell lies
  in_process::machine& machine_;
  device& device_;
  std::uint64_t messages_ = 0;
  // In a row: looks of a driver that waits, interrupts for nothing, looks without a reason.
  unsigned looks_ = 0, storm_ = 0, idle_looks_ = 0;
};

}  // namespace freehca::fuzz
