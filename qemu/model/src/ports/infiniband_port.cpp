// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "ports/infiniband_port.hpp"

#include <string>
#include <utility>

#include "fabric/subnet_manager.hpp"
#include "link/packet_receiver.hpp"
#include "ports/cable.hpp"
#include "ports/port_change.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

// From INIT_PORT, or from a loss of the link, to LinkUp. no source: chosen. Real links take longer;
// Linux needs the time between INIT_PORT and the registration of its port agent, before which it
// answers no SMP and complains of each (core/mad.c ib_mad_init_device, core/agent.c
// agent_send_response).
constexpr std::uint64_t training_ns = 500'000'000;
// From a Set(PortInfo) that takes the link down to its fall: the answer, which the host may have to
// send itself, gets away first. no source: chosen
constexpr std::uint64_t linger_ns = 100'000'000;

// What CX-3 and CX-2 firmware report before the host adds bits 1, 16 and 19: captures.
constexpr std::uint32_t capabilities_of_connectx2 = 0x02500868;
constexpr std::uint32_t capabilities_of_connectx3 = 0x02504868;

/// The states that state_wanted() schedules. An item of a loaded schedule may have any number.
bool is_wanted_state(std::uint32_t state) {
  return state == static_cast<std::uint32_t>(port_physical_state::sleep) ||
         state == static_cast<std::uint32_t>(port_physical_state::polling) ||
         state == static_cast<std::uint32_t>(port_physical_state::disabled);
}
/// Can a port have sent it? An item of a loaded schedule may have any bytes.
bool is_whole(const packet& p) {
  return summarise(p) && p.bytes.size() + icrc_bytes + vcrc_bytes <=
                             greatest_packet_bytes(mtu_bytes(ib_mtu::mtu_4096));
}

std::string name_of(unsigned number) {
  return "InfiniBand port " + std::to_string(number);
}

}  // namespace

infiniband_port::infiniband_port(adapter& a, const node_identity& node,
                                 const mad_demultiplexer& demux, unsigned number)
    : a_(a),
      work_(a.work, name_of(number), *this),
      node_(node),
      demux_(demux),
      number_(number),
      managed_(at_power_on()),
      subnet_agent_(managed_, node, this),
      performance_agent_(managed_, a.work, name_of(number)),
      vendor_agent_(a.how.kind, a.work),
      traps_(a.work, name_of(number), [this](const mad_buffer& mad) { send_trap(mad); }) {
  const std::string name = "port" + std::to_string(number);
  a.counters.add(name + "_packets_sent", sent_);
  a.counters.add(name + "_packets_received", received_);
  a.counters.add(name + "_packets_looped_back", looped_back_);
  if (a.how.cable[number - 1]) {
    cable_ = std::make_unique<cable>(a, *this, number);
    peer_ = cable_.get();
  } else if (a.how.subnet_manager) {
    manager_ = std::make_unique<subnet_manager>(a.how, a.work, number, [this](packet p) {
      a_.links->receive_from_link(number_, std::move(p));
    });
    peer_ = manager_.get();
  }
}

infiniband_port::~infiniband_port() = default;

managed_port infiniband_port::at_power_on() const {
  const bool second_generation = a_.how.kind == variant::connectx2;
  managed_port p = managed_port::at_power_on(
      number_, a_.how.node_guid + number_,
      second_generation ? capabilities_of_connectx2 : capabilities_of_connectx3);
  // The vendor's extended PortInfo: captures (CX-3; CX-2: no source: chosen).
  p.vendor_port_info = !second_generation;
  p.extended_info.set<&mlnx_ext_port_info::link_speed_supported>(1)
      .set<&mlnx_ext_port_info::link_speed_enabled>(1);
  return p;
}

void infiniband_port::clear() {
  a_.work.cancel(training_);
  a_.work.cancel(mkey_lease_);
  traps_.clear();
  performance_agent_.clear();
  ++generation_;
  const bool was_up = link_up();
  open_ = trained_ = false;
  managed_ = at_power_on();
  if (peer_ == nullptr) return;
  if (was_up) peer_->link_changed(false);
  peer_->transmitter(false);
}

void infiniband_port::connect(link_peer* peer) {
  if (peer == peer_) return;
  const bool was_up = link_up();
  if (was_up) lose_link(port_physical_state::polling);
  peer_ = peer;
  if (open_) train();
}

void infiniband_port::plug(bool plugged) {
  if (cable_ != nullptr) return cable_->plug(plugged);
  if (manager_ != nullptr) connect(plugged ? manager_.get() : nullptr);
}

