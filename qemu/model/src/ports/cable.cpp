// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/cable.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/packets/link_packets.hpp>

#include "fabric/mad_packet.hpp"
#include "link/packet_receiver.hpp"
#include "link/wire_form.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

// Hardware sends flow control every few microseconds and sees the loss of a signal at once. Here
// each costs the host work, and an adapter whose virtual machine stands still is silent. no source:
// chosen
constexpr std::uint64_t beat_ns = 250'000'000;

// How long a packet that is to be overtaken waits for the one that does it. no source: chosen
constexpr std::uint64_t held_back_ns = 100'000;

constexpr unsigned management_lane = 15;
constexpr unsigned flow_control_modulus = 1u << 12;

/// Of a packet from LRH to VCRC.
bool is_packet_length(std::size_t bytes) {
  return bytes >= lrh::bytes + vcrc_bytes &&
         bytes <= greatest_packet_bytes(mtu_bytes(ib_mtu::mtu_4096));
}

std::uint16_t blocks_of(std::size_t bytes) {
  return static_cast<std::uint16_t>((bytes + flow_control_block_bytes - 1) /
                                    flow_control_block_bytes);
}

}  // namespace

cable::cable(adapter& a, infiniband_port& end, unsigned number)
    : a_(a),
      work_(a.work, "cable of port " + std::to_string(number), *this),
      port_(end),
      number_(number) {
  const std::string name = "port" + std::to_string(number);
  a.counters.add(name + "_bad_vcrc", bad_vcrc_);
  a.counters.add(name + "_bad_icrc", bad_icrc_);
  a.counters.add(name + "_malformed_packets", malformed_);
  a.counters.add(name + "_bad_link_packets", bad_link_packets_);
  faults_.count_in(a.counters, name);
  a.kept.add_traffic(a.kept.packet_bytes,
                     [this] { return waiting_.size() + waiting_management_.size(); });
}

void cable::receive(const packet& p) {
  std::vector<std::byte> bytes = to_wire(packet{buffers().take(p.bytes)});
  a_.account.charge_check(2 * bytes.size());
  const auto lane = image<lrh>::from_bytes(bytes.data()).get<&lrh::virtual_lane>();
  blocks_sent_[lane] = static_cast<std::uint16_t>(blocks_sent_[lane] + blocks_of(bytes.size()));
  send_packet(std::move(bytes));
}

void cable::send_packet(std::vector<std::byte> bytes) {
  const link_fault_source::fate what = faults_.decide(bytes, held_back_.empty());
  if (what.lost) return;
  if (what.held_back) {
    held_back_ = std::move(bytes);
    release_ = work_.after(held_back_ns, {.kind = release});
    return;
  }
  if (what.twice) send(bytes);
  send(std::move(bytes));
  release_held_back();
}

void cable::release_held_back() {
  a_.work.cancel(release_);
  if (!held_back_.empty()) send(std::exchange(held_back_, {}));
}

void cable::link_changed(bool up) {
  up_ = up;
  said_ready_ = false;
  drop_waiting();
  blocks_sent_ = {};
  blocks_received_ = {};
  // What made the other end ready was the link that has gone.
  if (!up && partner_ == partner::ready) partner_ = partner::training;
  if (up) signal();
}

void cable::transmitter(bool on) {
  if (!on) {
    if (!on_) return;
    drop_waiting();
    tell(link_packet_op::no_signal, 0);
    on_ = said_ready_ = false;
    partner_ = partner::absent;
    a_.work.cancel(beat_);
    return;
  }
  on_ = true;
  said_ready_ = false;
  // There may be room again that nobody has heard of: an adapter that has failed hears nothing.
  full_ = false;
  signal();
  if (!beat_) beat_ = work_.after(beat_ns, {.kind = beat_due});
}

bool cable::ready() {
  said_ready_ = true;
  signal();
  return partner_ == partner::ready;
}

