// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/receive_spreading.hpp"

#include "frames/receive_hash.hpp"

namespace freehca::model {

using namespace layouts;

spread spread_of(const image<qpc>& context, const frame_view& f, bool hash_fragments) {
  const image<rss_context> rss = rss_of(context);
  const bool inside = rss.get<&rss_context::inner_headers>() != 0 && f.inner;
  const frame_headers& h = inside ? *f.inner : f.outer;
  const auto mask = (std::uint32_t{1} << (rss.get<&rss_context::log_size>() & 31)) - 1;
  return {};
}

}  // namespace freehca::model
