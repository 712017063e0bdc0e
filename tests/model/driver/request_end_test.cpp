// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests that are out when the device is reset, in all the states that their queue pair can
// be in.
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <freehca/work_requests/send_request.hpp>

#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_state;
using queues::completion_status;

struct told {
  std::uint64_t wr_id;
  completion_status status;
  queues::work_opcode opcode;
  unsigned why;  // raw code of the transport error; 0: ok
  bool operator==(const told&) const = default;
};

struct request_end : ::testing::Test {
  request_end() : rig(how()) {}
  rig_options how() {
    rig_options o;
    o.events.context = this;
    o.events.request_ended = [](void* self, qp_handle queue, void* cookie,
                                const queues::work_completion& w, status why) noexcept {
      auto& t = *static_cast<request_end*>(self);
      EXPECT_EQ(qpn_of(t.rig.objects, queue), w.qpn()) << "a handle that is stale, or another's";
      EXPECT_EQ(cookie, nullptr);
      t.ended.push_back({w.wr_id, w.status, w.opcode, why.code()});
      if (t.when_told) t.when_told(queue);
    };
    return o;
  }
  void post(rc_pair& pair) {
    // The device sees none of it: nobody rings.
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(work_requests::post(pair.send(0), {.wr_id = 10 + i, .signaled = i == 2}).ok());
      ASSERT_TRUE(pair.receive(0).post({.wr_id = 20 + i}).ok());
    }
  }
  static std::vector<told> all_lost(transport_error why) {
    const auto code = static_cast<unsigned>(why);
    std::vector<told> all;
    for (std::uint64_t i = 0; i < 3; ++i)
      all.push_back({10 + i, completion_status::device_reset, queues::work_opcode::send, code});
    for (std::uint64_t i = 0; i < 3; ++i)
      all.push_back({20 + i, completion_status::device_reset, queues::work_opcode::receive, code});
    return all;
  }
  void tear_down() {
    operation down;
    rig.adapter.tear_down(down);
    EXPECT_TRUE(rig.await(down).ok());
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_TRUE(rig.adapter.holdings().none());
  }
  void hold(opcode which) {
    rig.machine.adapter().judge_commands(
        [which](opcode code, std::uint32_t) -> model::command_verdict {
          return {.what = code == which ? fate::hold : fate::run};
        });
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  }

  verbs_rig rig;
  std::vector<told> ended;
  std::function<void(qp_handle)> when_told;
};

TEST_F(request_end, a_teardown_ends_what_was_posted_in_its_order) {
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  tear_down();
  EXPECT_EQ(ended, all_lost(transport_error::reset));
  pair.abandon();
}

TEST_F(request_end, closing_ends_what_was_posted) {
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  rig.adapter.close();
  EXPECT_EQ(ended, all_lost(transport_error::reset));
  EXPECT_TRUE(rig.objects.holdings().none());
  pair.abandon();
}

TEST_F(request_end, what_the_device_died_of_is_the_cause) {
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  rig.machine.adapter().fail();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::failed; }));
  EXPECT_TRUE(ended.empty()) << "the device may still write";
  tear_down();
  EXPECT_EQ(ended, all_lost(transport_error::gone));
  pair.abandon();
}

TEST_F(request_end, what_the_device_died_of_once_is_not_the_cause_of_the_next_reset) {
  rig.machine.adapter().fail();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::failed; }));
  const auto recover = [this] {
    operation again;
    rig.adapter.recover(again);
    ASSERT_TRUE(rig.await(again).ok());
  };
  recover();
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  recover();
  EXPECT_EQ(ended, all_lost(transport_error::reset));
  pair.abandon();
}

