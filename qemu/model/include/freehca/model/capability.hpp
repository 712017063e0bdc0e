// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace freehca::model {

/// What an adapter can be made without, for tests: it then reports nothing of it, and refuses it as
/// an adapter does that never had it. Values are bits of capability_set.
enum class capability : std::uint8_t {
  unreliable_connection,
  extended_reliable_connection,
  shared_receive_queues,
  multicast,
  b0_steering,
  device_managed_steering,
  ipoib_steering,
  reserved_lkey,
  blueflame,
  large_entries,
  clock,
  port_management_events,
  memory_windows,
  memory_management,  ///< fast registration, invalidation here and by the peer
  path_migration,
  ipoib_checksum,  ///< of IP over InfiniBand, on send and on receive
  large_send,      ///< the adapter makes segments of a large message
  // Of adapters with an Ethernet port alone.
  two_link_layers,        ///< ports of different kinds in one adapter
  receive_side_scaling,   ///< by a hash, also of UDP and of fragments
  interface_counters,     ///< that contexts name by index
  keeps_fcs,              ///< the FCS can be scattered behind a frame
  ignores_fcs,            ///< frames with a wrong FCS can be delivered
  unicast_loopback,       ///< frames to the own MAC come back
  loopback_source_check,  ///< and do not, where a queue pair wants it; UPDATE_QP
  device_configuration,   ///< CONFIG_DEV
  link_modes,             ///< ACCESS_REG, register PTYS
  port_beacon,
  vxlan,
  wake_on_lan,
  roce,  ///< version 1
  roce_v2,
  port_sensing,             ///< of VPI ports alone
  port_remap,               ///< VIRT_PORT_MAP; of two ports alone
  traffic_classes,          ///< with shares and rates (ETS)
  congestion_notification,  ///< QCN
  default_sense,            ///< VPI ports are to be sensed before anything else
  // Of every adapter.
  recoverable_errors,  ///< the event "recoverable error"
};

/// What an adapter has only when options::with names it. Wake on LAN and congestion notification:
/// the settings are kept, but nobody wakes the host, and nobody obeys a notification. Default sense
/// is a setting of a card, not all of which have it. Recoverable errors: no capture reports them,
/// and the adapter raises none by itself.
constexpr bool off_unless_asked(capability c) {
  return c == capability::wake_on_lan || c == capability::congestion_notification ||
         c == capability::default_sense || c == capability::recoverable_errors;
}

struct capability_name {
  capability what;
  std::string_view name;
};

/// Every capability, by the name that properties and documentation have for it.
inline constexpr std::array capability_names{
    capability_name{capability::unreliable_connection, "uc"},
    capability_name{capability::extended_reliable_connection, "xrc"},
    capability_name{capability::shared_receive_queues, "srq"},
    capability_name{capability::multicast, "multicast"},
    capability_name{capability::b0_steering, "b0-steering"},
    capability_name{capability::device_managed_steering, "device-managed-steering"},
    capability_name{capability::ipoib_steering, "ipoib-steering"},
    capability_name{capability::reserved_lkey, "reserved-lkey"},
    capability_name{capability::blueflame, "blueflame"},
    capability_name{capability::large_entries, "64-byte-entries"},
    capability_name{capability::clock, "clock"},
    capability_name{capability::port_management_events, "port-management-events"},
    capability_name{capability::memory_windows, "memory-windows"},
    capability_name{capability::memory_management, "memory-management"},
    capability_name{capability::path_migration, "path-migration"},
    capability_name{capability::ipoib_checksum, "ipoib-checksum"},
    capability_name{capability::large_send, "large-send"},
    capability_name{capability::two_link_layers, "two-link-layers"},
    capability_name{capability::receive_side_scaling, "rss"},
    capability_name{capability::interface_counters, "interface-counters"},
    capability_name{capability::keeps_fcs, "fcs-keep"},
    capability_name{capability::ignores_fcs, "ignore-fcs"},
    capability_name{capability::unicast_loopback, "unicast-loopback"},
    capability_name{capability::loopback_source_check, "loopback-source-check"},
    capability_name{capability::device_configuration, "config-dev"},
    capability_name{capability::link_modes, "link-modes"},
    capability_name{capability::port_beacon, "port-beacon"},
    capability_name{capability::vxlan, "vxlan"},
    capability_name{capability::wake_on_lan, "wake-on-lan"},
    capability_name{capability::roce, "roce"},
    capability_name{capability::roce_v2, "roce-v2"},
    capability_name{capability::port_sensing, "port-sensing"},
    capability_name{capability::port_remap, "port-remap"},
    capability_name{capability::traffic_classes, "ets"},
    capability_name{capability::congestion_notification, "qcn"},
    capability_name{capability::default_sense, "default-sense"},
    capability_name{capability::recoverable_errors, "recoverable-errors"},
};

class capability_set {
 public:
  constexpr void add(capability c) { bits_ |= std::uint64_t{1} << static_cast<unsigned>(c); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(capability c) const { return (bits_ >> static_cast<unsigned>(c) & 1) != 0; }

  /// Names with commas between them, in any order; no text is the empty set. Nothing when a name is
  /// not known.
  static constexpr std::optional<capability_set> named(std::string_view text) {
    capability_set set;
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      const std::string_view name = text.substr(0, comma);
      text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
      bool known = false;
      for (const capability_name& c : capability_names) {
        if (c.name != name) continue;
        set.add(c.what);
        known = true;
      }
      if (!known) return std::nullopt;
    }
    return set;
  }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace freehca::model
