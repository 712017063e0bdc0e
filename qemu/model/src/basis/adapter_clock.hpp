// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/model/environment.hpp>

namespace freehca::model {

/// The clock of all times that the adapter keeps, in nanoseconds. It is the clock of the
/// environment until a state is loaded. Then it goes on from the instant at which the state was
/// saved, so the times in the state stay as they are.
class adapter_clock {
 public:
  /// A load refuses later instants: 146 years.
  static constexpr std::uint64_t latest = std::uint64_t{1} << 62;

  explicit adapter_clock(environment& surroundings) : environment_(surroundings) {}

  std::uint64_t now() { return environment_.now() + offset_; }
  /// The sum, or environment::never: a fault's time may be as long as its type holds.
  static std::uint64_t later(std::uint64_t time, std::uint64_t nanoseconds) {
    return nanoseconds < environment::never - time ? time + nanoseconds : environment::never;
  }
  /// That time on the clock of the environment. 0 if it is before that clock began.
  std::uint64_t on_environment(std::uint64_t time) const {
    if (time == environment::never) return time;
    if (static_cast<std::int64_t>(offset_) < 0) return later(time, std::uint64_t{0} - offset_);
    return time > offset_ ? time - offset_ : 0;
  }

  template <class Archive>
  void transfer_state(Archive& archive) {
    std::uint64_t instant = now();
    transfer(archive, instant);
    if constexpr (Archive::loads) {
      if (instant > latest)
        archive.refuse("0x%llx ns are more than 146 years",
                       static_cast<unsigned long long>(instant));
      else offset_ = instant - environment_.now();
    }
  }

 private:
  environment& environment_;
  /// Added to the environment's clock. It wraps around: the saved instant may be the earlier one.
  std::uint64_t offset_ = 0;
};

}  // namespace freehca::model
