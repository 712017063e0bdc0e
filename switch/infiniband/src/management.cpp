// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Packets for port 0, and those with directed route.
#include <algorithm>

#include <freehca/infiniband_switch/switch_node.hpp>
#include <freehca/packets/wire_form.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

constexpr std::uint64_t greatest_violations = 0xffff;

template <auto M>
void count_violation(image<port_info>& i) {
  i.set<M>(std::min(i.get<M>() + 1, greatest_violations));
}

}  // namespace

void switch_node::management_arrived(unsigned port, std::span<const std::byte> wire,
                                     const header& h) {
  if (h.dlid == permissive_lid || own_lid(h.dlid)) return for_port_0(port, wire, h);
  relay(port, wire, h);
}

void switch_node::for_port_0(unsigned ingress, std::span<const std::byte> wire, const header& h) {
  const auto content = packets::content_of(wire);
  if (!packets::is_invariant_crc_of(content, content.data() + content.size()))
    return dropped(ingress, &port_counts::rcv_errors, "its invariant CRC is wrong (IBTA 7.8.1)");
  auto m = packets::decode(content);
  if (!m) return dropped(ingress, &port_counts::rcv_errors, "for port 0, and it holds no MAD");
  // A forwarding table may send anything here.
  if (!own_lid(h.dlid) && !(h.management() && h.dlid == permissive_lid))
    return dropped(0, &port_counts::rcv_errors, "it came to port 0 with another's LID");
  if (!h.management()) {
    if (m->dest_qp != qp1_gsi) return tell_dropped(0, "port 0 has no such queue pair");
    count_received(0, h);
    return answer_gmp(std::move(*m));
  }
  count_received(0, h);
  const mad_class what = image<smp>::from_bytes(m->mad.data()).get<&smp::mgmt_class>();
  if (what == mad_class::subnet_directed_route) directed_arrived(ingress, *m);
  else answer_smp(ingress, std::move(*m), false);
}

void switch_node::directed_arrived(unsigned ingress, packets::mad_packet& m) {
  auto route = image<dr_smp>::from_bytes(m.mad.data());
  const route_step where =
      route_arrival(route, ingress, who_.ports, ports_[0].lid(),
                    m.dlid == permissive_lid ? route_part::directed : route_part::by_lid);
  std::copy_n(route.data(), m.mad.size(), m.mad.begin());
  if (where.what == route_step::kind::here) return answer_smp(ingress, m, true);
  take(ingress, where, m);
}

void switch_node::take(unsigned ingress, const route_step& where, packets::mad_packet& m) {
  switch (where.what) {
    case route_step::kind::forward:
      m.slid = m.dlid = permissive_lid;
      return send_own(m, where.port);
    case route_step::kind::by_lid:
      m.slid = ports_[0].lid() != 0 ? ports_[0].lid() : permissive_lid;
      m.dlid = where.lid;
      return send_own(m, 0);
    case route_step::kind::to_manager:
      if (manager_)
        return manager_->answered(ingress, image<dr_smp>::from_bytes(m.mad.data()), around_.now());
      return tell_dropped(ingress, "an answer for a subnet manager, and none is here");
    case route_step::kind::here:
    case route_step::kind::discard:
      return dropped(ingress, &port_counts::rcv_errors,
                     "its directed route makes no sense here (IBTA 14.2.2)");
  }
}

void switch_node::answer_smp(unsigned ingress, packets::mad_packet m, bool directed) {
  const std::uint16_t requester = m.slid;
  if (!manager_answers(ingress, m.mad) && !subnet_agent_.process(m.mad, ingress)) return;
  m.virtual_lane = 15;
  m.grh.reset();
  m.source_qp = m.dest_qp = qp0_smi;
  m.qkey = 0;
  if (directed) {
    auto route = image<dr_smp>::from_bytes(m.mad.data());
    const route_step where = route_answer(route, who_.ports, requester);
    std::copy_n(route.data(), m.mad.size(), m.mad.begin());
    return take(ingress, where, m);
  }
  m.slid = ports_[0].lid() != 0 ? ports_[0].lid() : permissive_lid;
  m.dlid = requester;
  // Who has no LID yet is the neighbour.
  send_own(m, requester == permissive_lid ? ingress : 0);
}

bool switch_node::manager_answers(unsigned ingress, packets::mad_buffer& mad) {
  if (!manager_) return false;
  auto m = image<smp>::from_bytes(mad.data());
  const mad_method method = m.get<&smp::method>();
  if (method == mad_method::trap) {
    m.set<&smp::method>(mad_method::trap_repress);
    manager_->trapped(ingress, around_.now());
  } else if (method == mad_method::get &&
             m.get<&smp::attribute_id>() == static_cast<unsigned>(smp_attribute::sm_info)) {
    set_attribute<&smp::data>(m, manager_->info(who_.guid));
    m.set<&smp::method>(mad_method::get_resp);
  } else {
    return false;
  }
  m.set<&smp::status>(mad_status::success);
  std::copy_n(m.data(), mad.size(), mad.begin());
  return true;
}

void switch_node::send_for_manager(unsigned port, const packets::mad_buffer& mad) {
  packets::mad_packet m;
  m.virtual_lane = 15;
  m.slid = m.dlid = permissive_lid;
  m.mad = mad;
  send_own(m, port);
}

void switch_node::answer_gmp(packets::mad_packet m) {
  image<port_info>& i = ports_[0].info;
  if (!ports_[0].admits(m.pkey)) {
    count_violation<&port_info::pkey_violations>(i);
    return tell_dropped(0, "a P_Key that port 0 does not have");
  }
  if (m.qkey != gsi_qkey) {
    count_violation<&port_info::qkey_violations>(i);
    return tell_dropped(0, "another Q_Key than that of QP1");
  }
  if (!performance_agent_.process(m.mad)) return;
  m.dest_qp = m.source_qp;
  m.source_qp = qp1_gsi;
  m.dlid = m.slid;
  m.slid = ports_[0].lid();
  if (m.grh) {
    const image<grh> before = *m.grh;
    m.grh->set_bytes<&grh::sgid>(before.bytes_of<&grh::dgid>())
        .set_bytes<&grh::dgid>(before.bytes_of<&grh::sgid>());
  }
  send_own(m, 0);
}

void switch_node::send_own(const packets::mad_packet& m, unsigned port) {
  const buffer wire = packets::to_wire(packets::build(m));
  const auto s = packets::summarise(packets::content_of(wire));
  const header h{m.slid, m.dlid, m.pkey, m.virtual_lane, m.service_level, s->words};
  count_sent(0, h);
  if (port != 0) send_out(0, port, wire, h);
  else relay(0, wire, h);
}

}  // namespace freehca::infiniband_switch
