// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "cqe_decoder.hpp"

namespace freehca::queues {

using namespace layouts;

namespace {

completion_status status_of(cqe_syndrome s) {
  using c = completion_status;
  switch (s) {
    case cqe_syndrome::local_length:
      return c::local_length;
    case cqe_syndrome::local_qp_op:
      return c::local_qp_operation;
    case cqe_syndrome::local_protection:
      return c::local_protection;
    case cqe_syndrome::wr_flush:
      return c::flushed;
    case cqe_syndrome::mw_bind:
      return c::window_bind;
    case cqe_syndrome::bad_response:
      return c::bad_response;
    case cqe_syndrome::local_access:
      return c::local_access;
    case cqe_syndrome::remote_invalid_request:
      return c::remote_invalid_request;
    case cqe_syndrome::remote_access:
      return c::remote_access;
    case cqe_syndrome::remote_op:
      return c::remote_operation;
    case cqe_syndrome::transport_retry_exceeded:
      return c::transport_retry_exceeded;
    case cqe_syndrome::rnr_retry_exceeded:
      return c::rnr_retry_exceeded;
    case cqe_syndrome::remote_aborted:
      return c::remote_aborted;
    default:
      return c::unknown_syndrome;
  }
}

void take_byte_count(const image<cqe>& e, std::uint64_t room, work_completion& to) {
  to.byte_count = static_cast<std::uint32_t>(e.get<&cqe::byte_count>());
  if (to.byte_count <= room) return;
  to.byte_count = 0;
  to.status = completion_status::implausible;
}

void take_error(const image<cqe>& e, work_completion& to) {
  const auto error = image<cqe_error>::from_bytes(e.data());
  to.status = status_of(error.get<&cqe_error::syndrome>());
  to.syndrome = static_cast<std::uint8_t>(error.get<&cqe_error::syndrome>());
  to.vendor_syndrome = static_cast<std::uint8_t>(error.get<&cqe_error::vendor_syndrome>());
}

void take_receive(const image<cqe>& e, std::uint64_t room, work_completion& to) {
  to.source_qpn = static_cast<std::uint32_t>(e.get<&cqe::remote_qpn>());
  to.slid = static_cast<std::uint16_t>(e.get<&cqe::slid>());
  to.sl = static_cast<std::uint8_t>(e.get<&cqe::sl>());
  switch (static_cast<cqe_opcode>(e.get<&cqe::opcode>())) {
    case cqe_opcode::recv_rdma_write_imm:
      // The bytes went to the address of the write: the receive's buffer is no measure for them.
      to.opcode = work_opcode::receive_rdma_with_immediate;
      to.has_immediate = true;
      to.byte_count = static_cast<std::uint32_t>(e.get<&cqe::byte_count>());
      break;
    case cqe_opcode::recv_send_imm:
      to.has_immediate = true;
      take_byte_count(e, room, to);
      break;
    case cqe_opcode::recv_send:
    case cqe_opcode::recv_send_inval:
      take_byte_count(e, room, to);
      break;
    default:
      to.status = completion_status::implausible;
      break;
  }
  if (to.has_immediate) to.immediate = static_cast<std::uint32_t>(e.get<&cqe::immediate>());
}

}  // namespace

bool decode_cqe(const image<cqe>& e, qp_rings& pair, work_completion& to) {
  const auto index = static_cast<std::uint16_t>(e.get<&cqe::wqe_index>());
  const bool error = e.get<&cqe::opcode>() == static_cast<std::uint64_t>(cqe_opcode::error);
  if (e.get<&cqe::opcode>() == static_cast<std::uint64_t>(cqe_opcode::resize)) return false;
  to = {};
  to.qpn = pair.qpn;
  if (e.get<&cqe::is_send>()) {
    const sent_request* const sent = pair.send.retire(index);
    if (sent == nullptr) return false;
    to.wr_id = sent->wr_id;
    to.opcode = sent->opcode;
    if (error) take_error(e, to);
    else if (sent->opcode == work_opcode::rdma_read) take_byte_count(e, sent->bytes, to);
    else if (sent->opcode == work_opcode::compare_and_swap ||
             sent->opcode == work_opcode::fetch_and_add)
      to.byte_count = sent->bytes;
    return true;
  }
  const posted_receive* const posted = pair.receive.retire(index);
  if (posted == nullptr) return false;
  to.wr_id = posted->wr_id;
  to.opcode = work_opcode::receive;
  if (error) take_error(e, to);
  else take_receive(e, posted->bytes, to);
  return true;
}

const char* name_of(completion_status s) {
  constexpr const char* names[] = {"ok",
                                   "local length error",
                                   "local queue pair operation error",
                                   "local protection error",
                                   "flushed",
                                   "memory window bind error",
                                   "bad response",
                                   "local access error",
                                   "remote invalid request",
                                   "remote access error",
                                   "remote operation error",
                                   "transport retry count exceeded",
                                   "receiver-not-ready retry count exceeded",
                                   "remote aborted",
                                   "unknown syndrome",
                                   "implausible completion",
                                   "unknown, for the device was reset"};
  const auto i = static_cast<std::size_t>(s);
  return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

}  // namespace freehca::queues
