// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The Ethernet forms of SET_PORT (docs/hardware-ethernet.md). Linux 6.1 writes each table whole.
#include "ports/ethernet_set_port.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace freehca::model {

using namespace layouts;

namespace {

/// All entries of a table, as the mailbox has them.
template <class Entry, std::size_t Count>
std::array<image<Entry>, Count> read_table(command_checks& is, const command& c) {
  std::array<std::byte, Count * Entry::bytes> bytes{};
  std::array<image<Entry>, Count> all;
  if (is.refused()) return all;
  is.was_read(c.memory->read(c.input_parameter, bytes.data(), bytes.size()), c);
  for (std::size_t i = 0; i < Count; ++i) {
    all[i] = image<Entry>::from_bytes(bytes.data() + i * Entry::bytes);
    is.no_reserved_bits(all[i], "entry");
  }
  return all;
}

void within(command_checks& is, const char* field, std::uint64_t value, std::uint64_t least,
            std::uint64_t most) {
  is.that(value >= least && value <= most, rule::port_setting, command_status::bad_parameter,
          "%s %llu; %llu to %llu", field, static_cast<unsigned long long>(value),
          static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
}

std::uint64_t mac_in(const std::byte* from) {
  std::uint64_t mac = 0;
  for (unsigned i = 0; i < 6; ++i) mac = mac << 8 | std::to_integer<std::uint64_t>(from[i]);
  return mac;
}

bool multicast(std::uint64_t mac) {
  return (mac >> 40 & 1) != 0;
}

void set_general(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_general;
  image<l> in;
  is.read(c, in).no_reserved_bits(in);
  if (in.get<&l::v_mtu>()) within(is, "mtu", in.get<&l::mtu>(), frame_mtu_least, frame_mtu_most);
  const port_roce_mode mode = in.get<&l::roce_mode>();
  if (in.get<&l::v_roce_mode>())
    is.that(mode == port_roce_mode::v1 || mode == port_roce_mode::v1_and_v2, rule::port_setting,
            command_status::bad_parameter, "roce_mode %u; 0 or 2", static_cast<unsigned>(mode));
  if (is.refused()) return;
  if (in.get<&l::v_mtu>())
    told.mtu = static_cast<unsigned>(
        std::clamp<std::uint64_t>(in.get<&l::mtu>(), frame_mtu_least, frame_mtu_most));
  if (in.get<&l::v_user_mtu>()) told.user_mtu = static_cast<unsigned>(in.get<&l::user_mtu>());
  if (in.get<&l::v_user_mac>()) told.user_mac = mac_in(in.bytes_of<&l::user_mac>());
  if (in.get<&l::v_ignore_fcs>()) told.ignore_fcs = in.get<&l::ignore_fcs>();
  if (in.get<&l::v_phv>()) told.phv = in.get<&l::phv_en>();
  if (in.get<&l::v_roce_mode>())
    told.roce_mode = mode == port_roce_mode::v1 ? port_roce_mode::v1 : port_roce_mode::v1_and_v2;
  if (in.get<&l::v_pptx>()) {
    told.pause_sent = in.get<&l::pptx>();
    told.pause_sent_classes = static_cast<std::uint8_t>(in.get<&l::pfctx>());
  }
  if (in.get<&l::v_pprx>()) {
    told.pause_obeyed = in.get<&l::pprx>();
    told.pause_obeyed_classes = static_cast<std::uint8_t>(in.get<&l::pfcrx>());
  }
}

void set_macs(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_mac_entry;
  const auto table = read_table<l, set_port_mac_entries>(is, c);
  for (const image<l>& e : table)
    is.that(!e.get<&l::valid>() || (!multicast(e.get<&l::mac>()) && e.get<&l::mac>() != 0),
            rule::port_setting, command_status::bad_parameter,
            "mac 0x%llx; a unicast address, not zero",
            static_cast<unsigned long long>(e.get<&l::mac>()));
  if (is.refused()) return;
  for (std::size_t i = 0; i < table.size(); ++i) {
    told.macs[i].reset();
    if (table[i].get<&l::valid>()) told.macs[i] = table[i].get<&l::mac>();
  }
}

void set_vlans(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_vlan_entry;
  const auto table = read_table<l, set_port_vlan_entries>(is, c);
  constexpr unsigned no_vlan = vlan_ids - 1;  // IEEE 802.1Q: reserved
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (!table[i].get<&l::valid>()) continue;
    is.that(i >= set_port_vlan_first, rule::port_setting, command_status::bad_parameter,
            "entry of VLANs %zu; the first %u are reserved", i, set_port_vlan_first);
    within(is, "vlan_id", table[i].get<&l::vlan_id>(), 0, no_vlan - 1);
  }
  if (is.refused()) return;
  for (std::size_t i = 0; i < table.size(); ++i) {
    told.vlans[i].reset();
    if (table[i].get<&l::valid>())
      told.vlans[i] = static_cast<std::uint16_t>(table[i].get<&l::vlan_id>());
  }
}

void set_gids(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_gid_entry;
  const auto table = read_table<l, set_port_gid_entries>(is, c);
  if (is.refused()) return;
  for (std::size_t i = 0; i < table.size(); ++i) {
    told.addresses[i] = {};
    std::copy_n(table[i].bytes_of<&l::gid>(), 16, told.addresses[i].gid.begin());
  }
}

void set_roce_addresses(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_roce_addr_entry;
  const auto table = read_table<l, set_port_gid_entries>(is, c);
  for (const image<l>& e : table) {
    is.that(e.get<&l::version>() == 0 || e.get<&l::version>() == 2, rule::port_setting,
            command_status::bad_parameter, "version %u; 0 or 2",
            static_cast<unsigned>(e.get<&l::version>()));
    within(is, "type", e.get<&l::type>(), 0, 1);
  }
  if (is.refused()) return;
  for (std::size_t i = 0; i < table.size(); ++i) {
    roce_address& a = told.addresses[i];
    std::copy_n(table[i].bytes_of<&l::gid>(), a.gid.size(), a.gid.begin());
    a.version = table[i].get<&l::version>() == 0 ? roce_version::v1 : roce_version::v2;
    a.ipv6 = table[i].get<&l::type>() != 0;
  }
}

void set_classes(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_prio2tc;
  image<l> in;
  is.read(c, in).no_reserved_bits(in);
  constexpr std::uint64_t most = set_port_traffic_classes - 1;
  is.at_most<&l::prio0>(rule::port_setting, in, most)
      .at_most<&l::prio1>(rule::port_setting, in, most)
      .at_most<&l::prio2>(rule::port_setting, in, most)
      .at_most<&l::prio3>(rule::port_setting, in, most)
      .at_most<&l::prio4>(rule::port_setting, in, most)
      .at_most<&l::prio5>(rule::port_setting, in, most)
      .at_most<&l::prio6>(rule::port_setting, in, most)
      .at_most<&l::prio7>(rule::port_setting, in, most);
  if (is.refused()) return;
  const std::uint64_t given[] = {in.get<&l::prio0>(), in.get<&l::prio1>(), in.get<&l::prio2>(),
                                 in.get<&l::prio3>(), in.get<&l::prio4>(), in.get<&l::prio5>(),
                                 in.get<&l::prio6>(), in.get<&l::prio7>()};
  for (std::size_t i = 0; i < told.class_of_priority.size(); ++i)
    told.class_of_priority[i] = static_cast<unsigned>(std::min(given[i], most));
}

traffic_class_settings settings_of(const image<set_port_scheduler_entry>& e) {
  using l = set_port_scheduler_entry;
  traffic_class_settings t{.group = static_cast<unsigned>(e.get<&l::pg>()),
                           .share = static_cast<unsigned>(e.get<&l::bw_percentage>())};
  const std::uint64_t value = e.get<&l::max_bw_value>();
  switch (e.get<&l::max_bw_units>()) {
    case bandwidth_unit::mbps_100:
      t.bits_per_second = value * 100'000'000;
      break;
    case bandwidth_unit::gbps_1:
      if (value != no_bandwidth_limit) t.bits_per_second = value * 1'000'000'000;
      break;
  }
  return t;
}

void set_scheduler(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_scheduler_entry;
  const auto table = read_table<l, set_port_traffic_classes>(is, c);
  for (const image<l>& e : table) {
    const bandwidth_unit unit = e.get<&l::max_bw_units>();
    within(is, "pg", e.get<&l::pg>(), 0, set_port_traffic_classes - 1);
    within(is, "bw_percentage", e.get<&l::bw_percentage>(), 0, 100);
    is.that(unit == bandwidth_unit::mbps_100 || unit == bandwidth_unit::gbps_1, rule::port_setting,
            command_status::bad_parameter, "max_bw_units %u; 3 or 4", static_cast<unsigned>(unit));
    // Linux asks for more in the larger unit, since firmware takes no more (device.h
    // MLX4_MAX_100M_UNITS_VAL).
    within(is, "max_bw_value", e.get<&l::max_bw_value>(), 1,
           unit == bandwidth_unit::mbps_100 ? 0xff : 0xffff);
  }
  if (is.refused()) return;
  std::transform(table.begin(), table.end(), told.classes.begin(), settings_of);
  told.has_shares = true;
}

void set_vxlan(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_vxlan;
  constexpr unsigned steering_bits = 0x1f;
  image<l> in;
  is.read(c, in).no_reserved_bits(in);
  if (in.get<&l::modify_steering>())
    within(is, "steering", in.get<&l::steering>(), 0, steering_bits);
  if (is.refused()) return;
  if (in.get<&l::modify_enable>()) told.vxlan = in.get<&l::enable>();
  if (in.get<&l::modify_steering>())
    told.vxlan_steering = static_cast<std::uint8_t>(in.get<&l::steering>());
}

/// Of the selectors whose mailbox is kept as it is.
template <class T>
void keep(command_checks& is, const command& c, image<T>& to) {
  image<T> in;
  is.read(c, in).no_reserved_bits(in);
  if (!is.refused()) to = in;
}

}  // namespace

