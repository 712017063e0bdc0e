// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests whose opcode is known at run time alone, as those of programs of libibverbs are. A
// program that knows its opcodes posts the types of <freehca/queues/requests.hpp>: its code is
// smaller and faster.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/queues/address.hpp>
#include <freehca/queues/data_entry.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/sq.hpp>

namespace freehca::work_requests {

/// What a send request asks for. `nop` does nothing but complete.
enum class send_opcode : std::uint8_t {
  send,
  send_with_immediate,
  rdma_write,
  rdma_write_with_immediate,
  rdma_read,
  compare_and_swap,  ///< 8 bytes, atomic among this device's own atomics
  fetch_and_add,
  nop,
  send_with_invalidate,
  fast_register,
  local_invalidate,
  masked_compare_and_swap,
  masked_fetch_and_add,
};

/// A request to a send queue. The lists are read while posting and are the caller's again
/// afterwards. The memory that the lists name is the device's until the completion. Inline data
/// are copied.
struct send_request {
  std::uint64_t wr_id = 0;                   ///< comes back in the completion
  const queues::data_entry* list = nullptr;  ///< for reads and atomics: where the answer goes
  unsigned entries = 0;
  const std::byte* inline_bytes = nullptr;  ///< sent instead of a list
  std::uint32_t inline_length = 0;
  send_opcode opcode = send_opcode::send;
  bool signaled = true;    ///< completes with an entry in the CQ; an error completes in any case
  bool solicited = false;  ///< the receiver's completion is a solicited event
  bool fence = false;      ///< starts when earlier reads and atomics are done
  std::uint32_t immediate = 0;  ///< as a number; big-endian on the wire
  std::uint32_t rkey = 0;       ///< or the key to invalidate, here or there
  std::uint64_t remote_address = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t swap_or_add_mask = 0;  ///< of masked ones; of an addition, where fields end
  std::uint64_t compare_mask = 0;
  /// A send with an address is a datagram to `remote_qpn` there. Other opcodes ignore the address.
  const queues::address* to = nullptr;
  std::uint32_t remote_qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t remote_srqn = 0;  ///< of queues of extended connections; others ignore it
  const queues::registration* memory = nullptr;  ///< of fast_register
};

/// Writes one WQE, as sq::post() does with a typed request, and with its errors. Besides
/// driver_error::bad_argument, whatever the queue is: a list and inline bytes, inline bytes where
/// an answer comes back, data of an opcode that has none. Also an atomic whose data are not one
/// entry of 8 bytes.
status post(queues::sq& to, const send_request& request);

/// The same, and tells the device of it.
inline status post_and_ring(queues::sq& to, const send_request& request) {
  const status posted = post(to, request);
  if (posted.ok()) to.ring();
  return posted;
}

}  // namespace freehca::work_requests