void cable::plug(bool plugged) {
  if (plugged == plugged_) return;
  if (plugged) {
    plugged_ = true;
    full_ = false;
    if (on_) signal();
    return;
  }
  drop_waiting();
  if (on_) tell(link_packet_op::no_signal, 0);
  plugged_ = false;
  work_.soon(number_, {.kind = unplugged});
}

void cable::run_item(work_item& what) {
  switch (what.kind) {
    case arrival_of_bytes:
      if (!plugged_ || !on_) return;
      if (what.bytes.size() == link_packet::bytes) return link_packet_arrived(what.bytes);
      return packet_arrived(std::move(what.bytes));
    case beat_due:
      return beat();
    case release:
      return release_held_back();
    case send_on:
      return send_all_waiting();
    default:
      if (!plugged_) lost();
  }
}

packet_buffers& cable::buffers() {
  return a_.links->buffers();
}

void cable::arrived(std::span<const std::byte> bytes) {
  if (!plugged_ || !on_) return;
  // The effects of a packet can interrupt the host and unplug the adapter, while the caller still
  // works with the cable. The packet is therefore taken later.
  work_.arrived(number_, {.kind = arrival_of_bytes, .bytes = buffers().take(bytes)});
}

void cable::packet_arrived(std::vector<std::byte>&& bytes) {
  if (!up_) return;
  if (captures(a_.how, number_, link_layer::infiniband))
    a_.surroundings.packet_passed(number_, bytes.data(), bytes.size());
  packet p;
  const std::size_t length = bytes.size();
  a_.account.charge_check(2 * length);
  switch (from_wire(std::move(bytes), p)) {
    case arrival::bad_vcrc:
      return count_error(bad_vcrc_);
    case arrival::malformed:
      return count_error(malformed_);
    case arrival::bad_icrc:
      return count_error(bad_icrc_);
    case arrival::good:
      break;
  }
  const auto lane = image<lrh>::from_bytes(p.bytes.data()).get<&lrh::virtual_lane>();
  const auto s = summarise(p);
  const bool management = s && s->dest_qp == qp0_smi;
  // IBTA vol. 1, 7.6.3 and 9.6.1.1: lane 15 is for QP0, and QP0 has no other.
  if (management != (lane == management_lane) ||
      (!management && lane >= port_.managed().data_lanes()))
    return count_error(malformed_);
  heard_at_ = a_.work.now();
  blocks_received_[lane] = static_cast<std::uint16_t>(blocks_received_[lane] + blocks_of(length));
  port_.arrive(p);
  buffers().give(p);
}

void cable::link_packet_arrived(std::span<const std::byte> bytes) {
  const auto p = packets::link_packet_of(bytes);
  if (!p || p->get<&link_packet::vl>() >= port_.managed().data_lanes())
    return count_error(bad_link_packets_);
  const auto lane = p->get<&link_packet::vl>();
  switch (p->get<&link_packet::op>()) {
    case link_packet_op::flow_control:
    case link_packet_op::flow_control_init:
      // Blocks that got lost on the way are made good, as the buffer for them is free.
      blocks_received_[lane] = static_cast<std::uint16_t>(p->get<&link_packet::fctbs>());
      return heard(partner::ready);
    case link_packet_op::training_1:
      if (up_) lost();
      return heard(partner::training);
    case link_packet_op::training_2:
      return heard(partner::ready);
    case link_packet_op::no_signal:
      return lost();
  }
  count_error(bad_link_packets_);
}

void cable::heard(partner now) {
  const partner before = std::exchange(partner_, now);
  heard_at_ = a_.work.now();
  if (up_) return;
  if (before == partner::absent) port_.partner_came();
  // The port may have begun anew and forgotten who was ready: it is still so.
  partner_ = now;
  if (now == partner::ready) port_.partner_ready();
}

void cable::lost() {
  if (partner_ == partner::absent) return;
  partner_ = partner::absent;
  port_.partner_lost();
}

void cable::beat() {
  beat_ = work_.after(beat_ns, {.kind = beat_due});
  if (partner_ != partner::absent && a_.work.now() - heard_at_ > cable_silence_ns) lost();
  signal();
}

