// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/operation.hpp>
#include <freehca/hal/reactor.hpp>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "support/task.hpp"

namespace freehca {
namespace {

using testing::task;

/// An owner that completes what is pending when it is told to.
struct owner {
  std::vector<operation*> cancelled;
  void start(operation& op) {
    op.begin([](operation& o,
                void* self) noexcept { static_cast<owner*>(self)->cancelled.push_back(&o); },
             this);
  }
};

TEST(operation, goes_from_idle_to_done_and_again) {
  owner o;
  operation op;
  EXPECT_EQ(op.where(), operation::phase::idle);
  o.start(op);
  EXPECT_EQ(op.where(), operation::phase::queued);
  op.mark_in_flight();
  EXPECT_FALSE(op.done());
  op.complete(transport_error::timeout);
  EXPECT_TRUE(op.done());
  EXPECT_TRUE(op.outcome().is(transport_error::timeout));
  op.restart();
  EXPECT_EQ(op.where(), operation::phase::idle);
  o.start(op);
  op.complete({});
  EXPECT_TRUE(op.outcome().ok());
}

TEST(operation, calls_back_once_as_its_last_touch) {
  owner o;
  auto* op = new operation;
  static int calls;
  calls = 0;
  op->then(
      [](operation& self, void*) noexcept {
        ++calls;
        delete &self;
      },
      nullptr);
  o.start(*op);
  op->complete({});
  EXPECT_EQ(calls, 1);
}

TEST(operation, cancel_asks_the_owner_while_there_is_something_to_cancel) {
  owner o;
  operation op;
  op.cancel();
  EXPECT_TRUE(o.cancelled.empty());
  o.start(op);
  op.cancel();
  EXPECT_EQ(o.cancelled, std::vector<operation*>{&op});
  op.complete(driver_error::cancelled);
  op.cancel();
  EXPECT_EQ(o.cancelled.size(), 1u);
}

TEST(operation, completion_takes_it_out_of_its_list) {
  owner o;
  list<operation> queue;
  operation op;
  o.start(op);
  queue.push_back(op);
  op.complete({});
  EXPECT_TRUE(queue.empty());
}

task both(operation& a, operation& b, std::vector<status>& seen) {
  seen.push_back(co_await a);
  seen.push_back(co_await b);
}

TEST(operation, co_await_gives_the_outcome) {
  owner o;
  operation a, b;
  std::vector<status> seen;
  o.start(a);
  o.start(b);
  b.complete(driver_error::busy);
  both(a, b, seen);
  EXPECT_TRUE(seen.empty());
  a.complete({});
  ASSERT_EQ(seen.size(), 2u) << "one that is done already does not suspend";
  EXPECT_TRUE(seen[0].ok());
  EXPECT_TRUE(seen[1].is(driver_error::busy));
}

TEST(operation, keeps_the_first_reason_to_end_early) {
  owner o;
  operation a, b;
  o.start(a);
  EXPECT_TRUE(a.stop_reason().ok());
  a.expire();
  a.cancel();
  EXPECT_TRUE(a.stop_reason().is(transport_error::timeout));
  o.start(b);
  b.cancel();
  b.expire();
  EXPECT_TRUE(b.stop_reason().is(driver_error::cancelled));
  EXPECT_EQ(o.cancelled, (std::vector<operation*>{&a, &a, &b, &b}));
  a.complete({});
  EXPECT_TRUE(a.outcome().ok()) << "a reason is no outcome";
  a.restart();
  o.start(a);
  EXPECT_TRUE(a.stop_reason().ok());
  a.complete({});
  b.complete(b.stop_reason());
  b.restart();
  reactor loop;
  loop.refuse(b, driver_error::busy);
  EXPECT_TRUE(b.stop_reason().is(driver_error::busy));
  b.complete(b.stop_reason());
}

/// An owner that counts what is dropped, and ends it or leaves that to drop().
struct dropping_owner {
  unsigned dropped = 0;
  bool ends = false;
  void start(operation& op) {
    op.begin(
        [](operation& o, void* self) noexcept {
          auto& of = *static_cast<dropping_owner*>(self);
          if (!o.dropped()) return;
          ++of.dropped;
          if (of.ends) o.complete(transport_error::bad_reply);
        },
        this);
  }
};

TEST(operation, destroyed_under_way_is_forgotten_by_its_owner_and_leaves_its_list) {
  dropping_owner o;
  list<operation> queue;
  static unsigned called;
  called = 0;
  for (const bool ends : {false, true}) {
    o.ends = ends;
    auto op = std::make_unique<operation>();
    op->then([](operation&, void*) noexcept { ++called; }, nullptr);
    o.start(*op);
    queue.push_back(*op);
    op.reset();
    EXPECT_TRUE(queue.empty());
  }
  EXPECT_EQ(o.dropped, 2u);
  EXPECT_EQ(called, 0u) << "then() does not hear of it";
  // Nobody is asked for one that is idle, done, or was refused.
  { operation idle; }
  reactor loop;
  {
    operation refused;
    loop.refuse(refused, driver_error::busy);
  }
  EXPECT_FALSE(loop.has_ended());
  {
    operation done;
    o.start(done);
    done.complete({});
  }
  EXPECT_EQ(o.dropped, 2u);
}

TEST(operation, dropped_by_the_owner_of_a_part_is_done_with_what_is_known) {
  dropping_owner o;
  operation part;
  o.start(part);
  part.drop();
  EXPECT_TRUE(part.outcome().is(driver_error::cancelled));
  EXPECT_TRUE(part.restart());
  EXPECT_FALSE(part.dropped());
  o.ends = true;
  o.start(part);
  part.drop();
  EXPECT_TRUE(part.outcome().is(transport_error::bad_reply));
}

TEST(operation, tells_a_coroutine_that_waits_when_it_is_destroyed_and_cannot_be_started_there) {
  dropping_owner o;
  static unsigned called;
  called = 0;
  auto op = std::make_unique<operation>();
  op->then_always(
      [](operation& self, void*) noexcept {
        ++called;
        EXPECT_TRUE(self.outcome().is(driver_error::cancelled));
        EXPECT_FALSE(self.restart());
      },
      nullptr);
  o.start(*op);
  op.reset();
  EXPECT_EQ(called, 1u);
}

TEST(operation, under_way_is_not_restarted) {
  dropping_owner o;
  operation op;
  EXPECT_TRUE(op.restart());
  op.set_deadline(5);
  o.start(op);
  EXPECT_FALSE(op.restart());
  EXPECT_EQ(op.where(), operation::phase::queued);
  EXPECT_EQ(op.deadline(), 5u);
  op.mark_in_flight();
  EXPECT_FALSE(op.restart());
  EXPECT_EQ(op.where(), operation::phase::in_flight);
  op.complete({});
  EXPECT_TRUE(op.restart());
}

}  // namespace
}  // namespace freehca
