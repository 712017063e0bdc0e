// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/subnet_topology.hpp"

#include <algorithm>

namespace freehca::model {

using namespace layouts;

gid_bytes make_gid(std::uint64_t prefix, std::uint64_t guid) {
  gid_bytes g;
  store_be<std::uint64_t>(g.data(), prefix);
  store_be<std::uint64_t>(g.data() + 8, guid);
  return g;
}

bool known_port::has_gid(const std::byte* gid) const {
  if (load_be<std::uint64_t>(gid) != info.get<&port_info::gid_prefix>()) return false;
  const auto id = load_be<std::uint64_t>(gid + 8);
  if (id == 0) return false;
  if (id == guid()) return true;
  for (unsigned i = 0; i < guids_per_block; ++i)
    if (element<&guid_info::guids, std::uint64_t>(guids, i) == id) return true;
  return false;
}

const known_port* subnet_topology::by_lid(std::uint64_t lid) const {
  for (const known_port* p : ports())
    if (lid != 0 && lid >= p->lid() && lid < p->lid() + (1u << p->info.get<&port_info::lmc>()))
      return p;
  return nullptr;
}

const known_port* subnet_topology::by_gid(const std::byte* gid) const {
  for (const known_port* p : ports())
    if (p->has_gid(gid)) return p;
  return nullptr;
}

ib_rate rate_of(const known_port& p) {
  if (p.info.get<&port_info::link_speed_ext_active>() == link_speed_ext::fdr)
    return ib_rate::gbps_56;
  switch (p.info.get<&port_info::link_speed_active>()) {
    case link_speed::qdr:
      return ib_rate::gbps_40;
    case link_speed::ddr:
      return ib_rate::gbps_20;
    default:
      return ib_rate::gbps_10;
  }
}

}  // namespace freehca::model
