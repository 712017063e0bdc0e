// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two completions of 32 bytes share a line of the cache. When those of a queue pair are taken out,
// the device may write the other half of the newest one's line at any time.
#include <freehca/queues/cq.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include <freehca/in_process/processor_cache.hpp>

namespace freehca::queues {
namespace {

using namespace layouts;

constexpr unsigned log_entries = 3;
constexpr std::uint32_t qpn_of_gone = 0x40, qpn_of_living = 0x41;

/// A completion queue with two queue pairs, and the device at the other end.
struct ring_world {
  explicit ring_world(unsigned bytes) : entry_bytes(bytes) {
    directory.open(rows, 2);
    for (pair& p : pairs) {
      p.rings.qpn = &p == pairs ? qpn_of_gone : qpn_of_living;
      EXPECT_TRUE(p.rings.send
                      .open({{p.ring.data(), 0x1000, p.ring.size()},
                             sq_shape{6, 6},
                             p.slots,
                             {uar.data(), uar.size()},
                             p.rings.qpn,
                             1,
                             0,
                             1 << 30,
                             opcodes_of_a_connection(true)})
                      .ok());
      p.rings.send.accept(true);
      EXPECT_TRUE(directory.add(p.rings).ok());
    }
    EXPECT_TRUE(queue
                    .open({{ring.data(), 0x1000, cq::ring_bytes(log_entries, entry_bytes)},
                           log_entries,
                           entry_bytes,
                           {record.data(), 0x2000, 8},
                           {uar.data(), uar.size()},
                           1,
                           &directory})
                    .ok());
  }

  /// A request of a pair is posted, and the device completes it.
  void complete(bool living) {
    pair& p = pairs[living ? 1 : 0];
    const std::uint32_t index = p.rings.send.posted();
    EXPECT_TRUE(p.rings.send.post(rdma_write{.wr_id = next, .data = {0x1000, 0x100, 3}}).ok());
    p.expected.push_back(next++);
    image<cqe> e;
    e.set<&cqe::qpn>(p.rings.qpn)
        .set<&cqe::wqe_index>(index & 0xffff)
        .set<&cqe::is_send>(true)
        .set<&cqe::opcode>(static_cast<unsigned>(wqe_opcode::rdma_write))
        .set<&cqe::owner>((produced >> log_entries & 1) != 0);
    std::byte* const at = ring.data() + (produced % (1u << log_entries)) * entry_bytes;
    cache.write(at + (entry_bytes == 64 ? cqe64_offset : 0), e.data(), cqe::bytes);
    ++produced;
  }
  /// The pair leaves, and comes again with the same number.
  void forget() {
    queue.forget(pairs[0].rings);
    pairs[0].rings.send.reset();
    pairs[0].rings.send.accept(true);
    pairs[0].expected.clear();
  }
  void expect_all() {
    work_completion w;
    for (unsigned looks = 0; looks < 20; ++looks) {
      if (queue.poll(&w, 1) == 0) continue;
      EXPECT_TRUE(w.ok());
      auto& expected = pairs[w.queue == &pairs[1].rings ? 1 : 0].expected;
      ASSERT_FALSE(expected.empty()) << "a completion of nothing";
      EXPECT_EQ(w.wr_id, expected.front());
      expected.pop_front();
    }
    for (const pair& p : pairs) EXPECT_TRUE(p.expected.empty()) << "a completion is lost";
    EXPECT_EQ(queue.dropped(), 0u);
    EXPECT_TRUE(cache.findings().empty()) << cache.findings().front();
  }

  struct pair {
    alignas(64) std::array<std::byte, 64 * 64> ring{};
    posted_request slots[64];
    qp_rings rings;
    std::deque<std::uint64_t> expected;
  };
  in_process::processor_cache cache;
  unsigned entry_bytes;
  alignas(64) std::array<std::byte, 64 << log_entries> ring{};
  alignas(64) std::array<std::byte, 64> record{};
  alignas(64) std::array<std::byte, 4096> uar{};
  qp_rings* rows[2];
  qp_directory directory;
  pair pairs[2];
  cq queue;
  std::uint32_t produced = 0;
  std::uint64_t next = 1;
};

/// `pattern`: bit i of it, the owner of the i-th of `count` completions, 1 for the pair that stays.
void play(unsigned entry_bytes, unsigned before, unsigned count, unsigned pattern, bool twice) {
  SCOPED_TRACE(::testing::Message() << entry_bytes << " bytes, " << before << " before, pattern "
                                    << pattern << " of " << count << (twice ? ", twice" : ""));
  ring_world w(entry_bytes);
  for (unsigned i = 0; i < before; ++i) {
    w.complete(true);
    w.expect_all();
  }
  for (unsigned i = 0; i < count; ++i) w.complete((pattern >> i & 1) != 0);
  bool written = false;
  const auto device = [&] {
    if (!std::exchange(written, true)) w.complete(true);
  };
  w.cache.before_clean = device;
  w.forget();
  w.cache.before_clean = nullptr;
  device();
  if (twice) {
    w.complete(false);
    w.forget();
  }
  w.complete(false);
  w.expect_all();
}

TEST(shared_lines, the_device_may_write_to_while_completions_are_forgotten) {
  for (const unsigned entry_bytes : {32u, 64u})
    for (unsigned before = 0; before < 9; ++before)
      for (unsigned count = 1; count <= 5; ++count)
        for (unsigned pattern = 0; pattern < 1u << count; ++pattern)
          for (const bool twice : {false, true}) play(entry_bytes, before, count, pattern, twice);
}

}  // namespace
}  // namespace freehca::queues
