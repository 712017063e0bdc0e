// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/arrivals.hpp"

#include <freehca/layouts/qp_names.hpp>

#include "ports/ports.hpp"
#include "queues/explanations.hpp"
#include "queues/queue_pairs.hpp"
#include "steering/steering.hpp"
#include "transport/datagrams.hpp"
#include "transport/drop_log.hpp"
#include "transport/group_delivery.hpp"
#include "transport/path_migration.hpp"
#include "transport/requester.hpp"
#include "transport/responder.hpp"
#include "transport/transport_counters.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

bool is_response(bth_operation o) {
  return o >= bth_operation::rdma_read_response_first && o <= bth_operation::atomic_acknowledge;
}

bool serves(qp_service service, bth_opcode opcode) {
  const bth_transport transport = transport_of(opcode);
  const bth_operation operation = operation_of(opcode);
  const bool atomic =
      operation == bth_operation::compare_swap || operation == bth_operation::fetch_add;
  switch (service) {
    case qp_service::rc:
      return transport == bth_transport::rc || (transport == bth_transport::rc_masked && atomic);
    case qp_service::uc:
      return transport == bth_transport::uc;
    case qp_service::xrc:
      return transport == bth_transport::xrc || (transport == bth_transport::xrc_masked && atomic);
    case qp_service::ud:
    case qp_service::mlx:
      return transport == bth_transport::ud;
    default:
      return false;
  }
}

}  // namespace

void arrivals::receive(unsigned port, const packet& p) {
  a_.account.charge(work_account::packet);
  a_.rules.take_reason();  // what nobody asked for explains nothing of this packet
  const auto v = a_.links->codec(port).unwrap(port, p);
  if (!v) return drops_.drop_malformed(port, p);
  ++counters_.packets_received;
  const std::uint32_t number = v->destination();
  if (number == multicast_qpn) {
    if (v->ingress.global()) deliveries_.deliver(*v, p);
    else drops_.drop(*v, "a multicast packet without a GRH (IBTA 10.5.1)");
    return;
  }
  if (steering_.steers(pairs_.index_of(number)) &&
      transport_of(v->bth.get<&bth::opcode>()) == bth_transport::ud) {
    deliveries_.deliver(*v, p);
    return;
  }
  queue_pair* qp = number <= qp1_gsi ? special(port, number) : pairs_.find(number);
  // A connected queue pair may be reached by its alternate path.
  if (qp == nullptr) {
    drops_.drop(*v,
                "there is no such queue pair, or it is in state RESET; wanted: RTR, RTS or SQD");
    return;
  }
  if (!qp->connected() && !takes_from(*qp, port)) {
    drops_.drop(*v, "the queue pair's port is %u", qp->way.port);
    return;
  }
  deliver(*qp, *v);
}

/// Linux has one of the two for both ports when they are bonded (hw/mlx4/main.c mlx4_ib_add), and
/// the far end may answer by either. No source says how firmware finds it: chosen.
queue_pair* arrivals::special(unsigned port, std::uint32_t number) const {
  const auto of = [this, number](unsigned its) -> queue_pair* {
    const std::uint32_t qpn = pairs_.special(its, number);
    return qpn == 0 ? nullptr : pairs_.find(qpn);
  };
  queue_pair* const own = of(port);
  if (own != nullptr && own->can_receive()) return own;
  queue_pair* const other = of(3 - port);
  return other != nullptr && takes_from(*other, port) ? other : own;
}

bool arrivals::takes_from(const queue_pair& qp, unsigned port) const {
  return qp.way.port == port ||
         (a_.profile.any_receive_port && qp.on_ethernet && a_.layers.ethernet(port));
}

void arrivals::deliver(queue_pair& qp, const transport_packet& v) {
  const auto opcode = v.bth.get<&bth::opcode>();
  if (qp.carries_frames()) {
    drops_.drop(v, "the queue pair takes frames, and no packets");
    return;
  }
  if (!qp.can_receive()) {
    drops_.drop(v, "the queue pair is in state %s; wanted: RTR, RTS or SQD (IBTA 10.3.1)",
                name_of(qp.state));
    return;
  }
  if (!serves(qp.service, opcode)) {
    drops_.drop(v, "opcode 0x%02x; wanted: one of service %u (IBTA 9.6.1)",
                static_cast<unsigned>(opcode), static_cast<unsigned>(qp.service));
    return;
  }
  if (v.bth.get<&bth::version>() != 0) {
    drops_.drop(v, "transport header version %u; wanted: 0 (IBTA 9.2.4)",
                static_cast<unsigned>(v.bth.get<&bth::version>()));
    return;
  }
  a_.links->count_received(v.ingress.port, qp.way.counter, v.packet_bytes());
  if (!qp.connected()) {
    datagrams_.receive(qp, v);
    return;
  }
  if (!migration_.admits(qp, v)) {
    drops_.drop(v, "it does not come by the queue pair's path: %s (IBTA 9.6.1)",
                a_.rules.take_reason().text.c_str());
    return;
  }
  const bth_operation operation = operation_of(opcode);
  if (is_response(operation)) requests_.receive(qp, v, operation);
  else responses_.receive(qp, v, operation);
}

}  // namespace freehca::model
