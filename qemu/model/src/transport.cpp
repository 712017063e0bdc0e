// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>

#include <freehca/layouts/wqe.hpp>

#include "explanations.hpp"
#include "ports.hpp"
#include "transport_parts.hpp"

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

transport::parts::parts(adapter& whole)
    : a(whole),
      pairs(whole),
      shared(*this),
      receives(*this),
      completions(*this),
      errors(*this),
      watch(*this),
      sends(*this),
      requests(*this),
      responses(*this),
      replies(*this),
      migration(*this),
      datagrams(*this),
      groups(*this),
      rules(*this),
      deliveries(*this),
      blueflames(*this),
      commands(*this) {
  a.kept.add_objects(pairs.bytes_of_one(), [this] { return pairs.count(); });
  a.kept.add_objects(shared_receive_queues::bytes_each, [this] { return shared.count(); });
  a.kept.add_traffic(kept_memory::request_bytes, [this] { return pairs.requests_held; });
  a.counters.add("queue_pairs", [this] { return pairs.count(); });
  a.counters.add("send_requests_held", [this] { return pairs.requests_held; });
  a.counters.add("shared_receive_queues", [this] { return shared.count(); });
  a.counters.add("transport_packets_sent", packets_sent);
  a.counters.add("transport_packets_received", packets_received);
  a.counters.add("transport_packets_dropped", packets_dropped);
  a.counters.add("transport_retries", retries);
  a.counters.add("transport_rnr_waits", rnr_waits);
  a.counters.add("transport_duplicates", duplicates);
  a.counters.add("transport_timeouts", timeouts);
  a.counters.add("transport_sequence_naks", sequence_naks);
  a.counters.add("transport_out_of_sequence", out_of_sequence);
  a.counters.add("transport_rnr_naks_sent", rnr_naks_sent);
  a.counters.add("datagrams_without_receive", datagrams_dropped);
  a.counters.add("error_state_looks", watch.looks());
}

void transport::parts::transmit(const path& way, packet p) {
  ++packets_sent;
  a.account.charge(work_account::packet);
  if (const auto v = packet_view::of(p)) census.count(v->bth.get<&bth::opcode>());
  if (!way.force_loopback) {
    a.links->transmit(way.port, std::move(p));
    return;
  }
  a.links->capture(way.port, p);
  a.work.soon(way.port, [this, port = way.port, looped = std::move(p)] { receive(port, looped); });
}

void transport::parts::receive(unsigned port, const packet& p) {
  a.account.charge(work_account::packet);
  a.rules.take_reason();  // what nobody asked for explains nothing of this packet
  const auto v = packet_view::of(p);
  if (!v) {
    ++packets_dropped;
    a.rules.because("%s", packet_view::why_not(p).c_str());
    a.rules.explain(remark_kind::packet_dropped,
                    "port " + std::to_string(port) + ": a packet was dropped",
                    a.rules.take_reason());
    return;
  }
  ++packets_received;
  std::uint32_t number = v->destination();
  if (number == multicast_qpn) {
    if (v->global) deliveries.deliver(port, p, rules.on());
    else drop(port, *v, "a multicast packet without a GRH (IBTA 10.5.1)");
    return;
  }
  if (rules.steers(pairs.index_of(number)) &&
      transport_of(v->bth.get<&bth::opcode>()) == bth_transport::ud) {
    deliveries.deliver(port, p, true);
    return;
  }
  if (number <= qp1_gsi) number = pairs.special(port, number);
  queue_pair* qp = number == 0 ? nullptr : pairs.find(number);
  // A connected queue pair may be reached by its alternate path.
  if (qp == nullptr) {
    drop(port, *v, "there is no such queue pair, or it is in the reset state");
    return;
  }
  if (qp->way.port != port && !qp->connected()) {
    drop(port, *v, "the queue pair's port is %u", qp->way.port);
    return;
  }
  deliver(*qp, port, *v);
}