void cable::signal() {
  if (!up_) {
    tell(said_ready_ ? link_packet_op::training_2 : link_packet_op::training_1, 0);
    return;
  }
  const auto op = port_.managed().state() == layouts::port_state::initialize
                      ? link_packet_op::flow_control_init
                      : link_packet_op::flow_control;
  for (unsigned lane = 0; lane < port_.managed().data_lanes(); ++lane) tell(op, lane);
}

void cable::tell(link_packet_op op, unsigned lane) {
  image<link_packet> p;
  p.set<&link_packet::op>(op)
      .set<&link_packet::vl>(lane)
      .set<&link_packet::fctbs>(blocks_sent_[lane] % flow_control_modulus)
      .set<&link_packet::fccl>((blocks_received_[lane] + flow_control_blocks_ahead) %
                               flow_control_modulus);
  packets::seal(p);
  if (!plugged_ || put({p.data(), link_packet::bytes})) return;
  // What is true now is told when there is room; that the transmitter goes off is the last word.
  if (op == link_packet_op::no_signal)
    waiting_.emplace_back(p.data(), p.data() + link_packet::bytes);
  else missed_signal_ = true;
}

bool cable::put(std::span<const std::byte> bytes) {
  full_ = full_ || !a_.surroundings.link_send(number_, bytes.data(), bytes.size());
  return !full_;
}

void cable::send(std::vector<std::byte> bytes) {
  if (!plugged_) return;
  const bool management =
      image<lrh>::from_bytes(bytes.data()).get<&lrh::virtual_lane>() == management_lane;
  auto& packets = management ? waiting_management_ : waiting_;
  if (packets.empty() && put(bytes)) return buffers().give(bytes);
  if (packets.size() >= a_.kept.waiting) port_.managed().traffic.xmit_discards.add(1);
  else packets.push_back(std::move(bytes));
}

bool cable::send_waiting(std::deque<std::vector<std::byte>>& packets) {
  for (; !packets.empty(); packets.pop_front()) {
    if (a_.account.slice_over()) {
      work_.soon(number_, {.kind = send_on});
      return false;
    }
    a_.account.charge(work_account::packet);
    if (!put(packets.front())) return false;
  }
  return true;
}

void cable::has_room() {
  full_ = false;
  send_all_waiting();
}

void cable::send_all_waiting() {
  if (!send_waiting(waiting_management_) || !send_waiting(waiting_)) return;
  if (std::exchange(missed_signal_, false) && on_) signal();
  a_.above_ports->port_has_room(number_);
}

void cable::drop_waiting() {
  a_.work.cancel(release_);
  held_back_.clear();
  a_.work.discard(waiting_management_);
  a_.work.discard(waiting_);
  a_.above_ports->port_has_room(number_);
}

const char* cable::broken_invariant() const {
  // The link packet that tells of the end of the signal waits behind other packets.
  const auto waits = [](const std::vector<std::byte>& bytes) {
    return bytes.size() == link_packet::bytes || is_packet_length(bytes.size());
  };
  if (!held_back_.empty() && !is_packet_length(held_back_.size()))
    return "no packet of that length is held back";
  return std::ranges::all_of(waiting_, waits) && std::ranges::all_of(waiting_management_, waits)
             ? nullptr
             : "no packet of that length waits for the cable";
}

void cable::count_error(std::uint64_t& kind) {
  ++kind;
  port_.managed().traffic.rcv_errors.add(1);
  if (!a_.rules.explains_drop()) return;
  const char* const why = &kind == &malformed_  ? "lengths or lanes that contradict each other"
                          : &kind == &bad_vcrc_ ? "its variant CRC is wrong (IBTA 7.8.2)"
                          : &kind == &bad_icrc_ ? "its invariant CRC is wrong (IBTA 7.8.1)"
                                                : "a link packet of no known form (IBTA 7.9.4)";
  a_.rules.explain(
      remark_kind::packet_dropped,
      "port " + std::to_string(number_) + ": a packet from the cable was dropped, PortRcvErrors",
      {"", why});
}

}  // namespace freehca::model
