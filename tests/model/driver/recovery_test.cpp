// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A device that dies, or whose firmware stops, in the midst of traffic and commands, again and
// again in one process: every operation and every work request ends once, everything comes back,
// and the device works again.
#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

#include <freehca/in_process/detached.hpp>

#include "verified_traffic.hpp"

namespace freehca {
namespace {

using namespace testing;
using fate = model::command_verdict::fate;

constexpr unsigned rounds = 50;

class recovery : public ::testing::Test {
 protected:
  recovery() : rig(how()) {
    // Long enough for a test that means to lose answers.
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(50));
  }
  rig_options how() {
    rig_options o;
    o.machine.model.faults.command_latency_ns = 20'000;
    o.events.context = this;
    o.events.completion = [](void* self, cq_handle queue, void*) noexcept {
      auto& t = *static_cast<recovery*>(self);
      if (t.traffic) t.traffic->on_event(queue);
    };
    o.events.request_ended = [](void* self, qp_handle queue, void*,
                                const queues::work_completion& w, status why) noexcept {
      auto& t = *static_cast<recovery*>(self);
      ASSERT_TRUE(t.traffic);
      // What it may still write, it must not be told that it may have back.
      EXPECT_EQ(t.may_write(), false);
      t.traffic->on_ended(queue, w, why);
    };
    return o;
  }
  // A function that was reset has forgotten its queue pairs; one that is not may not master the
  // bus.
  bool may_write() {
    return rig.machine.counter("icm_pages") != 0 && rig.machine.configuration().bus_master();
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
      qp.start(
          rig.objects,
          {.pd = domain, .send_cq = cq.made(), .receive_cq = cq.made(), .sends = 1, .receives = 1});
      s = co_await qp;
      ++ended;
      if (s.ok()) {
        destroy_queue_pair d;
        d.start(rig.objects, qp.made());
        s = co_await d;
        ++ended;
      }
      destroy_completion_queue d;
      d.start(rig.objects, cq.made());
      const status t = co_await d;
      ++ended;
      if (s.ok()) s = t;
    }
    --running;
  }

  // Runs traffic along with whatever else is under way.
  void run_for(std::uint64_t nanoseconds) {
    const std::uint64_t until = rig.machine.time() + nanoseconds;
    rig.machine.run(
        [&] {
          traffic->pump();
          return rig.machine.time() >= until;
        },
        [&] {
          rig.objects.poll();
          return std::min(rig.objects.next_deadline(), traffic->next_look());
        });
  }

