// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The responder: sends and RDMA writes.
#include <array>
#include <cstdio>
#include <string>

#include "basis/capabilities.hpp"
#include "queues/explanations.hpp"
#include "queues/receive_queues.hpp"
#include "transport/answers.hpp"
#include "transport/drop_log.hpp"
#include "transport/responder.hpp"
#include "transport/transport_counters.hpp"
#include "transport/work_completions.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using message = receive_side::message;

bool needs_receive(const request_packet& p) {
  return (p.send && p.first) || (p.write && p.immediate);
}

std::string want_of_receive(const queue_pair& qp) {
  if (!qp.shared_receive) return "no receive was posted";
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "no receive was posted to SRQ 0x%06x", qp.srqn);
  return text.data();
}

}  // namespace

bool responder::fits_message(const queue_pair& qp, const request_packet& p) const {
  const message now = qp.rq.in_progress;
  if (p.first ? now != message::none : now != (p.send ? message::send : message::write))
    return false;
  return p.send || p.write;
}

bool responder::take_receive(queue_pair& qp, const request_packet& p) {
  if (qp.rq.request) return true;
  receive_request r;
  take_result got = take_result::fault;
  if (qp.service != qp_service::xrc) {
    got = receives_.take(qp, r);
  } else if (names_queue_of_domain(qp)) {
    got = receives_.take_shared(qp, qp.rq.xrc_srqn, r);
  }
  switch (got) {
    case take_result::taken:
      qp.rq.request = std::move(r);
      return true;
    case take_result::fault:
      if (!a_.rules.has_reason() && qp.service == qp_service::xrc)
        a_.rules.because(
            "SRQ 0x%06x of the packet is not of the queue pair's XRC domain, or broken",
            qp.rq.xrc_srqn);
      else if (!a_.rules.has_reason())
        a_.rules.because("SRQ 0x%06x is broken",
                         static_cast<unsigned>(qp.context.get<&qpc::srqn>()));
      refuse(qp, p, nak_code::remote_operational_error, std::nullopt);
      if (qp.service == qp_service::uc) errors_.enter_error(qp, std::nullopt);
      return false;
    case take_result::empty:
      break;
  }
  if (qp.service == qp_service::uc) {
    drops_.drop(p.view, "%s", want_of_receive(qp).c_str());
    qp.rq.in_progress = message::skip;
    return false;
  }
  if (a_.rules.explains_drop())
    a_.rules.explain(remark_kind::packet_dropped, words_for(p.view) + ": RNR NAK",
                     {"", want_of_receive(qp)});
  response wait;
  wait.psn = p.view.psn();
  wait.msn = qp.rq.msn;
  counters_.rnr_naks_sent.count(qp.way.port);
  wait.type = aeth_type::rnr_nak;
  wait.value = static_cast<std::uint8_t>(qp.context.get<&qpc::min_rnr_nak>());
  qp.rq.nak_sent = true;
  replies_.add(qp, wait);
  return false;
}

bool responder::begin_write(queue_pair& qp, request_packet& p) {
  const auto range = p.view.take<reth>();
  if (!range) {
    a_.rules.because("it ends before the end of its RETH");
    refuse_size(qp, p);
    return false;
  }
  const auto bytes = static_cast<std::uint32_t>(range->get<&reth::dma_length>());
  const auto rkey = static_cast<std::uint32_t>(range->get<&reth::rkey>());
  const std::uint64_t address = range->get<&reth::virtual_address>();
  // What the queue pair does not serve, and what is too long, is an invalid request (IBTA vol. 1,
  // 11.6.2; Linux qib_rc.c qib_rc_rcv, nack_inv); the key is asked behind that.
  if (qp.context.get<&qpc::rwe>() == 0 || bytes > qp.message_bytes_max) {
    a_.rules.because(
        "RETH length of %u bytes; the queue pair allows %s; wanted: remote write (rwe 1), and at "
        "most %llu bytes",
        bytes, words_for_access(qp), static_cast<unsigned long long>(qp.message_bytes_max));
    if (qp.context.get<&qpc::rwe>() == 0) refuse_operation(qp, p);
    else refuse_size(qp, p);
    return false;
  }
  if (bytes != 0 && a_.regions->check(rkey, qp.rq.remote, access::remote_write, address, bytes,
                                      qp.mtu) != access_result::ok) {
    refuse(qp, p, nak_code::remote_access_error, event_type::wq_access_violation);
    return false;
  }
  qp.rq.write_address = address;
  qp.rq.write_rkey = rkey;
  qp.rq.write_left = bytes;
  qp.rq.received = 0;
  return true;
}

bool responder::take_argument(request_packet& p) {
  if (p.immediate) {
    const auto argument = p.view.take<immdt>();
    if (argument) p.argument = static_cast<std::uint32_t>(argument->get<&immdt::immediate>());
    return argument.has_value();
  }
  if (p.invalidate) {
    const auto argument = p.view.take<ieth>();
    if (argument) p.argument = static_cast<std::uint32_t>(argument->get<&ieth::rkey>());
    return argument.has_value();
  }
  return true;
}

