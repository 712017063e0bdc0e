// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The names of values that the driver returns: static strings, never null.
#pragma once

#include <cstdint>

#include <freehca/hca/attribute_ids.hpp>
#include <freehca/hca/bring_up.hpp>
#include <freehca/hca/budget.hpp>
#include <freehca/hca/context_layout.hpp>

namespace freehca {

/// Returns the name of a step, such as "QUERY_FW" or "taking ownership". Returns "" if `step` is
/// not a step.
const char* name_of(bring_up_step step);
/// Returns "unknown" for other values.
const char* name_of(budget::item item);
const char* name_of(context_table table);
const char* name_of(attribute_id attribute);

namespace queues {

// queues/work_completion.hpp has the values. A source that includes it belongs to one access
// flavour, and these texts go with all flavours.
enum class completion_status : std::uint8_t;
/// Returns "unknown" for other values.
const char* name_of(completion_status s);

}  // namespace queues

}  // namespace freehca
