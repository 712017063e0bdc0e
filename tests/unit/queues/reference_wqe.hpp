// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <freehca/layouts/wqe.hpp>
#include <freehca/work_requests/send_request.hpp>

namespace freehca::testing {

/// The bytes that the WQE of a request of a connection must have. They are built from the layouts,
/// segment by segment, without the code that posts. The owner bit is 0.
class reference_wqe {
 public:
  /// `extended`: the queue is of an extended connection (XRC).
  reference_wqe(const work_requests::send_request& r, bool extended) {
    using o = work_requests::send_opcode;
    layouts::image<layouts::wqe_ctrl> head;
    append(head);
    const bool atomic = r.opcode == o::compare_and_swap || r.opcode == o::fetch_and_add ||
                        r.opcode == o::masked_compare_and_swap ||
                        r.opcode == o::masked_fetch_and_add;
    if (atomic || r.opcode == o::rdma_write || r.opcode == o::rdma_write_with_immediate ||
        r.opcode == o::rdma_read) {
      layouts::image<layouts::wqe_remote_address> segment;
      segment.set<&layouts::wqe_remote_address::remote_address>(r.remote_address)
          .set<&layouts::wqe_remote_address::rkey>(r.rkey);
      append(segment);
    }
    if (r.opcode == o::masked_compare_and_swap) {
      layouts::image<layouts::wqe_masked_atomic> segment;
      segment.set<&layouts::wqe_masked_atomic::swap_add>(r.swap_or_add)
          .set<&layouts::wqe_masked_atomic::compare>(r.compare)
          .set<&layouts::wqe_masked_atomic::swap_add_mask>(r.swap_or_add_mask)
          .set<&layouts::wqe_masked_atomic::compare_mask>(r.compare_mask);
      append(segment);
    } else if (atomic) {
      layouts::image<layouts::wqe_atomic> segment;
      segment.set<&layouts::wqe_atomic::swap_add>(r.swap_or_add)
          .set<&layouts::wqe_atomic::compare>(r.opcode == o::compare_and_swap ? r.compare
                                              : r.opcode == o::masked_fetch_and_add
                                                  ? r.swap_or_add_mask
                                                  : 0);
      append(segment);
    }
    const bool manages_memory = r.opcode == o::fast_register || r.opcode == o::local_invalidate ||
                                r.opcode == o::bind_window;
    if (r.opcode == o::bind_window) append_binding(*r.binding);
    if (r.opcode == o::fast_register) append_registration(*r.memory);
    if (r.opcode == o::local_invalidate) {
      layouts::image<layouts::wqe_local_invalidate> segment;
      segment.set<&layouts::wqe_local_invalidate::mem_key>(r.rkey);
      append(segment);
    }
    for (unsigned i = 0; i < r.entries; ++i) append_entry(r.list[i]);
    append_inline(r.inline_bytes, r.inline_length);

    head.set<&layouts::wqe_ctrl::opcode>(opcode_of(r.opcode))
        .set<&layouts::wqe_ctrl::ds>(bytes_.size() / 16)
        .set<&layouts::wqe_ctrl::fence>(r.fence)
        .set<&layouts::wqe_ctrl::solicited>(r.solicited)
        .set<&layouts::wqe_ctrl::strong_order>(manages_memory);
    if (r.signaled) head.set<&layouts::wqe_ctrl::cq_update>(layouts::wqe_completion::always);
    if (r.opcode == o::send_with_immediate || r.opcode == o::rdma_write_with_immediate)
      head.set<&layouts::wqe_ctrl::immediate>(r.immediate);
    if (r.opcode == o::send_with_invalidate) head.set<&layouts::wqe_ctrl::immediate>(r.rkey);
    if (extended && r.opcode != o::nop && !manages_memory)
      head.set<&layouts::wqe_ctrl::remote_srqn>(r.remote_srqn);
    std::memcpy(bytes_.data(), head.data(), layouts::wqe_ctrl::bytes);
  }

