// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that come twice.
#include "peer_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {
class duplicates : public peer_fixture {
 protected:
  static constexpr std::uint32_t mtu = 1024;

  duplicates() : peer_fixture(qp_service::rc) {}

  /// Answers to `c`; none of them may be a refusal.
  std::size_t answers_to(const crafted& c) {
    answers.clear();
    deliver(c);
    EXPECT_EQ(state_of(b), qp_state::rts);
    return answers.size();
  }
  /// Acknowledges `c`, which came before, by the PSN of packet `n` of all that came.
  void expect_acknowledged(const crafted& c, std::uint32_t n) {
    ASSERT_EQ(answers_to(c), 1u);
    EXPECT_EQ(answers[0].operation, op::acknowledge);
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
    EXPECT_EQ(answers[0].psn, psn_add(first_psn, n));
  }
  crafted an_atomic() { return of(op::fetch_add).add(operands()); }
  crafted a_read(const image<reth>& asked) { return of(op::rdma_read_request).add(asked); }
  /// At the PSN of the packet `back` before the next one.
  crafted earlier(crafted c, std::uint32_t back) const {
    return c.in_base<&bth::psn>(psn_add(psn, psn_mask + 1 - back));
  }
  void expect_goes_on() {
    EXPECT_EQ(answers_to(send(0)), 1u) << "the connection has ended";
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
  }
};
}  // namespace

TEST_F(duplicates, a_send_is_acknowledged_again_and_takes_no_other_receive) {
  const crafted first = send(8);
  before(first);
  before(send(8));
  EXPECT_EQ(answers_to(first), 1u);
  EXPECT_EQ(answers[0].operation, op::acknowledge);
  EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
  EXPECT_EQ(answers[0].header.get<&aeth::msn>(), 2u) << "as far as execution is";
  EXPECT_TRUE(no_completion());
  expect_goes_on();
}

TEST_F(duplicates, a_write_is_acknowledged_again_and_not_executed) {
  const crafted first = write(8);
  before(first);
  byte_at(to) = std::byte{0x11};
  EXPECT_EQ(answers_to(first), 1u);
  EXPECT_EQ(answers[0].operation, op::acknowledge);
  EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
  EXPECT_EQ(byte_at(to), std::byte{0x11});
  expect_goes_on();
}

TEST_F(duplicates, are_acknowledged_as_far_as_execution_is) {
  const crafted first = write(8);
  before(first);
  before(send(8));
  before(write(8));
  expect_acknowledged(first, 2);
  expect_goes_on();
}

TEST_F(duplicates, are_acknowledged_by_no_psn_of_a_read_or_atomic_behind_them) {
  const crafted one = write(8);  // 0
  before(one);
  const crafted other = send(8);  // 1
  before(other);
  before(a_read(range(8)));  // 2
  expect_acknowledged(one, 1);
  expect_acknowledged(other, 1);
  const crafted between = write(8);  // 3
  before(between);
  expect_acknowledged(one, 1);
  expect_acknowledged(between, 3);
  before(an_atomic());  // 4
  expect_acknowledged(one, 1);
  expect_acknowledged(between, 3);
  const crafted last = send(8);  // 5
  before(last);
  before(write(8));  // 6
  expect_acknowledged(between, 3);
  expect_acknowledged(last, 6);
  expect_goes_on();
}

TEST_F(duplicates, of_a_longer_message_and_read_are_acknowledged_before_the_read) {
  const crafted first = of(op::rdma_write_first).add(range(2 * mtu)).payload(mtu);  // 0
  before(first);
  const crafted last = of(op::rdma_write_last).payload(mtu);  // 1
  before(last);
  before(a_read(range(3 * mtu)));  // 2 to 4
  psn = psn_add(psn, 2);
  expect_acknowledged(first, 1);
  expect_acknowledged(last, 1);
  before(write(8));  // 5
  expect_acknowledged(first, 1);
  expect_goes_on();
}

TEST_F(duplicates, do_not_take_the_place_of_an_acknowledgement_that_waits) {
  const crafted first = write(8);  // 0
  before(first);
  answers.clear();
  // In one turn: the last two are acknowledged behind the read's response.
  for (const crafted& c : {a_read(range(8)), write(8).in_base<&bth::psn>(psn_add(psn, 1)), first})
    links().receive_from_link(1, c.build());
  host->run();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].operation, op::rdma_read_response_only);
  EXPECT_EQ(answers[1].operation, op::acknowledge);
  EXPECT_EQ(answers[1].psn, psn_add(first_psn, 2));
}

