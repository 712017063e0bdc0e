// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the device can see while a WQE is being written: every store is logged, and after each of
// them the ring must be one that a prefetching device reads rightly.
#include <freehca/queues/cq.hpp>
#include <freehca/queues/rq.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/queues/srq.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "support/routed_accesses.hpp"

namespace {

struct access {
  const std::byte* at;
  std::size_t bytes;
  bool is_register;
};
std::vector<access> accesses;
std::function<void()> after_store;
std::function<void(const std::byte* from, std::size_t bytes)> before_load;

struct access_log : freehca::testing::access_listener {
  void dma_store(std::byte* to, const std::byte* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    accesses.push_back({to, bytes, false});
    if (after_store) after_store();
  }
  void dma_load(std::byte* to, const std::byte* from, std::size_t bytes) override {
    if (before_load) before_load(from, bytes);
    std::memcpy(to, from, bytes);
  }
  void mmio_store(std::byte* to, const std::byte*, std::size_t bytes) override {
    accesses.push_back({to, bytes, true});
  }
};

}  // namespace

namespace freehca::queues {
namespace {

using namespace layouts;
using work_requests::send_opcode;
using work_requests::send_request;

struct store_order_test : ::testing::Test {
  access_log log;
  std::vector<std::uint64_t> ring_words = std::vector<std::uint64_t>(1 << 13),
                             uar_words = std::vector<std::uint64_t>(512);
  std::byte* ring = reinterpret_cast<std::byte*>(ring_words.data());
  mmio_region uar{reinterpret_cast<std::byte*>(uar_words.data()), 4096};
  void SetUp() override {
    accesses.clear();
    after_store = nullptr;
  }
  void TearDown() override {
    after_store = nullptr;
    before_load = nullptr;
  }
};

/// Behind the segments of a connection, and behind a datagram segment, which fills the first block.
struct wqe_order_test : store_order_test, ::testing::WithParamInterface<bool> {
  const bool datagrams = GetParam();
  const unsigned gather = datagrams ? 12 : 14;
  const std::uint32_t most_inline = datagrams ? 172 : 200;
  address peer;
};

TEST_P(wqe_order_test, a_wqe_is_valid_at_every_moment_or_not_the_devices) {
  const sq_shape shape =
      sq_shape_for(4, gather, most_inline, datagrams ? datagram_header_bytes : rdma_header_bytes)
          .value();
  ASSERT_EQ(shape.log_stride, 8);
  std::vector<posted_request> slots(shape.entries());
  sq queue;
  ASSERT_TRUE(queue
                  .open({{ring, 0x1000, shape.bytes()},
                         shape,
                         slots.data(),
                         uar,
                         7,
                         gather,
                         most_inline,
                         1 << 30,
                         datagrams ? opcodes_of_datagrams() : opcodes_of_a_connection(true)})
                  .ok());
  queue.accept(true);
  std::vector<data_entry> list(gather, {0x1111'2222'3333'4444, 0x55, 0x66});
  std::vector<std::byte> payload(most_inline, std::byte{0x77});
  for (std::size_t i = 0; i < address_vector::bytes; ++i) peer.vector.data()[i] = std::byte{0x99};
  const send_request common{
      .opcode = datagrams ? send_opcode::send : send_opcode::rdma_write, .to = &peer, .qkey = 0x88};

  for (std::uint32_t n = 0; n < 3 * shape.entries(); ++n) {
    send_request request = common;
    if (n % 2 == 0) {
      request.list = list.data();
      request.entries = gather;
    } else {
      request.inline_bytes = payload.data();
      request.inline_length = most_inline;
    }
    // The image that the whole WQE has in the end, from a queue of its own.
    std::vector<std::byte> finished;
    unsigned moments = 0;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 0) {
        const auto before = ring_words;
        const auto slots_before = slots;
        sq copy = queue;
        ASSERT_TRUE(work_requests::post(copy, request).ok());
        const std::byte* at = ring + ((std::size_t{n} & (shape.entries() - 1)) << shape.log_stride);
        finished.assign(at, at + 256);
        ring_words = before;
        slots = slots_before;
        ring = reinterpret_cast<std::byte*>(ring_words.data());
        continue;
      }
      const std::byte* const entry =
          ring + ((std::size_t{n} & (shape.entries() - 1)) << shape.log_stride);
      after_store = [&] {
        ++moments;
        const auto control = image<wqe_ctrl>::from_bytes(entry);
        const bool given = control.get<&wqe_ctrl::owner>() == ((n & shape.entries()) != 0);
        for (std::size_t block = given ? 0 : 64; block < 256; block += 64) {
          // Whoever fetches a block whose first word is no stamp finds the whole block valid.
          if (!given && layouts::load_be<std::uint32_t>(entry + block) == wqe_stamp) continue;
          EXPECT_EQ(std::memcmp(entry + block, finished.data() + block, 64), 0)
              << n << " block " << block;
        }
      };
      ASSERT_TRUE(work_requests::post(queue, request).ok());
      after_store = nullptr;
    }
    EXPECT_GE(moments, 8u);
    ASSERT_EQ(accesses.back().at,
              ring + ((std::size_t{n} & (shape.entries() - 1)) << shape.log_stride));
    ASSERT_EQ(accesses.back().bytes, 8u) << "the owner's word goes last, in one store";
    queue.ring();
    ASSERT_TRUE(accesses.back().is_register);
    ASSERT_NE(queue.retire(static_cast<std::uint16_t>(n)), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(services, wqe_order_test, ::testing::Bool());

TEST_F(store_order_test, a_receive_is_whole_before_the_record_counts_it) {
  const rq_shape shape = rq_shape_for(4, 2).value();
  std::vector<posted_request> slots(shape.entries());
  std::uint64_t record = 0;
  auto* const record_at = reinterpret_cast<std::byte*>(&record);
  rq queue;
  ASSERT_TRUE(
      queue.open({{ring, 0x1000, shape.bytes()}, shape, slots.data(), {record_at, 0x2000, 8}, 2})
          .ok());
  queue.accept(true);
  accesses.clear();
  const data_entry list[] = {{1, 2, 3}, {}};
  ASSERT_TRUE(queue.post_and_ring({.list = list, .entries = 2}).ok());
  // Each entry of the list, and its end, takes two words.
  ASSERT_EQ(accesses.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GE(accesses[i].at, ring);
    EXPECT_LT(accesses[i].at, ring + shape.bytes());
  }
  EXPECT_EQ(accesses[4].at, record_at);
}

TEST_F(store_order_test, a_receive_of_one_entry_is_two_words_and_the_record) {
  const rq_shape shape = rq_shape_for(4, 2).value();
  const srq_shape shared_shape = srq_shape_for(3, 2).value();
  std::vector<posted_request> slots(4), shared_slots(4);
  std::uint64_t record = 0;
  auto* const record_at = reinterpret_cast<std::byte*>(&record);
  rq own;
  srq shared;
  ASSERT_TRUE(
      own.open({{ring, 0x1000, shape.bytes()}, shape, slots.data(), {record_at, 0x2000, 4}, 2})
          .ok());
  std::byte* const shared_ring = ring + shape.bytes();
  ASSERT_TRUE(shared
                  .open({{shared_ring, 0x1000, shared_shape.bytes()},
                         shared_shape,
                         shared_slots.data(),
                         {record_at + 4, 0x2004, 4},
                         2})
                  .ok());
  own.accept(true);
  shared.accept(true);
  const data_entry entry{1, 2, 3};
  const auto stored = [&](auto& queue, std::byte* segment, std::byte* last) {
    accesses.clear();
    ASSERT_TRUE(queue.post_and_ring({.list = &entry, .entries = 1}).ok());
    ASSERT_EQ(accesses.size(), 3u);
    EXPECT_EQ(accesses[0].at, segment + 8);
    EXPECT_EQ(accesses[1].at, segment) << "the length goes last";
    EXPECT_EQ(accesses[2].at, last);
  };
  for (std::size_t i = 0; i < 3; ++i) {
    stored(own, ring + (i << shape.log_stride), record_at);
    stored(shared, shared_ring + (i << shared_shape.log_stride) + wqe_srq_next::bytes,
           record_at + 4);
  }
}

TEST_F(store_order_test, a_shared_receive_is_whole_and_linked_before_the_record_counts_it) {
  const srq_shape shape = srq_shape_for(1, 2).value();
  ASSERT_EQ(shape.entries(), 2u);
  std::vector<posted_request> slots(shape.entries());
  std::uint64_t record = 0;
  auto* const record_at = reinterpret_cast<std::byte*>(&record);
  srq queue;
  ASSERT_TRUE(
      queue.open({{ring, 0x1000, shape.bytes()}, shape, slots.data(), {record_at, 0x2000, 8}, 2})
          .ok());
  queue.accept(true);
  const data_entry list[] = {{1, 2, 3}, {}};
  for (std::uint32_t n = 0; n < 8; ++n) {
    std::byte* const wqe = ring + ((n % 2) << shape.log_stride);
    accesses.clear();
    ASSERT_TRUE(queue.post_and_ring({.list = list, .entries = 2}).ok());
    // The entry of the list, and its end, take two words each; the link is there since the entry
    // that it leads to was free.
    ASSERT_EQ(accesses.size(), 5u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_GE(accesses[i].at, wqe + wqe_srq_next::bytes);
      EXPECT_LT(accesses[i].at, wqe + (std::size_t{1} << shape.log_stride));
    }
    EXPECT_EQ(accesses[4].at, record_at);
    ASSERT_NE(queue.retire(n % 2 != 0), nullptr);
    EXPECT_EQ(accesses.size(), 6u);
    EXPECT_EQ(accesses[5].at, ring + ((n % 2 == 0 ? 1u : 0u) << shape.log_stride))
        << "the end of the list leads to it, which the device does not hold";
  }
}

TEST_F(store_order_test, the_arm_record_is_there_before_the_doorbell) {
  std::uint64_t record = 0;
  auto* const record_at = reinterpret_cast<std::byte*>(&record);
  qp_rings* slots[1];
  qp_directory directory;
  directory.open(slots, 1);
  cq queue;
  ASSERT_TRUE(
      queue.open({{ring, 0x1000, 1024}, 4, 32, {record_at, 0x2000, 8}, uar, 1, &directory}).ok());
  accesses.clear();
  queue.arm();
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].at, record_at + 4);
  EXPECT_TRUE(accesses[1].is_register);
  EXPECT_EQ(accesses[1].bytes, 8u) << "one store";
}

TEST_F(store_order_test, forged_entries_do_not_keep_a_poll_going) {
  constexpr unsigned log_entries = 4;
  std::uint64_t record = 0;
  qp_rings* slots[1];
  qp_directory directory;
  directory.open(slots, 1);
  cq queue;
  ASSERT_TRUE(queue
                  .open({{ring, 0x1000, 32u << log_entries},
                         log_entries,
                         32,
                         {reinterpret_cast<std::byte*>(&record), 0x2000, 8},
                         uar,
                         1,
                         &directory})
                  .ok());
  // A device that has always just written the entry that is looked at, for nobody's queue pair.
  unsigned looks = 0;
  before_load = [&](const std::byte* from, std::size_t bytes) {
    const auto offset = static_cast<std::size_t>(from - ring);
    if (bytes != 8 || offset % 32 != 24) return;
    ASSERT_LT(++looks, 1000u);
    image<cqe> e;
    e.set<&cqe::qpn>(0x42).set<&cqe::is_send>(true);
    e.set<&cqe::owner>((queue.consumer_counter() >> log_entries & 1) != 0);
    std::memcpy(ring + offset - 24, e.data(), cqe::bytes);
  };
  work_completion w;
  EXPECT_EQ(queue.poll(&w, 1), 0u);
  EXPECT_LE(looks, 20u);
  EXPECT_EQ(queue.dropped(), 16u);
}

}  // namespace
}  // namespace freehca::queues
