// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <vector>

#include <freehca/recording/recording.hpp>

#include "driver_host.hpp"
#include "field_compare.hpp"

namespace freehca::recording {

/// Compares the entries of all queues. Within a queue those of one queue pair's sends, of its
/// receives, of one kind of event, and of one command keep their order; between these no order is
/// promised (IBTA 11.4.1.1 orders the completions of one work queue, and nothing orders events).
/// `writes` has what the model wrote for each write that `again` tells of.
void compare_entries(const recording& card, const recording& again,
                     const std::vector<model_write>& writes, field_comparison& to);

}  // namespace freehca::recording
