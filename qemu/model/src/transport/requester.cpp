// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requester: acknowledgements, responses, retries.
#include "transport/requester.hpp"

#include <algorithm>
#include <utility>

#include "basis/host_order.hpp"
#include "ports/ports.hpp"
#include "queues/explanations.hpp"
#include "queues/queue_pairs.hpp"
#include "transport/drop_log.hpp"
#include "transport/path_migration.hpp"
#include "transport/send_engine.hpp"
#include "transport/transport_counters.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// Is this the operation of the response packet that `read` waits for? Who asks for the rest gets a
/// response that begins there (Linux rxe_comp.c check_ack), and the answer to the time before may
/// still be under way.
bool is_next_response(const send_request& read, bth_operation operation) {
  const bool last = read.responses + 1 == read.psns;
  switch (operation) {
    case bth_operation::rdma_read_response_first:
      return !last && read.responses == read.asked_from;
    case bth_operation::rdma_read_response_only:
      return last && read.responses == read.asked_from;
    case bth_operation::rdma_read_response_middle:
      return !last && read.responses != 0;
    case bth_operation::rdma_read_response_last:
      return last && read.responses != 0;
    default:
      return false;
  }
}

}  // namespace

void requester::receive(queue_pair& qp, transport_packet v, bth_operation operation) {
  if (!qp.can_send()) return;
  // An answer to what has been acknowledged already: it came twice, or late.
  if (qp.sq.window.is_acknowledged(v.psn())) return;
  // An answer to what has not been sent yet is not the peer's answer to this queue pair. It may be
  // from an earlier life of the QPN, or forged. A request is done when all its packets have been
  // sent, and not before (Linux rxe_comp.c: wqe_state_pending).
  if (!qp.sq.window.was_sent(v.psn())) {
    ++counters_.unsent_answered;
    drops_.drop(v, "an answer to PSN 0x%06x, which was not sent; wanted: a PSN before 0x%06x",
                v.psn(), qp.sq.window.sent_psn());
    return;
  }
  switch (operation) {
    case bth_operation::acknowledge: {
      const auto answer = v.take<aeth>();
      if (answer) acknowledge(qp, v.psn(), *answer);
      break;
    }
    case bth_operation::atomic_acknowledge:
      atomic_response(qp, v);
      break;
    default:
      read_response(qp, v, operation);
  }
  sends_.settle(qp);
  sends_.kick(qp);
}

void requester::acknowledge(queue_pair& qp, std::uint32_t psn, image<aeth> answer) {
  const auto value = static_cast<unsigned>(answer.get<&aeth::value>());
  switch (answer.get<&aeth::type>()) {
    case aeth_type::ack:
      acknowledge_before(qp, psn_add(psn, 1));
      return;
    case aeth_type::rnr_nak:
      // While the wait for the first one lasts, another says nothing new (Linux qib_rc.c and hfi1
      // rc.c do_rc_ack: none is counted while RVT_S_WAIT_RNR is set).
      if (acknowledge_before(qp, psn) && !qp.sq.waiting_rnr) wait_not_ready(qp, psn, value);
      return;
    case aeth_type::nak:
      break;
    case aeth_type::reserved:
      return;
  }
  if (!acknowledge_before(qp, psn)) return;
  switch (static_cast<nak_code>(value)) {
    case nak_code::psn_sequence_error:
      counters_.sequence_naks.count(qp.way.port);
      retry_gap(qp, psn);
      break;
    case nak_code::invalid_request:
      a_.rules.because("%s with PSN 0x%06x came back", name_of(nak_code::invalid_request), psn);
      fail_head(qp, failures::remote_invalid_request);
      break;
    case nak_code::remote_access_error:
      a_.rules.because("%s with PSN 0x%06x came back", name_of(nak_code::remote_access_error), psn);
      fail_head(qp, failures::remote_access);
      break;
    case nak_code::remote_operational_error:
      a_.rules.because("%s with PSN 0x%06x came back", name_of(nak_code::remote_operational_error),
                       psn);
      fail_head(qp, failures::remote_operation);
      break;
    default:
      break;  // reserved codes are ignored
  }
}

