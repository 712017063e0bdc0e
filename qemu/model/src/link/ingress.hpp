// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/headers.hpp>

namespace freehca::model {

class link_codec;

/// How a packet came: by which port, in which form, and where its addresses stand. Points into the
/// packet. What the addresses mean is the codec's to say.
struct ingress {
  using gid = std::array<std::byte, 16>;

  unsigned port = 1;
  const link_codec* codec = nullptr;       ///< who unwrapped it
  const std::byte* link_header = nullptr;  ///< for the codec alone: InfiniBand's is the LRH
  /// 40 bytes of a GRH or an IPv6 header, or 20 bytes of an IPv4 header; both null: it came without
  /// GIDs.
  const std::byte* grh = nullptr;
  const std::byte* ipv4 = nullptr;
  gid mapped_sgid{}, mapped_dgid{};  ///< of IPv4

  void set_ipv4(const std::byte* header, const gid& source, const gid& destination) {
    ipv4 = header;
    mapped_sgid = source;
    mapped_dgid = destination;
  }
  bool global() const { return grh != nullptr || ipv4 != nullptr; }
  /// 16 bytes each, when global; as long as this object is there.
  const std::byte* sgid() const {
    return grh != nullptr ? grh + layouts::grh{}.sgid.offset : mapped_sgid.data();
  }
  const std::byte* dgid() const {
    return grh != nullptr ? grh + layouts::grh{}.dgid.offset : mapped_dgid.data();
  }
  /// What stands in front of a datagram in its receive buffer, when global: an IPv4 header behind
  /// 20 bytes that nobody reads (Linux ib_verbs.h union rdma_network_hdr).
  void put_network_header(std::byte* to) const {
    using namespace layouts;
    if (grh != nullptr) {
      std::memcpy(to, grh, layouts::grh::bytes);
      return;
    }
    constexpr std::size_t before = layouts::grh::bytes - ipv4_header::bytes;
    std::memset(to, 0, before);
    std::memcpy(to + before, ipv4, ipv4_header::bytes);
  }
};

}  // namespace freehca::model
