// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/queue_pairs.hpp"

#include <utility>

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "queues/event_queues.hpp"
#include "queues/qpn.hpp"
#include "queues/uar_users.hpp"
#include "saving/transfer.hpp"
#include "saving/values.hpp"
#include "tables/icm.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// What a changed link costs for one queue pair: its context is decoded again, or the queue pair
/// enters the error state, with all that follows (measured: 1.45 us).
constexpr work_account::units decoded_price = 4, link_error_price = 29;

}  // namespace

std::uint32_t queue_pairs::index_of(std::uint32_t qpn) const {
  return qpn & ((1u << a_.profile.log_qps) - 1);
}

std::uint64_t queue_pairs::context_address(std::uint32_t qpn) const {
  return a_.profile.qpc_base + std::uint64_t{index_of(qpn)} * entry_bytes::qpc;
}

queue_pair* queue_pairs::find(std::uint32_t qpn) {
  const auto found = table_.find(index_of(qpn));
  if (found == table_.end()) return nullptr;
  if (!has_current_links(*found->second)) apply_link_change(*found->second);
  return found->second.get();
}

queue_pair& queue_pairs::create(std::uint32_t qpn) {
  auto& slot = table_[index_of(qpn)];
  slot = std::make_unique<queue_pair>();
  slot->qpn = index_of(qpn);
  slot->links = a_.layers.changes();
  append(*slot);
  return *slot;
}

void queue_pairs::stop_timers(queue_pair& qp) {
  a_.work.cancel(qp.sq.timer);
  a_.work.cancel(qp.sq.rnr_timer);
}

void queue_pairs::append(queue_pair& qp) {
  qp.older = newest_;
  qp.newer = nullptr;
  (newest_ == nullptr ? oldest_ : newest_->newer) = &qp;
  newest_ = &qp;
}

void queue_pairs::unlink(queue_pair& qp) {
  (qp.older == nullptr ? oldest_ : qp.older->newer) = qp.newer;
  (qp.newer == nullptr ? newest_ : qp.newer->older) = qp.older;
}

namespace {

/// A connected queue pair gets its path by the transition to RTR. The context of INIT has none
/// (Linux 6.1 hw/mlx4/qp.c __mlx4_ib_modify_qp).
bool is_bound(const queue_pair& qp, unsigned port) {
  return qp.bound_to_link(port) && !(qp.connected() && qp.state == qp_state::init);
}

}  // namespace

void queue_pairs::count_bound(queue_pair& qp, bool there) {
  for (unsigned i = 0; i < bound_.size(); ++i) {
    const bool now = there && is_bound(qp, i + 1);
    if (now && !qp.counted[i]) ++bound_[i];
    if (!now && qp.counted[i]) --bound_[i];
    qp.counted[i] = now;
  }
}

void queue_pairs::apply_link_change(queue_pair& qp) {
  const port_layers::change_counts before = std::exchange(qp.links, a_.layers.changes());
  unlink(qp);
  append(qp);
  bool link_gone = false, decode = false;
  for (unsigned i = 0; i < before.size(); ++i) {
    if (before[i] == qp.links[i]) continue;
    link_gone = link_gone || is_bound(qp, i + 1);
    decode = decode || qp.way.port == i + 1;
  }
  a_.account.charge(link_gone ? link_error_price : decoded_price);
  if (link_gone) {
    on_link_gone(qp);
  } else if (decode) {
    qp.refresh(a_.layers);
    count_bound(qp, true);
  }
}

void queue_pairs::apply_link_changes() {
  applying_ = false;
  while (oldest_ != nullptr && !has_current_links(*oldest_)) {
    apply_link_change(*oldest_);
    if (!a_.account.slice_over()) continue;
    applying_ = true;
    return static_cast<void>(work_.soon({.kind = follow_links}));
  }
}

void queue_pairs::run_item(work_item& what) {
  if (what.kind == follow_links) apply_link_changes();
  else write_back();
}

void queue_pairs::links_replaced() {
  if (!applying_) apply_link_changes();
}

void queue_pairs::destroy(queue_pair& qp) {
  stop_timers(qp);
  count_bound(qp, false);
  unlink(qp);
  requests_held -= qp.sq.window.size();
  a_.uars.remove(static_cast<std::uint32_t>(qp.context.get<&qpc::usr_page>()),
                 uar_users::kind::send_queue, qp.qpn);
  qp.context = {};
  a_.context_memory->store(context_address(qp.qpn), qp.context);
  auto gone = table_.extract(qp.qpn);
  discard(std::move(gone.mapped()));
}

/// A queue pair can hold many requests.
void queue_pairs::discard(std::unique_ptr<queue_pair> qp) {
  const std::shared_ptr<queue_pair> kept = std::move(qp);
  a_.work.discard_by([kept] {
    if (!kept->sq.window.empty()) kept->sq.window.take_oldest();
    return !kept->sq.window.empty();
  });
}

