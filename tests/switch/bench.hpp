// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A switch under a clock of the test's own, and the other ends of its cables as a test speaks for
// them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <freehca/infiniband_switch/switch_node.hpp>
#include <freehca/layouts/forwarding.hpp>
#include <freehca/packets/link_packets.hpp>
#include <freehca/packets/mad_packet.hpp>
#include <freehca/packets/wire_form.hpp>

namespace freehca::infiniband_switch::test {

using bytes = std::vector<std::byte>;
using packets::mad_packet;

inline constexpr std::uint64_t ms = 1'000'000;
inline constexpr std::uint64_t guid = 0x0002c90300f0d000;

struct world final : surroundings {
  std::uint64_t now() override { return clock; }
  bool send(unsigned port, std::span<const std::byte> what) override {
    if (!takes[port]) return false;
    auto& to = what.size() == layouts::link_packet::bytes ? link_packets[port] : sent[port];
    to.emplace_back(what.begin(), what.end());
    return true;
  }
  void tell(std::string_view what) override { told.emplace_back(what); }
  bool listens() const override { return true; }

  world() { takes.fill(true); }
  std::uint64_t clock = 1;
  std::array<bool, most_ports + 1> takes{};
  std::array<std::deque<bytes>, most_ports + 1> sent, link_packets;
  std::vector<std::string> told;
};

inline switch_identity identity_of(unsigned ports) {
  switch_identity who;
  who.ports = ports;
  who.guid = guid;
  who.describe("a switch under test");
  return who;
}

/// A MAD of subnet management with directed route, on its first hop.
inline layouts::image<layouts::dr_smp> directed(layouts::mad_method method,
                                                layouts::smp_attribute attribute,
                                                std::uint32_t modifier = 0,
                                                std::initializer_list<int> path = {}) {
  using layouts::dr_smp;
  layouts::image<dr_smp> m;
  m.set<&dr_smp::base_version>(1)
      .set<&dr_smp::mgmt_class>(layouts::mad_class::subnet_directed_route)
      .set<&dr_smp::class_version>(1)
      .set<&dr_smp::method>(method)
      .set<&dr_smp::hop_pointer>(1)
      .set<&dr_smp::hop_count>(1 + path.size())
      .set<&dr_smp::tid>(77)
      .set<&dr_smp::attribute_id>(static_cast<unsigned>(attribute))
      .set<&dr_smp::attribute_modifier>(modifier)
      .set<&dr_smp::dr_slid>(layouts::permissive_lid)
      .set<&dr_smp::dr_dlid>(layouts::permissive_lid);
  unsigned hop = 1;
  m.data()[dr_smp{}.initial_path.offset + hop] = std::byte{1};
  for (const int port : path)
    m.data()[dr_smp{}.initial_path.offset + ++hop] = static_cast<std::byte>(port);
  return m;
}

template <class M>
mad_packet to_qp0(const layouts::image<M>& m, std::uint16_t slid = layouts::permissive_lid,
                  std::uint16_t dlid = layouts::permissive_lid) {
  mad_packet p;
  p.slid = slid;
  p.dlid = dlid;
  p.virtual_lane = 15;
  std::memcpy(p.mad.data(), m.data(), p.mad.size());
  return p;
}

inline bytes wire_of(const mad_packet& p) {
  return packets::to_wire(packets::build(p));
}

/// A datagram between queue pairs that are not special.
inline mad_packet datagram(std::uint16_t slid, std::uint16_t dlid) {
  mad_packet p;
  p.slid = slid;
  p.dlid = dlid;
  p.source_qp = 0x48;
  p.dest_qp = dlid >= layouts::first_multicast_lid ? layouts::multicast_qpn : 0x49;
  p.qkey = 0x11;
  p.mad[7] = std::byte{0x5a};
  return p;
}

struct bench : testing::Test {
  static constexpr unsigned count = 4;

  bench() : bench(identity_of(count)) {}
  explicit bench(const switch_identity& who) : node(who, around) {}

  void advance(std::uint64_t ns) {
    const std::uint64_t until = around.clock + ns;
    while (node.deadline() <= until) {
      around.clock = std::max(around.clock, node.deadline());
      node.run();
    }
    around.clock = until;
  }

  void say(unsigned port, layouts::link_packet_op op, unsigned lane = 0) {
    layouts::image<layouts::link_packet> p;
    p.set<&layouts::link_packet::op>(op).set<&layouts::link_packet::vl>(lane);
    packets::seal(p);
    node.arrived(port, {p.data(), layouts::link_packet::bytes});
  }

