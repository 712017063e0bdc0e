// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "frames/frame_view.hpp"

namespace freehca::model {

/// How a frame is hashed for RSS.
struct hash_choice {
  bool exclusive_or = false;           ///< else Toeplitz
  std::span<const std::byte, 40> key;  ///< Toeplitz
  bool ipv4 = false, tcp_ipv4 = false, udp_ipv4 = false;
  bool ipv6 = false, tcp_ipv6 = false, udp_ipv6 = false;
  bool fragments = false;  ///< by their addresses; else not at all
};

struct frame_hash {
  std::uint32_t value = 0;
  bool udp = false;  ///< with the ports of UDP
};

/// The hash of `v` by its headers `h`; nothing for what no choice takes in.
std::optional<frame_hash> hash_of(const frame_view& v, const frame_headers& h,
                                  const hash_choice& how);

}  // namespace freehca::model
