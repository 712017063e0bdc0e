// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/queues/address.hpp>
#include <freehca/queues/data_entry.hpp>

namespace freehca::queues {

struct registration;

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
/// afterwards; the memory that they name is the device's until the completion, but for inline data,
/// which is copied.
struct send_request {
  std::uint64_t wr_id = 0;           ///< comes back in the completion
  const data_entry* list = nullptr;  ///< gather list; for reads and atomics, where the answer goes
  unsigned entries = 0;
  const std::byte* inline_bytes = nullptr;  ///< sent instead of a list
  std::uint32_t inline_length = 0;
  send_opcode opcode = send_opcode::send;
  bool signaled = true;    ///< completes with an entry in the CQ; an error completes in any case
  bool solicited = false;  ///< the receiver's completion wakes who waits for solicited ones
  bool fence = false;      ///< starts when earlier reads and atomics are done
  std::uint32_t immediate = 0;  ///< as a number; big-endian on the wire
  std::uint32_t rkey = 0;       ///< or the key to invalidate, here or there
  std::uint64_t remote_address = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t swap_or_add_mask = 0;  ///< of masked ones; of an addition, where fields end
  std::uint64_t compare_mask = 0;
  /// A send with an address is a datagram to `remote_qpn` there; other opcodes look at none.
  const address* to = nullptr;
  std::uint32_t remote_qpn = 0;
  std::uint32_t qkey = 0;
  std::uint32_t remote_srqn = 0;         ///< of queues of extended connections; else not looked at
  const registration* memory = nullptr;  ///< of fast_register (memory_requests.hpp)
};

/// A request to a receive queue: the buffer for one message.
struct receive_request {
  std::uint64_t wr_id = 0;
  const data_entry* list = nullptr;
  unsigned entries = 0;
};

}  // namespace freehca::queues
