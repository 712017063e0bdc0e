// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The contexts of a reliable connection's transitions, field by field as Linux 6.1 fills them
// (hw/mlx4/qp.c __mlx4_ib_modify_qp, _mlx4_set_path).
#include "qp_context.hpp"

#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

using namespace layouts;

namespace {

constexpr std::uint32_t psn_mask = 0xffffff;

/// log2, rounded up: how the context counts reads and atomics outstanding.
unsigned log_depth(std::uint32_t n) {
  return n <= 1 ? 0 : layouts::bit_width(n - 1);
}

status check(const connection_attributes& a, qp_state to, const capabilities& can) {
  const address_attributes& way = a.address;
  bool good = way.port >= 1 && way.port <= can.ports && a.pkey_index < 128;
  if (to == qp_state::rtr)
    good = good && mtu_bytes(a.path_mtu) != 0 && a.min_rnr_timer < 32 && a.remote_qpn <= psn_mask &&
           a.receive_psn <= psn_mask && a.reads_as_responder <= can.most_reads_as_responder &&
           way.sl < 16 && way.path_bits < 128 && way.sgid_index < 128 &&
           way.flow_label < 1u << 20 &&
           way.static_rate <= static_cast<unsigned>(ib_rate::gbps_100) &&
           (way.global || (way.dlid != 0 && way.dlid < first_multicast_lid));
  if (to == qp_state::rts)
    good = good && a.send_psn <= psn_mask && a.reads_as_requester <= can.most_reads_as_requester &&
           a.retry_count < 8 && a.rnr_retry < 8 && a.ack_timeout < 32 && a.log_ack_request < 16;
  return good ? status() : status(driver_error::bad_argument);
}

image<qpc> common(const queue_pair& pair, qp_state to, device& on) {
  image<qpc> c;
  c.set<&qpc::state>(to)
      .set<&qpc::service>(qp_service::rc)
      .set<&qpc::pm_state>(path_migration::migrated);
  c.set<&qpc::pd>(pair.domain->number)
      .set<&qpc::usr_page>(on.uar().index)
      .set<&qpc::local_qpn>(pair.number);
  c.set<&qpc::log_sq_size>(pair.send_shape.log_entries)
      .set<&qpc::log_sq_stride>(pair.send_shape.log_stride - 4u);
  c.set<&qpc::log_rq_size>(pair.receive_shape.log_entries)
      .set<&qpc::log_rq_stride>(pair.receive_shape.log_stride - 4u);
  c.set<&qpc::cqn_send>(pair.send_cq->number).set<&qpc::cqn_recv>(pair.receive_cq->number);
  return c;
}

void set_rights(image<qpc>& c, const connection_attributes& a) {
  // Without room for answers no reads and no atomics (Linux 6.1 to_mlx4_access_flags).
  const bool answers = a.reads_as_responder != 0;
  c.set<&qpc::rwe>(a.remote_write)
      .set<&qpc::rre>(a.remote_read && answers)
      .set<&qpc::rae>(a.remote_atomic && answers);
}

unsigned rate_code(std::uint8_t rate, const capabilities& can) {
  if (rate == 0) return 0;
  const auto supported = static_cast<unsigned>(can.raw.get<&query_dev_cap::stat_rate_support>());
  constexpr unsigned slowest = static_cast<unsigned>(ib_rate::gbps_2_5) + static_rate_offset;
  unsigned code = rate + static_rate_offset;
  while (code > slowest && (code > 15 || (1u << code & supported) == 0)) --code;
  return code;
}

void set_path(image<qpc>& c, const connection_attributes& a, const capabilities& can) {
  const address_attributes& way = a.address;
  c.set<&primary_path::sched_queue>(sched_queue_ib(way.port, way.sl));
  c.set<&primary_path::rlid>(way.dlid).set<&primary_path::my_lid_smac_idx>(way.path_bits);
  c.set<&primary_path::static_rate>(rate_code(way.static_rate, can));
  c.set<&primary_path::force_loopback>(way.force_loopback);
  // The last counter is the sink, for who has none of his own (Linux 6.1 MLX4_SINK_COUNTER_INDEX).
  const auto counters = static_cast<unsigned>(can.raw.get<&query_dev_cap::max_counters>());
  c.set<&primary_path::counter_index>(
      can.has(dev_cap_flag::counters) && counters != 0 ? (counters - 1) & 0xff : 0xff);
  if (!way.global) return;
  c.set<&primary_path::grh>(true).set<&primary_path::mgid_index>(way.sgid_index);
  c.set<&primary_path::hop_limit>(way.hop_limit).set<&primary_path::tclass>(way.traffic_class);
  c.set<&primary_path::flow_label>(way.flow_label);
  std::byte raw[sizeof way.dgid.raw];
  __builtin_memcpy(raw, way.dgid.raw, sizeof raw);
  c.set_bytes<&primary_path::rgid>(raw);
}

std::uint32_t to_init(image<qpc>& c, const queue_pair& pair, const connection_attributes& a,
                      device& on) {
  c.set<&qpc::db_rec_addr>(pair.record.device_address);
  c.set<&qpc::mtt_base>(on.contexts().translation_offset(pair.translations));
  set_rights(c, a);
  return qp_optpar::pkey_index | qp_optpar::rre | qp_optpar::rwe | qp_optpar::rae;
}

std::uint32_t to_rtr(image<qpc>& c, const connection_attributes& a, const capabilities& can) {
  c.set<&qpc::mtu>(a.path_mtu).set<&qpc::msg_max>(layouts::bit_width(can.most_message_bytes) - 1);
  c.set<&qpc::remote_qpn>(a.remote_qpn).set<&qpc::next_rcv_psn>(a.receive_psn);
  c.set<&qpc::min_rnr_nak>(a.min_rnr_timer).set<&qpc::rra_max>(log_depth(a.reads_as_responder));
  set_rights(c, a);
  set_path(c, a, can);
  return qp_optpar::primary_path | qp_optpar::sched_queue | qp_optpar::pkey_index |
         qp_optpar::rra_max | qp_optpar::min_rnr_nak | qp_optpar::rre | qp_optpar::rwe |
         qp_optpar::rae;
}

std::uint32_t to_rts(image<qpc>& c, const connection_attributes& a) {
  c.set<&qpc::next_send_psn>(a.send_psn).set<&qpc::sra_max>(log_depth(a.reads_as_requester));
  c.set<&qpc::retry_count>(a.retry_count).set<&qpc::rnr_retry>(a.rnr_retry);
  c.set<&primary_path::ack_timeout>(a.ack_timeout).set<&qpc::ack_req_freq>(a.log_ack_request);
  return qp_optpar::sra_max | qp_optpar::retry_count | qp_optpar::rnr_retry |
         qp_optpar::ack_timeout;
}

}  // namespace

result<image<qp_mailbox>> qp_mailbox_for(const queue_pair& pair, qp_state to,
                                         const connection_attributes& a, device& on) {
  const capabilities& can = on.capabilities();
  if (const status s = check(a, to, can); !s.ok()) return s;
  image<qpc> c = common(pair, to, on);
  c.set<&primary_path::pkey_index>(a.pkey_index);
  const std::uint32_t options = to == qp_state::init  ? to_init(c, pair, a, on)
                                : to == qp_state::rtr ? to_rtr(c, a, can)
                                                      : to_rts(c, a);
  image<qp_mailbox> mailbox;
  mailbox.set<&qp_mailbox::opt_param_mask>(options);
  mailbox.set_bytes<&qp_mailbox::context>(c.data());
  return mailbox;
}

}  // namespace freehca