  /// The link of a port trains: Initialize.
  void link(unsigned port) {
    node.plug(port, true);
    say(port, layouts::link_packet_op::training_1);
    advance(port_link::training_ns);
    say(port, layouts::link_packet_op::training_2);
    ASSERT_EQ(layouts::port_state::initialize, node.port(port).state());
  }

  void give(unsigned port, const mad_packet& p) { node.arrived(port, wire_of(p)); }

  /// What the switch has sent out of a port since it was last asked.
  bytes taken(unsigned port) {
    if (around.sent[port].empty()) return {};
    bytes first = std::move(around.sent[port].front());
    around.sent[port].pop_front();
    return first;
  }
  std::optional<mad_packet> mad_from(unsigned port) {
    const bytes wire = taken(port);
    if (wire.empty() || packets::check(wire) != packets::arrival::good) return std::nullopt;
    return packets::decode(packets::content_of(wire));
  }

  /// A request by directed route to the switch itself; the answer's MAD.
  layouts::image<layouts::dr_smp> ask(const layouts::image<layouts::dr_smp>& request,
                                      unsigned port = 1) {
    give(port, to_qp0(request));
    const auto answer = mad_from(port);
    if (!answer) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    const auto m = layouts::image<layouts::dr_smp>::from_bytes(answer->mad.data());
    EXPECT_TRUE(m.get<&layouts::dr_smp::direction>());
    EXPECT_EQ(layouts::mad_method::get_resp, m.get<&layouts::dr_smp::method>());
    EXPECT_EQ(77u, m.get<&layouts::dr_smp::tid>());
    return m;
  }
  template <class A>
  layouts::image<A> get(layouts::smp_attribute attribute, std::uint32_t modifier = 0,
                        unsigned status = 0) {
    const auto m = ask(directed(layouts::mad_method::get, attribute, modifier));
    EXPECT_EQ(status, m.template get<&layouts::dr_smp::status>());
    return layouts::attribute<&layouts::dr_smp::data, A>(m);
  }
  /// Returns what the answer says that it is now.
  template <class A>
  layouts::image<A> set(layouts::smp_attribute attribute, const layouts::image<A>& value,
                        std::uint32_t modifier = 0, unsigned status = 0) {
    auto request = directed(layouts::mad_method::set, attribute, modifier);
    layouts::set_attribute<&layouts::dr_smp::data>(request, value);
    const auto m = ask(request);
    EXPECT_EQ(status, m.template get<&layouts::dr_smp::status>());
    return layouts::attribute<&layouts::dr_smp::data, A>(m);
  }

  void set_state(unsigned port, layouts::port_state state) {
    using layouts::port_info;
    auto info = get<port_info>(layouts::smp_attribute::port_info, port);
    info.set<&port_info::state>(state).set<&port_info::physical_state>(
        layouts::port_physical_state::no_change);
    set(layouts::smp_attribute::port_info, info, port);
  }

  /// What a subnet manager at port 1 does: the switch has LID 10, port n leads to LID n, and the
  /// ports are Active.
  void manage(std::initializer_list<unsigned> ports) {
    using namespace layouts;
    for (const unsigned port : ports) link(port);
    auto info = get<port_info>(smp_attribute::port_info);
    info.set<&port_info::lid>(10).set<&port_info::master_sm_lid>(1);
    set(smp_attribute::port_info, info);
    auto own = get<switch_info>(smp_attribute::switch_info);
    own.set<&switch_info::linear_fdb_top>(10).set<&switch_info::port_state_change>(true);
    set(smp_attribute::switch_info, own);
    image<linear_forwarding_block> block;
    for (unsigned lid = 0; lid < lids_per_linear_block; ++lid)
      block.data()[lid] = static_cast<std::byte>(lid >= 1 && lid <= count ? lid
                                                 : lid == 10              ? 0
                                                                          : forwards_nowhere);
    set(smp_attribute::linear_forwarding, block);
    for (const unsigned port : ports) {
      set_state(port, port_state::armed);
      set_state(port, port_state::active);
    }
  }
  /// MLID 0xc000 + entry leads to these ports, of the first 15.
  void join(unsigned entry, std::initializer_list<unsigned> ports) {
    using namespace layouts;
    auto block = get<multicast_forwarding_block>(smp_attribute::multicast_forwarding, entry / 32);
    std::uint16_t mask = 0;
    for (const unsigned port : ports) mask = static_cast<std::uint16_t>(mask | 1u << port);
    set_element<&multicast_forwarding_block::masks, std::uint16_t>(block, entry % 32, mask);
    set(smp_attribute::multicast_forwarding, block, entry / 32);
  }
  const port_counts& counts(unsigned port) const { return node.port(port).counts; }

  world around;
  switch_node node;
};

}  // namespace freehca::infiniband_switch::test
