// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "basis/hca_profile.hpp"
#include "basis/rule_book.hpp"
#include "basis/work_account.hpp"
#include "frames/frame.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

class ethernet_port;

/// The sends of raw Ethernet queue pairs: makes a frame of a work request, or several of a large
/// send, puts in what hardware puts in (VLAN tag, checksums), and gives it to the port.
class frame_sender {
 public:
  frame_sender(const hca_profile& profile, ports& links, memory_regions& regions, rule_book& rules,
               work_account& account)
      : profile_(profile), links_(links), regions_(regions), rules_(rules), account_(account) {}

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

  const hca_profile& profile_;
  ports& links_;
  memory_regions& regions_;
  rule_book& rules_;
  work_account& account_;
};

}  // namespace freehca::model
