// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/ethernet_port.hpp>
#include <freehca/layouts/ethernet_statistics.hpp>

namespace freehca {

class device;

/// The counters of an Ethernet port. Each is the sum over all priorities and over frames without a
/// VLAN tag. Bytes are those of frames without errors, from the destination MAC to the FCS.
struct ethernet_counters {
  std::uint64_t rx_frames = 0;  ///< with those that had an error
  std::uint64_t rx_bytes = 0;
  std::uint64_t rx_unicast = 0, rx_multicast = 0, rx_broadcast = 0;
  std::uint64_t rx_giants = 0;  ///< longer than the MTU of the port
  std::uint64_t rx_crc_errors = 0;
  std::uint64_t rx_dropped = 0;
  std::uint64_t rx_overflow = 0;  ///< dropped: no receive was posted
  std::uint64_t rx_dropped_length = 0;
  std::uint64_t tx_frames = 0, tx_bytes = 0;
  std::uint64_t tx_unicast = 0, tx_multicast = 0, tx_broadcast = 0;
  std::uint64_t tx_dropped = 0;
};

/// Reads the counters of an Ethernet port of a device that is up (DUMP_ETH_STATS). Reading needs no
/// other operation to end first. The caller owns the operation. A done operation may be restarted.
///
/// Outcomes besides those of the command: driver_error::bad_argument (no such port), ::unsupported
/// (not an Ethernet port), ::bad_state (the device is not up), ::cancelled,
/// transport_error::timeout. Source: Linux 6.1 en_port.c mlx4_en_DUMP_ETH_STATS.
class port_statistics_query : public firmware_command<commands::dump_eth_stats> {
 public:
  port_statistics_query() : firmware_command(std::uint32_t{1}, false) {}

  /// Ports count from 1. If `reset` is true, the counters of the port are 0 afterwards.
  void start(device& adapter, unsigned port, bool reset = false);

  // Valid when the operation is done and ok.
  ethernet_counters counters() const;
  /// One counter of a group. The classes are the priorities 0 to 7, layouts::statistics_no_vlan
  /// and, for groups of sent frames, layouts::statistics_loopback.
  std::uint64_t counter(const layouts::statistics_group& group, unsigned traffic_class) const;

 private:
  std::uint64_t sum(const layouts::statistics_group& group) const;
};

}  // namespace freehca
