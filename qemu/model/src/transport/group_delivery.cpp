// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/group_delivery.hpp"

#include <utility>

#include "ports/ports.hpp"
#include "queues/queue_pairs.hpp"
#include "saving/transfer.hpp"
#include "transport/arrivals.hpp"
#include "transport/drop_log.hpp"

namespace freehca::model {

using namespace layouts;

void group_delivery::deliver(const transport_packet& v, const packet& p) {
  delivery d;
  const unsigned port = v.ingress.port;
  auto& waiting = waiting_[port - 1];
  if (waiting.empty() && go_on(d, v)) return;
  d.p = p;
  waiting.push_back(std::move(d));
  a_.work.set_aside();
  schedule(port);
}

void group_delivery::schedule(unsigned port) {
  if (std::exchange(scheduled_[port - 1], true)) return;
  work_.soon(port, {.kind = deliver_packets, .number = port});
}

void group_delivery::run(unsigned port) {
  auto& waiting = waiting_[port - 1];
  scheduled_[port - 1] = false;
  while (!waiting.empty()) {
    delivery& d = waiting.front();
    const auto v = a_.links->codec(port).unwrap(port, d.p);
    if (v && !go_on(d, *v)) return schedule(port);
    waiting.pop_front();
    a_.work.taken_up();
    if (a_.account.slice_over() && !waiting.empty()) return schedule(port);
  }
}

bool group_delivery::find_members(delivery& d, const transport_packet& v) {
  if (!d.searching) d.searching = steering_.begin(v);
  if (!steering_.go_on(*d.searching, v, d.members)) return false;
  d.found = true;
  const bool from_here = v.ingress.codec->from_own_port(v.ingress);
  // What the adapter sends to a group comes back whether it has members or not: no loss.
  if (d.members.empty() && !(from_here && v.destination() == multicast_qpn))
    drops_.drop(v,
                steering_.on() ? "no rule of flow steering takes QP 0x%06x"
                               : "no queue pair is attached to its group, by QP 0x%06x",
                v.destination());
  return true;
}

bool group_delivery::blocks(const member& m, const queue_pair& qp, std::uint32_t source) const {
  if (m.block_loopback && pairs_.index_of(source) == pairs_.index_of(m.qpn)) return true;
  // Or all queue pairs that share its counter (Linux hw/mlx4/qp.c create_qp_lb_counter
  // and __mlx4_ib_modify_qp; no source says how the two are compared: chosen).
  const auto& c = qp.context;
  if (!c.get<&primary_path::src_check_mc_lb>() || !c.get<&primary_path::src_check_counter>())
    return false;
  const queue_pair* sender = pairs_.find(source);
  return sender != nullptr && sender->context.get<&primary_path::counter_index>() ==
                                  c.get<&primary_path::counter_index>();
}

bool group_delivery::go_on(delivery& d, const transport_packet& v) {
  if (!d.found) {
    if (!find_members(d, v)) return false;
    // The search and a copy are two steps: each alone may cost as much as a step can.
    if (a_.account.slice_over() && !d.members.empty()) return false;
  }
  const bool from_here = v.ingress.codec->from_own_port(v.ingress);
  transport_packet peek = v;
  const auto extended = peek.take<deth>();
  const auto source = extended ? static_cast<std::uint32_t>(extended->get<&deth::source_qp>()) : 0;
  while (d.next < d.members.size()) {
    const member m = d.members[d.next++];
    a_.account.charge(work_account::packet);
    queue_pair* qp = pairs_.find(m.qpn);
    if (qp != nullptr && arrivals_.takes_from(*qp, v.ingress.port) &&
        !(from_here && blocks(m, *qp, source)))
      arrivals_.deliver(*qp, v);
    if (a_.account.slice_over() && d.next < d.members.size()) return false;
  }
  return true;
}

void group_delivery::forget(unsigned port) {
  auto& waiting = waiting_[port - 1];
  a_.work.taken_up(waiting.size());
  a_.work.discard(waiting);
}

void group_delivery::clear() {
  for (unsigned port = 1; port <= waiting_.size(); ++port) forget(port);
  scheduled_ = {};
}

/// The scheduler's count of the packets that are set aside follows what is loaded here.
template <class Archive>
void group_delivery::transfer_members(Archive& archive) {
  if constexpr (Archive::loads)
    for (const auto& waiting : waiting_) a_.work.taken_up(waiting.size());
  saving::transfer_members(archive, *this);
  if constexpr (Archive::loads)
    for (const auto& waiting : waiting_) a_.work.set_aside(waiting.size());
}

void group_delivery::transfer_state(saving::writer& to) {
  transfer_members(to);
}

void group_delivery::transfer_state(saving::reader& from) {
  transfer_members(from);
}

}  // namespace freehca::model
