// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/operation.hpp>

namespace freehca {

class device;
struct port_control;

/// What the operations that change a port have in common. One operation works on a port at a time.
/// A deadline and cancel() apply to all commands of the operation. After either, the operation
/// posts no further commands.
class port_modification : public stepper {
 protected:
  /// Each start() calls it first.
  void aim(device& adapter, unsigned port) {
    device_ = &adapter;
    port_ = port;
  }
  /// Takes the port. Refuses the operation and returns false if `checked` is an error, or with
  /// driver_error::busy if another operation works on the port.
  bool begin(status checked, advancer next);
  /// Returns the request of the next command. It is empty.
  command_request& next_request();
  /// Sends the command with this mailbox, or as it is.
  void send_mailbox(const std::byte* input, std::size_t bytes);
  void send();
  /// Gives the port back.
  void end(status outcome);
  port_control& control() const;

  device* device_ = nullptr;
  unsigned port_ = 0;
  command change_;
};

}  // namespace freehca
