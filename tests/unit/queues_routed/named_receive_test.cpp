// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// take_named_receive(): it takes one receive that names its queue, and leaves every other entry
// where it is.
#include <gtest/gtest.h>

#include <cstring>

#include "completion_world.hpp"
#include "support/store_buffer.hpp"

namespace freehca::queues {
namespace {

using layouts::cqe;
using testing::store_buffer;

struct named_receive : ::testing::Test {
  // Routed accesses need one.
  store_buffer buffer;

  static void write(completion_world& w, unsigned place, unsigned pair) {
    std::memcpy(w.place(place), w.entry(pair, false).data(), cqe::bytes);
  }
  /// True if the entry is still there. `most_calls` bounds the calls of the lookup.
  static bool stays(completion_world& w, bool finds, unsigned most_calls) {
    const std::uint32_t before = w.queue.consumer_counter();
    unsigned calls = 0;
    work_completion each;
    const bool taken = w.queue.take_named_receive(each, [&](std::uint32_t srqn) {
      ++calls;
      return finds ? w.named(srqn) : nullptr;
    });
    EXPECT_LE(calls, most_calls);
    return !taken && w.queue.consumer_counter() == before && w.queue.dropped() == 0;
  }
};

TEST_F(named_receive, is_taken_from_the_queue_that_its_entry_names) {
  completion_world w(2, completion_kind::named);
  for (unsigned i : {1u, 0u}) write(w, 1 - i, i);
  for (unsigned i : {1u, 0u}) {
    work_completion each;
    ASSERT_TRUE(w.queue.take_named_receive(each, [&](std::uint32_t n) { return w.named(n); }));
    EXPECT_EQ(w.judge(each, i, false), "");
  }
  EXPECT_TRUE(stays(w, true, 0)) << "the queue is empty";
}

TEST_F(named_receive, is_left_if_no_queue_has_the_number) {
  completion_world w(2, completion_kind::named);
  write(w, 0, 0);
  EXPECT_TRUE(stays(w, false, 1));
}

TEST_F(named_receive, is_left_if_it_is_not_outstanding) {
  completion_world w(2, completion_kind::named);
  write(w, 0, 0);
  write(w, 1, 0);
  work_completion each;
  ASSERT_TRUE(w.queue.take_named_receive(each, [&](std::uint32_t n) { return w.named(n); }));
  EXPECT_TRUE(stays(w, true, 1));
}

TEST_F(named_receive, is_no_entry_of_another_kind) {
  for (const auto kind : {completion_kind::sends, completion_kind::receives,
                          completion_kind::shared, completion_kind::errors}) {
    completion_world w(2, kind);
    write(w, 0, 0);
    EXPECT_TRUE(stays(w, true, 0)) << static_cast<int>(kind);
  }
}

TEST_F(named_receive, is_none_of_a_closed_queue) {
  completion_world w(2, completion_kind::named);
  write(w, 0, 0);
  w.queue.close();
  work_completion each;
  EXPECT_FALSE(w.queue.take_named_receive(each, [&](std::uint32_t n) { return w.named(n); }));
}

}  // namespace
}  // namespace freehca::queues
