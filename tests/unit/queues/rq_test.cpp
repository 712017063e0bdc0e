// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/rq.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using testing::ring_memory;

struct rq_test : ::testing::Test {
  ring_memory memory{4096}, record{64};
  std::vector<posted_request> slots;
  rq_shape shape;
  rq queue;
  void make(std::uint32_t requests, unsigned scatter) {
    shape = rq_shape_for(requests, scatter).value();
    slots.resize(shape.entries());
    ASSERT_TRUE(
        queue.open({memory.region(shape.bytes()), shape, slots.data(), record.region(64), scatter})
            .ok());
    queue.accept(true);
  }
  image<wqe_data> data(std::uint32_t n, unsigned i) {
    return memory.read<wqe_data>((std::size_t{n & (shape.entries() - 1)} << shape.log_stride) +
                                 16 * i);
  }
};

TEST_F(rq_test, a_short_list_ends_with_the_terminator) {
  make(4, 3);
  const data_entry list[] = {{0x1000, 5, 0x800}, {0x2000, 0, 0x800}, {0x3000, 6, 0x900}};
  ASSERT_TRUE(queue.post({.wr_id = 1, .list = list, .entries = 3}).ok());
  EXPECT_EQ(data(0, 0).get<&wqe_data::address>(), 0x1000u);
  EXPECT_EQ(data(0, 1).get<&wqe_data::lkey>(), 0x900u);
  EXPECT_EQ(data(0, 2).get<&wqe_data::lkey>(), invalid_lkey);
  EXPECT_EQ(data(0, 2).get<&wqe_data::byte_count>(), 0u);
}

TEST_F(rq_test, a_receive_of_one_entry_ends_behind_it_whatever_stood_there) {
  make(2, 4);
  const auto is_end = [&](std::uint32_t n, unsigned i) {
    const auto segment = data(n, i);
    return segment.get<&wqe_data::lkey>() == invalid_lkey &&
           segment.get<&wqe_data::byte_count>() == 0 && segment.get<&wqe_data::address>() == 0;
  };
  const data_entry list[] = {{0x1000, 5, 0x800}, {0x2000, 6, 0x900}, {0x3000, 7, 0xa00}};
  const receive_request one{.wr_id = 1, .list = list, .entries = 1},
      three{.wr_id = 3, .list = list, .entries = 3};
  const auto posted = [&](std::uint32_t n, const receive_request& r) {
    ASSERT_TRUE(queue.post(r).ok());
    for (unsigned i = 0; i < r.entries; ++i) {
      EXPECT_EQ(data(n, i).get<&wqe_data::address>(), list[i].address);
      EXPECT_EQ(data(n, i).get<&wqe_data::byte_count>(), list[i].length);
      EXPECT_EQ(data(n, i).get<&wqe_data::lkey>(), list[i].lkey);
    }
    EXPECT_TRUE(is_end(n, r.entries)) << "entry " << n;
    EXPECT_EQ(queue.retire(static_cast<std::uint16_t>(n))->bytes, r.entries == 1 ? 5u : 18u);
  };
  std::uint32_t n = 0;
  for (unsigned lap = 0; lap < 4; ++lap) posted(n++, one);
  for (unsigned lap = 0; lap < 3; ++lap) posted(n++, three);
  posted(n++, one);
  queue.reset();
  queue.accept(true);
  for (n = 0; n < 2; ++n) posted(n, one);
  ASSERT_TRUE(queue.post({}).ok());
  EXPECT_TRUE(is_end(n, 0)) << "room for nothing";
}

TEST_F(rq_test, the_record_counts_what_was_rung_and_wraps) {
  make(4, 1);
  ASSERT_TRUE(queue.post({}).ok());
  EXPECT_EQ(record.word(0), 0u);
  queue.ring();
  EXPECT_EQ(record.word(0), 1u);
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    ASSERT_NE(queue.retire(static_cast<std::uint16_t>(i)), nullptr);
    ASSERT_TRUE(queue.post_and_ring({.wr_id = i}).ok());
  }
  EXPECT_EQ(record.word(0), 1u);
}

