// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Who gets the frames of Ethernet ports with A0 and B0 steering.
#include "ethernet_steering_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using macs = std::vector<std::uint64_t>;

// A0

TEST_F(ethernet_steering, a0_makes_numbers_of_the_ports_tables) {
  start(steering::by_groups);
  EXPECT_EQ(takers(own_mac), list{}) << "nobody to ask";
  using n = set_port_rqp_calc;
  image<n> numbers;
  under_test->ask({.unicast_numbers = [&](unsigned) { return numbers; },
                   .mac_index = [](unsigned port, std::uint64_t mac) -> std::optional<unsigned> {
                     if (port != 1 || mac != own_mac) return std::nullopt;
                     return 5;
                   }});
  for (const std::uint64_t mac : {own_mac, other_mac, group_mac, broadcast})
    EXPECT_EQ(takers(mac), list{}) << "SET_PORT told nothing";
  numbers.set<&n::base_qpn>(0x180).set<&n::n_mac>(7).set<&n::promisc_qpn>(0x191);
  numbers.set<&n::mcast_qpn>(0x192).set<&n::mcast_mode>(mcast_mode::standard);
  EXPECT_EQ(takers(own_mac), (list{0x185}));
  EXPECT_EQ(takers(own_mac, 2), list{}) << "the other port's table has it not";
  EXPECT_EQ(takers(other_mac), list{});
  EXPECT_EQ(takers(group_mac), (list{0x192}));
  EXPECT_EQ(takers(broadcast), (list{0x192}));
  numbers.set<&n::promisc>(true);
  EXPECT_EQ(takers(other_mac), (list{0x191}));
  EXPECT_EQ(takers(own_mac), (list{0x185}));
  numbers.set<&n::n_mac>(0);
  EXPECT_EQ(takers(own_mac), (list{0x180})) << "no bit of the number is the MAC's";
  EXPECT_TRUE(under_test->listens(1).promiscuous);
}

// B0

TEST_F(ethernet_steering, b0_finds_the_entry_of_port_address_and_kind) {
  start_b0();
  ASSERT_EQ(write_entry(gid_of(own_mac), {0x150}), ok);
  ASSERT_EQ(write_entry(gid_of(group_mac), {0x150, 0x151}), ok);
  EXPECT_EQ(members(1u, test_frame(own_mac).view), (member_list{{0x150, true}}));
  EXPECT_EQ(members(1u, test_frame(group_mac).view), (member_list{{0x150, false}, {0x151, true}}));
  EXPECT_EQ(takers(own_mac, 2), list{});
  EXPECT_EQ(takers(other_mac), list{});
  EXPECT_EQ(takers(broadcast), list{});
  EXPECT_EQ(place_of(gid_of(own_mac), 0), place_of(gid_of(own_mac), 1)) << "one hash for both";
  ASSERT_EQ(write_entry(gid_of(own_mac), {}), ok);
  EXPECT_EQ(takers(own_mac), list{});
}

TEST_F(ethernet_steering, b0_gives_what_has_no_entry_to_the_ports_promiscuous_members) {
  start_b0();
  ASSERT_EQ(write_entry(gid_of(own_mac), {0x150}), ok);
  const auto unicast = promiscuous_place(1, mcg_steering::unicast);
  ASSERT_EQ(write_promiscuous(unicast, {0x160, 0x161}), ok);
  ASSERT_EQ(write_promiscuous(promiscuous_place(1, mcg_steering::multicast), {0x162}), ok);
  EXPECT_EQ(takers(own_mac), (list{0x150}));
  EXPECT_EQ(takers(other_mac), (list{0x160, 0x161}));
  EXPECT_EQ(takers(broadcast), (list{0x162}));
  EXPECT_EQ(takers(other_mac, 2), list{});
  EXPECT_EQ(takers(broadcast, 2), list{});
  ASSERT_EQ(write_promiscuous(unicast, {0x163}), ok);
  EXPECT_EQ(takers(other_mac), (list{0x163})) << "an entry is written whole";
  ASSERT_EQ(write_promiscuous(unicast, {}), ok);
  EXPECT_EQ(takers(other_mac), list{});
  EXPECT_EQ(takers(broadcast), (list{0x162}));
  under_test->clear();
  EXPECT_EQ(takers(broadcast), list{});
}

TEST_F(ethernet_steering, both_protocols_share_the_table_and_its_chains) {
  start_b0();
  // The same 16 bytes are a GID of InfiniBand and an address of Ethernet.
  const gid both = gid_of(own_mac);
  const std::uint32_t first = place_of(both);
  constexpr std::uint32_t second = (1u << test_driver::log_mc_table) - 1;
  put_entry(both.data(), {0x150}, second, mcg_protocol::ib_ipv6);
  ASSERT_EQ(driver->command(opcode::write_mcg, driver->input, first).status, ok);
  ASSERT_EQ(write_at(second, both, {0x151}), ok);
  EXPECT_EQ(takers(own_mac), (list{0x151}));

  std::array<std::byte, grh::bytes> header{};
  transport_packet v;
  v.ingress.grh = header.data();
  std::copy_n(both.data(), both.size(), header.data() + grh{}.dgid.offset);
  EXPECT_EQ(members(v), (member_list{{0x150, true}}));
}

