// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The firmware's management agents by MAD_IFC: what they answer, and what they refuse.
#include <freehca/layouts/pma.hpp>
#include <freehca/layouts/set_node.hpp>

#include "ports_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

class ports_agents : public ports_fixture {
 protected:
  std::uint64_t status_of(mad_method method, smp_attribute attribute, std::uint32_t modifier = 0) {
    auto m = request(method, attribute, modifier);
    EXPECT_EQ(mad_ifc(m), status::ok);
    return m.get<&smp::status>();
  }
};

TEST_F(ports_agents, node_info_is_that_of_a_real_card) {
  const auto n = get<node_info>(smp_attribute::node_info, 0, 2);
  EXPECT_EQ(n.get<&node_info::type>(), node_type::channel_adapter);
  EXPECT_EQ(n.get<&node_info::num_ports>(), 2u);
  EXPECT_EQ(n.get<&node_info::local_port_num>(), 2u);
  EXPECT_EQ(n.get<&node_info::port_guid>(), n.get<&node_info::node_guid>() + 2);
  EXPECT_EQ(n.get<&node_info::system_image_guid>(), n.get<&node_info::node_guid>() + 3);
  EXPECT_EQ(n.get<&node_info::device_id>(), 0x1007u);
  EXPECT_EQ(n.get<&node_info::vendor_id>(), 0x2c9u);
  EXPECT_EQ(n.get<&node_info::partition_cap>(), 128u);
}

TEST_F(ports_agents, tables_at_power_on) {
  const auto pkeys = get<pkey_table>(smp_attribute::pkey_table);
  EXPECT_EQ((element<&pkey_table::pkeys, std::uint16_t>(pkeys, 0)), 0xffff);
  EXPECT_EQ((element<&pkey_table::pkeys, std::uint16_t>(pkeys, 1)), 0);
  const auto guids = get<guid_info>(smp_attribute::guid_info);
  EXPECT_EQ((element<&guid_info::guids, std::uint64_t>(guids, 0)), options{}.node_guid + 1);
  get<pkey_table>(smp_attribute::pkey_table, 3);
  get<guid_info>(smp_attribute::guid_info, 15);
  get<sl_to_vl_table>(smp_attribute::sl_to_vl_table);
  get<vl_arbitration>(smp_attribute::vl_arbitration, 1u << 16);
  get<node_description>(smp_attribute::node_description);
}

TEST_F(ports_agents, blocks_past_the_tables_are_invalid) {
  EXPECT_EQ(status_of(mad_method::get, smp_attribute::pkey_table, 4),
            mad_status::invalid_attribute_value);
  EXPECT_EQ(status_of(mad_method::get, smp_attribute::guid_info, 16),
            mad_status::invalid_attribute_value);
  EXPECT_EQ(status_of(mad_method::get, smp_attribute::port_info, 3),
            mad_status::invalid_attribute_value);
  EXPECT_EQ(status_of(mad_method::get, smp_attribute::vl_arbitration, 2u << 16),
            mad_status::invalid_attribute_value);
}

TEST_F(ports_agents, a_manager_may_say_that_it_knows_extended_speeds) {
  EXPECT_EQ(status_of(mad_method::get, smp_attribute::port_info, 1u << 31 | 1),
            mad_status::success);
  EXPECT_EQ(status_of(mad_method::get, smp_attribute::port_info, 1u << 30 | 1),
            mad_status::invalid_attribute_value);
}

TEST_F(ports_agents, attributes_of_switches_and_managers_are_not_supported) {
  for (const auto a : {smp_attribute::switch_info, smp_attribute::linear_forwarding,
                       smp_attribute::sm_info, smp_attribute::led_info, smp_attribute::notice})
    EXPECT_EQ(status_of(mad_method::get, a), mad_status::unsupported_method_attribute);
  EXPECT_EQ(status_of(mad_method::set, smp_attribute::node_info),
            mad_status::unsupported_method_attribute);
}

TEST_F(ports_agents, what_is_no_request_is_a_bad_packet) {
  auto m = request(mad_method::get_resp, smp_attribute::node_info);
  EXPECT_EQ(mad_ifc(m), status::bad_management_packet);
  m = request(mad_method::get, smp_attribute::node_info).set<&smp::base_version>(2);
  EXPECT_EQ(mad_ifc(m), status::bad_management_packet);
  m = request(mad_method::get, smp_attribute::node_info)
          .set<&smp::mgmt_class>(mad_class::congestion_control);
  EXPECT_EQ(mad_ifc(m), status::bad_management_packet);
  m = request(mad_method::get, smp_attribute::node_info).set<&smp::class_version>(2);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&smp::status>(), mad_status::bad_version);
  m = request(mad_method::get, smp_attribute::node_info);
  EXPECT_EQ(mad_ifc(m, 3), status::bad_index);
}

