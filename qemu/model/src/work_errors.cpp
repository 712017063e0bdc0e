// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "work_errors.hpp"

#include <utility>

#include "explanations.hpp"
#include "transport_parts.hpp"
#include "wqe_reader.hpp"

namespace freehca::model {

using namespace layouts;

void work_errors::send_failed(queue_pair& qp) {
  const send_request failed = std::move(qp.sq.requests.front());
  qp.sq.requests.pop_front();
  --t_.pairs.requests_held;
  qp.sq.cursor = 0;
  qp.sq.covered = static_cast<std::uint16_t>(failed.index + failed.blocks);
  forget_done(qp);
  t_.completions.send_failed(qp, failed, *failed.wrong, *failed.why);
  if (qp.state == qp_state::error) return;
  if (qp.reliable()) {
    enter_error(qp, std::nullopt);
    return;
  }
  t_.pairs.set_state(qp, qp_state::sq_error);
  qp.flush_told = false;
  schedule(qp);
}

void work_errors::receive_failed(queue_pair& qp, const receive_request& r, failure what) {
  t_.completions.receive_failed(qp, r, what, t_.a.rules.take_reason());
  qp.rq.request.reset();
  enter_error(qp, std::nullopt);
}

void work_errors::enter_error(queue_pair& qp, std::optional<event_type> event) {
  if (qp.state == qp_state::error) return;
  t_.pairs.set_state(qp, qp_state::error);
  t_.a.work.cancel(qp.sq.timer);
  t_.a.work.cancel(qp.sq.rnr_timer);
  qp.sq.waiting_rnr = false;
  qp.rq.responses.clear();
  qp.rq.in_progress = receive_side::message::none;
  qp.flush_told = false;
  if (event) {
    t_.a.rules.explain(remark_kind::work_error, words_for(qp, *event), t_.a.rules.take_reason());
    t_.pairs.post_event(qp, *event);
  }
  if (qp.rq.request) {
    t_.completions.receive_flushed(qp, *qp.rq.request);
    qp.rq.request.reset();
  }
  if (qp.shared_receive) t_.pairs.post_event(qp, event_type::srq_last_wqe);
  t_.watch.touched(qp);
  schedule(qp);
}

void work_errors::flush(queue_pair& qp) {
  schedule(qp);
}

void work_errors::schedule(queue_pair& qp) {
  if (qp.flushing) return;
  qp.flushing = true;
  t_.a.work.soon(qp.way.port, [this, qpn = qp.qpn] { run(qpn); });
}

void work_errors::run(std::uint32_t qpn) {
  queue_pair* qp = t_.pairs.find(qpn);
  if (qp == nullptr || !qp->flushing) return;
  qp->flushing = false;
  if (qp->state != qp_state::error && qp->state != qp_state::sq_error) return;
  bool more = flush_sends(*qp);
  if (!more && qp->state == qp_state::error) more = flush_receives(*qp);
  if (more) schedule(*qp);
}

bool work_errors::flush_sends(queue_pair& qp) {
  qp.sq.cursor = 0;
  for (; !t_.a.account.slice_over();) {
    if (qp.sq.requests.empty()) {
      send_request r;
      const host_memory::about what(t_.a.memory, {dma_kind::send_wqe, qp.qpn, qp.sq.counter});
      if (!qp.sq.ring.present || !qp.sq.rung ||
          (!qp.sq.armed && !t_.a.rules.is_off(rule::send_doorbell_rung)))
        return false;
      if (fetch_send(t_.a, qp, qp.sq.counter, r) != fetch_result::fetched) {
        qp.sq.served();
        return false;
      }
      ++qp.sq.taken;
      qp.sq.counter = static_cast<std::uint16_t>(qp.sq.counter + r.blocks);
      qp.sq.requests.push_back(std::move(r));
      ++t_.pairs.requests_held;
      t_.pairs.touch(qp);
    }
    const send_request r = std::move(qp.sq.requests.front());
    qp.sq.requests.pop_front();
    --t_.pairs.requests_held;
    // What was done before the error, and has not been told yet, has succeeded all the same.
    if (r.done) {
      t_.sends.tell_done(qp, r);
    } else {
      forget_done(qp);
      qp.sq.covered = static_cast<std::uint16_t>(r.index + r.blocks);
      t_.completions.send_flushed(qp, r);
    }
  }
  return true;
}

void work_errors::forget_done(queue_pair& qp) {
  for (send_request& r : qp.sq.requests) {
    if (!r.started && !r.done) break;
    r.done = false;
  }
}

bool work_errors::flush_receives(queue_pair& qp) {
  if (qp.shared_receive) return false;
  while (!t_.a.account.slice_over()) {
    receive_request r;
    if (t_.receives.take(qp, r) != take_result::taken) return false;
    t_.completions.receive_flushed(qp, r);
  }
  return true;
}

}  // namespace freehca::model
