// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "services.hpp"

#include <initializer_list>

#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/ib_types.hpp>

namespace freehca {

using namespace layouts;

const queue_pair_service* service_of(qp_service code) {
  for (const queue_pair_service* s :
       {&services::reliable_connection, &services::unreliable_connection,
        &services::unreliable_datagram})
    if (s->code == code) return s;
  return nullptr;
}

namespace services {

std::uint64_t memory_opcodes(const capabilities& can) {
  return can.has(bmme_flag::fast_register) && can.has(bmme_flag::local_invalidate)
             ? queues::opcodes_of_memory_management()
             : 0;
}

bool is_peer(const connection_attributes& a) {
  return mtu_bytes(a.path_mtu) != 0 && a.remote_qpn <= psn_mask && a.receive_psn <= psn_mask &&
         is_valid_path(a.address, false);
}

void set_peer(image<qpc>& c, const connection_attributes& a, const capabilities& can) {
  c.set<&qpc::mtu>(a.path_mtu).set<&qpc::msg_max>(layouts::bit_width(can.most_message_bytes) - 1);
  c.set<&qpc::remote_qpn>(a.remote_qpn).set<&qpc::next_rcv_psn>(a.receive_psn);
  const address_attributes& way = a.address;
  c.set<&primary_path::sched_queue>(sched_queue_ib(way.port, way.sl));
  c.set<&primary_path::rlid>(way.dlid).set<&primary_path::my_lid_smac_idx>(way.path_bits);
  c.set<&primary_path::static_rate>(static_rate_code(way.static_rate, can));
  c.set<&primary_path::force_loopback>(way.force_loopback);
  set_counter(c, can);
  if (!way.global) return;
  c.set<&primary_path::grh>(true).set<&primary_path::mgid_index>(way.sgid_index);
  c.set<&primary_path::hop_limit>(way.hop_limit).set<&primary_path::tclass>(way.traffic_class);
  c.set<&primary_path::flow_label>(way.flow_label);
  std::byte raw[sizeof way.dgid.raw];
  __builtin_memcpy(raw, way.dgid.raw, sizeof raw);
  c.set_bytes<&primary_path::rgid>(raw);
}

void set_counter(image<qpc>& c, const capabilities& can) {
  // The last counter is the sink. Queue pairs without a counter of their own use it (Linux 6.1
  // MLX4_SINK_COUNTER_INDEX).
  const auto counters = static_cast<unsigned>(can.raw.get<&query_dev_cap::max_counters>());
  c.set<&primary_path::counter_index>(
      can.has(dev_cap_flag::counters) && counters != 0 ? (counters - 1) & 0xff : 0xff);
}

}  // namespace services
}  // namespace freehca
