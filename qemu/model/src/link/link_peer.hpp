// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "link/packet.hpp"

namespace freehca::model {

/// The far end of a port's link: the built-in subnet manager, or the cable to another adapter.
class link_peer {
 public:
  virtual ~link_peer() = default;
  /// A packet that the port has sent.
  virtual void receive(const packet& p) = 0;
  /// The port's physical link came up or went down.
  virtual void link_changed(bool up) = 0;

  /// The port begins to poll (again, if it did), or its transmitter goes off.
  virtual void transmitter(bool on) { static_cast<void>(on); }
  /// Is somebody there to train with? Who comes later calls port::partner_came().
  virtual bool present() const { return true; }
  /// The port is ready for LinkUp; so is the far end? Who is so later calls port::partner_ready().
  virtual bool ready() { return true; }
};

}  // namespace freehca::model
