// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <freehca/model/options.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// What the adapter's own work costs the host, counted where the cost arises. The unit is about 50
/// ns of a processor of today; the prices below were measured and rounded (docs/qemu-device.md).
/// Counts, not clocks, decide how long a turn is: the same calls give the same turns.
///
/// A turn is one call of scheduler::run_due(). It ends with the first function after which
/// options::turn_units are used up. A function that has much to do asks slice_over() between its
/// steps, and is scheduled again for the rest.
class work_account {
 public:
  using units = std::uint64_t;
  static constexpr units slice = 1024;  ///< of one function, while others wait
  /// The most that one step of a function costs: a datagram, scattered over as many regions as a
  /// request can name.
  static constexpr units step = 2560;

  static constexpr units function = 2;                  ///< taken from the schedule and called
  static constexpr units access = 4;                    ///< one DMA, however short
  static constexpr std::size_t bytes_per_unit = 512;    ///< moved by DMA
  static constexpr units packet = 8;                    ///< made, delivered, or taken apart
  static constexpr std::size_t checked_per_unit = 128;  ///< bytes under a CRC
  static constexpr units entry = 1;  ///< of a table of the adapter's own: compared, or given back

  explicit work_account(units turn = options::default_turn_units) : turn_(turn) {}

  void charge(units u) { used_ += u; }
  void charge_access(std::size_t bytes) { used_ += access + bytes / bytes_per_unit; }
  void charge_check(std::size_t bytes) { used_ += bytes / checked_per_unit; }

  /// Should the function at hand come back later for its rest? It does one step at least.
  bool slice_over() const { return used_ - slice_began_ >= slice || turn_over(); }
  bool turn_over() const { return used_ - call_began_ >= turn_; }

  /// A function begins.
  void begin_slice() { slice_began_ = used_; }
  /// What it has used up so far.
  units in_slice() const { return used_ - slice_began_; }

  /// Whoever is outside calls the adapter, and is let go: a turn, a register access, a packet from
  /// a cable.
  void begin_call() { call_began_ = slice_began_ = used_; }
  void end_call() { greatest_ = std::max(greatest_, used_ - call_began_); }

  units used() const { return used_; }
  /// The most that one call from outside has cost.
  units greatest() const { return greatest_; }
  void forget_greatest() { greatest_ = 0; }

 private:
  units turn_;
  units used_ = 0, call_began_ = 0, slice_began_ = 0, greatest_ = 0;

 public:
  using saved = saving::fields<saving::outside_digest(&work_account::used_),
                               saving::outside_digest(&work_account::greatest_)>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"turn_", "an option"},
      {"call_began_", "set by each call of the device"},
      {"slice_began_", "set by each call of the device"}};
};

}  // namespace freehca::model
