// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Paths on Ethernet ports. All functions need the engine's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include <freehca/hca/kinds/address_attributes.hpp>

#include "engine.hpp"

namespace freehca::ibverbs {

/// Returns the MAC to which packets with this destination GID go from an Ethernet port.
std::optional<std::uint64_t> mac_of(engine& in, unsigned port, const gid& of);

/// The path of `from` on an Ethernet port. Returns 0, or an errno: EINVAL (no GRH, or no destination
/// GID), EHOSTUNREACH (no MAC is known for the destination GID).
int read_path(engine& in, const ibv_ah_attr& from, unsigned port, roce_path& to);

/// Takes the path of a queue pair on an Ethernet port from the attributes of a transition. `mask`
/// names the new ones. On success the attributes are what ibv_query_qp() reports. Returns 0, or an
/// errno.
int take_path(engine& in, ibv_qp_attr& from, int mask, roce_path& to);

/// The path back to the sender of a datagram that a port has received, as ibv_init_ah_from_wc()
/// reports it, for a port of either link layer. Returns 0, or an errno.
int read_sender(engine& in, unsigned port, const ibv_wc& received, const ibv_grh& header,
                ibv_ah_attr& to);

}  // namespace freehca::ibverbs
