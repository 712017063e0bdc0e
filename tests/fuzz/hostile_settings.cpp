// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The commands of Ethernet ports, nearly right.
#include <cstring>
#include <iterator>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/congestion_control.hpp>
#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/mcg.hpp>

#include "hostile_station.hpp"

namespace freehca::fuzz {

using layouts::image;
using layouts::opcode;
using layouts::set_port_selector;

namespace {

constexpr unsigned vlan_place = 5;
constexpr set_port_selector selectors[] = {
    set_port_selector::general,    set_port_selector::rqp_calc,  set_port_selector::mac_table,
    set_port_selector::vlan_table, set_port_selector::prio_map,  set_port_selector::gid_table,
    set_port_selector::prio2tc,    set_port_selector::scheduler, set_port_selector::vxlan,
    set_port_selector::roce_addr};

/// Of one header, as a rule has it.
template <class T>
image<T> header(layouts::flow_header_id id) {
  return image<T>{}.template set<&T::words>(T::bytes / 4).template set<&T::id>(id);
}

}  // namespace

// Where the input has ended, as bring-up wants them.
void hostile_station::fill_settings(set_port_selector selector) {
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  const std::uint8_t kind = script.byte();
  switch (selector) {
    case set_port_selector::general: {
      using g = layouts::set_port_general;
      image<g> s;
      s.set<&g::v_mtu>(true).set<&g::mtu>(9026u - kind * 32u);
      if (roce_v2_)
        s.set<&g::v_roce_mode>(true).set<&g::roce_mode>(
            kind < 0xc0 ? layouts::port_roce_mode::v1_and_v2 : layouts::port_roce_mode::v1);
      s.set<&g::v_pptx>((kind & 1) != 0).set<&g::pptx>((kind & 2) != 0);
      s.set<&g::v_pprx>((kind & 1) != 0).set<&g::pprx>((kind & 4) != 0);
      s.set<&g::pfctx>((kind & 8) != 0 ? kind : 0).set<&g::pfcrx>((kind & 8) != 0 ? kind : 0);
      return put_in_mailbox(s);
    }
    case set_port_selector::rqp_calc: {
      using c = layouts::set_port_rqp_calc;
      const std::uint32_t to = spreads_ && kind < 0x80 ? spreader_number : first_ring;
      return put_in_mailbox(image<c>{}
                                .set<&c::base_qpn>(to)
                                .set<&c::n_mac>(7)
                                .set<&c::vlan_miss>(1)
                                .set<&c::promisc>((kind & 1) != 0)
                                .set<&c::promisc_qpn>(to)
                                .set<&c::mcast_mode>(layouts::mcast_mode::standard)
                                .set<&c::mcast_qpn>(first_ring + kind % 4));
    }
    case set_port_selector::mac_table: {
      using m = layouts::set_port_mac_entry;
      return put_in_mailbox(image<m>{}.set<&m::valid>(true).set<&m::mac>(own_mac_ ^ kind),
                            kind / 128 * m::bytes);
    }
    case set_port_selector::vlan_table: {
      using v = layouts::set_port_vlan_entry;
      return put_in_mailbox(image<v>{}.set<&v::valid>(true).set<&v::vlan_id>(far_addresses::vlan),
                            (vlan_place ^ kind) * v::bytes);
    }
    case set_port_selector::gid_table:
      return host->store(
          driver->input + at_v1 * 16,
          image<layouts::set_port_gid_entry>{}.set_bytes<&layouts::set_port_gid_entry::gid>(
              gid_of_end(1 + kind % 2, at_v1).data()));
    case set_port_selector::roce_addr:
      for (unsigned i = at_v1; i <= at_v2_ipv4; ++i) {
        using a = layouts::set_port_roce_addr_entry;
        put_in_mailbox(image<a>{}
                           .set_bytes<&a::gid>(gid_of_end(1, i).data())
                           .set<&a::type>(i == at_v2_ipv6)
                           .set<&a::version>(i == at_v1 ? 0 : 2),
                       (i ^ kind % 64) * a::bytes);
      }
      return;
    case set_port_selector::scheduler:
      for (unsigned i = 0; i < layouts::set_port_traffic_classes; ++i) {
        using e = layouts::set_port_scheduler_entry;
        put_in_mailbox(image<e>{}
                           .set<&e::pg>(kind < 0x80 ? i : 0)
                           .set<&e::bw_percentage>(kind < 0x80 ? 100
                                                   : i < 4     ? 13
                                                               : 12)
                           .set<&e::max_bw_units>(layouts::bandwidth_unit::gbps_1)
                           .set<&e::max_bw_value>((kind & 1) == 0 ? layouts::no_bandwidth_limit
                                                                  : kind % 8 + 1),
                       i * e::bytes);
      }
      return;
    case set_port_selector::vxlan: {
      using x = layouts::set_port_vxlan;
      return put_in_mailbox(image<x>{}
                                .set<&x::modify_enable>(true)
                                .set<&x::enable>((kind & 1) == 0)
                                .set<&x::modify_steering>(true)
                                .set<&x::steering>(kind % 8));
    }
    default:
      // Priorities to classes of some kind.
      for (unsigned i = 0; i < 4; ++i)
        *host->at(driver->input + i) = static_cast<std::byte>(kind >> i & 0x77);
  }
}

// Where the input has ended, the rule of all frames that no other takes. In words.
std::uint32_t hostile_station::fill_rule() {
  using k = layouts::flow_rule_control;
  using id = layouts::flow_header_id;
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  const std::uint8_t kind = script.byte();
  const auto type = kind == 0     ? layouts::flow_rule_type::all_default
                    : kind < 0xc0 ? layouts::flow_rule_type::regular
                                  : static_cast<layouts::flow_rule_type>(kind % 8);
  put_in_mailbox(
      image<k>{}
          .set<&k::priority>(kind * 64u)
          .set<&k::type>(type)
          .set<&k::exclusive>((kind & 1) != 0)
          .set<&k::allow_loopback>((kind & 2) == 0)
          .set<&k::port>(cabled_port)
          .set<&k::qpn>(kind % 4 == 0 && spreads_ ? spreader_number : first_ring + kind % 4));
  std::size_t at = k::bytes;
  const auto add = [&](const auto& part) {
    put_in_mailbox(part, at);
    at += part.size();
  };
  if (type != layouts::flow_rule_type::regular) return static_cast<std::uint32_t>(at / 4);
  const std::uint8_t parts = script.byte();
  const auto ethernet = [&] {
    using e = layouts::flow_header_ethernet;
    add(header<e>(id::ethernet)
            .set<&e::dmac>((parts & 1) == 0 ? own_mac_ : 0x0100'5e00'0001)
            .set<&e::dmac_mask>(0xffff'ffff'ffff)
            .set<&e::vlan_mask>((parts & 2) != 0 ? 0xfff : 0)
            .set<&e::vlan>((parts & 2) != 0 ? far_addresses::vlan : 0));
  };
  const auto inner = [&] {
    using i = layouts::flow_header_ipv4;
    using p = layouts::flow_header_ports;
    if ((parts & 4) != 0)
      add(header<i>(id::ipv4)
              .set<&i::destination>(0xc0a80102)
              .set<&i::destination_mask>(0xffffffff));
    if ((parts & 8) != 0)
      add(header<p>((parts & 0x10) != 0 ? id::tcp : id::udp)
              .set<&p::destination>((parts & 0x20) != 0 ? 4789 : 5001)
              .set<&p::destination_mask>(0xffff));
  };
  ethernet();
  inner();
  if ((parts & 0x40) != 0) {
    using x = layouts::flow_header_vxlan;
    add(header<x>(id::vxlan).set<&x::vni>(0x1234).set<&x::vni_mask>(0xffffff));
    if ((parts & 0x80) != 0) ethernet(), inner();
  }
  return static_cast<std::uint32_t>(at / 4);
}

// B0's entries, at the place that the hash gives, or the promiscuous ones.
void hostile_station::change_group(bool promiscuous) {
  using g = layouts::mcg_ethernet_gid;
  using h = layouts::mcg_header;
  const std::uint8_t kind = script.byte();
  const auto of =
      (kind & 1) == 0 ? layouts::mcg_steering::unicast : layouts::mcg_steering::multicast;
  const auto name = image<g>{}
                        .set<&g::port>(cabled_port)
                        .set<&g::steering>(of)
                        .set<&g::mac>((kind & 1) == 0 ? own_mac_ : std::uint64_t{0x0100'5e00'0001});
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  put_in_mailbox(name);
  std::uint32_t place = cabled_port << 16 | static_cast<std::uint32_t>(of) << 1;
  if (!promiscuous) {
    driver->post(opcode::mgid_hash, driver->input, 0, 1, 0, kind, false);
    host->run();
    const image<layouts::hcr> r = driver->command_register();
    place = static_cast<std::uint32_t>(r.get<&layouts::hcr::out_param>());
  }
  std::memset(host->at(driver->input), 0, layouts::mailbox_bytes);
  const unsigned members = kind / 16 % 4;
  image<h> head;
  head.set<&h::protocol>(layouts::mcg_protocol::ethernet).set<&h::members_count>(members);
  if (!promiscuous) head.set_bytes<&h::gid>(name.data());
  put_in_mailbox(head);
  using m = layouts::mcg_member;
  for (unsigned i = 0; i < members; ++i)
    put_in_mailbox(image<m>{}
                       .set<&m::qpn>(first_ring + (i + kind) % 8)
                       .set<&m::block_loopback>((kind & 8) != 0),
                   h::bytes + i * m::bytes);
  if ((kind & 4) != 0) damage(host->at(driver->input), 128, 4);
  driver->post(opcode::write_mcg, driver->input, place, promiscuous, 0, kind, false);
  host->run();
}

void hostile_station::setting() {
  const std::uint8_t what = script.byte(), kind = script.byte();
  std::uint32_t modifier = cabled_port;
  unsigned opcode_modifier = 0;
  std::uint64_t in = driver->input;
  opcode o{};
  std::memset(host->at(in), 0, layouts::mailbox_bytes);
  switch (what % 24) {
    case 0:
      o = opcode::set_vlan_fltr;
      for (unsigned i = 0; i < 512; ++i) *host->at(in + i) = static_cast<std::byte>(kind);
      break;
    case 1: {
      using f = layouts::multicast_filter;
      o = opcode::set_mcast_fltr;
      opcode_modifier = kind % 4;
      const auto f1 =
          image<f>{}.set<&f::clear>((kind & 8) != 0).set<&f::mac>(0x0100'5e00'0000 | kind >> 4);
      in = layouts::load_be<std::uint64_t>(f1.data());
      break;
    }
    case 2: {
      using c = layouts::config_dev;
      o = opcode::config_dev;
      opcode_modifier = kind % 4 == 0;
      modifier = 0;
      put_in_mailbox(image<c>{}
                         .set<&c::u_disable_rx_port_check>((kind & 8) != 0)
                         .set<&c::disable_rx_port_check>((kind & 0x10) != 0)
                         .set<&c::u_roce_v2_udp_dport>((kind & 0x20) != 0)
                         .set<&c::roce_v2_udp_dport>(number() & 0xffff)
                         .set<&c::u_vxlan_udp_dport>((kind & 0x40) != 0)
                         .set<&c::vxlan_udp_dport>((kind & 0x80) == 0 ? 4789 : number() & 0xffff));
      break;
    }
    case 3: {
      using a = layouts::access_reg;
      using p = layouts::ptys;
      o = opcode::access_reg;
      modifier = 0;
      put_in_mailbox(image<a>{}
                         .set<&a::operation_tlv_type>(1)
                         .set<&a::operation_tlv_words>(4)
                         .set<&a::register_id>(layouts::access_reg_id::ptys)
                         .set<&a::method>((kind & 1) == 0 ? layouts::access_reg_method::query
                                                          : layouts::access_reg_method::write)
                         .set<&a::register_class>(1)
                         .set<&a::register_tlv_type>(3)
                         .set<&a::register_tlv_words>(p::bytes / 4 + 1));
      put_in_mailbox(image<p>{}
                         .set<&p::local_port>(cabled_port)
                         .set<&p::proto_mask>(layouts::ptys_protocol::ethernet)
                         .set<&p::eth_proto_admin>((kind & 2) == 0 ? 0xffffffff : number()),
                     a::bytes);
      break;
    }
    case 4: {
      using u = layouts::update_qp_mailbox;
      const test_qp& qp = some_queue_pair();
      o = opcode::update_qp;
      modifier = qp.number;
      put_in_mailbox(image<u>{}
                         .set<&u::qp_mask>(std::uint64_t{number()} << (kind % 33))
                         .set<&u::primary_path_mask>(std::uint64_t{number()} << (kind / 8))
                         .set_bytes<&u::context>(context_for(qp).data()));
      break;
    }
    case 5:
      o = kind < 0x80 ? opcode::query_port : opcode::sense_port;
      break;
    case 6:
      o = opcode::dump_eth_stats;
      modifier |= (kind & 1u) << 8 | (kind & 0x80u) << 9;
      break;
    case 7:
      o = kind % 2 == 0 ? opcode::query_if_stat : opcode::set_if_stat;
      modifier = kind / 2;
      opcode_modifier = kind % 3;
      break;
    case 8: {
      using v = layouts::virt_port_map;
      o = opcode::virt_port_map;
      opcode_modifier = kind % 4 != 0;
      const auto map =
          image<v>{}.set<&v::v_port1>(1 + (kind >> 2 & 1)).set<&v::v_port2>(2 - (kind >> 3 & 1));
      put_in_mailbox(map);
      if (kind < 0x80) in = layouts::load_be<std::uint64_t>(map.data());
      break;
    }
    case 9: {
      using c = layouts::congestion_control_modifier;
      using p = layouts::reaction_point_parameters;
      o = opcode::congestion_ctrl;
      constexpr unsigned modifiers[] = {0, 1, 4, 4};
      opcode_modifier = modifiers[kind % 4];
      modifier = layouts::load_be<std::uint32_t>(
          image<c>{}.set<&c::priorities>(kind).set<&c::port>(cabled_port).data());
      put_in_mailbox(
          image<p>{}.set<&p::modify_rpg_enable>(true).set<&p::modify_rpg_gd>((kind & 4) != 0));
      break;
    }
    case 10:
    case 11:
      o = opcode::qp_flow_steering_attach;
      modifier = fill_rule();
      break;
    case 12:
      o = opcode::qp_flow_steering_detach;
      in = kind < 0xc0 ? kind % 16 : number();
      modifier = 0;
      break;
    case 13: {
      // QP_ATTACH and its kin are of functions: what a bare adapter answers.
      constexpr opcode of_functions[] = {opcode::qp_attach, opcode::mcast_attach,
                                         opcode::ucast_attach};
      o = of_functions[kind % std::size(of_functions)];
      break;
    }
    case 14:
      return change_group(kind < 0x80);
    case 15:
      o = kind < 0x60 ? opcode::close_port : opcode::init_port;
      break;
    default: {
      const set_port_selector selector = selectors[kind % std::size(selectors)];
      o = opcode::set_port;
      opcode_modifier = kind < 0xf8 ? 1 : 4;  // or the beacon
      modifier = layouts::set_port_input_modifier(selector, cabled_port);
      fill_settings(selector);
    }
  }
  const std::uint8_t wrong = script.byte();
  if ((wrong & 1) != 0) damage(host->at(driver->input), 256, 4);
  if (wrong >= 0xf0) modifier = number();
  if (wrong >= 0xe0 && wrong < 0xf0) modifier += wrong % 4;
  if (wrong >= 0xd0 && wrong < 0xe0) opcode_modifier = wrong % 16;
  driver->post(o, in, modifier, opcode_modifier, driver->output, wrong, (wrong & 2) != 0);
  host->run();
}

}  // namespace freehca::fuzz
