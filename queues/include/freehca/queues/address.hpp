// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::queues {

/// The part of an address handle that a post copies into a datagram segment. The creator of the
/// address handle fills it and is responsible for its contents. The queue does not check them.
struct address {
  layouts::image<layouts::address_vector> vector;
  /// The last 64-bit word of the segment: in_word() of layouts::wqe_datagram::vlan and ::dmac. On
  /// InfiniBand it is zero (Linux 6.1 hw/mlx4/ah.c create_ib_ah leaves both clear, and qp.c
  /// set_datagram_seg copies them as they are). On Ethernet, the VLAN is 0xffff if there is none.
  std::uint64_t vlan_and_mac = 0;
};

/// The destination of a datagram. When the post returns, the caller may reuse the address.
struct datagram_destination {
  const address* at = nullptr;
  std::uint32_t qpn = 0;   ///< 24 bits; 0xffffff for a multicast group
  std::uint32_t qkey = 0;  ///< if bit 31 is set, the queue pair's own Q_Key is sent
};

}  // namespace freehca::queues
