// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "frames/frame.hpp"
#include "link/packet.hpp"

namespace freehca::model {

/// Who stands above the ports.
class packet_receiver {
 public:
  virtual ~packet_receiver() = default;
  /// A packet has arrived on port `port` (1-based).
  virtual void receive(unsigned port, const packet& p) = 0;
  /// A frame that is no packet of RDMA has arrived on Ethernet port `port`, or was looped back.
  virtual void receive_frame(unsigned port, const frame& f) = 0;
  /// What waits for the cable of port `port` (ports::held_up()) goes on.
  virtual void port_has_room(unsigned port) = 0;
  /// Is there a queue pair whose work can only go by the port's link as it is now: a connected one,
  /// or one that carries frames?
  virtual bool bound_to_link(unsigned port) const = 0;
  /// The port's link is of the other kind now (port_layers): those that were bound are in error.
  virtual void link_replaced(unsigned port) = 0;
  /// The QPN of special QP 0 or 1 of port `port` (CONF_SPECIAL_QP); 0: none was configured.
  virtual std::uint32_t special_qp(unsigned port, unsigned qp) const = 0;
};

}  // namespace freehca::model
