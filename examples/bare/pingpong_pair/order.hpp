// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::bare {

/// The address of a queue pair, as rdma-core's ibv_rc_pingpong and ibv_ud_pingpong exchange it over
/// TCP: "%04x:%06x:%06x:%s" of LID, QPN, PSN and GID. The GID is zero if it is not used (rdma-core
/// libibverbs/examples/rc_pingpong.c pp_client_exch_dest).
struct pair_address {
  std::uint16_t lid = 0;
  std::uint32_t qpn = 0, psn = 0;
};

/// The order for one exchange: the role (the client begins), the message size in bytes, the number
/// of messages in each direction, and the address of the other side.
struct pair_order {
  bool client = false;  ///< it sends the first message
  std::uint32_t size = 0, count = 0;
  pair_address to;
};

/// Parses "server|client SIZE COUNT ADDRESS" into `to`. Returns null on success, else the reason
/// for the failure, in static storage.
const char* read_order(const char* text, std::uint32_t most_bytes, pair_order* to);

}  // namespace freehca::bare
