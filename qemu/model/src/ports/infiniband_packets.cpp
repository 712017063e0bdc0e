// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <algorithm>
#include <cstdio>
#include <string>

#include "fabric/directed_route.hpp"
#include "link/packet_receiver.hpp"
#include "link/wire_form.hpp"
#include "ports/cable.hpp"
#include "ports/infiniband_port.hpp"
#include "ports/ports.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::uint8_t management_lane = 15;

}  // namespace

bool infiniband_port::own_lid(std::uint16_t lid) const {
  const unsigned lids = 1u << managed_.info.get<&port_info::lmc>();
  return managed_.lid() != 0 && lid >= managed_.lid() && lid < managed_.lid() + lids;
}

std::uint16_t infiniband_port::source_lid(unsigned path_bits) const {
  const unsigned lids = 1u << managed_.info.get<&port_info::lmc>();
  return static_cast<std::uint16_t>(managed_.lid() | (path_bits & (lids - 1)));
}

bool infiniband_port::gid(unsigned index, std::byte* to) const {
  if (index >= managed_.guid_entries()) return false;
  store_be<std::uint64_t>(to, managed_.info.get<&port_info::gid_prefix>());
  store_be<std::uint64_t>(to + 8, managed_.guids[index]);
  return true;
}

unsigned infiniband_port::mtu_bytes() const {
  return layouts::mtu_bytes(managed_.info.get<&port_info::neighbor_mtu>());
}

bool infiniband_port::returns_at_once(const packet& p, const packet_summary& s) const {
  if (s.dest_qp != qp0_smi || s.dlid != permissive_lid) return false;
  const auto m = decode(p);
  if (!m) return false;
  const auto route = image<dr_smp>::from_bytes(m->mad.data());
  return route.get<&dr_smp::mgmt_class>() == mad_class::subnet_directed_route &&
         route.get<&dr_smp::hop_count>() == 0;
}

bool infiniband_port::may_pass(const packet_summary& s, bool outward) const {
  using layouts::port_state;
  // IBTA vol. 1, 7.2.7: subnet management passes from Initialize on; other packets are sent in
  // Active, and received in Armed too.
  const port_state least = s.dest_qp == qp0_smi ? port_state::initialize
                           : outward            ? port_state::active
                                                : port_state::armed;
  return managed_.state() >= least;
}

bool infiniband_port::choose_lane(packet& p) const {
  auto link = image<lrh>::from_bytes(p.bytes.data());
  constexpr unsigned bits_per_lane = 4, service_levels = 16;
  const auto sl = link.get<&lrh::service_level>();
  const auto lane =
      managed_.sl_to_vl.get<&sl_to_vl_table::vls>() >> bits_per_lane * (service_levels - 1 - sl) &
      0xf;
  if (lane >= managed_.data_lanes()) return false;
  link.set<&lrh::virtual_lane>(lane);
  std::copy_n(link.data(), lrh::bytes, p.bytes.data());
  return true;
}

bool infiniband_port::too_long(const packet& p) const {
  const auto mtu = layouts::mtu_bytes(managed_.info.get<&port_info::neighbor_mtu>());
  return p.bytes.size() + icrc_bytes + vcrc_bytes > greatest_packet_bytes(mtu);
}

void infiniband_port::discarded(const char* which, const packet_summary& s, const char* why) {
  if (!a_.rules.explains_drop()) return;
  char subject[120];
  std::snprintf(subject, sizeof subject,
                "port %u: a packet %s, to LID 0x%x and QP 0x%06x, was dropped", number_, which,
                unsigned{s.dlid}, unsigned{s.dest_qp});
  a_.rules.explain(remark_kind::packet_dropped, subject, {"", why});
}

void infiniband_port::transmit(packet p) {
  const auto s = summarise(p);
  if (!s) {
    a_.rules.complain(rule::packet_has_transport,
                      "port %u: a packet without a base transport header was sent", number_);
    return;
  }
  const bool to_itself = returns_at_once(p, *s);
  // IBTA vol. 1, 7.6.6 and 16.1.3.5: a packet whose service level leads to no lane of the link is
  // discarded, and one that is longer than the link's MTU allows.
  const bool data = s->dest_qp != qp0_smi;
  const char* const why = !open_ ? "the port is not initialised (INIT_PORT)"
                          : !to_itself && !may_pass(*s, true)
                              ? "the port's state lets no such packet out; wanted: Active, or "
                                "Initialize for subnet management (IBTA 7.2.7)"
                          : data && too_long(p) ? "longer than the link's MTU (IBTA 7.6.6)"
                          : data && !choose_lane(p)
                              ? "its service level leads to no lane of the link (IBTA 7.6.6)"
                              : nullptr;
  if (why != nullptr) {
    managed_.traffic.xmit_discards.add(1);
    discarded("to be sent", *s, why);
    return;
  }
  ++sent_;
  managed_.traffic.xmit_packets.add(1);
  managed_.traffic.xmit_data.add(s->words);
  capture(p);
  if (to_itself || own_lid(s->dlid)) return loop_back(std::move(p));
  // A switch does not send a multicast packet back: the adapter delivers to its own members.
  if (packets::is_multicast(s->dlid)) loop_back(p);
  if (peer_ == nullptr) return;
  // cable::receive() never calls the transport, so it needs no function of the scheduler.
  if (peer_ == cable_.get()) {
    cable_->receive(p);
    return a_.links->buffers().give(p);
  }
  work_.soon(number_,
             {.kind = packet_to_peer, .generation = generation_, .bytes = std::move(p.bytes)});
}