// Whose end starts the next one: a device that is closing has nothing more to give.
TEST_F(request_end, closing_takes_no_new_operations_from_those_it_ends) {
  struct persistent {
    verbs_rig& rig;
    create_completion_queue create;
    std::vector<status> outcomes;
    void start() {
      create.then([](operation&, void* self) noexcept { static_cast<persistent*>(self)->ended(); },
                  this);
      create.start(rig.objects, {.entries = 4000});
    }
    void ended() {
      outcomes.push_back(create.outcome());
      if (outcomes.size() > 3) return;
      create.restart();
      start();
    }
  } p{rig, {}, {}};
  hold(opcode::map_icm);
  p.start();
  ASSERT_TRUE(rig.run([&] { return rig.machine.adapter().held_commands() == 1; }));
  rig.adapter.close();
  for (unsigned i = 0; i < 4; ++i) rig.objects.poll();
  ASSERT_EQ(p.outcomes.size(), 4u);
  EXPECT_TRUE(p.outcomes[0].is(transport_error::reset)) << words(p.outcomes[0]);
  for (unsigned i = 1; i < 4; ++i)
    EXPECT_TRUE(p.outcomes[i].is(driver_error::bad_state)) << words(p.outcomes[i]);
  EXPECT_TRUE(rig.objects.holdings().none());
}

// The reset releases the object by the end of the operation, not as one that nobody works on.
TEST_F(request_end, a_destruction_under_way_does_not_swallow_them) {
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  hold(opcode::to_rst_qp);
  destroy_queue_pair destroy;
  destroy.start(rig.objects, pair.queue[0]);
  EXPECT_TRUE(rig.run([&] { return rig.machine.adapter().held_commands() == 1; }));
  rig.adapter.mark_as_lost();
  tear_down();
  EXPECT_FALSE(destroy.outcome().ok());
  EXPECT_EQ(ended, all_lost(transport_error::gone));
  pair.abandon();
}

// Here by the lease that is in doubt.
TEST_F(request_end, a_change_or_a_destruction_in_doubt_does_not_swallow_them) {
  for (const bool destroys : {false, true}) {
    rc_pair pair(rig);
    pair.connect();
    post(pair);
    ended.clear();
    hold(destroys ? opcode::to_rst_qp : opcode::to_err_qp);
    destroy_queue_pair destroy;
    modify_queue_pair change;
    if (destroys) destroy.start(rig.objects, pair.queue[0]);
    else change.start(rig.objects, pair.queue[0], qp_state::error);
    const status s = destroys ? rig.await(destroy) : rig.await(change);
    EXPECT_TRUE(s.is(transport_error::timeout)) << words(s);
    EXPECT_TRUE(ended.empty());
    rig.machine.adapter().judge_commands({});
    tear_down();
    EXPECT_EQ(ended, all_lost(transport_error::reset));
    pair.abandon();
    ASSERT_TRUE(rig.objects.close().ok());
    operation up;
    rig.adapter.bring_up(up);
    ASSERT_TRUE(rig.await(up).ok());
    ASSERT_TRUE(rig.reopen().ok());
  }
}

TEST_F(request_end, a_destruction_that_is_carried_out_forgets_them) {
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  pair.destroy();
  EXPECT_TRUE(ended.empty());
}

TEST_F(request_end, completions_that_nobody_polled_come_first_and_as_they_are) {
  rc_pair pair(rig);
  pair.connect();
  ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 1}).ok());
  ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 2}).ok());
  ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {.wr_id = 3, .signaled = false}).ok());
  ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {.wr_id = 4}).ok());
  EXPECT_TRUE(rig.run([&] { return pair.cq(0).pending(); }));
  ASSERT_TRUE(work_requests::post(pair.send(0), {.wr_id = 5}).ok());
  ASSERT_TRUE(pair.receive(1).post({.wr_id = 6}).ok());
  tear_down();
  using queues::work_opcode;
  const auto reset = static_cast<unsigned>(transport_error::reset);
  const std::vector<told> expected{
      // 3 was not signaled: 4 says that it is done.
      {4, completion_status::ok, work_opcode::send, 0},
      {1, completion_status::ok, work_opcode::receive, 0},
      {2, completion_status::ok, work_opcode::receive, 0},
      {5, completion_status::device_reset, work_opcode::send, reset},
      {6, completion_status::device_reset, work_opcode::receive, reset}};
  EXPECT_EQ(ended, expected);
  pair.abandon();
}