  // `strike` makes the trouble, `mend` ends its cause before the device is used again.
  void survive(const std::function<void()>& strike, const std::function<void()>& mend,
               transport_error cause) {
    std::mt19937_64 random(7);
    std::uniform_int_distribution<std::uint64_t> moment(0, clock::microseconds(60));
    // The last one is torn down for no reason but that somebody wants it.
    for (unsigned round = 0; round <= rounds && !HasFailure(); ++round) {
      SCOPED_TRACE(round);
      traffic.emplace(rig, account);
      run_for(clock::microseconds(20));
      EXPECT_GT(traffic->verified(), 0u) << "no traffic";
      enough = false;
      for (unsigned i = 0; i < 3; ++i) keep_creating(traffic->pair.domain);
      run_for(moment(random));
      // What completes then, nobody polls.
      rig.machine.advance(clock::microseconds(2));
      if (round < rounds) strike();
      // Every other time somebody goes on posting to a device that is perhaps no more.
      if (round % 2 == 0) run_for(clock::microseconds(20));
      EXPECT_TRUE(rig.run([&] { return running == 0 || recovers_by_itself || round == rounds; }));
      enough = true;
      EXPECT_TRUE(rig.run([&] { return running == 0; })) << running << " operations do not end";
      const qp_handle gone = traffic->pair.queue[0];
      tear_down();
      EXPECT_EQ(qpn_of(rig.objects, gone), 0u) << "a handle that outlived its object";
      account.expect_all_ended();
      EXPECT_TRUE(traffic->cause.is(round < rounds ? cause : transport_error::reset))
          << words(traffic->cause);
      verified += traffic->verified();
      traffic->abandon();
      traffic.reset();
      mend();
      bring_up();
    }
    EXPECT_GT(ended, rounds);
    EXPECT_GT(account.handed_over, 0u) << "no completion stood in a queue at a reset";
    EXPECT_GT(account.lost, rounds);
    std::cout << account.posted << " requests posted: " << account.completed << " completed, "
              << account.implied << " by a later one, " << account.handed_over
              << " found completed at a reset, " << account.lost << " ended by it; " << verified
              << " verified\n";
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
  void keep_moving() {
    const std::uint64_t before = traffic->verified();
    run_for(clock::microseconds(60));
    EXPECT_GT(traffic->verified(), before) << "traffic stopped";
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

  request_account account;
  verbs_rig rig;
  std::optional<verified_traffic> traffic;
  std::uint64_t verified = 0;
  unsigned running = 0, ended = 0;
  bool enough = false;
  bool recovers_by_itself = false;
};

TEST_F(recovery, from_a_catastrophic_error) {
  survive([this] { rig.machine.adapter().fail(); }, [] {}, transport_error::gone);
}

TEST_F(recovery, from_a_card_that_is_pulled_and_put_back) {
  survive([this] { rig.machine.remove(); }, [this] { rig.machine.plug_in(); },
          transport_error::gone);
}

// Commands time out and traffic goes on: it is the caller who gives such a device up.
TEST_F(recovery, from_a_command_register_that_stays_taken) {
  survive(
      [this] {
        judge_next({fate::keep_go, {}});
      },
      [this] { run_all(); }, transport_error::reset);
}

TEST_F(recovery, from_an_answer_that_is_lost) {
  recovers_by_itself = true;
  survive(
      [this] {
        judge_next({fate::lose_answer, {}});
      },
      [this] { run_all(); }, transport_error::reset);
}

TEST_F(recovery, from_answers_that_come_twice) {
  recovers_by_itself = true;
  std::uint64_t ignored = 0;
  survive(
      [this, &ignored] {
        rig.machine.adapter().judge_commands([](layouts::opcode, std::uint32_t) {
          return model::command_verdict{fate::answer_twice, {}};
        });
        keep_moving();
        const channel_statistics& s = rig.adapter.commands().statistics();
        ignored += s.duplicate + s.stale;
      },
      [this] { run_all(); }, transport_error::reset);
  EXPECT_GT(ignored, rounds);
}

// Commands whose answer is not told time out: the driver does not look for it. Completion queues
// are looked at.
TEST_F(recovery, from_events_that_are_lost) {
  recovers_by_itself = true;
  std::uint64_t looks = 0;
  survive(
      [this, &looks] {
        unsigned lost = 0;
        rig.machine.adapter().judge_events([&lost](layouts::event_type) {
          return ++lost % 2 == 0 ? model::event_fate::deliver : model::event_fate::lose;
        });
        keep_moving();
        EXPECT_GT(lost, 1u);
        rig.machine.adapter().judge_events({});
        // Those that come from now on are told again.
        const std::uint64_t events = traffic->events;
        keep_moving();
        EXPECT_GT(traffic->events, events);
        looks += traffic->found_by_looking;
      },
      [] {}, transport_error::reset);
  EXPECT_GT(looks, rounds);
}

TEST_F(recovery, from_events_that_come_twice) {
  recovers_by_itself = true;
  survive(
      [this] {
        rig.machine.adapter().judge_events(
            [](layouts::event_type) { return model::event_fate::twice; });
        keep_moving();
        rig.machine.adapter().judge_events({});
        const std::uint64_t events = traffic->events;
        keep_moving();
        EXPECT_GT(traffic->events, events);
      },
      [] {}, transport_error::reset);
}

}  // namespace
}  // namespace freehca
