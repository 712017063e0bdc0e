// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/queue_pair_changes.hpp>

namespace freehca {

using namespace layouts;

namespace {

constexpr auto report_fields = fields_of<qpc>(
    FREEHCA_FIELD(queue_pair_report, state, &qpc::state),
    FREEHCA_FIELD(queue_pair_report, migration, &qpc::pm_state),
    FREEHCA_FIELD(queue_pair_report, remote_read, &qpc::rre),
    FREEHCA_FIELD(queue_pair_report, remote_write, &qpc::rwe),
    FREEHCA_FIELD(queue_pair_report, remote_atomic, &qpc::rae),
    FREEHCA_FIELD(queue_pair_report, path_mtu, &qpc::mtu),
    FREEHCA_FIELD(queue_pair_report, min_rnr_timer, &qpc::min_rnr_nak),
    FREEHCA_FIELD(queue_pair_report, retry_count, &qpc::retry_count),
    FREEHCA_FIELD(queue_pair_report, rnr_retry, &qpc::rnr_retry),
    FREEHCA_FIELD(queue_pair_report, log_ack_request, &qpc::ack_req_freq),
    FREEHCA_FIELD(queue_pair_report, qkey, &qpc::qkey),
    FREEHCA_FIELD(queue_pair_report, remote_qpn, &qpc::remote_qpn),
    FREEHCA_FIELD(queue_pair_report, receive_psn, &qpc::next_rcv_psn),
    FREEHCA_FIELD(queue_pair_report, send_psn, &qpc::next_send_psn),
    FREEHCA_FIELD_AS(queue_pair_report, reads_as_responder, &qpc::rra_max, power_of_2{}),
    FREEHCA_FIELD_AS(queue_pair_report, reads_as_requester, &qpc::sra_max, power_of_2{}));

constexpr auto reported_infiniband_fields = fields_of<address_path>(
    FREEHCA_FIELD(infiniband_path, dlid, &address_path::rlid),
    FREEHCA_FIELD(infiniband_path, path_bits, &address_path::my_lid_smac_idx),
    FREEHCA_FIELD(infiniband_path, static_rate, &address_path::static_rate),
    FREEHCA_FIELD(infiniband_path, force_loopback, &address_path::force_loopback),
    FREEHCA_FIELD(infiniband_path, global, &address_path::grh));
constexpr auto reported_grh_fields =
    fields_of<address_path>(FREEHCA_FIELD(infiniband_path, sgid_index, &address_path::mgid_index),
                            FREEHCA_FIELD(infiniband_path, flow_label, &address_path::flow_label),
                            FREEHCA_FIELD(infiniband_path, hop_limit, &address_path::hop_limit),
                            FREEHCA_FIELD(infiniband_path, traffic_class, &address_path::tclass));
constexpr auto reported_roce_fields =
    fields_of<address_path>(FREEHCA_FIELD(roce_path, dmac, &address_path::dmac),
                            FREEHCA_FIELD(roce_path, mac_index, &address_path::my_lid_smac_idx),
                            FREEHCA_FIELD(roce_path, static_rate, &address_path::static_rate),
                            FREEHCA_FIELD(roce_path, sgid_index, &address_path::mgid_index),
                            FREEHCA_FIELD(roce_path, flow_label, &address_path::flow_label),
                            FREEHCA_FIELD(roce_path, hop_limit, &address_path::hop_limit),
                            FREEHCA_FIELD(roce_path, traffic_class, &address_path::tclass));
constexpr auto reported_path_fields =
    fields_of<address_path>(FREEHCA_FIELD(reported_path, pkey_index, &address_path::pkey_index),
                            FREEHCA_FIELD(reported_path, ack_timeout, &address_path::ack_timeout));

std::uint8_t rate_of(std::uint8_t code) {
  return code <= static_rate_offset ? 0 : static_cast<std::uint8_t>(code - static_rate_offset);
}

void read_gid(const image<address_path>& from, gid& to) {
  __builtin_memcpy(to.raw, from.data() + row_of<&address_path::rgid>.offset, sizeof to.raw);
}

void read_path(const verbs& in, const image<address_path>& from, bool has_peer, reported_path& to) {
  load(reported_path_fields, from, to);
  const auto queue = static_cast<unsigned>(from.get<&address_path::sched_queue>());
  const unsigned port = sched_queue_port(queue);
  to.infiniband.port = to.roce.port = port;
  const device& adapter = in.adapter();
  if (port > adapter.capabilities().ports) return;
  to.ethernet = adapter.capabilities().link_layer(port) == port_type::ethernet;
  if (!has_peer) return;
  if (!to.ethernet) {
    load(reported_infiniband_fields, from, to.infiniband);
    to.infiniband.sl = static_cast<std::uint8_t>(sched_queue_sl(queue));
    to.infiniband.static_rate = rate_of(to.infiniband.static_rate);
    if (!to.infiniband.global) return;
    load(reported_grh_fields, from, to.infiniband);
    return read_gid(from, to.infiniband.dgid);
  }
  load(reported_roce_fields, from, to.roce);
  to.roce.priority = static_cast<std::uint8_t>(sched_queue_priority(queue));
  to.roce.static_rate = rate_of(to.roce.static_rate);
  if (from.get<&address_path::fvl>())
    to.roce.vlan = adapter.addresses(port).vlan_at(
        static_cast<unsigned>(from.get<&address_path::vlan_index>()));
  read_gid(from, to.roce.dgid);
}

}  // namespace

queue_pair_report report_of(const verbs& in, const query_queue_pair& answered) {
  const image<qpc> context = answered.context();
  queue_pair_report to;
  load(report_fields, context, to);
  const bool has_peer = context.get<&qpc::service>() != qp_service::ud;
  read_path(in, path_of<primary_path>(context), has_peer, to.primary);
  read_path(in, path_of<alternate_path>(context), has_peer, to.alternate);
  return to;
}

}  // namespace freehca
