// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completions for which their queue has no room: the queue pair goes to the error state, and says
// nothing more, neither as responder nor as requester.
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;
using layouts::qpc;

namespace {

/// A completion queue of four entries that nobody reads takes the receives of `b`, or the sends of
/// `a`.
class lost_completions : public transport_fixture {
 protected:
  static constexpr std::uint32_t small_cqn = 300;
  static constexpr unsigned room = 4, messages = 6;
  static constexpr std::uint64_t to = region_start + 0x100000;

  lost_completions() : a(make_qp(0x100)), b(make_qp(0x101)) {
    EXPECT_EQ(driver->make_cq(small, small_cqn, eqn, 2).status, command_status::ok);
  }
  template <auto Cqn>
  void connect(const test_qp& qp, std::uint32_t remote) {
    const auto with_queue = [](layouts::image<qpc> c) { return c.set<Cqn>(small_cqn); };
    EXPECT_EQ(modify(opcode::rst2init_qp, qp.number, with_queue(first_context(qp))),
              command_status::ok);
    const auto ready = with_queue(ready_context(qp, remote));
    EXPECT_EQ(modify(opcode::init2rtr_qp, qp.number, ready), command_status::ok);
    EXPECT_EQ(modify(opcode::rtr2rts_qp, qp.number, ready), command_status::ok);
  }
  void lose_receives() {
    to_rts(a, b.number);
    connect<&qpc::cqn_recv>(b, a.number);
    events(event_type::none);
  }
  test_send message(wqe_opcode what, std::uint32_t bytes = 64) const {
    return transfer(what, bytes, region_start, to);
  }
  void send_one(const test_send& s) {
    send(a, s);
    host->run();
  }
  /// Entries of `queue`; takes them.
  unsigned entries_of(test_driver::queue& queue) {
    unsigned found = 0;
    layouts::image<layouts::cqe> e;
    while (driver->next_completion(queue, e)) ++found;
    return found;
  }
  /// The message behind the last one for which there is room: its sender hears nothing, and gives
  /// up.
  void expect_no_answer(const test_send& last, std::uint64_t acknowledged) {
    const auto before = driver->counter_named("rc_acknowledges");
    send_one(last);
    host->advance(10 * second);
    EXPECT_EQ(driver->counter_named("rc_acknowledges"), before + acknowledged);
    expect_error(a, true, cqe_syndrome::transport_retry_exceeded,
                 layouts::vendor_syndrome::retry_exceeded);
    EXPECT_TRUE(no_completion());
    EXPECT_EQ(entries_of(small), room);
    EXPECT_EQ(state_of(b), qp_state::error);
    EXPECT_EQ(state_of(a), qp_state::error);
  }
  /// As many messages as there is room for.
  void fill_queue() {
    for (unsigned i = 0; i < room; ++i) {
      post_receive(b, to, 256, key);
      send_one(message(wqe_opcode::send));
      expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
    }
  }
  test_driver::queue small;
  test_qp a, b;
};

class lost_receives : public lost_completions, public testing::WithParamInterface<wqe_opcode> {};

}  // namespace

TEST_P(lost_receives, are_not_acknowledged) {
  lose_receives();
  for (unsigned i = 0; i < messages + 2; ++i) post_receive(b, to, 256, key);
  for (unsigned i = 0; i < messages; ++i) send_one(message(GetParam()));
  host->advance(10 * second);
  unsigned good = 0;
  for (; good < room; ++good) expect_done(a, true, static_cast<unsigned>(GetParam()));
  expect_error(a, true, cqe_syndrome::transport_retry_exceeded,
               layouts::vendor_syndrome::retry_exceeded);
  expect_error(a, true, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(entries_of(small), good) << "told at both ends, or at neither";
  EXPECT_EQ(driver->counter_named("rc_acknowledges"), good);
  EXPECT_EQ(state_of(b), qp_state::error);
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 1u);
}

INSTANTIATE_TEST_SUITE_P(every, lost_receives,
                         testing::Values(wqe_opcode::send, wqe_opcode::send_imm,
                                         wqe_opcode::rdma_write_imm),
                         [](const auto& i) { return std::string(name_of(i.param)); });

TEST_F(lost_completions, of_a_receive_that_is_too_short_bring_no_nak) {
  lose_receives();
  fill_queue();
  post_receive(b, to, 16, key);
  expect_no_answer(message(wqe_opcode::send), 0);
}

TEST_F(lost_completions, of_a_receive_under_a_wrong_key_bring_no_nak) {
  lose_receives();
  fill_queue();
  post_receive(b, to, 256, 0x77777777);
  expect_no_answer(message(wqe_opcode::send), 0);
}

TEST_F(lost_completions, of_an_invalidation_that_is_refused_flush_nothing_besides) {
  lose_receives();
  fill_queue();
  post_receive(b, to, 256, key);
  host->remarks.clear();
  test_send s = message(wqe_opcode::send_inval);
  s.immediate = 0x12345600;
  send_one(s);
  EXPECT_EQ(state_of(b), qp_state::error);
  for (const remark& r : host->remarks)
    EXPECT_EQ(r.text.find("flushed"), std::string::npos) << "that receive has failed: " << r.text;
}

TEST_F(lost_completions, of_a_send_end_the_requester_which_sends_and_answers_no_more) {
  connect<&qpc::cqn_send>(a, b.number);
  to_rts(b, a.number);
  events(event_type::none);
  for (unsigned i = 0; i < room; ++i) send_one(message(wqe_opcode::rdma_write));
  EXPECT_EQ(state_of(a), qp_state::rts);
  send_one(message(wqe_opcode::rdma_write));
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 1u);

  const auto sent = driver->counter_named("rc_write_packets");
  send_one(message(wqe_opcode::rdma_write));
  EXPECT_EQ(driver->counter_named("rc_write_packets"), sent);
  const auto answers = driver->counter_named("rc_acknowledges");
  send(b, message(wqe_opcode::rdma_write));
  host->advance(10 * second);
  EXPECT_EQ(driver->counter_named("rc_acknowledges"), answers);
  EXPECT_EQ(entries_of(small), room);
  expect_error(b, true, cqe_syndrome::transport_retry_exceeded,
               layouts::vendor_syndrome::retry_exceeded);
}

}  // namespace freehca::model::test
