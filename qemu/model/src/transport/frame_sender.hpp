// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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

  /// Sends the frame of a request whose turn it is.
  std::optional<failure> send(const queue_pair& qp, const send_request& r);

 private:
  /// The one that its frames leave by.
  ethernet_port& port_of(const queue_pair& qp) const;
  std::optional<failure> read(const queue_pair& qp, const send_request& r, std::uint64_t from,
                              std::span<std::byte> to) const;
  std::optional<failure> make_frame(const queue_pair& qp, const send_request& r, frame& f) const;
  std::optional<failure> make_segment(const queue_pair& qp, const send_request& r, frame& f) const;
  void deliver(const queue_pair& qp, const send_request& r, frame f) const;

  adapter& a_;
};

}  // namespace freehca::model
