// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What Ethernet ports have of their own, against bytes worked out from Linux 6.1 mlx4_en and
// libmlx4: each piece is a store or a load of theirs, with the offset of their own constants.
#include <gtest/gtest.h>

#include <set>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/ethernet_statistics.hpp>
#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/mailboxes.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/wqe.hpp>

#include "hex_bytes.hpp"
#include "pieces.hpp"

namespace {

using namespace freehca::layouts;
using namespace pieces;

constexpr std::uint64_t mac = 0xf452'1401'7895;

// en_port.c mlx4_en_QUERY_PORT reads bytes 0, 1 and 5.
TEST(ethernet_query_port, link_autonegotiation_and_speed) {
  const auto i = made_of<query_port>({u8(0, 0x80 | 0x40), u8(1, 0x80), u8(5, 0x40)});
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_TRUE(i.get<&query_port::link_up>());
  EXPECT_TRUE(i.get<&query_port::autoneg_complete>());
  EXPECT_TRUE(i.get<&query_port::autoneg_supported>());
  EXPECT_EQ(i.get<&query_port::ib_mtu>(), 0u);
  EXPECT_EQ(i.get<&query_port::eth_link_speed>(), ethernet_speed::speed_40g);
  EXPECT_EQ(made_of<query_port>({u8(5, 0x20)}).get<&query_port::eth_link_speed>(),
            ethernet_speed::speed_56g);
  EXPECT_EQ(made_of<query_port>({u8(5, 1)}).get<&query_port::eth_link_speed>(),
            ethernet_speed::xfi_10g);
}

// en_port.c mlx4_SET_VLAN_FLTR: word 127 holds VLANs 0 to 31, bit 0 the lowest.
TEST(ethernet_filters, vlans_stand_from_the_end) {
  EXPECT_EQ(vlan_filter_place_of(0).word, 127u);
  EXPECT_EQ(vlan_filter_place_of(0).bit, 0u);
  EXPECT_EQ(vlan_filter_place_of(100).word, 124u);
  EXPECT_EQ(vlan_filter_place_of(100).bit, 4u);
  EXPECT_EQ(vlan_filter_place_of(4095).word, 0u);
  EXPECT_EQ(vlan_filter_place_of(4095).bit, 31u);
  std::set<unsigned> places;
  for (unsigned vid = 0; vid < 4096; ++vid)
    places.insert(vlan_filter_place_of(vid).word * 32 + vlan_filter_place_of(vid).bit);
  EXPECT_EQ(places.size(), 4096u);
  EXPECT_EQ(vlan_filter_words * vlan_filter_word::bytes, 512u);
  EXPECT_TRUE(mailboxes_of(opcode::set_vlan_fltr, 0).input);
  EXPECT_FALSE(mailboxes_of(opcode::set_vlan_fltr, 0).output);
  EXPECT_FALSE(mailboxes_of(opcode::set_mcast_fltr, 0).input);
}

// port.c mlx4_SET_MCAST_FLTR: mac | clear << 63.
TEST(ethernet_filters, multicast_addresses_are_immediate) {
  image<multicast_filter> i;
  i.set<&multicast_filter::mac>(0xffff'ffff'ffff).set<&multicast_filter::clear>(true);
  EXPECT_TRUE(holds(i, {be64(0, 0xffff'ffff'ffff | 1ull << 63)}));
}

// Offsets as the compiler gives them for struct mlx4_en_stat_out_mbox.
TEST(ethernet_statistics, groups_are_where_linux_reads_them) {
  using namespace statistics;
  EXPECT_EQ(rx_multicast.of(0), 0x318u);
  EXPECT_EQ(rx_octets_framing.of(statistics_no_vlan), 0x468u);
  EXPECT_EQ(rx_octets.of(statistics_no_vlan), 0x478u);
  EXPECT_EQ(rx_frames.of(0), 0x480u);
  EXPECT_EQ(rx_frames.of(statistics_no_vlan), 0x540u);
  EXPECT_EQ(tx_64.of(statistics_loopback), 0x5e0u);
  EXPECT_EQ(tx_broadcast.of(0), 0x8b8u);
  EXPECT_EQ(tx_octets_framing.of(statistics_loopback), 0xa80u);
  EXPECT_EQ(tx_octets.of(statistics_loopback), 0xa90u);
  EXPECT_EQ(tx_frames.of(0), 0xa98u);
  EXPECT_EQ(tx_frames.of(statistics_loopback), 0xb70u);
  const auto i = made_of<ethernet_statistics>(
      {be64(0x558, 1), be64(0x578, 2), be64(0x580, 3), be64(0x588, 4), be64(0x590, 5),
       be32(0xb88, 6), be32(0xb8c, 7), be32(0xb90, 8), be32(0xb94, 9), be32(0xb98, 10),
       be32(0xb9c, 11), be32(0xba0, 12), be32(0xba4, 13), be32(0xba8, 14)});
  std::uint64_t next = 0;
  i.dump([&next](const bits& row, std::uint64_t value) { EXPECT_EQ(value, ++next) << row.name; });
  EXPECT_EQ(next, 14u);
}

TEST(ethernet_statistics, modifiers_counters_and_pauses) {
  image<dump_eth_stats_modifier> d;
  d.set<&dump_eth_stats_modifier::port>(2).set<&dump_eth_stats_modifier::reset>(true);
  EXPECT_TRUE(holds(d, {be32(0, 1 << 8 | 2)}));
  d.set<&dump_eth_stats_modifier::flow_control>(true);
  EXPECT_TRUE(holds(d, {be32(0, 1 << 12 | 1 << 8 | 2)}));
  image<query_if_stat_modifier> q;
  q.set<&query_if_stat_modifier::index>(7).set<&query_if_stat_modifier::reset>(true);
  EXPECT_TRUE(holds(q, {be32(0, 1u << 31 | 7)}));

  image<interface_counter> c;
  c.set<&interface_counter::num_interfaces>(1).set<&interface_counter::rx_frames>(2);
  c.set<&interface_counter::rx_bytes>(3).set<&interface_counter::tx_frames>(4);
  c.set<&interface_counter::tx_bytes>(5).set<&interface_counter::mode>(6);
  EXPECT_TRUE(holds(c, {u8(3, 6), be32(4, 1), be64(0x10, 2), be64(0x18, 3), be64(0x20, 4),
                        be64(0x28, 5)}));
  image<pause_statistics> p;
  p.set<&pause_statistics::rx_pause>(1).set<&pause_statistics::rx_pause_duration>(2);
  p.set<&pause_statistics::rx_pause_transition>(3).set<&pause_statistics::tx_pause>(4);
  p.set<&pause_statistics::tx_pause_duration>(5).set<&pause_statistics::tx_pause_transition>(6);
  EXPECT_TRUE(holds(p, {be64(0, 1), be64(8, 2), be64(0x10, 3), be64(0x18, 4), be64(0x20, 5),
                        be64(0x28, 6)}));
}

// en_netdev.c mlx4_en_uc_steer_add (gid[5], gid[10]), mcg.c mlx4_unicast_attach (gid[7]),
// mlx4_WRITE_PROMISC.
TEST(ethernet_mcg, addresses_and_promiscuous_entries) {
  using g = mcg_ethernet_gid;
  image<g> i;
  i.set<&g::port>(2).set<&g::steering>(mcg_steering::unicast).set<&g::mac>(mac);
  EXPECT_TRUE(holds(i, {u8(5, 2), u8(7, 1 << 1), number(10, mac, 6)}));
  EXPECT_EQ(mcg_ethernet_gid::bytes, 16u);
  image<mcg_promiscuous_modifier> m;
  m.set<&mcg_promiscuous_modifier::port>(1);
  EXPECT_TRUE(holds(m, {be32(0, 1 << 16)}));
  m.set<&mcg_promiscuous_modifier::steering>(mcg_steering::unicast);
  EXPECT_TRUE(holds(m, {be32(0, 1 << 16 | 1 << 1)}));
}

// device.h struct mlx4_net_trans_rule_hw_eth and _vxlan, mcg.c parse_trans_rule.
TEST(ethernet_flow_rule, ethernet_and_vxlan_headers) {
  using e = flow_header_ethernet;
  image<e> i;
  i.set<&e::words>(e::bytes / 4).set<&e::id>(flow_header_id::ethernet);
  i.set<&e::dmac>(mac).set<&e::dmac_mask>(0xffff'ffff'ffff);
  i.set<&e::smac>(mac + 1).set<&e::smac_mask>(0xffff'ffff'fffe);
  i.set<&e::ether_type_valid>(true).set<&e::ether_type>(0x0806);
  i.set<&e::vlan_mask>(0x0fff).set<&e::vlan>(100);
  EXPECT_TRUE(holds(i, {u8(0, 12), be16(2, 0xe001), number(0x0a, mac, 6),
                        number(0x12, 0xffff'ffff'ffff, 6), number(0x1a, mac + 1, 6),
                        number(0x22, 0xffff'ffff'fffe, 6), u8(0x29, 1), be16(0x2a, 0x0806),
                        be16(0x2c, 0x0fff), be16(0x2e, 100)}));
  using v = flow_header_vxlan;
  image<v> x;
  x.set<&v::words>(v::bytes / 4).set<&v::id>(flow_header_id::vxlan);
  x.set<&v::vni>(42).set<&v::vni_mask>(0xffffff);
  EXPECT_TRUE(holds(x, {u8(0, 4), be16(2, 0xe008), be32(8, 42 << 8), be32(12, 0xffffff00)}));
}

// en_tx.c mlx4_en_xmit; qp.c of libmlx4 for the destination.
TEST(ethernet_wqe, control_segment) {
  using c = wqe_ctrl_ethernet;
  image<c> i;
  i.set<&c::owner>(true).set<&c::opcode>(wqe_opcode::lso).set<&c::big_header>(true);
  i.set<&c::inner_ip_csum>(true).set<&c::inner_l4_csum>(true);
  i.set<&c::vlan_tag>(0x2064).set<&c::ins_cvlan>(true).set<&c::ds>(5);
  i.set<&c::dmac_47_32>(mac >> 32).set<&c::dmac_31_0>(mac & 0xffffffff);
  i.set<&c::l4_csum>(true).set<&c::ip_csum>(true).set<&c::cq_update>(wqe_completion::always);
  i.set<&c::no_icrc>(true).set<&c::force_loopback>(true);
  EXPECT_EQ(hex_bytes::hex(i), "9800004e 20644005 f452003f 14017895");
  EXPECT_EQ(hex_bytes::hex(image<c>{}.set<&c::ins_svlan>(true)), "00000000 00008000 00000000 00000000");
}

// verbs.c mlx4_create_ah of libmlx4: a datagram to a MAC on a VLAN, priority 5.
TEST(ethernet_wqe, datagram_on_a_vlan) {
  using d = wqe_datagram;
  image<d> i;
  i.set<&d::pd>(0x42).set<&d::port>(2).set<&d::vlan_present>(true).set<&d::grh>(true);
  i.set<&d::mgid_index>(3).set<&d::hop_limit>(64).set<&d::sl>(5 << 1).set<&d::tclass>(0x20);
  i.set<&d::vlan>(5 << 13 | 100).set<&d::dmac>(mac);
  EXPECT_TRUE(holds(i, {be32(0, 1u << 29 | 2 << 24 | 0x42), u8(5, 0x80), u8(9, 3), u8(0xb, 64),
                        be32(0xc, 5u << 29 | 0x20 << 20), be16(0x28, 5 << 13 | 100),
                        number(0x2a, mac, 6)}));
}

// device.h MLX4_PTYS_AN_DISABLE_*, mlx4_en.h MLX4_EN_WOL_*, port.c mlx4_SET_PORT_BEACON.
TEST(ethernet_commands, autonegotiation_wake_on_lan_and_beacon) {
  image<ptys> p;
  p.set<&ptys::an_disable_cap>(true);
  EXPECT_TRUE(holds(p, {u8(0, 1 << 5)}));
  p.set<&ptys::an_disable_admin>(true);
  EXPECT_TRUE(holds(p, {u8(0, 1 << 5 | 1 << 6)}));
  image<wake_on_lan> w;
  w.set<&wake_on_lan::magic_packet>(true).set<&wake_on_lan::enabled>(true).set<&wake_on_lan::modify>(true);
  EXPECT_TRUE(holds(w, {be64(0, 7ull << 61)}));
  EXPECT_TRUE(mailboxes_of(opcode::set_port, 0).input);
  EXPECT_TRUE(mailboxes_of(opcode::set_port, 1).input);
  EXPECT_FALSE(mailboxes_of(opcode::set_port, 2).input);
  EXPECT_TRUE(mailboxes_of(opcode::set_port, 4).input);
}

}  // namespace
