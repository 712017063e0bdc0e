// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::queues {

/// The hot half of an address handle: what a post copies into a datagram segment. Whoever makes the
/// handle fills it, and answers for what it says; a queue does not look inside.
struct address {
  layouts::image<layouts::address_vector> vector;
  /// The last word of the segment: in_word() of layouts::wqe_datagram::vlan and ::dmac. Zero on
  /// InfiniBand (Linux 6.1 hw/mlx4/ah.c create_ib_ah leaves both clear, and qp.c set_datagram_seg
  /// copies them as they are); on Ethernet the VLAN is 0xffff where there is none.
  std::uint64_t vlan_and_mac = 0;
};

/// Whom a datagram reaches. The address is the caller's again when the post returns.
struct datagram_destination {
  const address* at = nullptr;
  std::uint32_t qpn = 0;   ///< 24 bits; 0xffffff: a multicast group
  std::uint32_t qkey = 0;  ///< bit 31: the queue pair's own is sent instead
};

}  // namespace freehca::queues
