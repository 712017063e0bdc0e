// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What an Ethernet port does with frames.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "link/packet_receiver.hpp"
#include "ports/ethernet_port.hpp"

namespace freehca::model {

namespace {

constexpr std::uint16_t mac_control_type = 0x8808;  // IEEE 802.3, clause 31

// In work_item::value of a looped frame, beside the sender's counter: the frame names its sender.
constexpr std::uint64_t sender_known = 0x100;

}  // namespace

void ethernet_port::discarded(const char* which, const frame_summary& s, const char* why) {
  if (!a_.rules.explains_drop()) return;
  char subject[120];
  std::snprintf(subject, sizeof subject,
                "port %u: a frame %s, to MAC %012llx, type 0x%04x, was dropped", number_, which,
                static_cast<unsigned long long>(s.destination), unsigned{s.type});
  a_.rules.explain(remark_kind::packet_dropped, subject, {"", why});
}

bool ethernet_port::made_ready(frame& f) {
  if (f.bytes.size() < frame_bytes_least) f.bytes.resize(frame_bytes_least);
  if (f.bytes.size() <= frame_bytes_most()) return true;
  const auto s = frame_summary::of(f.bytes);
  counters_.too_long_to_send(s);
  discarded("to be sent, TGIANT", s, "it is longer than the port's MTU (SET_PORT)");
  return false;
}

void ethernet_port::transmit(frame f) {
  a_.account.charge(work_account::packet);
  if (!made_ready(f)) return;
  const auto s = frame_summary::of(f.bytes);
  if (!up_ || !plugged_) {
    counters_.not_sent();
    return discarded("to be sent, TDROP", s, "the port has no link");
  }
  ++sent_;
  counters_.sent(s, false);
  capture(f);
  cable_.send(std::move(f.bytes), told_.class_of_priority[f.priority & 7]);
}

void ethernet_port::loop_back(frame f) {
  a_.account.charge(work_account::packet);
  if (!made_ready(f)) return;
  const auto s = frame_summary::of(f.bytes);
  if (!open_) {
    counters_.not_sent();
    return discarded("to be looped back, TDROP", s, "the port is not initialised (INIT_PORT)");
  }
  ++looped_back_;
  counters_.sent(s, true);
  capture(f);
  work_item later{.kind = looped_frame, .generation = generation_, .bytes = std::move(f.bytes)};
  if (f.looped_from) {
    later.number = f.looped_from->qpn;
    later.value = sender_known | f.looped_from->counter;
  }
  work_.soon(number_, std::move(later));
}

void ethernet_port::take_looped(work_item& what) {
  frame f{std::move(what.bytes)};
  if ((what.value & sender_known) != 0)
    f.looped_from = frame::sender{what.number, static_cast<std::uint8_t>(what.value)};
  let_in(f, frame_summary::of(f.bytes));
}

void ethernet_port::arrived(std::span<const std::byte> bytes) {
  if (!up_ || !plugged_) return;
  // A byte more than the longest is enough to see that it is too long.
  const auto kept = bytes.first(std::min<std::size_t>(bytes.size(), frame_mtu_most + 1));
  work_.arrived(number_,
                {.kind = arrival, .generation = generation_, .bytes = {kept.begin(), kept.end()}});
}

void ethernet_port::take_in(frame f) {
  a_.account.charge(work_account::packet);
  // Virtual machines send short frames as they are.
  if (f.bytes.size() < frame_bytes_least) f.bytes.resize(frame_bytes_least);
  capture(f);
  const auto s = frame_summary::of(f.bytes);
  if (f.bytes.size() > frame_bytes_most()) {
    counters_.received_too_long(s);
    return discarded("that came, RdropLength", s, "it is longer than the port's MTU (SET_PORT)");
  }
  ++received_;
  counters_.received(s);
  if (s.type == mac_control_type && !s.priority) return counters_.received_control();
  let_in(f, s);
}

/// With device-managed steering the rules alone say who gets a multicast frame: DPDK's PMD receives
/// all of them by a rule (mlx4_flow.c mlx4_flow_internal), without a change of the interface that
/// would have Linux send SET_MCAST_FLTR. No source says so of firmware: chosen.
void ethernet_port::let_in(const frame& f, const frame_summary& s) {
  if (taken_as_rdma_packet(f)) return;
  const bool filters_multicast = s.multicast() && !a_.profile.device_managed_steering;
  const char* const why = !told_.lets_in_vlan(s.vid.value_or(0))
                              ? "its VLAN is not let in (SET_VLAN_FLTR)"
                          : filters_multicast && !told_.lets_in_multicast(s.destination)
                              ? "its multicast address is not let in (SET_MCAST_FLTR)"
                              : nullptr;
  if (why != nullptr) {
    ++filtered_;
    return discarded("that came", s, why);
  }
  a_.above_ports->receive_frame(number_, f);
}

void ethernet_port::capture(const frame& f) {
  if (captures(a_.how, number_, layer()))
    a_.surroundings.packet_passed(number_, f.bytes.data(), f.bytes.size());
}

}  // namespace freehca::model