bool queue_pairs::store(queue_pair& qp) {
  count_bound(qp, true);
  qp.context.set<&qpc::next_send_psn>(qp.sq.window.next_psn())
      .set<&qpc::last_acked_psn>(psn_before(qp.sq.window.unacked_psn()))
      .set<&qpc::ssn>(qp.sq.ssn & psn_mask)
      .set<&qpc::sq_wqe_counter>(qp.sq.counter)
      .set<&qpc::rq_wqe_counter>(qp.rq.counter)
      .set<&qpc::next_rcv_psn>(qp.rq.expected_psn)
      .set<&qpc::msn>(qp.rq.msn);
  // Where these are, an RSS queue pair has the last of its parameters.
  if (!qp.spreads())
    qp.context.set<&qpc::cur_retry_count>(qp.sq.window.retries_left() & 7)
        .set<&qpc::cur_rnr_retry>(qp.sq.window.rnr_retries_left() & 7);
  return a_.context_memory->store(context_address(qp.qpn), qp.context);
}

void queue_pairs::touch(queue_pair& qp) {
  if (qp.dirty) return;
  qp.dirty = true;
  if (dirty_.empty()) work_.soon({.kind = write_contexts});
  dirty_.push_back(qp.qpn);
}

void queue_pairs::write_back() {
  while (!dirty_.empty()) {
    const std::uint32_t qpn = dirty_.front();
    dirty_.pop_front();
    queue_pair* qp = find(qpn);
    if (qp != nullptr && qp->dirty) {
      qp->dirty = false;
      if (!store(*qp))
        a_.rules.complain(rule::context_stays_mapped,
                          "QP 0x%06x: its context is no longer mapped while it works", qpn);
    }
    if (a_.account.slice_over() && !dirty_.empty())
      return static_cast<void>(work_.soon({.kind = write_contexts}));
  }
}

void queue_pairs::set_state(queue_pair& qp, qp_state state) {
  qp.state = state;
  qp.sq.ahead.reset();
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

std::optional<request_place> queue_pairs::send_under(std::uint32_t lkey) const {
  if (requests_held == 0) return std::nullopt;
  // In the order of the list, because that of table_ is another one after a load.
  for (const queue_pair* qp = oldest_; qp != nullptr; qp = qp->newer) {
    a_.account.charge(work_account::entry);
    for (const send_request& r : qp->sq.window.requests()) {
      if (!qp->can_send() || a_.account.slice_over()) break;
      a_.account.charge(work_account::entry);
      if (!r.done && r.data.names(lkey)) return request_place{qp->number(), r.index};
    }
    if (a_.account.slice_over()) break;
  }
  return std::nullopt;
}

void queue_pairs::clear() {
  ++epoch_;
  auto all = std::make_shared<decltype(table_)>(std::exchange(table_, {}));
  a_.work.discard_by([this, all] {
    if (all->empty()) return false;
    stop_timers(*all->begin()->second);
    discard(std::move(all->begin()->second));
    all->erase(all->begin());
    return true;
  });
  forget_table();
}

void queue_pairs::forget_table() {
  table_.clear();
  requests_held = 0;
  dirty_.clear();
  oldest_ = newest_ = nullptr;
  applying_ = false;
  bound_ = {};
  special_base_ = 0;
}

const char* queue_pairs::broken_ports(const queue_pair& qp) const {
  const bool migrates = qp.migration() != path_migration::migrated;
  if (qp.way.port > a_.how.ports) return "the adapter has no such port";
  if (qp.alternate.port > a_.how.ports && (migrates || !qp.spreads()))
    return "the adapter has no such port in the alternate path";
  if (qp.on_ethernet && !may_be_ethernet(a_.how, qp.way.port))
    return "the port is never one of Ethernet";
  // Until a change of the link is applied, and in error, the link may be the one that was before.
  const std::size_t link = qp.way.port - 1;
  const bool current = qp.links[link] == a_.layers.changes()[link];
  if (current && qp.state != qp_state::error && qp.on_ethernet != a_.layers.ethernet(qp.way.port))
    return "the port is of the other kind";
  return nullptr;
}

const char* queue_pairs::broken_invariant() const {
  return special_base_ <= qpn_mask ? nullptr : "the number of a queue pair has 24 bits";
}

template <class Archive>
void queue_pairs::transfer_all(Archive& archive) {
  if constexpr (Archive::loads) forget_table();
  saving::transfer_members(archive, *this);
  archive.enter("table");
  auto left = static_cast<std::uint32_t>(table_.size());
  saving::transfer(archive, left);
  if constexpr (Archive::loads) {
    for (; left != 0 && archive.ok(); --left) {
      auto made = std::make_unique<queue_pair>();
      queue_pair& qp = *made;
      saving::transfer(archive, qp);
      if (!archive.ok()) break;
      if (const char* broken = broken_ports(qp)) archive.refuse("%s", broken);
      else if (!table_.try_emplace(qp.qpn, std::move(made)).second)
        archive.refuse("a queue pair comes twice");
      if (!archive.ok()) break;
      append(qp);
      requests_held += qp.sq.window.size();
      for (std::size_t i = 0; i < bound_.size(); ++i)
        if (qp.counted[i]) ++bound_[i];
    }
    if (!archive.ok()) forget_table();
  } else {
    for (queue_pair* qp = oldest_; qp != nullptr; qp = qp->newer) saving::transfer(archive, *qp);
  }
  archive.leave();
}

void queue_pairs::transfer_state(saving::writer& archive) {
  transfer_all(archive);
}

void queue_pairs::transfer_state(saving::reader& archive) {
  transfer_all(archive);
}

}  // namespace freehca::model
