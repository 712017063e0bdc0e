// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion queues at work: entries, overrun, arming, events. The commands:
// completion_commands.cpp.
#include "queues/completion_queues.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include <freehca/layouts/doorbell.hpp>

#include "basis/adapter_limits.hpp"
#include "basis/identity.hpp"
#include "queues/event_queues.hpp"
#include "tables/icm.hpp"
#include "tables/queue_context.hpp"

namespace freehca::model {

using layouts::cq_state;
using layouts::cq_status;
using layouts::cqc;
using layouts::cqe;

std::uint64_t completion_queues::context_at(std::uint32_t cqn) const {
  return a_.profile.cqc_base + std::uint64_t{cqn} * entry_bytes::cqc;
}

const char* completion_queues::broken_invariant() const {
  // Events have so many bits for the number.
  for (const auto& [cqn, known] : owned_)
    if (cqn > layouts::eqe_completion{}.cqn.mask()) return "the number of a CQ has 24 bits";
  return nullptr;
}

void completion_queues::clear() {
  ++epoch_;
  a_.work.discard(users_);
  auto all = std::make_shared<decltype(owned_)>(std::exchange(owned_, {}));
  a_.work.discard_by([this, all] {
    if (all->empty()) return false;
    a_.work.cancel(all->begin()->second.moderation);
    all->erase(all->begin());
    return true;
  });
}

/// Is there room for one more entry? Looks at the doorbell record only when the last known consumer
/// counter says no.
bool completion_queues::make_room(std::uint32_t cqn, context& q) {
  const std::uint32_t entries = 1u << q.get<&cqc::log_cq_size>();
  const auto producer = static_cast<std::uint32_t>(q.get<&cqc::producer_counter>());
  const auto taken = [&] {
    return (producer - static_cast<std::uint32_t>(q.get<&cqc::consumer_counter>())) & counter_mask;
  };
  if (taken() < entries || q.get<&cqc::oi>()) return true;
  layouts::image<layouts::cq_doorbell_record> record;
  const host_memory::about what(a_.memory, {dma_kind::cq_record, cqn});
  if (!a_.memory.read(q.get<&cqc::db_rec_addr>(), record.data(), record.size())) {
    a_.rules.complain(rule::cq_reachable, "CQ %u: its doorbell record at 0x%llx cannot be read",
                      cqn, static_cast<unsigned long long>(q.get<&cqc::db_rec_addr>()));
    fail(cqn, q, layouts::cq_error_syndrome::access_violation);
    return false;
  }
  const auto consumer =
      static_cast<std::uint32_t>(record.get<&layouts::cq_doorbell_record::update_ci>());
  const auto known = static_cast<std::uint32_t>(q.get<&cqc::consumer_counter>());
  const bool past = counter_distance(producer, consumer) < 0;
  if (past)
    a_.rules.complain(rule::cq_record,
                      "CQ %u: consumer index %u in its record, and the producer is at %u", cqn,
                      consumer, producer);
  // Who has consumed more than there was has consumed all. No source: chosen. The record may be
  // behind the doorbell of another thread, which armed the queue.
  const bool behind = counter_distance(consumer, known) < 0;
  q.set<&cqc::consumer_counter>(past ? producer : behind ? known : consumer);
  if (taken() < entries) return true;
  if (!a_.rules.complain(rule::cq_has_room, "CQ %u: producer %u, consumer %u, and %u entries", cqn,
                         producer, consumer, entries))
    return true;
  fail(cqn, q, layouts::cq_error_syndrome::overrun);
  return false;
}

void completion_queues::fail(std::uint32_t cqn, context& q, layouts::cq_error_syndrome why) {
  q.set<&cqc::status>(why == layouts::cq_error_syndrome::overrun ? cq_status::overflow
                                                                 : cq_status::write_failure);
  a_.context_memory->store(context_at(cqn), q);
  if (why == layouts::cq_error_syndrome::overrun) ++overruns_;
  char subject[60];
  std::snprintf(subject, sizeof subject, "CQ %u: completion queue error", cqn);
  const bool overrun = why == layouts::cq_error_syndrome::overrun;
  const rule_entry& broken = entry_of(overrun ? rule::cq_has_room : rule::cq_reachable);
  a_.rules.explain(
      remark_kind::work_error, subject,
      {broken.name.data(),
       overrun ? "it is full, and takes no completion any more (IBTA 11.6.3)"
               : "it cannot be written, and takes no completion any more (IBTA 11.6.3)"});
  layouts::image<layouts::eqe_cq_error> e;
  e.set<&layouts::eqe_cq_error::cqn>(cqn).set<&layouts::eqe_cq_error::syndrome>(why);
  a_.eqs->post_asynchronous(layouts::event_type::cq_error, e);
}

/// Writes `e` as the next entry; leaves storing the context to the caller unless the CQ fails.
bool completion_queues::append(std::uint32_t cqn, context& q, layouts::image<cqe> e) {
  if (!make_room(cqn, q)) return false;
  const std::uint32_t entries = 1u << q.get<&cqc::log_cq_size>();
  const auto producer = static_cast<std::uint32_t>(q.get<&cqc::producer_counter>());
  if (q.get<&cqc::timestamp>()) {
    auto stamped = layouts::image<layouts::cqe_timestamp>::from_bytes(e.data());
    const std::uint64_t ticks = clock_ticks(a_.how.kind, a_.work.now());
    // With a low part of 0 the upper part is one behind: Linux counts on it (en_clock.c
    // mlx4_en_get_cqe_ts).
    const std::uint64_t upper = (ticks >> 16) - ((ticks & 0xffff) == 0 ? 1 : 0);
    stamped.set<&layouts::cqe_timestamp::timestamp_47_16>(upper & 0xffffffff);
    stamped.set<&layouts::cqe_timestamp::timestamp_15_0>(ticks & 0xffff);
    e = layouts::image<cqe>::from_bytes(stamped.data());
  }
  e.set<&cqe::owner>((producer & entries) != 0);
  const std::uint32_t stride = a_.profile.cqe_bytes;
  const std::uint32_t slot = q.get<&cqc::cc>() ? 0 : producer & (entries - 1);
  const std::uint64_t at =
      std::uint64_t{slot} * stride + (stride == layouts::cqe64_bytes ? layouts::cqe64_offset : 0);
  const queue_buffer where = buffer_of(q);
  // The word with the owner bit goes last: the host looks at it first.
  constexpr std::size_t tail = 8;
  const host_memory::about what(a_.memory, {dma_kind::cqe, cqn, producer});
  if (!a_.regions->write_entry(where, at, e.data(), e.size(), tail)) {
    a_.rules.complain(rule::cq_reachable, "CQ %u: entry %u cannot be written", cqn, producer);
    fail(cqn, q, layouts::cq_error_syndrome::access_violation);
    return false;
  }
  ++written_;
  q.set<&cqc::producer_counter>((producer + 1) & counter_mask);
  return true;
}

bool completion_queues::complete(std::uint32_t cqn, layouts::image<cqe> e, bool solicited,
                                 unsigned port) {
  const auto known = owned_.find(cqn);
  if (known == owned_.end()) {
    a_.rules.because("CQ %u is not in hardware's hands (IBTA 11.6.3)", cqn);
    return false;
  }
  auto q = a_.context_memory->load<cqc>(context_at(cqn));
  if (!q || q->get<&cqc::log_cq_size>() > a_.limits().log_cq_entries) {
    a_.rules.complain(rule::context_stays_mapped,
                      "the context of CQ %u is not mapped any more, or was written over", cqn);
    a_.rules.because("the context of CQ %u is not mapped", cqn);
    return false;
  }
  const auto inaccessible = [&] {
    a_.rules.because("CQ %u is full or cannot be written (IBTA 11.6.3)", cqn);
    return false;
  };
  if (q->get<&cqc::status>() != cq_status::ok) return inaccessible();
  const bool error =
      e.get<&cqe::opcode>() == static_cast<std::uint64_t>(layouts::cqe_opcode::error);
  if (!append(cqn, *q, e)) return inaccessible();
  if (error) {
    const auto why = layouts::image<layouts::cqe_error>::from_bytes(e.data());
    const unsigned side = why.get<&layouts::cqe_error::is_send>() ? 1 : 0;
    const auto syndrome = static_cast<std::uint8_t>(why.get<&layouts::cqe_error::syndrome>());
    ++errors_[0][side][syndrome];
    if (port != 0) ++errors_[port][side][syndrome];
  }
  if (solicited || error) q->set<&cqc::solicit_producer_index>(q->get<&cqc::producer_counter>());
  const cq_state state = q->get<&cqc::state>();
  if (state == cq_state::armed || (state == cq_state::armed_solicited && (solicited || error)))
    notify(cqn, known->second, *q);
  a_.context_memory->store(context_at(cqn), *q);
  return true;
}

/// An armed CQ has a completion to tell of: now, or later under moderation. A period of 0 means
/// now, whatever the count: mlx4_en sets 0 us and 44 frames where rates are low (Linux en_netdev.c
/// mlx4_en_auto_moderation). So does a count of 1 (ethtool.h), and with a period a count of 0: no
/// source: chosen.
void completion_queues::notify(std::uint32_t cqn, queue& known, context& q) {
  const std::uint64_t count = q.get<&cqc::cq_max_count>(), period = q.get<&cqc::cq_period>();
  if (count <= 1 || period == 0 || ++known.held_back >= count) {
    fire(cqn, known, q);
    return;
  }
  if (known.moderation) return;
  known.moderation =
      work_.after(period * 1000, {.kind = end_of_period, .number = cqn, .generation = epoch_});
}

void completion_queues::run_item(work_item& what) {
  if (what.generation == epoch_) period_over(what.number);
}

void completion_queues::period_over(std::uint32_t cqn) {
  const auto it = owned_.find(cqn);
  if (it == owned_.end()) return;
  it->second.moderation = {};
  auto q = a_.context_memory->load<cqc>(context_at(cqn));
  if (!q || it->second.held_back == 0) return;
  fire(cqn, it->second, *q);
  a_.context_memory->store(context_at(cqn), *q);
}

/// Raises the completion event; leaves storing the context to the caller.
void completion_queues::fire(std::uint32_t cqn, queue& known, context& q) {
  a_.work.cancel(known.moderation);
  known.held_back = 0;
  known.fired = true;
  known.fired_sn = known.armed_sn;
  q.set<&cqc::state>(cq_state::fired);
  q.set<&cqc::last_notified_index>(q.get<&cqc::producer_counter>());
  layouts::image<layouts::eqe_completion> e;
  e.set<&layouts::eqe_completion::event_type>(layouts::event_type::completion);
  e.set<&layouts::eqe_completion::cqn>(cqn);
  ++events_;
  if (!a_.eqs->post(static_cast<std::uint32_t>(q.get<&cqc::comp_eqn>()), e))
    a_.rules.complain(rule::cq_reports_to_eq,
                      "CQ %u tells its completions to EQ %u, which takes none", cqn,
                      static_cast<unsigned>(q.get<&cqc::comp_eqn>()));
}

namespace {

/// The request as the second word of a doorbell record.
std::uint32_t arm_word(const layouts::image<layouts::cq_doorbell>& d) {
  using layouts::cq_doorbell;
  return layouts::cq_arm_word(static_cast<std::uint32_t>(d.get<&cq_doorbell::cmd_sn>()),
                              d.get<&cq_doorbell::cmd>(),
                              static_cast<std::uint32_t>(d.get<&cq_doorbell::ci>()));
}

}  // namespace

/// Is the request in the doorbell record too, and is its number the next? Two threads may arm one
/// queue at once, which verbs permit: then the record is that of the other, with the same number or
/// the next.
void completion_queues::check_arm(std::uint32_t cqn, const queue& known, const context& q,
                                  const layouts::image<layouts::cq_doorbell>& d) {
  using layouts::cq_doorbell;
  using record = layouts::cq_doorbell_record;
  const auto sn = static_cast<unsigned>(d.get<&cq_doorbell::cmd_sn>());
  layouts::image<record> r;
  const host_memory::about what(a_.memory, {dma_kind::cq_record, cqn});
  const bool there = a_.memory.read(q.get<&cqc::db_rec_addr>(), r.data(), r.size());
  const auto ahead = (static_cast<unsigned>(r.get<&record::cmd_sn>()) - sn) & 3;
  if (there && (ahead > 1 || r.get<&record::cmd>() == layouts::cq_arm::none))
    a_.rules.complain(rule::cq_arm_record,
                      "CQ %u: command %u, number %u, consumer %u in the doorbell; command %u, "
                      "number %u, consumer %u in its record",
                      cqn, static_cast<unsigned>(d.get<&cq_doorbell::cmd>()), sn,
                      static_cast<unsigned>(d.get<&cq_doorbell::ci>()),
                      static_cast<unsigned>(r.get<&record::cmd>()),
                      static_cast<unsigned>(r.get<&record::cmd_sn>()),
                      static_cast<unsigned>(r.get<&record::arm_ci>()));
  // The number of the last event is that of a request which the event crossed.
  const unsigned next = known.fired ? (known.fired_sn + 1) & 3 : 1;
  if (sn != next && !(known.fired && sn == known.fired_sn))
    a_.rules.complain(rule::cq_arm_number, "CQ %u: number %u; wanted: %u", cqn, sn, next);
}

void completion_queues::look_at_record(std::uint32_t cqn) {
  using layouts::cq_doorbell;
  using record = layouts::cq_doorbell_record;
  const auto known = owned_.find(cqn);
  if (known == owned_.end()) return;
  const auto q = a_.context_memory->load<cqc>(context_at(cqn));
  layouts::image<record> r;
  const host_memory::about what(a_.memory, {dma_kind::cq_record, cqn});
  if (!q || !a_.memory.read(q->get<&cqc::db_rec_addr>(), r.data(), r.size())) return;
  layouts::image<cq_doorbell> d;
  d.set<&cq_doorbell::cmd_sn>(r.get<&record::cmd_sn>())
      .set<&cq_doorbell::cmd>(r.get<&record::cmd>())
      .set<&cq_doorbell::cqn>(cqn)
      .set<&cq_doorbell::ci>(r.get<&record::arm_ci>());
  // Two requests that are alike mean one: behind an event the number is another, and until then
  // there is nothing to add.
  const bool arms = d.get<&cq_doorbell::cmd>() != layouts::cq_arm::none;
  if (arms && arm_word(d) != known->second.last_arm)
    doorbell(known->second.uar, layouts::load_be<std::uint32_t>(d.data()),
             layouts::load_be<std::uint32_t>(d.data() + 4));
}

void completion_queues::doorbell(std::uint32_t uar, std::uint32_t first, std::uint32_t second) {
  using layouts::cq_doorbell;
  layouts::image<cq_doorbell> d;
  layouts::store_be(d.data(), first);
  layouts::store_be(d.data() + 4, second);
  const auto cqn = static_cast<std::uint32_t>(d.get<&cq_doorbell::cqn>());
  const auto known = owned_.find(cqn);
  if (known == owned_.end()) {
    a_.rules.complain(rule::cq_doorbell_owner, "doorbell of CQ %u, which hardware does not own",
                      cqn);
    return;
  }
  auto q = a_.context_memory->load<cqc>(context_at(cqn));
  if (!q) {
    a_.rules.complain(rule::context_stays_mapped, "the context of CQ %u is not mapped any more",
                      cqn);
    return;
  }
  const auto own = static_cast<std::uint32_t>(q->get<&cqc::usr_page>());
  if (own != uar &&
      a_.rules.complain(rule::doorbell_of_own_uar,
                        "doorbell of CQ %u in UAR page %u; its own is %u", cqn, uar, own))
    return;
  const layouts::cq_arm what = d.get<&cq_doorbell::cmd>();
  known->second.last_arm = arm_word(d);
  const auto sn = static_cast<std::uint8_t>(d.get<&cq_doorbell::cmd_sn>());
  const auto producer = static_cast<std::uint32_t>(q->get<&cqc::producer_counter>());
  const auto consumer = static_cast<std::uint32_t>(d.get<&cq_doorbell::ci>());
  if (counter_distance(producer, consumer) < 0 &&
      a_.rules.complain(rule::cq_consumer_index,
                        "doorbell of CQ %u: consumer %u is past producer %u", cqn, consumer,
                        producer))
    return;
  const bool arms = what == layouts::cq_arm::next || what == layouts::cq_arm::solicited;
  if (arms) check_arm(cqn, known->second, *q, d);
  q->set<&cqc::consumer_counter>(consumer);
  // A request that was answered already: the event is on its way to the host (doorbell.hpp,
  // cmd_sn).
  const bool stale = known->second.fired && sn == known->second.fired_sn;
  if (!stale && arms) {
    known->second.armed_sn = sn;
    // A request for the next completion that no event has answered stands (IBTA C11-31, C11-32).
    // Inferred: Linux and libmlx4 send any request, so their verb would weaken it otherwise;
    // illumos sends no weaker one.
    const bool any = what == layouts::cq_arm::next || q->get<&cqc::state>() == cq_state::armed;
    q->set<&cqc::state>(any ? cq_state::armed : cq_state::armed_solicited);
    // Completions that came behind the host's back since the last event are told at once. Inferred:
    // that is what the consumer index in the doorbell and last_notified_index in the context are
    // good for.
    const auto newest = static_cast<std::uint32_t>(any ? q->get<&cqc::producer_counter>()
                                                       : q->get<&cqc::solicit_producer_index>());
    const auto told = static_cast<std::uint32_t>(q->get<&cqc::last_notified_index>());
    if (counter_distance(newest, consumer) > 0 && counter_distance(newest, told) > 0)
      fire(cqn, known->second, *q);
  }
  a_.context_memory->store(context_at(cqn), *q);
}

}  // namespace freehca::model
