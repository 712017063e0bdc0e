// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/port.hpp>
#include <freehca/hal/operation.hpp>

#include <freehca/hca/ports.hpp>

namespace freehca {

class device;

/// Closes or opens a port of a device that is up. Bring-up opens all InfiniBand ports. The caller
/// owns the operation. One operation works on a port at a time. A deadline and cancel() apply to
/// all commands of the operation. After either, the operation posts no further commands.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (no such port), ::unsupported
/// (not an InfiniBand port), ::bad_state (the device is not up, or the port is in the requested
/// state already), ::busy (another operation works on the port, or the port is in doubt),
/// ::cancelled, transport_error::timeout. If INIT_PORT or CLOSE_PORT was not answered, the port is
/// in doubt. The late answer settles whether it is open (device::port_open()). A reset ends the
/// doubt too.
class port_operation : public stepper {
 public:
  port_operation() = default;
  ~port_operation() { drop(); }

  /// Reads PortInfo, sends SET_PORT with the parameters of bring-up, then INIT_PORT. The port
  /// becomes active later, when a subnet manager has configured it: see event_sinks::port.
  void open(device& adapter, unsigned port) { start(adapter, port, true); }
  /// Sends CLOSE_PORT: the link goes down. Objects stay.
  void close(device& adapter, unsigned port) { start(adapter, port, false); }

 private:
  void start(device& adapter, unsigned port, bool open);
  status check() const;
  void limit();
  void change();
  static void advance(stepper& self, status outcome) noexcept;

  device* device_ = nullptr;
  unsigned port_ = 0;
  enum class step : std::uint8_t { read, limit, change } step_ = step::read;
  unsigned attempt_ = 0;  // of the step `limit`
  bool open_ = false;
  port_query query_;
  firmware_command<commands::set_port_ib> set_{std::uint32_t{1}};
  command change_;
};

}  // namespace freehca
