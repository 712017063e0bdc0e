// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands of Ethernet ports: what each changes.
#include <freehca/layouts/ethernet.hpp>

#include "ethernet_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class ethernet_commands : public ethernet_fixture {
 protected:
  status let_in_vlans(const std::vector<unsigned>& vids) {
    std::memset(host->at(driver->input), 0, 4096);
    for (const unsigned vid : vids) {
      const vlan_filter_place at = vlan_filter_place_of(vid);
      std::byte* word = host->at(driver->input + at.word * 4);
      store_be<std::uint32_t>(word, load_be<std::uint32_t>(word) | 1u << at.bit);
    }
    return driver->command(opcode::set_vlan_fltr, driver->input, 1).status;
  }
  status multicast(set_mcast_fltr_modifier what, std::uint64_t mac = 0, bool clear = false) {
    image<multicast_filter> in;
    in.set<&multicast_filter::clear>(clear).set<&multicast_filter::mac>(mac);
    return driver
        ->command(opcode::set_mcast_fltr, load_be<std::uint64_t>(in.data()), 1,
                  static_cast<unsigned>(what))
        .status;
  }
  status general(const image<set_port_general>& in) {
    return set_port(set_port_selector::general, in);
  }
};

}  // namespace

TEST_F(ethernet_commands, query_port_says_what_the_port_is) {
  const auto q = asked();
  using l = layouts::query_port;
  EXPECT_EQ(q.get<&l::supported_port_type>(), port_type::ethernet);
  EXPECT_TRUE(q.get<&l::suggested_type>());
  EXPECT_EQ(q.get<&l::eth_mtu>(), 9600u);
  EXPECT_EQ(q.get<&l::eth_link_speed>(), ethernet_speed::xfi_10g);
  EXPECT_EQ(q.get<&l::log_max_mac>(), 7u);
  EXPECT_EQ(q.get<&l::log_max_vlan>(), 7u);
  EXPECT_EQ(q.get<&l::mac>(), ethernet_options().mac);
  EXPECT_EQ(q.get<&l::mac>(), port().mac());
}

TEST_F(ethernet_commands, are_not_for_infiniband_ports) {
  EXPECT_EQ(set_port(set_port_selector::general, image<set_port_general>{}, 2),
            status::bad_operation);
  EXPECT_EQ(driver->command(opcode::set_vlan_fltr, driver->input, 2).status, status::bad_operation);
  EXPECT_EQ(driver->command(opcode::set_mcast_fltr, 0, 2).status, status::bad_operation);
  EXPECT_EQ(driver->command(opcode::dump_eth_stats, 0, 2, 0, driver->output).status,
            status::bad_operation);
  EXPECT_EQ(driver->command_with(opcode::set_port, image<set_port_ib>{}, 1).status,
            status::bad_operation);
}

TEST_F(ethernet_commands, set_port_keeps_the_general_settings) {
  using g = set_port_general;
  EXPECT_EQ(general(image<g>{}
                        .set<&g::v_mtu>(true)
                        .set<&g::mtu>(9026)
                        .set<&g::v_ignore_fcs>(true)
                        .set<&g::ignore_fcs>(true)
                        .set<&g::v_roce_mode>(true)
                        .set<&g::roce_mode>(port_roce_mode::v1_and_v2)
                        .set<&g::v_pptx>(true)
                        .set<&g::pptx>(true)
                        .set<&g::v_phv>(true)
                        .set<&g::phv_en>(true)),
            status::ok);
  EXPECT_EQ(port().frame_bytes_most(), 9022u);
  EXPECT_TRUE(port().keeps_bad_frames());
  EXPECT_TRUE(port().speaks_roce_v2());
  EXPECT_TRUE(port().told().pause_sent);
  EXPECT_TRUE(port().told().phv);
  const std::byte mac[6] = {{}, {}, {}, {}, std::byte{1}, std::byte{2}};
  EXPECT_EQ(general(image<g>{}
                        .set<&g::v_user_mtu>(true)
                        .set<&g::user_mtu>(1500)
                        .set<&g::v_user_mac>(true)
                        .set_bytes<&g::user_mac>(mac)),
            status::ok);
  EXPECT_EQ(port().told().user_mtu, 1500u);
  EXPECT_EQ(port().told().user_mac, 0x0102u);
  // What no bit names stays.
  EXPECT_EQ(port().frame_bytes_most(), 9022u);
  EXPECT_TRUE(port().keeps_bad_frames());
}

