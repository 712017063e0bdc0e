// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the queues of each service may be asked for: sets of opcode_bit() and of its like, for
// sq_resources::opcodes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/requests.hpp>
#include <freehca/queues/sq_shape.hpp>

namespace freehca::queues {

/// The opcodes of a reliable connection.
constexpr std::uint64_t opcodes_of_a_connection(bool atomics) {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | opcode_bit(o::send) | opcode_bit(o::send_imm) |
         opcode_bit(o::rdma_write) | opcode_bit(o::rdma_write_imm) | opcode_bit(o::rdma_read) |
         (atomics ? opcode_bit(o::atomic_cs) | opcode_bit(o::atomic_fa) : 0);
}

/// The opcodes of an unreliable connection: what needs no answer.
constexpr std::uint64_t opcodes_of_an_unreliable_connection() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | opcode_bit(o::send) | opcode_bit(o::send_imm) |
         opcode_bit(o::rdma_write) | opcode_bit(o::rdma_write_imm);
}

/// What both sorts of connections may have, and whose queue pair's context has to allow it.
constexpr std::uint64_t opcodes_of_memory_management() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::fast_register) | opcode_bit(o::local_invalidate);
}

/// Masked atomics, of which one is longer than others: a queue with that has longer entries.
constexpr std::uint64_t opcodes_of_masked_atomics() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::masked_atomic_cs) | opcode_bit(o::masked_atomic_fa);
}
/// What the initiator of an extended connection has of the opcodes of a reliable one: the same, and
/// all that reach the peer name a shared receive queue.
constexpr std::uint64_t opcodes_of_xrc(std::uint64_t of_a_connection) {
  using o = layouts::wqe_opcode;
  const std::uint64_t unnamed = opcode_bit(o::nop) | opcodes_of_memory_management();
  return (of_a_connection & unnamed) | (of_a_connection & ~unnamed) << first_xrc_bit;
}
/// The least that the longest WQE of a queue with these opcodes may have.
constexpr std::size_t least_wqe_bytes(std::uint64_t opcodes) {
  constexpr auto o = layouts::wqe_opcode::masked_atomic_cs;
  return (opcodes & (opcode_bit(o) | xrc_opcode_bit(o))) != 0 ? masked_atomic_wqe_bytes
                                                              : atomic_wqe_bytes;
}

/// The opcodes of a datagram queue, each of whose sends says whom it is for.
constexpr std::uint64_t opcodes_of_datagrams() {
  using o = layouts::wqe_opcode;
  return opcode_bit(o::nop) | datagram_opcode_bit(o::send) | datagram_opcode_bit(o::send_imm);
}
/// Does the data of the longest WQEs stand behind a datagram segment?
constexpr bool has_datagrams(std::uint64_t opcodes) {
  return (opcodes & datagram_opcode_bit(layouts::wqe_opcode::send)) != 0;
}
static_assert((opcodes_of_datagrams() & ~opcode_bit(layouts::wqe_opcode::nop) &
               opcodes_of_xrc(opcodes_of_a_connection(true) | opcodes_of_masked_atomics() |
                              opcode_bit(layouts::wqe_opcode::send_inval))) == 0,
              "bits that mean two things");

}  // namespace freehca::queues
