// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/operation.hpp>

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

}  // namespace
}  // namespace freehca
