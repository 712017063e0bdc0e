// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Packets between adapters: where they go, what is looked at, and what a dropped one costs.
#include <algorithm>

#include "bench.hpp"

namespace freehca::infiniband_switch::test {
namespace {

using namespace layouts;

struct switch_forwarding : bench {
  void SetUp() override {
    manage({1, 2, 3});
    for (auto& q : around.sent) q.clear();
  }
  void expect_nothing() {
    for (unsigned port = 1; port <= count; ++port) EXPECT_TRUE(around.sent[port].empty()) << port;
  }
  void change(unsigned port, auto how) {
    auto info = get<port_info>(smp_attribute::port_info, port);
    info.set<&port_info::state>(port_state::no_change)
        .set<&port_info::physical_state>(port_physical_state::no_change);
    how(info);
    set(smp_attribute::port_info, info, port);
  }
};

TEST_F(switch_forwarding, unicast_is_passed_on_as_it_came) {
  const bytes sent = wire_of(datagram(1, 2));
  node.arrived(1, sent);
  EXPECT_EQ(sent, taken(2));
  expect_nothing();
}

TEST_F(switch_forwarding, the_lane_is_chosen_anew_and_the_invariant_crc_stays) {
  image<sl_to_vl_table> table;
  table.set<&sl_to_vl_table::vls>(0x5555555555555555);
  set(smp_attribute::sl_to_vl_table, table, 1u << 8 | 2);
  const bytes sent = wire_of(datagram(1, 2));
  node.arrived(1, sent);
  const bytes got = taken(2);
  ASSERT_EQ(sent.size(), got.size());
  EXPECT_EQ(packets::arrival::good, packets::check(got)) << "a new variant CRC";
  EXPECT_EQ(std::byte{0x50}, got[0]);
  EXPECT_TRUE(std::equal(sent.begin() + 1, sent.end() - 2, got.begin() + 1));
  node.arrived(3, wire_of(datagram(3, 2)));
  EXPECT_EQ(std::byte{0}, taken(2)[0] & std::byte{0xf0}) << "by the port that it came in by";
}

TEST_F(switch_forwarding, a_service_level_without_a_lane) {
  image<sl_to_vl_table> table;
  table.set<&sl_to_vl_table::vls>(0xf955555555555555);
  set(smp_attribute::sl_to_vl_table, table, 1u << 8 | 2);
  auto p = datagram(1, 2);
  give(1, p);
  p.service_level = 1;  // lane 9 of eight
  give(1, p);
  expect_nothing();
  EXPECT_EQ(2u, counts(1).rcv_switch_relay.total());
}

TEST_F(switch_forwarding, a_lid_that_leads_nowhere) {
  const auto before = counts(1).rcv_switch_relay.total();
  give(1, datagram(1, 9));   // no entry
  give(1, datagram(1, 11));  // above LinearFDBTop
  give(1, datagram(1, 1));   // back to where it came from
  give(1, datagram(1, 0xbfff));
  expect_nothing();
  EXPECT_EQ(before + 4, counts(1).rcv_switch_relay.total());
}

TEST_F(switch_forwarding, a_port_that_is_not_there) {
  image<linear_forwarding_block> block;
  for (unsigned i = 0; i < 64; ++i) block.data()[i] = std::byte{count + 1};
  set(smp_attribute::linear_forwarding, block);
  around.sent[1].clear();
  give(1, datagram(1, 2));
  expect_nothing();
}

TEST_F(switch_forwarding, a_port_that_is_down_or_only_armed) {
  give(1, datagram(1, 4));
  EXPECT_EQ(1u, counts(4).xmit_discards.total());
  link(4);
  give(1, datagram(1, 4));
  set_state(4, port_state::armed);
  give(1, datagram(1, 4));
  EXPECT_EQ(3u, counts(4).xmit_discards.total());
  set_state(4, port_state::active);
  give(1, datagram(1, 4));
  EXPECT_EQ(1u, around.sent[4].size());
}

TEST_F(switch_forwarding, in_initialize_subnet_management_alone_comes_in) {
  link(4);
  give(4, datagram(4, 2));
  expect_nothing();
  EXPECT_EQ(0u, counts(4).rcv_packets.total());
  EXPECT_EQ(mad_status::success,
            ask(directed(mad_method::get, smp_attribute::node_info), 4).get<&dr_smp::status>());
  set_state(4, port_state::armed);
  give(4, datagram(4, 2));
  EXPECT_EQ(1u, around.sent[2].size());
  EXPECT_EQ(port_state::active, node.port(4).state()) << "who sends has been told (IBTA 7.2.7)";
}

TEST_F(switch_forwarding, subnet_management_by_lid_passes_in_initialize) {
  link(4);
  image<smp> m;
  give(1, to_qp0(m, 1, 4));
  ASSERT_EQ(1u, around.sent[4].size());
  EXPECT_EQ(wire_of(to_qp0(m, 1, 4)), taken(4));
  give(1, to_qp0(m, 1, 9));
  give(1, to_qp0(m, 1, 0xc000));
  expect_nothing();
}

TEST_F(switch_forwarding, multicast_goes_to_each_member_but_the_sender) {
  join(3, {0, 1, 2, 3, 4});
  around.sent[1].clear();
  const bytes sent = wire_of(datagram(1, 0xc003));
  node.arrived(1, sent);
  EXPECT_TRUE(around.sent[1].empty()) << "nothing is reflected";
  EXPECT_EQ(sent, taken(2));
  EXPECT_EQ(sent, taken(3));
  EXPECT_EQ(1u, counts(4).xmit_discards.total()) << "down";
  EXPECT_EQ(1u, counts(2).multicast_xmit.total());
}

TEST_F(switch_forwarding, multicast_without_members) {
  const auto before = counts(1).rcv_switch_relay.total();
  give(1, datagram(1, 0xc000));
  give(1, datagram(1, 0xf000));  // beyond the table, and no default port
  join(0, {1});
  around.sent[1].clear();
  give(1, datagram(1, 0xc000));
  expect_nothing();
  EXPECT_EQ(before + 3, counts(1).rcv_switch_relay.total());
}

TEST_F(switch_forwarding, multicast_beyond_the_table_goes_to_the_default_ports) {
  auto info = get<switch_info>(smp_attribute::switch_info);
  info.set<&switch_info::default_multicast_primary>(2);
  info.set<&switch_info::default_multicast_other>(3);
  set(smp_attribute::switch_info, info);
  around.sent[1].clear();
  give(1, datagram(1, 0xf000));
  EXPECT_EQ(1u, around.sent[2].size());
  around.sent[2].clear();
  give(2, datagram(2, 0xf000));
  EXPECT_EQ(1u, around.sent[3].size());
  EXPECT_TRUE(around.sent[2].empty());
}

TEST_F(switch_forwarding, what_is_longer_than_a_links_mtu) {
  change(2, [](auto& i) { i.template set<&port_info::neighbor_mtu>(ib_mtu::mtu_256); });
  around.sent[1].clear();
  give(1, datagram(1, 2));
  EXPECT_EQ(1u, around.sent[2].size()) << "256 bytes";
  const auto longer = [](std::uint16_t slid, std::uint16_t dlid) {
    bytes content = packets::build(datagram(slid, dlid));
    content.resize(content.size() + 1024);
    auto link = image<lrh>::from_bytes(content.data());
    link.set<&lrh::packet_length>((content.size() + icrc_bytes) / 4);
    std::copy_n(link.data(), lrh::bytes, content.begin());
    return packets::to_wire(content);
  };
  node.arrived(1, longer(1, 2));
  EXPECT_EQ(1u, around.sent[2].size());
  EXPECT_EQ(1u, counts(2).xmit_discards.total());
  node.arrived(1, longer(1, 3));
  EXPECT_EQ(1u, around.sent[3].size());
  node.arrived(2, longer(2, 3));
  EXPECT_EQ(1u, around.sent[3].size());
  EXPECT_EQ(1u, counts(2).rcv_errors.total());
}

TEST_F(switch_forwarding, partitions_are_enforced_where_a_manager_says_so) {
  image<pkey_table> table;
  set_element<&pkey_table::pkeys, std::uint16_t>(table, 0, 0x7fff);
  set_element<&pkey_table::pkeys, std::uint16_t>(table, 5, 0x8002);
  set(smp_attribute::pkey_table, table, 1u << 16);
  set(smp_attribute::pkey_table, table, 2u << 16);
  const auto passes = [this](std::uint16_t pkey) {
    around.sent[1].clear();
    around.sent[2].clear();
    auto p = datagram(1, 2);
    p.pkey = pkey;
    give(1, p);
    return !around.sent[2].empty();
  };
  EXPECT_TRUE(passes(0x1234));
  change(2, [](auto& i) { i.template set<&port_info::partition_enforce_out>(true); });
  EXPECT_FALSE(passes(0x9234));
  EXPECT_TRUE(passes(0xffff));
  EXPECT_FALSE(passes(0x7fff)) << "both are limited members";
  EXPECT_TRUE(passes(0x0002));
  EXPECT_EQ(2u, counts(2).xmit_constraint.total());
  change(1, [](auto& i) { i.template set<&port_info::partition_enforce_in>(true); });
  EXPECT_FALSE(passes(0x9234));
  EXPECT_EQ(1u, counts(1).rcv_constraint.total());
  EXPECT_EQ(2u, counts(2).xmit_constraint.total());
}

TEST_F(switch_forwarding, who_does_not_read_costs_nobody_else_anything) {
  around.takes[2] = false;
  const std::size_t fitting = out_queue::most_bytes / wire_of(datagram(1, 2)).size();
  for (std::size_t i = 0; i < fitting + 10; ++i) give(1, datagram(1, 2));
  EXPECT_EQ(10u, counts(2).xmit_discards.total());
  give(1, datagram(1, 3));
  give(3, datagram(3, 1));
  EXPECT_EQ(1u, around.sent[3].size());
  EXPECT_EQ(1u, around.sent[1].size());
  around.sent[1].clear();
  // Lane 15 has a bound of its own, and goes first.
  for (unsigned i = 0; i < out_queue::most_management + 3; ++i) give(1, to_qp0(image<smp>{}, 1, 2));
  EXPECT_EQ(3u, counts(1).vl15_dropped.total());
  around.takes[2] = true;
  node.has_room(2);
  EXPECT_EQ(fitting + out_queue::most_management, around.sent[2].size());
  EXPECT_EQ(wire_of(to_qp0(image<smp>{}, 1, 2)), around.sent[2].front());
  EXPECT_EQ(wire_of(datagram(1, 2)), around.sent[2].back());
}

}  // namespace
}  // namespace freehca::infiniband_switch::test