void infiniband_port::loop_back(packet p) {
  ++looped_back_;
  work_.soon(number_,
             {.kind = looped_packet, .generation = generation_, .bytes = std::move(p.bytes)});
}

bool infiniband_port::held_up(const path& way) const {
  return cable_ != nullptr && cable_->full() && !own_lid(way.dlid);
}

void infiniband_port::capture(const packet& p) {
  if (!captures(a_.how, number_, layer())) return;
  const auto bytes = to_wire(p);
  a_.account.charge_check(2 * bytes.size());
  a_.surroundings.packet_passed(number_, bytes.data(), bytes.size());
}

void infiniband_port::receive_from_link(packet p) {
  work_.arrived(number_, {.kind = arrival, .generation = generation_, .bytes = std::move(p.bytes)});
}

void infiniband_port::arrive(const packet& p) {
  const auto s = summarise(p);
  if (!s) {
    managed_.traffic.rcv_errors.add(1);
    if (a_.rules.explains_drop())
      a_.rules.explain(remark_kind::packet_dropped,
                       "port " + std::to_string(number_) + ": a packet was dropped, PortRcvErrors",
                       {"", a_.links->codec(number_).why_not(p)});
    return;
  }
  const bool permissive = s->dlid == permissive_lid && s->dest_qp == qp0_smi;
  if (!may_pass(*s, false) && !(permissive && open_)) {
    discarded("that came", *s,
              "the port's state takes no such packet; wanted: Armed or Active, or Initialize for "
              "subnet management (IBTA 7.2.7)");
    return;
  }
  if (!permissive && !own_lid(s->dlid) && !packets::is_multicast(s->dlid)) {
    managed_.traffic.rcv_errors.add(1);
    discarded("that came, PortRcvErrors", *s, "no LID of the port");
    return;
  }
  // IBTA vol. 1, 7.2.7: who sends data has been told that this link is ready (Linux hfi1/driver.c
  // set_armed_to_active).
  if (managed_.state() == layouts::port_state::armed && s->dest_qp != qp0_smi)
    change_state(layouts::port_state::active);
  ++received_;
  managed_.traffic.rcv_packets.add(1);
  managed_.traffic.rcv_data.add(s->words);
  if (!taken_by_firmware(p, *s)) a_.above_ports->receive(number_, p);
}

bool infiniband_port::taken_by_firmware(const packet& p, const packet_summary& s) {
  if (s.dest_qp != qp0_smi && s.dest_qp != qp1_gsi) return false;
  const auto m = decode(p);
  // The firmware owns the special QPs that the host has not configured (iPXE commit cd5a21359).
  const bool unowned = !host_owns(s.dest_qp);
  if (!m) {
    if (unowned) discarded("that came", s, "it is for the firmware's agent, and holds no MAD");
    return unowned;
  }
  if (s.dest_qp == qp1_gsi) {
    if (unowned) answer_gmp(*m);
    return unowned;
  }
  const auto request = image<smp>::from_bytes(m->mad.data());
  if (!unowned &&
      !demux_.firmware_takes(request.get<&smp::method>(), request.get<&smp::attribute_id>()))
    return false;
  answer_smp(*m);
  return true;
}

void infiniband_port::answer_smp(const mad_packet& request) {
  mad_packet answer = request;
  auto route = image<dr_smp>::from_bytes(answer.mad.data());
  const bool directed = route.get<&dr_smp::mgmt_class>() == mad_class::subnet_directed_route;
  if (directed) {
    if (!ends_here(route, number_)) return;
    std::copy_n(route.data(), answer.mad.size(), answer.mad.begin());
  }
  if (subnet_agent_.process(answer.mad, true) != mad_result::answered) return;
  answer.virtual_lane = management_lane;
  answer.grh.reset();
  answer.source_qp = qp0_smi;
  answer.dest_qp = qp0_smi;
  answer.qkey = 0;
  answer.dlid = request.slid;
  answer.slid = managed_.lid();
  if (directed) {
    route = image<dr_smp>::from_bytes(answer.mad.data());
    answer.dlid = turn_round(route);
    if (answer.dlid == permissive_lid) answer.slid = permissive_lid;
    std::copy_n(route.data(), answer.mad.size(), answer.mad.begin());
  }
  transmit(encode(answer));
}

void infiniband_port::answer_gmp(const mad_packet& request) {
  if (request.qkey != gsi_qkey) return count_qkey_violation(request.qkey, request.source_qp);
  mad_packet answer = request;
  if (general_mad(answer.mad) != mad_result::answered) return;
  answer.source_qp = qp1_gsi;
  answer.dest_qp = request.source_qp;
  answer.qkey = gsi_qkey;
  answer.dlid = request.slid;
  answer.slid = request.dlid;
  if (request.grh) {
    answer.grh->set_bytes<&grh::sgid>(request.grh->bytes_of<&grh::dgid>())
        .set_bytes<&grh::dgid>(request.grh->bytes_of<&grh::sgid>());
  }
  transmit(encode(answer));
}

mad_result infiniband_port::local_mad(mad_buffer& mad, bool check_mkey) {
  const mad_class c = image<layouts::mad>::from_bytes(mad.data()).get<&layouts::mad::mgmt_class>();
  return c == mad_class::performance || vendor_agent::speaks(c)
             ? general_mad(mad)
             : subnet_agent_.process(mad, check_mkey);
}

mad_result infiniband_port::general_mad(mad_buffer& mad) {
  const mad_class c = image<layouts::mad>::from_bytes(mad.data()).get<&layouts::mad::mgmt_class>();
  return vendor_agent::speaks(c) ? vendor_agent_.process(mad) : performance_agent_.process(mad);
}

}  // namespace freehca::model
