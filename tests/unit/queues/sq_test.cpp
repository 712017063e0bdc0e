// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/blueflame.hpp>
#include <freehca/queues/sq.hpp>
#include <freehca/work_requests/send_request.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using work_requests::send_opcode;

using namespace layouts;
using testing::doorbell_page;
using testing::ring_memory;

struct sq_test : ::testing::Test {
  ring_memory memory{1 << 16};
  doorbell_page doorbells;
  std::vector<posted_request> slots;
  sq_shape shape;
  sq queue;

  void make(std::uint32_t requests, unsigned gather, std::uint32_t inline_bytes,
            bool atomics = true) {
    shape = sq_shape_for(requests, gather, inline_bytes).value();
    slots.resize(shape.entries());
    ASSERT_TRUE(
        queue
            .open({memory.region(shape.bytes()), shape, slots.data(), doorbells.region(), 0x123456,
                   gather, inline_bytes, 1u << 20, opcodes_of_a_connection(atomics)})
            .ok());
    queue.accept(true);
  }
  std::size_t entry(std::uint32_t n) const {
    return (n & (shape.entries() - 1)) << shape.log_stride;
  }
  image<wqe_ctrl> control(std::uint32_t n) { return memory.read<wqe_ctrl>(entry(n)); }
  image<wqe_data> data(std::uint32_t n, std::size_t at) {
    return memory.read<wqe_data>(entry(n) + at);
  }
  /// True if ring() writes the doorbell.
  bool rings() {
    doorbells.clear();
    queue.ring();
    return doorbells.word(uar::send_doorbell) != 0;
  }
  std::vector<std::byte> ring_bytes() { return {memory.at(0), memory.at(shape.bytes())}; }
};

TEST_F(sq_test, shapes_keep_the_headroom_of_two_kilobytes_and_one) {
  const sq_shape s = sq_shape_for(16, 2, 0).value();
  EXPECT_EQ(s.log_stride, 6);
  EXPECT_EQ(s.spare(), 33u);
  EXPECT_GE(s.most_posted(), 16u);
  EXPECT_EQ(sq_shape_for(1, 3, 0).value().log_stride, 7) << "32 bytes of headers and three entries";
  EXPECT_EQ(sq_shape_for(1, 61, 0).value().log_stride, 10);
  EXPECT_FALSE(sq_shape_for(1, 62, 0).ok()) << "ds has six bits";
  EXPECT_FALSE(sq_shape_for(0x8000, 1, 0).ok());
}

TEST_F(sq_test, a_fresh_ring_is_the_softwares_and_stamped) {
  make(4, 10, 0);
  ASSERT_EQ(shape.log_stride, 8);
  for (std::uint32_t i = 0; i < shape.entries(); ++i) {
    EXPECT_TRUE(control(i).get<&wqe_ctrl::owner>());
    EXPECT_EQ(control(i).get<&wqe_ctrl::ds>(), 16u);
    for (std::size_t at = 64; at < 256; at += 64) EXPECT_EQ(memory.word(entry(i) + at), wqe_stamp);
  }
}

TEST_F(sq_test, a_send_with_everything) {
  make(4, 2, 0);
  const data_entry list[] = {{0x1000, 7, 0x800}, {0, 0, 0}, {0x2000, 9, 0x900}};
  ASSERT_TRUE(work_requests::post(queue, {.wr_id = 42,
                                          .list = list,
                                          .entries = 3,
                                          .opcode = send_opcode::send_with_immediate,
                                          .solicited = true,
                                          .fence = true,
                                          .immediate = 0xabcd1234})
                  .ok());
  EXPECT_FALSE(control(0).get<&wqe_ctrl::owner>());
  EXPECT_EQ(control(0).get<&wqe_ctrl::opcode>(), wqe_opcode::send_imm);
  EXPECT_EQ(control(0).get<&wqe_ctrl::ds>(), 3u) << "an entry of no bytes is left out";
  EXPECT_TRUE(control(0).get<&wqe_ctrl::fence>());
  EXPECT_TRUE(control(0).get<&wqe_ctrl::solicited>());
  EXPECT_EQ(control(0).get<&wqe_ctrl::cq_update>(), wqe_completion::always);
  EXPECT_EQ(control(0).get<&wqe_ctrl::immediate>(), 0xabcd1234u);
  EXPECT_EQ(data(0, 16).get<&wqe_data::address>(), 0x1000u);
  EXPECT_EQ(data(0, 16).get<&wqe_data::byte_count>(), 7u);
  EXPECT_EQ(data(0, 32).get<&wqe_data::lkey>(), 0x900u);
  EXPECT_EQ(doorbells.word(uar::send_doorbell), 0u) << "posting does not ring";
  queue.ring();
  EXPECT_EQ(doorbells.word(uar::send_doorbell), 0x12345600u);
}

