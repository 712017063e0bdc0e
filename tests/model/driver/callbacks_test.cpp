// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a callback may do while its owner delivers: try again what is refused at once, close what
// the operation was of, ask for more and poll, destroy what ends behind it.
#include <memory>
#include <optional>
#include <vector>

#include <freehca/firmware_cmds/firmware.hpp>

#include "device_rig.hpp"
#include "easy_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;
using layouts::qp_state;
using testing::easy_rig;
using testing::rc_pair;
using testing::verbs_rig;

TEST(callbacks, a_retry_that_is_refused_at_once_is_told_by_a_later_poll) {
  verbs_rig rig;
  constexpr unsigned polls = 20, tries_in_one_poll = 4;
  struct stubborn {
    explicit stubborn(device& of) : d(of) {}
    device& d;
    operation op;
    unsigned tries = 0;
    bool gives_up = false;
    void start() {
      op.then(
          [](operation& o, void* self) noexcept {
            auto& s = *static_cast<stubborn*>(self);
            if (s.gives_up) return;
            o.restart();
            s.start();
          },
          this);
      ++tries;
      d.bring_up(op);  // it is up
    }
  } s(rig.adapter);
  s.start();
  for (unsigned i = 1; i <= polls; ++i) {
    const unsigned before = s.tries;
    EXPECT_EQ(rig.adapter.next_deadline(), 0u);
    rig.adapter.poll();
    EXPECT_GT(s.tries, before) << "each poll tells";
    EXPECT_LE(s.tries - before, tries_in_one_poll) << "and comes back";
  }
  s.gives_up = true;
  rig.adapter.poll();
  EXPECT_TRUE(s.op.done());
  EXPECT_TRUE(s.op.outcome().is(driver_error::bad_state));
}

// The queue pair is in doubt, so each try is refused at once, until the late answer settles it.
TEST(callbacks, a_retry_on_what_is_in_doubt_succeeds_behind_the_late_answer) {
  verbs_rig rig;
  rc_pair pair(rig);
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    return {.what = code == opcode::rst2init_qp ? fate::hold : fate::run};
  });
  ASSERT_TRUE(pair.move(0, qp_state::init).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  ASSERT_EQ(rig.objects.holdings().in_doubt, 1u);
  struct moving {
    moving(rc_pair& p, verbs_rig& r) : pair(p), rig(r) {}
    rc_pair& pair;
    verbs_rig& rig;
    modify_queue_pair op;
    unsigned tries = 0;
    std::optional<status> outcome;
    void start() {
      op.then(
          [](operation& o, void* self) noexcept {
            auto& m = *static_cast<moving*>(self);
            if (!o.outcome().is(driver_error::busy)) {
              m.outcome = o.outcome();
              return;
            }
            o.restart();
            m.start();
          },
          this);
      ++tries;
      op.start(rig.objects, pair.queue[0], qp_state::error, {});
    }
  } m(pair, rig);
  m.start();
  for (unsigned i = 0; i < 20; ++i) rig.objects.poll();
  EXPECT_GE(m.tries, 20u);
  EXPECT_FALSE(m.outcome.has_value());
  rig.machine.adapter().release_held_commands();
  ASSERT_TRUE(rig.run([&] { return m.outcome.has_value(); }, clock::seconds(1)));
  EXPECT_TRUE(m.outcome->ok()) << testing::words(*m.outcome);
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
}

// Whoever waits for the object need not wait for the next deadline of something else.
TEST(callbacks, the_settlement_of_an_object_wakes_its_owner) {
  verbs_rig rig;
  rc_pair pair(rig);
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    return {.what = code == opcode::rst2init_qp ? fate::hold : fate::run};
  });
  ASSERT_TRUE(pair.move(0, qp_state::init).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  rig.run([] { return false; }, clock::milliseconds(1));
  ASSERT_NE(rig.objects.next_deadline(), 0u);
  rig.machine.adapter().release_held_commands();
  std::uint64_t behind_it = clock::never;
  ASSERT_TRUE(rig.machine.run([&] { return rig.objects.holdings().in_doubt == 0; },
                              [&] {
                                rig.objects.poll();
                                behind_it = rig.objects.next_deadline();
                                return behind_it;
                              },
                              clock::seconds(1)));
  EXPECT_EQ(behind_it, 0u);
}

