// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/firmware_cmds/port.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/layouts/set_port.hpp>

#include <freehca/hca/ports.hpp>

namespace freehca {

class device;

/// The MTU of an Ethernet port without a setting (Linux 6.1 if_ether.h ETH_DATA_LEN).
inline constexpr std::uint16_t default_ethernet_mtu = 1500;

/// Closes or opens a port of a device that is up. Bring-up opens all InfiniBand ports. An Ethernet
/// port is closed until this operation opens it. The caller owns the operation. One operation works
/// on a port at a time. A deadline and cancel() apply to all commands of the operation. After
/// either, the operation posts no further commands.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (no such port), ::unsupported
/// (the firmware names no link layer of the port), ::bad_state (the device is not up, or the port
/// is in the requested state already), ::busy (another operation works on the port, or the port is
/// in doubt), ::cancelled, transport_error::timeout. If INIT_PORT or CLOSE_PORT was not answered,
/// the port is in doubt. The late answer settles whether it is open (device::port_open()). A reset
/// ends the doubt too.
class port_operation : public stepper {
 public:
  port_operation() = default;
  ~port_operation() { drop(); }

  /// Reads PortInfo, sends SET_PORT with the parameters of bring-up, then INIT_PORT. The port
  /// becomes active later, when a subnet manager has configured it: see event_sinks::port.
  ///
  /// Of an Ethernet port it reads QUERY_PORT, sends SET_PORT with the MTU and the pause of
  /// set_ethernet_port, then INIT_PORT. If set_ethernet_port has set none, the MTU is
  /// default_ethernet_mtu, and pause is on. The port becomes active when its link is up. Sources:
  /// Linux 6.1 en_netdev.c mlx4_en_start_port, port.c mlx4_SET_PORT_general.
  void open(device& adapter, unsigned port) { start(adapter, port, true); }
  /// Sends CLOSE_PORT: the link goes down. Objects stay.
  void close(device& adapter, unsigned port) { start(adapter, port, false); }

 private:
  void start(device& adapter, unsigned port, bool open);
  status check() const;
  void read();
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
  layouts::image<layouts::set_port_general> general_;  // of an Ethernet port
  command change_;
};

}  // namespace freehca