TEST_F(sq_test, rdma_and_atomics_name_the_other_side) {
  make(4, 1, 0);
  const data_entry list{0x1000, 8, 0x800};
  ASSERT_TRUE(work_requests::post(queue, {.list = &list,
                                          .entries = 1,
                                          .opcode = send_opcode::rdma_read,
                                          .signaled = false,
                                          .rkey = 0x77,
                                          .remote_address = 0x1122334455667788})
                  .ok());
  const auto remote = memory.read<wqe_remote_address>(entry(0) + 16);
  EXPECT_EQ(remote.get<&wqe_remote_address::remote_address>(), 0x1122334455667788u);
  EXPECT_EQ(remote.get<&wqe_remote_address::rkey>(), 0x77u);
  EXPECT_EQ(control(0).get<&wqe_ctrl::cq_update>(), wqe_completion::none);
  ASSERT_TRUE(work_requests::post(queue, {.list = &list,
                                          .entries = 1,
                                          .opcode = send_opcode::compare_and_swap,
                                          .rkey = 0x77,
                                          .remote_address = 8,
                                          .swap_or_add = 5,
                                          .compare = 6})
                  .ok());
  const auto operands = memory.read<wqe_atomic>(entry(1) + 32);
  EXPECT_EQ(operands.get<&wqe_atomic::swap_add>(), 5u);
  EXPECT_EQ(operands.get<&wqe_atomic::compare>(), 6u);
  EXPECT_EQ(control(1).get<&wqe_ctrl::ds>(), 4u);
}

TEST_F(sq_test, inline_segments_do_not_cross_basic_blocks) {
  make(2, 1, 200);
  ASSERT_EQ(shape.log_stride, 8);
  std::array<std::byte, 200> payload;
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i + 1);
  for (std::uint32_t length : {1u, 27u, 28u, 29u, 88u, 89u, 200u}) {
    queue.reset();
    queue.accept(true);
    ASSERT_TRUE(work_requests::post(queue, {.inline_bytes = payload.data(),
                                            .inline_length = length,
                                            .opcode = send_opcode::rdma_write})
                    .ok());
    std::size_t at = entry(0) + 32, got = 0;
    const std::size_t end = entry(0) + control(0).get<&wqe_ctrl::ds>() * 16;
    while (at < end) {
      const auto head = memory.read<wqe_inline>(at);
      const std::size_t count = head.get<&wqe_inline::byte_count>();
      ASSERT_TRUE(head.get<&wqe_inline::inline_data>());
      ASSERT_EQ(at / 64, (at + 4 + count - 1) / 64) << length;
      ASSERT_EQ(std::memcmp(memory.at(at + 4), payload.data() + got, count), 0) << length;
      got += count;
      at = (at + 4 + count + 15) / 16 * 16;
    }
    EXPECT_EQ(got, length);
  }
}

TEST_F(sq_test, inline_of_nothing_is_a_wqe_without_data) {
  make(2, 1, 16);
  const std::byte nothing{};
  ASSERT_TRUE(
      work_requests::post(
          queue, {.inline_bytes = &nothing, .inline_length = 0, .opcode = send_opcode::send})
          .ok());
  EXPECT_EQ(control(0).get<&wqe_ctrl::ds>(), 1u);
}

TEST_F(sq_test, a_queue_that_takes_no_posts_is_not_rung) {
  make(4, 1, 0);
  ASSERT_TRUE(queue.post(nop{}).ok());
  queue.accept(false);
  queue.ring();
  EXPECT_EQ(doorbells.word(uar::send_doorbell), 0u);
  queue.accept(true);
  queue.ring();
  EXPECT_NE(doorbells.word(uar::send_doorbell), 0u);
  queue.close();
  queue.ring();
}

