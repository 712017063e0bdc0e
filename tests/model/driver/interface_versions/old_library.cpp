// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <new>

#include <freehca/hca/kinds/queue_pair.hpp>

#include "releases.hpp"

namespace freehca::testing {
namespace {

constexpr auto known = attributes_of<queue_pair_attributes>({
    required(FREEHCA_ATTRIBUTE(queue_pair_attributes, pd, old_release::qp::domain)),
    required(FREEHCA_ATTRIBUTE(queue_pair_attributes, send_cq, old_release::qp::send_cq)),
    required(FREEHCA_ATTRIBUTE(queue_pair_attributes, receive_cq, old_release::qp::receive_cq)),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, sends, old_release::qp::sends),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, receives, old_release::qp::receives),
});

status create(verbs& in, operation_room& room, const attribute_list& list) {
  queue_pair_attributes attributes;
  FREEHCA_TRY(read(list, known, attributes));
  auto* const op = new (room.memory) create_queue_pair;
  room.started = op;
  op->start(in, attributes);
  return {};
}
qp_handle made(const operation_room& room) {
  return static_cast<const create_queue_pair*>(room.started)->made();
}
status destroy(verbs& in, operation_room& room, qp_handle which) {
  auto* const op = new (room.memory) destroy_queue_pair;
  room.started = op;
  op->start(in, which);
  return {};
}

constexpr old_release::queue_pair_interface operations{
    .create = &create, .made = &made, .destroy = &destroy};
constexpr offered_interface offered{"queue_pair", 1, sizeof operations, &operations.head};
constexpr const offered_interface* all[] = {&offered};

}  // namespace

status query_old_library(const char* name, std::uint32_t version, interface_head* table,
                         std::uint32_t bytes) {
  return find_interface(all, name, version, table, bytes);
}

}  // namespace freehca::testing
