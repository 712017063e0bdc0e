// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ports.hpp"

#include <algorithm>
#include <utility>

#include "basis/capabilities.hpp"
#include "frames/frame.hpp"
#include "link/infiniband_codec.hpp"
#include "link/roce_codec.hpp"
#include "ports/ethernet_port.hpp"
#include "ports/far_end.hpp"
#include "ports/infiniband_port.hpp"

namespace freehca::model {

using namespace layouts;

ports::ports(adapter& a)
    : a_(a),
      infiniband_(std::make_unique<infiniband_codec>(a.rules, *this, buffers_)),
      roce_(std::make_unique<roce_codec>(a.rules, *this, buffers_)) {
  name_node();
  for (unsigned number = 1; number <= a.how.ports; ++number) make_port(number);
  show_ports();
  take_commands();
}

void ports::make_port(unsigned number) {
  place& here = ports_[number - 1];
  const bool either = a_.how.vpi[number - 1];
  const bool first_ethernet = a_.how.link[number - 1] == link_layer::ethernet;
  if (first_ethernet || either) here.ethernet = std::make_unique<ethernet_port>(a_, node_, number);
  if (!first_ethernet || either)
    here.infiniband = std::make_unique<infiniband_port>(a_, node_, demux_, number);
  here.now = first_ethernet ? static_cast<port*>(here.ethernet.get()) : here.infiniband.get();
  if (either)
    here.sensor = std::make_unique<far_end>(a_.work, a_.rules, a_.counters, number,
                                            [this, number] { far_end_changed(number); });
}

void ports::take_commands() {
  using handler = command_status (ports::*)(command&);
  const auto on = [this](opcode o, handler h) {
    a_.commands.on(o, [this, h](command& c) { return (this->*h)(c); });
  };
  on(opcode::init_port, &ports::init_port);
  on(opcode::close_port, &ports::close_port);
  on(opcode::set_port, &ports::set_port);
  on(opcode::query_port, &ports::query_port);
  on(opcode::sense_port, &ports::sense_port);
  on(opcode::set_node, &ports::set_node);
  on(opcode::mad_ifc, &ports::mad_ifc);
  on(opcode::set_vlan_fltr, &ports::set_vlan_fltr);
  on(opcode::set_mcast_fltr, &ports::set_mcast_fltr);
  on(opcode::dump_eth_stats, &ports::dump_eth_stats);
  on(opcode::query_if_stat, &ports::query_if_stat);
  if (offers(a_.how, capability::port_remap)) on(opcode::virt_port_map, &ports::virt_port_map);
  if (offers(a_.how, capability::congestion_notification))
    on(opcode::congestion_ctrl, &ports::congestion_ctrl);
  a_.commands.on(opcode::mad_demux, [this](command& c) { return demux_.command(a_.rules, c); });
}

ports::~ports() = default;

namespace {

/// Of the frame that a packet of RoCE is on its link. No source tells whether cards count so many:
/// chosen, as for other frames.
std::size_t frame_bytes_of(std::size_t packet_bytes) {
  return std::max(packet_bytes + icrc_bytes, frame_bytes_least) + fcs_bytes;
}

}  // namespace

// Of InfiniBand ports Linux asks for these counters in a virtual function alone (hw/mlx4/mad.c
// mlx4_ib_process_mad), and there is none.
void ports::count_sent(unsigned port, unsigned counter, std::size_t packet_bytes) {
  if (ethernet(port) != nullptr) counters_by_index_.sent(counter, frame_bytes_of(packet_bytes));
}

void ports::count_received(unsigned port, unsigned counter, std::size_t packet_bytes) {
  if (ethernet(port) != nullptr) counters_by_index_.received(counter, frame_bytes_of(packet_bytes));
}

void ports::name_node() {
  node_ = {};
  node_.node_guid = a_.how.node_guid;
  node_.system_image_guid = a_.how.node_guid + 3;
  node_.ports = a_.how.ports;
  // Device identifier and revision: captures. Descriptions: CX-2 has a capture; those
  // of the later cards: no source, chosen.
  switch (a_.how.kind) {
    case variant::connectx3_pro:
      node_.device_id = 0x1007;
      node_.describe("MT4103 ConnectX3Pro Mellanox Technologies");
      break;
    case variant::connectx3:
      node_.device_id = 0x1003;
      node_.revision = 1;
      node_.describe("MT4099 ConnectX3 Mellanox Technologies");
      break;
    case variant::connectx2:
      node_.device_id = 0x673c;
      node_.revision = 0xb0;
      node_.describe("MT25408 ConnectX Mellanox Technologies");
      break;
  }
}

void ports::show_ports() {
  for (unsigned i = 0; i < ports_.size(); ++i) {
    infiniband_port* p = infiniband(i + 1);
    node_.all_ports[i] = p != nullptr ? &p->managed() : nullptr;
  }
}

port* ports::at(std::uint64_t number) const {
  return number >= 1 && number <= ports_.size() ? ports_[number - 1].now : nullptr;
}

ethernet_port* ports::ethernet(unsigned number) const {
  port* p = at(number);
  return p != nullptr && p->layer() == link_layer::ethernet ? ports_[number - 1].ethernet.get()
                                                            : nullptr;
}

infiniband_port* ports::infiniband(unsigned number) const {
  port* p = at(number);
  return p != nullptr && p->layer() == link_layer::infiniband ? ports_[number - 1].infiniband.get()
                                                              : nullptr;
}

link_modes* ports::modes(unsigned number) {
  return ethernet(number) != nullptr ? &modes_[number - 1] : nullptr;
}

const link_codec& ports::codec(unsigned number) const {
  return ethernet(number) != nullptr ? *roce_ : *infiniband_;
}

void ports::connect(unsigned number, link_peer* peer) {
  if (infiniband_port* p = infiniband(number)) p->connect(peer);
}

void ports::has_room(unsigned number) {
  if (port* p = at(number)) p->has_room();
}

void ports::transmit(unsigned number, packet packet_to_send) {
  if (port* p = at(number)) p->transmit(std::move(packet_to_send));
}

bool ports::held_up(const path& way) const {
  const port* p = at(way.port);
  return p != nullptr && p->held_up(way);
}

void ports::receive_from_link(unsigned number, packet received) {
  port* p = at(number);
  if (p == nullptr) return;
  p->capture(received);
  p->receive_from_link(std::move(received));
}

void ports::capture(unsigned number, const packet& packet_passing) {
  if (port* p = at(number)) p->capture(packet_passing);
}

bool ports::active(unsigned number) const {
  const port* p = at(number);
  return p != nullptr && p->active();
}

unsigned ports::mtu_bytes(unsigned number) const {
  const port* p = at(number);
  return p == nullptr ? 0 : p->mtu_bytes();
}

std::uint16_t ports::base_lid(unsigned number) const {
  const port* p = at(number);
  return p == nullptr ? std::uint16_t{0} : p->base_lid();
}

bool ports::own_lid(unsigned number, std::uint16_t lid) const {
  const port* p = at(number);
  return p != nullptr && p->own_lid(lid);
}

std::uint16_t ports::source_lid(unsigned number, unsigned path_bits) const {
  const port* p = at(number);
  return p == nullptr ? std::uint16_t{0} : p->source_lid(path_bits);
}

unsigned ports::pkey_entries(unsigned number) const {
  const port* p = at(number);
  return p == nullptr ? 0 : p->pkey_entries();
}

std::uint16_t ports::pkey(unsigned number, unsigned index) const {
  return index < pkey_entries(number) ? at(number)->pkey(index) : std::uint16_t{0};
}

bool ports::pkey_matches(unsigned number, std::uint16_t pkey) const {
  constexpr std::uint16_t full = 0x8000;
  const unsigned entries = pkey_entries(number);
  for (unsigned i = 0; i < entries; ++i) {
    const std::uint16_t own = at(number)->pkey(i);
    // 0 in the low 15 bits is no P_Key (IBTA vol. 1, 10.9.1).
    if ((own & ~full) != 0 && ((own ^ pkey) & ~full & 0xffff) == 0 && ((own | pkey) & full) != 0)
      return true;
  }
  return false;
}

bool ports::gid(unsigned number, unsigned index, std::byte* to) const {
  const port* p = at(number);
  return p != nullptr && p->gid(index, to);
}

void ports::count_pkey_violation(unsigned number) {
  if (port* p = at(number)) p->count_pkey_violation();
}

void ports::count_qkey_violation(unsigned number, std::uint32_t qkey, std::uint32_t source_qp) {
  if (port* p = at(number)) p->count_qkey_violation(qkey, source_qp);
}

void ports::clear() {
  name_node();
  demux_.clear();
  counters_by_index_.clear();
  for (unsigned i = 0; i < ports_.size(); ++i) clear(i + 1);
  for (link_modes& m : modes_) m.clear();
  show_ports();
}

}  // namespace freehca::model
