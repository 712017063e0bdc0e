// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/queue_pair.hpp>

#include <freehca/hca/kinds/queue_pair.hpp>

#include "in_room.hpp"
#include "path_attributes.hpp"

namespace freehca {

namespace {

constexpr auto known = attributes_of<queue_pair_attributes>({
    required(FREEHCA_ATTRIBUTE(queue_pair_attributes, pd, qp::domain)),
    required(FREEHCA_ATTRIBUTE(queue_pair_attributes, send_cq, qp::send_cq)),
    required(FREEHCA_ATTRIBUTE(queue_pair_attributes, receive_cq, qp::receive_cq)),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, service, qp::service),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, sends, qp::sends),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, receives, qp::receives),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, shared, qp::shared),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, gather, qp::gather),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, scatter, qp::scatter),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, inline_bytes, qp::inline_bytes),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, masked_atomics, qp::masked_atomics),
    FREEHCA_ATTRIBUTE(queue_pair_attributes, cookie, qp::cookie),
});

constexpr auto connection_known =
    attributes_of<connection_attributes>(
        {
            FREEHCA_ATTRIBUTE(connection_attributes, pkey_index, qp::pkey_index),
            FREEHCA_ATTRIBUTE(connection_attributes, remote_read, qp::remote_read),
            FREEHCA_ATTRIBUTE(connection_attributes, remote_write, qp::remote_write),
            FREEHCA_ATTRIBUTE(connection_attributes, remote_atomic, qp::remote_atomic),
            FREEHCA_ATTRIBUTE(connection_attributes, qkey, qp::qkey),
            FREEHCA_ATTRIBUTE(connection_attributes, path_mtu, qp::path_mtu),
            FREEHCA_ATTRIBUTE(connection_attributes, min_rnr_timer, qp::min_rnr_timer),
            FREEHCA_ATTRIBUTE(connection_attributes, remote_qpn, qp::remote_qpn),
            FREEHCA_ATTRIBUTE(connection_attributes, receive_psn, qp::receive_psn),
            FREEHCA_ATTRIBUTE(connection_attributes, reads_as_responder, qp::reads_as_responder),
            FREEHCA_ATTRIBUTE(connection_attributes, send_psn, qp::send_psn),
            FREEHCA_ATTRIBUTE(connection_attributes, reads_as_requester, qp::reads_as_requester),
            FREEHCA_ATTRIBUTE(connection_attributes, retry_count, qp::retry_count),
            FREEHCA_ATTRIBUTE(connection_attributes, rnr_retry, qp::rnr_retry),
            FREEHCA_ATTRIBUTE(connection_attributes, ack_timeout, qp::ack_timeout),
            FREEHCA_ATTRIBUTE(connection_attributes, log_ack_request, qp::log_ack_request),
        })
        .with(offsetof(connection_attributes, address), interfaces::path_known);

status modify(verbs& in, operation_room& room, qp_handle which, layouts::qp_state to,
              const attribute_list& list) {
  connection_attributes attributes;
  FREEHCA_TRY(read(list, connection_known, attributes));
  FREEHCA_TRY(interfaces::usable(in, room));
  interfaces::place<modify_queue_pair>(room, nullptr).start(in, which, to, attributes);
  return {};
}

constexpr queue_pair_interface operations{
    .create = &interfaces::create_from<queue_pair, known>,
    .made = &interfaces::made<queue_pair>,
    .destroy = &interfaces::destroy<queue_pair>,
    .number = &qpn_of,
    .modify = &modify,
};

}  // namespace

constexpr offered_interface queue_pair_offered = interfaces::offered(operations);

}  // namespace freehca