TEST_F(ethernet_commands, the_mtu_says_how_large_a_packet_of_roce_may_be) {
  using g = set_port_general;
  const auto with = [&](unsigned mtu) {
    EXPECT_EQ(general(image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(mtu)), status::ok);
    return hca->inside_now().links->mtu_bytes(1);
  };
  EXPECT_EQ(with(1526), 1024u);
  EXPECT_EQ(with(9026), 4096u);
  EXPECT_EQ(with(4096), 2048u);
}

TEST_F(ethernet_commands, an_mtu_that_there_is_not_is_refused) {
  using g = set_port_general;
  EXPECT_EQ(general(image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(9626)), status::ok);
  EXPECT_EQ(general(image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(9627)), status::bad_parameter);
  EXPECT_EQ(general(image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(20)), status::bad_parameter);
  EXPECT_EQ(port().frame_bytes_most(), 9622u);
}

TEST_F(ethernet_commands, set_port_writes_the_tables_of_macs_and_vlans_whole) {
  using m = set_port_mac_entry;
  const auto mac = image<m>{}.set<&m::mac>(0x0002'c900'0007).set<&m::valid>(true);
  EXPECT_EQ(set_table<m>(set_port_selector::mac_table, {{0, mac}, {127, mac}}), status::ok);
  EXPECT_EQ(port().mac_index(0x0002'c900'0007), 0u);
  EXPECT_EQ(port().mac_at(127), 0x0002'c900'0007u);
  EXPECT_EQ(port().mac_at(1), std::nullopt);
  EXPECT_EQ(port().mac_at(128), std::nullopt);
  EXPECT_EQ(port().filter().macs.size(), 2u);
  EXPECT_EQ(set_table<m>(set_port_selector::mac_table, {}), status::ok);
  EXPECT_EQ(port().mac_index(0x0002'c900'0007), std::nullopt);

  using v = set_port_vlan_entry;
  const auto vlan = image<v>{}.set<&v::valid>(true).set<&v::vlan_id>(100);
  EXPECT_EQ(set_table<v>(set_port_selector::vlan_table, {{2, vlan}}), status::ok);
  EXPECT_EQ(port().vlan_at(2), 100u);
  EXPECT_EQ(port().vlan_at(3), std::nullopt);
  EXPECT_EQ(set_table<v>(set_port_selector::vlan_table, {{1, vlan}}), status::bad_parameter);
  EXPECT_EQ(port().vlan_at(2), 100u);
}

TEST_F(ethernet_commands, set_port_writes_the_gid_table_in_two_forms) {
  std::byte gid[16] = {std::byte{0xfe}, std::byte{0x80}}, other[16] = {};
  other[15] = std::byte{9};
  using g = set_port_gid_entry;
  EXPECT_EQ(set_table<g>(set_port_selector::gid_table, {{3, image<g>{}.set_bytes<&g::gid>(gid)}}),
            status::ok);
  EXPECT_EQ(port().gid_index(gid, roce_version::v1), 3u);
  EXPECT_EQ(port().gid_index(gid, roce_version::v2), std::nullopt);
  EXPECT_EQ(port().gid(0u), std::nullopt);
  using r = set_port_roce_addr_entry;
  EXPECT_EQ(
      set_table<r>(set_port_selector::roce_addr,
                   {{0, image<r>{}.set_bytes<&r::gid>(gid)},
                    {1, image<r>{}.set_bytes<&r::gid>(gid).set<&r::version>(2).set<&r::type>(1)},
                    {127, image<r>{}.set_bytes<&r::gid>(other).set<&r::version>(2)}}),
      status::ok);
  EXPECT_EQ(port().gid_index(gid, roce_version::v1), 0u);
  EXPECT_EQ(port().gid_index(gid, roce_version::v2), 1u);
  EXPECT_EQ(port().gid_index(other, roce_version::v2), 127u);
  EXPECT_TRUE(port().gid(1u)->ipv6);
  EXPECT_FALSE(port().gid(127u)->ipv6);
  std::byte read[16];
  EXPECT_TRUE(hca->inside_now().links->gid(1, 127, read));
  EXPECT_EQ(std::memcmp(read, other, 16), 0);
  EXPECT_FALSE(hca->inside_now().links->gid(1, 128, read));
}

