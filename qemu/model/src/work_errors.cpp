// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "work_errors.hpp"

#include <algorithm>

#include "transport_parts.hpp"
#include "wqe_reader.hpp"

namespace freehca::model {

using namespace layouts;

namespace {
/// Completions per run, so that a long queue does not hold the host.
constexpr unsigned flush_budget = 64;

/// Receives that are posted in the error state have no doorbell; they are flushed all the same (the kernel's
/// ib_drain_rq posts one there and waits for it). No source says how hardware notices: the model looks at
/// the doorbell record after these times, doubling.
constexpr std::uint64_t watch_first_ns = 10'000, watch_last_ns = 10'000'000;
}  // namespace

void work_errors::send_failed(queue_pair& qp, failure why) {
  const send_request failed = std::move(qp.sq.requests.front());
  qp.sq.requests.pop_front();
  --t_.pairs.requests_held;
  qp.sq.cursor = 0;
  t_.completions.send_failed(qp, failed, why);
  if (qp.reliable()) {
    enter_error(qp, std::nullopt);
    return;
  }
  t_.pairs.set_state(qp, qp_state::sq_error);
  schedule(qp);
}

void work_errors::receive_failed(queue_pair& qp, const receive_request& r, failure why) {
  t_.completions.receive_failed(qp, r, why);
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
  if (event) t_.pairs.post_event(qp, *event);
  if (qp.rq.request) {
    t_.completions.receive_failed(qp, *qp.rq.request, failures::flush_receive);
    qp.rq.request.reset();
  }
  if (qp.shared_receive) t_.pairs.post_event(qp, event_type::srq_last_wqe);
  qp.rq.flush_interval = watch_first_ns;
  schedule(qp);
}

void work_errors::flush(queue_pair& qp) {
  schedule(qp);
}

void work_errors::schedule(queue_pair& qp) {
  if (qp.flushing) return;
  qp.flushing = true;
  t_.a.work.soon([this, qpn = qp.qpn] { run(qpn); });
}

void work_errors::run(std::uint32_t qpn) {
  queue_pair* qp = t_.pairs.find(qpn);
  if (qp == nullptr || !qp->flushing) return;
  qp->flushing = false;
  if (qp->state != qp_state::error && qp->state != qp_state::sq_error) return;
  unsigned left = flush_sends(*qp, flush_budget);
  if (left != 0 && qp->state == qp_state::error) left = flush_receives(*qp, left);
  if (left == 0) schedule(*qp);
  else if (qp->state == qp_state::error) watch_receives(*qp);
}

unsigned work_errors::flush_sends(queue_pair& qp, unsigned budget) {
  qp.sq.cursor = 0;
  for (; budget != 0; --budget) {
    if (qp.sq.requests.empty()) {
      send_request r;
      const host_memory::about what(t_.a.memory, {dma_kind::send_wqe, qp.qpn, qp.sq.counter});
      if (!qp.sq.ring.present || !qp.sq.rung ||
          fetch_send(*t_.a.regions, qp, qp.sq.counter, r) != fetch_result::fetched)
        break;
      qp.sq.counter = static_cast<std::uint16_t>(qp.sq.counter + r.blocks);
      qp.sq.requests.push_back(std::move(r));
      ++t_.pairs.requests_held;
      t_.pairs.touch(qp);
    }
    t_.completions.send_failed(qp, qp.sq.requests.front(), failures::flush_send);
    qp.sq.requests.pop_front();
    --t_.pairs.requests_held;
  }
  return budget;
}

unsigned work_errors::flush_receives(queue_pair& qp, unsigned budget) {
  if (qp.shared_receive) return budget;
  for (; budget != 0; --budget) {
    receive_request r;
    if (t_.receives.take(qp, r) != take_result::taken) break;
    t_.completions.receive_failed(qp, r, failures::flush_receive);
    qp.rq.flush_interval = watch_first_ns;
  }
  return budget;
}

void work_errors::watch_receives(queue_pair& qp) {
  if (qp.shared_receive || !qp.rq.ring.present) return;
  t_.a.work.cancel(qp.rq.flush_timer);
  qp.rq.flush_timer = t_.a.work.after(qp.rq.flush_interval, [this, qpn = qp.qpn] {
    if (queue_pair* again = t_.pairs.find(qpn)) schedule(*again);
  });
  qp.rq.flush_interval = std::min(qp.rq.flush_interval * 2, watch_last_ns);
}

}  // namespace freehca::model
