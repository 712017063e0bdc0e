// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queue_pairs.hpp"

#include "adapter_limits.hpp"
#include "event_queues.hpp"
#include "icm.hpp"

namespace freehca::model {

using namespace layouts;

std::uint32_t queue_pairs::index_of(std::uint32_t qpn) const {
  return qpn & ((1u << a_.profile.log_qps) - 1);
}

std::uint64_t queue_pairs::context_address(std::uint32_t qpn) const {
  return a_.profile.qpc_base + std::uint64_t{index_of(qpn)} * entry_bytes::qpc;
}

queue_pair* queue_pairs::find(std::uint32_t qpn) {
  const auto found = table_.find(index_of(qpn));
  return found == table_.end() ? nullptr : found->second.get();
}

queue_pair& queue_pairs::create(std::uint32_t qpn) {
  auto& slot = table_[index_of(qpn)];
  slot = std::make_unique<queue_pair>();
  slot->qpn = index_of(qpn);
  return *slot;
}

void queue_pairs::stop_timers(queue_pair& qp) {
  a_.work.cancel(qp.sq.timer);
  a_.work.cancel(qp.sq.rnr_timer);
  a_.work.cancel(qp.rq.flush_timer);
}

void queue_pairs::destroy(queue_pair& qp) {
  stop_timers(qp);
  requests_held -= qp.sq.requests.size();
  qp.context = {};
  a_.context_memory->store(context_address(qp.qpn), qp.context);
  table_.erase(qp.qpn);
}

bool queue_pairs::store(queue_pair& qp) {
  qp.context.set<&qpc::next_send_psn>(qp.sq.next_psn)
      .set<&qpc::last_acked_psn>(psn_before(qp.sq.unacked_psn))
      .set<&qpc::ssn>(qp.sq.ssn & psn_mask)
      .set<&qpc::sq_wqe_counter>(qp.sq.counter)
      .set<&qpc::rq_wqe_counter>(qp.rq.counter)
      .set<&qpc::next_rcv_psn>(qp.rq.expected_psn)
      .set<&qpc::msn>(qp.rq.msn)
      .set<&qpc::cur_retry_count>(qp.sq.retries_left & 7)
      .set<&qpc::cur_rnr_retry>(qp.sq.rnr_retries_left & 7);
  return a_.context_memory->store(context_address(qp.qpn), qp.context);
}

void queue_pairs::touch(queue_pair& qp) {
  if (qp.dirty) return;
  qp.dirty = true;
  if (dirty_.empty()) a_.work.soon([this] { write_back(); });
  dirty_.push_back(qp.qpn);
}

void queue_pairs::write_back() {
  const std::vector<std::uint32_t> batch = std::move(dirty_);
  dirty_.clear();
  for (const std::uint32_t qpn : batch) {
    queue_pair* qp = find(qpn);
    if (qp == nullptr || !qp->dirty) continue;
    qp->dirty = false;
    if (!store(*qp))
      a_.rules.complain(rule::context_stays_mapped,
                        "QP 0x%06x: its context is no longer mapped while it works", qpn);
  }
}

void queue_pairs::set_state(queue_pair& qp, qp_state state) {
  qp.state = state;
  qp.context.set<&qpc::state>(state);
  touch(qp);
}

void queue_pairs::post_event(const queue_pair& qp, event_type type) {
  image<eqe_qp> e;
  e.set<&eqe_qp::qpn>(qp.number());
  a_.eqs->post_asynchronous(type, image<eqe>::from_bytes(e.data()));
}

std::uint32_t queue_pairs::special(unsigned port, unsigned qp) const {
  if (special_base_ == 0 || port < 1 || port > 2 || qp > 1) return 0;
  return special_base_ + 2 * qp + port - 1;
}

unsigned queue_pairs::special_kind(std::uint32_t qpn, unsigned& port) const {
  const std::uint32_t offset = index_of(qpn) - special_base_;
  if (special_base_ == 0 || offset > 3) return 0;
  port = offset % 2 + 1;
  return offset / 2 + 1;
}

void queue_pairs::clear() {
  for (auto& [qpn, qp] : table_) stop_timers(*qp);
  table_.clear();
  requests_held = 0;
  dirty_.clear();
  special_base_ = 0;
}

}  // namespace freehca::model