bool requester::acknowledge_before(queue_pair& qp, std::uint32_t psn) {
  const send_window::acknowledgement found = qp.sq.window.acknowledge_before(psn);
  if (found.progress) progress(qp);
  if (found.missing) retry_gap(qp, *found.missing);
  return !found.missing;
}

void requester::progress(queue_pair& qp) {
  qp.sq.last_progress = a_.work.now();
  qp.sq.second_chance = false;
  qp.sq.window.restore_retries(qp.retry_limits());
  pairs_.touch(qp);
}

void requester::read_response(queue_pair& qp, transport_packet& v, bth_operation operation) {
  if (operation != bth_operation::rdma_read_response_middle && !v.take<aeth>()) return;
  if (!acknowledge_before(qp, v.psn())) return;
  send_request* const read = qp.sq.window.awaited_read(v.psn());
  if (read == nullptr) return;
  send_request& r = *read;
  const std::uint64_t offset = std::uint64_t{r.responses} * qp.mtu;
  const bool last = r.responses + 1 == r.psns;
  const std::uint64_t due = last ? r.data.size() - offset : qp.mtu;
  // An operation that does not belong there is a bad response (IBTA vol. 1, 11.6.2: an unexpected
  // opcode), one that does and has another length is a length error (Linux qib_rc.c
  // qib_rc_rcv_resp, ack_len_err; hfi1/rc.c). Where the operation contradicts how much is left, qib
  // calls both a length error.
  if (const bool belongs = is_next_response(r, operation); !belongs || v.rest_bytes != due) {
    a_.rules.because(
        "response packet %u with operation 0x%x and %zu bytes of payload; wanted: %llu bytes, "
        "and the operation of its place",
        r.responses, static_cast<unsigned>(operation), v.rest_bytes,
        static_cast<unsigned long long>(due));
    fail_head(qp, belongs ? failures::local_length : failures::bad_response);
    return;
  }
  if (due != 0 &&
      r.data.scatter(*a_.regions, qp.owner, offset, v.rest, v.rest_bytes) != access_result::ok) {
    fail_for_want_of_place(qp);
    return;
  }
  qp.sq.window.response_came(r);
  progress(qp);
}

void requester::atomic_response(queue_pair& qp, transport_packet& v) {
  const auto answer = v.take<aeth>();
  const auto original = v.take<atomic_ack_eth>();
  if (!answer || !original || !acknowledge_before(qp, v.psn())) return;
  send_request* const found = qp.sq.window.awaited_atomic(v.psn());
  if (found == nullptr) return;
  const auto value =
      to_host_order(original->get<&atomic_ack_eth::original_data>(), a_.profile.big_endian_host);
  if (found->data.scatter(*a_.regions, qp.owner, 0, value.data(), value.size()) !=
      access_result::ok) {
    fail_for_want_of_place(qp);
    return;
  }
  qp.sq.window.response_came(*found);
  progress(qp);
}

void requester::retry_gap(queue_pair& qp, std::uint32_t from) {
  // Until there is progress, or the timer expires, what tells of a gap once more says nothing new:
  // a NAK that came twice, or a response that was under way behind a lost one (Linux rxe_comp.c:
  // started_retry).
  if (qp.sq.window.begin_retry()) retry(qp, from);
}

void requester::retry(queue_pair& qp, std::uint32_t from) {
  if (!qp.sq.window.use_retry()) {
    if (!migration_.migrate(qp)) return fail_without_answer(qp, from);
    qp.sq.window.set_retries(qp.retry_limits().retries);
  }
  ++counters_.retries;
  rewind(qp, from);
}

void requester::fail_without_answer(queue_pair& qp, std::uint32_t from) {
  a_.rules.because("no acknowledgement of PSN 0x%06x, nor after retry_count %u retries", from,
                   static_cast<unsigned>(qp.context.get<&qpc::retry_count>()));
  fail_head(qp, failures::retry_exceeded);
}

void requester::rewind(queue_pair& qp, std::uint32_t from) {
  qp.sq.window.rewind(from);
  sends_.kick(qp);
}

