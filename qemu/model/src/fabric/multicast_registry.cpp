// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "fabric/multicast_registry.hpp"

#include <algorithm>
#include <cstring>

namespace freehca::model {

using namespace layouts;
namespace mc = mcmember_component;

namespace {

constexpr std::uint64_t packet_life = 18;  // OpenSM's default, 4.096 us * 2^18

// OpenSM's default partition: the group of IPoIB's broadcasts over IPv4 (RFC 4391, section 4) with
// the Q_Key, MTU and rate that its manual names.
constexpr std::uint64_t broadcast_high = 0xff12401bffff0000, broadcast_low = 0x00000000ffffffff;
constexpr std::uint32_t ipoib_qkey = 0x0b1b;

// Where this manager makes up a multicast GID: transient, link-local scope, then a signature
// (OpenSM's).
constexpr std::uint64_t made_up_high = 0xff12a01cfe800000;

bool same_gid(const std::byte* a, const std::byte* b) {
  return std::memcmp(a, b, 16) == 0;
}
bool zero_gid(const std::byte* g) {
  static constexpr gid_bytes none{};
  return same_gid(g, none.data());
}
bool has(std::uint64_t components, std::uint64_t bit) {
  return (components & bit) != 0;
}

bool full(std::uint64_t state) {
  return (state & (join_state::full_member | join_state::send_only_full_member)) != 0;
}

}  // namespace

unsigned tenths_of_gbps(ib_rate rate) {
  switch (rate) {
    case ib_rate::port_current:
      return 0;
    case ib_rate::gbps_2_5:
      return 25;
    case ib_rate::gbps_5:
      return 50;
    case ib_rate::gbps_10:
      return 100;
    case ib_rate::gbps_14:
      return 140;
    case ib_rate::gbps_20:
      return 200;
    case ib_rate::gbps_25:
      return 250;
    case ib_rate::gbps_30:
      return 300;
    case ib_rate::gbps_40:
      return 400;
    case ib_rate::gbps_56:
      return 560;
    case ib_rate::gbps_60:
      return 600;
    case ib_rate::gbps_80:
      return 800;
    case ib_rate::gbps_100:
      return 1000;
    case ib_rate::gbps_112:
      return 1120;
    case ib_rate::gbps_120:
      return 1200;
    case ib_rate::gbps_168:
      return 1680;
  }
  return 0;
}

multicast_registry::multicast_registry(const subnet_topology& subnet) : subnet_(subnet) {
  clear();
}

void multicast_registry::clear() {
  groups_.clear();
  memberships_ = 0;
  group broadcast;
  broadcast.permanent = true;
  const gid_bytes mgid = make_gid(broadcast_high, broadcast_low);
  broadcast.about.set_bytes<&mcmember_record::mgid>(mgid.data())
      .set<&mcmember_record::qkey>(ipoib_qkey)
      .set<&mcmember_record::mlid>(first_multicast_lid)
      .set<&mcmember_record::mtu_selector>(sa_selector::exactly)
      .set<&mcmember_record::mtu>(ib_mtu::mtu_2048)
      .set<&mcmember_record::pkey>(default_pkey_full)
      .set<&mcmember_record::rate_selector>(sa_selector::exactly)
      .set<&mcmember_record::rate>(ib_rate::gbps_10)
      .set<&mcmember_record::packet_life_selector>(sa_selector::exactly)
      .set<&mcmember_record::packet_life>(packet_life)
      .set<&mcmember_record::scope>(static_cast<unsigned>(mcast_scope::link_local));
  groups_.push_back(broadcast);
}

const char* multicast_registry::broken_invariant() const {
  std::size_t members = 0;
  for (const group& g : groups_) members += g.members.size();
  if (members != memberships_) return "the groups have another number of members";
  if (groups_.size() > groups_at_most || memberships_ > memberships_at_most)
    return "there are more groups or members than the registry holds";
  return nullptr;
}

multicast_registry::group* multicast_registry::find(const std::byte* mgid) {
  for (group& g : groups_)
    if (same_gid(g.about.bytes_of<&mcmember_record::mgid>(), mgid)) return &g;
  return nullptr;
}

std::uint16_t multicast_registry::free_mlid() const {
  for (unsigned lid = first_multicast_lid; lid < permissive_lid; ++lid)
    if (std::none_of(groups_.begin(), groups_.end(), [lid](const group& g) {
          return g.about.get<&mcmember_record::mlid>() == lid;
        }))
      return static_cast<std::uint16_t>(lid);
  return 0;
}

sa_status multicast_registry::create(const record& r, std::uint64_t components, group*& made) {
  constexpr std::uint64_t needed = mc::qkey | mc::tclass | mc::pkey | mc::sl | mc::flow_label;
  if ((components & needed) != needed) return sa_status::insufficient_components;
  if (!full(r.get<&mcmember_record::join_state>())) return sa_status::request_invalid;
  if (groups_.size() == groups_at_most) return sa_status::no_resources;
  const std::uint16_t mlid = free_mlid();
  if (mlid == 0) return sa_status::no_resources;
  const known_port* creator = subnet_.by_gid(r.bytes_of<&mcmember_record::port_gid>());
  group g;
  g.about = r;
  if (zero_gid(r.bytes_of<&mcmember_record::mgid>()) || !has(components, mc::mgid))
    g.about.set_bytes<&mcmember_record::mgid>(make_gid(made_up_high, ++made_up_).data());
  const auto first = std::to_integer<unsigned>(g.about.bytes_of<&mcmember_record::mgid>()[0]);
  if (first != 0xff) return sa_status::request_invalid;
  static constexpr gid_bytes nobody{};
  const ib_rate own_rate = rate_of(*creator);
  const bool exact_rate =
      has(components, mc::rate) && r.get<&mcmember_record::rate_selector>() == sa_selector::exactly;
  const unsigned rate = tenths_of_gbps(r.get<&mcmember_record::rate>());
  if (exact_rate && (rate == 0 || rate > tenths_of_gbps(own_rate)))
    return sa_status::request_invalid;
  const bool exact_mtu =
      has(components, mc::mtu) && r.get<&mcmember_record::mtu_selector>() == sa_selector::exactly;
  const ib_mtu own_mtu = creator->info.get<&port_info::neighbor_mtu>();
  if (exact_mtu &&
      (mtu_bytes(r.get<&mcmember_record::mtu>()) == 0 || r.get<&mcmember_record::mtu>() > own_mtu))
    return sa_status::request_invalid;
  g.about.set_bytes<&mcmember_record::port_gid>(nobody.data())
      .set<&mcmember_record::join_state>(0)
      .set<&mcmember_record::proxy_join>(false)
      .set<&mcmember_record::mlid>(mlid)
      .set<&mcmember_record::mtu>(exact_mtu ? r.get<&mcmember_record::mtu>() : own_mtu)
      .set<&mcmember_record::mtu_selector>(sa_selector::exactly)
      .set<&mcmember_record::rate>(exact_rate ? r.get<&mcmember_record::rate>() : own_rate)
      .set<&mcmember_record::rate_selector>(sa_selector::exactly)
      .set<&mcmember_record::packet_life>(packet_life)
      .set<&mcmember_record::packet_life_selector>(sa_selector::exactly)
      .set<&mcmember_record::scope>(
          std::to_integer<unsigned>(g.about.bytes_of<&mcmember_record::mgid>()[1]) & 0xf);
  groups_.push_back(g);
  made = &groups_.back();
  return sa_status::success;
}

sa_status multicast_registry::join(record& r, std::uint64_t components) {
  if (!has(components, mc::port_gid) || !has(components, mc::join_state))
    return sa_status::insufficient_components;
  const auto state = static_cast<std::uint8_t>(r.get<&mcmember_record::join_state>());
  if (state == 0) return sa_status::request_invalid;
  if (subnet_.by_gid(r.bytes_of<&mcmember_record::port_gid>()) == nullptr)
    return sa_status::invalid_gid;
  group* g = has(components, mc::mgid) ? find(r.bytes_of<&mcmember_record::mgid>()) : nullptr;
  if (g == nullptr) {
    if (memberships_ == memberships_at_most) return sa_status::no_resources;
    if (const auto s = create(r, components, g); s != sa_status::success) return s;
  } else {
    const record& about = g->about;
    const bool differs =
        (has(components, mc::qkey) &&
         about.get<&mcmember_record::qkey>() != r.get<&mcmember_record::qkey>()) ||
        (has(components, mc::pkey) &&
         ((about.get<&mcmember_record::pkey>() ^ r.get<&mcmember_record::pkey>()) & 0x7fff) != 0) ||
        (has(components, mc::mtu_selector) && has(components, mc::mtu) &&
         !selected(r.get<&mcmember_record::mtu_selector>(), r.get<&mcmember_record::mtu>(),
                   about.get<&mcmember_record::mtu>(), order_of)) ||
        (has(components, mc::rate_selector) && has(components, mc::rate) &&
         !selected(r.get<&mcmember_record::rate_selector>(), r.get<&mcmember_record::rate>(),
                   about.get<&mcmember_record::rate>(), tenths_of_gbps));
    if (differs) return sa_status::request_invalid;
  }
  const auto of_port = [&r](const member& m) {
    return same_gid(m.port_gid.data(), r.bytes_of<&mcmember_record::port_gid>());
  };
  auto m = std::find_if(g->members.begin(), g->members.end(), of_port);
  if (m == g->members.end()) {
    member joined{{}, 0, r.get<&mcmember_record::proxy_join>()};
    std::copy_n(r.bytes_of<&mcmember_record::port_gid>(), joined.port_gid.size(),
                joined.port_gid.begin());
    if (memberships_ == memberships_at_most) return sa_status::no_resources;
    m = g->members.insert(m, joined);
    ++memberships_;
  }
  m->join_state = static_cast<std::uint8_t>(m->join_state | state);
  r = g->about;
  r.set_bytes<&mcmember_record::port_gid>(m->port_gid.data())
      .set<&mcmember_record::join_state>(m->join_state);
  return sa_status::success;
}

sa_status multicast_registry::leave(record& r, std::uint64_t components) {
  constexpr std::uint64_t needed = mc::mgid | mc::port_gid | mc::join_state;
  if ((components & needed) != needed) return sa_status::insufficient_components;
  group* g = find(r.bytes_of<&mcmember_record::mgid>());
  if (g == nullptr) return sa_status::request_invalid;
  const auto m = std::find_if(g->members.begin(), g->members.end(), [&r](const member& one) {
    return same_gid(one.port_gid.data(), r.bytes_of<&mcmember_record::port_gid>());
  });
  const auto state = static_cast<std::uint8_t>(r.get<&mcmember_record::join_state>());
  if (m == g->members.end() || (m->join_state & state) != state) return sa_status::request_invalid;
  m->join_state = static_cast<std::uint8_t>(m->join_state & ~state);
  record answer = g->about;
  answer.set_bytes<&mcmember_record::port_gid>(m->port_gid.data())
      .set<&mcmember_record::join_state>(state);
  r = answer;
  if (m->join_state == 0) {
    g->members.erase(m);
    --memberships_;
  }
  const bool kept =
      g->permanent || std::any_of(g->members.begin(), g->members.end(),
                                  [](const member& one) { return full(one.join_state); });
  if (!kept) {
    memberships_ -= g->members.size();
    groups_.erase(groups_.begin() + (g - groups_.data()));
  }
  return sa_status::success;
}

std::vector<multicast_registry::record> multicast_registry::query(const record& wanted,
                                                                  std::uint64_t components,
                                                                  bool trusted) const {
  using l = mcmember_record;
  std::vector<record> found;
  for (const group& g : groups_) {
    const record& about = g.about;
    const bool matches =
        (!has(components, mc::mgid) ||
         same_gid(about.bytes_of<&l::mgid>(), wanted.bytes_of<&l::mgid>())) &&
        (!has(components, mc::mlid) || about.get<&l::mlid>() == wanted.get<&l::mlid>()) &&
        (!has(components, mc::qkey) || about.get<&l::qkey>() == wanted.get<&l::qkey>()) &&
        (!has(components, mc::pkey) || about.get<&l::pkey>() == wanted.get<&l::pkey>()) &&
        (!has(components, mc::sl) || about.get<&l::sl>() == wanted.get<&l::sl>()) &&
        (!has(components, mc::scope) || about.get<&l::scope>() == wanted.get<&l::scope>());
    if (!matches) continue;
    if (!has(components, mc::port_gid) && (!trusted || g.members.empty())) {
      found.push_back(about);
      continue;
    }
    for (const member& m : g.members) {
      if (has(components, mc::port_gid) &&
          !same_gid(m.port_gid.data(), wanted.bytes_of<&l::port_gid>()))
        continue;
      record r = about;
      r.set_bytes<&l::port_gid>(m.port_gid.data())
          .set<&l::join_state>(m.join_state)
          .set<&l::proxy_join>(m.proxy);
      found.push_back(r);
    }
  }
  return found;
}

}  // namespace freehca::model
