// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Packets that pass through (IBTA vol. 1, 18.2): what is looked at when one comes in, where it
// leaves, and what it costs in counters (16.1.3.5) when it does not.
#include <algorithm>
#include <bit>
#include <string>

#include <freehca/infiniband_switch/switch_node.hpp>
#include <freehca/packets/wire_form.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

constexpr unsigned management_lane = 15;

std::size_t longest(const switch_port& port) {
  return greatest_packet_bytes(mtu_bytes(port.info.get<&port_info::neighbor_mtu>()));
}

}  // namespace

void switch_node::tell_dropped(unsigned port, const char* why) {
  if (around_.listens())
    around_.tell("port " + std::to_string(port) + ": a packet was dropped: " + why);
}

void switch_node::dropped(unsigned port, packets::dual_counter port_counts::*counter,
                          const char* why) {
  (ports_[port].counts.*counter).add(1);
  tell_dropped(port, why);
}

void switch_node::arrived(unsigned port, std::span<const std::byte> bytes) {
  if (bytes.size() != link_packet::bytes) return packet_arrived(port, bytes);
  if (!cables_[port - 1]->link.link_packet_arrived(bytes, around_.now()))
    dropped(port, &port_counts::rcv_errors, "a link packet of no known form (IBTA 7.9.4)");
}

bool switch_node::read_header(unsigned port, std::span<const std::byte> wire, header& to) {
  switch (packets::check_link(wire)) {
    case packets::arrival::bad_vcrc:
      dropped(port, &port_counts::rcv_errors, "its variant CRC is wrong (IBTA 7.8.2)");
      return false;
    case packets::arrival::malformed:
    case packets::arrival::bad_icrc:
      dropped(port, &port_counts::rcv_errors, "lengths or headers that contradict each other");
      return false;
    case packets::arrival::good:
      break;
  }
  const auto content = packets::content_of(wire);
  const auto link = image<lrh>::from_bytes(content.data());
  const auto s = packets::summarise(content);
  to.slid = s->slid;
  to.dlid = s->dlid;
  to.lane = static_cast<unsigned>(link.get<&lrh::virtual_lane>());
  to.service_level = static_cast<unsigned>(link.get<&lrh::service_level>());
  to.words = s->words;
  const std::size_t base = lrh::bytes + (s->global ? grh::bytes : 0);
  to.pkey =
      static_cast<std::uint16_t>(image<bth>::from_bytes(content.data() + base).get<&bth::pkey>());
  // IBTA vol. 1, 7.6.3 and 9.6.1.1: lane 15 is for QP0, which has no other, and no GRH.
  const bool to_qp0 = s->dest_qp == qp0_smi;
  if (to_qp0 != to.management() || (to_qp0 && s->global) ||
      (!to_qp0 && to.lane >= ports_[port].data_lanes())) {
    dropped(port, &port_counts::rcv_errors, "a lane that is not its queue pair's, or not there");
    return false;
  }
  return true;
}

void switch_node::packet_arrived(unsigned port, std::span<const std::byte> wire) {
  switch_port& in = ports_[port];
  if (!in.link_up()) return;
  header h;
  if (!read_header(port, wire, h)) return;
  cables_[port - 1]->link.packet_arrived(h.lane, wire.size(), around_.now());
  if (h.management()) {
    count_received(port, h);
    return management_arrived(port, wire, h);
  }
  // IBTA vol. 1, 7.2.7: in Initialize subnet management alone passes. Who sends data has been told
  // that this link is ready, so an Armed port becomes Active (Linux hfi1/driver.c
  // set_armed_to_active).
  if (in.state() < port_state::armed)
    return tell_dropped(port, "the port is neither Armed nor Active (IBTA 7.2.7)");
  if (wire.size() > longest(in))
    return dropped(port, &port_counts::rcv_errors, "longer than the link's MTU (IBTA 7.6.6)");
  if (in.state() == port_state::armed) in.info.set<&port_info::state>(port_state::active);
  count_received(port, h);
  data_arrived(port, wire, h);
}