TEST_F(ports_agents, the_answer_keeps_what_the_request_said) {
  auto m = request(mad_method::get, smp_attribute::node_info, 0).set<&smp::tid>(0x123456789abcdef0);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&smp::tid>(), 0x123456789abcdef0u);
  EXPECT_EQ(m.get<&smp::method>(), mad_method::get_resp);
}

TEST_F(ports_agents, a_set_of_bad_port_info_changes_nothing) {
  const auto now = info();
  const auto good = image<port_info>{now}.set<&port_info::lid>(7).set<&port_info::master_sm_lid>(9);
  using state = layouts::port_state;
  for (const auto& bad : {
           image<port_info>{good}.set<&port_info::lid>(0),
           image<port_info>{good}.set<&port_info::lid>(0xc000),
           image<port_info>{good}.set<&port_info::lid>(7).set<&port_info::lmc>(1),
           image<port_info>{good}.set<&port_info::master_sm_lid>(0),
           image<port_info>{good}.set<&port_info::neighbor_mtu>(static_cast<ib_mtu>(6)),
           image<port_info>{good}.set<&port_info::neighbor_mtu>(static_cast<ib_mtu>(0)),
           image<port_info>{good}.set<&port_info::state>(state::active),
           image<port_info>{good}.set<&port_info::state>(state::initialize),
           image<port_info>{good}.set<&port_info::operational_vls>(vl_code::vl0_14),
           image<port_info>{good}.set<&port_info::link_speed_enabled>(8),
           image<port_info>{good}.set<&port_info::physical_state>(port_physical_state::training),
       }) {
    EXPECT_EQ(set(smp_attribute::port_info, bad), mad_status::invalid_attribute_value);
    EXPECT_TRUE(info() == now);
  }
  // A Set echoes the state of a port, which is not one that can be wanted.
  const auto wanted = image<port_info>{good}
                          .set<&port_info::state>(state::no_change)
                          .set<&port_info::physical_state>(port_physical_state::no_change);
  EXPECT_EQ(set(smp_attribute::port_info, wanted), mad_status::success);
  EXPECT_EQ(info().get<&port_info::lid>(), 7u);
}

TEST_F(ports_agents, a_set_of_tables_tells_the_host_what_changed) {
  image<pkey_table> pkeys;
  set_element<&pkey_table::pkeys, std::uint16_t>(pkeys, 0, 0x8001);
  set_element<&pkey_table::pkeys, std::uint16_t>(pkeys, 5, 0x7fff);
  EXPECT_EQ(set(smp_attribute::pkey_table, pkeys, 1), mad_status::success);
  EXPECT_EQ(set(smp_attribute::pkey_table, pkeys, 1), mad_status::success);  // no change, no event
  image<guid_info> guids;
  set_element<&guid_info::guids, std::uint64_t>(guids, 0, 0x1111);  // entry 0 is read-only
  set_element<&guid_info::guids, std::uint64_t>(guids, 2, 0x2222);
  EXPECT_EQ(set(smp_attribute::guid_info, guids), mad_status::success);
  EXPECT_EQ(
      set(smp_attribute::sl_to_vl_table, image<sl_to_vl_table>{}.set<&sl_to_vl_table::vls>(0x12)),
      mad_status::success);
  const auto all = events();
  ASSERT_EQ(all.size(), 3u);
  auto table = as_table<eqe_table_change>(all[0]);
  EXPECT_EQ(table.get<&eqe_table_change::event_sub_type>(),
            static_cast<unsigned>(port_management_subtype::pkey_table));
  EXPECT_EQ(table.get<&eqe_table_change::block_ptr>(), 1u);
  EXPECT_EQ(table.get<&eqe_table_change::tbl_entries_mask>(), 1u | 1u << 5);
  table = as_table<eqe_table_change>(all[1]);
  EXPECT_EQ(table.get<&eqe_table_change::event_sub_type>(),
            static_cast<unsigned>(port_management_subtype::guid_info));
  EXPECT_EQ(table.get<&eqe_table_change::tbl_entries_mask>(), 1u << 2);
  EXPECT_EQ(all[2].get<&eqe::event_sub_type>(),
            static_cast<unsigned>(port_management_subtype::sl_to_vl_map));
  const auto read = get<guid_info>(smp_attribute::guid_info);
  EXPECT_EQ((element<&guid_info::guids, std::uint64_t>(read, 0)), options{}.node_guid + 1);
  EXPECT_EQ((element<&guid_info::guids, std::uint64_t>(read, 2)), 0x2222u);
}

