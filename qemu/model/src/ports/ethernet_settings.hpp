// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include <freehca/layouts/congestion_control.hpp>
#include <freehca/layouts/set_port.hpp>

#include "frames/frame.hpp"
#include "link/roce_address.hpp"
#include "ports/receive_filter.hpp"
#include "ports/traffic_classes.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

/// IP's MTU in QUERY_PORT. No source: chosen.
inline constexpr unsigned ethernet_mtu = 9600;
/// What SET_PORT's MTU holds beside that of IP: addresses and type, two tags, the FCS (Linux 6.1
/// mlx4_en.h MLX4_EN_EFF_MTU).
inline constexpr unsigned frame_bytes_beside_ip = 14 + 8 + 4;
/// SET_PORT's MTU, at most and at least. The least is that of Ethernet.
inline constexpr unsigned frame_mtu_most = ethernet_mtu + frame_bytes_beside_ip;
inline constexpr unsigned frame_mtu_least = 64;
/// May a port send a frame of so many bytes, without the FCS, with some MTU?
constexpr bool is_frame_length(std::size_t bytes) {
  return bytes >= frame_bytes_least && bytes <= frame_mtu_most - fcs_bytes;
}
/// Addresses of SET_MCAST_FLTR. No source: chosen.
inline constexpr std::size_t multicast_addresses_most = 4096;

/// CONGESTION_CTRL of each priority.
std::array<layouts::image<layouts::reaction_point_parameters>, 8> reaction_points_at_power_on();

/// All that commands have told an Ethernet port: what it is to send, to take, and to call its own.
/// As it stands here it is at power-on.
struct ethernet_settings {
  // SET_PORT general. A port that was told nothing takes what it can: no source, chosen.
  unsigned mtu = frame_mtu_most;  ///< of a frame, with the FCS
  unsigned user_mtu = 0;          ///< 0: not told
  bool ignore_fcs = false, phv = false;
  layouts::port_roce_mode roce_mode = layouts::port_roce_mode::v1;
  bool pause_sent = false, pause_obeyed = false;                  ///< kept; pause is not modelled
  std::uint8_t pause_sent_classes = 0, pause_obeyed_classes = 0;  ///< by priority
  std::optional<std::uint64_t> user_mac;

  layouts::image<layouts::set_port_rqp_calc> unicast_numbers;
  std::array<std::optional<std::uint64_t>, layouts::set_port_mac_entries> macs;
  std::array<std::optional<std::uint16_t>, layouts::set_port_vlan_entries> vlans;
  std::array<roce_address, layouts::set_port_gid_entries> addresses;

  layouts::image<layouts::set_port_prio_map> priority_map;  ///< kept, and of no effect
  /// By priority. Linux takes it so before it has told the port (en_netdev.c mlx4_en_init_netdev).
  std::array<unsigned, 8> class_of_priority{0, 1, 2, 3, 4, 5, 6, 7};
  traffic_classes::settings classes;
  bool has_shares = false;  ///< told of classes
  /// By priority. Kept, and of no effect.
  std::array<layouts::image<layouts::reaction_point_parameters>, 8> reaction_points =
      reaction_points_at_power_on();
  bool vxlan = false;
  std::uint8_t vxlan_steering = 0;
  std::uint32_t beacon_seconds = 0;

  // Filters.
  bool filters_vlans = false;  ///< SET_VLAN_FLTR has come
  std::bitset<vlan_ids> vlans_let_in;
  bool filters_multicast = false;
  std::set<std::uint64_t> multicast_let_in;

  std::optional<unsigned> mac_index(std::uint64_t mac) const;
  std::optional<unsigned> gid_index(const std::byte* gid, roce_version version) const;
  /// Untagged frames and priority tags always pass.
  bool lets_in_vlan(unsigned vid) const {
    return !filters_vlans || vid == 0 || vlans_let_in.test(vid % vlan_ids);
  }
  bool lets_in_multicast(std::uint64_t mac) const {
    return !filters_multicast || multicast_let_in.contains(mac);
  }
  receive_filter filter() const;

  using saved = saving::fields<
      &ethernet_settings::mtu, &ethernet_settings::user_mtu, &ethernet_settings::ignore_fcs,
      &ethernet_settings::phv,
      saving::up_to(&ethernet_settings::roce_mode, layouts::port_roce_mode::v1_and_v2),
      &ethernet_settings::pause_sent, &ethernet_settings::pause_obeyed,
      &ethernet_settings::pause_sent_classes, &ethernet_settings::pause_obeyed_classes,
      &ethernet_settings::user_mac, &ethernet_settings::unicast_numbers, &ethernet_settings::macs,
      &ethernet_settings::vlans, &ethernet_settings::addresses, &ethernet_settings::priority_map,
      &ethernet_settings::class_of_priority, &ethernet_settings::classes,
      &ethernet_settings::has_shares, &ethernet_settings::reaction_points,
      &ethernet_settings::vxlan, &ethernet_settings::vxlan_steering,
      &ethernet_settings::beacon_seconds, &ethernet_settings::filters_vlans,
      &ethernet_settings::vlans_let_in, &ethernet_settings::filters_multicast,
      &ethernet_settings::multicast_let_in>;
  const char* broken_invariant() const;
};

}  // namespace freehca::model
