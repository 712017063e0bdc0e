// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <cstring>
#include <optional>

#include "counts.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using testing::words;

/// Two connected queue pairs. The first one's sends are counted, all else completes to queues that
/// somebody polls.
struct counting_test : ::testing::Test {
  static testing::rig_options options(counting_test& self) {
    testing::rig_options o = testing::exact();
    o.events.context = &self;
    o.events.completion = [](void* to, cq_handle queue, void* cookie) noexcept {
      auto& t = *static_cast<counting_test*>(to);
      EXPECT_EQ(queue, cq_handle(t.counting));
      EXPECT_EQ(cookie, to);
      ++t.told;
    };
    o.events.request_ended = [](void* to, qp_handle, void*, const queues::work_completion&,
                                status why) noexcept {
      EXPECT_FALSE(why.ok()) << "what was completed was counted";
      ++static_cast<counting_test*>(to)->ended;
    };
    return o;
  }

  void SetUp() override {
    before = testing::counts(rig);
    create_counting_completion_queue op;
    op.start(rig.objects, {.entries = 63, .cookie = this});
    const status s = rig.await(op);
    ASSERT_TRUE(s.ok()) << words(s);
    counting = op.made();
    pair.emplace(rig);
    create_queue_pair counted;
    counted.start(rig.objects, {.pd = pair->domain,
                                .send_cq = counting,
                                .receive_cq = pair->completion[0],
                                .sends = 16,
                                .receives = 16,
                                .inline_bytes = 1});
    ASSERT_TRUE(rig.await(counted).ok());
    destroy_queue_pair unused;
    unused.start(rig.objects, pair->queue[0]);
    ASSERT_TRUE(rig.await(unused).ok());
    pair->queue[0] = counted.made();
    pair->connect();
    target.emplace(rig, pair->domain, 64, 0,
                   memory_access{.local_write = true, .remote_write = true});
  }
  void TearDown() override {
    if (!rig.objects.holdings().none()) {
      EXPECT_TRUE(destroy().is(driver_error::busy)) << "a queue pair completes to it";
      target.reset();
      pair.reset();
      EXPECT_TRUE(destroy().ok());
    }
    EXPECT_EQ(testing::counts(rig), before);
  }
  status destroy() {
    destroy_counting_completion_queue op;
    op.start(rig.objects, counting);
    return rig.await(op);
  }
  void post(unsigned n, std::uint32_t rkey) {
    for (unsigned i = 0; i < n; ++i)
      ASSERT_TRUE(pair->send(0)
                      .post_and_ring(queues::rdma_write_inline{
                          .wr_id = i, .remote = {target->address(), rkey}, .data = {&byte, 1}})
                      .ok());
  }
  const queues::counting& counts() { return rig.objects.find(counting)->counts; }
  bool until(std::uint64_t ends) {
    return rig.run([&] { return counts().succeeded + counts().failed >= ends; },
                   clock::seconds(100));
  }
  void a_while() {
    rig.run([] { return false; }, clock::milliseconds(1));
  }

  const std::byte byte{0x5a};
  unsigned told = 0, ended = 0;
  testing::verbs_rig rig{options(*this)};
  std::vector<std::uint64_t> before;
  handle<counting_completion_queue> counting;
  std::optional<testing::rc_pair> pair;
  std::optional<testing::registered_buffer> target;
};

TEST_F(counting_test, counts_more_than_its_ring_holds_while_nobody_looks) {
  for (unsigned round = 1; round <= 40; ++round) {
    post(8, target->key);
    ASSERT_TRUE(until(round * 8));
  }
  a_while();
  EXPECT_EQ(counts().succeeded, 320u);
  EXPECT_EQ(counts().failed, 0u);
  EXPECT_EQ(pair->send(0).outstanding(), 0u);
  EXPECT_EQ(told, 0u) << "nobody asked";
}

