// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/send_engine.hpp"

#include <algorithm>

#include "basis/capabilities.hpp"
#include "basis/limits.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/wqe_reader.hpp"
#include "transport/datagrams.hpp"
#include "transport/error_watch.hpp"
#include "transport/frame_sender.hpp"
#include "transport/packet_sender.hpp"
#include "transport/requester.hpp"
#include "transport/work_completions.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// Packets (or packetless requests) per run, if its slice goes so far.
constexpr unsigned run_budget = 32;

/// Without the rule that a doorbell stands behind its entry: how often the entry is looked at, and
/// how long apart, before it is taken whatever its owner bit says.
constexpr unsigned looks_most = 8;
constexpr std::uint64_t look_interval_ns = 1'000'000;

}  // namespace

void send_engine::rung(queue_pair& qp, bool pushed) {
  const std::uint64_t now = a_.work.now();
  ++qp.sq.doorbells;
  qp.sq.reads_ahead = qp.sq.reads_ahead || !pushed;
  if (qp.sq.hears_at > now) return;
  const std::uint64_t latency = a_.times.work();
  if (latency == 0) {
    qp.sq.rung = qp.sq.armed = true;
    return kick(qp);
  }
  qp.sq.hears_at = scheduler::later(now, latency);
  work_.at(qp.sq.hears_at, {.kind = late_doorbell, .number = qp.qpn, .value = qp.sq.hears_at});
}

void send_engine::run_item(work_item& what) {
  switch (what.kind) {
    case run_queue:
      return run(what.number);
    case late_doorbell:
      return hear_doorbell(what.number, what.value);
    default:
      if (queue_pair* qp = pairs_.find(what.number)) kick(*qp);
  }
}

void send_engine::hear_doorbell(std::uint32_t qpn, std::uint64_t due) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr || qp->sq.hears_at != due) return;
  qp->sq.rung = qp->sq.armed = true;
  kick(*qp);
}

void send_engine::found_given(queue_pair& qp) {
  if (qp.sq.hears_at > a_.work.now()) return;
  // One that was heard covers the entry too: counted twice it would miss one.
  if (qp.sq.armed) return kick(qp);
  rung(qp, false);
}

void send_engine::kick(queue_pair& qp) {
  if (qp.state == qp_state::error || qp.state == qp_state::sq_error) {
    watch_.touched(qp);
    errors_.flush(qp);
    return;
  }
  // A queue pair without a send queue has nothing to run, but it drains, at once.
  const bool runs = qp.sq.ring.present || qp.state == qp_state::sq_draining;
  if (qp.sq.scheduled || !runs) return;
  qp.sq.scheduled = true;
  work_.soon(qp.way.port, {.kind = run_queue, .number = qp.qpn});
}

bool send_engine::may_run(const queue_pair& qp) const {
  if (qp.state != qp_state::rts && qp.state != qp_state::sq_draining) return false;
  return !qp.sq.waiting_rnr;
}

void send_engine::run(std::uint32_t qpn) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr || !qp->sq.scheduled) return;
  if (a_.work.backlog() > a_.kept.packets) {
    work_.after(limits::backlog_pause_ns, {.kind = run_queue, .number = qpn});
    return;
  }
  qp->sq.scheduled = false;
  settle(*qp);  // what a slice before has left of it
  bool more = a_.account.slice_over();
  for (unsigned left = run_budget; !more && may_run(*qp); --left) {
    const step did = advance(*qp);
    if (did == step::blocked) break;
    more = left == 1 || did == step::unfinished || a_.account.slice_over();
  }
  settle(*qp);
  requests_.watch(*qp);
  if (more) kick(*qp);
}

void send_engine::forget(queue_pair& qp) {
  sender_.forget(qp);
}

