// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "basis/hca_profile.hpp"
#include "basis/rule_book.hpp"
#include "basis/work_account.hpp"
#include "frames/receive_checks.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

class memory_regions;

/// What the adapter does for IP over InfiniBand, whose datagrams are those of UD queue pairs:
/// segments of a large send, checksums sent, checksums looked at.
class ipoib_offloads {
 public:
  ipoib_offloads(const hca_profile& profile, memory_regions& regions, rule_book& rules,
                 work_account& account)
      : profile_(profile), regions_(regions), rules_(rules), account_(account) {}

  /// The payload of the datagram of a large send whose turn it is.
  std::optional<failure> make_segment(const queue_pair& qp, const send_request& r,
                                      std::vector<std::byte>& payload) const;
  /// Puts the checksums that the request asks for into the payload of a datagram.
  void put_checksums(const send_request& r, std::span<std::byte> payload) const;
  /// What the completion of a received datagram says of its payload. Nothing: INIT_HCA has not
  /// switched it on, or there is no header of IPoIB.
  std::optional<receive_checks> checks_of(std::span<const std::byte> payload) const;

 private:
  const hca_profile& profile_;
  memory_regions& regions_;
  rule_book& rules_;
  work_account& account_;
};

}  // namespace freehca::model
