// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The GID tables of ports of either link layer. All functions need the engine's lock and a port
// that the device has.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include <freehca/hca/ports.hpp>

#include "engine.hpp"

namespace freehca::ibverbs {

struct gid_entry {
  gid address{};
  ibv_gid_type type = IBV_GID_TYPE_IB;
  bool empty = false;
  std::uint16_t vlan = no_vlan;
};

bool is_ethernet(engine& in, unsigned port);
std::size_t gid_count(engine& in, unsigned port);
/// `index` is below gid_count().
gid_entry gid_at(engine& in, unsigned port, std::size_t index);
/// Returns the index of the first entry with this GID and type.
std::optional<std::uint8_t> find_gid(engine& in, unsigned port, const gid& address,
                                     ibv_gid_type type);

}  // namespace freehca::ibverbs
