// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Send queues that are read ahead (options::prefetch): what was read too early is executed, and
// told by the name of its rule; a driver that stamps has nothing to fear.
#include <gtest/gtest.h>

#include "queues/queue_pairs.hpp"
#include "wrong_driver_world.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

options with(bool prefetch) {
  options how = test_options();
  how.prefetch = prefetch;
  return how;
}

/// The pieces of a long write, and the third of them as it was when the block was read too early.
constexpr std::uint64_t right = world::from + 0x4000, stale = world::from + 0x8000;
constexpr std::uint64_t third_arrives = world::to + 128;

class reading_ahead : public testing::Test {
 protected:
  void make(bool prefetch = true) {
    w = std::make_unique<world>(with(prefetch));
    for (std::size_t i = 0; i < world::piece; ++i) {
      w->byte_at(right + i) = std::byte{0x11};
      w->byte_at(stale + i) = std::byte{0x22};
    }
  }
  void take_rule_away() {
    rule_set off;
    off.add(rule::prefetched_stale);
    w->hca->set_rules_off(off);
  }
  void expect_sent(std::byte what) {
    EXPECT_EQ(w->byte_at(third_arrives), what);
    EXPECT_EQ(w->byte_at(third_arrives + world::piece - 1), what);
  }
  /// One complaint, and what it says.
  void expect_complaint(const char* says) {
    ASSERT_EQ(w->host->complaints.size(), 1u);
    const std::string& text = w->host->complaints.front();
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_NE(text.find("rule prefetched-stale; Linux hw/mlx4/qp.c"), std::string::npos) << text;
  }
  void expect_no_complaint() {
    EXPECT_EQ(w->host->complaints.size(), 0u);
    for (const std::string& text : w->host->complaints) ADD_FAILURE() << text;
  }
  /// Connects the queue pairs again; `alter` changes the sender's first context.
  template <class Alter>
  void connect_again(Alter alter) {
    for (test_qp* qp : {&w->a, &w->b})
      ASSERT_EQ(w->driver->command(opcode::to_rst_qp, 0, qp->number, 2).status, command_status::ok);
    auto first = w->first_context(w->a);
    alter(first);
    const auto ready = w->ready_context(w->a, w->b.number);
    ASSERT_EQ(w->modify(opcode::rst2init_qp, w->a.number, first), command_status::ok);
    ASSERT_EQ(w->modify(opcode::init2rtr_qp, w->a.number, ready), command_status::ok);
    ASSERT_EQ(w->modify(opcode::rtr2rts_qp, w->a.number, ready), command_status::ok);
    w->to_rts(w->b, w->a.number);
  }

  std::unique_ptr<world> w;
};

TEST_F(reading_ahead, what_looked_valid_before_it_was_whole_is_sent_as_it_was) {
  make();
  EXPECT_TRUE(w->write_first_word_first(stale, right));
  expect_sent(std::byte{0x22});
  expect_complaint("send 1 (RDMA_WRITE): block 1 of its entry was read ahead");
}

TEST_F(reading_ahead, without_the_rule_it_is_sent_so_too_and_nobody_told) {
  make();
  take_rule_away();
  EXPECT_TRUE(w->write_first_word_first(stale, right));
  expect_sent(std::byte{0x22});
  expect_no_complaint();
}

TEST_F(reading_ahead, is_not_done_unless_it_is_asked_for) {
  make(false);
  EXPECT_TRUE(w->write_first_word_first(stale, right));
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, is_not_done_where_the_context_says_so) {
  make();
  connect_again([](image<qpc>& c) { c.set<&qpc::sq_no_prefetch>(true); });
  EXPECT_TRUE(w->write_first_word_first(stale, right));
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, an_entry_that_is_given_away_too_early_is_executed_as_it_was) {
  make();
  EXPECT_TRUE(w->give_away_early(stale, right));
  expect_sent(std::byte{0x22});
  expect_complaint("send 1 (RDMA_WRITE): block 0 of its entry was read ahead");
}

TEST_F(reading_ahead, an_entry_that_is_given_away_too_early_is_else_read_when_its_turn_comes) {
  make(false);
  EXPECT_TRUE(w->give_away_early(stale, right));
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, a_queue_without_headroom_sends_what_it_sent_the_time_before) {
  make();
  EXPECT_TRUE(w->use_every_entry(stale, right));
  expect_sent(std::byte{0x22});
  expect_complaint("send 64 (RDMA_WRITE): block 1 of its entry was read ahead");
}

