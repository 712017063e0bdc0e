// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/in_process/machine.hpp>
#include <freehca/in_process/virtual_clock.hpp>

namespace freehca::in_process {

/// Several machines on one clock, and the cables between them. Faults of a cable are the adapters'
/// (model::device::set_link_faults, ::plug_cable). One thread.
class fabric {
 public:
  /// For machine_options::clock of each machine.
  virtual_clock& clock() { return clock_; }
  std::uint64_t time() const { return clock_.now(); }

  /// A machine on clock(), which outlives the fabric's use. The ports that get a cable need
  /// model::options::cable.
  void add(machine& one) { machines_.push_back(&one); }
  /// Lays a cable. A packet arrives `flight_ns` after it was sent, in the order of sending.
  void lay_cable(machine& a, unsigned port_of_a, machine& b, unsigned port_of_b,
                 std::uint64_t flight_ns = 500);

  /// Moves the clock to the earliest instant at which an adapter has work, or to `deadline` (the
  /// earliest next_deadline() of the drivers; 0: a driver polls again at once). Lets the adapters
  /// work.
  void step(std::uint64_t deadline);

 private:
  virtual_clock clock_;
  std::vector<machine*> machines_;
};

}  // namespace freehca::in_process
