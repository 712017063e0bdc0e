// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the commands on ports, groups and steering rules can have wrong.
#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/set_port.hpp>
#include <freehca/layouts/smp.hpp>

#include "basis/adapter_limits.hpp"
#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using w = strict_world;

command_status steered_by_groups(w& world, call& c) {
  world.driver->multicast = steering::by_groups;
  world.go_to(stage::running);
  return world.issue(c);
}
command_status steered_by_rules(w& world, call& c) {
  world.steer_by_rules();
  return world.issue(c);
}

/// SET_PORT that changes a limit.
template <auto Chosen, auto Field, auto Value>
command_status port_with(w& world, call& c) {
  c.change<Chosen, set_port_ib>(true);
  c.change<Field, set_port_ib>(Value);
  return world.issue(c);
}

void add_ports(std::vector<wrong_call>& to) {
  for (const opcode o : {opcode::init_port, opcode::close_port, opcode::set_port,
                         opcode::query_port, opcode::sense_port, opcode::mad_ifc}) {
    to.push_back({o, "port_0", numbered<0>});
    to.push_back({o, "port_3", numbered<3>});
  }
  to.push_back({opcode::init_port, "port_that_is_open", twice, false});
  to.push_back({opcode::close_port, "port_that_is_closed", twice, false});
  using l = set_port_ib;
  const auto add = [&to](const char* how, auto wrong, bool repairs = true) {
    to.push_back({opcode::set_port, how, wrong, repairs});
  };
  add("selector_of_Ethernet", numbered<0x102>);
  add("reserved_bit", [](w& world, call& c) {
    c.mailbox[0x30] = std::byte{1};
    return world.issue(c);
  });
  add("MTU_that_there_is_not", port_with<&l::mmc, &l::mtu_cap, 0u>);
  add("MTU_above_the_largest", port_with<&l::mmc, &l::mtu_cap, 6u>);
  add("lanes_that_are_no_power_of_two", port_with<&l::mvc, &l::vl_cap, 3u>);
  add("lanes_above_the_most", port_with<&l::mvc, &l::vl_cap, 15u>);
  add("no_P_Keys", port_with<&l::mp, &l::max_pkey, 0u>);
  add("P_Keys_above_the_most", port_with<&l::mp, &l::max_pkey, 129u>);
  add("no_GIDs", port_with<&l::mg, &l::max_gid, 0u>);
  add("GIDs_above_the_most", port_with<&l::mg, &l::max_gid, 129u>);
  add("speed_that_it_has_not", port_with<&l::lss, &l::link_speed_supported, 8u>);
  add("width_that_it_has_not", port_with<&l::lws, &l::link_width_supported, 8u>);
  add("shape_of_an_open_port", [](w& world, call& c) {
    c.numbered(1).change<&l::mp, l>(true).change<&l::max_pkey, l>(1u);
    return world.issue(c);
  });
  to.push_back({opcode::set_node, "input_modifier_0", numbered<0>});
  using m = smp;
  to.push_back({opcode::mad_ifc, "answer_instead_of_a_request",
                mailbox_with<m, &m::method, mad_method::get_resp>});
  to.push_back({opcode::mad_ifc, "class_without_an_agent",
                mailbox_with<m, &m::mgmt_class, mad_class{0x20}>});
  to.push_back({opcode::mad_ifc, "version_of_another_kind", mailbox_with<m, &m::base_version, 2u>});
  to.push_back(
      {opcode::mad_ifc, "attribute_that_there_is_not", mailbox_with<m, &m::attribute_id, 0xeeeeu>});
  to.push_back({opcode::mad_demux, "class_that_is_not_demultiplexed", numbered<4>});
  to.push_back({opcode::mad_demux, "reserved_bit", [](w& world, call& c) {
                  c.mailbox[4] = std::byte{1};
                  return world.issue(c);
                }});
  to.push_back({opcode::diag_rprt, "counters_of_a_third_port", numbered<3>});
  to.push_back({opcode::get_op_req, "acknowledgement_of_nothing", [](w& world, call& c) {
                  c.numbered(1u << 16).by(static_cast<unsigned>(get_op_req_modifier::acknowledge));
                  return world.issue(c);
                }});
}

