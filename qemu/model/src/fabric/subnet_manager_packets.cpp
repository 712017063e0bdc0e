// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The packets of the subnet manager's node: what it receives, and what it answers for itself.
#include <algorithm>

#include "fabric/directed_route.hpp"
#include "fabric/subnet_manager.hpp"

namespace freehca::model {

using namespace layouts;

void subnet_manager::send(const mad_packet& m) {
  if (!up_) return;
  packet p = encode(m);
  own_port_.traffic.xmit_packets.add(1);
  own_port_.traffic.xmit_data.add((p.bytes.size() + icrc_bytes) / 4);
  to_port_(std::move(p));
}

void subnet_manager::receive(const packet& p) {
  own_port_.traffic.rcv_packets.add(1);
  own_port_.traffic.rcv_data.add((p.bytes.size() + icrc_bytes) / 4);
  const auto m = decode(p);
  if (!m || !up_) return;
  if (m->dlid != manager_lid_ && !(m->dlid == permissive_lid && m->dest_qp == qp0_smi)) return;
  if (m->dest_qp == qp0_smi) receive_smp(*m);
  if (m->dest_qp == qp1_gsi) receive_gmp(*m);
}

void subnet_manager::receive_smp(const mad_packet& m) {
  const auto smp_in = image<dr_smp>::from_bytes(m.mad.data());
  const mad_method method = smp_in.get<&dr_smp::method>();
  if (method == mad_method::get_resp) {
    if (!waiting_ || smp_in.get<&dr_smp::tid>() != outstanding_.get<&dr_smp::tid>() ||
        !has_returned(smp_in))
      return;
    waiting_ = false;
    schedule_.cancel(timer_);
    finished(smp_in);
  } else if (method == mad_method::trap) {
    repress(m);
    sweep();
  } else {
    answer_smp(m);
  }
}

void subnet_manager::answer_smp(const mad_packet& request) {
  mad_packet answer = request;
  auto route = image<dr_smp>::from_bytes(answer.mad.data());
  const bool directed = route.get<&dr_smp::mgmt_class>() == mad_class::subnet_directed_route;
  if (directed) {
    if (!ends_here(route, 1)) return;
    std::copy_n(route.data(), answer.mad.size(), answer.mad.begin());
  }
  const bool asks_manager =
      route.get<&dr_smp::attribute_id>() == static_cast<unsigned>(smp_attribute::sm_info) &&
      route.get<&dr_smp::method>() == mad_method::get;
  if (asks_manager) answer_sm_info(answer.mad);
  // Nobody else may manage this node.
  else if (route.get<&dr_smp::method>() != mad_method::get ||
           own_agent_.process(answer.mad, true) != mad_result::answered)
    return;
  answer.virtual_lane = management_lane;
  answer.source_qp = answer.dest_qp = qp0_smi;
  answer.dlid = request.slid;
  answer.slid = manager_lid_;
  if (directed) {
    route = image<dr_smp>::from_bytes(answer.mad.data());
    answer.dlid = turn_round(route);
    if (answer.dlid == permissive_lid) answer.slid = permissive_lid;
    std::copy_n(route.data(), answer.mad.size(), answer.mad.begin());
  }
  send(answer);
}

void subnet_manager::answer_sm_info(mad_buffer& mad) const {
  auto m = image<smp>::from_bytes(mad.data());
  set_attribute<&smp::data>(m, image<sm_info>{}
                                   .set<&sm_info::guid>(own_port_.guid)
                                   .set<&sm_info::activity_count>(next_transaction_ & 0xffffffff)
                                   .set<&sm_info::priority>(manager_priority)
                                   .set<&sm_info::state>(sm_state::master));
  m.set<&smp::method>(mad_method::get_resp).set<&smp::status>(mad_status::success);
  std::copy_n(m.data(), mad.size(), mad.begin());
}

void subnet_manager::repress(const mad_packet& trap_packet) {
  mad_packet answer = trap_packet;
  auto m = image<smp>::from_bytes(answer.mad.data());
  m.set<&smp::method>(mad_method::trap_repress).set<&smp::status>(mad_status::success);
  std::copy_n(m.data(), answer.mad.size(), answer.mad.begin());
  answer.slid = manager_lid_;
  answer.dlid = trap_packet.slid;
  answer.dest_qp = trap_packet.source_qp;
  answer.source_qp = qp0_smi;
  send(answer);
}

void subnet_manager::receive_gmp(const mad_packet& m) {
  if (m.qkey != gsi_qkey) return;
  const mad_class c = image<mad>::from_bytes(m.mad.data()).get<&mad::mgmt_class>();
  if (c == mad_class::performance) {
    mad_packet answer = m;
    if (own_counters_.process(answer.mad) == mad_result::answered)
      administrator_.send_back(m, answer.mad);
  } else if (c == mad_class::subnet_admin) {
    topology_.manager.info = own_port_.info;
    administrator_.receive(m);
  }
}

}  // namespace freehca::model