  /// True if `wqe` is this WQE. The padding behind the data of an inline segment is not compared,
  /// because the device ignores it.
  bool is(std::vector<std::byte> wqe) const {
    for (const std::size_t at : ignored_)
      if (at < wqe.size()) wqe[at] = {};
    return wqe == bytes_;
  }

 private:
  static layouts::wqe_opcode opcode_of(work_requests::send_opcode o) {
    using w = layouts::wqe_opcode;
    constexpr w of[] = {w::send,
                        w::send_imm,
                        w::rdma_write,
                        w::rdma_write_imm,
                        w::rdma_read,
                        w::atomic_cs,
                        w::atomic_fa,
                        w::nop,
                        w::send_inval,
                        w::fast_register,
                        w::local_invalidate,
                        w::masked_atomic_cs,
                        w::masked_atomic_fa,
                        w::bind_mw};
    return of[static_cast<unsigned>(o)];
  }
  template <class Layout>
  void append(const layouts::image<Layout>& segment) {
    bytes_.insert(bytes_.end(), segment.data(), segment.data() + Layout::bytes);
  }
  void append_entry(const queues::data_entry& e) {
    if (e.length == 0) return;
    layouts::image<layouts::wqe_data> segment;
    segment.set<&layouts::wqe_data::byte_count>(e.length)
        .set<&layouts::wqe_data::lkey>(e.lkey)
        .set<&layouts::wqe_data::address>(e.address);
    append(segment);
  }
  // No inline segment crosses a 64-byte block. Each segment begins at a multiple of 16 (rdma-core
  // providers/mlx4/qp.c mlx4_post_send).
  void append_inline(const std::byte* from, std::uint32_t length) {
    while (length != 0) {
      const std::size_t room = 64 - bytes_.size() % 64 - layouts::wqe_inline::bytes;
      const auto part = static_cast<std::uint32_t>(std::min<std::size_t>(length, room));
      layouts::image<layouts::wqe_inline> segment;
      segment.set<&layouts::wqe_inline::inline_data>(true).set<&layouts::wqe_inline::byte_count>(
          part);
      append(segment);
      bytes_.insert(bytes_.end(), from, from + part);
      for (; bytes_.size() % 16 != 0; bytes_.emplace_back()) ignored_.push_back(bytes_.size());
      from += part;
      length -= part;
    }
  }
  void append_binding(const queues::window_binding& b) {
    using l = layouts::wqe_bind;
    const auto has = [&b](queues::window_rights right) {
      return (static_cast<std::uint64_t>(b.rights) & static_cast<std::uint64_t>(right)) != 0;
    };
    layouts::image<l> segment;
    segment.set<&l::remote_read>(has(queues::window_rights::remote_read))
        .set<&l::remote_write>(has(queues::window_rights::remote_write))
        .set<&l::atomic>(has(queues::window_rights::remote_atomic))
        .set<&l::type_2>(b.type == queues::window_type::two)
        .set<&l::new_rkey>(b.key)
        .set<&l::lkey>(b.region)
        .set<&l::address>(b.address)
        .set<&l::length>(b.length);
    append(segment);
  }
  void append_registration(const queues::registration& r) {
    using l = layouts::wqe_fast_register;
    using rights = queues::registration_rights;
    layouts::image<l> segment;
    segment.set<&l::local_read>(true)
        .set<&l::local_write>(has_any(r.rights, rights::local_write))
        .set<&l::remote_read>(has_any(r.rights, rights::remote_read))
        .set<&l::remote_write>(has_any(r.rights, rights::remote_write))
        .set<&l::atomic>(has_any(r.rights, rights::remote_atomic))
        .set<&l::mem_key>(r.key)
        .set<&l::page_list>(r.page_list)
        .set<&l::start_address>(r.start)
        .set<&l::length>(r.length)
        .set<&l::log_page_size>(r.log2_page_bytes);
    append(segment);
  }

  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ignored_;
};

}  // namespace freehca::testing