TEST_F(ethernet_steering, a_chain_in_a_circle_ends_with_the_slice_and_at_last) {
  start_b0(false);
  constexpr std::uint32_t entries = 1u << test_driver::log_mc_table;
  for (std::uint32_t i = 0; i < entries; ++i)
    ASSERT_EQ(write_at(i, gid_of(other_mac, 2), {0x150}, i + 1 < entries ? i + 1 : 1), ok);
  ASSERT_EQ(write_promiscuous(promiscuous_place(1, mcg_steering::unicast), {0x160}), ok);
  EXPECT_EQ(takers(own_mac), (list{0x160}));
  EXPECT_GT(slices, 10u);
  const auto before = whole().account.used();
  EXPECT_TRUE(under_test->listens(1).unicast.empty());
  EXPECT_LT(whole().account.used() - before, (1u << 16) * 16u);
}

TEST_F(ethernet_steering, hostile_entries) {
  using s = command_status;
  start_b0();
  EXPECT_EQ(write_entry(gid_of(own_mac, 0), {0x150}), s::bad_parameter);
  EXPECT_EQ(write_entry(gid_of(own_mac, 3), {0x150}), s::bad_parameter);
  gid reserved = gid_of(own_mac);
  reserved.data()[0] = std::byte{1};
  EXPECT_EQ(write_entry(reserved, {0x150}), s::bad_parameter);
  const auto unicast = promiscuous_place(1, mcg_steering::unicast);
  EXPECT_EQ(write_promiscuous(promiscuous_place(0, mcg_steering::unicast), {1}), s::bad_index);
  EXPECT_EQ(write_promiscuous(promiscuous_place(3, mcg_steering::unicast), {1}), s::bad_index);
  EXPECT_EQ(write_promiscuous(unicast | 1, {1}), s::bad_parameter);
  EXPECT_EQ(write_promiscuous(unicast | 1u << 31, {1}), s::bad_parameter);
  EXPECT_EQ(write_promiscuous(unicast, {1}, mcg_protocol::ib_ipv6), s::bad_parameter);
  EXPECT_EQ(write_promiscuous(unicast, list(121)), s::bad_parameter);
  EXPECT_EQ(driver->command(opcode::write_mcg, 0xdead'0000'0000, unicast, 1).status,
            s::internal_error);
  EXPECT_EQ(driver->command(opcode::write_mcg, driver->input, unicast, 2).status, s::bad_operation);
  EXPECT_EQ(takers(own_mac), list{});
}

TEST_F(ethernet_steering, hostile_entries_that_are_taken) {
  start_b0(false);
  const auto unicast = promiscuous_place(1, mcg_steering::unicast);
  ASSERT_EQ(write_promiscuous(unicast, list(300, 0x150)), ok);
  EXPECT_EQ(takers(own_mac), (list(120, 0x150))) << "as many as an entry holds";
  ASSERT_EQ(write_entry(gid_of(own_mac, 0), {0x151}), ok);
  ASSERT_EQ(write_entry(gid_of(own_mac, 255), {0x152}), ok);
  ASSERT_EQ(write_entry(gid_of(own_mac), list(300, 0x153)), ok);
  EXPECT_EQ(takers(own_mac), (list(120, 0x153)));
  EXPECT_GT(hca->complaints(), 0u);
}

TEST_F(ethernet_steering, promiscuous_entries_are_no_more_with_rules) {
  start(steering::by_rules);
  EXPECT_EQ(write_promiscuous(promiscuous_place(1, mcg_steering::unicast), {0x150}),
            command_status::bad_index);
}

TEST_F(ethernet_steering, b0_tells_the_addresses_of_its_entries) {
  start_b0();
  EXPECT_EQ(under_test->listens(1).multicast, macs{});
  ASSERT_EQ(write_entry(gid_of(own_mac), {0x150}), ok);
  ASSERT_EQ(write_entry(gid_of(broadcast), {0x150}), ok);
  ASSERT_EQ(write_entry(gid_of(other_mac, 2), {0x150}), ok);
  listening now = under_test->listens(1);
  EXPECT_EQ(now.unicast, macs{own_mac});
  EXPECT_EQ(now.multicast, macs{broadcast});
  EXPECT_FALSE(now.promiscuous || now.all_multicast || now.incomplete);
  EXPECT_EQ(under_test->listens(2).unicast, macs{other_mac});
  // One more in a chain, which a driver takes out without writing it.
  constexpr std::uint32_t further = (1u << test_driver::log_mc_table) - 1;
  const std::uint64_t twin = [&] {
    std::uint64_t mac = other_mac;
    while (place_of(gid_of(++mac)) != place_of(gid_of(own_mac))) continue;
    return mac;
  }();
  ASSERT_EQ(write_at(further, gid_of(twin), {0x150}), ok);
  ASSERT_EQ(write_entry(gid_of(own_mac), {0x150}, further), ok);
  EXPECT_EQ(under_test->listens(1).unicast, (macs{own_mac, twin}));
  ASSERT_EQ(write_entry(gid_of(own_mac), {0x150}), ok);
  EXPECT_EQ(under_test->listens(1).unicast, macs{own_mac});
  ASSERT_EQ(write_promiscuous(promiscuous_place(1, mcg_steering::unicast), {0x150}), ok);
  EXPECT_TRUE(under_test->listens(1).promiscuous);
  EXPECT_FALSE(under_test->listens(1).all_multicast);
  ASSERT_EQ(write_promiscuous(promiscuous_place(1, mcg_steering::multicast), {0x150}), ok);
  EXPECT_TRUE(under_test->listens(1).all_multicast);
  EXPECT_FALSE(under_test->listens(2).all_multicast);
  under_test->clear();
  now = under_test->listens(1);
  EXPECT_TRUE(now.unicast.empty() && !now.promiscuous && !now.all_multicast);
}

}  // namespace
}  // namespace freehca::model::test