void send_engine::check_fetched(const queue_pair& qp, send_request& r) {
  rule_book& rules = a_.rules;
  const auto bytes = static_cast<unsigned long long>(r.data.size());
  if (r.data.size() > qp.message_bytes_max) {
    rules.because("%llu bytes; wanted: at most %llu, by the context's msg_max and QUERY_DEV_CAP",
                  bytes, static_cast<unsigned long long>(qp.message_bytes_max));
    r.blame(failures::local_length, rules);
  } else if (const std::uint64_t most = std::uint64_t{1} << a_.limits().log_large_send_bytes;
             r.large != nullptr && qp.service == qp_service::ud && r.data.size() > most) {
    rules.because("%llu bytes; wanted: at most %llu, by QUERY_DEV_CAP's log_max_gso_sz", bytes,
                  static_cast<unsigned long long>(most));
    r.blame(failures::local_length, rules);
  } else if (r.is_atomic() && r.data.size() != 8) {
    rules.because("%llu bytes; wanted: 8, the operand of an atomic", bytes);
    r.blame(failures::local_length, rules);
  } else if (r.row->offered && !offers(a_.how, *r.row->offered)) {
    rules.because("opcode %s, which QUERY_DEV_CAP does not report", name_of(r.opcode));
    r.blame(failures::local_qp_operation, rules);
  } else if (r.manages_memory() && !r.strong_order &&
             rules.refuses(rule::strong_order, "QP 0x%06x send %u (%s) without it", qp.number(),
                           unsigned{r.index}, name_of(r.opcode))) {
    r.blame(failures::local_qp_operation, rules);
  } else if (judge_ && !judge_(r.opcode)) {
    rules.because("a fault on request");
    r.blame(failures::local_qp_operation, rules);
  }
}

/// The next entry is the software's: the doorbells have been served.
void send_engine::found_none(queue_pair& qp) {
  send_side& sq = qp.sq;
  const bool early = sq.armed && sq.doorbells > sq.taken;
  if (early && a_.rules.is_off(rule::send_doorbell_entry)) {
    if (++sq.looks <= looks_most + 1)
      work_.after(look_interval_ns, {.kind = look_again, .number = qp.qpn});
    return;
  }
  if (early)
    a_.rules.complain(rule::send_doorbell_entry,
                      "QP 0x%06x: a doorbell, and entry %u has the software's owner bit, %u",
                      qp.number(), unsigned{sq.counter},
                      sq.ring.hardware_owner(sq.counter) ? 0u : 1u);
  sq.served(a_.how.doorbells_under_way);
}

void send_engine::check_unrung(const queue_pair& qp) {
  const bool on_its_way = qp.sq.hears_at > a_.work.now();
  if (!qp.can_send() || !qp.sq.rung || qp.sq.armed || on_its_way ||
      !is_hardwares(a_, qp, qp.sq.counter))
    return;
  a_.rules.complain(rule::send_doorbell_rung,
                    "QP 0x%06x: entry %u was given to the send queue, and no doorbell came",
                    qp.number(), unsigned{qp.sq.counter});
}

/// `r` was fetched: as silicon may, hardware reads on in the queue, beyond what doorbells have told
/// of.
void send_engine::read_ahead(queue_pair& qp, const send_request& r) {
  std::unique_ptr<send_prefetch>& ahead = qp.sq.ahead;
  if (ahead != nullptr) ahead->forget(qp.sq.ring, r.index, r.blocks);
  if (!qp.sq.reads_ahead || qp.context.get<&qpc::sq_no_prefetch>()) return;
  if (ahead == nullptr) ahead = std::make_unique<send_prefetch>();
  ahead->read(a_, qp, static_cast<std::uint16_t>(r.index + r.blocks));
}

