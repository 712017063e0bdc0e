// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/completion_queue.hpp>

#include <freehca/hca/kinds/completion_queue.hpp>

#include "in_room.hpp"

namespace freehca {

namespace {

constexpr auto known = attributes_of<completion_queue_attributes>({
    required(FREEHCA_ATTRIBUTE(completion_queue_attributes, entries, cq::entries)),
    FREEHCA_ATTRIBUTE(completion_queue_attributes, completion_context, cq::completion_context),
    FREEHCA_ATTRIBUTE(completion_queue_attributes, cookie, cq::cookie),
});

constexpr completion_queue_interface operations{
    .create = &interfaces::create_from<completion_queue, known>,
    .made = &interfaces::made<completion_queue>,
    .destroy = &interfaces::destroy<completion_queue>,
};

}  // namespace

constexpr offered_interface completion_queue_offered = interfaces::offered(operations);

}  // namespace freehca
