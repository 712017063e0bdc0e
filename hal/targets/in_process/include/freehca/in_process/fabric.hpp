// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include <freehca/in_process/machine.hpp>
#include <freehca/in_process/virtual_clock.hpp>

namespace freehca::in_process {

/// Several machines on one clock, and the cables between them. Faults of a cable are set at its
/// adapters (model::device::set_link_faults, ::plug_cable). Threads: as machine.
class fabric {
 public:
  /// The clock for machine_options::clock of each machine.
  virtual_clock& clock() { return clock_; }
  std::uint64_t time() const { return clock_.now(); }

  /// Adds a machine on clock(). The machine outlives the last step(). Ports with a cable need
  /// model::options::cable.
  void add(machine& one) { machines_.push_back(&one); }
  /// Connects two ports by a cable. A packet arrives `flight_ns` nanoseconds after it was sent, in
  /// the order of sending. Replaces machine::on_link_send for these ports.
  void lay_cable(machine& a, unsigned port_of_a, machine& b, unsigned port_of_b,
                 std::uint64_t flight_ns = 500);

  /// Lets the adapters do the work that is due. If there was some, moves the clock by 1 us, so that
  /// the drivers can look at it. Otherwise moves the clock to the next work of an adapter, or to
  /// `deadline` if that is earlier, and lets the adapters work. `deadline` is the earliest
  /// next_deadline() of the drivers. If it is not in the future (0, for example), a driver polls
  /// again at once, and the clock moves by 100 us at most.
  void step(std::uint64_t deadline);

 private:
  virtual_clock clock_;
  std::vector<machine*> machines_;
};

}  // namespace freehca::in_process
