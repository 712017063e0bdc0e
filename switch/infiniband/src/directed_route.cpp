// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/infiniband_switch/directed_route.hpp>

#include <cstddef>

#include <freehca/layouts/ib_types.hpp>

namespace freehca::infiniband_switch {

using namespace layouts;

namespace {

using kind = route_step::kind;

// IBTA vol. 1, 14.2.1.2: paths of 64 bytes whose first is not used.
constexpr unsigned greatest_hop_count = 63;

unsigned initial_hop(const image<dr_smp>& m, unsigned hop) {
  return std::to_integer<unsigned>(m.bytes_of<&dr_smp::initial_path>()[hop]);
}
unsigned return_hop(const image<dr_smp>& m, unsigned hop) {
  return std::to_integer<unsigned>(m.bytes_of<&dr_smp::return_path>()[hop]);
}

route_step out_of(unsigned port, unsigned ports) {
  if (port == 0 || port > ports) return {};
  return {kind::forward, port, 0};
}

route_step by_lid(std::uint64_t lid) {
  return {kind::by_lid, 0, static_cast<std::uint16_t>(lid)};
}

// The answer's hop pointer stands behind the last hop: one hop back.
route_step first_hop_back(image<dr_smp>& m, unsigned ports) {
  const auto count = static_cast<unsigned>(m.get<&dr_smp::hop_count>());
  m.set<&dr_smp::hop_pointer>(count);
  if (count != 0) return out_of(return_hop(m, count), ports);
  return m.get<&dr_smp::dr_slid>() == permissive_lid ? route_step{kind::to_manager, 0, 0}
                                                     : by_lid(m.get<&dr_smp::dr_slid>());
}

route_step request_arrival(image<dr_smp>& m, unsigned ingress, unsigned ports,
                           std::uint16_t own_lid, route_part came) {
  const auto pointer = static_cast<unsigned>(m.get<&dr_smp::hop_pointer>());
  const auto count = static_cast<unsigned>(m.get<&dr_smp::hop_count>());
  if (count != 0 && pointer == 0) {
    // C14-9, 1: who begins a directed part takes its first hop: a switch, where a part by LID is
    // before it.
    if (came == route_part::directed) return {};
    m.set<&dr_smp::hop_pointer>(1);
    return out_of(initial_hop(m, 1), ports);
  }
  if (pointer < count) {
    m.data()[dr_smp{}.return_path.offset + pointer] = static_cast<std::byte>(ingress);
    m.set<&dr_smp::hop_pointer>(pointer + 1);
    return out_of(initial_hop(m, pointer + 1), ports);
  }
  if (pointer == count) {
    if (count != 0)
      m.data()[dr_smp{}.return_path.offset + pointer] = static_cast<std::byte>(ingress);
    m.set<&dr_smp::hop_pointer>(pointer + 1);
    const auto lid = m.get<&dr_smp::dr_dlid>();
    return lid == permissive_lid || (lid == own_lid && own_lid != 0) ? route_step{kind::here, 0, 0}
                                                                     : by_lid(lid);
  }
  // C14-9, 4: its directed part has ended elsewhere. Beyond that: 5.
  return pointer == count + 1 ? route_step{kind::here, 0, 0} : route_step{};
}

route_step answer_arrival(image<dr_smp>& m, unsigned ports) {
  const auto pointer = static_cast<unsigned>(m.get<&dr_smp::hop_pointer>());
  const auto count = static_cast<unsigned>(m.get<&dr_smp::hop_count>());
  if (pointer == count + 1) return first_hop_back(m, ports);
  if (pointer > count + 1) return {};
  if (pointer >= 2) {
    m.set<&dr_smp::hop_pointer>(pointer - 1);
    return out_of(return_hop(m, pointer - 1), ports);
  }
  const auto lid = m.get<&dr_smp::dr_slid>();
  if (pointer == 1 && lid != permissive_lid) {
    m.set<&dr_smp::hop_pointer>(0);
    return by_lid(lid);
  }
  return {kind::to_manager, 0, 0};
}

}  // namespace

route_step route_arrival(image<dr_smp>& m, unsigned ingress, unsigned ports, std::uint16_t own_lid,
                         route_part came) {
  if (m.get<&dr_smp::hop_count>() > greatest_hop_count) return {};
  return m.get<&dr_smp::direction>() ? answer_arrival(m, ports)
                                     : request_arrival(m, ingress, ports, own_lid, came);
}

route_step route_answer(image<dr_smp>& m, unsigned ports, std::uint16_t requester) {
  m.set<&dr_smp::direction>(true);
  // It came by LID behind its directed part: the switch where that ended takes the answer on.
  if (m.get<&dr_smp::dr_dlid>() != permissive_lid && requester != permissive_lid)
    return by_lid(requester);
  return first_hop_back(m, ports);
}

}  // namespace freehca::infiniband_switch
