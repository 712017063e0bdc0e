// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Who gets what arrives, by the rules of device-managed steering.
#include <algorithm>
#include <set>

#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/ib_types.hpp>

#include "steering/flow_steering.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using head = flow_rule_control;

member member_of(const flow_rule& rule) {
  return {static_cast<std::uint32_t>(rule.control.get<&head::qpn>()),
          !rule.control.get<&head::allow_loopback>()};
}

bool is_of(unsigned port, const flow_rule& rule) {
  return rule.control.get<&head::port>() == port;
}

/// Those of `from`, in their order, who get it. A queue pair that has it already is left out.
class receivers {
 public:
  member_list list;

  template <class Candidates>
  void add(Candidates& from, bool all) {
    std::sort(from.begin(), from.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [when, rule] : from) {
      const member m = member_of(*rule);
      if (seen_.insert(m.qpn).second) list.push_back(m);
      if (!all || rule->control.template get<&head::exclusive>()) break;
    }
    from.clear();
  }

 private:
  std::set<std::uint32_t> seen_;
};

}  // namespace

template <class What>
void flow_steering::look(const flow_rule::key& where, unsigned port, const What& what,
                         candidates& to) const {
  const auto found = rules_.find(where);
  if (found == rules_.end()) return;
  a_.account.charge(found->second.size() * work_account::entry);
  for (const auto& [when, rule] : found->second)
    if (is_of(port, rule) && rule.takes(what)) to.emplace_back(when, &rule);
}

member_list flow_steering::takers(const transport_packet& v) const {
  const flow f = flow::of(v);
  candidates found;
  look(flow_rule::key::of_qpn(f.qpn), v.ingress.port, f, found);
  if (f.dgid != nullptr) look(flow_rule::key::of_dgid(f.dgid), v.ingress.port, f, found);
  look({}, v.ingress.port, f, found);
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });

  member_list to;
  for (const auto& [when, rule] : found) {
    to.push_back(member_of(*rule));
    if (f.qpn != multicast_qpn || rule->control.get<&head::exclusive>()) break;
  }
  return to;
}

member_list flow_steering::takers(unsigned port, const frame_view& v) const {
  using key = flow_rule::key;
  const bool multicast = v.outer.multicast();
  const std::uint64_t mac = v.outer.destination;
  receivers to;
  candidates found;
  look(key::of_mac(port, mac), port, v, found);
  if (const auto connection = frame_conditions::connection_of(v))
    look(key::of(port, mac, *connection), port, v, found);
  look(key::of_port(key::kind::any_frame, port), port, v, found);
  to.add(found, multicast);
  if (to.list.empty()) {
    look(key::of_port(key::kind::all_default, port), port, v, found);
    if (multicast) look(key::of_port(key::kind::multicast_default, port), port, v, found);
    to.add(found, multicast);
  }
  const auto sniffers = multicast ? key::kind::multicast_sniffer : key::kind::unicast_sniffer;
  look(key::of_port(sniffers, port), port, v, found);
  to.add(found, true);
  return to.list;
}

void flow_steering::tell(unsigned port, listening& to) const {
  using key = flow_rule::key;
  const auto any = [this, port](key::kind what) { return rules_at(key::of_port(what, port)) != 0; };
  to.promiscuous = any(key::kind::all_default) || any(key::kind::unicast_sniffer);
  to.all_multicast = any(key::kind::all_default) || any(key::kind::multicast_default) ||
                     any(key::kind::multicast_sniffer);
  for (const auto& [where, beside] : rules_) {
    if (where.what != key::kind::mac && where.what != key::kind::connection) continue;
    for (const auto& [when, rule] : beside)
      if (rule.malformed == nullptr && is_of(port, rule))
        if (const auto mac = rule.mac()) to.add(*mac);
  }
}

}  // namespace freehca::model
