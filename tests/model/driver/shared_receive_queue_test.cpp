// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "counts.hpp"

namespace freehca {
namespace {

using testing::counts;
using testing::verbs_rig;
using testing::words;

struct seen {
  unsigned limits = 0;
  std::vector<std::uint64_t> ended;

  static verbs_events events(seen& to) {
    verbs_events e;
    e.context = &to;
    e.srq = [](void* self, srq_handle, void* cookie, layouts::event_type type) noexcept {
      auto& s = *static_cast<seen*>(self);
      s.limits += type == layouts::event_type::srq_limit && cookie == self;
    };
    e.request_ended = [](void* self, qp_handle pair, void* cookie,
                         const queues::work_completion& how, status why) noexcept {
      EXPECT_FALSE(pair);
      EXPECT_EQ(cookie, self);
      EXPECT_EQ(how.status, queues::completion_status::device_reset);
      EXPECT_TRUE(why.is(transport_error::reset)) << words(why);
      static_cast<seen*>(self)->ended.push_back(how.wr_id);
    };
    return e;
  }
};

struct shared_receive_queue_test : ::testing::Test {
  static testing::rig_options how(seen& told) {
    testing::rig_options o = testing::exact();
    o.events = seen::events(told);
    return o;
  }

  status create(srq_handle& to, const shared_receive_queue_attributes& a) {
    create_shared_receive_queue op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  status destroy(srq_handle h) {
    destroy_shared_receive_queue op;
    op.start(rig.objects, h);
    return rig.await(op);
  }
  status arm(srq_handle h, std::uint32_t limit) {
    arm_shared_receive_queue op;
    op.start(rig.objects, h, limit);
    return rig.await(op);
  }
  void post(srq_handle h, unsigned n) {
    for (std::uint64_t i = 0; i < n; ++i)
      ASSERT_TRUE(rig.objects.find(h)->rings.post({.wr_id = i}).ok()) << i;
    rig.objects.find(h)->rings.ring();
  }

  seen told;
  verbs_rig rig{how(told)};
  pd_handle domain = rig.objects.create<protection_domain>().value();
};

TEST_F(shared_receive_queue_test, comes_and_goes_and_leaves_nothing) {
  const auto before = counts(rig);
  srq_handle srq;
  const status s = create(srq, {.pd = domain, .receives = 100, .scatter = 3});
  ASSERT_TRUE(s.ok()) << words(s);
  EXPECT_EQ(rig.objects.held<shared_receive_queue>(), 1u);
  EXPECT_EQ(rig.objects.find(srq)->rings.most_outstanding(), 127u);
  EXPECT_TRUE(rig.objects.destroy(domain).is(driver_error::busy));
  EXPECT_TRUE(destroy(srq).ok());
  EXPECT_EQ(rig.objects.find(srq), nullptr);
  EXPECT_TRUE(destroy(srq).is(driver_error::stale_handle));
  EXPECT_EQ(counts(rig), before);
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(shared_receive_queue_test, that_cannot_be_is_refused_without_a_command) {
  const auto before = counts(rig);
  srq_handle srq;
  EXPECT_TRUE(create(srq, {.pd = domain}).is(driver_error::bad_argument)) << "no receives";
  EXPECT_TRUE(create(srq, {.pd = domain, .receives = 0x8000}).is(driver_error::bad_argument));
  EXPECT_TRUE(
      create(srq, {.pd = domain, .receives = 4, .scatter = 128}).is(driver_error::bad_argument));
  EXPECT_TRUE(create(srq, {.receives = 4}).is(driver_error::stale_handle)) << "no domain";
  EXPECT_FALSE(srq);
  EXPECT_EQ(counts(rig), before);
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(shared_receive_queue_test, tells_once_that_it_is_running_low) {
  srq_handle srq;
  ASSERT_TRUE(create(srq, {.pd = domain, .receives = 7, .cookie = &told}).ok());
  post(srq, 7);
  EXPECT_TRUE(arm(srq, 8).is(driver_error::bad_argument)) << "more than it holds";
  ASSERT_TRUE(arm(srq, 4).ok());
  rig.run([] { return false; }, clock::milliseconds(1));
  EXPECT_EQ(told.limits, 0u);
  EXPECT_TRUE(destroy(srq).ok());
  ASSERT_TRUE(create(srq, {.pd = domain, .receives = 7, .cookie = &told}).ok());
  post(srq, 3);
  ASSERT_TRUE(arm(srq, 4).ok());
  EXPECT_TRUE(rig.run([this] { return told.limits != 0; }, clock::seconds(1)));
  rig.run([] { return false; }, clock::milliseconds(1));
  EXPECT_EQ(told.limits, 1u);
  EXPECT_TRUE(destroy(srq).ok());
  EXPECT_TRUE(arm(srq, 4).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(shared_receive_queue_test, a_reset_ends_what_nobody_took) {
  srq_handle srq;
  ASSERT_TRUE(create(srq, {.pd = domain, .receives = 4, .cookie = &told}).ok());
  post(srq, 3);
  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.await(again).ok());
  EXPECT_EQ(told.ended, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(rig.objects.find(srq), nullptr);
  EXPECT_TRUE(rig.objects.holdings().none());
}

TEST_F(shared_receive_queue_test, takes_receives_only_while_it_is_there) {
  srq_handle srq;
  ASSERT_TRUE(create(srq, {.pd = domain, .receives = 3}).ok());
  post(srq, 3);
  queues::srq& rings = rig.objects.find(srq)->rings;
  EXPECT_TRUE(rings.post({}).is(driver_error::queue_full));
  destroy_shared_receive_queue gone;
  gone.start(rig.objects, srq);
  EXPECT_TRUE(rings.post({}).is(driver_error::bad_state)) << "it is being destroyed";
  EXPECT_TRUE(rig.await(gone).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

}  // namespace
}  // namespace freehca
