// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/mcg.hpp>

#include <freehca/hca/ethernet/port_modification.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// Gives a queue pair the frames of an Ethernet port whose address no entry of the multicast table
/// has: those to unicast addresses, those to groups, or both. Replaces the queue pair that the port
/// had for them before. Without both, the port drops such frames. The caller switches the mode off
/// before it destroys the queue pair, and owns the operation. One operation works on a port at a
/// time.
///
/// A device that steers by rules has rules for that: flow_rule_type::all_default and
/// ::multicast_default.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (device::refused() names the
/// attribute), ::unsupported (not an Ethernet port, not the control owner, or the device does not
/// have B0 steering), ::stale_handle, ::busy, ::bad_state, ::cancelled, transport_error::timeout.
/// The entry of unicast addresses is written first.
///
/// Source: Linux 6.1 mcg.c mlx4_WRITE_PROMISC, add_promisc_qp, remove_promisc_qp.
class set_promiscuous_mode : public port_modification {
 public:
  set_promiscuous_mode() = default;
  ~set_promiscuous_mode() { drop(); }

  /// Ports count from 1.
  void start(verbs& owner, unsigned port, qp_handle pair, bool all_unicast, bool all_multicast);

 private:
  status check(verbs& owner, qp_handle pair);
  void write(layouts::mcg_steering what, bool on);
  static void advance(stepper& self, status outcome) noexcept;

  std::uint32_t qpn_ = 0;
  bool all_multicast_ = false;
  bool last_ = false;  // the second command is under way
  std::byte entry_[layouts::mcg_header::bytes + layouts::mcg_member::bytes];
};

}  // namespace freehca
