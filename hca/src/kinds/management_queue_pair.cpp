// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/kinds/management_queue_pair.hpp>

#include <freehca/queues/prepared_packet.hpp>

#include "queue_pair_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

queue_pair_attributes datagrams_of(const management_queue_pair_attributes& a, unsigned gather) {
  return {.pd = a.pd,
          .send_cq = a.send_cq,
          .receive_cq = a.receive_cq,
          .service = qp_service::ud,
          .sends = a.sends,
          .receives = a.receives,
          .gather = gather,
          .scatter = a.scatter,
          .cookie = a.cookie};
}

// The headers and the invariant CRC have the room of this many data segments more than the segments
// in front of the data of a datagram.
constexpr unsigned more_segments =
    (queues::prepared_header_bytes - queues::datagram_header_bytes) / wqe_data::bytes;

}  // namespace

status special_queue_pairs::plan(verbs& in, const attributes&, creation<creating>&) {
  if (!in.is_control_owner()) return driver_error::unsupported;
  return in.held<special_queue_pairs>() == 1 ? status() : driver_error::busy;
}

status management_queue_pair::plan(verbs& in, const attributes& a, creation<creating>& to) {
  const capabilities& can = in.adapter().capabilities();
  refused_attribute& note = in.refused();
  special_queue_pairs* const special = in.find(a.special);
  FREEHCA_TRY(verbs::usable(special));
  FREEHCA_TRY(note.check(attribute_id::port, a.port, can.ports, 1));
  const bool has_smi = can.link_layer(a.port) == port_type::ib;
  FREEHCA_TRY(note.check(attribute_id::special_qp, a.qp, qp1_gsi, has_smi ? qp0_smi : qp1_gsi));
  FREEHCA_TRY(queue_pair::plan(in, datagrams_of(a, 1 + more_segments), to));
  use(*special);
  own_ = *service;
  own_.code = qp_service::mlx;
  own_.opcodes = queues::prepared_bit;
  service = &own_;
  port = static_cast<std::uint8_t>(a.port);
  is_smi = a.qp == qp0_smi;
  return {};
}

status management_queue_pair::build(verbs& in, const attributes& a, creation<creating>& to) {
  const std::uint32_t special = special_qp(in.find(a.special)->number, a.qp, a.port);
  // With this number, strip() would drop the completions of the queue pair that exists.
  if (in.queue_pairs().find(special) != nullptr) return driver_error::busy;
  number = special;
  return queue_pair::build(in, datagrams_of(a, 1), to);
}

// The fields are set as in Linux (6.1 hw/mlx4/qp.c __mlx4_ib_modify_qp).
void modify_management_queue_pair::start(verbs& owner, management_qp_handle h, qp_state to) {
  if (to == qp_state::reset || to > qp_state::rts) return modify_queue_pair::start(owner, h, to);
  if (!startable()) return;
  management_queue_pair* const pair = owner.find(h);
  status s = verbs::usable(pair);
  const auto next = static_cast<unsigned>(to);
  if (s.ok() && (pair->state_unknown || static_cast<unsigned>(pair->qp_state) + 1 != next))
    s = driver_error::bad_state;
  if (!s.ok()) return refuse(owner, s);
  to_ = to;
  transition_.restart();
  constexpr opcode commands[] = {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp};
  transition_.aim(commands[next - 1], pair->number);
  image<qpc> c = queue_pair_context(*pair, to);
  const capabilities& can = owner.adapter().capabilities();
  c.set<&qpc::qkey>(gsi_qkey);
  if (to == qp_state::rtr) {
    c.set<&qpc::mtu>(ib_mtu::mtu_4096).set<&qpc::msg_max>(11u);
    c.set<&primary_path::sched_queue>(pair->is_smi ? sched_queue_qp0(pair->port)
                                                   : sched_queue_ib(pair->port, 0))
        .set<&primary_path::no_force_smac>(can.link_layer(pair->port) == port_type::ethernet)
        .set<&primary_path::counter_index>(sink_counter(can));
  }
  transition_.input = {};
  transition_.input.set<&qp_mailbox::opt_param_mask>(
      to == qp_state::init ? qp_optpar::pkey_index | qp_optpar::qkey : 0);
  transition_.input.set_bytes<&qp_mailbox::context>(c.data());
  start_command(*pair, step::modify, transition_, &finished);
}

}  // namespace freehca