TEST_F(ethernet_commands, set_port_keeps_what_steers_and_what_schedules) {
  using q = set_port_rqp_calc;
  EXPECT_EQ(set_port(set_port_selector::rqp_calc,
                     image<q>{}.set<&q::base_qpn>(0x1234).set<&q::n_mac>(7).set<&q::promisc>(true)),
            status::ok);
  EXPECT_EQ(port().unicast_numbers().get<&q::base_qpn>(), 0x1234u);
  EXPECT_TRUE(port().unicast_numbers().get<&q::promisc>());
  using p = set_port_prio2tc;
  EXPECT_EQ(set_port(set_port_selector::prio2tc, image<p>{}.set<&p::prio7>(3)), status::ok);
  EXPECT_EQ(port().told().class_of_priority[7], 3u);
  EXPECT_EQ(set_port(set_port_selector::prio2tc, image<p>{}.set<&p::prio7>(8)),
            status::bad_parameter);
  using s = set_port_scheduler_entry;
  const auto with = [&](unsigned share, bandwidth_unit unit, unsigned rate) {
    const auto e = image<s>{}
                       .set<&s::pg>(7)
                       .set<&s::bw_percentage>(share)
                       .set<&s::max_bw_units>(unit)
                       .set<&s::max_bw_value>(rate);
    std::vector<std::pair<unsigned, image<s>>> all;
    for (unsigned i = 0; i < set_port_traffic_classes; ++i) all.emplace_back(i, e);
    return set_table<s>(set_port_selector::scheduler, all);
  };
  EXPECT_EQ(with(50, bandwidth_unit::mbps_100, 25), status::ok);
  EXPECT_EQ(port().told().classes[7], (traffic_class_settings{7, 50, 2'500'000'000}));
  EXPECT_EQ(with(50, bandwidth_unit::gbps_1, 40), status::ok);
  EXPECT_EQ(port().told().classes[0].bits_per_second, 40'000'000'000u);
  EXPECT_EQ(with(50, bandwidth_unit::gbps_1, no_bandwidth_limit), status::ok);
  EXPECT_EQ(port().told().classes[0].bits_per_second, 0u);
  EXPECT_EQ(with(101, bandwidth_unit::gbps_1, 1), status::bad_parameter);
  EXPECT_EQ(with(50, bandwidth_unit{5}, 1), status::bad_parameter);
  EXPECT_EQ(with(50, bandwidth_unit::gbps_1, 0), status::bad_parameter);
  EXPECT_EQ(with(50, bandwidth_unit::mbps_100, 256), status::bad_parameter);
  EXPECT_EQ(set_port(set_port_selector::prio_map,
                     image<set_port_prio_map>{}.set<&set_port_prio_map::prio1>(5)),
            status::ok);
  EXPECT_EQ(port().told().priority_map.get<&set_port_prio_map::prio1>(), 5u);
  using x = set_port_vxlan;
  EXPECT_EQ(set_port(set_port_selector::vxlan, image<x>{}
                                                   .set<&x::modify_enable>(true)
                                                   .set<&x::enable>(true)
                                                   .set<&x::modify_steering>(true)
                                                   .set<&x::steering>(5)),
            status::ok);
  EXPECT_TRUE(port().told().vxlan);
  EXPECT_EQ(port().told().vxlan_steering, 5u);
  EXPECT_EQ(set_port(static_cast<set_port_selector>(0x7), image<x>{}), status::bad_operation);
}

TEST_F(ethernet_commands, the_beacon_blinks) {
  EXPECT_EQ(driver
                ->command_with(opcode::set_port,
                               image<set_port_beacon>{}.set<&set_port_beacon::seconds>(30), 1,
                               static_cast<unsigned>(set_port_modifier::beacon))
                .status,
            status::ok);
  EXPECT_EQ(port().told().beacon_seconds, 30u);
}

TEST_F(ethernet_commands, the_vlan_filter_lets_in_what_it_names_and_what_has_no_vlan) {
  open();
  EXPECT_TRUE(passes(frame_to(broadcast, 100, 5)));
  ASSERT_EQ(let_in_vlans({100, 4094}), status::ok);
  EXPECT_FALSE(passes(frame_to(broadcast, 100, 5)));
  EXPECT_TRUE(passes(frame_to(broadcast, 100, 100)));
  EXPECT_TRUE(passes(frame_to(broadcast, 100, 4094)));
  EXPECT_TRUE(passes(frame_to(broadcast, 100, 7 << 13)));
  EXPECT_TRUE(passes(frame_to(broadcast)));
  EXPECT_TRUE(port().filter().filters_vlans);
  EXPECT_EQ(port().filter().vlans.count(), 2u);
  EXPECT_EQ(driver->counter_named("port1_frames_filtered"), 1u);
}

TEST_F(ethernet_commands, the_multicast_filter_lets_in_what_it_names) {
  using how = set_mcast_fltr_modifier;
  open();
  EXPECT_FALSE(port().filter().filters_multicast);
  EXPECT_TRUE(passes(frame_to(group)));
  EXPECT_EQ(multicast(how::config, broadcast, true), status::ok);
  EXPECT_TRUE(passes(frame_to(group)));
  EXPECT_EQ(multicast(how::enable), status::ok);
  EXPECT_FALSE(passes(frame_to(group)));
  EXPECT_TRUE(passes(frame_to(broadcast)));
  EXPECT_TRUE(passes(frame_to(port().mac())));
  EXPECT_EQ(multicast(how::config, group), status::ok);
  EXPECT_TRUE(passes(frame_to(group)));
  EXPECT_EQ(port().filter().multicast, (std::vector<std::uint64_t>{group, broadcast}));
  EXPECT_EQ(multicast(how::config, 0, true), status::ok);
  EXPECT_FALSE(passes(frame_to(group)));
  EXPECT_EQ(multicast(how::disable), status::ok);
  EXPECT_TRUE(passes(frame_to(group)));
  EXPECT_EQ(multicast(how::config, port().mac()), status::bad_parameter);
}

// The rules alone say who gets it: DPDK's PMD never touches the filter (docs/hardware-ethernet.md).
TEST_F(ethernet_commands, the_multicast_filter_holds_back_nothing_from_rules) {
  using how = set_mcast_fltr_modifier;
  open();
  EXPECT_EQ(multicast(how::enable), status::ok);
  EXPECT_FALSE(passes(frame_to(group)));
  hca->inside().profile.device_managed_steering = true;
  EXPECT_TRUE(passes(frame_to(group)));
  EXPECT_TRUE(passes(frame_to(broadcast)));
  EXPECT_EQ(driver->counter_named("port1_frames_filtered"), 1u);
}

TEST_F(ethernet_commands, the_multicast_filter_has_an_end) {
  for (std::uint64_t n = 0; n < multicast_addresses_most; ++n)
    ASSERT_EQ(multicast(set_mcast_fltr_modifier::config, group + n), status::ok);
  EXPECT_EQ(multicast(set_mcast_fltr_modifier::config, broadcast), status::exceeds_limits);
  EXPECT_EQ(multicast(set_mcast_fltr_modifier::config, broadcast, true), status::ok);
}

TEST_F(ethernet_commands, statistics_count_frames_by_length_kind_and_priority) {
  open();
  comes(frame_to(port().mac(), 42));             // 64 bytes with the FCS
  comes(frame_to(broadcast, 200, 5 << 13 | 9));  // 204, priority 5
  comes(frame_to(group, 1600));
  port().transmit(frame_to(port().mac(), 500, 3 << 13));
  port().transmit(frame_to(broadcast, 1518));
  const auto s = statistics();
  namespace n = layouts::statistics;
  EXPECT_EQ(of(s, n::rx_64, statistics_no_vlan), 1u);
  EXPECT_EQ(of(s, n::rx_255, 5), 1u);
  EXPECT_EQ(of(s, n::rx_to_mtu, statistics_no_vlan), 1u);
  EXPECT_EQ(of(s, n::rx_unicast, statistics_no_vlan), 1u);
  EXPECT_EQ(of(s, n::rx_broadcast, 5), 1u);
  EXPECT_EQ(of(s, n::rx_multicast, statistics_no_vlan), 1u);
  EXPECT_EQ(of(s, n::rx_frames, statistics_no_vlan), 2u);
  EXPECT_EQ(of(s, n::rx_frames, 5), 1u);
  EXPECT_EQ(of(s, n::rx_tagged, 5), 1u);
  EXPECT_EQ(of(s, n::rx_octets, statistics_no_vlan), 64u + 1604);
  EXPECT_EQ(of(s, n::rx_octets_all, 5), 204u);
  EXPECT_EQ(s.get<&ethernet_statistics::rx_good>(), 3u);
  EXPECT_EQ(s.get<&ethernet_statistics::rx_too_long>(), 1u);
  EXPECT_EQ(of(s, n::tx_511, 3), 1u);
  EXPECT_EQ(of(s, n::tx_1522, statistics_no_vlan), 1u);
  EXPECT_EQ(of(s, n::tx_unicast, 3), 1u);
  EXPECT_EQ(of(s, n::tx_broadcast, statistics_no_vlan), 1u);
  EXPECT_EQ(of(s, n::tx_octets, 3), 504u);
  EXPECT_EQ(of(s, n::tx_frames, 3), 1u);
}

TEST_F(ethernet_commands, statistics_are_zeroed_by_who_reads_them) {
  open();
  comes(frame_to(broadcast));
  port().dropped_for_want_of_room();
  const auto s = statistics(true);
  EXPECT_EQ(of(s, statistics::rx_frames, statistics_no_vlan), 1u);
  EXPECT_EQ(s.get<&ethernet_statistics::rx_dropped>(), 1u);
  EXPECT_EQ(s.get<&ethernet_statistics::rx_overflow>(), 1u);
  EXPECT_EQ(statistics(), image<ethernet_statistics>{});
}

TEST_F(ethernet_commands, statistics_of_flow_control_are_all_zero) {
  std::memset(host->at(driver->output), 0xff, 4096);
  ASSERT_EQ(driver->command(opcode::dump_eth_stats, 0, 0x1001, 0, driver->output).status,
            status::ok);
  for (std::size_t i = 0; i < 4096; ++i)
    ASSERT_EQ(*host->at(driver->output + i), i < 512 ? std::byte{0} : std::byte{0xff}) << i;
}

TEST_F(ethernet_commands, counters_by_index_are_told_and_zeroed) {
  interface_counters& all = hca->inside().links->counters_by_index();
  all.received(3, 100);
  all.sent(3, 60);
  all.sent(3, 60);
  image<interface_counter> c;
  ASSERT_EQ(driver->query(opcode::query_if_stat, c, 3).status, status::ok);
  EXPECT_EQ(c.get<&interface_counter::rx_frames>(), 1u);
  EXPECT_EQ(c.get<&interface_counter::rx_bytes>(), 100u);
  EXPECT_EQ(c.get<&interface_counter::tx_frames>(), 2u);
  EXPECT_EQ(c.get<&interface_counter::tx_bytes>(), 120u);
  ASSERT_EQ(driver->query(opcode::query_if_stat, c, 1u << 31 | 3).status, status::ok);
  EXPECT_EQ(c.get<&interface_counter::tx_frames>(), 2u);
  ASSERT_EQ(driver->query(opcode::query_if_stat, c, 3).status, status::ok);
  EXPECT_EQ(c.get<&interface_counter::tx_frames>(), 0u);
  EXPECT_EQ(driver->query(opcode::query_if_stat, c, 128).status, status::bad_index);
}

TEST_F(ethernet_commands, mad_ifc_tells_of_the_port_and_changes_nothing) {
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::down);
  open();
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::active);
  EXPECT_EQ(get<node_info>(smp_attribute::node_info).get<&node_info::port_guid>(),
            ethernet_options().node_guid + 1);
  get<node_description>(smp_attribute::node_description);
  const auto keys = get<pkey_table>(smp_attribute::pkey_table);
  EXPECT_EQ(load_be<std::uint16_t>(keys.data()), 0xffffu);
  EXPECT_EQ(hca->inside_now().links->pkey(1, 0), 0xffffu);
  auto m = request(mad_method::set, smp_attribute::port_info, 1);
  EXPECT_EQ(mad_ifc(m), status::bad_management_packet);
}

TEST_F(ethernet_commands, a_reset_forgets_what_they_told) {
  ASSERT_EQ(let_in_vlans({}), status::ok);
  ASSERT_EQ(multicast(set_mcast_fltr_modifier::enable), status::ok);
  using g = set_port_general;
  ASSERT_EQ(general(image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(1526)), status::ok);
  hca->reset();
  EXPECT_FALSE(port().filter().filters_vlans);
  EXPECT_FALSE(port().filter().filters_multicast);
  EXPECT_EQ(port().frame_bytes_most(), 9622u);
}

}  // namespace freehca::model::test
