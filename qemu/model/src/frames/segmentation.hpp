// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "frames/frame.hpp"
#include "frames/frame_view.hpp"

namespace freehca::model {

/// A message that LSO cuts into frames, or into datagrams of IP over InfiniBand: a header, and a
/// payload that the caller reads piece by piece. It holds the header alone.
class segmentation {
 public:
  /// Nothing: the header is not one of TCP or UDP over IP to its end, it is one of a fragment, with
  /// VXLAN the inner one is not so, `mss` is 0, or a frame would be longer than IP can say. No
  /// source tells what cards do then. `vxlan_port`: 0 for a header that has no inner one.
  static std::optional<segmentation> of(std::vector<std::byte> header, std::size_t payload_bytes,
                                        std::size_t mss, std::uint16_t vxlan_port = 0);
  /// The same where the header is that of a datagram of IP over InfiniBand, and so are the frames.
  static std::optional<segmentation> of_ipoib(std::vector<std::byte> header,
                                              std::size_t payload_bytes, std::size_t mss);

  /// At least one, also without payload.
  std::size_t frames() const;

  struct piece {
    std::size_t offset = 0, bytes = 0;
  };
  /// What of the payload frame n carries; n < frames().
  piece payload_of(std::size_t n) const;

  /// Frame n, whose part of the payload is `payload`: of so many bytes as payload_of says. Its
  /// checksums are what stood in the header: put_checksums puts right ones.
  frame segment(std::size_t n, std::span<const std::byte> payload) const;

 private:
  segmentation(std::vector<std::byte> header, std::size_t payload_bytes, std::size_t mss,
               const frame_view& view);
  bool last(std::size_t n) const { return n + 1 == frames(); }
  void change_ip(frame& f, const frame_headers& h, std::size_t n) const;
  void change_tcp(frame& f, const frame_headers& h, std::size_t n) const;
  void change_headers(frame& f, const frame_headers& h, std::size_t n) const;

  std::vector<std::byte> header_;
  std::size_t payload_bytes_ = 0, mss_ = 0;
  frame_headers outer_;
  std::optional<frame_headers> inner_;
};

}  // namespace freehca::model
