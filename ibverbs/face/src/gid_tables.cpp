// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "gid_tables.hpp"

#include <algorithm>
#include <limits>

namespace freehca::ibverbs {

bool is_ethernet(engine& in, unsigned port) {
  return in.hardware().port(port).link_layer == layouts::port_type::ethernet;
}

std::size_t gid_count(engine& in, unsigned port) {
  return is_ethernet(in, port) ? in.hardware().port(port).gid_table_length
                               : in.port(port).guids.size();
}

gid_entry gid_at(engine& in, unsigned port, std::size_t index) {
  const engine::port_tables& tables = in.port(port);
  if (!is_ethernet(in, port)) {
    const std::uint64_t guid = tables.guids[index];
    return {gid_of(in.hardware().port(port).subnet_prefix, guid), IBV_GID_TYPE_IB, guid == 0};
  }
  // Linux names an empty entry a RoCE v1 one (rdma-core libibverbs/verbs.c ibv_query_gid_type).
  if (index >= tables.gids.size()) return {{}, IBV_GID_TYPE_ROCE_V1, true};
  const port_gid& found = tables.gids[index];
  return {found.address,
          found.version == roce_version::v1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2,
          found.address == gid{}, tables.gid_vlans[index]};
}

std::optional<std::uint8_t> find_gid(engine& in, unsigned port, const gid& address,
                                     ibv_gid_type type) {
  constexpr std::size_t most = std::numeric_limits<std::uint8_t>::max();
  const std::size_t count = std::min(gid_count(in, port), most + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const gid_entry entry = gid_at(in, port, i);
    if (!entry.empty && entry.type == type && entry.address == address)
      return static_cast<std::uint8_t>(i);
  }
  return {};
}

}  // namespace freehca::ibverbs
