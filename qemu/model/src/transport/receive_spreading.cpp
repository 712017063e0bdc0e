// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/receive_spreading.hpp"

#include <span>

#include "frames/receive_hash.hpp"

namespace freehca::model {

using namespace layouts;

spread spread_of(const image<qpc>& context, const frame_view& f, bool hash_fragments) {
  using r = rss_context;
  const image<r> rss = rss_of(context);
  const bool inside = rss.get<&r::inner_headers>() != 0 && f.inner;
  const hash_choice how{
      .exclusive_or = rss.get<&r::hash>() == rss_hash::exclusive_or,
      .key = std::span<const std::byte, 40>(rss.bytes_of<&r::key>(), 40),
      .ipv4 = rss.get<&r::ipv4>(),
      .tcp_ipv4 = rss.get<&r::tcp_ipv4>(),
      .udp_ipv4 = rss.get<&r::udp_ipv4>(),
      .ipv6 = rss.get<&r::ipv6>(),
      .tcp_ipv6 = rss.get<&r::tcp_ipv6>(),
      .udp_ipv6 = rss.get<&r::udp_ipv6>(),
      .fragments = hash_fragments,
  };
  const auto hash = hash_of(f, inside ? *f.inner : f.outer, how);
  if (!hash) return {static_cast<std::uint32_t>(rss.get<&r::default_qpn>()), 0};
  // The numbers that share the load are a block aligned to its size.
  const std::uint32_t low = (std::uint32_t{1} << (rss.get<&r::log_size>() & 0x1f)) - 1;
  const auto base = hash->udp ? rss.get<&r::base_qpn_udp>() : rss.get<&r::base_qpn>();
  return {static_cast<std::uint32_t>(base) + (hash->value & low), hash->value};
}

}  // namespace freehca::model
