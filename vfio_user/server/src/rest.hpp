// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>

namespace freehca::device_server {

/// Pauses for a loop that polls because no event wakes it. For a while after the last event found
/// there is no pause. Then the pauses grow up to a maximum, which bounds the delay of the next
/// event.
class rest {
 public:
  static constexpr std::uint64_t shortest_ns = 16'000, longest_ns = 256'000;

  explicit rest(std::uint64_t awake_ns) : awake_ns_(awake_ns) {}

  void happened(std::uint64_t now) {
    last_ = now;
    next_ = shortest_ns;
  }
  /// The next pause in nanoseconds; 0: none.
  std::uint64_t pause(std::uint64_t now) {
    if (now - last_ < awake_ns_) return 0;
    const std::uint64_t found = next_;
    next_ = std::min(2 * next_, longest_ns);
    return found;
  }

 private:
  std::uint64_t awake_ns_, last_ = 0, next_ = shortest_ns;
};

}  // namespace freehca::device_server
