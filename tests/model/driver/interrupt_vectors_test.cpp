// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A platform that has fewer interrupt vectors than there are event queues: the queues share them,
// and every completion still interrupts.
#include <freehca/work_requests/send_request.hpp>

#include "owners_rig.hpp"
#include "rc_pair.hpp"

namespace freehca::testing {
namespace {

constexpr unsigned completion_queues = 4;
constexpr unsigned all_vectors = 1 + completion_queues;

rig_options with_vectors(unsigned vectors) {
  rig_options how;
  how.budget = with_contexts(completion_queues);
  how.machine.vectors = vectors;
  how.events.completion = [](void* context, cq_handle, void*) noexcept {
    ++*static_cast<unsigned*>(context);
  };
  return how;
}

class fewer_vectors : public ::testing::TestWithParam<unsigned> {};

TEST_P(fewer_vectors, each_event_queue_has_one) {
  verbs_rig rig(with_vectors(GetParam()));
  const device_info i = rig.adapter.info();
  EXPECT_TRUE(i.interrupts_work);
  EXPECT_EQ(i.interrupt_vectors, GetParam());
  EXPECT_EQ(rig.adapter.next_look_at_events(), clock::never) << "nothing is polled";
  std::vector<unsigned> users(GetParam());
  ++users.at(rig.adapter.asynchronous_context().vector());
  for (unsigned c = 0; c < completion_queues; ++c)
    ++users.at(rig.adapter.completion_context(c).vector());
  for (unsigned v = 0; v < GetParam(); ++v) EXPECT_GT(users[v], 0u) << "vector " << v;
  if (GetParam() > 1) {
    EXPECT_EQ(users[0], 1u) << "that of asynchronous events is its own";
  }
  for (unsigned c = 0; c < completion_queues; ++c)
    EXPECT_EQ(rig.adapter.completion_context(c).shares_vector(),
              users[rig.adapter.completion_context(c).vector()] > 1);
}

/// Rings that complete to each of the event queues in turn.
TEST_P(fewer_vectors, each_completion_interrupts) {
  unsigned told = 0;
  rig_options how = with_vectors(GetParam());
  how.events.context = &told;
  verbs_rig rig(how);
  for (unsigned c = 0; c < completion_queues; ++c) {
    rc_pair pair(rig, {.sends = 16, .receives = 16}, c);
    pair.connect();
    // The completion comes while nobody looks: no deadline brings the driver to its queue.
    const unsigned before = told;
    pair.cq(0).arm();
    ASSERT_TRUE(pair.receive(1).post_and_ring({}).ok());
    ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {}).ok());
    rig.machine.advance(1'000'000'000);
    EXPECT_TRUE(rig.adapter.completion_context(c).due()) << "context " << c;
    rig.objects.poll();
    EXPECT_EQ(told, before + 1) << "context " << c;
    EXPECT_TRUE(pair.next(0).ok());
    EXPECT_TRUE(pair.next(1).ok());
  }
}

TEST_P(fewer_vectors, recovery_arms_them_again) {
  device_rig rig({.vectors = GetParam()}, with_contexts(completion_queues));
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.await(again).ok()) << rig.failure();
  EXPECT_TRUE(rig.adapter.info().interrupts_work);
  EXPECT_EQ(rig.adapter.info().interrupt_vectors, GetParam());
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_EQ(rig.adapter.info().interrupt_vectors, 0u);
}

INSTANTIATE_TEST_SUITE_P(of_five, fewer_vectors,
                         ::testing::Values(1u, 2u, 3u, all_vectors - 1, all_vectors));

TEST(interrupt_vectors, more_than_wanted_are_left_alone) {
  verbs_rig rig(with_vectors(all_vectors + 1));
  EXPECT_EQ(rig.adapter.info().interrupt_vectors, all_vectors);
  for (unsigned c = 0; c < completion_queues; ++c)
    EXPECT_FALSE(rig.adapter.completion_context(c).shares_vector());
}

TEST(interrupt_vectors, none_are_polled_as_before) {
  verbs_rig rig(with_vectors(0));
  EXPECT_FALSE(rig.adapter.info().interrupts_work);
  EXPECT_EQ(rig.adapter.info().interrupt_vectors, 0u);
  EXPECT_NE(rig.adapter.next_look_at_events(), clock::never);
}

// The interrupt may wake another thread than the owner's.
TEST(interrupt_vectors, an_owner_that_shares_one_looks_by_itself) {
  in_process::machine_options how;
  how.vectors = 2;
  owners_rig rig(2, how);
  rig.open_all();
  for (owners_rig::owner& o : rig.owners) {
    EXPECT_TRUE(rig.adapter.completion_context(o.context).shares_vector());
    const std::uint64_t next = o.objects.next_deadline();
    EXPECT_GT(next, rig.machine.time());
    EXPECT_LE(next, rig.machine.time() + 1'000'000);
  }
  EXPECT_EQ(rig.adapter.next_look_at_events(), clock::never) << "the control owner is woken";
  in_process::machine_options enough;
  owners_rig own(2, enough);
  own.open_all();
  for (owners_rig::owner& o : own.owners) EXPECT_EQ(o.objects.next_deadline(), clock::never);
}

}  // namespace
}  // namespace freehca::testing
