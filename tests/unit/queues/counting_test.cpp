// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/queues/counting.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "ring_fixture.hpp"

namespace freehca::queues {
namespace {

using namespace layouts;
using testing::doorbell_page;
using testing::ring_memory;

struct counting_test : ::testing::Test {
  static constexpr unsigned log_entries = 4;
  static constexpr std::uint32_t qpn = 0x40;
  sq_shape shape = sq_shape_for(16, 1, 0).value();
  ring_memory memory{cq::ring_bytes(log_entries, 32)}, record{64}, sends{shape.bytes()};
  doorbell_page doorbells;
  std::vector<posted_request> slots = std::vector<posted_request>(shape.entries());
  qp_rings* found[1];
  qp_directory directory;
  qp_rings pair;
  cq queue;
  counting counted;
  std::uint32_t produced = 0;

  void SetUp() override {
    directory.open(found, 1);
    pair.qpn = qpn;
    ASSERT_TRUE(directory.add(pair).ok());
    ASSERT_TRUE(pair.send
                    .open({sends.region(shape.bytes()), shape, slots.data(), doorbells.region(),
                           qpn, 1, 0, 1u << 20, opcodes_of_a_connection(true)})
                    .ok());
    pair.send.accept(true);
    ASSERT_TRUE(queue
                    .open({memory.region(cq::ring_bytes(log_entries, 32)), log_entries, 32,
                           record.region(64), doorbells.region(), 1, &directory})
                    .ok());
  }
  /// Posts a request and its completion: a success, or an error with a syndrome.
  void end(cqe_syndrome why = cqe_syndrome{0}) {
    ASSERT_TRUE(pair.send.post(send{.wr_id = produced}).ok());
    image<cqe_error> e;
    e.set<&cqe_error::qpn>(qpn).set<&cqe_error::is_send>(true);
    e.set<&cqe_error::wqe_index>(produced & 0xffff);
    e.set<&cqe_error::owner>((produced >> log_entries & 1) != 0);
    if (why == cqe_syndrome{0}) {
      e.set<&cqe_error::opcode>(static_cast<cqe_opcode>(wqe_opcode::send));
    } else {
      e.set<&cqe_error::opcode>(cqe_opcode::error).set<&cqe_error::syndrome>(why);
    }
    memory.write((produced & 15) * 32, e);
    ++produced;
  }
};

TEST_F(counting_test, successes_count_up_to_the_threshold) {
  counted.threshold = 40;
  for (std::uint32_t i = 0; i < 40; ++i) {
    EXPECT_FALSE(counted.reached()) << i;
    end();
    EXPECT_EQ(counted.drain(queue, 8), 1u);
    EXPECT_EQ(record.word(0), i + 1) << "the ring goes on";
  }
  EXPECT_TRUE(counted.reached());
  EXPECT_EQ(counted.succeeded, 40u);
  EXPECT_EQ(counted.failed, 0u);
  EXPECT_EQ(counted.drain(queue, 8), 0u);
}

TEST_F(counting_test, counts_no_more_than_asked) {
  for (unsigned i = 0; i < 5; ++i) end();
  EXPECT_EQ(counted.drain(queue, 3), 3u);
  EXPECT_EQ(counted.succeeded, 3u);
  EXPECT_EQ(counted.drain(queue, 3), 2u);
  EXPECT_EQ(counted.succeeded, 5u);
  EXPECT_FALSE(counted.reached()) << "no threshold was asked for";
}

TEST_F(counting_test, the_device_is_told_once_of_all_that_were_counted) {
  for (unsigned i = 0; i < 16; ++i) end();
  EXPECT_EQ(counted.drain(queue, 10), 10u);
  EXPECT_EQ(record.word(0), 10u);
  EXPECT_EQ(counted.drain(queue, 10), 6u);
  EXPECT_EQ(record.word(0), 16u);
  EXPECT_EQ(counted.succeeded, 16u);
}

TEST_F(counting_test, the_first_failure_is_kept_and_reaches) {
  end();
  end(cqe_syndrome::transport_retry_exceeded);
  end(cqe_syndrome::wr_flush);
  end();
  EXPECT_EQ(counted.drain(queue, 8), 4u);
  EXPECT_TRUE(counted.reached());
  EXPECT_EQ(counted.succeeded, 2u);
  EXPECT_EQ(counted.failed, 2u);
  EXPECT_EQ(counted.first_failure.wr_id, 1u);
  EXPECT_EQ(counted.first_failure.status, completion_status::transport_retry_exceeded);
  EXPECT_EQ(counted.first_failure.qpn(), qpn);
  EXPECT_EQ(counted.first_failure.queue, &pair);
}

TEST_F(counting_test, what_names_nothing_is_not_counted) {
  end();
  memory.at(3)[0] = std::byte{0x41};  // another queue pair's number
  end();
  EXPECT_EQ(counted.drain(queue, 8), 1u);
  EXPECT_EQ(counted.succeeded, 1u);
  EXPECT_EQ(counted.failed, 0u);
  EXPECT_EQ(queue.dropped(), 1u);
}

}  // namespace
}  // namespace freehca::queues
