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

/// Returns the MAC to which packets with this destination GID go from an Ethernet port, on the VLAN
/// or on none.
std::optional<std::uint64_t> mac_of(engine& in, unsigned port, const gid& of, std::uint16_t vlan);

/// Stores the path of `from` on an Ethernet port. The VLAN is that of the source GID. Returns 0, or
/// an errno: EINVAL (no GRH or destination GID), EHOSTUNREACH (no MAC is known for the GID).
int read_path(engine& in, const ibv_ah_attr& from, unsigned port, roce_path& to);

/// Stores the path of a queue pair on an Ethernet port. `mask` names the attributes that a
/// transition changes. On success, `from` has the attributes that ibv_query_qp() reports. Returns
/// 0, or an errno.
int take_path(engine& in, ibv_qp_attr& from, int mask, roce_path& to);

/// Stores the path to the sender of a datagram, which a port of either link layer has received.
/// Returns 0, or an errno: EINVAL (the port does not have the GID to which the datagram went),
/// EPROTONOSUPPORT (the header is of no known protocol).
int read_sender(engine& in, unsigned port, const ibv_wc& received, const ibv_grh& header,
                ibv_ah_attr& to);

}  // namespace freehca::ibverbs
