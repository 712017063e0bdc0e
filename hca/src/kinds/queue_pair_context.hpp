// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca {

/// Returns the fields of the context that belong to the queue pair itself. Every transition writes
/// them, and the transition to INIT further ones.
layouts::image<layouts::qpc> queue_pair_context(const queue_pair& pair, layouts::qp_state to);

}  // namespace freehca
