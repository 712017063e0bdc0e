// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/port.hpp>
#include <freehca/hal/operation.hpp>

#include <freehca/hca/ports.hpp>

namespace freehca {

class device;

/// Takes a port of a device that is up down and up again; bring-up opens all InfiniBand ports.
/// Caller-owned, one port at a time. With a deadline and a cancel on the whole: what was not posted
/// is not posted any more.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (no such port), ::unsupported
/// (not an InfiniBand port), ::bad_state (the device is not up, or the port is as wanted already),
/// ::busy (another operation works on the port, or one that was not answered), ::cancelled,
/// transport_error::timeout. When the last command was not answered the port is in doubt until the
/// late answer, which settles whether it is open (device::port_open()), or a reset.
class port_operation : public operation {
 public:
  port_operation() = default;
  ~port_operation() { drop(); }

  /// SET_PORT with what bring-up asks for, then INIT_PORT. The port becomes active later, when a
  /// subnet manager has seen it: event_sinks::port.
  void open(device& adapter, unsigned port) { start(adapter, port, true); }
  /// CLOSE_PORT: the link goes down. Objects stay.
  void close(device& adapter, unsigned port) { start(adapter, port, false); }

 private:
  void start(device& adapter, unsigned port, bool open);
  status check() const;
  void limit();
  void change();
  void finish(status outcome);
  void settle(status outcome);
  void detach();
  status told(status outcome) const;
  static void asked(operation& op, void* self) noexcept;
  static void limited(operation& op, void* self) noexcept;
  static void changed(operation& op, void* self) noexcept;
  static void on_cancel(operation& op, void* self) noexcept;

  device* device_ = nullptr;
  unsigned port_ = 0;
  unsigned attempt_ = 0;
  bool open_ = false;
  port_query query_;
  firmware_command<commands::set_port_ib> set_{std::uint32_t{1}};
  command change_;
};

}  // namespace freehca
