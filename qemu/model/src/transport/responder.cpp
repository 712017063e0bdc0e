// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/responder.hpp"

#include "queues/explanations.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/shared_receive_queues.hpp"
#include "transport/answers.hpp"
#include "transport/drop_log.hpp"
#include "transport/transport_counters.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using message = receive_side::message;

/// Protection domains have 24 bits.
constexpr std::uint32_t no_pd = 0xffffffff;

}  // namespace

void responder::receive(queue_pair& qp, const transport_packet& v, bth_operation operation) {
  if (qp.rq.closing) return;
  if (qp.state == qp_state::rtr && !qp.rq.communication_established) {
    qp.rq.communication_established = true;
    pairs_.post_event(qp, event_type::communication_established);
  }
  request_packet p = request_packet::of(v, operation);
  qp.rq.remote = {qp.owner.pd, false, qp.owner.qpn};
  if (qp.service == qp_service::xrc) {
    const auto extended = p.view.take<xrceth>();
    if (!extended) {
      drops_.drop(v, "it ends before the end of its XRCETH");
      return;
    }
    qp.rq.xrc_srqn = static_cast<std::uint32_t>(extended->get<&xrceth::xrc_srq>());
    // Remote access too is by the domain of the SRQ that the packet names (IBTA annex A14): the QP
    // itself serves processes that share nothing.
    qp.rq.remote.pd = names_queue_of_domain(qp) ? shared_.protection_domain(qp.rq.xrc_srqn) : no_pd;
  }
  if (!in_sequence(qp, p)) return;
  if (operation == bth_operation::rdma_read_request) read(qp, p, false);
  else if (operation == bth_operation::compare_swap || operation == bth_operation::fetch_add)
    atomic(qp, p);
  else execute(qp, p);
  pairs_.touch(qp);
}

bool responder::in_sequence(queue_pair& qp, request_packet& p) {
  receive_side& rq = qp.rq;
  const std::int32_t ahead = psn_distance(p.view.psn(), rq.expected_psn);
  if (qp.service == qp_service::uc) {
    // A gap ends the message in progress, and so does the beginning of another (IBTA vol. 1, 9.8.2;
    // Linux qib_uc.c).
    if (ahead != 0 || p.first) rq.in_progress = message::none;
    if (ahead != 0 && !p.first) rq.in_progress = message::skip;
    rq.expected_psn = psn_add(p.view.psn(), 1);
    return rq.in_progress != message::skip;
  }
  if (ahead == 0) {
    rq.nak_sent = false;
    return true;
  }
  if (ahead < 0) {
    duplicate(qp, p);
    return false;
  }
  counters_.out_of_sequence.count(qp.way.port);
  if (!rq.nak_sent) {
    rq.nak_sent = true;
    response r;
    r.psn = rq.expected_psn;
    r.msn = rq.msn;
    r.type = aeth_type::nak;
    r.value = static_cast<std::uint8_t>(nak_code::psn_sequence_error);
    a_.rules.because_of_drop("wanted: PSN 0x%06x (IBTA 9.7.5.1)", rq.expected_psn);
    tell(qp, p, nak_code::psn_sequence_error);
    replies_.add(qp, r);
  }
  return false;
}

void responder::duplicate(queue_pair& qp, request_packet& p) {
  counters_.duplicates.count(qp.way.port);
  if (p.operation == bth_operation::rdma_read_request) {
    read(qp, p, true);
    return;
  }
  if (p.operation == bth_operation::compare_swap || p.operation == bth_operation::fetch_add) {
    const responder_resource* const first = known(qp, p);
    if (first == nullptr || exhausted(qp, true)) return;
    response r;
    r.what = response::kind::atomic;
    r.repeated = true;
    r.psn = first->psn;
    r.msn = qp.rq.msn;
    r.original = first->original;
    replies_.add(qp, r);
    return;
  }
  replies_.acknowledge(qp, last_acknowledged_again(qp, p.view.psn()));
}

std::uint32_t responder::last_acknowledged_again(const queue_pair& qp, std::uint32_t psn) {
  // Up to where execution is (IBTA vol. 1, 9.7.5.1.5), but to no read or atomic: a requester may
  // take an acknowledgement with its PSN for its answer, without the data (Linux commit
  // 4e4c53df5677, of Soft-RoCE). What is no longer kept was answered: the requester has no more of
  // them outstanding than are kept.
  const std::uint32_t end = qp.rq.expected_psn;
  for (const responder_resource& r : qp.rq.executed)
    if (psn_distance(r.psn, psn) > 0 && psn_distance(end, r.psn) > 0) return psn_before(r.psn);
  return psn_before(end);
}

rule_book::reason responder::tell(const queue_pair& qp, const request_packet& p, nak_code code) {
  rule_book::reason why = a_.rules.take_reason();
  const bool dropped = qp.service == qp_service::uc;
  if (dropped) ++counters_.packets_dropped;
  if (a_.rules.explains_drop())
    a_.rules.explain(remark_kind::packet_dropped,
                     words_for(p.view) + ": " + (dropped ? "dropped" : name_of(code)), why);
  return why;
}

void responder::refuse(queue_pair& qp, const request_packet& p, nak_code code,
                       std::optional<event_type> event) {
  if (qp.service == qp_service::xrc && code == nak_code::remote_access_error &&
      !names_queue_of_domain(qp))
    a_.rules.because("XRCETH: SRQ 0x%06x; wanted: one of the queue pair's XRC domain",
                     qp.rq.xrc_srqn);
  rule_book::reason why = tell(qp, p, code);
  if (qp.service == qp_service::uc) {
    qp.rq.in_progress = message::skip;
    return;
  }
  response r;
  r.why = std::make_shared<rule_book::reason>(std::move(why));
  r.psn = p.view.psn();
  r.msn = qp.rq.msn;
  r.type = aeth_type::nak;
  r.value = static_cast<std::uint8_t>(code);
  r.last = true;
  r.event = event;
  qp.rq.closing = true;
  replies_.add(qp, r);
}

bool responder::names_queue_of_domain(const queue_pair& qp) const {
  return shared_.exists(qp.rq.xrc_srqn) &&
         shared_.xrc_domain(qp.rq.xrc_srqn) == qp.context.get<&qpc::xrcd>();
}

}  // namespace freehca::model
