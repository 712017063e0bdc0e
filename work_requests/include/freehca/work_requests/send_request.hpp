// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests whose opcode is known only at run time, such as those of libibverbs programs. A program
// that knows its opcodes at compile time posts the types of <freehca/queues/requests.hpp>. Its code
// is then smaller and faster.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/queues/address.hpp>
#include <freehca/queues/data_entry.hpp>
#include <freehca/queues/frame_requests.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/sq.hpp>

namespace freehca::work_requests {

/// The opcode of a send request. `nop` does nothing and completes.
enum class send_opcode : std::uint8_t {
  send,
  send_with_immediate,
  rdma_write,
  rdma_write_with_immediate,
  rdma_read,
  compare_and_swap,  ///< 8 bytes, atomic among atomics of the peer's device
  fetch_and_add,
  nop,
  send_with_invalidate,
  fast_register,
  local_invalidate,
  masked_compare_and_swap,
  masked_fetch_and_add,
  bind_window,
  send_frame,        ///< of raw Ethernet queue pairs, like the next
  send_large_frame,  ///< a payload that the device cuts into frames (LSO)
};

/// A request to a send queue. When the post returns, the caller may reuse the request, its lists
/// and its inline bytes. The device may access the memory of the list's entries until the request
/// completes.
struct send_request {
  std::uint64_t wr_id = 0;  ///< returned in the completion
  /// For reads and atomics: where the device stores the data.
  const queues::data_entry* list = nullptr;
  unsigned entries = 0;
  const std::byte* inline_bytes = nullptr;  ///< sent instead of a list
  std::uint32_t inline_length = 0;
  send_opcode opcode = send_opcode::send;
  bool signaled = true;         ///< success adds an entry to the CQ; an error does in any case
  bool solicited = false;       ///< the receiver's completion is a solicited event
  bool fence = false;           ///< starts after earlier reads and atomics have ended
  std::uint32_t immediate = 0;  ///< in host order; big-endian on the wire
  std::uint32_t rkey = 0;       ///< of the peer's memory; for an invalidation: the key to end
  std::uint64_t remote_address = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  /// Of masked atomics. For masked_fetch_and_add: the highest bit of each field.
  std::uint64_t swap_or_add_mask = 0;
  std::uint64_t compare_mask = 0;
  /// A send with an address, with or without immediate data, is a datagram to `remote_qpn`.
  /// send_with_invalidate with an address is refused. Other opcodes ignore the address.
  const queues::address* to = nullptr;
  std::uint32_t remote_qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t remote_srqn = 0;  ///< of extended connections (XRC); other queues ignore it
  const queues::registration* memory = nullptr;  ///< of fast_register, which is refused without it
  const queues::window_binding* binding = nullptr;  ///< the same of bind_window
  const queues::frame_options* frame = nullptr;     ///< of frames; null: the default options
  const queues::frame_headers* headers = nullptr;   ///< of send_large_frame, as `memory`
};

/// Writes one WQE like sq::post() with a typed request, on the same thread and with the same
/// errors. On an error nothing changes. Whatever the state of the queue, the result is
/// driver_error::bad_argument for a list together with inline bytes, a length without inline bytes,
/// data of an opcode that has none, and inline bytes of a read. An atomic must have exactly one
/// entry that is not empty, of 8 bytes. The result is driver_error::unsupported for a datagram with
/// invalidate.
status post(queues::sq& to, const send_request& request);

/// Calls post() and, if it succeeds, tells the device of the WQE.
inline status post_and_ring(queues::sq& to, const send_request& request) {
  const status posted = post(to, request);
  if (posted.ok()) to.ring();
  return posted;
}

}  // namespace freehca::work_requests