TEST_F(reading_ahead, a_queue_without_headroom_is_else_read_when_its_turn_comes) {
  make(false);
  EXPECT_TRUE(w->use_every_entry(stale, right));
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, a_stamp_without_its_uppermost_bit_is_a_stamp) {
  make();
  w->begin_block(1, stale);
  store_be(w->entry(1) + 64, wqe_stamp >> 1);
  w->send_one();
  ASSERT_TRUE(w->completed());
  w->post_pieces(right);
  w->ring(w->a);
  ASSERT_TRUE(w->completed());
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, a_block_that_changes_while_it_is_read_is_judged_by_what_is_kept) {
  make();
  w->begin_block(1, stale);
  const std::size_t block = test_qp::stride + 64;
  const std::uint64_t there = w->a.ring.pages[block / 4096] + block % 4096;
  unsigned reads = 0;
  w->host->on_read = [&](std::uint64_t address, std::size_t bytes) {
    if (address <= there && there < address + bytes && ++reads == 2)
      store_be(w->entry(1) + 64, wqe_stamp);
  };
  w->send_one();
  ASSERT_TRUE(w->completed());
  ASSERT_GE(reads, 2u);
  w->post_pieces(right);
  w->ring(w->a);
  ASSERT_TRUE(w->completed());
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, a_right_driver_goes_round_and_round) {
  make();
  std::uint32_t done = 0;
  for (unsigned burst = 1; done < 5 * test_qp::entries; burst = burst % 40 + 1) {
    const auto from_where = burst % 2 == 0 ? right : stale;
    for (unsigned i = 0; i < burst; ++i, ++done)
      w->post_pieces(i + 1 == burst ? from_where : world::from);
    w->ring(w->a);
    for (unsigned i = 0; i < burst; ++i) ASSERT_TRUE(w->completed()) << done;
    expect_sent(burst % 2 == 0 ? std::byte{0x11} : std::byte{0x22});
  }
  expect_no_complaint();
}

TEST_F(reading_ahead, a_transition_drops_what_was_read) {
  make();
  EXPECT_TRUE(w->write_first_word_first(stale, right, [&] {
    EXPECT_EQ(w->modify(opcode::rts2rts_qp, w->a.number, w->ready_context(w->a, w->b.number)),
              command_status::ok);
  }));
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, what_BlueFlame_brings_along_leads_to_no_reading_ahead) {
  make();
  w->begin_block(1, stale);
  w->post_send(w->a, w->small());
  w->blueflame(0, 0, 64);
  EXPECT_TRUE(w->completed());
  w->post_pieces(right);
  w->ring(w->a);
  EXPECT_TRUE(w->completed());
  expect_sent(std::byte{0x11});
  expect_no_complaint();
}

TEST_F(reading_ahead, two_kibibytes_and_no_more_are_read) {
  // Behind entry 0 they are entries 1 to 16.
  for (const std::uint32_t n : {16u, 17u}) {
    make();
    w->reads_ahead = false;  // so that posting stamps nothing
    w->begin_block(n, stale);
    w->send_one();
    EXPECT_TRUE(w->completed());
    // All others by BlueFlame, which leads to no reading ahead.
    for (std::uint32_t i = 1; i < n; ++i) {
      w->post_send(w->a, w->small());
      w->blueflame(i, (i - 1) % 2, 64);
      EXPECT_TRUE(w->completed());
    }
    w->post_pieces(right);
    w->ring(w->a);
    EXPECT_TRUE(w->completed());
    expect_sent(n == 16 ? std::byte{0x22} : std::byte{0x11});
    EXPECT_EQ(w->host->complaints.size(), n == 16 ? 1u : 0u);
  }
}

TEST_F(reading_ahead, what_is_held_counts_as_host_memory) {
  make(false);
  const std::uint64_t before = w->hca->inside_now().kept.bytes();
  make(true);
  EXPECT_EQ(w->hca->inside_now().kept.bytes() - before, 2 * sizeof(send_prefetch));
}

}  // namespace
}  // namespace freehca::model::test
