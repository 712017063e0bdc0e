// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Functions of cq that give out whole completions: the decoding of a receive, and the end of the
// fast path for one entry.
#pragma once

#include <freehca/queues/cq.hpp>

namespace freehca::queues {

/// True if the opcode is that of a received send: plain, with immediate data, or with invalidate.
constexpr bool is_send_received(layouts::cqe_opcode o) {
  return o >= layouts::cqe_opcode::recv_send && o <= layouts::cqe_opcode::recv_send_inval;
}
static_assert(is_send_received(layouts::cqe_opcode::recv_send_imm) &&
              !is_send_received(layouts::cqe_opcode::recv_rdma_write_imm) &&
              !is_send_received(layouts::cqe_opcode::resize) &&
              !is_send_received(layouts::cqe_opcode::error));

inline bool cq::decode_receive(work_completion& to, const std::byte* entry, std::uint64_t word,
                               qp_rings& pair) {
  return pair.shared == nullptr ? decode_receive_of(pair.receive, to, entry, word, pair)
                                : decode_receive_of(*pair.shared, to, entry, word, pair);
}

template <class Ring>
inline bool cq::decode_receive_of(Ring& ring, work_completion& to, const std::byte* entry,
                                  std::uint64_t word, const qp_rings& pair) {
  const posted_request* const posted = ring.retire(index_of(word));
  if (posted == nullptr) [[unlikely]]
    return false;
  const std::uint32_t room = posted->bytes;
  fill(to, *posted, pair, entry, word);
  const layouts::cqe_opcode opcode = opcode_of(word);
  to.byte_count = static_cast<std::uint32_t>(to.get<&rows::byte_count>());
  if (is_send_received(opcode) && to.byte_count <= room) [[likely]]
    return true;
  // The data of an RDMA write are not in the receive's buffer. Its size does not limit them.
  if (opcode == layouts::cqe_opcode::recv_rdma_write_imm) {
    to.opcode = work_opcode::receive_rdma_with_immediate;
  } else {
    to.byte_count = 0;
    to.status = completion_status::implausible;
  }
  return true;
}

inline unsigned cq::took_one(std::byte* entry) {
  if (entry == last_) [[unlikely]]
    go_to(consumer() + 1);
  else at_ = entry + stride_;
  tell_consumer();
  return 1;
}

}  // namespace freehca::queues
