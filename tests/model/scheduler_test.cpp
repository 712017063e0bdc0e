// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The order in which scheduled functions run, and those that are taken out again.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "basis/scheduler.hpp"
#include "test_host.hpp"

namespace freehca::model::test {
namespace {

class scheduled : public ::testing::Test {
 protected:
  scheduler::work says(const char* what) {
    return [this, what] { said += what; };
  }

  test_host host;
  work_account account;
  scheduler work{host, account};
  std::string said;
};

TEST_F(scheduled, functions_run_in_order_of_time_and_then_of_scheduling) {
  work.soon(says("a"));
  work.after(0, says("b"));
  work.arrived(1, says("c"));
  work.after(1000, says("e"));
  work.soon(says("d"));
  work.run_due();
  EXPECT_EQ(said, "abcd");
  host.clock += 1000;
  work.soon(says("f"));
  work.run_due();
  EXPECT_EQ(said, "abcdef");
}

TEST_F(scheduled, one_that_was_cancelled_does_not_run) {
  work.soon(says("a"));
  scheduler::ticket soon = work.soon(says("b"));
  scheduler::ticket later = work.after(10, says("c"));
  work.soon(says("d"));
  EXPECT_EQ(work.backlog(), 3u);
  work.cancel(soon);
  work.cancel(later);
  EXPECT_FALSE(soon);
  EXPECT_EQ(work.backlog(), 2u);
  host.clock += 10;
  work.run_due();
  EXPECT_EQ(said, "ad");
  EXPECT_EQ(work.backlog(), 0u);
}

TEST_F(scheduled, what_a_function_schedules_runs_behind_what_waits) {
  work.soon([this] {
    said += "a";
    work.soon(says("c"));
  });
  work.soon(says("b"));
  work.run_due();
  EXPECT_EQ(said, "abc");
}

TEST_F(scheduled, a_long_line_keeps_its_order) {
  unsigned next = 0, wrong = 0;
  for (unsigned i = 0; i < 1000; ++i)
    work.soon([&, i] {
      if (next++ != i) ++wrong;
    });
  while (next < 1000) work.run_due();
  EXPECT_EQ(wrong, 0u);
}

/// Counts those of its kind that live.
struct counted {
  explicit counted(unsigned& count) : living(&count) { ++*living; }
  counted(const counted& other) : living(other.living) { ++*living; }
  ~counted() { --*living; }
  unsigned* living;
  char more[64] = {};
};

TEST_F(scheduled, what_functions_capture_ends_with_them) {
  unsigned living = 0;
  const auto large = [c = counted(living)] { EXPECT_GT(*c.living, 0u); };
  auto small = [c = std::make_unique<counted>(living)]() mutable { c.reset(); };
  EXPECT_EQ(living, 2u);
  work.soon(large);
  work.soon(large);
  scheduler::ticket gone = work.soon(large);
  EXPECT_EQ(living, 5u);
  work.cancel(gone);
  EXPECT_EQ(living, 4u);
  work.run_due();
  EXPECT_EQ(living, 2u);
  work.soon(large);
  work.clear();
  work.run_due();
  EXPECT_EQ(living, 2u);
  task moved(std::move(small));
  task other = std::move(moved);
  other();
  EXPECT_EQ(living, 1u);
}

}  // namespace
}  // namespace freehca::model::test