TEST_F(duplicates, a_read_is_answered_again_whole_or_in_part) {
  const crafted first = a_read(range(3 * mtu));
  before(first);
  psn = psn_add(psn, 2);
  EXPECT_EQ(answers_to(first), 3u);
  EXPECT_EQ(answers[0].operation, op::rdma_read_response_first);

  const auto end = range(mtu).set<&reth::virtual_address>(to + 2 * mtu);
  EXPECT_EQ(answers_to(earlier(a_read(end), 1)), 1u);
  EXPECT_EQ(answers[0].operation, op::rdma_read_response_only);
  const auto middle = range(mtu).set<&reth::virtual_address>(to + mtu);
  EXPECT_EQ(answers_to(earlier(a_read(middle), 2)), 1u);
  EXPECT_EQ(answers[0].operation, op::rdma_read_response_only);
  EXPECT_EQ(answers_to(earlier(a_read(range(2 * mtu)), 3)), 2u);
  EXPECT_EQ(answers[1].operation, op::rdma_read_response_last);
  EXPECT_EQ(driver->counter_named("transport_duplicates"), 4u);
  expect_goes_on();
}

TEST_F(duplicates, a_read_of_something_else_than_before_is_dropped) {
  const std::uint32_t other = driver->make_region(301, pd, data, region_start, region_pages * 4096);
  before(a_read(range(2 * mtu)));
  psn = psn_add(psn, 1);
  const auto dropped = [&](const image<reth>& asked, std::uint32_t back) {
    EXPECT_EQ(answers_to(earlier(a_read(asked), back)), 0u);
  };
  dropped(range(2 * mtu).set<&reth::rkey>(other), 2);
  dropped(range(2 * mtu).set<&reth::virtual_address>(to - 4), 2);
  dropped(range(2 * mtu).set<&reth::virtual_address>(to + 4), 2);
  dropped(range(3 * mtu), 2);
  dropped(range(mtu + 4), 2);
  dropped(range(0), 2);
  // Its second packet, and more than that.
  dropped(range(mtu), 1);
  dropped(range(2 * mtu).set<&reth::virtual_address>(to + mtu), 1);
  dropped(range(mtu - 4).set<&reth::virtual_address>(to + mtu), 1);
  EXPECT_EQ(events(event_type::wq_access_violation), 0u);
  expect_goes_on();
}

TEST_F(duplicates, a_read_where_none_was_is_dropped) {
  before(write(8));
  EXPECT_EQ(answers_to(earlier(a_read(range(8)), 1)), 0u);
  // Behind a read that is known.
  before(a_read(range(mtu)));
  before(write(8));
  const auto nothing = range(0).set<&reth::virtual_address>(to + mtu);
  EXPECT_EQ(answers_to(earlier(a_read(nothing), 1)), 0u);
  expect_goes_on();
}

TEST_F(duplicates, a_read_of_a_time_whose_resources_are_used_again_is_dropped) {
  const crafted first = a_read(range(8));
  before(first);
  // The responder has four.
  for (unsigned i = 0; i < 3; ++i) before(a_read(range(8)));
  EXPECT_EQ(answers_to(first), 1u);
  before(of(op::fetch_add).add(operands()));
  EXPECT_EQ(answers_to(first), 0u);
  expect_goes_on();
}

TEST_F(duplicates, an_atomic_is_answered_again_and_not_executed) {
  byte_at(to) = std::byte{};
  const crafted first = of(op::fetch_add).add(operands().set<&atomic_eth::swap_add>(1));
  before(first);
  EXPECT_EQ(byte_at(to), std::byte{1});
  EXPECT_EQ(answers_to(first), 1u);
  EXPECT_EQ(answers[0].operation, op::atomic_acknowledge);
  EXPECT_EQ(byte_at(to), std::byte{1});
  expect_goes_on();
}

TEST_F(duplicates, an_atomic_where_none_was_or_another_is_dropped) {
  before(write(8));
  EXPECT_EQ(answers_to(earlier(of(op::fetch_add).add(operands()), 1)), 0u);
  before(of(op::compare_swap).add(operands()));
  EXPECT_EQ(answers_to(earlier(of(op::fetch_add).add(operands()), 1)), 0u);
  EXPECT_EQ(answers_to(earlier(a_read(range(8)), 1)), 0u);
  expect_goes_on();
}

TEST_F(duplicates, a_read_whose_region_has_gone_is_ignored) {
  const crafted read = of(op::rdma_read_request).add(range(8));
  before(read);
  ASSERT_EQ(driver->command(opcode::hw2sw_mpt, 0, 300, 1).status, command_status::ok);

  deliver(read);
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(driver->counter_named("transport_duplicates"), 1u);
  EXPECT_EQ(events(event_type::wq_access_violation), 0u);

  deliver(send(0));
  ASSERT_EQ(answers.size(), 1u) << "the connection has ended";
  EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
}

}  // namespace freehca::model::test
