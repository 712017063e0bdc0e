// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/queues/work_completion.hpp>

#include <freehca/hca/kinds/xrc_completion_queue.hpp>

namespace freehca {

struct extended_completion_queue_attributes : completion_queue_attributes {
  /// The device writes the time into each entry. Read it with timestamp_of(). The entries then have
  /// no SL, LID and VLAN. Error: driver_error::unsupported (the device has no timestamps).
  bool timestamps = false;
  /// The device does not check that the ring has room. The user guarantees that it has.
  bool ignore_overrun = false;
};

/// A completion queue whose entries can have timestamps. It can be resized, receives the
/// completions of XRC receive queues, and can be used wherever a completion queue is required.
struct extended_completion_queue : xrc_completion_queue {
  using attributes = extended_completion_queue_attributes;
  using stands_in_for = xrc_completion_queue;
  static constexpr kind_facts facts =
      facts_like(completion_queue::facts, "extended completion queue", 0x57);

  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to);
};

using extended_cq_handle = handle<extended_completion_queue>;
using create_extended_completion_queue = create_object<extended_completion_queue>;
using destroy_extended_completion_queue = destroy_object<extended_completion_queue>;

/// The width of timestamp_of().
inline constexpr unsigned timestamp_bits = 48;

/// The time of a completion: the lower 48 bits of the device's clock. The queue has timestamps. If
/// the lower 16 bits are 0, the device has written the upper part one too low (Linux 6.1 en_clock.c
/// mlx4_en_get_cqe_ts).
template <class Entry>
std::uint64_t timestamp_of(const queues::completion_of<Entry>& from) {
  using rows = layouts::cqe_timestamp;
  const std::uint64_t low = from.template get<&rows::timestamp_15_0>();
  const std::uint64_t high = from.template get<&rows::timestamp_47_16>() + (low == 0 ? 1 : 0);
  return (high << 16 | low) & ((std::uint64_t{1} << timestamp_bits) - 1);
}

}  // namespace freehca
