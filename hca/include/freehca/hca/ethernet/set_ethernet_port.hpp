// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/ethernet_filters.hpp>
#include <freehca/layouts/set_port.hpp>

#include <freehca/hca/ethernet/port_modification.hpp>
#include <freehca/hca/port_operation.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// The smallest MTU of IP over Ethernet (Linux 6.1 if_ether.h ETH_MIN_MTU).
inline constexpr std::uint16_t least_ethernet_mtu = 68;

/// The settings of an Ethernet port. set_ethernet_port writes all of them.
struct ethernet_port_settings {
  /// The MTU of IP over Ethernet, in bytes: least_ethernet_mtu to the limit that QUERY_PORT
  /// reported (capabilities::raw_port, eth_mtu). Longer frames are dropped. RoCE has the largest
  /// port_attributes::active_mtu that fits.
  std::uint16_t mtu = default_ethernet_mtu;
  /// Global pause (IEEE 802.3x): whether the port sends pause frames, and whether it obeys them.
  bool sends_pause = true, obeys_pause = true;
  /// Priority pause (IEEE 802.1Qbb), one bit for each priority: the port sends pause frames of the
  /// priority, or obeys them. A direction that has priorities has no global pause.
  std::uint8_t sends_priority_pause = 0, obeys_priority_pause = 0;
  /// If true, the port drops frames with a VLAN tag whose VLAN is not in `vlans`. The VLANs are 0
  /// to 4094.
  bool filters_vlans = false;
  const std::uint16_t* vlans = nullptr;
  unsigned vlan_entries = 0;
  /// If true, the port drops frames to groups that are not in `groups`. Broadcast passes always.
  /// The groups are MAC addresses of 48 bits, the first byte the most significant.
  bool filters_multicast = false;
  const std::uint64_t* groups = nullptr;
  unsigned group_entries = 0;
};

/// Writes the settings of an Ethernet port of a device that is up. The port may be closed: the
/// settings stay until a reset, and port_operation opens the port with them. The caller owns the
/// operation. One operation works on a port at a time. The lists stay unchanged until the operation
/// is done. A deadline and cancel() apply to all commands of the operation. After either, the
/// operation posts no further commands.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (device::refused() names the
/// attribute), ::unsupported (not an Ethernet port), ::bad_state (the device is not up), ::busy
/// (another operation works on the port, or the port is in doubt), ::cancelled,
/// transport_error::timeout. The commands are sent in the order of the settings above. If one
/// fails, those in front of it have been applied. The attributes of the port have the MTU and the
/// pause that the firmware accepted last.
///
/// Sources: Linux 6.1 port.c mlx4_SET_PORT_general, mlx4_SET_MCAST_FLTR; en_port.c
/// mlx4_SET_VLAN_FLTR; en_netdev.c mlx4_en_do_multicast for the order.
class set_ethernet_port : public port_modification {
 public:
  set_ethernet_port() = default;
  ~set_ethernet_port() { drop(); }

  /// Ports count from 1.
  void start(device& adapter, unsigned port, const ethernet_port_settings& to);

 private:
  enum class step : std::uint8_t { general, read, vlans, groups_off, clear, group, groups_on };

  status check() const;
  step next_step() const;
  void send_step();
  void set_vlans(command_request& r);
  void set_groups(command_request& r, layouts::set_mcast_fltr_modifier what, std::uint64_t value);
  static void advance(stepper& self, status outcome) noexcept;

  step step_ = step::general;
  unsigned group_ = 0;  // the group that `step::group` adds
  ethernet_port_settings to_;
  port_query query_;
  layouts::image<layouts::set_port_general> general_;
  std::byte words_[layouts::vlan_filter_words * layouts::vlan_filter_word::bytes];
};

}  // namespace freehca