// Whoever is told of an end acts at once: posts again, polls, starts operations.
TEST_F(request_end, what_is_done_when_told_leaves_nothing_behind) {
  rc_pair pair(rig);
  pair.connect();
  post(pair);
  std::vector<std::shared_ptr<object_operation>> started;
  unsigned refused = 0;
  when_told = [&](qp_handle queue) {
    refused += work_requests::post(rig.objects.find(queue)->rings.send, {.wr_id = 99})
                   .is(driver_error::bad_state);
    refused +=
        rig.objects.find(queue)->rings.receive.post({.wr_id = 99}).is(driver_error::bad_state);
    queues::work_completion w;
    EXPECT_EQ(pair.cq(0).poll(&w, 1), 0u);
    auto cq = std::make_shared<create_completion_queue>();
    cq->start(rig.objects, {.entries = 7});
    started.push_back(std::move(cq));
    auto change = std::make_shared<modify_queue_pair>();
    change->start(rig.objects, queue, qp_state::error);
    started.push_back(std::move(change));
    auto destroy = std::make_shared<destroy_queue_pair>();
    destroy->start(rig.objects, pair.queue[1]);
    started.push_back(std::move(destroy));
  };
  tear_down();
  EXPECT_EQ(ended, all_lost(transport_error::reset));
  EXPECT_EQ(refused, 12u);
  EXPECT_EQ(started.size(), 18u);
  EXPECT_TRUE(rig.run([&] {
    for (const auto& op : started)
      if (!op->done()) return false;
    return true;
  }));
  for (const auto& op : started) EXPECT_FALSE(op->outcome().ok());
  pair.abandon();
  EXPECT_TRUE(rig.objects.holdings().none());
}

// A device that writes anything into completion queues: no request ends twice, none that was not
// posted, and none is out afterwards. One that it passes over by naming a later one counts as not
// signaled.
TEST_F(request_end, a_ring_full_of_lies_ends_no_request_twice) {
  constexpr unsigned rounds = 20, requests = 12;
  std::mt19937_64 random(3);
  std::uint64_t handed_over = 0, lost = 0;
  for (unsigned round = 0; round < rounds && !HasFailure(); ++round) {
    rc_pair pair(rig);
    pair.connect();
    ended.clear();
    rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* bytes, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        if (random() % 8 == 0) bytes[i] = static_cast<std::byte>(random() % 16);
    };
    for (std::uint64_t i = 0; i < requests; ++i) {
      ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 100 + i}).ok());
      ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {.wr_id = i}).ok());
    }
    rig.machine.advance(clock::microseconds(100));
    rig.machine.alter_adapter_write = {};
    tear_down();
    std::set<std::uint64_t> seen;
    for (const told& t : ended) {
      EXPECT_TRUE(seen.insert(t.wr_id).second) << "request " << t.wr_id << " ended twice";
      EXPECT_LT(t.wr_id % 100, requests);
      ++(t.status == completion_status::device_reset ? lost : handed_over);
    }
    for (std::uint64_t i = 0; i < requests; ++i)
      EXPECT_TRUE(seen.contains(100 + i)) << "receive " << i << " never ended";
    pair.abandon();
    ASSERT_TRUE(rig.objects.close().ok());
    operation up;
    rig.adapter.bring_up(up);
    ASSERT_TRUE(rig.await(up).ok()) << words(rig.adapter.failure().cause);
    ASSERT_TRUE(rig.reopen().ok());
  }
  EXPECT_GT(handed_over, rounds);
  EXPECT_GT(lost, rounds);
}

}  // namespace
}  // namespace freehca
