// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::bare {

/// Where a queue pair is, as rdma-core's ibv_rc_pingpong and ibv_ud_pingpong tell each other over
/// TCP: "%04x:%06x:%06x:%s" of LID, QPN, PSN and GID, which is zeros where none is used (rdma-core
/// libibverbs/examples/rc_pingpong.c pp_client_exch_dest).
struct pair_address {
  std::uint16_t lid = 0;
  std::uint32_t qpn = 0, psn = 0;
};

/// What a session is to do: who begins, message size in bytes, how many messages each way, and
/// where the other side is.
struct pair_order {
  bool client = false;  ///< it sends the first message
  std::uint32_t size = 0, count = 0;
  pair_address to;
};

/// Reads "server|client SIZE COUNT ADDRESS". Null: `to` has it. Else what is wrong with it, in
/// words that live for ever.
const char* read_order(const char* text, std::uint32_t most_bytes, pair_order* to);

}  // namespace freehca::bare
