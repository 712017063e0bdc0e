// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/eq.hpp>

#include <gtest/gtest.h>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using layouts::eqe;
using testing::doorbell_page;
using testing::ring_memory;

struct eq_test : ::testing::TestWithParam<unsigned> {
  static constexpr unsigned log_entries = 3;
  unsigned entry_bytes = GetParam();
  std::size_t offset = layouts::eqe_offset_in_entry(entry_bytes == 64);
  ring_memory memory{eq::ring_bytes(log_entries, 64)};
  doorbell_page doorbells;
  eq queue;
  std::uint32_t produced = 0;

  void SetUp() override {
    ASSERT_TRUE(queue
                    .open({memory.region(eq::ring_bytes(log_entries, entry_bytes)), log_entries,
                           entry_bytes, doorbells.region().part(0, 4)})
                    .ok());
  }
  void produce(std::uint8_t sub_type) {
    layouts::image<eqe> e;
    e.set<&eqe::event_sub_type>(sub_type).set<&eqe::owner>((produced >> log_entries & 1) != 0);
    memory.write((produced & 7) * entry_bytes + offset, e);
    ++produced;
  }
};

TEST_P(eq_test, a_fresh_ring_is_the_devices) {
  layouts::image<eqe> e;
  EXPECT_FALSE(queue.pending());
  EXPECT_FALSE(queue.next(e));
}

TEST_P(eq_test, events_come_in_order_round_after_round) {
  layouts::image<eqe> e;
  for (unsigned i = 0; i < 50; ++i) {
    produce(static_cast<std::uint8_t>(i));
    ASSERT_TRUE(queue.pending());
    ASSERT_TRUE(queue.next(e));
    EXPECT_EQ(e.get<&eqe::event_sub_type>(), i);
    ASSERT_FALSE(queue.next(e)) << "an entry of the round before was taken again";
  }
  EXPECT_EQ(queue.consumer_counter(), 50u);
}

TEST_P(eq_test, the_device_hears_of_progress_before_the_ring_is_full) {
  layouts::image<eqe> e;
  for (unsigned i = 0; i < 3; ++i) {
    produce(0);
    ASSERT_TRUE(queue.next(e));
  }
  EXPECT_EQ(doorbells.word(0), 0u);
  produce(0);
  ASSERT_TRUE(queue.next(e));
  EXPECT_EQ(doorbells.word(0), 4u) << "half of the ring, not armed";
}

TEST_P(eq_test, arming_tells_the_counter) {
  layouts::image<eqe> e;
  produce(0);
  ASSERT_TRUE(queue.next(e));
  queue.arm();
  EXPECT_EQ(doorbells.word(0), 0x80000001u);
  queue.acknowledge();
  EXPECT_EQ(doorbells.word(0), 1u);
}

INSTANTIATE_TEST_SUITE_P(entry_sizes, eq_test, ::testing::Values(32u, 64u));

TEST(eq_open, refuses_shapes_that_hardware_does_not_have) {
  ring_memory memory(4096);
  doorbell_page doorbells;
  eq queue;
  EXPECT_TRUE(
      queue.open({memory.region(255), 3, 32, doorbells.region()}).is(driver_error::bad_argument));
  EXPECT_TRUE(
      queue.open({memory.region(4096), 3, 48, doorbells.region()}).is(driver_error::bad_argument));
  EXPECT_TRUE(
      queue.open({memory.region(4096), 23, 32, doorbells.region()}).is(driver_error::bad_argument));
  EXPECT_FALSE(queue.is_open());
}

}  // namespace
}  // namespace freehca::queues
