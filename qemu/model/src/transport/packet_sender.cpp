// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/packet_sender.hpp"

#include <utility>

#include "ports/ports.hpp"
#include "queues/queue_pairs.hpp"
#include "transport/answers.hpp"
#include "transport/arrivals.hpp"
#include "transport/send_engine.hpp"
#include "transport/transport_counters.hpp"

namespace freehca::model {

std::optional<outgoing_packet> packet_sender::lay_out(const path& way,
                                                      layouts::image<layouts::bth> transport,
                                                      std::size_t extended_bytes,
                                                      std::size_t payload_bytes) const {
  std::optional<path> other;
  const path& out = a_.links->physical(way, other);
  return a_.links->codec(out.port).wrap(out, transport, extended_bytes, payload_bytes);
}

void packet_sender::transmit(const path& asked, outgoing_packet out) {
  std::optional<path> other;
  const path& way = a_.links->physical(asked, other);
  ++counters_.packets_sent;
  a_.account.charge(work_account::packet);
  counters_.census.count(out.opcode());
  a_.links->count_sent(way.port, way.counter, out.p.bytes.size());
  out.p.priority = way.queue_priority;
  if (!way.force_loopback) {
    a_.links->transmit(way.port, std::move(out.p));
    return;
  }
  a_.links->capture(way.port, out.p);
  work_.soon(way.port, {.kind = looped_packet,
                        .number = way.port,
                        .value = a_.layers.ethernet(way.port),
                        .bytes = std::move(out.p.bytes)});
}

void packet_sender::run_item(work_item& what) {
  // A state that was loaded may name any number.
  if (what.number < 1 || what.number > woken_.size()) return;
  if (what.kind == wake) return wake_senders(what.number);
  packet looped{std::move(what.bytes)};
  // A packet that was wrapped for the other kind of link is lost with that link.
  if (a_.layers.ethernet(what.number) == (what.value != 0)) arrivals_.receive(what.number, looped);
  a_.links->buffers().give(looped);
}

bool packet_sender::held_up(queue_pair& qp, const path& asked) {
  std::optional<path> other;
  const path& way = a_.links->physical(asked, other);
  // Subnet management has a lane without flow control (IBTA vol. 1, 7.9): it is discarded when
  // there is no room.
  const bool waits = !way.force_loopback && qp.special != 1 && a_.links->held_up(way);
  if (!waits) {
    forget(qp);
    return false;
  }
  if (qp.room_turn == 0) qp.room_turn = ++last_turn_;
  held_up_[way.port - 1].emplace(qp.room_turn, qp.qpn);
  return true;
}

void packet_sender::forget(queue_pair& qp) {
  if (qp.room_turn == 0) return;
  const waiter gone{std::exchange(qp.room_turn, 0), qp.qpn};
  for (auto& waiters : held_up_) waiters.erase(gone);
  for (auto& waiters : woken_) waiters.erase(gone);
}

void packet_sender::port_has_room(unsigned port) {
  if (held_up_[port - 1].empty()) return;
  // Those that wait now come behind those that are being woken: to sort them in among these would
  // cost as much as there are, in one step.
  room_again_[port - 1] = !woken_[port - 1].empty();
  if (room_again_[port - 1]) return;
  woken_[port - 1].swap(held_up_[port - 1]);
  wake_senders(port);
}

void packet_sender::wake_senders(unsigned port) {
  auto& woken = woken_[port - 1];
  while (!woken.empty()) {
    queue_pair* qp = pairs_.find(woken.begin()->second);
    woken.erase(woken.begin());
    a_.account.charge(work_account::function);
    if (qp != nullptr) {
      sends_.kick(*qp);
      replies_.go_on(*qp);
    }
    if (woken.empty() && std::exchange(room_again_[port - 1], false))
      woken.swap(held_up_[port - 1]);
    if (a_.account.slice_over() && !woken.empty())
      return static_cast<void>(work_.soon(port, {.kind = wake, .number = port}));
  }
}

void packet_sender::clear() {
  for (auto& waiters : held_up_) a_.work.discard(waiters);
  for (auto& waiters : woken_) a_.work.discard(waiters);
  room_again_ = {};
}

}  // namespace freehca::model
