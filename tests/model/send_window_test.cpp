// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The window of a send queue by itself: numbers, turns, acknowledgements, retries, and the
// invariants.
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "queues/send_window.hpp"

namespace freehca::model::test {
namespace {

using layouts::wqe_opcode;

constexpr send_window::retry_limits limits{.retries = 2, .rnr_retries = 1};
constexpr std::uint32_t first_psn = 0xfffffe;  // the numbers go round the circle soon

send_request request(wqe_opcode opcode, std::uint32_t psns = 1) {
  send_request r;
  r.opcode = opcode;
  r.row = send_opcode_of(opcode);
  r.psns = psns;
  return r;
}

class window_test : public ::testing::Test {
 protected:
  void SetUp() override { window.begin(first_psn, true, limits); }
  void TearDown() override { EXPECT_EQ(nullptr, window.broken_invariant()); }

  static std::uint32_t psn(std::uint32_t offset) { return psn_add(first_psn, offset); }
  void add(wqe_opcode opcode, std::uint32_t psns = 1) { window.add(request(opcode, psns)); }
  /// Sends all packets of the current request.
  void send() {
    if (!window.current().started) window.start_current();
    do window.packet_sent();
    while (!window.message_sent());
  }

  send_window window;
};

TEST_F(window_test, messages_are_numbered_in_order_and_done_when_acknowledged) {
  add(wqe_opcode::rdma_write, 3);
  add(wqe_opcode::send, 1);
  send();
  EXPECT_EQ(window.sent_psn(), psn(3));
  EXPECT_EQ(window.next_psn(), psn(3));
  EXPECT_FALSE(window.oldest().done);
  send();
  EXPECT_TRUE(window.all_sent());
  EXPECT_TRUE(window.acknowledge_before(psn(2)).progress);
  EXPECT_FALSE(window.oldest().done) << "its last packet is not acknowledged";
  EXPECT_TRUE(window.acknowledge_before(psn(4)).progress);
  EXPECT_FALSE(window.acknowledge_before(psn(3)).progress) << "an older acknowledgement";
  EXPECT_TRUE(window.take_oldest().done);
  EXPECT_TRUE(window.take_oldest().done);
  EXPECT_FALSE(window.has_outstanding());
}

TEST_F(window_test, a_packet_that_is_not_sent_is_told_apart) {
  add(wqe_opcode::rdma_write, 3);
  window.start_current();
  window.packet_sent();
  EXPECT_FALSE(window.message_sent());
  EXPECT_TRUE(window.was_sent(psn(0)));
  EXPECT_FALSE(window.was_sent(psn(1))) << "it has a number, and is not sent";
  EXPECT_FALSE(window.is_acknowledged(psn(0)));
  window.acknowledge_before(psn(1));
  EXPECT_TRUE(window.is_acknowledged(psn(0)));
}

TEST_F(window_test, a_read_has_the_numbers_of_its_response) {
  add(wqe_opcode::rdma_read, 3);
  add(wqe_opcode::rdma_write, 1);
  send();
  send();
  EXPECT_TRUE(window.awaits_responses());
  EXPECT_EQ(window.sent_psn(), psn(4));
  send_request* const read = window.awaited_read(psn(0));
  ASSERT_NE(nullptr, read);
  EXPECT_EQ(nullptr, window.awaited_read(psn(1)));
  window.response_came(*read);
  const auto lost = window.acknowledge_before(psn(4));
  EXPECT_FALSE(lost.progress);
  ASSERT_TRUE(lost.missing);
  EXPECT_EQ(*lost.missing, psn(1)) << "the acknowledgement of the write passes over a response";
  EXPECT_TRUE(window.begin_retry());
  EXPECT_FALSE(window.begin_retry()) << "one retry for one gap";
  window.rewind(psn(1));
  EXPECT_FALSE(window.awaits_responses());
  EXPECT_EQ(&window.current(), read);
  EXPECT_EQ(window.psn_of_current(), psn(1)) << "the rest alone is asked for";
  send();
  EXPECT_EQ(window.current().first_psn, psn(3)) << "the write is sent again too";
  send();
  for (const std::uint32_t n : {1u, 2u}) {
    ASSERT_EQ(window.awaited_read(psn(n)), read);
    window.response_came(*read);
  }
  EXPECT_TRUE(window.take_oldest().done);
  EXPECT_FALSE(window.awaits_responses());
}

TEST_F(window_test, a_late_response_completes_a_read_that_is_about_to_be_repeated) {
  add(wqe_opcode::rdma_read, 2);
  send();
  window.rewind(psn(0));
  send_request* const read = window.awaited_read(psn(0));
  ASSERT_NE(nullptr, read);
  window.response_came(*read);
  window.response_came(*read);
  EXPECT_TRUE(window.take_oldest().done);
  EXPECT_TRUE(window.all_sent());
}

TEST_F(window_test, responder_resources_bound_reads_and_atomics) {
  add(wqe_opcode::atomic_cs);
  add(wqe_opcode::rdma_read, 2);
  send();
  window.start_current();
  EXPECT_FALSE(window.may_send_current(1));
  EXPECT_TRUE(window.may_send_current(2));
  send_request* const atomic = window.awaited_atomic(psn(0));
  ASSERT_NE(nullptr, atomic);
  window.response_came(*atomic);
  EXPECT_TRUE(window.may_send_current(1));
}

TEST_F(window_test, packets_ahead_are_bounded) {
  add(wqe_opcode::rdma_write, 1000);
  window.start_current();
  std::uint32_t sent = 0;
  for (; window.may_send_current(1); ++sent) window.packet_sent();
  EXPECT_EQ(sent, send_window::packets_ahead_most);
  window.acknowledge_before(psn(10));
  for (; window.may_send_current(1); ++sent) window.packet_sent();
  EXPECT_EQ(sent, send_window::packets_ahead_most + 10);
}

TEST_F(window_test, half_of_the_numbers_stay_unused) {
  EXPECT_TRUE(window.has_room(1u << 23)) << "a message fits alone";
  add(wqe_opcode::rdma_write, 1);
  send();
  EXPECT_TRUE(window.has_room((1u << 22) - 1));
  EXPECT_FALSE(window.has_room(1u << 22));
}

TEST_F(window_test, retries_run_out) {
  EXPECT_TRUE(window.use_retry());
  EXPECT_TRUE(window.use_retry());
  EXPECT_FALSE(window.use_retry());
  EXPECT_TRUE(window.use_rnr_retry());
  EXPECT_FALSE(window.use_rnr_retry());
  window.restore_retries({.retries = 1, .rnr_retries = send_window::endless_rnr_retries});
  EXPECT_TRUE(window.use_retry());
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(window.use_rnr_retry());
}

TEST_F(window_test, a_stopped_window_awaits_nothing) {
  add(wqe_opcode::rdma_read, 4);
  add(wqe_opcode::send);
  send();
  send();
  window.stop();
  window.forget_done();
  EXPECT_FALSE(window.awaits_responses());
  EXPECT_TRUE(window.current_is_oldest());
  EXPECT_FALSE(window.take_oldest().done);
}

TEST_F(window_test, an_unreliable_message_is_done_when_it_is_sent) {
  send_window unreliable;
  unreliable.begin(first_psn, false, {});
  unreliable.add(request(wqe_opcode::send, 2));
  unreliable.start_current();
  unreliable.packet_sent();
  EXPECT_FALSE(unreliable.message_sent());
  unreliable.packet_sent();
  EXPECT_TRUE(unreliable.message_sent());
  EXPECT_TRUE(unreliable.take_oldest().done);
}

/// Any order of what a send engine and a peer can do keeps the invariants, and all requests end.
TEST_F(window_test, random_orders_keep_the_invariants) {
  std::mt19937 random(20261130);
  const auto draw = [&random](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  std::uint32_t added = 0, done = 0, responses = 0, rewinds = 0;
  const auto step = [&] {
    switch (draw(8)) {
      case 0:
        if (window.size() < 12) {
          constexpr wqe_opcode kinds[] = {wqe_opcode::send, wqe_opcode::rdma_write,
                                          wqe_opcode::rdma_read, wqe_opcode::atomic_cs};
          const wqe_opcode kind = kinds[draw(4)];
          add(kind, kind == wqe_opcode::atomic_cs ? 1 : 1 + draw(6));
          ++added;
        }
        return;
      case 1:
      case 2:
      case 3:
        if (window.all_sent()) return;
        if (!window.current().started) window.start_current();
        if (!window.may_send_current(2)) return;
        window.packet_sent();
        window.message_sent();
        return;
      case 4: {
        const auto outstanding =
            static_cast<std::uint32_t>(psn_distance(window.sent_psn(), window.unacked_psn()));
        if (outstanding == 0) return;
        const auto found =
            window.acknowledge_before(psn_add(window.unacked_psn(), 1 + draw(outstanding)));
        if (found.missing) window.rewind(*found.missing);
        return;
      }
      case 5:
      case 6: {
        send_request* r = window.awaited_read(window.unacked_psn());
        if (r == nullptr) r = window.awaited_atomic(window.unacked_psn());
        if (r == nullptr) return;
        window.response_came(*r);
        ++responses;
        return;
      }
      default:
        if (draw(4) != 0 || !window.has_outstanding()) return;
        window.rewind(window.unacked_psn());
        ++rewinds;
    }
  };
  for (unsigned i = 0; i < 200'000; ++i) {
    step();
    ASSERT_EQ(nullptr, window.broken_invariant()) << "step " << i;
    for (; !window.empty() && window.oldest().done; ++done) window.take_oldest();
  }
  EXPECT_GT(added, 5000u);
  EXPECT_GT(responses, 5000u);
  EXPECT_GT(rewinds, 1000u);
  EXPECT_EQ(added, done + window.size());
}

}  // namespace
}  // namespace freehca::model::test
