// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include "basis/adapter.hpp"
#include "frames/frame.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

class ethernet_port;

/// The sends of raw Ethernet queue pairs: makes a frame of a work request, or several of a large
/// send, puts in what hardware puts in (VLAN tag, checksums), and gives it to the port.
class frame_sender {
 public:
  explicit frame_sender(adapter& a) : a_(a) {}

  /// How many frames it takes.
  static std::uint32_t frames_of(const send_request& r);
  /// Sends the frame of a request whose turn it is.
  std::optional<failure> send(queue_pair& qp, const send_request& r);

 private:
  /// The bytes as the driver has them; nothing when memory refuses.
  std::optional<frame> gather(const queue_pair& qp, const send_request& r,
                              const ethernet_port& port) const;
  std::optional<frame> gather_large(const queue_pair& qp, const send_request& r) const;
  void deliver(const queue_pair& qp, const send_request& r, ethernet_port& port, frame f) const;

  adapter& a_;
};

}  // namespace freehca::model
