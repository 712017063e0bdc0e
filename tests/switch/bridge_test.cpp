// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The bridge: whom it learns, whom it forgets, and whom it sends a frame.
#include <freehca/ethernet_switch/bridge.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace freehca::ethernet_switch {
namespace {

using bytes = std::vector<std::byte>;

struct world final : switch_common::surroundings {
  std::uint64_t now() override { return clock; }
  bool send(unsigned port, std::span<const std::byte> what) override {
    if (port == deaf) return false;
    sent[port].emplace_back(what.begin(), what.end());
    return true;
  }
  void tell(std::string_view what) override { told.emplace_back(what); }
  bool listens() const override { return true; }

  std::uint64_t clock = 1'000'000'000;
  unsigned deaf = 0;
  std::map<unsigned, std::vector<bytes>> sent;
  std::vector<std::string> told;
};

constexpr std::uint64_t a = 0x0202c9000001, b = 0x0202c9000002, everybody = 0xffffffffffff,
                        group = 0x333300000001;

bytes frame(std::uint64_t to, std::uint64_t from, std::size_t length = 60) {
  bytes f(length);
  for (unsigned i = 0; i < 6; ++i) {
    f[i] = static_cast<std::byte>(to >> (8 * (5 - i)));
    f[6 + i] = static_cast<std::byte>(from >> (8 * (5 - i)));
  }
  return f;
}

struct bridges : testing::Test {
  static constexpr unsigned count = 4;
  bridges() {
    for (unsigned port = 1; port <= count; ++port) subject.plug(port, true);
  }
  /// The ports that a frame leaves by.
  std::vector<unsigned> leaves_by(unsigned port, const bytes& f) {
    around.sent.clear();
    subject.arrived(port, f);
    std::vector<unsigned> by;
    for (const auto& [number, frames] : around.sent) {
      EXPECT_EQ(std::vector<bytes>{f}, frames);
      by.push_back(number);
    }
    return by;
  }
  using ports = std::vector<unsigned>;

  world around;
  bridge subject{count, around};
};

TEST_F(bridges, who_is_not_known_is_looked_for_everywhere) {
  EXPECT_EQ((ports{2, 3, 4}), leaves_by(1, frame(b, a)));
  EXPECT_EQ((ports{1}), leaves_by(2, frame(a, b))) << "a has been heard";
  EXPECT_EQ((ports{2}), leaves_by(1, frame(b, a)));
}

TEST_F(bridges, everybody_and_groups) {
  leaves_by(2, frame(everybody, group));
  for (const auto to : {everybody, group}) EXPECT_EQ((ports{2, 3, 4}), leaves_by(1, frame(to, a)));
}

TEST_F(bridges, what_is_for_somebody_beside_the_sender_stays_there) {
  leaves_by(1, frame(everybody, a));
  EXPECT_EQ(ports{}, leaves_by(1, frame(a, b)));
}

TEST_F(bridges, who_moves_is_found_again) {
  leaves_by(1, frame(everybody, a));
  leaves_by(3, frame(everybody, a));
  EXPECT_EQ((ports{3}), leaves_by(2, frame(a, b)));
}

TEST_F(bridges, what_is_old_is_forgotten) {
  leaves_by(1, frame(everybody, a));
  around.clock += address_table::age_ns - 1;
  EXPECT_EQ((ports{1}), leaves_by(2, frame(a, b)));
  around.clock += 1;
  EXPECT_EQ((ports{1, 3, 4}), leaves_by(2, frame(a, b)));
  ASSERT_LE(subject.deadline(), around.clock);
  subject.run();
  EXPECT_EQ(1u, subject.addresses().size()) << "b is young";
  around.clock += 2 * address_table::age_ns;
  subject.run();
  EXPECT_EQ(0u, subject.addresses().size());
  EXPECT_EQ(~std::uint64_t{0}, subject.deadline());
}

TEST_F(bridges, a_port_that_is_left_is_forgotten) {
  leaves_by(1, frame(everybody, a));
  subject.plug(1, false);
  EXPECT_EQ((ports{3, 4}), leaves_by(2, frame(a, b)));
  subject.plug(1, true);
  EXPECT_EQ((ports{1, 3, 4}), leaves_by(2, frame(a, b)));
}

TEST_F(bridges, what_is_for_a_neighbour_alone_goes_no_further) {
  for (const std::uint64_t to : {0x0180c2000000u, 0x0180c2000001u, 0x0180c200000fu})
    EXPECT_EQ(ports{}, leaves_by(1, frame(to, a))) << to;
  EXPECT_EQ((ports{2, 3, 4}), leaves_by(1, frame(0x0180c2000010, a)));
}

TEST_F(bridges, a_frame_without_room_for_its_header) {
  for (const std::size_t length : {0u, 6u, 13u}) subject.arrived(1, bytes(length));
  EXPECT_EQ(3u, subject.counts_of(1).malformed);
  EXPECT_TRUE(around.sent.empty());
  EXPECT_EQ((ports{2, 3, 4}), leaves_by(1, frame(b, a, 14)));
}

TEST_F(bridges, the_table_has_a_bound) {
  for (std::uint64_t i = 0; i < address_table::most_addresses + 100; ++i)
    subject.arrived(1, frame(everybody, 0x020000000000 + i));
  EXPECT_EQ(address_table::most_addresses, subject.addresses().size());
  EXPECT_EQ((ports{1}), leaves_by(2, frame(0x020000000000, b))) << "the first are still known";
}

TEST_F(bridges, who_does_not_read_costs_nobody_else_anything) {
  around.deaf = 2;
  const bytes f = frame(everybody, a, 1024);
  const std::size_t fitting = switch_common::out_queue::most_bytes / f.size();
  for (std::size_t i = 0; i < fitting + 5; ++i) subject.arrived(1, f);
  EXPECT_EQ(5u, subject.counts_of(2).discarded);
  EXPECT_EQ(fitting + 5, around.sent[3].size());
  around.deaf = 0;
  subject.has_room(2);
  EXPECT_EQ(fitting, around.sent[2].size());
}

}  // namespace
}  // namespace freehca::ethernet_switch
