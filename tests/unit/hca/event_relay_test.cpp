// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/event_relay.hpp>

#include <gtest/gtest.h>

#include <array>

namespace freehca {
namespace {

class event_relay_test : public ::testing::Test {
 protected:
  event_relay_test() { relay.open(storage.data()); }

  void put(unsigned number) {
    relay.put(event_relay::entry{}.set<&layouts::eqe::slave_id>(number));
  }
  /// 256: there is none.
  unsigned take() {
    event_relay::entry e;
    return relay.take(e) ? static_cast<unsigned>(e.get<&layouts::eqe::slave_id>()) : 256;
  }

  static_assert(event_relay::places == 256, "an event's number is a field of eight bits here");
  alignas(16) std::array<std::byte, event_relay::storage_bytes()> storage{};
  event_relay relay;
};

TEST_F(event_relay_test, gives_events_in_their_order_round_after_round) {
  EXPECT_TRUE(relay.empty());
  EXPECT_EQ(take(), 256u);
  for (unsigned i = 0; i < 3 * event_relay::places; ++i) {
    put(i % 256);
    EXPECT_FALSE(relay.empty());
    EXPECT_EQ(take(), i % 256);
    EXPECT_TRUE(relay.empty());
  }
  EXPECT_EQ(relay.dropped(), 0u);
}

TEST_F(event_relay_test, that_is_full_keeps_the_oldest_events_and_counts_the_others) {
  for (unsigned begin = 0; begin < 3; ++begin) {
    const std::uint64_t before = relay.dropped();
    for (unsigned i = 0; i < event_relay::places; ++i) put((begin + i) % 256);
    EXPECT_EQ(relay.dropped(), before) << "there is a place for each";
    for (unsigned i = 0; i < 5; ++i) put(99);
    EXPECT_EQ(relay.dropped(), before + 5);
    for (unsigned i = 0; i < event_relay::places; ++i) EXPECT_EQ(take(), (begin + i) % 256);
    EXPECT_EQ(take(), 256u) << "none of those that were lost";
    // The next round begins at another place.
    put(7);
    EXPECT_EQ(take(), 7u);
  }
}

TEST_F(event_relay_test, has_places_again_as_soon_as_one_was_taken) {
  for (unsigned i = 0; i < event_relay::places; ++i) put(i);
  EXPECT_EQ(take(), 0u);
  put(17);
  EXPECT_EQ(relay.dropped(), 0u);
  put(18);
  EXPECT_EQ(relay.dropped(), 1u);
  for (unsigned i = 1; i < event_relay::places; ++i) EXPECT_EQ(take(), i);
  EXPECT_EQ(take(), 17u);
  EXPECT_TRUE(relay.empty());
}

}  // namespace
}  // namespace freehca
