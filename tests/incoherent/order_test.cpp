// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// In which order what is posted becomes visible. The cache may write back any dirty line at any
// time: after each store and each clean the device looks, with none, each single one and all of the
// dirty lines written back. What it may never find is judged when the posts are over.
#include <freehca/queues/rq.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/srq.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include <freehca/in_process/processor_cache.hpp>

namespace freehca::queues {
namespace {

using namespace layouts;

/// Memory that the device looks at: a ring, and behind it a line with the doorbell record.
struct watched_memory {
  static constexpr std::size_t ring_bytes = 16 * 256, record_at = ring_bytes;
  using view = std::array<std::byte, ring_bytes + 64>;

  alignas(64) view memory{};
  in_process::processor_cache cache;
  std::vector<view> seen;

  std::byte* ring() { return memory.data(); }
  std::byte* record() { return memory.data() + record_at; }
  void begin() {
    cache.on_step = [this] {
      const std::set<std::uintptr_t> dirty = cache.dirty();
      look({});
      for (const std::uintptr_t line : dirty) look({line});
      look(dirty);
    };
  }
  void look(const std::set<std::uintptr_t>& written_back) {
    view v;
    cache.read_after(written_back, v.data(), memory.data(), v.size());
    if (seen.empty() || v != seen.back()) seen.push_back(v);
  }
  /// The last view is what the driver has stored.
  void end() {
    cache.on_step = nullptr;
    EXPECT_TRUE(cache.dirty().empty()) << "something was not cleaned";
    EXPECT_TRUE(cache.findings().empty()) << cache.findings().front();
    EXPECT_GT(seen.size(), 4u);
  }
  bool same(const view& v, std::size_t at, std::size_t bytes) const {
    return std::memcmp(v.data() + at, memory.data() + at, bytes) == 0;
  }
  static std::uint32_t count_in(const view& v) {
    return layouts::load_be<std::uint32_t>(v.data() + record_at) & 0xffff;
  }
};

TEST(order, a_send_is_given_away_when_all_of_it_is_in_memory) {
  watched_memory w;
  const sq_shape shape = sq_shape_for(4, 14, 200, rdma_header_bytes).value();
  ASSERT_EQ(shape.log_stride, 8);
  ASSERT_LE(shape.bytes(), watched_memory::ring_bytes);
  std::vector<posted_request> slots(shape.entries());
  alignas(64) std::array<std::byte, 4096> uar{};
  sq queue;
  ASSERT_TRUE(queue
                  .open({{w.ring(), 0x1000, shape.bytes()},
                         shape,
                         slots.data(),
                         {uar.data(), uar.size()},
                         7,
                         14,
                         200,
                         1 << 30,
                         opcodes_of_a_connection(true)})
                  .ok());
  queue.accept(true);
  // Once round, so that something else stands where the requests go.
  const rdma_write one{.data = {1, 2, 3}};
  while (queue.posted() < shape.entries()) {
    ASSERT_TRUE(queue.post(one).ok());
    ASSERT_NE(queue.retire(static_cast<std::uint16_t>(queue.posted() - 1)), nullptr);
  }
  const std::uint32_t first = queue.posted();
  data_entry list[14];
  for (data_entry& e : list) e = {0x1111'2222'3333'4444, 0x55, 0x66};
  std::byte payload[200];
  std::memset(payload, 0x77, sizeof payload);
  w.begin();
  ASSERT_TRUE(queue.post(rdma_write_list{.remote = {8, 9}, .data = {list, 14}}).ok());
  ASSERT_TRUE(queue.post(rdma_write_inline{.remote = {8, 9}, .data = {payload, 200}}).ok());
  ASSERT_TRUE(queue.post(one).ok());
  w.end();

  const std::size_t stride = std::size_t{1} << shape.log_stride;
  for (const auto& v : w.seen)
    for (std::uint32_t n = first; n != queue.posted(); ++n) {
      const std::size_t at = (n & (shape.entries() - 1)) * stride;
      const auto ctrl = image<wqe_ctrl>::from_bytes(v.data() + at);
      const bool given = ctrl.get<&wqe_ctrl::owner>() == ((n & shape.entries()) != 0);
      for (std::size_t block = given ? 0 : wqe_basic_block; block < stride;
           block += wqe_basic_block) {
        const bool stamped = layouts::load_be<std::uint32_t>(v.data() + at + block) == wqe_stamp;
        if (!given && stamped) continue;
        EXPECT_TRUE(w.same(v, at + block, wqe_basic_block))
            << "WQE " << n << (given ? " is given away" : " has lost a stamp") << ", and block "
            << block / wqe_basic_block << " is not there";
      }
    }
}

TEST(order, a_receive_is_counted_when_it_is_in_memory) {
  watched_memory w;
  const rq_shape shape = rq_shape_for(4, 8).value();
  std::vector<posted_request> slots(shape.entries());
  rq queue;
  ASSERT_TRUE(
      queue
          .open(
              {{w.ring(), 0x1000, shape.bytes()}, shape, slots.data(), {w.record(), 0x8000, 8}, 8})
          .ok());
  queue.accept(true);
  const data_entry list[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  w.begin();
  for (const unsigned entries : {1u, 1u, 6u, 1u})
    ASSERT_TRUE(queue.post_and_ring({.list = list, .entries = entries}).ok());
  w.end();
  for (const auto& v : w.seen)
    for (std::uint32_t n = 0; n < watched_memory::count_in(v); ++n)
      EXPECT_TRUE(w.same(v, std::size_t{n} << shape.log_stride, std::size_t{1} << shape.log_stride))
          << "receive " << n << " is counted, and not there";
}

TEST(order, a_shared_receive_is_counted_when_it_is_in_memory) {
  watched_memory w;
  const srq_shape shape = srq_shape_for(7, 7).value();
  std::vector<posted_request> slots(shape.entries());
  srq queue;
  ASSERT_TRUE(
      queue
          .open(
              {{w.ring(), 0x1000, shape.bytes()}, shape, slots.data(), {w.record(), 0x8000, 8}, 7})
          .ok());
  queue.accept(true);
  const data_entry list[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 2, 3}, {4, 5, 6}};
  w.begin();
  for (const unsigned entries : {1u, 1u, 5u, 1u})
    ASSERT_TRUE(queue.post_and_ring({.list = list, .entries = entries}).ok());
  w.end();
  // Entries are posted in the order of their places, as none has come back.
  for (const auto& v : w.seen)
    for (std::uint32_t n = 0; n < watched_memory::count_in(v); ++n)
      EXPECT_TRUE(w.same(v, std::size_t{n} << shape.log_stride, std::size_t{1} << shape.log_stride))
          << "receive " << n << " is counted, and not there";
}

}  // namespace
}  // namespace freehca::queues
