// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/port_link.hpp>

#include <algorithm>
#include <utility>

#include <freehca/packets/link_packets.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

constexpr unsigned flow_control_modulus = 1u << 12;
constexpr unsigned management_lane = 15;

std::uint16_t blocks_of(std::size_t bytes) {
  return static_cast<std::uint16_t>((bytes + flow_control_block_bytes - 1) /
                                    flow_control_block_bytes);
}

}  // namespace

bool port_link::transmits() const {
  return plugged_ && (port_.link_up() || port_.physical_state() == port_physical_state::polling);
}

void port_link::plug(bool plugged, std::uint64_t now) {
  if (plugged == plugged_) return;
  if (plugged) {
    plugged_ = true;
    out_.begin_again();
    begin(now);
    return;
  }
  plugged_ = false;
  beat_at_ = never;
  lost(now);
  out_.begin_again();
}

// The transmitter goes on, or begins anew.
void port_link::begin(std::uint64_t now) {
  trained_at_ = never;
  said_ready_ = false;
  if (!transmits()) return;
  if (partner_ != partner::absent) trained_at_ = now + training_ns;
  beat_at_ = now + beat_ns;
  signal();
}

bool port_link::link_packet_arrived(std::span<const std::byte> bytes, std::uint64_t now) {
  const auto p = packets::link_packet_of(bytes);
  if (!p || p->get<&link_packet::vl>() == management_lane) return false;
  if (!transmits()) return true;
  const auto lane = p->get<&link_packet::vl>();
  switch (p->get<&link_packet::op>()) {
    case link_packet_op::flow_control:
    case link_packet_op::flow_control_init:
      // Lanes that are not in operation here may be there: a manager sets one end first.
      if (lane < port_.data_lanes())
        blocks_received_[lane] = static_cast<std::uint16_t>(p->get<&link_packet::fctbs>());
      heard(partner::ready, now);
      return true;
    case link_packet_op::training_1:
      if (port_.link_up()) lost(now);
      heard(partner::training, now);
      return true;
    case link_packet_op::training_2:
      heard(partner::ready, now);
      return true;
    case link_packet_op::no_signal:
      lost(now);
      return true;
  }
  return false;
}

void port_link::heard(partner what, std::uint64_t now) {
  heard_at_ = now;
  const partner before = std::exchange(partner_, what);
  if (port_.link_up()) return;
  if (before == partner::absent) trained_at_ = now + training_ns;
  if (what == partner::ready && said_ready_) come_up();
}

void port_link::lost(std::uint64_t now) {
  partner_ = partner::absent;
  trained_at_ = never;
  said_ready_ = false;
  if (!port_.link_up()) return;
  go_down(port_physical_state::polling, false);
  begin(now);
}

void port_link::come_up() {
  trained_at_ = never;
  blocks_sent_ = {};
  blocks_received_ = {};
  packets::come_up(port_.info);
  signal();
  listener_.link_changed(number_, false);
}

void port_link::go_down(port_physical_state next, bool asked_for) {
  fall_at_ = never;
  port_.counts.link_downed.add(1);
  // What made the other end ready was the link that has gone.
  if (partner_ == partner::ready) partner_ = partner::training;
  said_ready_ = false;
  packets::go_down(port_.info, next);
  out_.clear();
  listener_.link_changed(number_, asked_for);
}

void port_link::state_wanted(port_state state, port_physical_state physical, std::uint64_t now) {
  if (physical != port_physical_state::no_change || state == port_state::down) {
    falls_to_ =
        physical == port_physical_state::no_change ? port_physical_state::polling : physical;
    fall_at_ = now + linger_ns;
    return;
  }
  if (state != port_state::no_change && port_.link_up()) port_.info.set<&port_info::state>(state);
}

void port_link::run(std::uint64_t now) {
  if (fall_at_ <= now) {
    fall_at_ = never;
    if (port_.link_up()) go_down(falls_to_, true);
    const bool was_polling = port_.physical_state() == port_physical_state::polling;
    const bool polls = falls_to_ == port_physical_state::polling;
    port_.info.set<&port_info::physical_state>(falls_to_);
    if (!polls && plugged_ && beat_at_ != never) {
      tell(link_packet_op::no_signal, 0);
      partner_ = partner::absent;
      beat_at_ = never;
    }
    if (polls && (!was_polling || !said_ready_)) begin(now);
  }
  if (trained_at_ <= now) {
    trained_at_ = never;
    said_ready_ = true;
    signal();
    if (partner_ == partner::ready) come_up();
  }
  if (beat_at_ <= now) {
    beat_at_ = now + beat_ns;
    if (partner_ != partner::absent && now - heard_at_ > silence_ns) lost(now);
    signal();
  }
}

void port_link::end() {
  if (transmits()) tell(link_packet_op::no_signal, 0);
}

std::uint64_t port_link::deadline() const {
  return std::min({beat_at_, trained_at_, fall_at_});
}

void port_link::signal() {
  if (!port_.link_up()) {
    tell(said_ready_ ? link_packet_op::training_2 : link_packet_op::training_1, 0);
    return;
  }
  const auto op = port_.state() == port_state::initialize ? link_packet_op::flow_control_init
                                                          : link_packet_op::flow_control;
  for (unsigned lane = 0; lane < port_.data_lanes(); ++lane) tell(op, lane);
}

void port_link::tell(link_packet_op op, unsigned lane) {
  image<link_packet> p;
  p.set<&link_packet::op>(op)
      .set<&link_packet::vl>(lane)
      .set<&link_packet::fctbs>(blocks_sent_[lane] % flow_control_modulus)
      .set<&link_packet::fccl>((blocks_received_[lane] + flow_control_blocks_ahead) %
                               flow_control_modulus);
  packets::seal(p);
  if (!plugged_ || out_.send_now({p.data(), link_packet::bytes})) return;
  // What is true now is told when there is room; that the transmitter goes off is the last word.
  if (op == link_packet_op::no_signal) out_.add({p.data(), p.data() + link_packet::bytes}, true);
  else missed_signal_ = true;
}

void port_link::has_room() {
  if (std::exchange(missed_signal_, false) && transmits()) signal();
}

void port_link::packet_arrived(unsigned lane, std::size_t bytes, std::uint64_t now) {
  heard_at_ = now;
  blocks_received_[lane] = static_cast<std::uint16_t>(blocks_received_[lane] + blocks_of(bytes));
}

void port_link::packet_leaves(unsigned lane, std::size_t bytes) {
  blocks_sent_[lane] = static_cast<std::uint16_t>(blocks_sent_[lane] + blocks_of(bytes));
}

}  // namespace freehca::infiniband_switch