TEST_F(ports_agents, an_mkey_protects) {
  auto wanted = info()
                    .set<&port_info::lid>(7)
                    .set<&port_info::master_sm_lid>(9)
                    .set<&port_info::mkey>(0xabcd)
                    .set<&port_info::mkey_protect>(1)
                    .set<&port_info::mkey_lease_period>(2)
                    .set<&port_info::state>(layouts::port_state::no_change)
                    .set<&port_info::physical_state>(port_physical_state::no_change);
  ASSERT_EQ(set(smp_attribute::port_info, wanted), mad_status::success);
  constexpr unsigned check = 0;
  // A reader without the key sees no key; a writer is not heard.
  auto m = request(mad_method::get, smp_attribute::port_info, 1);
  ASSERT_EQ(mad_ifc(m, 1, check), status::ok);
  EXPECT_EQ((attribute<&smp::data, port_info>(m).get<&port_info::mkey>()), 0u);
  m = request(mad_method::set, smp_attribute::port_info, 1);
  EXPECT_EQ(mad_ifc(m, 1, check), status::bad_management_packet);
  EXPECT_EQ(info().get<&port_info::mkey_violations>(), 1u);
  // Who has the key, or ignores it, is heard.
  m = request(mad_method::get, smp_attribute::port_info, 1).set<&smp::mkey>(0xabcd);
  ASSERT_EQ(mad_ifc(m, 1, check), status::ok);
  EXPECT_EQ((attribute<&smp::data, port_info>(m).get<&port_info::mkey>()), 0xabcdu);
  EXPECT_EQ(info().get<&port_info::mkey>(), 0xabcdu);
  // The lease, which the next violation starts, ends the protection.
  ASSERT_EQ(set(smp_attribute::port_info, wanted.set<&port_info::mkey_protect>(3)),
            mad_status::success);
  m = request(mad_method::get, smp_attribute::node_info);
  EXPECT_EQ(mad_ifc(m, 1, check), status::bad_management_packet);
  host->advance(3 * second);
  EXPECT_EQ(mad_ifc(m, 1, check), status::ok);
}

TEST_F(ports_agents, a_port_tells_of_the_other_by_the_others_key) {
  bring_to_active(2);
  const auto other = get<port_info>(smp_attribute::port_info, 2, 1);
  EXPECT_EQ(other.get<&port_info::state>(), layouts::port_state::active);
  EXPECT_EQ(other.get<&port_info::lid>(), info(2).get<&port_info::lid>());
  EXPECT_EQ(info(1).get<&port_info::state>(), layouts::port_state::down);
  // The port that was asked, not the one that was asked for.
  EXPECT_EQ(other.get<&port_info::local_port_num>(), 1u);

  const auto protect = [this](unsigned level) {
    return set(smp_attribute::port_info,
               info(2)
                   .set<&port_info::mkey>(0xabcd)
                   .set<&port_info::mkey_protect>(level)
                   .set<&port_info::state>(layouts::port_state::no_change)
                   .set<&port_info::physical_state>(port_physical_state::no_change),
               2, 2);
  };
  constexpr unsigned check = 0;
  ASSERT_EQ(protect(1), mad_status::success);
  auto m = request(mad_method::get, smp_attribute::port_info, 2);
  ASSERT_EQ(mad_ifc(m, 1, check), status::ok);
  EXPECT_EQ((attribute<&smp::data, port_info>(m).get<&port_info::mkey>()), 0u);
  ASSERT_EQ(protect(2), mad_status::success);
  m = request(mad_method::get, smp_attribute::port_info, 2);
  EXPECT_EQ(mad_ifc(m, 1, check), status::bad_management_packet);
  m.set<&smp::mkey>(0xabcd);
  ASSERT_EQ(mad_ifc(m, 1, check), status::ok);
  EXPECT_EQ((attribute<&smp::data, port_info>(m).get<&port_info::mkey>()), 0xabcdu);
  // A port is set through itself alone.
  EXPECT_EQ(set(smp_attribute::port_info, info(2), 2, 1), mad_status::invalid_attribute_value);
}

