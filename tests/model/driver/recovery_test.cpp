// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A device that dies, or whose firmware stops, in the midst of traffic and commands, again and again in one process:
// every operation ends once, everything comes back, and the device works again.
#include <functional>
#include <memory>
#include <random>

#include <freehca/in_process/detached.hpp>

#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;

constexpr unsigned rounds = 50;
constexpr unsigned messages = 8;

class recovery : public ::testing::Test {
 protected:
  recovery() : rig(how()) {
    // Long enough for a test that means to lose answers.
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(50));
  }
  static rig_options how() {
    rig_options o;
    o.machine.model.faults.command_latency_ns = 20'000;
    return o;
  }

  // Sends so many messages and looks at what arrives.
  void exchange(rc_pair& pair) {
    for (unsigned i = 0; i < messages; ++i) {
      ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = i}).ok());
      ASSERT_TRUE(pair.send(0).post_and_ring({.wr_id = 100 + i, .signaled = true}).ok());
    }
    for (unsigned i = 0; i < messages; ++i) {
      const queues::work_completion sent = pair.next(0), received = pair.next(1);
      EXPECT_EQ(sent.status, queues::completion_status::ok);
      EXPECT_EQ(sent.wr_id, 100 + i);
      EXPECT_EQ(received.status, queues::completion_status::ok);
      EXPECT_EQ(received.wr_id, i);
    }
  }

  // Work for the firmware: objects that come and go until an operation fails.
  in_process::detached keep_creating(pd_handle domain) {
    ++running;
    for (status s; s.ok() && !enough;) {
      create_completion_queue cq;
      cq.start(rig.objects, {.entries = 15});
      s = co_await cq;
      ++ended;
      if (!s.ok()) break;
      create_queue_pair qp;
      qp.start(rig.objects, {.pd = domain,
                             .send_cq = cq.queue(),
                             .receive_cq = cq.queue(),
                             .sends = 1,
                             .receives = 1});
      s = co_await qp;
      ++ended;
      if (s.ok()) {
        destroy_queue_pair d;
        d.start(rig.objects, qp.queue());
        s = co_await d;
        ++ended;
      }
      destroy_completion_queue d;
      d.start(rig.objects, cq.queue());
      const status t = co_await d;
      ++ended;
      if (s.ok()) s = t;
    }
    --running;
  }

  // `strike` makes the trouble, `mend` ends its cause before the device is used again.
  void survive(const std::function<void()>& strike, const std::function<void()>& mend) {
    std::mt19937_64 random(7);
    std::uniform_int_distribution<std::uint64_t> moment(0, clock::milliseconds(2));
    for (unsigned round = 0; round < rounds && !HasFailure(); ++round) {
      SCOPED_TRACE(round);
      {
        rc_pair pair(rig);
        pair.connect();
        exchange(pair);
        enough = false;
        for (unsigned i = 0; i < 3; ++i) keep_creating(pair.domain);
        for (unsigned i = 0; i < messages; ++i) {
          EXPECT_TRUE(pair.receive(1).post_and_ring({}).ok());
          EXPECT_TRUE(pair.send(0).post_and_ring({}).ok());
        }
        const std::uint64_t until = rig.machine.time() + moment(random);
        rig.run([&] { return rig.machine.time() >= until; });
        strike();
        EXPECT_TRUE(rig.run([&] { return running == 0 || recovers_by_itself; }));
        enough = true;
        EXPECT_TRUE(rig.run([&] { return running == 0; })) << running << " operations do not end";
        const qp_handle gone = pair.queue[0];
        tear_down();
        EXPECT_EQ(rig.objects.qpn(gone), 0u) << "a handle that outlived its object";
        pair.abandon();
      }
      mend();
      bring_up();
    }
    EXPECT_GT(ended, rounds);
    rc_pair pair(rig);
    pair.connect();
    exchange(pair);
  }

  void tear_down() {
    operation down;
    rig.adapter.tear_down(down);
    EXPECT_TRUE(rig.await(down).ok());
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u);
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_TRUE(rig.objects.close().ok());
  }
  void bring_up() {
    operation up;
    rig.adapter.bring_up(up);
    EXPECT_TRUE(rig.await(up).ok()) << words(rig.adapter.failure().cause);
    ASSERT_TRUE(rig.reopen().ok());
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(50));
  }
  void judge_next(model::command_verdict verdict) {
    auto struck = std::make_shared<bool>(false);
    rig.machine.adapter().judge_commands([verdict, struck](layouts::opcode, std::uint32_t) {
      if (*struck) return model::command_verdict{};
      *struck = true;
      return verdict;
    });
  }
  void run_all() { rig.machine.adapter().judge_commands({}); }

  verbs_rig rig;
  unsigned running = 0, ended = 0;
  bool enough = false;
  bool recovers_by_itself = false;
};

TEST_F(recovery, from_a_catastrophic_error) {
  survive([this] { rig.machine.adapter().fail(); }, [] {});
}

TEST_F(recovery, from_a_card_that_is_pulled_and_put_back) {
  survive([this] { rig.machine.remove(); }, [this] { rig.machine.plug_in(); });
}

TEST_F(recovery, from_a_command_register_that_stays_taken) {
  survive([this] { judge_next({fate::keep_go, {}}); }, [this] { run_all(); });
}

TEST_F(recovery, from_an_answer_that_is_lost) {
  recovers_by_itself = true;
  survive([this] { judge_next({fate::lose_answer, {}}); }, [this] { run_all(); });
}

TEST_F(recovery, from_answers_that_come_twice) {
  recovers_by_itself = true;
  survive(
      [this] {
        rig.machine.adapter().judge_commands([](layouts::opcode, std::uint32_t) {
          return model::command_verdict{fate::answer_twice, {}};
        });
        // Some of them.
        const std::uint64_t until = rig.machine.time() + clock::milliseconds(1);
        rig.run([&] { return rig.machine.time() >= until; });
      },
      [this] { run_all(); });
  EXPECT_GT(rig.adapter.commands().statistics().submitted, 0u);
}

}  // namespace
}  // namespace freehca
