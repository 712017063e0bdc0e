// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/receive_spreading.hpp"

#include "frames/receive_hash.hpp"

namespace freehca::model {

using namespace layouts;

spread spread_of(const image<qpc>& context, const frame_view& f, bool hash_fragments) {
  using r = rss_context;
  const image<r> rss = rss_of(context);
  const receive_hash hash = receive_hash_of(f, rss, hash_fragments);
  if (!hash.hashed) return {static_cast<std::uint32_t>(rss.get<&r::default_qpn>()), 0};
  // The numbers that share the load are a block that is aligned to its size.
  const std::uint32_t low = (std::uint32_t{1} << (rss.get<&r::log_size>() & 0x1f)) - 1;
  const auto base = hash.udp ? rss.get<&r::base_qpn_udp>() : rss.get<&r::base_qpn>();
  return {static_cast<std::uint32_t>(base) + (hash.value & low), hash.value};
}

}  // namespace freehca::model
