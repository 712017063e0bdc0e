// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The opcodes that the queues of each service have: sets of opcode_bit(), datagram_opcode_bit() and
// xrc_opcode_bit() for sq_resources::opcodes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/requests.hpp>
#include <freehca/queues/sq_shape.hpp>

namespace freehca::queues {

/// The opcodes of a reliable connection. If `atomics` is true, the device has atomics.
constexpr std::uint64_t opcodes_of_a_connection(bool atomics) {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | opcode_bit(o::send) | opcode_bit(o::send_imm) |
         opcode_bit(o::rdma_write) | opcode_bit(o::rdma_write_imm) | opcode_bit(o::rdma_read) |
         (atomics ? opcode_bit(o::atomic_cs) | opcode_bit(o::atomic_fa) : 0);
}

/// The opcodes of an unreliable connection: those that need no answer.
constexpr std::uint64_t opcodes_of_an_unreliable_connection() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | opcode_bit(o::send) | opcode_bit(o::send_imm) |
         opcode_bit(o::rdma_write) | opcode_bit(o::rdma_write_imm);
}

/// The opcodes of memory management. Reliable and unreliable connections may have them, if the
/// context of the queue pair allows it.
constexpr std::uint64_t opcodes_of_memory_management() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::fast_register) | opcode_bit(o::local_invalidate);
}

/// The opcodes of memory windows, besides the invalidation of windows of type 2. Reliable and
/// unreliable connections may have them.
constexpr std::uint64_t opcodes_of_memory_windows() {
  return opcode_bit(layouts::wqe_opcode::bind_mw);
}

/// The opcodes of masked atomics. A masked compare and swap is longer than other requests. A queue
/// with this opcode therefore has longer entries.
constexpr std::uint64_t opcodes_of_masked_atomics() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::masked_atomic_cs) | opcode_bit(o::masked_atomic_fa);
}
/// The opcodes that need an adapter with atomics.
constexpr std::uint64_t opcodes_of_atomics() {
  return (opcodes_of_a_connection(true) & ~opcodes_of_a_connection(false)) |
         opcodes_of_masked_atomics();
}
/// The opcodes of the initiator of an extended connection (XRC), if a reliable connection has the
/// opcodes `of_a_connection`. Requests that reach the peer have the form that names a shared
/// receive queue.
constexpr std::uint64_t opcodes_of_xrc(std::uint64_t of_a_connection) {
  using o = layouts::wqe_opcode;
  const std::uint64_t unnamed =
      opcode_bit(o::nop) | opcodes_of_memory_management() | opcodes_of_memory_windows();
  return (of_a_connection & unnamed) | (of_a_connection & ~unnamed) << first_xrc_bit;
}
/// The least number of bytes of the longest WQE of a queue with these opcodes.
constexpr std::size_t least_wqe_bytes(std::uint64_t opcodes) {
  constexpr auto o = layouts::wqe_opcode::masked_atomic_cs;
  return (opcodes & (opcode_bit(o) | xrc_opcode_bit(o))) != 0 ? masked_atomic_wqe_bytes
                                                              : atomic_wqe_bytes;
}

/// The opcodes of a datagram queue. Each send names its destination.
constexpr std::uint64_t opcodes_of_datagrams() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | datagram_opcode_bit(o::send) | datagram_opcode_bit(o::send_imm);
}
/// True if the data of the longest WQEs follow a datagram segment.
constexpr bool has_datagrams(std::uint64_t opcodes) {
  return (opcodes & datagram_opcode_bit(layouts::wqe_opcode::send)) != 0;
}
/// The opcodes of raw Ethernet. If `large` is true, the device cuts payloads into frames (LSO).
constexpr std::uint64_t opcodes_of_frames(bool large) {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | frame_opcode_bit(o::send) | (large ? frame_opcode_bit(o::lso) : 0);
}
namespace detail {
inline constexpr std::uint64_t connected =
    opcodes_of_a_connection(true) | opcodes_of_masked_atomics() | opcodes_of_memory_management() |
    opcodes_of_memory_windows() | opcode_bit(layouts::wqe_opcode::send_inval);
static_assert((opcodes_of_datagrams() & ~opcode_bit(layouts::wqe_opcode::nop) &
               opcodes_of_xrc(connected)) == 0,
              "bits that mean two things");
static_assert((opcodes_of_frames(true) & ~opcode_bit(layouts::wqe_opcode::nop) &
               (connected | opcodes_of_xrc(connected) | opcodes_of_datagrams())) == 0,
              "bits that mean two things");
}  // namespace detail

}  // namespace freehca::queues
