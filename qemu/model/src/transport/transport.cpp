// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/transport.hpp"

#include <cstdint>
#include <utility>

#include "ports/ethernet_port.hpp"
#include "ports/ports.hpp"
#include "transport/transport_parts.hpp"

namespace freehca::model {

transport::parts::parts(adapter& whole)
    : a(whole),
      counters(whole.counters),
      drops(whole.rules, *whole.links, counters),
      pairs(whole),
      shared(whole),
      receives(whole.memory, *whole.regions, pairs, shared, whole.rules),
      blueflames(whole, pairs),
      steering(whole),
      completions(*whole.cqs, shared, errors, whole.rules),
      errors(whole, pairs, receives, completions, watch, sends),
      watch(whole.work, pairs, receives, errors),
      migration(whole.configuration, whole.layers, *whole.links, pairs, whole.rules),
      sender(whole, pairs, sends, replies, arrivals, counters),
      replies(whole, pairs, errors, sender),
      requests(whole, pairs, sends, migration, counters, sender, drops),
      responses(whole, pairs, shared, receives, completions, errors, replies, counters, drops),
      datagrams(whole, receives, completions, errors, counters, sender, drops),
      frames(whole.profile, *whole.links, *whole.regions, whole.rules, whole.account),
      received_frames(whole, pairs, receives, steering, completions, errors),
      sends(whole, pairs, completions, errors, watch, requests, datagrams, frames, sender),
      looks(whole, pairs, sends),
      deliveries(whole, pairs, steering, drops, arrivals),
      arrivals(whole, pairs, steering, deliveries, migration, datagrams, requests, responses,
               counters, drops),
      commands(whole, pairs, shared, errors, watch, sends, migration, blueflames, looks) {
  steering.ask({[this](unsigned port) { return a.links->ethernet(port)->unicast_numbers(); },
                [this](unsigned port, std::uint64_t mac) {
                  return a.links->ethernet(port)->mac_index(mac);
                }});
  pairs.on_link_gone = [this](queue_pair& qp) { errors.enter_error(qp, std::nullopt); };
  a.kept.add_objects(pairs.bytes_of_one(), [this] { return pairs.count(); });
  a.kept.add_objects(shared_receive_queues::bytes_each, [this] { return shared.count(); });
  a.kept.add_traffic(kept_memory::request_bytes, [this] { return pairs.requests_held; });
  a.counters.add("queue_pairs", [this] { return pairs.count(); });
  a.counters.add("send_requests_held", [this] { return pairs.requests_held; });
  a.counters.add("shared_receive_queues", [this] { return shared.count(); });
  a.counters.add("error_state_looks", watch.looks());
}

void transport::parts::clear() {
  sender.clear();
  watch.clear();
  pairs.clear();
  shared.clear();
  steering.clear();
  deliveries.clear();
  received_frames.clear();
  blueflames.clear();
  looks.clear();
}

transport::transport(adapter& a) : parts_(std::make_unique<parts>(a)) {
  parts_->blueflames.heard_by(
      [this](std::uint32_t page, std::uint32_t qpn) { ring(page, qpn, true); });
}
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
  const auto own = static_cast<std::uint32_t>(qp->context.get<&layouts::qpc::usr_page>());
  if (own != uar && parts_->a.rules.complain(
                        rule::doorbell_of_own_uar,
                        "send doorbell of QP 0x%06x in UAR page %u; its own is %u", qpn, uar, own))
    return;
  parts_->sends.rung(*qp, pushed);
}

void transport::look_at(std::uint32_t uar, uar_users::kind what) {
  parts_->looks.look(uar, what);
}

void transport::blueflame(std::uint32_t uar, std::uint32_t offset, const std::byte* from,
                          std::size_t bytes) {
  parts_->blueflames.write(uar, offset, from, bytes);
}

void transport::receive(unsigned port, const packet& p) {
  parts_->arrivals.receive(port, p);
}

void transport::receive_frame(unsigned port, const frame& f) {
  parts_->received_frames.receive(port, f);
}

listening transport::listens(unsigned port) {
  return parts_->steering.listens(port);
}

void transport::port_has_room(unsigned port) {
  parts_->sender.port_has_room(port);
}

bool transport::bound_to_link(unsigned port) const {
  return parts_->pairs.any_bound_to_link(port);
}

void transport::link_replaced(unsigned port) {
  parts_->received_frames.forget(port);
  parts_->deliveries.forget(port);
  parts_->pairs.links_replaced();
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
bool transport::is_judged() const {
  return parts_->sends.is_judged();
}

void transport::clear() {
  parts_->clear();
}

}  // namespace freehca::model
