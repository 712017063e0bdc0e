// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The order in which scheduled items run, the removal of items, and the list of pending ones.
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "basis/scheduler.hpp"
#include "test_host.hpp"

namespace freehca::model::test {
namespace {

class scheduled : public ::testing::Test, private work_receiver {
 protected:
  /// Adds `letter` to the text. Then schedules an item that adds `next`, unless that is 0.
  static work_item letter(char letter, char next = 0) {
    return {.number = static_cast<unsigned char>(letter),
            .value = static_cast<unsigned char>(next)};
  }
  void run_item(work_item& what) override {
    text += static_cast<char>(what.number);
    if (what.value != 0) work.soon(letter(static_cast<char>(what.value)));
  }

  test_host host;
  work_account account;
  adapter_clock clock{host};
  scheduler items{host, clock, account};
  work_source work{items, "test", *this};
  std::string text;
};

TEST_F(scheduled, items_run_in_order_of_time_and_then_of_scheduling) {
  work.soon(letter('a'));
  work.after(0, letter('b'));
  work.arrived(1, letter('c'));
  work.after(1000, letter('e'));
  work.soon(letter('d'));
  items.run_due();
  EXPECT_EQ(text, "abcd");
  host.clock += 1000;
  work.soon(letter('f'));
  items.run_due();
  EXPECT_EQ(text, "abcdef");
}

TEST_F(scheduled, a_cancelled_item_does_not_run) {
  work.soon(letter('a'));
  scheduler::ticket soon = work.soon(letter('b'));
  scheduler::ticket later = work.after(10, letter('c'));
  work.soon(letter('d'));
  EXPECT_EQ(items.backlog(), 3u);
  work.cancel(soon);
  work.cancel(later);
  EXPECT_FALSE(soon);
  EXPECT_EQ(items.backlog(), 2u);
  host.clock += 10;
  items.run_due();
  EXPECT_EQ(text, "ad");
  EXPECT_EQ(items.backlog(), 0u);
}

TEST_F(scheduled, an_item_of_another_item_runs_behind_those_that_wait) {
  work.soon(letter('a', 'c'));
  work.soon(letter('b'));
  items.run_due();
  EXPECT_EQ(text, "abc");
}

TEST_F(scheduled, a_long_line_keeps_its_order) {
  std::string expected;
  for (unsigned i = 0; i < 1000; ++i) {
    expected += static_cast<char>('a' + i % 26);
    work.soon(letter(expected.back()));
  }
  for (unsigned turn = 0; turn < 1000 && text.size() < expected.size(); ++turn) items.run_due();
  EXPECT_EQ(text, expected);
}

TEST_F(scheduled, each_receiver_runs_its_own_items) {
  struct other_part final : model::work_receiver {
    void run_item(work_item& what) override { bytes.push_back(what.bytes); }
    std::vector<std::vector<std::byte>> bytes;
  } part;
  const work_source other{items, "other", part};
  const std::vector<std::byte> packet(3000, std::byte{7});
  other.soon(1, {.bytes = packet});
  work.soon(letter('a'));
  items.run_due();
  EXPECT_EQ(text, "a");
  ASSERT_EQ(part.bytes.size(), 1u);
  EXPECT_EQ(part.bytes[0], packet);
}

using listed = std::tuple<std::string, std::uint64_t, std::uint32_t>;

TEST_F(scheduled, pending_items_are_listed_by_share_and_time) {
  const auto pending = [this] {
    std::vector<listed> all;
    items.each_pending([&all](const std::string& part, std::uint64_t due, const work_item& what) {
      all.emplace_back(part, due, what.number);
    });
    return all;
  };
  EXPECT_TRUE(pending().empty());
  const std::uint64_t now = host.clock;
  work.after(20, letter('c'));
  work.soon(2, letter('d'));
  work.soon(letter('b'));
  work.at(now - 1, letter('a'));
  scheduler::ticket gone = work.after(5, letter('x'));
  work.cancel(gone);
  const std::vector<listed> expected{
      {"test", now - 1, 'a'}, {"test", now, 'b'}, {"test", now + 20, 'c'}, {"test", now, 'd'}};
  EXPECT_EQ(pending(), expected);
  items.clear();
  EXPECT_TRUE(pending().empty());
  items.run_due();
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace freehca::model::test
