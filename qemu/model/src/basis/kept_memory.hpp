// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "basis/limits.hpp"

namespace freehca::model {

/// How much of the host's memory the adapter takes for what its guest makes, each thing counted at
/// the most that it can come to. options::host_memory_limit is shared out: three quarters for
/// objects (a command that would go past them has the status "exceeds limits"), a sixteenth each
/// for work requests that were fetched and packets under way inside (senders wait), and for the
/// packets that wait for either cable (what is more is discarded). So objects never take what
/// traffic needs to go on.
class kept_memory {
 public:
  /// A packet of the greatest length, its place in the schedule, and what it brings about.
  const std::size_t packet_bytes;
  /// A request with as many data segments or inline bytes as a WQE holds.
  static constexpr std::size_t request_bytes = 4096;

  /// `frames`: packets may be frames of Ethernet.
  kept_memory(std::uint64_t limit, bool frames)
      : packet_bytes(frames ? 10240 : 4608),
        objects_at_most_(limit / 4 * 3),
        requests(share(limit, request_bytes, limits::requests)),
        packets(share(limit, packet_bytes, limits::backlog)),
        waiting(share(limit, packet_bytes, limits::link_waiting)) {}

  /// There are `count()` objects of a kind, each of which takes `bytes`.
  void add_objects(std::size_t bytes, std::function<std::uint64_t()> count) {
    objects_.emplace_back(bytes, std::move(count));
  }
  /// The same for what traffic keeps: bounded by the numbers below.
  void add_traffic(std::size_t bytes, std::function<std::uint64_t()> count) {
    traffic_.emplace_back(bytes, std::move(count));
  }

  /// Is there room for one more object of `bytes`?
  bool has_room(std::size_t bytes) const { return sum(objects_) + bytes <= objects_at_most_; }
  std::uint64_t bytes() const { return sum(objects_) + sum(traffic_); }

 private:
  using kinds = std::vector<std::pair<std::size_t, std::function<std::uint64_t()>>>;
  static std::size_t share(std::uint64_t limit, std::size_t each, std::size_t at_most) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(limit / 16 / each, at_most));
  }
  static std::uint64_t sum(const kinds& all) {
    std::uint64_t bytes = 0;
    for (const auto& [each, count] : all) bytes += each * count();
    return bytes;
  }
  kinds objects_, traffic_;
  const std::uint64_t objects_at_most_;

 public:
  const std::size_t requests;  ///< that all send queues hold beyond one for each
  const std::size_t packets;   ///< due inside, from which on senders wait
  const std::size_t waiting;   ///< for room on one cable
};

}  // namespace freehca::model
