// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A completion queue with two queue pairs, and the entries that the device writes for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <freehca/queues/cq.hpp>
#include <freehca/queues/memory_requests.hpp>
#include <freehca/queues/rq.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/srq.hpp>

#include <gtest/gtest.h>

#include "observer.hpp"

namespace freehca::queues {

/// `named`: the entries of shared receives name their queue, as on a queue for XRC.
enum class completion_kind { sends, receives, shared, named, errors };

/// A completion queue, and two queue pairs with one request of each kind outstanding.
struct completion_world {
  completion_world(unsigned log_entries, completion_kind what, unsigned bytes_of_entry = 32)
      : entry_bytes(bytes_of_entry),
        ring(std::size_t{bytes_of_entry} / 8 << log_entries),
        kind(what) {
    directory.open(rows, 2);
    const srq_shape shared_shape = srq_shape_for(3, 2).value();
    shared_words.resize(shared_shape.bytes() / 8);
    shared_slots.resize(shared_shape.entries());
    EXPECT_TRUE(shared
                    .open({{bytes_of(shared_words), 0x1000, shared_shape.bytes()},
                           shared_shape,
                           shared_slots.data(),
                           {bytes_of(records), 0x2000, 8},
                           2})
                    .ok());
    shared.accept(true);
    const data_entry room{0x1000, 0x100, 3};
    for (unsigned i = 0; i < 2; ++i) {
      pair& p = pairs[i];
      p.rings.qpn = 0x40 + i;
      EXPECT_TRUE(p.rings.send
                      .open({{bytes_of(p.send_words), 0x1000, 64 * 64},
                             sq_shape{6, 6},
                             p.send_slots,
                             {bytes_of(uar), 4096},
                             7,
                             1,
                             0,
                             1 << 30,
                             opcodes_of_a_connection(true)})
                      .ok());
      p.rings.send.accept(true);
      EXPECT_TRUE(p.rings.receive
                      .open({{bytes_of(p.receive_words), 0x1000, 64},
                             rq_shape{2, 4},
                             p.receive_slots,
                             {bytes_of(records) + 8, 0x2000, 8},
                             1})
                      .ok());
      p.rings.receive.accept(true);
      EXPECT_TRUE(p.rings.send.post(rdma_write{.wr_id = 0x10 + i, .data = room}).ok());
      EXPECT_TRUE(p.rings.receive.post({.wr_id = 0x10 + i, .list = &room, .entries = 1}).ok());
      EXPECT_TRUE(shared.post({.wr_id = 0x10 + i, .list = &room, .entries = 1}).ok());
      if (is_shared()) p.rings.shared = &shared;
      EXPECT_TRUE(directory.add(p.rings).ok());
    }
    EXPECT_TRUE(queue
                    .open({{bytes_of(ring), 0x1000, cq::ring_bytes(log_entries, entry_bytes)},
                           log_entries,
                           entry_bytes,
                           {bytes_of(record), 0x2000, 8},
                           {bytes_of(uar), 4096},
                           1,
                           &directory})
                    .ok());
  }

  /// The entry that the device writes when the request of pair `i` has ended. Each of its words
  /// identifies the pair.
  layouts::image<layouts::cqe> entry(unsigned i, bool owner) const {
    using namespace layouts;
    const bool receive = kind == completion_kind::receives || is_shared();
    const bool named = kind == completion_kind::named;
    image<cqe> e;
    std::memset(e.data(), 0x21 + static_cast<int>(i), cqe::bytes);
    e.set<&cqe::qpn>((named ? xrc_target_qpn_bit : 0) | (0x40 + i))
        .set<&cqe::byte_count>(0x20 + i)
        .set<&cqe::wqe_index>(is_shared() ? i : 0)
        .set<&cqe::is_send>(!receive)
        .set<&cqe::inline_scatter>(false)
        .set<&cqe::owner>(owner);
    e.set<&cqe::opcode>(kind == completion_kind::errors ? static_cast<unsigned>(cqe_opcode::error)
                        : receive ? static_cast<unsigned>(cqe_opcode::recv_send)
                                  : static_cast<unsigned>(wqe_opcode::rdma_write));
    if (named) e.set<&cqe::remote_qpn>(first_srqn + i);
    return e;
  }
  /// The queue pair that stands for the shared receive queue which an entry names.
  qp_rings* named(std::uint32_t srqn) {
    return srqn - first_srqn < 2 ? &pairs[srqn - first_srqn].rings : nullptr;
  }
  // The content of a large entry is in its upper half.
  std::byte* place(std::size_t i) { return bytes_of(ring) + (i + 1) * entry_bytes - 32; }

  /// Compares a completion with the whole entry of pair `i`. Returns the difference, or an empty
  /// string.
  std::string judge(const work_completion& c, unsigned i, bool owner) const {
    const layouts::image<layouts::cqe> e = entry(i, owner);
    if (c.queue != &pairs[i].rings) return "a completion of another queue pair";
    if (c.wr_id != 0x10 + i) return "a completion of another request";
    if (std::memcmp(c.entry, e.data(), sizeof c.entry) != 0) return "a completion of two entries";
    return {};
  }

  bool is_shared() const {
    return kind == completion_kind::shared || kind == completion_kind::named;
  }

  static constexpr std::uint32_t first_srqn = 0x31;
  struct pair {
    std::vector<std::uint64_t> send_words = std::vector<std::uint64_t>(64 * 8),
                               receive_words = std::vector<std::uint64_t>(8);
    posted_request send_slots[64], receive_slots[4];
    qp_rings rings;
  };
  unsigned entry_bytes;
  std::vector<std::uint64_t> ring, uar = std::vector<std::uint64_t>(512),
                                   record = std::vector<std::uint64_t>(1),
                                   records = std::vector<std::uint64_t>(2), shared_words;
  std::vector<posted_request> shared_slots;
  completion_kind kind;
  qp_rings* rows[2];
  qp_directory directory;
  srq shared;
  pair pairs[2];
  cq queue;
};

}  // namespace freehca::queues