bool send_engine::fetch(queue_pair& qp) {
  if (!qp.sq.rung || qp.state == qp_state::sq_draining) return false;
  if (!qp.sq.armed && !a_.rules.is_off(rule::send_doorbell_rung)) return false;
  if (qp.sq.hears_at > a_.work.now()) return false;
  // One that has none may always take one: none waits for the others for ever.
  if (!qp.sq.window.empty() && pairs_.requests_held >= a_.kept.requests) return false;
  std::optional<send_request> fetched;
  rule_book& rules = a_.rules;
  const host_memory::about what(a_.memory, {dma_kind::send_wqe, qp.qpn, qp.sq.counter});
  switch (fetch_send(a_, qp, qp.sq.counter, fetched, qp.sq.looks > looks_most)) {
    case fetch_result::none:
      found_none(qp);
      return false;
    case fetch_result::fault:
      rules.because(
          "entry %u of the send queue cannot be read: an MTT that is not present, or the "
          "bus refuses it",
          unsigned{qp.sq.counter});
      errors_.enter_error(qp, event_type::wq_catastrophic_error);
      return false;
    case fetch_result::fetched:
      break;
  }
  send_request& r = *fetched;
  if (a_.how.prefetch) read_ahead(qp, r);
  qp.sq.counter = static_cast<std::uint16_t>(qp.sq.counter + r.blocks);
  ++qp.sq.taken;
  qp.sq.looks = 0;
  const auto uncovered = static_cast<std::uint16_t>(qp.sq.counter - qp.sq.covered);
  if (uncovered > qp.sq.ring.entries()) {
    rules.complain(rule::send_entry_free,
                   "QP 0x%06x: send %u stands in an entry of send %u, of which no completion has "
                   "told",
                   qp.number(), unsigned{r.index},
                   static_cast<unsigned>(r.index - qp.sq.ring.entries()) & 0xffff);
    qp.sq.covered = static_cast<std::uint16_t>(qp.sq.counter - qp.sq.ring.entries());
  }
  r.turn = a_.work.turns();
  if (!r.wrong) check_fetched(qp, r);
  qp.sq.window.add(std::move(r));
  ++pairs_.requests_held;
  pairs_.touch(qp);
  return true;
}

bool send_engine::start(queue_pair& qp, send_request& r) {
  if (r.started) return true;
  if (qp.state == qp_state::sq_draining) return false;
  if (qp.reliable()) {
    if (r.fence && qp.sq.window.awaits_responses()) return false;
    r.psns = 1;
    if (qp.connected() && !r.is_atomic() && r.data.size() > qp.mtu)
      r.psns = static_cast<std::uint32_t>((r.data.size() + qp.mtu - 1) / qp.mtu);
    if (!qp.sq.window.has_room(r.psns)) return false;
  } else if (r.large != nullptr) {
    r.psns = r.segments();
  } else if (qp.service == qp_service::uc && r.data.size() > qp.mtu) {
    r.psns = static_cast<std::uint32_t>((r.data.size() + qp.mtu - 1) / qp.mtu);
  }
  qp.sq.window.start_current();
  ++qp.sq.ssn;
  pairs_.touch(qp);
  return true;
}

send_engine::step send_engine::execute_locally(queue_pair& qp, send_request& r) {
  // In order with what is before it, and done before what is behind it starts.
  if (!qp.sq.window.current_is_oldest()) return step::blocked;
  if (r.manages_memory() && !manage_memory(qp, r)) return step::unfinished;
  if (r.wrong) {
    settle(qp);
    return step::blocked;
  }
  qp.sq.window.finish_current();
  settle(qp);
  return step::skipped;
}