void set_ethernet_port(command_checks& is, const command& c, set_port_selector selector,
                       ethernet_settings& told) {
  switch (selector) {
    case set_port_selector::general:
      return set_general(is, c, told);
    case set_port_selector::rqp_calc:
      return keep(is, c, told.unicast_numbers);
    case set_port_selector::mac_table:
      return set_macs(is, c, told);
    case set_port_selector::vlan_table:
      return set_vlans(is, c, told);
    case set_port_selector::prio_map:
      return keep(is, c, told.priority_map);
    case set_port_selector::gid_table:
      return set_gids(is, c, told);
    case set_port_selector::prio2tc:
      return set_classes(is, c, told);
    case set_port_selector::scheduler:
      return set_scheduler(is, c, told);
    case set_port_selector::vxlan:
      return set_vxlan(is, c, told);
    case set_port_selector::roce_addr:
      return set_roce_addresses(is, c, told);
  }
  is.must(false, rule::known_operation, command_status::bad_operation,
          "input modifier: selector 0x%x", static_cast<unsigned>(selector));
}

void set_beacon(command_checks& is, const command& c, ethernet_settings& told) {
  using l = set_port_beacon;
  constexpr std::uint64_t for_ever = 0xffff;
  image<l> in;
  is.read(c, in);
  within(is, "seconds", in.get<&l::seconds>(), 0, for_ever);
  if (!is.refused()) told.beacon_seconds = static_cast<std::uint32_t>(in.get<&l::seconds>());
}

}  // namespace freehca::model