TEST(callbacks, objects_may_be_closed_by_the_callback_of_one_that_was_refused) {
  verbs_rig rig;
  struct closing {
    explicit closing(verbs& v) : objects(v) {}
    verbs& objects;
    destroy_memory_region first, second;
    std::optional<status> closed;
  } c(rig.objects);
  c.first.then(
      [](operation&, void* self) noexcept {
        auto& it = *static_cast<closing*>(self);
        it.closed = it.objects.close();
      },
      &c);
  c.first.start(rig.objects, {});
  c.second.start(rig.objects, {});
  rig.objects.poll();
  ASSERT_TRUE(c.closed.has_value());
  EXPECT_TRUE(c.closed->ok()) << testing::words(*c.closed);
  EXPECT_FALSE(rig.objects.is_open());
  EXPECT_TRUE(c.first.outcome().is(driver_error::stale_handle));
  ASSERT_TRUE(rig.run([&] { return c.second.done(); }, clock::seconds(1)));
  EXPECT_TRUE(c.second.outcome().is(driver_error::stale_handle));
  // One that is refused by objects that are closed ends too.
  c.second.restart();
  c.second.start(rig.objects, {});
  EXPECT_EQ(rig.objects.next_deadline(), 0u);
  rig.objects.poll();
  EXPECT_TRUE(c.second.done());
  EXPECT_TRUE(rig.reopen().ok());
}

TEST(callbacks, what_was_refused_before_the_objects_were_opened_ends_behind_that) {
  verbs_rig rig;
  ASSERT_TRUE(rig.objects.close().ok());
  destroy_memory_region early;
  early.start(rig.objects, {});
  ASSERT_TRUE(rig.reopen().ok());
  EXPECT_FALSE(early.done());
  EXPECT_EQ(rig.objects.next_deadline(), 0u);
  rig.objects.poll();
  EXPECT_TRUE(early.done());
}

TEST(callbacks, a_device_may_be_closed_by_the_callback_of_one_that_was_refused) {
  verbs_rig rig;
  ASSERT_TRUE(rig.objects.close().ok());
  operation first, second;
  first.then([](operation&, void* d) noexcept { static_cast<device*>(d)->close(); }, &rig.adapter);
  rig.adapter.bring_up(first);
  rig.adapter.bring_up(second);
  rig.adapter.poll();
  EXPECT_EQ(rig.adapter.state(), device_state::closed);
  EXPECT_TRUE(first.done());
  rig.adapter.poll();
  EXPECT_TRUE(second.outcome().is(driver_error::bad_state));
  EXPECT_EQ(rig.adapter.next_deadline(), clock::never);
}

TEST(callbacks, a_device_may_be_closed_by_a_callback_while_a_command_is_in_flight) {
  verbs_rig rig;
  ASSERT_TRUE(rig.objects.close().ok());
  rig.machine.adapter().judge_commands(
      [](opcode, std::uint32_t) -> model::command_verdict { return {.what = fate::hold}; });
  firmware_command<commands::query_fw> held;
  rig.adapter.commands().submit(held);
  rig.adapter.poll();
  ASSERT_EQ(rig.adapter.commands().in_flight(), 1u);
  operation refused;
  refused.then([](operation&, void* d) noexcept { static_cast<device*>(d)->close(); },
               &rig.adapter);
  rig.adapter.bring_up(refused);
  rig.adapter.poll();
  EXPECT_EQ(rig.adapter.state(), device_state::closed);
  EXPECT_TRUE(held.outcome().is(transport_error::reset));
  rig.adapter.poll();
  EXPECT_EQ(rig.adapter.state(), device_state::closed);
  EXPECT_EQ(rig.adapter.next_deadline(), clock::never);
}

