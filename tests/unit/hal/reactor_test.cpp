// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/reactor.hpp>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace freehca {
namespace {

/// Work of an owner, which ends it when it is told to end early.
struct work {
  reactor loop;
  std::vector<operation*> asked;
  void start(operation& op, std::uint64_t deadline = operation::no_deadline) {
    op.set_deadline(deadline);
    op.begin(
        [](operation& o, void* self) noexcept {
          auto& of = *static_cast<work*>(self);
          of.asked.push_back(&o);
          if (o.where() != operation::phase::ended && !o.dropped()) of.loop.end(o, o.stop_reason());
        },
        this);
    loop.watch(op);
  }
};

TEST(reactor, expires_what_is_overdue_once_and_knows_the_next) {
  work w;
  operation ops[4];
  EXPECT_EQ(w.loop.next_deadline(), clock::never);
  const std::uint64_t due[] = {300, 100, 200, 400};
  for (unsigned i = 0; i < 4; ++i) w.start(ops[i], due[i]);
  EXPECT_EQ(w.loop.next_deadline(), 100u);
  w.loop.expire(99);
  EXPECT_TRUE(w.asked.empty());
  w.loop.expire(200);
  EXPECT_EQ(w.asked, (std::vector<operation*>{&ops[1], &ops[2]}));
  EXPECT_EQ(w.loop.next_deadline(), 0u) << "two wait for their completion";
  EXPECT_EQ(w.loop.deliver(), 2u);
  EXPECT_TRUE(ops[2].outcome().is(transport_error::timeout));
  EXPECT_EQ(w.loop.next_deadline(), 300u);
  ops[0].complete({});
  w.loop.expire(300);
  EXPECT_EQ(w.loop.next_deadline(), 400u);
  EXPECT_EQ(w.asked.size(), 2u);
  w.loop.expire(1000);
  EXPECT_EQ(w.asked.size(), 3u);
  EXPECT_EQ(w.loop.deliver(), 1u);
  EXPECT_EQ(w.loop.next_deadline(), clock::never);
}

TEST(reactor, keeps_the_order_of_equal_deadlines_and_takes_any) {
  work w;
  operation a, b, last, first;
  w.start(a, 50);
  w.start(b, 50);
  w.start(last, clock::never - 1);
  w.start(first, 0);
  w.loop.expire(clock::never - 1);
  EXPECT_EQ(w.asked, (std::vector<operation*>{&first, &a, &b, &last}));
  EXPECT_EQ(w.loop.deliver(), 4u);
}

TEST(reactor, a_deadline_may_move_while_its_operation_is_under_way) {
  work w;
  operation a, b;
  w.start(a, 50);
  w.start(b, 60);
  w.loop.watch(a, 70);
  EXPECT_EQ(a.deadline(), 70u);
  EXPECT_EQ(w.loop.next_deadline(), 60u);
  w.loop.watch(b, operation::no_deadline);
  EXPECT_EQ(w.loop.next_deadline(), 70u);
  a.complete({});
  EXPECT_EQ(w.loop.next_deadline(), clock::never);
  b.complete({});
}

TEST(reactor, what_has_ended_keeps_its_outcome) {
  work w;
  operation a;
  w.start(a, 50);
  w.loop.end(a, driver_error::busy);
  EXPECT_FALSE(a.done());
  EXPECT_EQ(a.where(), operation::phase::ended);
  a.cancel();
  w.loop.expire(100);
  EXPECT_TRUE(w.asked.empty());
  EXPECT_FALSE(a.restart());
  EXPECT_EQ(w.loop.deliver(), 1u);
  EXPECT_TRUE(a.outcome().is(driver_error::busy));
}

TEST(reactor, refuses_what_has_not_begun_and_completes_it_at_the_next_delivery) {
  reactor loop;
  operation a;
  loop.refuse(a, driver_error::busy);
  EXPECT_FALSE(a.done());
  EXPECT_EQ(loop.next_deadline(), 0u);
  a.cancel();
  EXPECT_EQ(loop.deliver(), 1u);
  EXPECT_TRUE(a.outcome().is(driver_error::busy));
  EXPECT_EQ(loop.next_deadline(), clock::never);
}

/// Tries again whatever is refused.
struct stubborn {
  reactor loop;
  operation op;
  unsigned tries = 0;
  void start() {
    op.then(
        [](operation& o, void* self) noexcept {
          o.restart();
          static_cast<stubborn*>(self)->start();
        },
        this);
    ++tries;
    loop.refuse(op, driver_error::busy);
  }
};

TEST(reactor, a_retry_that_is_refused_at_once_is_for_the_next_delivery) {
  stubborn s;
  s.start();
  for (unsigned i = 1; i < 5; ++i) {
    EXPECT_EQ(s.tries, i);
    EXPECT_EQ(s.loop.next_deadline(), 0u);
    EXPECT_EQ(s.loop.deliver(), 1u);
  }
}

/// Operations whose completions are noted, and of which one delivers from inside its callback.
struct nested {
  reactor loop;
  operation ops[4];
  std::vector<unsigned> order;
  unsigned deliverer = 0;
  unsigned inner = 0;
  bool ends_another = false;
  nested() {
    for (operation& o : ops)
      o.then(
          [](operation& one, void* self) noexcept {
            auto& n = *static_cast<nested*>(self);
            const auto i = static_cast<unsigned>(&one - n.ops);
            n.order.push_back(i);
            if (i != n.deliverer) return;
            if (n.ends_another) n.loop.refuse(n.ops[3], driver_error::busy);
            n.inner = n.loop.deliver();
          },
          this);
  }
};

TEST(reactor, a_delivery_inside_a_delivery_neither_overtakes_nor_loses_the_rest) {
  nested n;
  n.ends_another = true;
  for (unsigned i = 0; i < 3; ++i) n.loop.refuse(n.ops[i], driver_error::busy);
  EXPECT_EQ(n.loop.deliver(), 1u);
  EXPECT_EQ(n.inner, 3u);
  EXPECT_EQ(n.order, (std::vector<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(n.loop.next_deadline(), clock::never);
}

TEST(reactor, a_delivery_inside_the_last_callback_finds_nothing) {
  nested n;
  n.deliverer = 1;
  for (unsigned i = 0; i < 2; ++i) n.loop.refuse(n.ops[i], driver_error::busy);
  EXPECT_EQ(n.loop.deliver(), 2u);
  EXPECT_EQ(n.inner, 0u);
  EXPECT_EQ(n.order, (std::vector<unsigned>{0, 1}));
}

TEST(reactor, what_is_destroyed_leaves_every_list) {
  work w;
  auto timed = std::make_unique<operation>(), ended = std::make_unique<operation>();
  w.start(*timed, 10);
  w.start(*ended, 20);
  w.loop.end(*ended, {});
  timed.reset();
  ended.reset();
  EXPECT_EQ(w.asked.size(), 2u) << "both are told to their owner";
  EXPECT_EQ(w.loop.next_deadline(), clock::never);
  EXPECT_EQ(w.loop.deliver(), 0u);
  w.loop.expire(100);
  EXPECT_EQ(w.asked.size(), 2u);
}

TEST(reactor, a_callback_may_destroy_what_is_delivered_behind_it) {
  reactor loop;
  operation first;
  auto second = std::make_unique<operation>();
  first.then([](operation&,
                void* other) noexcept { static_cast<std::unique_ptr<operation>*>(other)->reset(); },
             &second);
  loop.refuse(first, driver_error::busy);
  loop.refuse(*second, driver_error::busy);
  EXPECT_EQ(loop.deliver(), 1u);
  EXPECT_EQ(second, nullptr);
}

TEST(reactor, an_expiry_may_destroy_what_expires_behind_it) {
  struct chain {
    reactor loop;
    operation first;
    std::unique_ptr<operation> second = std::make_unique<operation>();
  } c;
  const auto start = [&c](operation& o, std::uint64_t at) {
    o.set_deadline(at);
    o.begin(
        [](operation& one, void* self) noexcept {
          auto& of = *static_cast<chain*>(self);
          if (&one == &of.first && !one.dropped()) of.second.reset();
        },
        &c);
    c.loop.watch(o);
  };
  start(c.first, 10);
  start(*c.second, 10);
  c.loop.expire(10);
  EXPECT_EQ(c.second, nullptr);
  EXPECT_EQ(c.loop.next_deadline(), clock::never);
}

TEST(reactor, what_has_ended_moves_to_another) {
  reactor a, b;
  operation one, two;
  a.refuse(one, driver_error::busy);
  b.refuse(two, driver_error::busy);
  b.take_ended(a);
  EXPECT_FALSE(a.has_ended());
  EXPECT_EQ(b.deliver(), 2u);
  EXPECT_TRUE(one.done() && two.done());
}

TEST(reactor, is_due_at_once_when_woken_until_the_next_poll) {
  reactor loop;
  loop.wake();
  EXPECT_EQ(loop.next_deadline(), 0u);
  loop.begin_poll();
  EXPECT_EQ(loop.next_deadline(), clock::never);
  freehca::crossing letter;
  letter.arrive = [](freehca::crossing&) noexcept {};
  loop.mail.put(letter);
  EXPECT_EQ(loop.next_deadline(), 0u);
  loop.mail.take();
  EXPECT_EQ(loop.next_deadline(), clock::never);
}

#ifndef NDEBUG
TEST(reactor_death, an_expiry_inside_an_expiry_traps) {
  reactor loop;
  operation op;
  op.set_deadline(1);
  op.begin([](operation&, void* self) noexcept { static_cast<reactor*>(self)->expire(1); }, &loop);
  loop.watch(op);
  EXPECT_DEATH(loop.expire(1), "");
  op.complete({});
}
#endif

}  // namespace
}  // namespace freehca
