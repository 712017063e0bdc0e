// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "queues/explanations.hpp"

#include <array>
#include <cstdio>

#include "link/link_codec.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

const char* name_of(bth_transport t) {
  switch (t) {
    case bth_transport::rc:
      return "RC";
    case bth_transport::uc:
      return "UC";
    case bth_transport::ud:
      return "UD";
    case bth_transport::xrc:
      return "XRC";
    case bth_transport::rc_masked:
      return "RC masked";
    case bth_transport::xrc_masked:
      return "XRC masked";
    default:
      return "unknown transport";
  }
}

/// As IBTA vol. 1, table 38 spells them.
constexpr std::array<const char*, 24> operations{"SEND_FIRST",
                                                 "SEND_MIDDLE",
                                                 "SEND_LAST",
                                                 "SEND_LAST_IMM",
                                                 "SEND_ONLY",
                                                 "SEND_ONLY_IMM",
                                                 "RDMA_WRITE_FIRST",
                                                 "RDMA_WRITE_MIDDLE",
                                                 "RDMA_WRITE_LAST",
                                                 "RDMA_WRITE_LAST_IMM",
                                                 "RDMA_WRITE_ONLY",
                                                 "RDMA_WRITE_ONLY_IMM",
                                                 "RDMA_READ_REQUEST",
                                                 "RDMA_READ_RESPONSE_FIRST",
                                                 "RDMA_READ_RESPONSE_MIDDLE",
                                                 "RDMA_READ_RESPONSE_LAST",
                                                 "RDMA_READ_RESPONSE_ONLY",
                                                 "ACKNOWLEDGE",
                                                 "ATOMIC_ACKNOWLEDGE",
                                                 "COMPARE_SWAP",
                                                 "FETCH_ADD",
                                                 "reserved",
                                                 "SEND_LAST_INVALIDATE",
                                                 "SEND_ONLY_INVALIDATE"};
static_assert(operations[static_cast<std::size_t>(bth_operation::send_only_invalidate)] != nullptr);

const char* name_of(bth_operation o) {
  const auto n = static_cast<std::size_t>(o);
  return n < operations.size() ? operations[n] : "reserved";
}

template <class... T>
std::string formatted(const char* format, T... values) {
  std::array<char, 200> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

}  // namespace

const char* name_of(cqe_syndrome s) {
  switch (s) {
    case cqe_syndrome::local_length:
      return "local length error";
    case cqe_syndrome::local_qp_op:
      return "local QP operation error";
    case cqe_syndrome::local_protection:
      return "local protection error";
    case cqe_syndrome::wr_flush:
      return "work request flushed";
    case cqe_syndrome::mw_bind:
      return "memory window bind error";
    case cqe_syndrome::bad_response:
      return "bad response error";
    case cqe_syndrome::local_access:
      return "local access error";
    case cqe_syndrome::remote_invalid_request:
      return "remote invalid request error";
    case cqe_syndrome::remote_access:
      return "remote access error";
    case cqe_syndrome::remote_op:
      return "remote operation error";
    case cqe_syndrome::transport_retry_exceeded:
      return "transport retry counter exceeded";
    case cqe_syndrome::rnr_retry_exceeded:
      return "RNR retry counter exceeded";
    default:
      return "error";
  }
}

const char* words_for_access(const queue_pair& qp) {
  constexpr std::array<const char*, 8> words{"no remote access",
                                             "remote write alone",
                                             "remote read alone",
                                             "remote write and remote read",
                                             "remote atomics alone",
                                             "remote write and remote atomics",
                                             "remote read and remote atomics",
                                             "remote write, remote read and remote atomics"};
  const bool writes = qp.context.get<&qpc::rwe>(), reads = qp.context.get<&qpc::rre>(),
             atomics = qp.context.get<&qpc::rae>();
  return words[(writes ? 1u : 0u) | (reads ? 2u : 0u) | (atomics ? 4u : 0u)];
}

const char* name_of(event_type t) {
  switch (t) {
    case event_type::cq_error:
      return "completion queue error";
    case event_type::path_migration_failed:
      return "path migration failed";
    case event_type::wq_catastrophic_error:
      return "work queue catastrophic error";
    case event_type::wq_invalid_request_error:
      return "work queue invalid request error";
    case event_type::wq_access_violation:
      return "work queue access violation";
    case event_type::srq_catastrophic_error:
      return "shared receive queue catastrophic error";
    default:
      return "event";
  }
}

const char* name_of(nak_code c) {
  switch (c) {
    case nak_code::psn_sequence_error:
      return "NAK: PSN sequence error";
    case nak_code::invalid_request:
      return "NAK: invalid request";
    case nak_code::remote_access_error:
      return "NAK: remote access error";
    case nak_code::remote_operational_error:
      return "NAK: remote operational error";
    case nak_code::invalid_rd_request:
      return "NAK: invalid RD request";
  }
  return "NAK";
}

std::string words_for(const transport_packet& v) {
  const auto opcode = v.bth.get<&bth::opcode>();
  return formatted("port %u: %s %s PSN 0x%06x from %s to QP 0x%06x", v.ingress.port,
                   name_of(transport_of(opcode)), name_of(operation_of(opcode)), v.psn(),
                   v.ingress.codec->sender(v.ingress).c_str(), v.destination());
}

std::string words_for(const queue_pair& qp, const send_request& r, failure why) {
  return formatted("QP 0x%06x send %u (%s): %s (vendor 0x%02x)", qp.number(), unsigned{r.index},
                   layouts::name_of(r.opcode), name_of(why.syndrome), unsigned{why.vendor});
}

std::string words_for(const queue_pair& qp, event_type t) {
  return formatted("QP 0x%06x: %s", qp.number(), name_of(t));
}

std::string words_for(const queue_pair& qp, const receive_request& r, failure why) {
  if (r.shared)
    return formatted("QP 0x%06x receive %u of SRQ 0x%06x: %s (vendor 0x%02x)", qp.number(),
                     unsigned{r.index}, r.srqn, name_of(why.syndrome), unsigned{why.vendor});
  return formatted("QP 0x%06x receive %u: %s (vendor 0x%02x)", qp.number(), unsigned{r.index},
                   name_of(why.syndrome), unsigned{why.vendor});
}

}  // namespace freehca::model
