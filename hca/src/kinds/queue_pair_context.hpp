// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// Returns the fields of the context that belong to the queue pair itself. Every transition writes
/// them, and the transition to INIT further ones.
layouts::image<layouts::qpc> queue_pair_context(const queue_pair& pair, layouts::qp_state to);

/// Checks the numbers of RDMA reads and atomics that a transition writes: `written` has bits of
/// layouts::qp_optpar. Replaces both by the logarithms that the context has.
status take_reads(verbs& in, std::uint32_t written, std::uint32_t& as_responder,
                  std::uint32_t& as_requester);

/// Returns the number of counters for packets, 0 if the device has none.
std::uint32_t counters_of(const capabilities& can);

/// Returns the index of the last counter, which is the sink. Queue pairs without a counter of their
/// own use it (Linux 6.1 MLX4_SINK_COUNTER_INDEX). 0xff: the device has no counters.
inline unsigned sink_counter(const capabilities& can) {
  return (counters_of(can) - 1) & 0xff;
}

}  // namespace freehca
