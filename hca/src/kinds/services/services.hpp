// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The list of services, and what several of them share: the fields of a context as Linux 6.1 fills
// them (hw/mlx4/qp.c __mlx4_ib_modify_qp, _mlx4_set_path).
#pragma once

#include <cstdint>

#include <freehca/hca/kinds/queue_pair.hpp>
#include <freehca/hca/kinds/queue_pair_service.hpp>

namespace freehca::services {

extern const queue_pair_service reliable_connection;
extern const queue_pair_service unreliable_connection;
extern const queue_pair_service unreliable_datagram;

inline constexpr std::uint32_t psn_mask = 0xffffff;

/// What the device can carry out of memory management.
std::uint64_t memory_opcodes(const capabilities& can);

/// What both services of connections ask of the transition to RTR.
bool is_peer(const connection_attributes& a);
void set_peer(layouts::image<layouts::qpc>& c, const connection_attributes& a,
              const capabilities& can);
void set_counter(layouts::image<layouts::qpc>& c, const capabilities& can);

}  // namespace freehca::services
