// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>

#include <freehca/layouts/smp.hpp>
#include <freehca/packets/dual_counter.hpp>
#include <freehca/packets/port_info_rules.hpp>

namespace freehca::infiniband_switch {

/// The most ports for cables that a switch has: those of one InfiniBand switch chip (36 of a
/// SwitchX or an InfiniScale IV). Port 0, for management, comes on top.
inline constexpr unsigned most_ports = 36;

/// What one port counts (IBTA vol. 1, 16.1.3.5). Data are 4-byte words from the LRH to the ICRC.
struct port_counts {
  packets::dual_counter xmit_data, rcv_data, xmit_packets, rcv_packets;
  packets::dual_counter unicast_xmit, unicast_rcv, multicast_xmit, multicast_rcv;
  packets::dual_counter link_downed, rcv_errors, rcv_switch_relay, xmit_discards, vl15_dropped;
  packets::dual_counter xmit_constraint, rcv_constraint;
};

/// All that management can see or set of one port. Port 0 is the base port for management (IBTA
/// vol. 1, 18.2.4.4.1): it has the switch's LID and its M_Key, and is always Active.
struct switch_port {
  static constexpr unsigned pkeys_at_most = layouts::pkeys_per_block;
  static constexpr unsigned vl_arbitration_entries = 8;

  layouts::image<layouts::port_info> info;
  std::array<std::uint16_t, pkeys_at_most> pkeys{layouts::default_pkey_full};
  /// By the port that a packet came in by: which lane a service level takes out of this port.
  std::array<layouts::image<layouts::sl_to_vl_table>, most_ports + 1> sl_to_vl;
  layouts::image<layouts::vl_arbitration> vl_arbitration_low, vl_arbitration_high;
  port_counts counts;

  /// As it stands at power-on.
  static switch_port at_power_on(unsigned number);

  layouts::port_state state() const { return info.get<&layouts::port_info::state>(); }
  layouts::port_physical_state physical_state() const {
    return info.get<&layouts::port_info::physical_state>();
  }
  bool link_up() const { return physical_state() == layouts::port_physical_state::link_up; }
  std::uint16_t lid() const {
    return static_cast<std::uint16_t>(info.get<&layouts::port_info::lid>());
  }
  unsigned data_lanes() const {
    return packets::data_lanes(info.get<&layouts::port_info::operational_vls>());
  }
  /// Whether a P_Key of this table lets the packet pass: the same partition, and one of both sides
  /// a full member (IBTA vol. 1, 10.9.3).
  bool admits(std::uint16_t pkey) const;
};

}  // namespace freehca::infiniband_switch
