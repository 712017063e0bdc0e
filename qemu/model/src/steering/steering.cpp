// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "steering/steering.hpp"

#include "steering/computed_qpn.hpp"

namespace freehca::model {

using namespace layouts;

steering::search steering::begin(const transport_packet& v) const {
  search s;
  if (on()) s.known_ = flows_.takers(v);
  else s.chain_ = groups_.begin(v.ingress.dgid());
  return s;
}

steering::search steering::begin(unsigned port, const frame_view& v) const {
  search s;
  if (on()) {
    s.rules_.emplace();
  } else if (a_.profile.unicast_entries) {
    s.chain_ = groups_.begin(port, v.outer);
  } else if (tables_.unicast_numbers) {
    const auto qpn = computed_qpn(tables_.unicast_numbers(port), v.outer,
                                  tables_.mac_index(port, v.outer.destination));
    if (qpn) s.known_.push_back({*qpn, false});
  }
  return s;
}

bool steering::go_on(search& s, const transport_packet&, member_list& found) {
  if (s.chain_) return groups_.go_on(*s.chain_, found);
  found = std::move(s.known_);
  return true;
}

bool steering::go_on(search& s, unsigned port, const frame_view& v, member_list& found) {
  if (s.rules_) {
    while (!flows_.go_on(*s.rules_, port, v, found))
      if (a_.account.slice_over()) return false;
    return true;
  }
  if (s.chain_) return groups_.go_on(*s.chain_, found);
  found = std::move(s.known_);
  return true;
}

listening steering::listens(unsigned port) {
  listening to;
  if (on()) {
    flows_.tell(port, to);
  } else if (a_.profile.unicast_entries) {
    groups_.tell(port, to);
  } else if (tables_.unicast_numbers) {
    to.promiscuous = tables_.unicast_numbers(port).get<&set_port_rqp_calc::promisc>();
    to.all_multicast = true;  // SET_MCAST_FLTR alone holds it back
  }
  to.tidy();
  return to;
}

void steering::clear() {
  groups_.clear();
  flows_.clear();
}

}  // namespace freehca::model
