// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Who gets what arrives, by the rules of device-managed steering.
#include <algorithm>
#include <cstddef>
#include <utility>

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

}  // namespace

template <class What>
void flow_steering::look(const flow_rule::key& where, unsigned port, const What& what,
                         candidates& to) const {
  const auto found = rules_.find(where);
  if (found == rules_.end()) return;
  a_.account.charge(found->second.size() * work_account::entry);
  compared_ += found->second.size();
  const auto before = static_cast<std::ptrdiff_t>(to.size());
  for (const auto& [when, rule] : found->second)
    if (is_of(port, rule) && rule.takes(what)) to.emplace_back(when, &rule);
  const std::size_t matches = to.size() - static_cast<std::size_t>(before);
  a_.account.charge(matches * match);
  matched_ += matches;
  // Both parts are in order already.
  std::inplace_merge(to.begin(), to.begin() + before, to.end(),
                     [](const candidate& a, const candidate& b) { return a.first < b.first; });
}

member_list flow_steering::takers(const transport_packet& v) const {
  const flow f = flow::of(v);
  candidates found;
  look(flow_rule::key::of_qpn(f.qpn), v.ingress.port, f, found);
  if (f.dgid != nullptr) look(flow_rule::key::of_dgid(f.dgid), v.ingress.port, f, found);
  look({}, v.ingress.port, f, found);

  member_list to;
  for (const auto& [when, rule] : found) {
    to.push_back(member_of(*rule));
    if (f.qpn != multicast_qpn || rule->control.get<&head::exclusive>()) break;
  }
  return to;
}

/// Adds the receivers of the rules `from`: of all as far as an exclusive rule, or of the first.
void flow_steering::add(const candidates& from, bool all, frame_search& to) {
  for (const auto& [when, rule] : from) {
    const member m = member_of(*rule);
    if (to.numbers_.insert(m.qpn).second) to.found_.push_back(m);
    if (!all || rule->control.get<&head::exclusive>()) break;
  }
}

bool flow_steering::go_on(frame_search& s, unsigned port, const frame_view& v,
                          member_list& to) const {
  using key = flow_rule::key;
  using part = frame_search::part;
  const bool multicast = v.outer.multicast();
  candidates found;
  const auto look_at = [&](const key& where) { look(where, port, v, found); };
  switch (s.next_) {
    case part::regular:
      look_at(key::of_mac(port, v.outer.destination));
      if (const auto connection = frame_conditions::connection_of(v))
        look_at(key::of(port, v.outer.destination, *connection));
      look_at(key::of_port(key::kind::any_frame, port));
      add(found, multicast, s);
      s.next_ = s.found_.empty() ? part::defaults : part::sniffers;
      return false;
    case part::defaults:
      look_at(key::of_port(key::kind::all_default, port));
      if (multicast) look_at(key::of_port(key::kind::multicast_default, port));
      add(found, multicast, s);
      s.next_ = part::sniffers;
      return false;
    case part::sniffers:
      break;
  }
  look_at(
      key::of_port(multicast ? key::kind::multicast_sniffer : key::kind::unicast_sniffer, port));
  add(found, true, s);
  to = std::move(s.found_);
  return true;
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
