// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/wqe.hpp>
#include <freehca/queues/sq_shape.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/queues/work_request.hpp>

namespace freehca::queues {

/// The byte count of a data segment has 31 bits.
inline constexpr std::uint32_t most_data_bytes = 0x7fffffff;

/// Builds a send WQE in memory of our own. Trusts its caller that everything fits.
class wqe_writer {
 public:
  /// Writes the segments in front of the data.
  work_opcode begin(const send_request& r, bool owner) {
    const meaning m = meaning_of(r.opcode);
    control_.set<&layouts::wqe_ctrl::owner>(owner)
        .set<&layouts::wqe_ctrl::opcode>(m.code)
        .set<&layouts::wqe_ctrl::fence>(r.fence)
        .set<&layouts::wqe_ctrl::solicited>(r.solicited)
        .set<&layouts::wqe_ctrl::cq_update>(r.signaled ? layouts::wqe_completion::always
                                                       : layouts::wqe_completion::none)
        .set<&layouts::wqe_ctrl::immediate>(m.immediate ? r.immediate : 0);
    at_ = layouts::wqe_ctrl::bytes;
    if (m.remote) {
      layouts::image<layouts::wqe_remote_address> remote;
      remote.set<&layouts::wqe_remote_address::remote_address>(r.remote_address);
      remote.set<&layouts::wqe_remote_address::rkey>(r.rkey);
      put(remote);
    }
    if (m.atomic) {
      layouts::image<layouts::wqe_atomic> operands;
      operands.set<&layouts::wqe_atomic::swap_add>(r.swap_or_add);
      operands.set<&layouts::wqe_atomic::compare>(
          r.opcode == send_opcode::compare_and_swap ? r.compare : 0);
      put(operands);
    }
    return m.completes_as;
  }

  void add(const data_entry& entry) {
    layouts::image<layouts::wqe_data> data;
    data.set<&layouts::wqe_data::byte_count>(entry.length);
    data.set<&layouts::wqe_data::lkey>(entry.lkey);
    data.set<&layouts::wqe_data::address>(entry.address);
    put(data);
  }

  void add_inline(const std::byte* from, std::size_t length) {
    using layouts::wqe_basic_block;
    while (length != 0) {
      const std::size_t room = wqe_basic_block - at_ % wqe_basic_block - layouts::wqe_inline::bytes;
      const std::size_t taken = length < room ? length : room;
      layouts::image<layouts::wqe_inline> head;
      head.set<&layouts::wqe_inline::inline_data>(true).set<&layouts::wqe_inline::byte_count>(
          taken);
      put(head);
      __builtin_memcpy(bytes_ + at_, from, taken);
      at_ += taken;
      from += taken;
      length -= taken;
    }
    const std::size_t padding = (layouts::wqe_unit - at_ % layouts::wqe_unit) % layouts::wqe_unit;
    __builtin_memset(bytes_ + at_, 0, padding);
    at_ += padding;
  }

  /// Writes the control segment; the number of 16-byte units.
  unsigned end() {
    const auto units = static_cast<unsigned>(at_ / layouts::wqe_unit);
    control_.set<&layouts::wqe_ctrl::ds>(units);
    __builtin_memcpy(bytes_, control_.data(), layouts::wqe_ctrl::bytes);
    return units;
  }

  const std::byte* bytes() const { return bytes_; }

 private:
  struct meaning {
    layouts::wqe_opcode code;
    work_opcode completes_as;
    bool remote, atomic, immediate;
  };
  static constexpr meaning meaning_of(send_opcode o) {
    using w = layouts::wqe_opcode;
    using c = work_opcode;
    switch (o) {
      case send_opcode::send:
        return {w::send, c::send, false, false, false};
      case send_opcode::send_with_immediate:
        return {w::send_imm, c::send, false, false, true};
      case send_opcode::rdma_write:
        return {w::rdma_write, c::rdma_write, true, false, false};
      case send_opcode::rdma_write_with_immediate:
        return {w::rdma_write_imm, c::rdma_write, true, false, true};
      case send_opcode::rdma_read:
        return {w::rdma_read, c::rdma_read, true, false, false};
      case send_opcode::compare_and_swap:
        return {w::atomic_cs, c::compare_and_swap, true, true, false};
      case send_opcode::fetch_and_add:
        return {w::atomic_fa, c::fetch_and_add, true, true, false};
      case send_opcode::nop:
        break;
    }
    return {w::nop, c::nop, false, false, false};
  }

  template <class Layout>
  void put(const layouts::image<Layout>& segment) {
    __builtin_memcpy(bytes_ + at_, segment.data(), Layout::bytes);
    at_ += Layout::bytes;
  }

  layouts::image<layouts::wqe_ctrl> control_;
  std::size_t at_ = 0;
  alignas(16) std::byte bytes_[most_wqe_bytes + layouts::wqe_unit];  // written before it is read
};

}  // namespace freehca::queues
