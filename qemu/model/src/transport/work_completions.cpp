// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/work_completions.hpp"

#include <utility>

#include "link/link_codec.hpp"
#include "queues/completion_queues.hpp"
#include "queues/explanations.hpp"
#include "queues/shared_receive_queues.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

/// A queue pair whose completion finds no room goes to the error state (Linux rxe_resp.c
/// RESPST_ERR_CQ_OVERFLOW, a class G error), and with the event of its work queue: so T. Shanley,
/// InfiniBand Network Architecture, affiliated asynchronous errors, has it.
void work_completions::complete(queue_pair& qp, std::uint32_t cqn, const image<cqe>& e,
                                bool solicited) {
  if (cqs_.complete(cqn, e, solicited, qp.way.port)) return;
  if (qp.state == qp_state::error) rules_.take_reason();
  else errors_.enter_error(qp, event_type::wq_catastrophic_error);
}

void work_completions::sent(queue_pair& qp, const send_request& r) {
  if (!r.signaled) return;
  image<cqe> e;
  e.set<&cqe::qpn>(qp.number())
      .set<&cqe::remote_qpn>(qp.context.get<&qpc::remote_qpn>())
      .set<&cqe::wqe_index>(r.index)
      .set<&cqe::is_send>(true)
      .set<&cqe::opcode>(static_cast<std::uint64_t>(r.opcode));
  if (r.expects_response()) e.set<&cqe::byte_count>(r.data.size() & 0xffffffff);
  complete(qp, qp.send_cqn, e, false);
}

std::uint32_t work_completions::receive_cq(const queue_pair& qp, const receive_request& r) {
  // XRC: the CQ is the shared queue's (illumos hermon_hw.h, srqc cqn_xrc).
  return qp.service == qp_service::xrc ? shared_.completion_queue(r.srqn) : qp.receive_cqn;
}

void work_completions::received(queue_pair& qp, const receive_request& r,
                                const receive_report& report, const ingress& from) {
  image<cqe> e;
  from.codec->put_addresses(from, !qp.connected(), e);
  if (report.checks) put(*report.checks, e);
  e.set<&cqe::qpn>(qp.number())
      .set<&cqe::immediate>(report.immediate)
      .set<&cqe::remote_qpn>(qp.service == qp_service::xrc ? r.srqn : report.remote_qpn)
      .set<&cqe::byte_count>(report.byte_count)
      .set<&cqe::wqe_index>(r.index)
      .set<&cqe::opcode>(static_cast<std::uint64_t>(report.opcode));
  complete(qp, receive_cq(qp, r), e, report.solicited);
}

void work_completions::received_frame(queue_pair& qp, const receive_request& r, image<cqe> e) {
  e.set<&cqe::qpn>(qp.number()).set<&cqe::wqe_index>(r.index);
  complete(qp, receive_cq(qp, r), e, false);
}

void work_completions::failed(queue_pair& qp, std::uint32_t cqn, std::uint16_t index, bool send,
                              std::uint32_t srqn, failure why) {
  image<cqe_error> e;
  e.set<&cqe_error::qpn>(qp.number())
      .set<&cqe_error::wqe_index>(index)
      .set<&cqe_error::vendor_syndrome>(why.vendor)
      .set<&cqe_error::syndrome>(why.syndrome)
      .set<&cqe_error::is_send>(send)
      .set<&cqe_error::opcode>(cqe_opcode::error);
  auto entry = image<cqe>::from_bytes(e.data());
  // Linux finds an XRC receive's queue by this field in error entries too (hw/mlx4/cq.c
  // mlx4_ib_poll_one).
  entry.set<&cqe::remote_qpn>(srqn);
  complete(qp, cqn, entry, true);
}

void work_completions::send_failed(queue_pair& qp, const send_request& r, failure what,
                                   const rule_book::reason& why) {
  rules_.explain(remark_kind::work_error, words_for(qp, r, what), why);
  if (!r.no_error_completion) failed(qp, qp.send_cqn, r.index, true, 0, what);
}

void work_completions::receive_failed(queue_pair& qp, const receive_request& r, failure what,
                                      const rule_book::reason& why) {
  rules_.explain(remark_kind::work_error, words_for(qp, r, what), why);
  failed(qp, receive_cq(qp, r), r.index, false, qp.service == qp_service::xrc ? r.srqn : 0, what);
}

// The reason is made anew each time: a machine of the fuzzers takes back all that was allocated
// while it ran.
template <class Request>
void work_completions::tell_of_flush(const Request& r, failure what, queue_pair& qp) {
  const bool first = !std::exchange(qp.flush_told, true);
  if (!first && !rules_.is_heard(remark_kind::work_error)) return;
  const rule_book::reason why{"", "the queue pair is in error, and so is what follows"};
  if (first) rules_.explain(remark_kind::work_error, words_for(qp, r, what), why);
  else rules_.mention(remark_kind::work_error, words_for(qp, r, what), why);
}

void work_completions::send_flushed(queue_pair& qp, const send_request& r) {
  tell_of_flush(r, failures::flush_send, qp);
  if (!r.no_error_completion) failed(qp, qp.send_cqn, r.index, true, 0, failures::flush_send);
}

void work_completions::receive_flushed(queue_pair& qp, const receive_request& r) {
  tell_of_flush(r, failures::flush_receive, qp);
  failed(qp, receive_cq(qp, r), r.index, false, qp.service == qp_service::xrc ? r.srqn : 0,
         failures::flush_receive);
}

}  // namespace freehca::model
