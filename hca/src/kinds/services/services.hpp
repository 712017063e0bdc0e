// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list of services, and the functions that several services share. They set the fields of a
// context as Linux 6.1 does (hw/mlx4/qp.c __mlx4_ib_modify_qp, _mlx4_set_path).
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/kinds/queue_pair_service.hpp>

namespace freehca::services {

extern const queue_pair_service reliable_connection;
extern const queue_pair_service unreliable_connection;
extern const queue_pair_service unreliable_datagram;

inline constexpr std::uint32_t psn_mask = 0xffffff;

/// The opcodes of memory management that the device supports.
std::uint64_t memory_opcodes(const capabilities& can);

/// The check of the peer's attributes in the transition to RTR, for both services with connections.
/// set_peer() writes these attributes into the context.
bool is_peer(const connection_attributes& a);
void set_peer(layouts::image<layouts::qpc>& c, const connection_attributes& a,
              const capabilities& can);
void set_counter(layouts::image<layouts::qpc>& c, const capabilities& can);

}  // namespace freehca::services
