// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive work queues of an Ethernet port. An RSS queue pair (rss_queue_pair.hpp) distributes the
// frames of a port among them.
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/raw_ethernet_queue_pair.hpp>

namespace freehca {

/// Consecutive numbers for receive work queues, and the context memory of these numbers. The first
/// number is a multiple of their count, as RSS requires. Each creation of a receive work queue
/// takes the next number. The range gives no number twice, also if the creation fails (as in
/// Linux 6.1 hw/mlx4/qp.c mlx4_ib_alloc_wqn).
struct receive_queue_range : device_object {
  struct attributes {
    std::uint32_t count = 1;  ///< a power of two; at most 2^log_max_rss_tbl_sz of QUERY_DEV_CAP
  };
  using creating = nothing;
  static constexpr kind_facts facts{.name = "range of receive work queues",
                                    .item = 0x5a,
                                    .numbers = &number_spaces::qps,
                                    .group = context_group::qp};

  std::uint32_t left = 0;  ///< the numbers that no queue has taken are the last ones

  /// Errors: driver_error::bad_argument, ::no_resource (`where`: budget::item::qps). An event owner
  /// finds a queue pair by the low bits of its number. It therefore gets no range if each free one
  /// has the low bits of another queue pair of this owner. That does not happen if the owner
  /// creates its ranges first, and its budget has a receive work queue for each of their numbers.
  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs&, const attributes&, creation<creating>&) { return {}; }
};
static_assert(sizeof(void*) != 8 || sizeof(receive_queue_range) == 200);

using create_receive_queue_range = create_object<receive_queue_range>;
/// Fails with driver_error::busy while a receive work queue has a number of the range.
using destroy_receive_queue_range = destroy_object<receive_queue_range>;

/// The path of queue pairs that carry Ethernet frames, for connection_attributes::address.
constexpr address_attributes frames_of(unsigned port) {
  return raw_ethernet_path{.port = port};
}

struct receive_work_queue_attributes {
  handle<receive_queue_range> range{};
  /// The device wants a completion queue for sends too, but does not use it. `service` is not read.
  queue_pair_attributes queue{};
};

/// A queue pair that receives the Ethernet frames that an RSS queue pair gives it, and sends
/// nothing. The operations of queue_pair work on it, with frames_of() as its path. It receives from
/// RTR on.
struct receive_work_queue : frame_queue_pair {
  using attributes = receive_work_queue_attributes;
  using stands_in_for = queue_pair;
  static constexpr kind_facts facts = facts_like(queue_pair::facts, "receive work queue", 0x5b);

  receive_work_queue* following = nullptr;  ///< in the table of an RSS queue pair

  /// Errors besides those of a queue pair: driver_error::no_resource (`where` is the item of
  /// receive_queue_range: all numbers are taken), ::unsupported (a shared receive queue).
  status plan(verbs& in, const attributes& a, creation<creating>& to);
  status build(verbs& in, const attributes& a, creation<creating>& to) {
    return queue_pair::build(in, a.queue, to);
  }
};

using create_receive_work_queue = create_object<receive_work_queue>;
/// Fails with driver_error::busy while the queue is in the table of an RSS queue pair.
using destroy_receive_work_queue = destroy_object<receive_work_queue>;

}  // namespace freehca
