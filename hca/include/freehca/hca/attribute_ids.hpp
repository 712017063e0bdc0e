// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hal/fields.hpp>

namespace freehca {

// clang-format off
/// The attributes of objects, transitions and ports whose values the driver can refuse. The first
/// ones, up to `srq_limit`, are numbers of things.
enum class attribute_id : std::uint8_t {
  none,
  completion_entries, sends, receives, gather, scatter, send_wqe_bytes, receive_wqe_bytes,
  reads_as_responder, reads_as_requester, region_bytes, fast_pages, mac_entries, vlan_entries,
  gid_entries, srq_limit,
  completion_context, port, connection_bytes, pkey_index, path_mtu, min_rnr_timer, remote_qpn,
  receive_psn, send_psn, retry_count, rnr_retry, ack_timeout, log_ack_request, dlid, sl, path_bits,
  static_rate, sgid_index, flow_label, link_layer, dmac, vlan, priority, mac_index, dgid, port_mac,
  port_vlan, port_gid, ethernet_mtu, filter_vlan, filter_group, port_type, module_bytes,
  module_offset, log_page_bytes, page_offset, virtual_address, virtual_offset, remote_rights,
  multicast_gid, changes, migration, alternate_pkey_index, alternate_ack_timeout,
  table_entries, table_order, default_queue, hash_key_bytes, hash_headers, counter,
  rule_type, rule_headers, rule_header, rule_smac,
  special_qp, management_bytes, pkey, virtual_lane,
  receive_rings, transmit_rings, buffer_bytes, groups
};
// clang-format on

}  // namespace freehca
