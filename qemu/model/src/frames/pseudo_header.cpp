// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "frames/pseudo_header.hpp"

#include <freehca/layouts/headers.hpp>

namespace freehca::model {

using namespace layouts;

std::span<const std::byte> ip_addresses(std::span<const std::byte> bytes, const frame_headers& h) {
  switch (h.ip) {
    case network_protocol::ipv4: {
      constexpr std::size_t at = ipv4_header{}.source.offset;
      return bytes.subspan(h.network + at, ipv4_header::bytes - at);
    }
    case network_protocol::ipv6: {
      constexpr std::size_t at = grh{}.sgid.offset;
      return bytes.subspan(h.network + at, grh::bytes - at);
    }
    case network_protocol::other:
      break;
  }
  return {};
}

void add_pseudo_header(ones_sum& sum, std::span<const std::byte> bytes, const frame_headers& h,
                       std::size_t length) {
  sum.add(ip_addresses(bytes, h)).add(h.protocol).add(static_cast<std::uint32_t>(length));
}

}  // namespace freehca::model
