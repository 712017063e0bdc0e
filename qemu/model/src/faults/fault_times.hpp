// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/model/options.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// How long the next thing takes that fault_options slows down: as long as it says, or, with a
/// seed, a time drawn from nothing up to that. The same seed and the same calls give the same
/// times.
class fault_times {
 public:
  explicit fault_times(const fault_options& how) : how_(how), state_(how.time_seed) {}

  std::uint64_t acceptance() { return drawn(how_.command_acceptance_ns); }
  std::uint64_t command() { return drawn(how_.command_latency_ns); }
  std::uint64_t work() { return drawn(how_.work_latency_ns); }
  std::uint64_t reset() { return drawn(how_.reset_latency_ns); }

  /// The options were changed: the draws begin anew.
  void begin() { state_ = how_.time_seed; }

 private:
  std::uint64_t drawn(std::uint64_t most) {
    if (how_.time_seed == 0 || most == 0) return most;
    // SplitMix64.
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return most == ~std::uint64_t{0} ? z : z % (most + 1);
  }

  const fault_options& how_;
  std::uint64_t state_;

 public:
  using saved = saving::fields<&fault_times::state_>;
};

}  // namespace freehca::model

namespace freehca::model::saving {

template <>
inline constexpr auto fields_of<fault_options> =
    fields<&fault_options::command_acceptance_ns, &fault_options::command_latency_ns,
           &fault_options::commands_side_by_side, &fault_options::work_latency_ns,
           &fault_options::reset_latency_ns, &fault_options::time_seed>{};

}  // namespace freehca::model::saving