void add_groups(std::vector<wrong_call>& to) {
  for (const opcode o : {opcode::read_mcg, opcode::write_mcg}) {
    to.push_back({o, "index_past_the_table", numbered<1u << test_driver::log_mc_table>});
    to.push_back({o, "steering_by_rules", steered_by_rules, false});
    to.push_back({o, "table_not_lent",
                  [](w& world, call& c) {
                    EXPECT_EQ(world.driver->command(opcode::unmap_icm, test_driver::mc, 1).status,
                              command_status::ok);
                    return world.issue(c);
                  },
                  false});
  }
  const auto add = [&to](const char* how, auto wrong) {
    to.push_back({opcode::write_mcg, how, wrong});
  };
  using h = mcg_header;
  add("more_members_than_the_entry_holds", mailbox_with<h, &h::members_count, 200u>);
  add("member_past_the_table", [](w& world, call& c) {
    c.with(image<mcg_member>{}.set<&mcg_member::qpn>(w::a_qpn | 0xfff000u), h::bytes);
    return world.issue(c.change<&h::members_count, h>(1u));
  });
  add("next_index_past_the_table",
      mailbox_with<h, &h::next_gid_index, 1u << test_driver::log_mc_table>);
  add("protocol_of_Ethernet", mailbox_with<h, &h::protocol, mcg_protocol::ethernet>);
  add("reserved_bit", [](w& world, call& c) {
    c.mailbox[8] |= std::byte{1};
    return world.issue(c);
  });
}

void add_entries_for_ethernet(std::vector<wrong_call>& to) {
  using h = mcg_header;
  using p = mcg_promiscuous_modifier;
  const auto promiscuous = [&to](const char* how, unsigned port, auto issue, bool repairs = true) {
    to.push_back({opcode::write_mcg, how,
                  [=](w& world, call& c) {
                    const auto place =
                        load_be<std::uint32_t>(image<p>{}.set<&p::port>(port).data());
                    c.by(static_cast<unsigned>(write_mcg_modifier::promiscuous))
                        .numbered(place)
                        .change<&h::protocol, h>(mcg_protocol::ethernet);
                    return issue(world, c);
                  },
                  repairs});
  };
  const auto as_it_is = [](w& world, call& c) { return world.issue(c); };
  promiscuous("promiscuous_entry_of_port_0", 0, as_it_is);
  promiscuous("promiscuous_entry_of_port_3", 3, as_it_is);
  promiscuous("promiscuous_entry_of_an_InfiniBand_port", 1, as_it_is);
  promiscuous("promiscuous_entry_with_steering_by_rules", 1, steered_by_rules, false);
  to.push_back({opcode::write_mcg, "address_of_an_InfiniBand_port", [](w& world, call& c) {
                  using g = mcg_ethernet_gid;
                  c.with(image<g>{}.set<&g::port>(1).set<&g::mac>(1), h{}.gid.offset);
                  return world.issue(c.change<&h::members_count, h>(1u).change<&h::protocol, h>(
                      mcg_protocol::ethernet));
                }});
}