bool send_engine::manage_memory(const queue_pair& qp, send_request& r) {
  memory_regions& regions = *a_.regions;
  access_result did = access_result::bad_permission;
  std::uint64_t rkey = r.immediate;
  switch (r.opcode) {
    case wqe_opcode::bind_mw:
      rkey = r.binding.get<&wqe_bind::new_rkey>();
      did = regions.bind(qp.owner, r.binding);
      break;
    case wqe_opcode::fast_register:
      rkey = r.registration.get<&wqe_fast_register::mem_key>();
      // Linux enables it for the kernel's own queue pairs (hw/mlx4/qp.c, params1).
      if (qp.context.get<&qpc::fre>())
        did = regions.fast_register(qp.owner, r.registration, r.copied, a_.account);
      break;
    default:
      did = regions.invalidate(qp.owner, r.immediate, false);
  }
  if (did == access_result::unfinished) return false;
  if (did == access_result::ok) return true;
  a_.rules.because("%s of key 0x%x: %s", name_of(r.opcode), static_cast<unsigned>(rkey),
                   name_of(did));
  // No source says what a fault of the page list or of context memory is called: chosen.
  const bool fault = did == access_result::not_present || did == access_result::bus_refused;
  r.blame(fault ? failures::local_protection : failures::memory_management, a_.rules);
  return true;
}

std::optional<failure> send_engine::send_packet(queue_pair& qp, send_request& r) {
  if (qp.connected()) return requests_.send_packet(qp, r);
  // What wants an ICRC is a packet of the second general management queue pair (hw/mlx4/qp.c
  // MLX4_IB_ROCE_V2_GSI_QP).
  const bool is_frame = qp.carries_frames() && r.ethernet().get<&wqe_ctrl_ethernet::no_icrc>();
  return is_frame ? frames_.send(qp, r) : datagrams_.send(qp, r);
}

send_engine::step send_engine::advance(queue_pair& qp) {
  qp.sq.held_up = false;
  send_window& window = qp.sq.window;
  if (window.all_sent() && !fetch(qp)) return step::blocked;
  send_request& r = window.current();
  if (r.wrong) {
    settle(qp);
    return step::blocked;
  }
  if (r.is_local()) return execute_locally(qp, r);
  qp.sq.held_up = sender_.held_up(qp, datagrams_.way_of(qp, r));
  if (qp.sq.held_up) return step::blocked;
  if (!start(qp, r)) return step::blocked;
  if (qp.reliable() && !window.may_send_current(1u << qp.context.get<&qpc::sra_max>()))
    return step::blocked;
  if (const auto wrong = send_packet(qp, r)) {
    r.blame(*wrong, a_.rules);
    settle(qp);
    return step::blocked;
  }
  window.packet_sent();
  if (window.message_sent() && r.done) settle(qp);
  return step::sent;
}

void send_engine::tell_done(queue_pair& qp, const send_request& r) {
  // What is done in the turn that fetched it was not given to the driver meanwhile: there is
  // nothing to look for.
  if (r.turn != a_.work.turns() && !is_as_fetched(a_, qp, r))
    a_.rules.complain(rule::send_entry_kept,
                      "QP 0x%06x: the entry of send %u (%s) is not as it was fetched", qp.number(),
                      unsigned{r.index}, name_of(r.opcode));
  completions_.sent(qp, r);
  if (r.signaled) qp.sq.covered = static_cast<std::uint16_t>(r.index + r.blocks);
}

void send_engine::settle(queue_pair& qp) {
  send_window& window = qp.sq.window;
  for (bool one = false; !window.empty() && window.oldest().done; one = true) {
    if (one && a_.account.slice_over()) return kick(qp);
    const send_request r = window.take_oldest();
    --pairs_.requests_held;
    pairs_.touch(qp);
    tell_done(qp, r);
  }
  // Behind a request that failed it is flushed, whatever is wrong with it; a queue that drains ends
  // what it has begun.
  const bool failed = !window.empty() && window.oldest().wrong;
  if (failed &&
      (qp.state == qp_state::rts || (qp.state == qp_state::sq_draining && window.oldest().started)))
    errors_.send_failed(qp);
  check_drained(qp);
}

void send_engine::check_drained(queue_pair& qp) {
  if (qp.state != qp_state::sq_draining) return;
  if (!qp.sq.window.empty() && qp.sq.window.oldest().started) return;
  pairs_.set_state(qp, qp_state::sq_drained);
  if (qp.sq.drain_event) pairs_.post_event(qp, event_type::sq_drained);
}

}  // namespace freehca::model