void requester::wait_not_ready(queue_pair& qp, std::uint32_t from, unsigned timer_code) {
  if (!qp.sq.window.use_rnr_retry()) {
    a_.rules.because("the peer has no receive for PSN 0x%06x, nor after rnr_retry %u retries", from,
                     static_cast<unsigned>(qp.context.get<&qpc::rnr_retry>()));
    fail_head(qp, failures::rnr_retry_exceeded);
    return;
  }
  counters_.rnr_waits.count(qp.way.port);
  rewind(qp, from);
  qp.sq.waiting_rnr = true;
  a_.work.cancel(qp.sq.rnr_timer);
  qp.sq.rnr_timer =
      work_.after(std::uint64_t{rnr_timer_us(timer_code)} * 1000, item(end_of_rnr_wait, qp.qpn));
}

work_item requester::item(work kind, std::uint32_t qpn) const {
  return {.kind = kind, .number = qpn, .generation = pairs_.epoch()};
}

void requester::run_item(work_item& what) {
  if (what.generation != pairs_.epoch()) return;
  if (what.kind == acknowledgement_timeout) timer_expired(what.number);
  else receiver_ready(what.number);
}

void requester::receiver_ready(std::uint32_t qpn) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr || !qp->sq.waiting_rnr) return;
  qp->sq.waiting_rnr = false;
  qp->sq.last_progress = a_.work.now();
  sends_.kick(*qp);
}

void requester::fail_for_want_of_place(queue_pair& qp) {
  // Data that are inline are in the work request: no region to write to.
  if (!a_.rules.has_reason())
    a_.rules.because("an inline segment; wanted: a region for what the response brings");
  fail_head(qp, failures::local_protection);
}

void requester::fail_head(queue_pair& qp, failure why) {
  // What was acknowledged before it completes first.
  qp.sq.window.fail_oldest(why, a_.rules);
  sends_.settle(qp);
}

void requester::watch(queue_pair& qp) {
  const auto exponent = static_cast<unsigned>(qp.context.get<&primary_path::ack_timeout>());
  if (qp.sq.timer || exponent == 0 || !qp.reliable() || !qp.sq.window.has_outstanding()) return;
  if (qp.state != qp_state::rts && qp.state != qp_state::sq_draining) return;
  qp.sq.last_progress = a_.work.now();
  qp.sq.second_chance = false;
  qp.sq.timer = work_.after(std::uint64_t{4096} << exponent, item(acknowledgement_timeout, qp.qpn));
}

void requester::timer_expired(std::uint32_t qpn) {
  queue_pair* qp = pairs_.find(qpn);
  if (qp == nullptr) return;
  qp->sq.timer = {};
  const bool active = qp->state == qp_state::rts || qp->state == qp_state::sq_draining;
  const bool outstanding = qp->sq.window.has_outstanding();
  const auto exponent = static_cast<unsigned>(qp->context.get<&primary_path::ack_timeout>());
  if (!active || !outstanding || exponent == 0) return;

  // 4.096 us * 2^n, and up to four times that is allowed (IBTA vol. 1, 9.7.6.1.3). The first expiry
  // without progress only starts the wait again: when the host was held up, the answer may stand
  // behind the timer in the schedule.
  const std::uint64_t period = std::uint64_t{4096} << exponent;
  const std::uint64_t now = a_.work.now();
  std::uint64_t due = qp->sq.last_progress + period;
  // What could not be sent is not answered either. That others fill the port is no reason to wait:
  // all that this queue pair has may have been sent, and be lost.
  const bool waits = qp->sq.waiting_rnr || qp->sq.held_up;
  if (waits || due <= now) {
    due = now + period;
    if (!waits && qp->sq.second_chance) {
      counters_.timeouts.count(qp->way.port);
      qp->sq.second_chance = false;
      qp->sq.window.end_retry();
      retry(*qp, qp->sq.window.unacked_psn());
      if (qp->state == qp_state::error) return;
    } else {
      qp->sq.second_chance = !waits;
    }
  }
  qp->sq.timer = work_.at(due, item(acknowledgement_timeout, qpn));
}

}  // namespace freehca::model