void add_rules(std::vector<wrong_call>& to) {
  using k = flow_rule_control;
  using l = flow_header_infiniband;
  for (const opcode o : {opcode::qp_flow_steering_attach, opcode::qp_flow_steering_detach,
                         opcode::flow_steering_ib_uc_qp_range})
    to.push_back({o, "steering_by_groups", steered_by_groups, false});
  const auto add = [&to](const char* how, auto wrong) {
    to.push_back({opcode::qp_flow_steering_attach, how, wrong});
  };
  add("no_word", numbered<0>);
  add("words_that_cut_a_header", numbered<10>);
  add("more_words_than_a_mailbox", numbered<1025>);
  add("port_0", mailbox_with<k, &k::port, 0u>);
  add("port_3", mailbox_with<k, &k::port, 3u>);
  add("function_of_another", mailbox_with<k, &k::function, 1u>);
  add("queue_pair_past_the_table", mailbox_with<k, &k::qpn, 1u << test_driver::log_qps>);
  add("type_of_Ethernet_ports", mailbox_with<k, &k::type, flow_rule_type::all_default>);
  add("reserved_bit", [](w& world, call& c) {
    c.mailbox[3] |= std::byte{0x10};
    return world.issue(c);
  });
  add("header_that_does_not_begin_a_rule", [](w& world, call& c) {
    return world.issue(c.change<&l::id, l>(flow_header_id::ipv4, k::bytes));
  });
  add("header_of_another_length",
      [](w& world, call& c) { return world.issue(c.change<&l::words, l>(5u, k::bytes)); });
  to.push_back({opcode::qp_flow_steering_detach, "rule_that_there_is_not",
                [](w& world, call& c) { return world.issue(c.given(c.immediate + 1)); }});
  const auto range = [&to](const char* how, std::uint32_t first, std::uint32_t last) {
    to.push_back({opcode::flow_steering_ib_uc_qp_range, how, [=](w& world, call& c) {
                    using r = steered_qp_range;
                    return world.issue(c.given(load_be<std::uint64_t>(
                        image<r>{}.set<&r::first>(first).set<&r::last>(last).data())));
                  }});
  };
  range("last_before_first", 0x110, 0x10f);
  range("firmwares_own", limits_connectx3_pro.reserved_qps() - 1,
        limits_connectx3_pro.reserved_qps());
  range("past_the_table", 0x100, 1u << test_driver::log_qps);
  to.push_back({opcode::flow_steering_ib_uc_qp_range, "wider_than_reported",
                [](w& world, call& c) {
                  world.go_to(stage::context_memory);
                  auto profile = world.driver->profile();
                  profile.set<&init_hca::log_num_qps>(limits_connectx3_pro.log_steered_qps + 1);
                  EXPECT_EQ(world.driver->command_with(opcode::init_hca, profile).status,
                            command_status::ok);
                  using r = steered_qp_range;
                  return world.issue(c.given(load_be<std::uint64_t>(
                      image<r>{}
                          .set<&r::first>(limits_connectx3_pro.reserved_qps())
                          .set<&r::last>(limits_connectx3_pro.reserved_qps() +
                                         (1u << limits_connectx3_pro.log_steered_qps))
                          .data())));
                },
                false});
}

/// SET_PORT of Ethernet on port 2, which is Ethernet: its mailbox holds T with that value.
template <set_port_selector Selector, class T, auto Chosen, auto Field, auto Value>
command_status ethernet_port_with(w& world, call&) {
  world.how.link[1] = link_layer::ethernet;
  world.begin(world.how.strict);
  call c{opcode::set_port};
  c.with(image<T>{}.template set<Chosen>(1).template set<Field>(Value))
      .numbered(set_port_input_modifier(Selector, 2))
      .by(static_cast<unsigned>(set_port_modifier::ethernet));
  c.in = world.driver->input;
  return world.issue(c);
}