void switch_node::data_arrived(unsigned port, std::span<const std::byte> wire, const header& h) {
  const switch_port& in = ports_[port];
  if (in.info.get<&port_info::partition_enforce_in>() && !in.admits(h.pkey))
    return dropped(
        port, &port_counts::rcv_constraint,
        "its P_Key is not in the table of the port that it came in by (IBTA 18.2.4.2.1)");
  relay(port, wire, h);
}

void switch_node::relay(unsigned ingress, std::span<const std::byte> wire, const header& h) {
  if (packets::is_multicast(h.dlid)) {
    // From here on a mask without the port that it came in by: nothing is reflected.
    port_mask to = h.management() ? 0 : tables_.ports_of(h.dlid, ingress);
    to &= (port_mask{1} << ports_.size()) - 1;
    if (to == 0)
      return dropped(ingress, &port_counts::rcv_switch_relay, "nobody is in its multicast group");
    for (; to != 0; to &= to - 1) {
      const auto port = static_cast<unsigned>(std::countr_zero(to));
      if (port != 0) send_out(ingress, port, wire, h);
    }
    return;
  }
  const unsigned port = tables_.port_of(h.dlid);
  if (port >= ports_.size())
    return dropped(ingress, &port_counts::rcv_switch_relay, "its DLID leads nowhere");
  if (port == ingress)
    return dropped(ingress, &port_counts::rcv_switch_relay, "its DLID leads out where it came in");
  if (port == 0) return for_port_0(ingress, wire, h);
  send_out(ingress, port, wire, h);
}

bool switch_node::choose_lane(unsigned ingress, unsigned port, const header& h,
                              unsigned& lane) const {
  lane = management_lane;
  if (h.management()) return true;
  lane = vl_of_sl(ports_[port].sl_to_vl[ingress].get<&sl_to_vl_table::vls>(), h.service_level);
  return lane < ports_[port].data_lanes();
}

void switch_node::send_out(unsigned ingress, unsigned port, std::span<const std::byte> wire,
                           const header& h) {
  const switch_port& out = ports_[port];
  const bool management = h.management();
  if (out.state() < (management ? port_state::initialize : port_state::active))
    return dropped(port, &port_counts::xmit_discards,
                   management ? "the port that it leads to is down"
                              : "the port that it leads to is not Active (IBTA 7.2.7)");
  if (!management && wire.size() > longest(out))
    return dropped(port, &port_counts::xmit_discards, "longer than the link's MTU (IBTA 7.6.6)");
  if (!management && out.info.get<&port_info::partition_enforce_out>() && !out.admits(h.pkey))
    return dropped(port, &port_counts::xmit_constraint,
                   "its P_Key is not in the table of the port that it leaves by (IBTA 18.2.4.2.1)");
  unsigned lane = 0;
  if (!choose_lane(ingress, port, h, lane))
    return dropped(ingress, &port_counts::rcv_switch_relay,
                   "its service level leads to no lane of the link (IBTA 7.6.6)");
  buffer packet(wire.begin(), wire.end());
  if (lane != h.lane) {
    // A new LRH: the variant CRC is made anew. The invariant CRC does not cover the lane.
    auto link = image<lrh>::from_bytes(packet.data());
    link.set<&lrh::virtual_lane>(lane);
    std::copy_n(link.data(), lrh::bytes, packet.data());
    packets::renew_variant_crc(packet);
  }
  const std::size_t length = packet.size();
  cable& to = *cables_[port - 1];
  if (!to.out.add(std::move(packet), management)) {
    if (management)
      return dropped(ingress, &port_counts::vl15_dropped, "no room for more in lane 15");
    return dropped(port, &port_counts::xmit_discards,
                   "the other end does not take what it is sent");
  }
  to.link.packet_leaves(lane, length);
  count_sent(port, h);
}

void switch_node::count_received(unsigned port, const header& h) {
  port_counts& c = ports_[port].counts;
  c.rcv_packets.add(1);
  c.rcv_data.add(h.words);
  (packets::is_multicast(h.dlid) ? c.multicast_rcv : c.unicast_rcv).add(1);
}

void switch_node::count_sent(unsigned port, const header& h) {
  port_counts& c = ports_[port].counts;
  c.xmit_packets.add(1);
  c.xmit_data.add(h.words);
  (packets::is_multicast(h.dlid) ? c.multicast_xmit : c.unicast_xmit).add(1);
}

}  // namespace freehca::infiniband_switch