TEST_F(sq_test, is_rung_only_if_something_was_posted_since_the_last_doorbell) {
  make(4, 1, 16);
  const send too_long{.data = {0, (1u << 20) + 1, 0}};
  EXPECT_FALSE(rings()) << "nothing was posted yet";
  ASSERT_TRUE(queue.post(nop{}).ok());
  EXPECT_TRUE(rings());
  EXPECT_FALSE(rings());
  const nop two[2];
  EXPECT_EQ(queue.post_many(two, 0), 0u);
  EXPECT_FALSE(rings());
  EXPECT_EQ(queue.post_many(two, 2), 2u);
  EXPECT_TRUE(rings());
  EXPECT_FALSE(rings());
  ASSERT_TRUE(queue.post_and_ring(nop{}).ok());
  EXPECT_FALSE(rings()) << "the post has rung";
  EXPECT_NE(queue.retire(3), nullptr);

  EXPECT_FALSE(queue.post(too_long).ok());
  EXPECT_FALSE(rings()) << "the only post was refused";
  ASSERT_TRUE(queue.post(nop{}).ok());
  EXPECT_FALSE(queue.post(too_long).ok());
  EXPECT_TRUE(rings()) << "a post ahead of the refused one was not";
  EXPECT_NE(queue.retire(4), nullptr);
  ASSERT_TRUE(queue.post(nop{}).ok());
  ASSERT_TRUE(queue.post_and_ring(nop{}).ok());
  EXPECT_FALSE(rings()) << "one doorbell is for all posts ahead of it";

  ASSERT_TRUE(queue.post(nop{}).ok());
  EXPECT_NE(queue.retire(7), nullptr) << "the device may execute it at once";
  queue.reset();
  queue.accept(true);
  EXPECT_FALSE(rings());
}

TEST_F(sq_test, a_push_leaves_nothing_to_ring_for) {
  make(4, 1, 200);
  std::vector<std::uint64_t> page(16);  // a register of two halves, each of one block
  blueflame by;
  ASSERT_TRUE(by.open({reinterpret_cast<std::byte*>(page.data()), 128}).ok());
  doorbells.clear();
  ASSERT_TRUE(queue.post_and_push(by, nop{}).ok());
  EXPECT_EQ(doorbells.word(uar::send_doorbell), 0u);
  EXPECT_NE(page[0], 0u);
  EXPECT_FALSE(rings());
  const std::array<std::byte, 200> payload{};
  ASSERT_TRUE(queue.post_and_push(by, send_inline{.data = {payload.data(), 200}}).ok());
  EXPECT_NE(doorbells.word(uar::send_doorbell), 0u) << "too long for the register";
  EXPECT_FALSE(rings());
}

// The device counts the posts in 16 bits.
TEST_F(sq_test, is_rung_for_each_post_however_many_there_were) {
  make(4, 1, 0);
  for (std::uint32_t i = 0; i < 3u << 16; ++i) {
    ASSERT_TRUE(queue.post(nop{}).ok());
    ASSERT_TRUE(rings()) << i;
    ASSERT_NE(queue.retire(static_cast<std::uint16_t>(i)), nullptr);
    ASSERT_FALSE(rings()) << i;
  }
}

TEST_F(sq_test, what_does_not_fit_leaves_the_ring_alone) {
  make(2, 1, 16, false);
  const auto before = ring_bytes();
  const std::array<std::byte, 32> payload{};
  const data_entry list[] = {{0, 1, 0}, {0, 1, 0}};
  const data_entry huge{0, (1u << 20) + 1, 0};
  const data_entry wide{0, 0x80000000u, 0};
  EXPECT_TRUE(
      work_requests::post(queue, {.list = list, .entries = 2}).is(driver_error::bad_argument));
  EXPECT_TRUE(
      work_requests::post(queue, {.list = &huge, .entries = 1}).is(driver_error::bad_argument));
  EXPECT_TRUE(
      work_requests::post(queue, {.list = &wide, .entries = 1}).is(driver_error::bad_argument));
  EXPECT_TRUE(work_requests::post(queue, {.inline_bytes = payload.data(), .inline_length = 17})
                  .is(driver_error::bad_argument));
  EXPECT_TRUE(work_requests::post(queue, {.inline_bytes = payload.data(),
                                          .inline_length = 4,
                                          .opcode = send_opcode::rdma_read})
                  .is(driver_error::bad_argument));
  EXPECT_TRUE(
      work_requests::post(queue, {.list = list, .entries = 1, .opcode = send_opcode::fetch_and_add})
          .is(driver_error::unsupported));
  queue.accept(false);
  EXPECT_TRUE(work_requests::post(queue, {}).is(driver_error::bad_state));
  EXPECT_EQ(ring_bytes(), before);
  EXPECT_EQ(queue.outstanding(), 0u);
}