TEST_F(counting_test, wakes_once_at_the_threshold) {
  rig.objects.find(counting)->wake_at(12);
  post(11, target->key);
  ASSERT_TRUE(until(11));
  a_while();
  EXPECT_EQ(told, 0u);
  post(5, target->key);
  EXPECT_TRUE(rig.run([this] { return told != 0; }, clock::seconds(100)));
  ASSERT_TRUE(until(16));
  a_while();
  EXPECT_EQ(told, 1u);
  rig.objects.find(counting)->wake_at(16);
  a_while();
  EXPECT_EQ(told, 2u) << "so many have succeeded already";
}

TEST_F(counting_test, wakes_at_a_failure_and_keeps_the_first) {
  rig.objects.find(counting)->wake_at(1000);
  post(1, target->key);
  post(3, target->key + 0x10000);
  EXPECT_TRUE(rig.run([this] { return told != 0; }, clock::seconds(100)));
  ASSERT_TRUE(until(4));
  EXPECT_EQ(counts().succeeded, 1u);
  EXPECT_EQ(counts().failed, 3u);
  EXPECT_EQ(counts().first_failure.status, queues::completion_status::remote_access);
  EXPECT_EQ(counts().first_failure.wr_id, 0u);
  EXPECT_EQ(told, 1u);
}

TEST_F(counting_test, stands_in_for_a_completion_queue_and_not_the_other_way_round) {
  const cq_handle as_a_queue = counting;
  EXPECT_EQ(rig.objects.find(as_a_queue), rig.objects.find(counting));
  const cq_handle plain = pair->completion[0];
  EXPECT_EQ(rig.objects.find(handle<counting_completion_queue>{plain.index, plain.generation}),
            nullptr);
  EXPECT_EQ(rig.objects.find(handle<queue_pair>{plain.index, plain.generation}), nullptr);
  EXPECT_EQ(rig.objects.held<completion_queue>(), 2u) << "those of the pair";
  EXPECT_EQ(rig.objects.held<counting_completion_queue>(), 1u);
}

TEST_F(counting_test, what_completed_before_a_reset_is_counted_and_the_rest_is_told) {
  post(2, target->key);
  ASSERT_TRUE(until(2));
  // The device sees none of these: nobody rings.
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(pair->send(0).post(queues::nop{}).ok());
  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.await(again).ok());
  EXPECT_EQ(ended, 3u);
  EXPECT_EQ(rig.objects.find(counting), nullptr);
  target->region = {};
  pair->abandon();
}

TEST_F(counting_test, a_threshold_that_is_reached_already_is_due_at_once) {
  post(4, target->key);
  ASSERT_TRUE(until(4));
  a_while();
  EXPECT_NE(rig.objects.next_deadline(), 0u);
  rig.objects.find(counting)->wake_at(4);
  EXPECT_EQ(rig.objects.next_deadline(), 0u);
  rig.objects.poll();
  EXPECT_EQ(told, 1u);
}

TEST_F(counting_test, who_waits_is_told_when_the_device_closes) {
  rig.objects.find(counting)->wake_at(8);
  post(8, target->key);
  rig.machine.advance(clock::milliseconds(5));
  EXPECT_TRUE(rig.objects.find(counting)->rings.pending()) << "nobody has polled";
  rig.adapter.close();
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(ended, 0u);
  target->region = {};
  pair->abandon();
  // Nothing is left to compare with.
  before = testing::counts(rig);
}

TEST_F(counting_test, a_device_that_is_being_reset_is_not_armed) {
  post(1, target->key);
  rig.machine.advance(clock::milliseconds(1));
  operation again;
  rig.adapter.recover(again);
  std::uint32_t armed = 0, now = 0;
  unsigned looks = 0;
  for (; rig.objects.find(counting) != nullptr; ++looks) {
    const std::byte* const record = rig.objects.find(counting)->record.host + 4;
    std::memcpy(&now, record, sizeof now);
    if (looks == 0) armed = now;
    EXPECT_EQ(now, armed) << "the arming word was written anew";
    rig.objects.poll();
    rig.machine.advance(clock::milliseconds(1));
  }
  EXPECT_GT(looks, 1u);
  ASSERT_TRUE(rig.await(again).ok());
  target->region = {};
  pair->abandon();
}

}  // namespace
}  // namespace freehca
