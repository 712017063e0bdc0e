// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a subnet manager and a performance manager read and write of a switch.
#include "bench.hpp"

namespace freehca::infiniband_switch::test {
namespace {

using namespace layouts;

struct switch_agents : bench {
  void SetUp() override { link(1); }
};

TEST_F(switch_agents, node_info_and_description) {
  const auto info = get<node_info>(smp_attribute::node_info);
  EXPECT_EQ(node_type::switch_node, info.get<&node_info::type>());
  EXPECT_EQ(count, info.get<&node_info::num_ports>());
  EXPECT_EQ(guid, info.get<&node_info::node_guid>());
  EXPECT_EQ(guid, info.get<&node_info::port_guid>());
  EXPECT_EQ(guid, info.get<&node_info::system_image_guid>());
  EXPECT_EQ(1u, info.get<&node_info::local_port_num>());
  EXPECT_EQ(1u, info.get<&node_info::base_version>());
  const auto text = get<node_description>(smp_attribute::node_description);
  EXPECT_STREQ("a switch under test", reinterpret_cast<const char*>(text.data()));
  link(3);
  const auto m = ask(directed(mad_method::get, smp_attribute::node_info), 3);
  EXPECT_EQ(3u, (attribute<&dr_smp::data, node_info>(m).get<&node_info::local_port_num>()));
}

TEST_F(switch_agents, switch_info) {
  auto info = get<layouts::switch_info>(smp_attribute::switch_info);
  using s = layouts::switch_info;
  EXPECT_EQ(0xc000u, info.get<&s::linear_fdb_cap>());
  EXPECT_EQ(0u, info.get<&s::random_fdb_cap>());
  EXPECT_EQ(4096u, info.get<&s::multicast_fdb_cap>());
  EXPECT_FALSE(info.get<&s::enhanced_port_0>());
  EXPECT_TRUE(info.get<&s::port_state_change>()) << "port 1 came up";
  info.set<&s::linear_fdb_top>(100).set<&s::life_time>(18).set<&s::linear_fdb_cap>(1);
  info.set<&s::port_state_change>(false);
  auto now = set(smp_attribute::switch_info, info);
  EXPECT_EQ(100u, now.get<&s::linear_fdb_top>());
  EXPECT_EQ(18u, now.get<&s::life_time>());
  EXPECT_EQ(0xc000u, now.get<&s::linear_fdb_cap>()) << "read-only";
  EXPECT_TRUE(now.get<&s::port_state_change>()) << "a zero leaves it";
  now = set(smp_attribute::switch_info, info.set<&s::port_state_change>(true));
  EXPECT_FALSE(now.get<&s::port_state_change>()) << "a one clears it";
  now = set(smp_attribute::switch_info, info.set<&s::linear_fdb_top>(0xc000), 0,
            mad_status::invalid_attribute_value);
  EXPECT_EQ(100u, now.get<&s::linear_fdb_top>());
}

TEST_F(switch_agents, port_info_of_each_port) {
  for (unsigned port = 0; port <= count; ++port) {
    const auto info = get<port_info>(smp_attribute::port_info, port);
    EXPECT_EQ(1u, info.get<&port_info::local_port_num>()) << "the one that was asked by";
    const auto state = info.get<&port_info::state>();
    const auto physical = info.get<&port_info::physical_state>();
    if (port <= 1) {
      EXPECT_EQ(port == 0 ? port_state::active : port_state::initialize, state);
      EXPECT_EQ(port_physical_state::link_up, physical);
      EXPECT_EQ(link_speed_ext::fdr, info.get<&port_info::link_speed_ext_active>());
    } else {
      EXPECT_EQ(port_state::down, state);
      EXPECT_EQ(port_physical_state::polling, physical);
    }
  }
  get<port_info>(smp_attribute::port_info, count + 1, mad_status::invalid_attribute_value);
  get<port_info>(smp_attribute::port_info, 1u << 31 | 1);  // who asks knows extended speeds
}

TEST_F(switch_agents, port_0_has_the_lid) {
  auto info = get<port_info>(smp_attribute::port_info);
  EXPECT_EQ(0u, info.get<&port_info::lid>());
  EXPECT_EQ(1u, info.get<&port_info::guid_cap>());
  info.set<&port_info::lid>(17).set<&port_info::master_sm_lid>(3).set<&port_info::lmc>(2);
  info.set<&port_info::state>(port_state::armed).set<&port_info::subnet_timeout>(18);
  const auto now = set(smp_attribute::port_info, info);
  EXPECT_EQ(17u, now.get<&port_info::lid>());
  EXPECT_EQ(3u, now.get<&port_info::master_sm_lid>());
  EXPECT_EQ(18u, now.get<&port_info::subnet_timeout>());
  EXPECT_EQ(0u, now.get<&port_info::lmc>());
  EXPECT_EQ(port_state::active, now.get<&port_info::state>());
  for (const unsigned lid : {0u, 0xc000u, 0xffffu})
    set(smp_attribute::port_info, info.set<&port_info::lid>(lid), 0,
        mad_status::invalid_attribute_value);
  EXPECT_EQ(17u, node.port(0).lid());
}

TEST_F(switch_agents, a_port_goes_from_initialize_to_armed_to_active) {
  auto info = get<port_info>(smp_attribute::port_info, 1);
  info.set<&port_info::physical_state>(port_physical_state::no_change);
  set(smp_attribute::port_info, info.set<&port_info::state>(port_state::active), 1,
      mad_status::invalid_attribute_value);
  info.set<&port_info::neighbor_mtu>(ib_mtu::mtu_2048)
      .set<&port_info::operational_vls>(vl_code::vl0_3)
      .set<&port_info::hoq_life>(16)
      .set<&port_info::vl_stall_count>(7)
      .set<&port_info::lid>(99);
  auto now = set(smp_attribute::port_info, info.set<&port_info::state>(port_state::armed), 1);
  EXPECT_EQ(port_state::armed, now.get<&port_info::state>());
  EXPECT_EQ(ib_mtu::mtu_2048, now.get<&port_info::neighbor_mtu>());
  EXPECT_EQ(4u, node.port(1).data_lanes());
  EXPECT_EQ(16u, now.get<&port_info::hoq_life>());
  EXPECT_EQ(7u, now.get<&port_info::vl_stall_count>());
  EXPECT_EQ(0u, now.get<&port_info::lid>()) << "port 0 alone has a LID";
  now = set(smp_attribute::port_info, info.set<&port_info::state>(port_state::active), 1);
  EXPECT_EQ(port_state::active, now.get<&port_info::state>());
}

TEST_F(switch_agents, a_port_refuses_what_it_cannot) {
  const auto before = get<port_info>(smp_attribute::port_info, 1);
  const auto refused = [&](auto change) {
    auto wanted = before;
    wanted.set<&port_info::state>(port_state::no_change)
        .set<&port_info::physical_state>(port_physical_state::no_change);
    change(wanted);
    const auto now = set(smp_attribute::port_info, wanted, 1, mad_status::invalid_attribute_value);
    EXPECT_EQ(before, now);
  };
  refused([](auto& w) { w.template set<&port_info::neighbor_mtu>(ib_mtu{6}); });
  refused([](auto& w) { w.template set<&port_info::neighbor_mtu>(ib_mtu{0}); });
  refused([](auto& w) { w.template set<&port_info::operational_vls>(vl_code::vl0_14); });
  refused([](auto& w) { w.template set<&port_info::link_width_enabled>(8); });
  refused([](auto& w) { w.template set<&port_info::link_speed_enabled>(8); });
  refused(
      [](auto& w) { w.template set<&port_info::physical_state>(port_physical_state::link_up); });
  refused([](auto& w) { w.template set<&port_info::link_down_default>(3); });
  refused([](auto& w) { w.template set<&port_info::state>(port_state::initialize); });
}

TEST_F(switch_agents, guid_info) {
  const auto block = get<guid_info>(smp_attribute::guid_info);
  EXPECT_EQ(guid, (element<&guid_info::guids, std::uint64_t>(block, 0)));
  EXPECT_EQ(0u, (element<&guid_info::guids, std::uint64_t>(block, 1)));
  const auto now = set(smp_attribute::guid_info, image<guid_info>{});
  EXPECT_EQ(guid, (element<&guid_info::guids, std::uint64_t>(now, 0))) << "read-only";
  get<guid_info>(smp_attribute::guid_info, 1, mad_status::invalid_attribute_value);
}

TEST_F(switch_agents, pkey_table_of_each_port) {
  image<pkey_table> wanted;
  set_element<&pkey_table::pkeys, std::uint16_t>(wanted, 0, 0xffff);
  set_element<&pkey_table::pkeys, std::uint16_t>(wanted, 31, 0x8001);
  EXPECT_EQ(wanted, set(smp_attribute::pkey_table, wanted, 2u << 16));
  EXPECT_EQ(wanted, get<pkey_table>(smp_attribute::pkey_table, 2u << 16));
  const auto other = get<pkey_table>(smp_attribute::pkey_table, 3u << 16);
  EXPECT_EQ(0xffff, (element<&pkey_table::pkeys, std::uint16_t>(other, 0)));
  EXPECT_EQ(0, (element<&pkey_table::pkeys, std::uint16_t>(other, 31)));
  get<pkey_table>(smp_attribute::pkey_table, 1, mad_status::invalid_attribute_value);
  get<pkey_table>(smp_attribute::pkey_table, (count + 1) << 16,
                  mad_status::invalid_attribute_value);
  set(smp_attribute::pkey_table, wanted, 1, mad_status::invalid_attribute_value);
}

TEST_F(switch_agents, sl_to_vl_of_each_pair_of_ports) {
  image<sl_to_vl_table> wanted;
  wanted.set<&sl_to_vl_table::vls>(0x0011223344556677);
  EXPECT_EQ(wanted, set(smp_attribute::sl_to_vl_table, wanted, 1u << 8 | 2));
  EXPECT_EQ(wanted, get<sl_to_vl_table>(smp_attribute::sl_to_vl_table, 1u << 8 | 2));
  EXPECT_NE(wanted, get<sl_to_vl_table>(smp_attribute::sl_to_vl_table, 2u << 8 | 1));
  get<sl_to_vl_table>(smp_attribute::sl_to_vl_table, 5u << 8 | 1,
                      mad_status::invalid_attribute_value);
  set(smp_attribute::sl_to_vl_table, wanted, 0x30000, mad_status::invalid_attribute_value);
}

TEST_F(switch_agents, vl_arbitration_of_each_port) {
  image<vl_arbitration> wanted;
  for (unsigned i = 0; i < vl_arbitration::bytes; ++i) wanted.data()[i] = std::byte{7};
  const auto low = set(smp_attribute::vl_arbitration, wanted, 1u << 16 | 3);
  EXPECT_EQ(std::byte{7}, low.data()[15]);
  EXPECT_EQ(std::byte{0}, low.data()[16]) << "past the port's capacity";
  EXPECT_EQ(low, get<vl_arbitration>(smp_attribute::vl_arbitration, 1u << 16 | 3));
  EXPECT_NE(low, get<vl_arbitration>(smp_attribute::vl_arbitration, 3u << 16 | 3));
  for (const std::uint32_t modifier : {1u << 16, 2u << 16 | 3, 0u, 1u << 16 | (count + 1)})
    set(smp_attribute::vl_arbitration, wanted, modifier, mad_status::invalid_attribute_value);
}

TEST_F(switch_agents, forwarding_tables) {
  image<linear_forwarding_block> linear;
  linear.data()[5] = std::byte{3};
  EXPECT_EQ(linear, set(smp_attribute::linear_forwarding, linear, 767));
  EXPECT_EQ(linear, get<linear_forwarding_block>(smp_attribute::linear_forwarding, 767));
  get<linear_forwarding_block>(smp_attribute::linear_forwarding, 768,
                               mad_status::invalid_attribute_value);
  image<multicast_forwarding_block> masks;
  set_element<&multicast_forwarding_block::masks, std::uint16_t>(masks, 31, 0x1234);
  constexpr std::uint32_t second_position = 1u << 28;
  EXPECT_EQ(masks, set(smp_attribute::multicast_forwarding, masks, second_position | 127));
  EXPECT_EQ(masks, get<multicast_forwarding_block>(smp_attribute::multicast_forwarding,
                                                   second_position | 127));
  EXPECT_NE(masks, get<multicast_forwarding_block>(smp_attribute::multicast_forwarding, 127));
  for (const std::uint32_t modifier : {128u, 3u << 28, 1u << 9, 1u << 27})
    set(smp_attribute::multicast_forwarding, masks, modifier, mad_status::invalid_attribute_value);
}

TEST_F(switch_agents, what_is_not_there) {
  for (const auto attribute :
       {smp_attribute::sm_info, smp_attribute::random_forwarding, smp_attribute::notice,
        smp_attribute::led_info, smp_attribute::mlnx_ext_port_info}) {
    get<sm_info>(attribute, 0, mad_status::unsupported_method_attribute);
    set(attribute, image<sm_info>{}, 0, mad_status::unsupported_method_attribute);
  }
  for (const auto attribute :
       {smp_attribute::node_info, smp_attribute::node_description, smp_attribute::vendor_diag})
    set(attribute, image<node_info>{}, 0, mad_status::unsupported_method_attribute);
  get<node_description>(smp_attribute::vendor_diag);
  auto wrong = directed(mad_method::get, smp_attribute::node_info);
  EXPECT_EQ(mad_status::bad_version,
            ask(wrong.set<&dr_smp::class_version>(2)).get<&dr_smp::status>());
  for (const auto method : {mad_method::get_resp, mad_method::trap, mad_method::send}) {
    give(1, to_qp0(directed(method, smp_attribute::node_info)));
    EXPECT_TRUE(around.sent[1].empty());
  }
}

TEST_F(switch_agents, the_key_guards_the_switch) {
  auto info = get<port_info>(smp_attribute::port_info);
  info.set<&port_info::lid>(10).set<&port_info::master_sm_lid>(1).set<&port_info::mkey>(5);
  info.set<&port_info::mkey_protect>(1).set<&port_info::mkey_lease_period>(2);
  set(smp_attribute::port_info, info);
  EXPECT_EQ(0u, get<port_info>(smp_attribute::port_info).get<&port_info::mkey>()) << "hidden";
  auto request = directed(mad_method::set, smp_attribute::switch_info);
  give(1, to_qp0(request));
  EXPECT_TRUE(around.sent[1].empty()) << "dropped";
  EXPECT_EQ(1u, node.port(0).info.get<&port_info::mkey_violations>());
  EXPECT_EQ(mad_status::success, ask(request.set<&dr_smp::mkey>(5)).get<&dr_smp::status>());
  advance(3000 * ms);
  EXPECT_EQ(1u, node.port(0).info.get<&port_info::mkey_protect>()) << "its owner came by";
  give(1, to_qp0(request.set<&dr_smp::mkey>(6)));
  advance(3000 * ms);
  EXPECT_EQ(0u, node.port(0).info.get<&port_info::mkey_protect>()) << "the lease has run out";
}

TEST_F(switch_agents, with_the_highest_protection_nothing_is_answered) {
  auto info = get<port_info>(smp_attribute::port_info);
  info.set<&port_info::lid>(10).set<&port_info::master_sm_lid>(1).set<&port_info::mkey>(5);
  set(smp_attribute::port_info, info.set<&port_info::mkey_protect>(2));
  give(1, to_qp0(directed(mad_method::get, smp_attribute::node_info)));
  EXPECT_TRUE(around.sent[1].empty());
}

struct switch_management : bench {
  void SetUp() override { manage({1, 2}); }