void add_ethernet(std::vector<wrong_call>& to) {
  for (const opcode o : {opcode::set_vlan_fltr, opcode::set_mcast_fltr, opcode::dump_eth_stats}) {
    to.push_back({o, "port_0", numbered<0>});
    to.push_back({o, "port_3", numbered<3>});
    to.push_back({o, "port_that_is_InfiniBand", numbered<1>});
  }
  to.push_back({opcode::set_mcast_fltr, "unicast_address",
                [](w& world, call& c) { return world.issue(c.given(0x0002'c900'0001)); }});
  to.push_back({opcode::set_mcast_fltr, "reserved_bit", [](w& world, call& c) {
                  return world.issue(c.given(c.immediate | std::uint64_t{1} << 50));
                }});
  to.push_back({opcode::dump_eth_stats, "reserved_bit", numbered<1u << 30 | 2>});
  to.push_back({opcode::query_if_stat, "counter_that_there_is_not", numbered<128>});
  to.push_back({opcode::query_if_stat, "reserved_bit", numbered<1u << 30 | 1>});

  const auto add = [&to](const char* how, auto wrong) {
    to.push_back({opcode::set_port, how, wrong, false});
  };
  using sel = set_port_selector;
  using g = set_port_general;
  using m = set_port_mac_entry;
  using v = set_port_vlan_entry;
  using a = set_port_roce_addr_entry;
  using p = set_port_prio2tc;
  using s = set_port_scheduler_entry;
  using x = set_port_vxlan;
  add("Ethernets_form_of_an_InfiniBand_port", [](w& world, call& c) {
    return world.issue(c.by(static_cast<unsigned>(set_port_modifier::ethernet)));
  });
  add("InfiniBands_form_of_an_Ethernet_port", [](w& world, call& c) {
    world.how.link[1] = link_layer::ethernet;
    world.begin(world.how.strict);
    return world.issue(c);
  });
  add("another_type_for_a_VPI_port_that_is_open", [](w& world, call& c) {
    world.how.vpi[1] = true;
    world.begin(world.how.strict);
    EXPECT_EQ(world.driver->command(opcode::init_port, 0, 2).status, command_status::ok);
    return world.issue(c.by(static_cast<unsigned>(set_port_modifier::ethernet)));
  });
  add("another_type_for_a_VPI_port_that_a_queue_pair_is_bound_to", [](w& world, call& c) {
    world.how.vpi[0] = true;
    world.begin(world.how.strict);
    EXPECT_EQ(world.driver->command(opcode::close_port, 0, 1).status, command_status::ok);
    world.make_qp_in(qp_state::rtr);
    return world.issue(c.numbered(set_port_input_modifier(set_port_selector::general, 1))
                           .by(static_cast<unsigned>(set_port_modifier::ethernet)));
  });
  add("selector_that_there_is_not", ethernet_port_with<sel{7}, g, &g::v_pptx, &g::v_pprx, true>);
  add("frames_longer_than_the_longest",
      ethernet_port_with<sel::general, g, &g::v_mtu, &g::mtu, 9627u>);
  add("frames_shorter_than_the_shortest",
      ethernet_port_with<sel::general, g, &g::v_mtu, &g::mtu, 63u>);
  add("RoCE_version_alone",
      ethernet_port_with<sel::general, g, &g::v_roce_mode, &g::roce_mode, port_roce_mode{1}>);
  add("multicast_MAC_in_its_table",
      ethernet_port_with<sel::mac_table, m, &m::valid, &m::mac, 0x0100'5e00'0001u>);
  add("VLAN_at_a_reserved_index",
      ethernet_port_with<sel::vlan_table, v, &v::valid, &v::vlan_id, 5u>);
  add("GID_of_a_version_that_there_is_not",
      ethernet_port_with<sel::roce_addr, a, &a::type, &a::version, 1u>);
  add("traffic_class_above_the_most",
      ethernet_port_with<sel::prio2tc, p, &p::prio1, &p::prio0, 8u>);
  add("traffic_classes_that_are_not_reported", [](w& world, call& c) {
    world.how.without.add(capability::traffic_classes);
    return ethernet_port_with<sel::prio2tc, p, &p::prio1, &p::prio0, 1u>(world, c);
  });
  add("group_of_classes_that_there_is_not",
      ethernet_port_with<sel::scheduler, s, &s::bw_percentage, &s::pg, 8u>);
  add("more_than_all_of_the_bandwidth",
      ethernet_port_with<sel::scheduler, s, &s::pg, &s::bw_percentage, 101u>);
  add("unit_of_bandwidth_that_there_is_not",
      ethernet_port_with<sel::scheduler, s, &s::pg, &s::max_bw_units, bandwidth_unit{2}>);
  add("no_bandwidth",
      ethernet_port_with<sel::scheduler, s, &s::pg, &s::max_bw_units, bandwidth_unit::gbps_1>);
  add("VXLAN_steering_by_what_there_is_not",
      ethernet_port_with<sel::vxlan, x, &x::modify_steering, &x::steering, 0x20u>);
}

}  // namespace

void add_port_wrongs(std::vector<wrong_call>& to) {
  add_ports(to);
  add_ethernet(to);
  add_groups(to);
  add_entries_for_ethernet(to);
  add_rules(to);
}

}  // namespace freehca::model::test
