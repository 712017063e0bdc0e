// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/ports.hpp"

#include <algorithm>
#include <utility>

#include "fabric/subnet_manager.hpp"
#include "link/infiniband_codec.hpp"
#include "link/wire_form.hpp"
#include "ports/cable.hpp"
#include "ports/port.hpp"

namespace freehca::model {

using namespace layouts;

ports::ports(adapter& a) : a_(a), infiniband_(std::make_unique<infiniband_codec>(a.rules, *this)) {
  name_node();
  for (unsigned number = 1; number <= a.how.ports; ++number) {
    auto& here = ports_[number - 1];
    here = std::make_unique<port>(a, node_, demux_, number);
    if (a.how.link[number - 1] != link_layer::infiniband) continue;
    if (a.how.cable[number - 1]) {
      auto& there = cables_[number - 1];
      there = std::make_unique<cable>(a, *here, number);
      here->connect(there.get());
      continue;
    }
    if (!a.how.subnet_manager) continue;
    auto& manager = managers_[number - 1];
    manager = std::make_unique<subnet_manager>(
        a, number, [this, number](packet p) { receive_from_link(number, std::move(p)); });
    here->connect(manager.get());
  }
  show_ports();
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
  a.commands.on(opcode::mad_demux, [this](command& c) { return demux_.command(a_.rules, c); });
}

ports::~ports() = default;

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
  for (unsigned i = 0; i < ports_.size(); ++i)
    node_.all_ports[i] = ports_[i] != nullptr && a_.how.link[i] == link_layer::infiniband
                             ? &ports_[i]->managed()
                             : nullptr;
}

port* ports::at(std::uint64_t number) const {
  return number >= 1 && number <= ports_.size() ? ports_[number - 1].get() : nullptr;
}

bool ports::ethernet(const port& p) const {
  return a_.how.link[p.managed().info.get<&port_info::local_port_num>() - 1] ==
         link_layer::ethernet;
}

void ports::connect(unsigned number, link_peer* peer) {
  if (port* p = at(number)) p->connect(peer);
}

void ports::plug(unsigned number, bool plugged) {
  if (cable* c = cable_of(number)) return c->plug(plugged);
  if (number < 1 || number > managers_.size() || managers_[number - 1] == nullptr) return;
  ports_[number - 1]->connect(plugged ? managers_[number - 1].get() : nullptr);
}

cable* ports::cable_of(unsigned number) const {
  return number >= 1 && number <= cables_.size() ? cables_[number - 1].get() : nullptr;
}

void ports::transmit(unsigned number, packet packet_to_send) {
  if (port* p = at(number)) p->transmit(std::move(packet_to_send));
}

bool ports::held_up(const path& way) const {
  const cable* c = cable_of(way.port);
  return c != nullptr && c->full() && !codec(way.port).to_own_port(way);
}

void ports::receive_from_link(unsigned number, packet received) {
  capture(number, received);
  if (port* p = at(number)) p->receive_from_link(std::move(received));
}

void ports::capture(unsigned number, const packet& p) {
  if (number < 1 || number > ports_.size() || !a_.how.capture[number - 1]) return;
  const auto bytes = to_wire(p);
  a_.account.charge_check(2 * bytes.size());
  a_.surroundings.packet_passed(number, bytes.data(), bytes.size());
}

bool ports::active(unsigned number) const {
  const port* p = at(number);
  return p != nullptr && p->managed().state() == layouts::port_state::active;
}

unsigned ports::mtu_bytes(unsigned number) const {
  const port* p = at(number);
  return p == nullptr ? 0 : layouts::mtu_bytes(p->managed().info.get<&port_info::neighbor_mtu>());
}

std::uint16_t ports::base_lid(unsigned number) const {
  const port* p = at(number);
  return p == nullptr ? std::uint16_t{0} : p->managed().lid();
}

bool ports::own_lid(unsigned number, std::uint16_t lid) const {
  const port* p = at(number);
  return p != nullptr && p->own_lid(lid);
}

std::uint16_t ports::source_lid(unsigned number, unsigned path_bits) const {
  const port* p = at(number);
  if (p == nullptr) return 0;
  const unsigned lids = 1u << p->managed().info.get<&port_info::lmc>();
  return static_cast<std::uint16_t>(p->managed().lid() | (path_bits & (lids - 1)));
}

unsigned ports::pkey_entries(unsigned number) const {
  const port* p = at(number);
  return p == nullptr ? 0 : p->managed().pkey_entries;
}

std::uint16_t ports::pkey(unsigned number, unsigned index) const {
  return index < pkey_entries(number) ? at(number)->managed().pkeys[index] : std::uint16_t{0};
}

bool ports::pkey_matches(unsigned number, std::uint16_t pkey) const {
  constexpr std::uint16_t full = 0x8000;
  const unsigned entries = pkey_entries(number);
  for (unsigned i = 0; i < entries; ++i) {
    const std::uint16_t own = at(number)->managed().pkeys[i];
    // 0 in the low 15 bits is no P_Key (IBTA vol. 1, 10.9.1).
    if ((own & ~full) != 0 && ((own ^ pkey) & ~full & 0xffff) == 0 && ((own | pkey) & full) != 0)
      return true;
  }
  return false;
}

bool ports::gid(unsigned number, unsigned index, std::byte* to) const {
  const port* p = at(number);
  if (p == nullptr || index >= p->managed().guid_entries()) return false;
  store_be<std::uint64_t>(to, p->managed().info.get<&port_info::gid_prefix>());
  store_be<std::uint64_t>(to + 8, p->managed().guids[index]);
  return true;
}

void ports::count_pkey_violation(unsigned number) {
  if (port* p = at(number)) p->pkey_violation(nullptr);
}

void ports::count_qkey_violation(unsigned number, std::uint32_t qkey, std::uint32_t source_qp) {
  if (port* p = at(number)) p->qkey_violation(qkey, source_qp);
}

void ports::clear() {
  name_node();
  show_ports();
  demux_.clear();
  for (const auto& p : ports_)
    if (p != nullptr) p->clear();
}

}  // namespace freehca::model
