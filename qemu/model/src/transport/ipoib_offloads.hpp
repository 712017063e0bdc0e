// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "basis/adapter.hpp"
#include "frames/receive_checks.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

/// What the adapter does for IP over InfiniBand, whose datagrams are those of UD queue pairs:
/// segments of a large send, checksums sent, checksums looked at.
class ipoib_offloads {
 public:
  explicit ipoib_offloads(adapter& a) : a_(a) {}

  /// The payload of the datagram of a large send whose turn it is.
  std::optional<failure> make_segment(const queue_pair& qp, const send_request& r,
                                      std::vector<std::byte>& payload) const;
  /// Puts the checksums that the request asks for into the payload of a datagram.
  void put_checksums(const send_request& r, std::span<std::byte> payload) const;
  /// What the completion of a received datagram says of its payload. Nothing: INIT_HCA has not
  /// switched it on, or there is no header of IPoIB.
  std::optional<receive_checks> checks_of(std::span<const std::byte> payload) const;

 private:
  adapter& a_;
};

}  // namespace freehca::model
