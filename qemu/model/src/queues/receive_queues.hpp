// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/host_memory.hpp"
#include "basis/rule_book.hpp"
#include "queues/queue_pair.hpp"
#include "queues/shared_receive_queues.hpp"

namespace freehca::model {

class memory_regions;
class queue_pairs;

/// Takes receives for queue pairs, from their own queues or the shared ones.
class receive_queues {
 public:
  receive_queues(host_memory& memory, memory_regions& regions, queue_pairs& pairs,
                 shared_receive_queues& shared, rule_book& rules)
      : memory_(memory), regions_(regions), pairs_(pairs), shared_(shared), rules_(rules) {}

  /// The next receive of the queue pair. `fault`: its queue makes no sense; the catastrophic event
  /// has been posted and the caller moves the queue pair to the error state.
  take_result take(queue_pair& qp, receive_request& to);
  /// Looks at the doorbell record of its own receive queue: is there something to take (also a
  /// fault)?
  bool has_some(queue_pair& qp);
  /// The same as take() from a shared queue that the packet names (XRC).
  take_result take_shared(queue_pair& qp, std::uint32_t srqn, receive_request& to);

 private:
  bool read_record(queue_pair& qp);
  take_result broken(queue_pair& qp, rule r, const char* why);

  host_memory& memory_;
  memory_regions& regions_;
  queue_pairs& pairs_;
  shared_receive_queues& shared_;
  rule_book& rules_;
};

}  // namespace freehca::model
