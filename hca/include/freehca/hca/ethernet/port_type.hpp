// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/ethernet_port.hpp>
#include <freehca/firmware_cmds/query.hpp>
#include <freehca/layouts/set_port.hpp>

#include <freehca/hca/ethernet/port_modification.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

class device;

/// Asks the firmware for the link layer of the far end of the cable. The caller owns the operation.
/// A done operation may be restarted.
///
/// Outcomes besides those of the command: driver_error::bad_argument (no such port), ::bad_state
/// (the device is not up), ::cancelled, transport_error::timeout. Source: Linux 6.1 sense.c
/// mlx4_SENSE_PORT.
class port_type_query : public firmware_command<commands::sense_port> {
 public:
  port_type_query() : firmware_command(std::uint32_t{1}) {}

  /// Ports count from 1.
  void start(device& adapter, unsigned port);
  /// ib, ethernet, or none if nothing was detected. Valid when the operation is done and ok.
  layouts::port_type type() const;
};

/// The ports that set_port_type closes before it changes the type.
enum class ports_to_close : std::uint8_t {
  /// All open ports of the device, as Linux does (6.1 main.c mlx4_change_port_types).
  all,
  /// None. The port to change is closed already, and the others go on with their work. No source
  /// says what a card does then.
  none
};

/// Makes a VPI port of a device that is up an InfiniBand port or an Ethernet port, until the next
/// reset. No object may use the port: no queue pair that was moved to RTR over it and not reset
/// since (a queue pair of frames: to INIT), and no address handle. A path that change_queue_pair
/// has named counts until the queue pair is reset. The caller owns the operation. One operation
/// works on a port at a time. A deadline and cancel() apply to all commands of the operation. After
/// either, the operation posts no further commands.
///
/// Afterwards the attributes of the port are those of the new type, capabilities::raw_port suggests
/// the new type, and the tables of addresses are empty. The ports stay closed: see port_operation.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (no such port, or a type that
/// the port cannot have), ::bad_state (the device is not up, the port has the type already, or it
/// is open and ports_to_close::none was given), ::busy (an object uses the port, or another
/// operation works on it or on a port that is to be closed, or such a port is in doubt),
/// ::cancelled, transport_error::timeout. If CLOSE_PORT fails, the types are as before, and the
/// ports that were closed stay closed. If CLOSE_PORT was not answered, its port is in doubt as with
/// port_operation. If SET_PORT was not answered, the type is unknown: the attributes keep
/// the old one, and the operation may be repeated or the device reset. If a later command fails,
/// the port has the new type. The GUID of an InfiniBand port may then be 0, and the operation may
/// be repeated. No other thread may use the port during the operation.
///
/// The form of SET_PORT tells the firmware the type (Linux 6.1 main.c mlx4_change_port_types,
/// port.c mlx4_SET_PORT; docs/hardware-ethernet.md).
class set_port_type : public port_modification {
 public:
  set_port_type() = default;
  ~set_port_type() { drop(); }

  /// Ports count from 1. `to` is ib or ethernet.
  void start(device& adapter, unsigned port, layouts::port_type to,
             ports_to_close closed = ports_to_close::all);

 private:
  enum class step : std::uint8_t { close, set, describe, guid, read };

  status check() const;
  void hold_ports_to_close(bool hold);
  void send_step();
  void port_closed(status outcome);
  static void advance(stepper& self, status outcome) noexcept;

  layouts::port_type to_ = layouts::port_type::none;
  step step_ = step::close;
  ports_to_close close_ = ports_to_close::all;
  unsigned closing_ = 0;  // of the step `close`: the port
  layouts::image<layouts::set_port_general> general_;
  layouts::image<layouts::set_port_ib> infiniband_;
  firmware_command<commands::query_port> describe_{std::uint32_t{1}};
  guid_query guid_;
  port_query read_;
};

}  // namespace freehca