// The late answer ends the doubt although a callback starts the next bring-up in each poll.
TEST(callbacks, a_bring_up_that_is_tried_again_and_again_leaves_doubt_by_the_late_answer) {
  testing::device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    return {.what = code == opcode::run_fw ? fate::hold : fate::run};
  });
  ASSERT_TRUE(rig.bring_up().is(transport_error::timeout));
  ASSERT_EQ(rig.adapter.state(), device_state::in_doubt);
  rig.machine.adapter().judge_commands({});
  struct stubborn {
    explicit stubborn(device& of) : d(of) {}
    device& d;
    operation op;
    unsigned tries = 0;
    void start() {
      op.then(
          [](operation& o, void* self) noexcept {
            auto& s = *static_cast<stubborn*>(self);
            if (o.outcome().ok() || s.tries == 10'000) return;
            o.restart();
            s.start();
          },
          this);
      ++tries;
      d.bring_up(op);
    }
  } s(rig.adapter);
  s.start();
  rig.adapter.poll();
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return s.op.done() && s.op.outcome().ok(); }));
  EXPECT_LT(s.tries, 10'000u);
  EXPECT_EQ(rig.adapter.state(), device_state::up);
  EXPECT_TRUE(rig.tear_down().ok());
}

// The first bring-up ends as an orphan, and is not completed yet when the next one becomes one.
TEST(callbacks, a_bring_up_may_be_destroyed_while_an_orphan_waits_for_its_delivery) {
  testing::device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  struct stubborn {
    explicit stubborn(device& of) : d(of) {}
    device& d;
    operation op;
    bool found_down = false;
    void start() {
      op.then(
          [](operation& o, void* self) noexcept {
            auto& s = *static_cast<stubborn*>(self);
            if (s.d.state() == device_state::down) {
              s.found_down = true;
              operation destroyed;
              s.d.bring_up(destroyed);
              return;
            }
            o.restart();
            s.start();
          },
          this);
      d.bring_up(op);
    }
  } s(rig.adapter);
  {
    operation destroyed;
    rig.adapter.bring_up(destroyed);
    for (unsigned i = 0; i < 10; ++i) rig.adapter.poll();
    s.start();
  }
  EXPECT_TRUE(rig.run([&] { return s.found_down; }));
  EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; }));
  EXPECT_TRUE(rig.bring_up().ok());
  EXPECT_TRUE(rig.tear_down().ok());
}

TEST(callbacks, what_was_refused_before_the_objects_were_closed_is_told_by_the_device) {
  verbs_rig rig;
  destroy_memory_region refused;
  refused.start(rig.objects, {});
  EXPECT_TRUE(rig.objects.close().ok());
  EXPECT_EQ(rig.adapter.next_deadline(), 0u);
  rig.adapter.poll();
  EXPECT_TRUE(refused.outcome().is(driver_error::stale_handle));
}

TEST(callbacks, what_is_destroyed_between_its_end_and_its_delivery_is_forgotten) {
  verbs_rig rig;
  {
    destroy_memory_region refused;
    refused.start(rig.objects, {});
    operation up;
    rig.adapter.bring_up(up);
    port_operation port;
    port.open(rig.adapter, 7);
    context_request cancelled;
    rig.adapter.contexts().map(cancelled, {context_group::mtt, 100, 8});
    cancelled.cancel();
    EXPECT_EQ(rig.objects.next_deadline(), 0u);
  }
  const std::uint64_t held = rig.adapter.contexts().objects_held();
  rig.objects.poll();
  rig.run([] { return false; }, clock::milliseconds(10));
  EXPECT_EQ(rig.adapter.contexts().objects_held(), held);
}

