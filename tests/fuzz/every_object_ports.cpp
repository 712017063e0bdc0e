// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Operations on ports and on the device, management datagrams, and events.
#include <iterator>

#include <freehca/firmware_cmds/firmware.hpp>
#include <freehca/firmware_cmds/object_contexts.hpp>
#include <freehca/firmware_cmds/port_settings.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/hca/device_clock.hpp>
#include <freehca/hca/ethernet/module_query.hpp>
#include <freehca/hca/ethernet/port_statistics.hpp>
#include <freehca/hca/ethernet/port_type.hpp>
#include <freehca/hca/ethernet/set_ethernet_port.hpp>
#include <freehca/hca/port_counters.hpp>
#include <freehca/hca/port_operation.hpp>

#include "every_object.hpp"

namespace freehca::fuzz {

// ---- Ports. Bit 0 of `a` chooses the port where both have the operation.

void every_object::open_port(arguments o) {
  port_operation op;
  if (o.b % 2u == 0) op.open(of_.adapter, 1 + o.a % 2u);
  else op.close(of_.adapter, 1 + o.a % 2u);
  static_cast<void>(of_.await(op, drops_));
}

void every_object::set_addresses(arguments o) {
  static constexpr std::uint16_t vlans[] = {no_vlan, 5};
  mac_ = of_.adapter.port(ethernet).mac ^ (o.a & 1);
  gids_ = {{{gid_of_mac(mac_), roce_version::v1},
            {gid_of_mac(mac_), roce_version::v2},
            {gid_of_ipv4(0x0a000001), roce_version::v2}}};
  const bool has_v2 = of_.machine.options().model.kind == model::variant::connectx3_pro;
  set_port_addresses op;
  run(op, of_.adapter, unsigned{ethernet},
      port_addresses{.macs = &mac_,
                     .mac_entries = 1,
                     .vlans = vlans,
                     .vlan_entries = (o.b & 1) != 0 ? 0u : 2u,
                     .gids = gids_.data(),
                     .gid_entries = (o.b & 2) != 0 ? 0u
                                    : has_v2       ? 3u
                                                   : 1u});
}

void every_object::set_port(arguments o) {
  static constexpr std::uint16_t vlans[] = {5, 6};
  static constexpr std::uint64_t some_groups[] = {0x0100'5e00'0001, 0x3333'0000'0001};
  set_ethernet_port op;
  run(op, of_.adapter, unsigned{ethernet},
      ethernet_port_settings{
          .mtu = static_cast<std::uint16_t>((o.b & 1) != 0 ? 9000 : 1500),
          .sends_pause = (o.b & 2) == 0,
          .sends_priority_pause = static_cast<std::uint8_t>((o.b & 4) != 0 ? o.a : 0),
          .obeys_priority_pause = static_cast<std::uint8_t>((o.b & 8) != 0 ? o.a : 0),
          .filters_vlans = (o.b & 0x10) != 0,
          .vlans = vlans,
          .vlan_entries = 2,
          .filters_multicast = (o.b & 0x20) != 0,
          .groups = some_groups,
          .group_entries = 2});
}

void every_object::read_statistics(arguments o) {
  if ((o.a & 1) == 0) {
    port_statistics_query op;
    if (run(op, of_.adapter, unsigned{ethernet}, o.b % 2u != 0)) static_cast<void>(op.counters());
    return;
  }
  packet_counter_query op;
  if (run(op, of_.adapter, std::uint32_t{counter_of(of_.objects, counter_)}, o.b % 2u != 0))
    static_cast<void>(op.counts());
}

void every_object::read_module(arguments o) {
  module_query op;
  run(op, of_.adapter, unsigned{ethernet},
      module_part{.i2c_address = static_cast<std::uint8_t>(0x50 + o.a % 2u),
                  .page = static_cast<std::uint8_t>(o.a / 2 % 4u),
                  .offset = o.b,
                  .bytes = 1});
}

void every_object::sense(arguments o) {
  port_type_query op;
  if (run(op, of_.adapter, 1u + o.a % 2u)) static_cast<void>(op.type());
}

void every_object::set_type(arguments o) {
  set_port_type op;
  run(op, of_.adapter, unsigned{ethernet},
      o.b % 2u == 0 ? layouts::port_type::ib : layouts::port_type::ethernet);
}

void every_object::read_counters(arguments o) {
  port_counters_query op;
  if (run(op, of_.adapter.commands(), 1u + o.a % 2u)) static_cast<void>(op.counters());
}

void every_object::read_table(arguments o) {
  subnet_query op;
  constexpr layouts::smp_attribute tables[] = {
      layouts::smp_attribute::port_info, layouts::smp_attribute::guid_info,
      layouts::smp_attribute::pkey_table, layouts::smp_attribute::sl_to_vl_table};
  run(op, of_.adapter.commands(), 1u, tables[o.a % std::size(tables)], std::uint32_t{o.b} % 4);
}

void every_object::use_cable(arguments o) {
  if (o.a % 4u != 0) {
    // A frame of any bytes, from the other end of the cable.
    std::byte frame[96] = {};
    for (unsigned i = 0; i < 6; ++i) frame[i] = static_cast<std::byte>(mac_ >> 8 * (5 - i) & 0xff);
    for (unsigned i = 12; i < sizeof frame; ++i) frame[i] = static_cast<std::byte>(o.b * i);
    if (o.a % 4u == 1)
      frame[12] = std::byte{8}, frame[13] = std::byte{0}, frame[14] = std::byte{69};
    if (o.a % 4u == 2) frame[0] = std::byte{1};
    of_.machine.deliver(ethernet, of_.machine.time(), frame, sizeof frame);
  } else {
    of_.machine.adapter().plug_cable(ethernet, o.b % 2u != 0);
  }
  of_.rest(clock::microseconds(100));
}

// ---- The device

template <class Family, class... Values>
void every_object::command(Values... values) {
  firmware_command<Family> op{values...};
  of_.adapter.commands().submit(op);
  static_cast<void>(of_.await(op, drops_));
}

void every_object::read_clock(arguments) {
  firmware_command<commands::query_fw> place;
  of_.adapter.commands().submit(place);
  if (!of_.await(place, drops_).ok()) return;
  firmware_command<commands::query_hca> rate;
  of_.adapter.commands().submit(rate);
  if (!of_.await(rate, drops_).ok()) return;
  device_clock found;
  if (found.find(of_.adapter, place.output, rate.output).ok() && of_.objects.up())
    static_cast<void>(found.read());
}

// Commands that programs send by the driver's channel.
void every_object::read_context(arguments o) {
  switch (o.a % 7u) {
    case 0:
      if (const completion_queue* const c = of_.objects.find(plain_); c != nullptr)
        command<commands::query_cq>(c->number);
      break;
    case 1:
      command<commands::query_eq>(of_.adapter.completion_context(0).eqn());
      break;
    case 2:
      if (const shared_receive_queue* const s = of_.objects.find(shared_); s != nullptr)
        command<commands::query_srq>(s->number);
      break;
    case 3:
      if (const memory_region* const r = of_.objects.find(region_); r != nullptr)
        command<commands::query_mpt>(r->number);
      break;
    case 4:
      command<commands::sync_tpt>();
      break;
    case 5:
      command<commands::config_mad_demux>();
      break;
    default:
      command<commands::mad_ifc_received<>>(std::uint32_t{1}, std::uint32_t{1}, std::uint32_t{o.b});
  }
}

// ---- Management datagrams and events

void every_object::send_datagram(arguments o) {
  const std::uint64_t id = next_id();
  if (id == 0) return;
  const bool of_smi = o.a % 2u == 0;
  management_send what{.wr_id = id,
                       .address = path(o.b % 2u == 0 ? rc : roce),
                       .source = gids_[0].address,
                       .smac = mac_,
                       .datagram = piece(0, layouts::mad_bytes)};
  if (of_smi) what.remote_qpn = layouts::qp0_smi, what.qkey = 0;
  static_cast<void>(posted(send_management(of_.objects, management_[o.a % 2u], what)));
}

monitor_sinks every_object::sinks() {
  monitor_sinks to;
  to.condition = [](void*, const layouts::image<layouts::eqe>& e) noexcept {
    static_cast<void>(subject_of(e));
  };
  to.table = [](void*, unsigned, port_change, unsigned, const subnet_query& read) noexcept {
    static_cast<void>(read.attribute<layouts::guid_info>());
  };
  to.port = [](void*, unsigned, std::uint32_t) noexcept {};
  return to;
}

void every_object::raise(arguments o) {
  constexpr layouts::event_type types[] = {layouts::event_type::port_management_change,
                                           layouts::event_type::port_change,
                                           layouts::event_type::operation_required,
                                           layouts::event_type::ecc_detect,
                                           layouts::event_type::fatal_warning,
                                           layouts::event_type::recoverable_error,
                                           layouts::event_type::eq_overflow,
                                           layouts::event_type::path_migrated,
                                           layouts::event_type::path_migration_failed,
                                           layouts::event_type::sq_drained,
                                           layouts::event_type::communication_established,
                                           layouts::event_type::cq_error,
                                           layouts::event_type::srq_limit,
                                           layouts::event_type::srq_last_wqe,
                                           layouts::event_type::srq_catastrophic_error,
                                           layouts::event_type::wq_catastrophic_error,
                                           layouts::event_type::wq_invalid_request_error,
                                           layouts::event_type::wq_access_violation,
                                           layouts::event_type::local_catastrophic_error,
                                           layouts::event_type::gpio};
  constexpr std::uint8_t subtypes[] = {0x14, 0x15, 0x16, 0x17,
                                       1,    4,    0,    model::operation_of_multicast};
  const layouts::event_type type = types[o.a % std::size(types)];
  if (type == layouts::event_type::local_catastrophic_error && o.b >= 0x80)
    return of_.machine.adapter().fail();
  static_cast<void>(of_.machine.adapter().raise_event(
      {type, subtypes[o.b % std::size(subtypes)], static_cast<std::uint8_t>(1 + o.b / 8 % 4u)}));
  of_.rest(clock::milliseconds(1));
}

}  // namespace freehca::fuzz