TEST_F(ports_agents, set_node_gives_the_description) {
  image<layouts::set_node> in;
  const char text[] = "the name of this node";
  std::memcpy(in.data(), text, sizeof text);
  EXPECT_EQ(driver->command_with(opcode::set_node, in, 1).status, status::ok);
  EXPECT_EQ(driver->command_with(opcode::set_node, in, 0).status, status::bad_parameter);
  const auto d = get<node_description>(smp_attribute::node_description);
  EXPECT_STREQ(reinterpret_cast<const char*>(d.data()), text);
}

TEST_F(ports_agents, the_vendor_attribute_says_that_the_link_is_not_fdr10) {
  bring_to_active();
  const auto e = get<mlnx_ext_port_info>(smp_attribute::mlnx_ext_port_info, 1);
  EXPECT_EQ(e.get<&mlnx_ext_port_info::link_speed_supported>(), 1u);
  EXPECT_EQ(e.get<&mlnx_ext_port_info::link_speed_active>(), 0u);
}

class ports_counters : public ports_fixture {
 protected:
  image<pma_mad> ask(mad_method method, pma_attribute what) {
    image<pma_mad> m;
    return m.set<&pma_mad::base_version>(1)
        .set<&pma_mad::mgmt_class>(mad_class::performance)
        .set<&pma_mad::class_version>(1)
        .set<&pma_mad::method>(method)
        .set<&pma_mad::attribute_id>(static_cast<unsigned>(what));
  }
  image<port_counters> counters() {
    auto m = ask(mad_method::get, pma_attribute::port_counters);
    set_attribute<&pma_mad::data>(m, image<port_counters>{}.set<&port_counters::port_select>(1));
    EXPECT_EQ(mad_ifc(m), status::ok);
    EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::success);
    return attribute<&pma_mad::data, port_counters>(m);
  }
};

TEST_F(ports_counters, count_what_the_manager_sends) {
  bring_to_active();
  const auto c = counters();
  const auto packets = c.get<&port_counters::rcv_packets>();
  EXPECT_GE(packets, 8u);
  EXPECT_EQ(c.get<&port_counters::xmit_packets>(), packets);
  // LRH, BTH, DETH, MAD, ICRC: 288 bytes, 72 words
  EXPECT_EQ(c.get<&port_counters::rcv_data>(), packets * 72);
  EXPECT_EQ(driver->counter_named("port1_packets_received"), packets);
}

TEST_F(ports_counters, are_set_one_by_one) {
  bring_to_active();
  auto m = ask(mad_method::set, pma_attribute::port_counters);
  set_attribute<&pma_mad::data>(m, image<port_counters>{}
                                       .set<&port_counters::port_select>(1)
                                       .set<&port_counters::counter_select>(
                                           counter_select::rcv_packets | counter_select::xmit_data)
                                       .set<&port_counters::rcv_packets>(0xfffffffe));
  ASSERT_EQ(mad_ifc(m), status::ok);
  auto c = counters();
  EXPECT_EQ(c.get<&port_counters::rcv_packets>(), 0xfffffffeu);
  EXPECT_EQ(c.get<&port_counters::xmit_data>(), 0u);
  EXPECT_NE(c.get<&port_counters::xmit_packets>(), 0u);
  // They stop at their greatest value; the extended ones go on.
  ASSERT_EQ(close_port(), status::ok);
  bring_to_active();
  EXPECT_EQ(counters().get<&port_counters::rcv_packets>(), 0xffffffffu);
  EXPECT_EQ(counters().get<&port_counters::link_downed>(), 1u);
  auto e = ask(mad_method::get, pma_attribute::port_counters_ext);
  set_attribute<&pma_mad::data>(e,
                                image<port_counters_ext>{}.set<&port_counters_ext::port_select>(1));
  ASSERT_EQ(mad_ifc(e), status::ok);
  EXPECT_GE(
      (attribute<&pma_mad::data, port_counters_ext>(e).get<&port_counters_ext::rcv_packets>()),
      16u);
}

TEST_F(ports_counters, strict_answers) {
  auto m = ask(mad_method::get, pma_attribute::class_port_info);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(
      (attribute<&pma_mad::data, class_port_info>(m).get<&class_port_info::capability_mask>()),
      0x1400u);
  constexpr auto error_details = static_cast<pma_attribute>(0x0015);  // optional
  m = ask(mad_method::get, error_details);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::unsupported_method_attribute);
  m = ask(mad_method::get, pma_attribute::port_counters);  // port 0
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&pma_mad::status>(), mad_status::invalid_attribute_value);
  m = ask(mad_method::get_resp, pma_attribute::port_counters);
  EXPECT_EQ(mad_ifc(m), status::bad_management_packet);
}

}  // namespace freehca::model::test