class easy_callbacks : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.bring_up();
    a = rig.get(hca.open_rc());
    b = rig.get(hca.open_rc());
    rig.must(hca.connect(a, b.self));
    rig.must(hca.connect(b, a.self));
    from = rig.get(hca.allocate(4096));
    to = rig.get(hca.allocate(4096, easy::rights::all));
  }
  void post(unsigned count) {
    for (std::uint64_t n = 0; n < count; ++n)
      ASSERT_TRUE(
          a.post(queues::rdma_write{.wr_id = n, .remote = to.remote(), .data = from.part(0, 8)})
              .ok());
    // Nobody looks until all of them are there.
    rig.machine.run([] { return false; }, [] { return clock::never; }, clock::milliseconds(1));
  }

  easy_rig rig;
  easy::adapter& hca = rig.hca;
  easy::connection a, b;
  easy::memory from, to;
};

// Those that asked first are served first, although the callback of one asks again and polls.
TEST_F(easy_callbacks, a_poll_inside_a_callback_neither_overtakes_nor_loses_what_waits) {
  struct asking {
    asking(easy::adapter& h, easy::connection& to) : hca(h), c(to) {}
    easy::adapter& hca;
    easy::connection& c;
    easy::next_completion wait[3];
    easy::next_completion again;
  } s(hca, a);
  s.wait[0].then(
      [](operation&, void* self) noexcept {
        auto& it = *static_cast<asking*>(self);
        it.again.start(it.hca, it.c);
        it.hca.poll();
      },
      &s);
  for (easy::next_completion& w : s.wait) w.start(hca, a);
  post(4);
  ASSERT_TRUE(rig.run(
      [&] { return s.wait[0].done() && s.wait[1].done() && s.wait[2].done() && s.again.done(); },
      clock::seconds(1)));
  for (std::uint64_t n = 0; n < 3; ++n) EXPECT_EQ(s.wait[n].value().value().wr_id, n);
  EXPECT_EQ(s.again.value().value().wr_id, 3u);
}

// The connection is closed by the callback of the first: the others wait for nothing any more.
TEST_F(easy_callbacks, what_waits_in_turn_ends_with_its_connection) {
  struct asking {
    asking(easy::adapter& h, easy::connection& to) : hca(h), c(to) {}
    easy::adapter& hca;
    easy::connection& c;
    easy::next_completion wait[3];
    easy::closing close;
  } s(hca, a);
  s.wait[0].then(
      [](operation&, void* self) noexcept {
        auto& it = *static_cast<asking*>(self);
        it.close.start(it.hca, it.c);
      },
      &s);
  for (easy::next_completion& w : s.wait) w.start(hca, a);
  post(1);
  ASSERT_TRUE(rig.run([&] { return s.close.done() && s.wait[1].done() && s.wait[2].done(); },
                      clock::seconds(1)));
  EXPECT_TRUE(s.wait[0].outcome().ok());
  EXPECT_TRUE(s.close.outcome().ok());
  EXPECT_TRUE(s.wait[1].outcome().is(driver_error::stale_handle));
  EXPECT_TRUE(s.wait[2].outcome().is(driver_error::stale_handle));
}

TEST_F(easy_callbacks, a_wait_that_is_destroyed_leaves_its_completion_to_the_next) {
  auto first = std::make_unique<easy::next_completion>(hca, a);
  auto second = std::make_unique<easy::next_completion>(hca, a);
  easy::next_completion third(hca, a);
  first->then(
      [](operation&, void* other) noexcept {
        static_cast<std::unique_ptr<easy::next_completion>*>(other)->reset();
      },
      &second);
  auto cancelled = std::make_unique<easy::next_completion>(hca, a);
  cancelled->cancel();
  cancelled.reset();
  post(2);
  ASSERT_TRUE(rig.run([&] { return third.done(); }, clock::seconds(1)));
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(first->value().value().wr_id, 0u);
  EXPECT_EQ(third.value().value().wr_id, 1u);
}

}  // namespace
}  // namespace freehca
