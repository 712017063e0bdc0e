// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The responder's limits: reads and atomics at once, and receives that are not there.
#include "peer_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class responder_of_a_peer : public peer_fixture {
 protected:
  /// ready_context() has rra_max 2.
  static constexpr unsigned resources = 4;

  responder_of_a_peer() : peer_fixture(qp_service::rc) {}

  crafted read() { return of(op::rdma_read_request).add(range(8)); }
  crafted add_one() { return of(op::fetch_add).add(operands().set<&atomic_eth::swap_add>(1)); }
  /// Behind the packets before it, with no turn of work between.
  void queue(const crafted& c) {
    links().receive_from_link(1, c.build());
    psn = psn_add(psn, 1);
  }
  void expect_answered(unsigned n, std::initializer_list<op> by) {
    ASSERT_GE(answers.size(), n);
    for (unsigned i = 0; i < n; ++i) {
      EXPECT_EQ(answers[i].header.get<&aeth::type>(), aeth_type::ack);
      EXPECT_EQ(answers[i].operation, by.begin()[i]);
      EXPECT_EQ(answers[i].psn, psn_add(first_psn, i));
    }
  }
  void expect_refused_behind(unsigned n) {
    ASSERT_EQ(answers.size(), n + 1);
    EXPECT_EQ(answers[n].header.get<&aeth::type>(), aeth_type::nak);
    EXPECT_EQ(answers[n].header.get<&aeth::value>(),
              static_cast<unsigned>(nak_code::invalid_request));
    EXPECT_EQ(answers[n].psn, psn_add(first_psn, n));
    EXPECT_EQ(state_of(b), qp_state::error);
    EXPECT_EQ(events(event_type::wq_access_violation), 1u);
    unsigned told = 0;
    for (const remark& r : host->remarks) told += r.text.find("than rra_max") != std::string::npos;
    EXPECT_EQ(told, 2u) << "of the packet, and of the queue pair";
  }
  static constexpr op answered_read = op::rdma_read_response_only;
};

}  // namespace

TEST_F(responder_of_a_peer, takes_as_many_reads_and_atomics_at_once_as_its_context_says) {
  byte_at(to) = std::byte{};
  for (unsigned i = 0; i < resources - 1; ++i) queue(read());
  queue(add_one());
  host->run();
  expect_answered(resources, {answered_read, answered_read, answered_read, op::atomic_acknowledge});
  EXPECT_EQ(answers.size(), resources);
  EXPECT_EQ(byte_at(to), std::byte{1});
  EXPECT_EQ(state_of(b), qp_state::rts);
  // Those are answered: there is room for as many.
  answers.clear();
  for (unsigned i = 0; i < resources; ++i) queue(read());
  host->run();
  EXPECT_EQ(answers.size(), resources);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(responder_of_a_peer, refuses_one_read_more_than_its_context_says) {
  for (unsigned i = 0; i <= resources; ++i) queue(read());
  host->run();
  expect_answered(resources, {answered_read, answered_read, answered_read, answered_read});
  expect_refused_behind(resources);
}

TEST_F(responder_of_a_peer, refuses_one_atomic_more_than_its_context_says) {
  byte_at(to) = std::byte{};
  queue(read());
  for (unsigned i = 1; i <= resources; ++i) queue(add_one());
  host->run();
  expect_answered(resources, {answered_read, op::atomic_acknowledge, op::atomic_acknowledge,
                              op::atomic_acknowledge});
  expect_refused_behind(resources);
  EXPECT_EQ(byte_at(to), std::byte{resources - 1}) << "the last was not executed";
}

TEST_F(responder_of_a_peer, counts_the_rnr_naks_that_it_sends) {
  for (unsigned i = 0; i < receives; ++i) before(send(8));
  EXPECT_EQ(driver->counter_named("transport_rnr_naks_sent"), 0u);
  for (unsigned i = 1; i <= 3; ++i) {
    answers.clear();
    deliver(send(8));
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::rnr_nak);
    EXPECT_EQ(answers[0].psn, psn);
    EXPECT_EQ(driver->counter_named("transport_rnr_naks_sent"), i);
  }
  post_receive(b, to, 2000, key);
  answers.clear();
  deliver(send(8));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
  EXPECT_EQ(driver->counter_named("transport_rnr_naks_sent"), 3u);
}

}  // namespace freehca::model::test
