// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ports that come and go, and what the switch does by itself.
#include <freehca/infiniband_switch/switch_node.hpp>

#include <algorithm>
#include <string>

#include <freehca/layouts/notice.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

// Traps are not sent faster than 5 a second (IBTA vol. 1, 14.3.6): ports whose states change
// together are one trap.
constexpr std::uint64_t gather_ns = 200'000'000;
constexpr std::uint64_t greatest_violations = 0xffff;

std::vector<switch_port> make_ports(unsigned count) {
  std::vector<switch_port> ports;
  for (unsigned i = 0; i <= count; ++i) ports.push_back(switch_port::at_power_on(i));
  return ports;
}

template <class T>
void generic(image<T>& n, notice_type type, trap number, std::uint16_t lid) {
  n.template set<&notice_rows::is_generic>(true)
      .template set<&notice_rows::type>(type)
      .template set<&notice_rows::producer_type>(node_type::switch_node)
      .template set<&notice_rows::number>(number)
      .template set<&notice_rows::issuer_lid>(lid);
}

}  // namespace

switch_node::cable::cable(switch_node& node, unsigned number)
    : out([&node, number](std::span<const std::byte> packet) {
        return node.around_.send(number, packet);
      }),
      link(number, node.ports_[number], out, node) {}

switch_node::switch_node(const switch_identity& who, surroundings& around)
    : who_(who),
      around_(around),
      ports_(make_ports(who.ports)),
      subnet_agent_(who_, ports_, tables_, *this),
      performance_agent_(ports_),
      traps_([this](const packets::mad_buffer& mad) { send_trap(mad); }) {
  for (unsigned i = 1; i <= who.ports; ++i) cables_.push_back(std::make_unique<cable>(*this, i));
  if (who.manages)
    manager_.emplace(
        ports_, tables_, static_cast<agent_listener&>(*this),
        [this](unsigned port, const packets::mad_buffer& mad) { send_for_manager(port, mad); });
}

switch_node::~switch_node() = default;

void switch_node::plug(unsigned port, bool plugged) {
  cables_[port - 1]->link.plug(plugged, around_.now());
}

void switch_node::has_room(unsigned port) {
  cable& c = *cables_[port - 1];
  c.out.send_all();
  if (!c.out.full()) c.link.has_room();
}

void switch_node::run() {
  const std::uint64_t now = around_.now();
  for (const auto& c : cables_) c->link.run(now);
  if (link_trap_at_ <= now) {
    link_trap_at_ = never;
    image<notice_link_state> n;
    generic(n, notice_type::urgent, trap::link_state_changed, ports_[0].lid());
    n.set<&notice_link_state::lid>(ports_[0].lid());
    traps_.raise(n, now);
  }
  if (mkey_lease_at_ <= now) {
    // The manager who knows the key did not come by: nothing is protected any more.
    mkey_lease_at_ = never;
    ports_[0].info.set<&port_info::mkey_protect>(0);
  }
  traps_.run(now);
  if (manager_) manager_->run(now);
}

std::uint64_t switch_node::deadline() const {
  std::uint64_t first = std::min({link_trap_at_, mkey_lease_at_, traps_.deadline()});
  for (const auto& c : cables_) first = std::min(first, c->link.deadline());
  if (manager_) first = std::min(first, manager_->deadline());
  return first;
}

void switch_node::end() {
  for (const auto& c : cables_) c->link.end();
}

void switch_node::link_changed(unsigned port, bool asked_for) {
  if (around_.listens())
    around_.tell("port " + std::to_string(port) +
                 (ports_[port].link_up() ? ": the link is up" : ": the link is down"));
  // The switch's own manager needs no trap.
  if (manager_) return manager_->link_changed(port, around_.now());
  // IBTA vol. 1, 14.2.5.4 (PortStateChange) and 14.3.13 (trap 128): what a manager has done itself
  // is no news.
  if (asked_for) return;
  tables_.info().set<&switch_info::port_state_change>(true);
  // What changes before a manager has come is not told: it reads everything when it comes.
  if (ports_[0].lid() != 0 && link_trap_at_ == never) link_trap_at_ = around_.now() + gather_ns;
}

void switch_node::state_wanted(unsigned port, port_state state, port_physical_state physical) {
  cables_[port - 1]->link.state_wanted(state, physical, around_.now());
}

void switch_node::trap_repressed(std::uint64_t transaction_id) {
  traps_.repressed(transaction_id);
}

void switch_node::mkey_checked(const image<dr_smp>& request, bool passed) {
  if (passed) {
    mkey_lease_at_ = never;
    return;
  }
  image<port_info>& i = ports_[0].info;
  i.set<&port_info::mkey_violations>(
      std::min(i.get<&port_info::mkey_violations>() + 1, greatest_violations));
  const std::uint64_t now = around_.now();
  if (const auto lease = i.get<&port_info::mkey_lease_period>();
      lease != 0 && mkey_lease_at_ == never)
    mkey_lease_at_ = now + lease * 1'000'000'000;
  image<notice_bad_mkey> n;
  generic(n, notice_type::security, trap::bad_mkey, ports_[0].lid());
  n.set<&notice_bad_mkey::lid>(ports_[0].lid())
      .set<&notice_bad_mkey::method>(static_cast<unsigned>(request.get<&dr_smp::method>()))
      .set<&notice_bad_mkey::attribute_id>(request.get<&dr_smp::attribute_id>())
      .set<&notice_bad_mkey::attribute_modifier>(request.get<&dr_smp::attribute_modifier>())
      .set<&notice_bad_mkey::mkey>(request.get<&dr_smp::mkey>());
  if (request.get<&dr_smp::mgmt_class>() == mad_class::subnet_directed_route) {
    constexpr unsigned path_bytes = 30;
    const auto hops = request.get<&dr_smp::hop_count>();
    n.set<&notice_bad_mkey::dr_slid>(request.get<&dr_smp::dr_slid>())
        .set<&notice_bad_mkey::dr_notice>(true)
        .set<&notice_bad_mkey::dr_path_truncated>(hops > path_bytes)
        .set<&notice_bad_mkey::dr_hop_count>(hops & 0x3f)
        .set_bytes<&notice_bad_mkey::dr_return_path>(request.bytes_of<&dr_smp::return_path>());
  }
  traps_.raise(n, now);
}

void switch_node::send_trap(const packets::mad_buffer& mad) {
  const image<port_info>& i = ports_[0].info;
  const auto manager = static_cast<std::uint16_t>(i.get<&port_info::master_sm_lid>());
  if (ports_[0].lid() == 0 || manager == 0) return;
  packets::mad_packet m;
  m.virtual_lane = 15;
  m.service_level = static_cast<std::uint8_t>(i.get<&port_info::master_sm_sl>());
  m.slid = ports_[0].lid();
  m.dlid = manager;
  m.mad = mad;
  send_own(m, 0);
}

}  // namespace freehca::infiniband_switch