void responder::execute(queue_pair& qp, request_packet& p) {
  receive_side& rq = qp.rq;
  const std::uint32_t psn = p.view.psn();
  if (!fits_message(qp, p)) {
    a_.rules.because(
        "operation 0x%x while %s is in progress; wanted: the next of that message, "
        "or else a first one (IBTA 9.7.4.1)",
        static_cast<unsigned>(p.operation),
        rq.in_progress == message::none   ? "no message"
        : rq.in_progress == message::send ? "a send"
                                          : "a write");
    rq.in_progress = message::none;
    refuse_operation(qp, p);
    return;
  }
  if (p.first && p.write && !begin_write(qp, p)) return;
  const bool invalidates = qp.reliable() && offers(a_.how, capability::memory_management);
  if (!take_argument(p) || (p.invalidate && !invalidates)) {
    a_.rules.because("%s", p.immediate   ? "it ends before the end of its ImmDt"
                           : invalidates ? "it ends before the end of its IETH"
                                         : "a send that invalidates, which QUERY_DEV_CAP does "
                                           "not report");
    if (p.immediate || invalidates) refuse_size(qp, p);
    else refuse_operation(qp, p);
    return;
  }
  // All packets but the last are full, and the last is not empty unless it is the only one.
  const bool length_fits = p.last
                               ? p.view.rest_bytes <= qp.mtu && (p.first || p.view.rest_bytes != 0)
                               : p.view.rest_bytes == qp.mtu;
  if (!length_fits) {
    a_.rules.because("%zu bytes of payload; wanted: %s the MTU, %u (IBTA 9.7.4.1.6)",
                     p.view.rest_bytes, p.last ? "1 to" : "exactly", qp.mtu);
    refuse_size(qp, p);
    return;
  }
  if (p.first && p.send) rq.received = 0;
  if (needs_receive(p) && !take_receive(qp, p)) return;
  if (!place_payload(qp, p)) return;
  if (p.invalidate && a_.regions->invalidate(rq.remote, p.argument, true) != access_result::ok) {
    // Class J of the responder's errors: the receive says it, and the requester hears nothing (IBTA
    // vol. 1, 9.9.3, read through Linux sw/rxe/rxe_resp.c).
    a_.rules.because(
        "it invalidates key 0x%x: no key of this domain that may be invalidated "
        "from afar",
        p.argument);
    const receive_request request = std::move(*rq.request);
    errors_.receive_failed(qp, request, failures::remote_invalid_request);
    return;
  }

  rq.in_progress = p.last ? message::none : p.send ? message::send : message::write;
  if (qp.reliable()) rq.expected_psn = psn_add(psn, 1);
  if (p.last) finish_message(qp, p);
  if (qp.reliable() && p.view.bth.get<&bth::ack_req>()) replies_.acknowledge(qp, psn);
}

bool responder::place_payload(queue_pair& qp, const request_packet& p) {
  receive_side& rq = qp.rq;
  const std::size_t bytes = p.view.rest_bytes;
  if (p.write) {
    const bool fits = bytes <= rq.write_left && (!p.last || bytes == rq.write_left);
    if (!fits) {
      a_.rules.because("%zu bytes of payload, %u of the message are left", bytes, rq.write_left);
      refuse_size(qp, p);
      return false;
    }
    if (bytes != 0 &&
        a_.regions->write(rq.write_rkey, qp.rq.remote, access::remote_write, rq.write_address,
                          p.view.rest, bytes) != access_result::ok) {
      refuse(qp, p, nak_code::remote_access_error, event_type::wq_access_violation);
      return false;
    }
    rq.write_address += bytes;
    rq.write_left -= static_cast<std::uint32_t>(bytes);
    rq.received += bytes;
    return true;
  }
  const receive_request request = *rq.request;
  std::optional<failure> why;
  nak_code code = nak_code::invalid_request;
  if (rq.received + bytes > request.data.size()) {
    a_.rules.because("a message of %s%llu bytes; wanted: at most the %llu of the receive",
                     p.last ? "" : "at least ",
                     static_cast<unsigned long long>(rq.received + bytes),
                     static_cast<unsigned long long>(request.data.size()));
    why = failures::local_length;
  } else if (bytes != 0 && request.data.scatter(*a_.regions, request.owner, rq.received,
                                                p.view.rest, bytes) != access_result::ok) {
    why = failures::local_protection;
    code = nak_code::remote_operational_error;
  }
  if (why) {
    rq.request.reset();
    const rule_book::reason reason = a_.rules.take_reason();
    completions_.receive_failed(qp, request, *why, reason);
    if (!qp.can_receive()) return false;  // the completion was lost: nothing is answered
    a_.rules.again(reason);
    refuse(qp, p, code, std::nullopt);
    if (qp.service == qp_service::uc) errors_.enter_error(qp, std::nullopt);
    return false;
  }
  rq.received += bytes;
  return true;
}

void responder::finish_message(queue_pair& qp, const request_packet& p) {
  receive_side& rq = qp.rq;
  rq.msn = psn_add(rq.msn, 1);
  // An unreliable send that was cut off leaves its receive to the next send: a write may come
  // between.
  if (!rq.request || (p.write && !p.immediate)) return;
  receive_report report;
  report.opcode = p.write        ? cqe_opcode::recv_rdma_write_imm
                  : p.invalidate ? cqe_opcode::recv_send_inval
                  : p.immediate  ? cqe_opcode::recv_send_imm
                                 : cqe_opcode::recv_send;
  report.byte_count = static_cast<std::uint32_t>(rq.received);
  report.immediate = p.argument;
  report.remote_qpn = static_cast<std::uint32_t>(qp.context.get<&qpc::remote_qpn>());
  report.solicited = p.view.bth.get<&bth::solicited>();
  const receive_request request = std::move(*rq.request);
  rq.request.reset();
  completions_.received(qp, request, report, p.view.ingress);
}

}  // namespace freehca::model
