// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ethernet_port.hpp"

#include <algorithm>
#include <string>

#include "ports/optical_module.hpp"
#include "ports/port_change.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

// From INIT_PORT, or from the moment when it is plugged in, to the link. no source: chosen, as for
// InfiniBand.
constexpr std::uint64_t training_ns = 500'000'000;

// What stands in a frame of RoCE beside the payload: that of v2 over IPv6, with the longest
// extended headers (Linux 6.1 ib_addr.h iboe_get_mtu).
constexpr unsigned bytes_beside_payload = 40 + 8 + 12 + 4 + 28 + 4;

}  // namespace

ethernet_port::ethernet_port(adapter& a, const node_identity& node, unsigned number)
    : a_(a),
      work_(a.work, "Ethernet port " + std::to_string(number), *this),
      number_(number),
      cabled_(a.how.cable[number - 1]),
      cable_(a, counters_, told_, number),
      managed_(at_power_on()),
      agent_(managed_, node, nullptr) {
  const std::string name = "port" + std::to_string(number);
  a.counters.add(name + "_packets_sent", sent_);
  a.counters.add(name + "_packets_received", received_);
  a.counters.add(name + "_packets_looped_back", looped_back_);
  a.counters.add(name + "_frames_filtered", filtered_);
}

managed_port ethernet_port::at_power_on() const {
  // Capabilities of management are those of an InfiniBand port: an Ethernet port has none.
  return managed_port::at_power_on(number_, a_.how.node_guid + number_, 0);
}

void ethernet_port::open() {
  if (open_) return;
  open_ = true;
  managed_.info.set<&port_info::physical_state>(port_physical_state::polling);
  train();
}

void ethernet_port::close() {
  if (!open_) return;
  open_ = false;
  ++generation_;
  a_.work.cancel(training_);
  if (up_) link_goes();
  managed_.info.set<&port_info::physical_state>(port_physical_state::disabled);
}

void ethernet_port::clear() {
  a_.work.cancel(training_);
  ++generation_;
  open_ = up_ = false;
  told_ = {};
  counters_.clear();
  managed_ = at_power_on();
  cable_.begin_anew();
}

void ethernet_port::train() {
  a_.work.cancel(training_);
  if (open_ && has_peer()) training_ = work_.after(training_ns, {.kind = train_end});
}

void ethernet_port::link_comes() {
  training_ = {};
  up_ = true;
  ++generation_;
  cable_.begin_anew();
  managed_.info.set<&port_info::physical_state>(port_physical_state::link_up)
      .set<&port_info::state>(layouts::port_state::active);
  // QUERY_PORT says it already: Linux asks when it is told (en_main.c mlx4_en_event).
  post_port_change(a_, number_, port_change_subtype::active);
}

void ethernet_port::link_goes() {
  up_ = false;
  ++generation_;
  cable_.begin_anew();
  managed_.info.set<&port_info::physical_state>(port_physical_state::polling)
      .set<&port_info::state>(layouts::port_state::down);
  post_port_change(a_, number_, port_change_subtype::down);
}

void ethernet_port::plug(bool plugged) {
  if (!cabled_ || plugged == plugged_) return;
  plugged_ = plugged;
  peer_changed();
}

void ethernet_port::face_infiniband(bool faces) {
  if (faces == faces_infiniband_) return;
  faces_infiniband_ = faces;
  peer_changed();
}

void ethernet_port::peer_changed() {
  if (has_peer()) {
    if (!up_) train();
    return;
  }
  a_.work.cancel(training_);
  // The loss of the link can interrupt the host, so it happens later.
  work_.soon(number_, {.kind = peer_gone});
}

void ethernet_port::run_item(work_item& what) {
  const bool of_this_link = what.generation == generation_;
  switch (what.kind) {
    // An item of a loaded schedule may come at any time, and have any bytes.
    case train_end:
      if (open_ && has_peer()) link_comes();
      return;
    case peer_gone:
      if (!has_peer() && up_) link_goes();
      return;
    case arrival:
      if (of_this_link && plugged_) take_in({std::move(what.bytes)});
      return;
    case looped_frame:
      if (of_this_link && is_frame_length(what.bytes.size())) take_looped(what);
      return;
    default:
      if (of_this_link && what.bytes.size() <= frame_mtu_most - fcs_bytes)
        taken_as_rdma_packet({std::move(what.bytes)});
  }
}

void ethernet_port::has_room() {
  if (cabled_) cable_.has_room();
}

bool ethernet_port::set_faults(const link_faults& how) {
  if (cabled_) cable_.set_faults(how);
  return cabled_;
}

std::uint64_t ethernet_port::mac() const {
  return (a_.how.mac + number_ - 1) & 0xffff'ffff'ffff;
}

std::optional<std::uint64_t> ethernet_port::mac_at(unsigned index) const {
  return index < told_.macs.size() ? told_.macs[index] : std::nullopt;
}

std::optional<std::uint16_t> ethernet_port::vlan_at(unsigned index) const {
  return index < told_.vlans.size() ? told_.vlans[index] : std::nullopt;
}

std::optional<roce_address> ethernet_port::gid(unsigned index) const {
  if (index >= told_.addresses.size() || told_.addresses[index].empty()) return std::nullopt;
  return told_.addresses[index];
}

bool ethernet_port::gid(unsigned index, std::byte* to) const {
  if (index >= told_.addresses.size()) return false;
  std::copy_n(told_.addresses[index].gid.begin(), told_.addresses[index].gid.size(), to);
  return true;
}

unsigned ethernet_port::mtu_bytes() const {
  constexpr unsigned least = 256, most = 4096;
  const unsigned beside = frame_bytes_beside_ip + bytes_beside_payload;
  unsigned bytes = most;
  while (bytes > least && bytes + beside > told_.mtu) bytes /= 2;
  return bytes;
}

mad_result ethernet_port::local_mad(mad_buffer& mad, bool check_mkey) {
  if (asks_module(mad)) {
    cable_light light = cable_light::no_module;
    if (cabled_) light = plugged_ ? cable_light::both_ways : cable_light::sent_only;
    read_module(mad, a_.how.kind, light, mac());
    return mad_result::answered;
  }
  // Nobody manages the port: it tells what it is (Linux 6.1 hw/mlx4/main.c asks each port), and is
  // told nothing. no source: chosen
  const auto m = image<layouts::mad>::from_bytes(mad.data());
  if (m.get<&layouts::mad::method>() != mad_method::get) return mad_result::discarded;
  return agent_.process(mad, check_mkey);
}

}  // namespace freehca::model