TEST_F(rq_test, a_queue_that_takes_no_posts_is_not_rung) {
  make(4, 1);
  ASSERT_TRUE(queue.post({}).ok());
  queue.accept(false);
  queue.ring();
  EXPECT_EQ(record.word(0), 0u);
  queue.accept(true);
  queue.ring();
  EXPECT_EQ(record.word(0), 1u);
  queue.close();
  queue.ring();
  EXPECT_EQ(record.word(0), 1u) << "whose record it was, it may be somebody else's";
}

TEST_F(rq_test, every_entry_can_be_posted_and_no_more) {
  make(4, 1);
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(queue.post({.wr_id = i}).ok());
  EXPECT_TRUE(queue.post({}).is(driver_error::queue_full));
  const data_entry room{0x1000, 5, 0x800};
  EXPECT_TRUE(queue.post({.list = &room, .entries = 1}).is(driver_error::queue_full));
  EXPECT_EQ(queue.retire(0)->wr_id, 0u);
  EXPECT_TRUE(queue.post({}).ok());
}

TEST_F(rq_test, refusals_touch_nothing) {
  make(2, 1);
  const data_entry list[] = {{0, 1, 0}, {0, 1, 0}};
  const data_entry wide{0, 0x80000000u, 0};
  EXPECT_TRUE(queue.post({.list = list, .entries = 2}).is(driver_error::bad_argument));
  EXPECT_TRUE(queue.post({.list = &wide, .entries = 1}).is(driver_error::bad_argument));
  EXPECT_TRUE(queue.post({.entries = 1}).is(driver_error::bad_argument)) << "no list";
  EXPECT_EQ(data(0, 0), image<wqe_data>{});
  queue.reset();
  EXPECT_TRUE(queue.post({}).is(driver_error::bad_state)) << "not out of RESET yet";
  EXPECT_TRUE(queue.post({.list = list, .entries = 1}).is(driver_error::bad_state));
  queue.accept(true);
  queue.close();
  EXPECT_TRUE(queue.post({.list = list, .entries = 1}).is(driver_error::bad_state));
  EXPECT_EQ(queue.outstanding(), 0u);
}

TEST_F(rq_test, a_queue_without_room_for_an_entry_takes_none) {
  make(2, 0);
  const data_entry room{0x1000, 5, 0x800};
  EXPECT_TRUE(queue.post({.list = &room, .entries = 1}).is(driver_error::bad_argument));
  EXPECT_TRUE(queue.post({}).ok());
}

TEST_F(rq_test, what_the_device_tells_nothing_of_retires_in_the_order_of_posting) {
  make(4, 1);
  EXPECT_EQ(queue.retire_oldest(), nullptr) << "nothing is posted";
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(queue.post({.wr_id = i}).ok());
  EXPECT_EQ(queue.retire(0)->wr_id, 0u);
  for (std::uint32_t i = 1; i < 3; ++i) EXPECT_EQ(queue.retire_oldest()->wr_id, i);
  EXPECT_EQ(queue.retire_oldest(), nullptr);
  ASSERT_TRUE(queue.post({}).ok());
  queue.close();
  EXPECT_EQ(queue.retire_oldest(), nullptr) << "a closed queue has forgotten";
}

TEST_F(rq_test, only_the_oldest_receive_can_complete) {
  make(4, 1);
  EXPECT_EQ(queue.retire(0), nullptr);
  ASSERT_TRUE(queue.post({}).ok());
  ASSERT_TRUE(queue.post({}).ok());
  EXPECT_EQ(queue.retire(1), nullptr);
  EXPECT_EQ(queue.retire(3), nullptr);
  EXPECT_NE(queue.retire(0), nullptr);
  EXPECT_EQ(queue.outstanding(), 1u);
}

}  // namespace
}  // namespace freehca::queues
