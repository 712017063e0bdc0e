// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/management_queue_pair.hpp>

#include <freehca/queues/prepared_packet.hpp>

#include "queue_pair_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

constexpr queue_pair_service management{.code = qp_service::mlx,
                                        .header_bytes = queues::prepared_header_bytes,
                                        .most_message_bytes = 4096,
                                        .opcodes = queues::prepared_bit,
                                        .to = {}};

}  // namespace

status special_queue_pairs::plan(verbs& in, const attributes&, creation<creating>&) {
  if (!in.is_control_owner()) return driver_error::unsupported;
  number_count = special_qps;
  // The only object is always in the first place of the slab.
  constexpr std::uint32_t places = (std::uint32_t{1} << slab::place_bits) - 1;
  return (index & places) == 0 ? status() : driver_error::busy;
}

status management_queue_pair::plan(verbs& in, const attributes& a, creation<creating>&) {
  const capabilities& can = in.adapter().capabilities();
  refused_attribute& note = in.refused();
  special_queue_pairs* const special = in.find(a.special);
  FREEHCA_TRY(verbs::usable(special));
  FREEHCA_TRY(note.check(attribute_id::port, a.port, can.ports, 1));
  const bool has_smi = can.link_layer(a.port) == port_type::ib;
  FREEHCA_TRY(note.check(attribute_id::special_qp, a.qp, qp1_gsi, has_smi ? qp0_smi : qp1_gsi));
  if (a.shared) return driver_error::unsupported;
  FREEHCA_TRY(queue_pair::plan(in, a, &management));
  use(*special);
  port = static_cast<std::uint8_t>(a.port);
  is_smi = a.qp == qp0_smi;
  return {};
}

status management_queue_pair::build(verbs& in, const attributes& a, creation<creating>& to) {
  const std::uint32_t special = special_qp(in.find(a.special)->number, a.qp, a.port);
  // With this number, strip() would drop the completions of the queue pair that exists.
  if (in.queue_pairs().find(special) != nullptr) return driver_error::busy;
  number = special;
  return queue_pair::build(in, a, to);
}

// The fields are set as in Linux (6.1 hw/mlx4/qp.c __mlx4_ib_modify_qp).
void modify_management_queue_pair::start(verbs& owner, management_qp_handle h, qp_state to) {
  if (to == qp_state::reset || to > qp_state::rts) return modify_queue_pair::start(owner, h, to);
  if (!startable()) return;
  management_queue_pair* const pair = owner.find(h);
  status s = verbs::usable(pair);
  if (s.ok() && (pair->state_unknown ||
                 static_cast<unsigned>(pair->qp_state) + 1 != static_cast<unsigned>(to)))
    s = driver_error::bad_state;
  if (!s.ok()) return refuse(owner, s);
  image<qpc> c = queue_pair_context(*pair, to);
  const capabilities& can = owner.adapter().capabilities();
  c.set<&qpc::qkey>(gsi_qkey);
  if (to == qp_state::rtr) {
    c.set<&qpc::mtu>(ib_mtu::mtu_4096).set<&qpc::msg_max>(11u);
    c.set<&primary_path::sched_queue>(pair->is_smi ? sched_queue_qp0(pair->port)
                                                   : sched_queue_ib(pair->port, 0))
        .set<&primary_path::no_force_smac>(can.link_layer(pair->port) == port_type::ethernet)
        .set<&primary_path::counter_index>(sink_counter(can));
    pair->use_port(pair->port);
  }
  send(*pair, to, c, to == qp_state::init ? qp_optpar::pkey_index | qp_optpar::qkey : 0);
}

}  // namespace freehca
