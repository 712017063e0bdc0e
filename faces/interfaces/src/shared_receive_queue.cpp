// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/shared_receive_queue.hpp>

#include <freehca/hca/kinds/shared_receive_queue.hpp>

#include "in_room.hpp"

namespace freehca {

namespace {

constexpr auto known = attributes_of<shared_receive_queue_attributes>({
    required(FREEHCA_ATTRIBUTE(shared_receive_queue_attributes, pd, srq::domain)),
    required(FREEHCA_ATTRIBUTE(shared_receive_queue_attributes, receives, srq::receives)),
    FREEHCA_ATTRIBUTE(shared_receive_queue_attributes, scatter, srq::scatter),
    FREEHCA_ATTRIBUTE(shared_receive_queue_attributes, cookie, srq::cookie),
});

constexpr shared_receive_queue_interface operations{
    .create = &interfaces::create_from<shared_receive_queue, known>,
    .made = &interfaces::made<shared_receive_queue>,
    .destroy = &interfaces::destroy<shared_receive_queue>,
};

}  // namespace

constexpr offered_interface shared_receive_queue_offered = interfaces::offered(operations);

}  // namespace freehca
