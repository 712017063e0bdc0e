// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/operation_request.hpp>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/device_watch.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

class device;

/// The attributes of a port that an event can report as changed. A set of them is a sum. The first
/// five are those of layouts::port_info_change.
enum class port_change : std::uint32_t {
  sm_lid = 1u << 0,
  subnet_prefix = 1u << 1,
  lid = 1u << 2,
  client_reregister = 1u << 3,
  sm_sl = 1u << 4,
  guids = 1u << 5,
  pkeys = 1u << 6,
  sl_to_vl = 1u << 7,
  state = 1u << 8,  ///< the port became active or went down
};
constexpr bool has(std::uint32_t set, port_change what) {
  return (set & static_cast<std::uint32_t>(what)) != 0;
}

/// The callbacks of an adapter_monitor. Each may be null. device::poll() calls them.
struct monitor_sinks {
  void* context = nullptr;
  /// An event about the adapter or about a cable: ecc_detect, fatal_warning, recoverable_error,
  /// operation_required, eq_overflow or local_catastrophic_error, as the device wrote it.
  void (*condition)(void* context, const layouts::image<layouts::eqe>& event) noexcept = nullptr;
  /// Eight GUIDs (`what` is port_change::guids) or 32 P_Keys (port_change::pkeys) of a table that
  /// has changed were read again. `read` has the layout guid_info or pkey_table.
  void (*table)(void* context, unsigned port, port_change what, unsigned block,
                const subnet_query& read) noexcept = nullptr;
  /// The attributes of the port, and the blocks of its tables that have changed, were read again.
  /// `changes` is a sum of port_change. Called before event_sinks::port.
  ///
  /// If the read of a block fails, this callback does not wait for the block: `changes` is then
  /// without the table. The port and the block are read again after a pause, and reported again. A
  /// block is given up when four reads have failed: `changes` then has the table, but `table` was
  /// not called for the block.
  void (*port)(void* context, unsigned port, std::uint32_t changes) noexcept = nullptr;
};

/// Reports the events about a device itself and about its ports: which attribute of a port has
/// changed, and warnings and errors of the adapter. Reads changed tables again. Answers operations
/// that the firmware requires: a group without members is done, all others are refused, because the
/// driver does not know the queue pairs of the firmware. A device that steers by rules has no
/// groups, and refuses them all. A device without a monitor does not ask
/// for operation_required and recoverable_error.
///
/// Sources: Linux 6.1 eq.c mlx4_eq_int, hw/mlx4/mad.c handle_port_mgmt_change_event, fw.c
/// mlx4_opreq_action.
class adapter_monitor : private device_watch {
 public:
  explicit adapter_monitor(const monitor_sinks& to);
  ~adapter_monitor() { stop(); }
  adapter_monitor(const adapter_monitor&) = delete;
  adapter_monitor& operator=(const adapter_monitor&) = delete;

  /// Begins to watch `d`, which must be down and have no monitor. The device must be up or down
  /// when the monitor ends. A stopped monitor is not started again. Errors:
  /// driver_error::bad_state.
  status start(device& d);
  /// The device goes on to report changes of ports to event_sinks::port. That includes those that
  /// the monitor has not reported yet.
  void stop();

  /// The number of asynchronous events of a type, since the monitor was made.
  std::uint32_t count(layouts::event_type type) const {
    return counts_[static_cast<unsigned>(type) % types];
  }
  /// The number of port events that named no InfiniBand port of the device, no block of its tables,
  /// or no known subtype.
  std::uint32_t unknown() const { return unknown_; }

 private:
  static constexpr unsigned types = 64;
  static constexpr unsigned pkeys_at = 16;  // bit of `stale`: the P_Keys follow 16 blocks of GUIDs

  bool take(const layouts::image<layouts::eqe>& event);
  bool take_port_event(const layouts::image<layouts::eqe>& event);
  void read_next();
  void table_read();
  void send(layouts::get_op_req_modifier how, std::uint32_t result);
  void answered();

  struct watched_port {
    std::uint32_t changes = 0;
    std::uint32_t stale = 0;    // bit n: block n of the tables must be read
    std::uint32_t failed = 0;   // bit n: block n could not be read since `read` was set
    std::uint8_t failures = 0;  // how often in a row blocks could not be read
    bool read = false;          // the attributes were read; the tables follow
  };
  monitor_sinks to_;
  device* device_ = nullptr;
  std::uint32_t counts_[types] = {};
  std::uint32_t unknown_ = 0;
  watched_port ports_[most_ports];
  unsigned port_ = 0, block_ = 0;  // the block that is being read; port 0: none
  unsigned required_ = 0;          // operations that the firmware requires
  subnet_query table_;
  firmware_command<commands::get_op_req> operation_{layouts::get_op_req_modifier::get,
                                                    std::uint32_t{0}};
};

}  // namespace freehca