TEST_F(sq_test, full_is_full_and_room_comes_with_completions) {
  make(4, 1, 0);
  for (std::uint32_t i = 0; i < queue.most_outstanding(); ++i)
    ASSERT_TRUE(work_requests::post(queue, {.wr_id = i}).ok());
  const auto before = ring_bytes();
  EXPECT_TRUE(work_requests::post(queue, {}).is(driver_error::queue_full));
  EXPECT_EQ(ring_bytes(), before);
  const posted_request* const oldest = queue.retire(0);
  ASSERT_NE(oldest, nullptr);
  EXPECT_EQ(oldest->wr_id, 0u);
  EXPECT_TRUE(work_requests::post(queue, {}).ok());
}

TEST_F(sq_test, owner_bits_turn_with_each_round_and_blocks_ahead_are_stamped) {
  make(3, 10, 0);
  const data_entry list[10] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {5, 1, 1},
                               {6, 1, 1}, {7, 1, 1}, {8, 1, 1}, {9, 1, 1}, {10, 1, 1}};
  for (std::uint32_t n = 0; n < 5 * shape.entries(); ++n) {
    ASSERT_TRUE(
        work_requests::post(
            queue, {.wr_id = n, .list = list, .entries = 10, .opcode = send_opcode::rdma_write})
            .ok());
    ASSERT_EQ(control(n).get<&wqe_ctrl::owner>(), (n & shape.entries()) != 0);
    for (unsigned i = 0; i < 10; ++i)
      ASSERT_EQ(data(n, 32 + 16 * i).get<&wqe_data::address>(), i + 1);
    for (std::uint32_t ahead = 1; ahead <= shape.spare(); ++ahead) {
      ASSERT_NE(control(n + ahead).get<&wqe_ctrl::owner>(), ((n + ahead) & shape.entries()) != 0);
      for (std::size_t at = 64; at < 192; at += 64)
        ASSERT_EQ(memory.word(entry(n + ahead) + at), wqe_stamp) << n << " " << ahead;
    }
    const posted_request* const done = queue.retire(static_cast<std::uint16_t>(n));
    ASSERT_NE(done, nullptr);
    ASSERT_EQ(done->wr_id, n);
  }
}

TEST_F(sq_test, the_sixteen_bit_counter_wraps) {
  make(3, 1, 0);
  for (std::uint32_t n = 0; n < 0x10000 + 100; ++n) {
    ASSERT_TRUE(work_requests::post(queue, {.wr_id = n}).ok());
    const posted_request* const done = queue.retire(static_cast<std::uint16_t>(n));
    ASSERT_NE(done, nullptr);
    ASSERT_EQ(done->wr_id, n);
  }
}

TEST_F(sq_test, a_completion_retires_the_unsignaled_before_it) {
  make(4, 1, 0);
  for (std::uint32_t i = 0; i < 4; ++i)
    ASSERT_TRUE(work_requests::post(queue, {.wr_id = i, .signaled = i == 3}).ok());
  EXPECT_EQ(queue.retire(3)->wr_id, 3u);
  EXPECT_EQ(queue.outstanding(), 0u);
}

TEST_F(sq_test, what_the_device_tells_nothing_of_retires_in_the_order_of_posting) {
  make(4, 1, 0);
  EXPECT_EQ(queue.retire_oldest(), nullptr) << "nothing is posted";
  for (std::uint32_t i = 0; i < 4; ++i)
    ASSERT_TRUE(work_requests::post(queue, {.wr_id = i, .signaled = i % 2 == 0}).ok());
  EXPECT_EQ(queue.retire(1)->wr_id, 1u);
  for (std::uint32_t i = 2; i < 4; ++i) EXPECT_EQ(queue.retire_oldest()->wr_id, i);
  EXPECT_EQ(queue.retire_oldest(), nullptr);
  ASSERT_TRUE(work_requests::post(queue, {}).ok());
  queue.close();
  EXPECT_EQ(queue.retire_oldest(), nullptr) << "a closed queue has forgotten";
  // It has no UAR page that a doorbell could go to.
  queue.accept(true);
  EXPECT_TRUE(queue.post(send{}).is(driver_error::bad_state));
  queue.ring();
}

TEST_F(sq_test, indexes_of_the_device_are_not_trusted) {
  make(4, 1, 0);
  EXPECT_EQ(queue.retire(0), nullptr) << "nothing is posted";
  ASSERT_TRUE(work_requests::post(queue, {}).ok());
  ASSERT_TRUE(work_requests::post(queue, {}).ok());
  for (std::uint32_t i = 2; i <= 0xffff; ++i)
    ASSERT_EQ(queue.retire(static_cast<std::uint16_t>(i)), nullptr) << i;
  EXPECT_EQ(queue.outstanding(), 2u);
}

}  // namespace
}  // namespace freehca::queues