  mad_packet to_qp1(const image<pma_mad>& m) {
    mad_packet p = datagram(1, 10);
    p.dest_qp = qp1_gsi;
    p.qkey = gsi_qkey;
    std::memcpy(p.mad.data(), m.data(), p.mad.size());
    return p;
  }
  static image<pma_mad> performance(mad_method method, pma_attribute attribute) {
    image<pma_mad> m;
    m.set<&pma_mad::base_version>(1)
        .set<&pma_mad::mgmt_class>(mad_class::performance)
        .set<&pma_mad::class_version>(1)
        .set<&pma_mad::method>(method)
        .set<&pma_mad::attribute_id>(static_cast<unsigned>(attribute));
    return m;
  }
  template <class A>
  image<A> ask_for(mad_method method, pma_attribute attribute, const image<A>& value,
                   unsigned status = 0) {
    auto m = performance(method, attribute);
    set_attribute<&pma_mad::data>(m, value);
    give(1, to_qp1(m));
    const auto answer = mad_from(1);
    if (!answer) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    EXPECT_EQ(1, answer->dlid);
    EXPECT_EQ(10, answer->slid);
    EXPECT_EQ(0x48u, answer->dest_qp);
    EXPECT_EQ(qp1_gsi, answer->source_qp);
    const auto got = image<pma_mad>::from_bytes(answer->mad.data());
    EXPECT_EQ(status, got.get<&pma_mad::status>());
    return layouts::attribute<&pma_mad::data, A>(got);
  }
};

TEST_F(switch_management, an_agent_is_asked_by_lid_too) {
  image<smp> m;
  m.set<&smp::base_version>(1)
      .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(mad_method::get)
      .set<&smp::attribute_id>(static_cast<unsigned>(smp_attribute::node_info));
  give(2, to_qp0(m, 2, 10));
  const auto answer = mad_from(2);
  ASSERT_TRUE(answer);
  EXPECT_EQ(2, answer->dlid);
  EXPECT_EQ(10, answer->slid);
  EXPECT_EQ(15, answer->virtual_lane);
  give(2, to_qp0(m));  // the neighbour, whoever it is
  const auto to_neighbour = mad_from(2);
  ASSERT_TRUE(to_neighbour);
  EXPECT_EQ(permissive_lid, to_neighbour->dlid);
}

TEST_F(switch_management, counters_of_ports) {
  for (int i = 0; i < 3; ++i) give(1, datagram(1, 2));
  using c = port_counters;
  const auto of = [&](unsigned port) {
    return ask_for(mad_method::get, pma_attribute::port_counters,
                   image<c>{}.set<&c::port_select>(port));
  };
  const auto before = of(2);
  const auto words = before.get<&c::xmit_data>();
  EXPECT_GE(before.get<&c::xmit_packets>(), 3u);
  EXPECT_GE(of(255).get<&c::xmit_packets>(), before.get<&c::xmit_packets>());
  auto clear =
      image<c>{}.set<&c::port_select>(2).set<&c::counter_select>(counter_select::xmit_packets);
  const auto after = ask_for(mad_method::set, pma_attribute::port_counters, clear);
  EXPECT_EQ(0u, after.get<&c::xmit_packets>());
  EXPECT_EQ(words, after.get<&c::xmit_data>()) << "not selected";
  ask_for(mad_method::get, pma_attribute::port_counters, image<c>{}.set<&c::port_select>(count + 1),
          mad_status::invalid_attribute_value);
}

TEST_F(switch_management, extended_counters_tell_unicast_from_multicast) {
  join(0, {1, 2});
  using c = port_counters_ext;
  auto clear = image<c>{}.set<&c::port_select>(255).set<&c::counter_select>(0xff);
  ask_for(mad_method::set, pma_attribute::port_counters_ext, clear);
  give(1, datagram(1, 2));
  give(1, datagram(1, 0xc000));
  const auto now = ask_for(mad_method::get, pma_attribute::port_counters_ext,
                           image<c>{}.set<&c::port_select>(2));
  EXPECT_EQ(2u, now.get<&c::xmit_packets>());
  EXPECT_EQ(1u, now.get<&c::unicast_xmit_packets>());
  EXPECT_EQ(1u, now.get<&c::multicast_xmit_packets>());
  EXPECT_EQ(2u * 72, now.get<&c::xmit_data>()) << "words from LRH to ICRC";
  EXPECT_EQ(0u, now.get<&c::rcv_packets>());
}

TEST_F(switch_management, class_port_info_and_what_is_not_there) {
  const auto info =
      ask_for(mad_method::get, pma_attribute::class_port_info, image<class_port_info>{});
  EXPECT_EQ(pma_capability::all_port_select | pma_capability::extended_width,
            info.get<&class_port_info::capability_mask>());
  ask_for(mad_method::get, pma_attribute::port_samples_control, image<class_port_info>{},
          mad_status::unsupported_method_attribute);
  auto other = performance(mad_method::get, pma_attribute::class_port_info);
  give(1, to_qp1(other.set<&pma_mad::mgmt_class>(mad_class::baseboard)));
  const auto answer = mad_from(1);
  ASSERT_TRUE(answer);
  EXPECT_EQ(mad_status::bad_version,
            image<pma_mad>::from_bytes(answer->mad.data()).get<&pma_mad::status>());
}

TEST_F(switch_management, keys_of_qp1) {
  auto p = to_qp1(performance(mad_method::get, pma_attribute::class_port_info));
  p.qkey = 1;
  give(1, p);
  EXPECT_EQ(1u, node.port(0).info.get<&port_info::qkey_violations>());
  p.qkey = gsi_qkey;
  p.pkey = 0x8001;
  give(1, p);
  EXPECT_EQ(1u, node.port(0).info.get<&port_info::pkey_violations>());
  EXPECT_TRUE(around.sent[1].empty());
}

TEST_F(switch_management, a_link_that_changes_is_told_by_trap_128_until_it_is_repressed) {
  around.sent[1].clear();
  advance(10'000 * ms);  // what there was to tell of the begin
  for (unsigned port : {1u, 2u}) say(port, link_packet_op::flow_control);
  around.sent[1].clear();
  node.plug(2, false);
  EXPECT_TRUE(get<layouts::switch_info>(smp_attribute::switch_info)
                  .get<&layouts::switch_info::port_state_change>());
  advance(300 * ms);
  const auto first = mad_from(1);
  ASSERT_TRUE(first);
  EXPECT_EQ(1, first->dlid);
  EXPECT_EQ(10, first->slid);
  const auto m = image<smp>::from_bytes(first->mad.data());
  EXPECT_EQ(mad_method::trap, m.get<&smp::method>());
  const auto n = layouts::attribute<&smp::data, notice_link_state>(m);
  EXPECT_EQ(trap::link_state_changed, n.get<&notice_link_state::number>());
  EXPECT_EQ(node_type::switch_node, n.get<&notice_link_state::producer_type>());
  EXPECT_EQ(10u, n.get<&notice_link_state::lid>());
  advance(1000 * ms);
  EXPECT_EQ(1u, around.sent[1].size()) << "again";
  around.sent[1].clear();
  auto heard = m;
  heard.set<&smp::method>(mad_method::trap_repress);
  give(1, to_qp0(heard, 1, 10));
  advance(3000 * ms);
  EXPECT_TRUE(around.sent[1].empty());
}

}  // namespace
}  // namespace freehca::infiniband_switch::test