void infiniband_port::arrived(std::span<const std::byte> bytes) {
  if (cable_ != nullptr) cable_->arrived(bytes);
}

void infiniband_port::has_room() {
  if (cable_ != nullptr) cable_->has_room();
}

bool infiniband_port::set_faults(const link_faults& how) {
  if (cable_ != nullptr) cable_->set_faults(how);
  return cable_ != nullptr;
}

void infiniband_port::open() {
  if (open_) return;
  open_ = true;
  managed_.info.set<&port_info::physical_state>(port_physical_state::polling);
  train();
}

void infiniband_port::close() {
  if (!open_) return;
  open_ = false;
  traps_.clear();
  // A port that is not initialised is disabled. no source: chosen
  if (link_up()) lose_link(port_physical_state::disabled);
  stop_polling(port_physical_state::disabled);
}

void infiniband_port::train() {
  a_.work.cancel(training_);
  trained_ = false;
  if (peer_ == nullptr || managed_.physical_state() != port_physical_state::polling) return;
  peer_->transmitter(true);
  if (peer_->present()) training_ = work_.after(training_ns, {.kind = train_end});
}

void infiniband_port::trained() {
  training_ = {};
  if (!open_ || peer_ == nullptr) return;  // by an item of a loaded schedule alone
  trained_ = true;
  if (peer_->ready()) link_trained();
}

void infiniband_port::partner_came() {
  if (open_ && !link_up() && !trained_ && !training_) train();
}

void infiniband_port::partner_ready() {
  if (trained_ && !link_up()) link_trained();
}

void infiniband_port::partner_lost() {
  a_.work.cancel(training_);
  trained_ = false;
  if (link_up()) lose_link(port_physical_state::polling);
  if (open_) train();
}

void infiniband_port::link_trained() {
  trained_ = false;
  packets::come_up(managed_.info);
  peer_->link_changed(true);
}

void infiniband_port::lose_link(port_physical_state next) {
  ++generation_;
  const bool was_active = managed_.state() == layouts::port_state::active;
  managed_.traffic.link_downed.add(1);
  packets::go_down(managed_.info, next);
  if (peer_ != nullptr) {
    peer_->link_changed(false);
    if (next != port_physical_state::polling) peer_->transmitter(false);
  }
  if (was_active) post_port_change(a_, number_, port_change_subtype::down);
}

void infiniband_port::stop_polling(port_physical_state next) {
  a_.work.cancel(training_);
  trained_ = false;
  managed_.info.set<&port_info::physical_state>(next);
  if (peer_ != nullptr) peer_->transmitter(false);
}

void infiniband_port::state_wanted(layouts::port_state state, port_physical_state physical) {
  using layouts::port_state;
  if (physical == port_physical_state::disabled || physical == port_physical_state::sleep ||
      physical == port_physical_state::polling || state == port_state::down) {
    // The answer goes out first, and tells the old states: captures. A later "enable" does not
    // bring a disabled port back.
    const port_physical_state next =
        physical == port_physical_state::no_change ? port_physical_state::polling : physical;
    work_.after(linger_ns, {.kind = wanted_state,
                            .number = static_cast<std::uint32_t>(next),
                            .generation = generation_});
    return;
  }
  change_state(state);
}

void infiniband_port::leave_state(port_physical_state next) {
  if (!open_) return;
  if (link_up()) lose_link(next);
  else if (next != port_physical_state::polling) stop_polling(next);
  else return;
  train();
}

void infiniband_port::run_item(work_item& what) {
  const bool of_this_link = what.generation == generation_;
  packet p{std::move(what.bytes)};
  switch (what.kind) {
    case train_end:
      return trained();
    case wanted_state:
      if (of_this_link && is_wanted_state(what.number))
        leave_state(static_cast<port_physical_state>(what.number));
      return;
    case mkey_lease_end:
      mkey_lease_ = {};
      managed_.info.set<&port_info::mkey_protect>(0);
      return;
    case trap_to_host:
      return a_.above_ports->receive(number_, p);
    case packet_to_peer:
      if (of_this_link && peer_ != nullptr && is_whole(p)) peer_->receive(p);
      break;
    default:
      if (of_this_link) arrive(p);
  }
  a_.links->buffers().give(p);
}

void infiniband_port::change_state(layouts::port_state state) {
  using layouts::port_state;
  if (state == port_state::no_change || state == managed_.state()) return;
  managed_.info.set<&port_info::state>(state);
  if (state == port_state::active) post_port_change(a_, number_, port_change_subtype::active);
}

bool infiniband_port::host_owns(unsigned special_qp) const {
  return a_.above_ports->special_qp(number_, special_qp) != 0;
}

}  // namespace freehca::model
