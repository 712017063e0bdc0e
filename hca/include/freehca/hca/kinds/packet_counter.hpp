// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/ethernet_port.hpp>

#include <freehca/hca/objects/verbs.hpp>

namespace freehca {

/// A counter of the device for the packets and frames of the queue pairs that name it
/// (connection_attributes::counter). It is an index. No command creates it. If it is destroyed, the
/// queue pairs that name it still count in it. Another packet counter may then have its index.
struct packet_counter : object_record {
  struct attributes {};
  static constexpr kind_facts facts{.name = "packet counter", .item = 0x5d};
  /// The counters that each owner has.
  static constexpr unsigned log_counters_of_owner = 3;

  /// Errors: driver_error::unsupported (the device has no counters), ::no_resource.
  status build(verbs& in, const attributes&);
  void strip(verbs&) { number = none; }  // it is not from a number space
};
static_assert(sizeof(void*) != 8 || sizeof(packet_counter) == 88);

/// Returns 0xff for a stale handle, which is no counter.
inline std::uint8_t counter_of(const verbs& in, handle<packet_counter> h) {
  const packet_counter* const found = in.find(h);
  return static_cast<std::uint8_t>(found != nullptr ? found->number : 0xff);
}

struct packet_counts {
  std::uint64_t rx_frames = 0, rx_bytes = 0, tx_frames = 0, tx_bytes = 0;
};

/// Reads a counter of a device that is up (QUERY_IF_STAT). The control owner uses it, for counters
/// of all owners. A done query may be restarted.
///
/// Outcomes besides those of the command: driver_error::bad_state (the device is not up),
/// ::unsupported (the device has no counters), ::bad_argument (no such counter), ::cancelled.
/// Source: Linux 6.1 cmd.c mlx4_get_counter_stats.
class packet_counter_query : public firmware_command<commands::query_if_stat> {
 public:
  packet_counter_query() : firmware_command(std::uint32_t{0}, false) {}

  refused_attribute refused;  ///< after driver_error::bad_argument

  /// If `reset` is true, the counter is 0 afterwards.
  void start(device& adapter, std::uint32_t index, bool reset = false);

  /// Valid if the query is done and ok, and the counter is a basic one.
  packet_counts counts() const;
  bool is_basic() const { return output.get<&layouts::interface_counter::mode>() == 0; }
};

}  // namespace freehca