void transport::parts::deliver(queue_pair& qp, unsigned port, const packet_view& v) {
  const auto opcode = v.bth.get<&bth::opcode>();
  if (!qp.can_receive()) {
    drop(port, v, "the queue pair is in state %u; wanted: RTR, RTS or SQD (IBTA 10.3.1)",
         static_cast<unsigned>(qp.state));
    return;
  }
  if (!serves(qp.service, opcode)) {
    drop(port, v, "opcode 0x%02x; wanted: one of service %u (IBTA 9.6.1)",
         static_cast<unsigned>(opcode), static_cast<unsigned>(qp.service));
    return;
  }
  if (v.bth.get<&bth::version>() != 0) {
    drop(port, v, "transport header version %u; wanted: 0 (IBTA 9.2.4)",
         static_cast<unsigned>(v.bth.get<&bth::version>()));
    return;
  }
  if (!qp.connected()) {
    datagrams.receive(qp, port, v);
    return;
  }
  if (!migration.admits(qp, port, v)) {
    drop(port, v, "it does not come by the queue pair's path: %s (IBTA 9.6.1)",
         a.rules.take_reason().text.c_str());
    return;
  }
  const bth_operation operation = operation_of(opcode);
  if (is_response(operation)) requests.receive(qp, v, operation);
  else responses.receive(qp, v, operation);
}

void transport::parts::drop(unsigned port, const packet_view& v, const char* format, ...) {
  ++packets_dropped;
  std::array<char, 240> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  a.rules.explain(remark_kind::packet_dropped, words_for(port, v) + ": dropped", {"", text.data()});
}

bool transport::parts::held_up(const queue_pair& qp, const path& way) {
  // Subnet management has a lane without flow control (IBTA vol. 1, 7.9): it is discarded when
  // there is no room.
  const bool waits = !way.force_loopback && qp.special != 1 && a.links->held_up(way.port, way.dlid);
  if (waits) held_up_[way.port - 1].insert(qp.qpn);
  return waits;
}

void transport::parts::port_has_room(unsigned port) {
  if (held_up_[port - 1].empty()) return;
  const bool under_way = !woken_[port - 1].empty();
  woken_[port - 1].merge(std::exchange(held_up_[port - 1], {}));
  if (!under_way) wake_senders(port);
}

void transport::parts::wake_senders(unsigned port) {
  auto& woken = woken_[port - 1];
  while (!woken.empty()) {
    queue_pair* qp = pairs.find(*woken.begin());
    woken.erase(woken.begin());
    a.account.charge(work_account::function);
    if (qp != nullptr) {
      sends.kick(*qp);
      replies.go_on(*qp);
    }
    if (a.account.slice_over() && !woken.empty())
      return static_cast<void>(a.work.soon(port, [this, port] { wake_senders(port); }));
  }
}

void transport::parts::clear() {
  for (auto& qpns : held_up_) a.work.discard(qpns);
  for (auto& qpns : woken_) a.work.discard(qpns);
  watch.clear();
  pairs.clear();
  shared.clear();
  rules.clear();
  deliveries.clear();
  blueflames.clear();
}

transport::transport(adapter& a) : parts_(std::make_unique<parts>(a)) {}
transport::~transport() = default;

void transport::send_doorbell(std::uint32_t uar, std::uint32_t qpn) {
  ring(uar, qpn, false);
}

void transport::ring(std::uint32_t uar, std::uint32_t qpn, bool pushed) {
  queue_pair* qp = parts_->pairs.find(qpn);
  if (qp == nullptr) {
    parts_->a.rules.complain(rule::send_doorbell_state,
                             "send doorbell of QP 0x%06x, which is in the reset state", qpn);
    return;
  }
  const auto own = static_cast<std::uint32_t>(qp->context.get<&qpc::usr_page>());
  if (own != uar && parts_->a.rules.complain(
                        rule::doorbell_of_own_uar,
                        "send doorbell of QP 0x%06x in UAR page %u; its own is %u", qpn, uar, own))
    return;
  parts_->sends.rung(*qp, pushed);
}

void transport::blueflame(std::uint32_t uar, std::uint32_t offset, const std::byte* from,
                          std::size_t bytes) {
  if (const auto qpn = parts_->blueflames.write(uar, offset, from, bytes)) ring(uar, *qpn, true);
}

void transport::receive(unsigned port, const packet& p) {
  parts_->receive(port, p);
}

void transport::port_has_room(unsigned port) {
  parts_->port_has_room(port);
}

void transport::write_back(std::uint32_t qpn) {
  if (queue_pair* qp = parts_->pairs.find(qpn)) parts_->pairs.store(*qp);
}

std::uint32_t transport::special_qp(unsigned port, unsigned qp) const {
  return parts_->pairs.special(port, qp);
}

std::optional<request_place> transport::send_under(std::uint32_t lkey) const {
  return parts_->pairs.send_under(lkey);
}

void transport::judge(request_judge by) {
  parts_->sends.judge(std::move(by));
}

void transport::clear() {
  parts_->clear();
}

}  // namespace freehca::model
