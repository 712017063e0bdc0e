// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/answers.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "basis/limits.hpp"
#include "ports/ports.hpp"
#include "queues/queue_pairs.hpp"
#include "transport/packet_sender.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

namespace {
/// Packets of read responses per run.
constexpr unsigned run_budget = 32;

image<aeth> answer_header(const response& r) {
  image<aeth> h;
  h.set<&aeth::type>(r.type).set<&aeth::value>(r.value).set<&aeth::msn>(r.msn);
  return h;
}
}  // namespace

image<bth> answers::header(const queue_pair& qp, bth_operation operation, std::uint32_t psn) const {
  const auto pkey_index = static_cast<unsigned>(qp.context.get<&primary_path::pkey_index>());
  image<bth> h;
  h
      .set<&bth::opcode>(make_bth_opcode(
          qp.service == qp_service::xrc ? bth_transport::xrc : bth_transport::rc, operation))
      .set<&bth::migrated>(qp.migration() == path_migration::migrated)
      .set<&bth::pkey>(a_.links->pkey(qp.way.port, pkey_index))
      .set<&bth::dest_qp>(qp.context.get<&qpc::remote_qpn>())
      .set<&bth::psn>(psn);
  return h;
}

void answers::acknowledge(queue_pair& qp, std::uint32_t psn) {
  response r;
  r.psn = psn;
  r.msn = qp.rq.msn;
  add(qp, r);
}

void answers::add(queue_pair& qp, const response& r) {
  // What was executed last may have ended the queue pair: a completion that finds no room does. The
  // requester is then told nothing (Linux rxe_resp.c: RESPST_ERR_CQ_OVERFLOW leads to RESPST_ERROR
  // and never to RESPST_ACKNOWLEDGE).
  if (!qp.can_receive()) return;
  auto& queue = qp.rq.responses;
  const bool plain = r.what != response::kind::read;
  if (queue.empty() && plain) {
    send_plain(qp, r);
    return;
  }
  const bool swallows = r.what == response::kind::acknowledge && !queue.empty() &&
                        queue.back().what == response::kind::acknowledge &&
                        queue.back().type == aeth_type::ack;
  if (swallows) {
    // The acknowledgement of a duplicate may name an earlier PSN than the one that waits.
    if (psn_distance(r.psn, queue.back().psn) > 0) queue.back() = r;
  } else if (queue.size() < responses_held || r.last) {
    queue.push_back(r);  // else lost: it is asked again
  }
  schedule(qp);
}

void answers::schedule(queue_pair& qp) {
  if (qp.rq.scheduled) return;
  qp.rq.scheduled = true;
  work_.soon(qp.way.port, {.kind = send_responses, .number = qp.qpn});
}

void answers::run(std::uint32_t qpn) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr || !qp->rq.scheduled) return;
  if (a_.work.backlog() > a_.kept.packets) {
    work_.after(limits::backlog_pause_ns, {.kind = send_responses, .number = qpn});
    return;
  }
  qp->rq.scheduled = false;
  if (sender_.held_up(*qp, qp->way)) return;
  for (unsigned left = run_budget; left != 0 && !qp->rq.responses.empty(); --left) {
    response& r = qp->rq.responses.front();
    if (r.what == response::kind::read) {
      if (!send_read_packet(*qp, r)) return;
      if (r.begun && r.left == 0) qp->rq.responses.pop_front();
    } else {
      const response plain = r;
      qp->rq.responses.pop_front();
      send_plain(*qp, plain);
    }
    if (a_.account.slice_over()) break;
  }
  if (!qp->rq.responses.empty()) schedule(*qp);
}

void answers::tell_of_loss(const queue_pair& qp) {
  // The other side asks again, or gives up.
  rule_book::reason why = a_.rules.take_reason();
  if (!a_.rules.explains_drop()) return;
  std::array<char, 60> what;
  std::snprintf(what.data(), what.size(), "QP 0x%06x: an answer was not sent", qp.number());
  a_.rules.explain(remark_kind::packet_dropped, what.data(), why);
}

void answers::send_plain(queue_pair& qp, const response& r) {
  const bool atomic = r.what == response::kind::atomic;
  const bth_operation operation =
      atomic ? bth_operation::atomic_acknowledge : bth_operation::acknowledge;
  auto out = sender_.lay_out(qp.way, header(qp, operation, r.psn),
                             aeth::bytes + (atomic ? atomic_ack_eth::bytes : 0), 0);
  if (out) {
    const std::size_t at = out->put(0, answer_header(r));
    if (atomic)
      out->put(at, image<atomic_ack_eth>{}.set<&atomic_ack_eth::original_data>(r.original));
    sender_.transmit(qp.way, std::move(*out));
  } else {
    tell_of_loss(qp);
  }
  if (!r.last) return;
  if (r.why) a_.rules.again(*r.why);
  errors_.enter_error(qp, r.event);
}

bool answers::send_read_packet(queue_pair& qp, response& r) {
  using o = bth_operation;
  const std::uint32_t payload = std::min<std::uint32_t>(r.left, qp.mtu);
  const bool last = r.left <= qp.mtu;
  const o operation = !r.begun ? (last ? o::rdma_read_response_only : o::rdma_read_response_first)
                               : (last ? o::rdma_read_response_last : o::rdma_read_response_middle);
  const bool with_answer = operation != o::rdma_read_response_middle;
  auto out =
      sender_.lay_out(qp.way, header(qp, operation, r.psn), with_answer ? aeth::bytes : 0, payload);
  if (!out) {
    tell_of_loss(qp);
    r.begun = true;
    r.left = 0;
    return true;
  }
  if (with_answer) out->put(0, answer_header(r));
  if (payload != 0 && a_.regions->read(r.rkey, r.owner, access::remote_read, r.address,
                                       out->payload_bytes(), payload) != access_result::ok) {
    if (r.repeated) {
      a_.rules.take_reason();
      r.begun = true;
      r.left = 0;
      return true;
    }
    // The region went away between the check and now: a refusal in the middle of the response.
    response no;
    no.psn = r.psn;
    no.msn = r.msn;
    no.type = aeth_type::nak;
    no.value = static_cast<std::uint8_t>(nak_code::remote_access_error);
    no.last = true;
    no.why = std::make_shared<rule_book::reason>(a_.rules.take_reason());
    no.event = event_type::wq_access_violation;
    qp.rq.responses.clear();
    send_plain(qp, no);
    return false;
  }
  r.begun = true;
  r.left -= payload;
  r.address += payload;
  r.psn = psn_add(r.psn, 1);
  sender_.transmit(qp.way, std::move(*out));
  return true;
}

}  // namespace freehca::model
