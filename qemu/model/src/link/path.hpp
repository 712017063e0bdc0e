// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace freehca::model {

/// How a packet leaves, as an address handle or a queue pair's context has it: port, service level,
/// and whom it reaches. The port's link codec knows what of it stands in which header.
struct path {
  unsigned port = 1, sl = 0;
  std::uint8_t path_bits = 0;  ///< of the source LID
  std::uint16_t dlid = 0;
  bool force_loopback = false;
  bool global = false;  ///< carries a GRH: the fields that follow
  unsigned sgid_index = 0;
  std::uint8_t hop_limit = 0, traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::array<std::byte, 16> dgid{};
};

}  // namespace freehca::model
