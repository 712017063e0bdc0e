// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/work_errors.hpp"

#include <utility>

#include "queues/explanations.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/receive_queues.hpp"
#include "queues/wqe_reader.hpp"
#include "transport/error_watch.hpp"
#include "transport/send_engine.hpp"
#include "transport/work_completions.hpp"

namespace freehca::model {

using namespace layouts;

void work_errors::send_failed(queue_pair& qp) {
  const send_request failed = qp.sq.window.take_oldest();
  --pairs_.requests_held;
  qp.sq.window.stop();
  qp.sq.covered = static_cast<std::uint16_t>(failed.index + failed.blocks);
  qp.sq.window.forget_done();
  completions_.send_failed(qp, failed, *failed.wrong, *failed.why);
  if (qp.state == qp_state::error) return;
  if (qp.reliable()) {
    enter_error(qp, std::nullopt);
    return;
  }
  pairs_.set_state(qp, qp_state::sq_error);
  qp.flush_told = false;
  schedule(qp);
}

void work_errors::receive_failed(queue_pair& qp, const receive_request& r, failure what) {
  // Before its completion: one that finds no room ends the queue pair, which flushes what is there.
  qp.rq.request.reset();
  completions_.receive_failed(qp, r, what, a_.rules.take_reason());
  enter_error(qp, std::nullopt);
}

void work_errors::enter_error(queue_pair& qp, std::optional<event_type> event) {
  if (qp.state == qp_state::error) return;
  pairs_.set_state(qp, qp_state::error);
  a_.work.cancel(qp.sq.timer);
  a_.work.cancel(qp.sq.rnr_timer);
  qp.sq.waiting_rnr = false;
  qp.rq.responses.clear();
  qp.rq.in_progress = receive_side::message::none;
  qp.flush_told = false;
  if (event) {
    a_.rules.explain(remark_kind::work_error, words_for(qp, *event), a_.rules.take_reason());
    pairs_.post_event(qp, *event);
  }
  if (qp.rq.request) {
    completions_.receive_flushed(qp, *qp.rq.request);
    qp.rq.request.reset();
  }
  if (qp.shared_receive) pairs_.post_event(qp, event_type::srq_last_wqe);
  watch_.touched(qp);
  schedule(qp);
}

void work_errors::flush(queue_pair& qp) {
  schedule(qp);
}

void work_errors::schedule(queue_pair& qp) {
  if (qp.flushing) return;
  qp.flushing = true;
  work_.soon(qp.way.port, {.kind = flush_queues, .number = qp.qpn});
}

void work_errors::run(std::uint32_t qpn) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr || !qp->flushing) return;
  qp->flushing = false;
  if (qp->state != qp_state::error && qp->state != qp_state::sq_error) return;
  bool more = flush_sends(*qp);
  if (!more && qp->state == qp_state::error) more = flush_receives(*qp);
  if (more) schedule(*qp);
}

bool work_errors::flush_sends(queue_pair& qp) {
  qp.sq.window.stop();
  for (; !a_.account.slice_over();) {
    if (qp.sq.window.empty()) {
      std::optional<send_request> fetched;
      const host_memory::about what(a_.memory, {dma_kind::send_wqe, qp.qpn, qp.sq.counter});
      if (!qp.sq.ring.present || !qp.sq.rung ||
          (!qp.sq.armed && !a_.rules.is_off(rule::send_doorbell_rung)))
        return false;
      if (fetch_send(a_, qp, qp.sq.counter, fetched) != fetch_result::fetched) {
        qp.sq.served(a_.how.doorbells_under_way);
        return false;
      }
      send_request& r = *fetched;
      ++qp.sq.taken;
      qp.sq.counter = static_cast<std::uint16_t>(qp.sq.counter + r.blocks);
      qp.sq.window.add(std::move(r));
      ++pairs_.requests_held;
      pairs_.touch(qp);
    }
    const send_request r = qp.sq.window.take_oldest();
    --pairs_.requests_held;
    // What was done before the error, and has not been told yet, has succeeded all the same.
    if (r.done) {
      sends_.tell_done(qp, r);
    } else {
      qp.sq.window.forget_done();
      qp.sq.covered = static_cast<std::uint16_t>(r.index + r.blocks);
      completions_.send_flushed(qp, r);
    }
  }
  return true;
}

bool work_errors::flush_receives(queue_pair& qp) {
  if (qp.shared_receive || qp.may_lack_receives()) return false;
  while (!a_.account.slice_over()) {
    receive_request r;
    if (receives_.take(qp, r) != take_result::taken) return false;
    completions_.receive_flushed(qp, r);
  }
  return true;
}

}  // namespace freehca::model
