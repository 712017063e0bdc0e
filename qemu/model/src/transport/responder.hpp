// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include "basis/adapter.hpp"
#include "link/transport_packet.hpp"
#include "queues/queue_pair.hpp"
#include "transport/request_packet.hpp"

namespace freehca::model {

class answers;
class drop_log;
class queue_pairs;
class receive_queues;
class shared_receive_queues;
struct transport_counters;
class work_completions;
class work_errors;

/// The responder of connected queue pairs (IBTA vol. 1, 9.7 and 9.8): executes requests in order
/// and hands what they call for to the answers.
class responder {
 public:
  responder(adapter& a, queue_pairs& pairs, shared_receive_queues& shared, receive_queues& receives,
            work_completions& completions, work_errors& errors, answers& replies,
            transport_counters& counters, drop_log& drops)
      : a_(a),
        pairs_(pairs),
        shared_(shared),
        receives_(receives),
        completions_(completions),
        errors_(errors),
        replies_(replies),
        counters_(counters),
        drops_(drops) {}

  /// A packet whose operation is a request. `v.rest` begins behind the BTH.
  void receive(queue_pair& qp, const transport_packet& v, layouts::bth_operation operation);

 private:
  bool in_sequence(queue_pair& qp, request_packet& p);
  void duplicate(queue_pair& qp, request_packet& p);
  /// The PSN that the acknowledgement of a duplicate send or write at `psn` names.
  static std::uint32_t last_acknowledged_again(const queue_pair& qp, std::uint32_t psn);
  /// XRC: does the SRQ that the packet names exist, in the queue pair's domain?
  bool names_queue_of_domain(const queue_pair& qp) const;
  bool fits_message(const queue_pair& qp, const request_packet& p) const;
  void execute(queue_pair& qp, request_packet& p);
  static bool take_argument(request_packet& p);
  bool take_receive(queue_pair& qp, const request_packet& p);
  bool begin_write(queue_pair& qp, request_packet& p);
  bool place_payload(queue_pair& qp, const request_packet& p);
  void finish_message(queue_pair& qp, const request_packet& p);
  /// Is a read or an atomic too much for the responder's resources? A requester that asks again
  /// does not know what of the first answer is still here, and may ask for something new when it
  /// has had either.
  static bool exhausted(const queue_pair& qp, bool repeated);
  void read(queue_pair& qp, request_packet& p, bool repeated);
  void atomic(queue_pair& qp, request_packet& p);
  static void remember(queue_pair& qp, const responder_resource& executed);
  /// What was executed, if this asks for it once more.
  static const responder_resource* known(const queue_pair& qp, const request_packet& p);
  static bool asks_for_the_same(const queue_pair& qp, const request_packet& p, const response& r);
  /// With the reason that the rule book was last told.
  void refuse(queue_pair& qp, const request_packet& p, layouts::nak_code code,
              std::optional<layouts::event_type> event);
  /// An operation that the queue pair does not serve, or that comes out of its turn.
  void refuse_operation(queue_pair& qp, const request_packet& p) {
    refuse(qp, p, layouts::nak_code::invalid_request,
           layouts::event_type::wq_invalid_request_error);
  }
  /// A wrong length, an atomic off its alignment, or too many requests at once: an invalid request
  /// too, and the event is that of an access violation (NVIDIA, RDMA Aware Networks Programming,
  /// IBV_EVENT_QP_ACCESS_ERR).
  void refuse_size(queue_pair& qp, const request_packet& p) {
    refuse(qp, p, layouts::nak_code::invalid_request, layouts::event_type::wq_access_violation);
  }
  /// Explains what became of the packet; the reason, for what else it did.
  rule_book::reason tell(const queue_pair& qp, const request_packet& p, layouts::nak_code code);
  adapter& a_;
  queue_pairs& pairs_;
  shared_receive_queues& shared_;
  receive_queues& receives_;
  work_completions& completions_;
  work_errors& errors_;
  answers& replies_;
  transport_counters& counters_;
  drop_log& drops_;
};

}  // namespace freehca::model
