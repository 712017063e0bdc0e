// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The subnet manager in a switch, and adapters that a test speaks for.
#include <map>

#include "bench.hpp"

namespace freehca::infiniband_switch::test {
namespace {

using namespace layouts;

/// An adapter at the other end of a port's cable: it answers the requests of subnet management, and
/// keeps what it is told.
struct adapter {
  image<port_info> info;
  image<pkey_table> pkeys;
  node_type type = node_type::channel_adapter;
  bool answers = true;
  unsigned refused = 0;  ///< so many requests more
  unsigned requests = 0;

  adapter() {
    info.set<&port_info::state>(port_state::initialize)
        .set<&port_info::mtu_cap>(ib_mtu::mtu_2048)
        .set<&port_info::neighbor_mtu>(ib_mtu::mtu_2048)
        .set<&port_info::vl_cap>(vl_code::vl0_3)
        .set<&port_info::capability_mask>(port_capability::client_reregistration);
  }
  void process(image<dr_smp>& m) {
    const bool set = m.get<&dr_smp::method>() == mad_method::set;
    switch (static_cast<smp_attribute>(m.get<&dr_smp::attribute_id>())) {
      case smp_attribute::node_info:
        set_attribute<&dr_smp::data>(m, image<node_info>{}.set<&node_info::type>(type));
        break;
      case smp_attribute::port_info:
        if (set) take(attribute<&dr_smp::data, port_info>(m));
        set_attribute<&dr_smp::data>(m, info);
        break;
      case smp_attribute::pkey_table:
        if (set) pkeys = attribute<&dr_smp::data, pkey_table>(m);
        set_attribute<&dr_smp::data>(m, pkeys);
        break;
      default:
        ADD_FAILURE() << "attribute " << m.get<&dr_smp::attribute_id>();
    }
  }
  void take(const image<port_info>& wanted) {
    const port_state state = wanted.get<&port_info::state>();
    const port_state before = info.get<&port_info::state>();
    reregistered += wanted.get<&port_info::client_reregister>() ? 1u : 0u;
    info = wanted;
    info.set<&port_info::state>(state == port_state::no_change ? before : state);
  }
  unsigned reregistered = 0;
};

switch_identity with_manager() {
  switch_identity who = identity_of(bench::count);
  who.manages = true;
  return who;
}

struct switch_manager : bench {
  switch_manager() : bench(with_manager()) {}

  /// What the adapters have been sent is answered, until nothing more comes for `ns`.
  void settle(std::uint64_t ns = 50 * ms) {
    for (bool more = true; more;) {
      more = false;
      for (auto& [port, one] : adapters)
        while (auto request = mad_from(port)) more = answer(port, one, *request) || more;
    }
    advance(ns);
  }
  bool answer(unsigned port, adapter& by, mad_packet& request) {
    auto m = image<dr_smp>::from_bytes(request.mad.data());
    if (m.get<&dr_smp::mgmt_class>() != mad_class::subnet_directed_route) {
      by_lid.push_back(request);
      return true;
    }
    ++by.requests;
    EXPECT_EQ(permissive_lid, request.dlid);
    EXPECT_EQ(1u, m.get<&dr_smp::hop_pointer>());
    EXPECT_EQ(port, std::to_integer<unsigned>(m.bytes_of<&dr_smp::initial_path>()[1]));
    if (!by.answers) return true;
    if (by.refused != 0) {
      --by.refused;
      m.set<&dr_smp::status>(mad_status::invalid_attribute_value);
    } else {
      by.process(m);
    }
    m.set<&dr_smp::method>(mad_method::get_resp).set<&dr_smp::direction>(true);
    give(port, to_qp0(m));
    return true;
  }
  void plug_in(unsigned port) {
    adapters[port].info.set<&port_info::state>(port_state::initialize);
    link(port);
    settle();
  }
  void expect_managed(unsigned port) {
    const image<port_info>& i = adapters[port].info;
    EXPECT_EQ(port + 1, i.get<&port_info::lid>());
    EXPECT_EQ(1u, i.get<&port_info::master_sm_lid>());
    EXPECT_EQ(default_subnet_prefix, i.get<&port_info::gid_prefix>());
    EXPECT_EQ(ib_mtu::mtu_2048, i.get<&port_info::neighbor_mtu>());
    EXPECT_EQ(port_state::active, i.get<&port_info::state>());
    EXPECT_EQ(default_pkey_full,
              (element<&pkey_table::pkeys, std::uint16_t>(adapters[port].pkeys, 0)));
    EXPECT_EQ(port_state::active, node.port(port).state());
    EXPECT_EQ(ib_mtu::mtu_2048, node.port(port).info.get<&port_info::neighbor_mtu>());
    EXPECT_EQ(port, node.tables().port_of(static_cast<std::uint16_t>(port + 1)));
  }

  std::map<unsigned, adapter> adapters;
  std::vector<mad_packet> by_lid;
};

TEST_F(switch_manager, two_adapters_become_active_and_reach_each_other) {
  plug_in(1);
  plug_in(3);
  expect_managed(1);
  expect_managed(3);
  EXPECT_EQ(1u, adapters[1].reregistered);
  EXPECT_EQ(1u, node.port(0).lid());
  give(1, datagram(2, 4));
  const auto through = mad_from(3);
  ASSERT_TRUE(through);
  EXPECT_EQ(4, through->dlid);
  give(3, datagram(4, 2));
  EXPECT_TRUE(mad_from(1));
}

TEST_F(switch_manager, one_that_comes_later_and_one_that_comes_again) {
  plug_in(2);
  expect_managed(2);
  advance(60'000 * ms);
  plug_in(4);
  expect_managed(4);
  node.plug(2, false);
  advance(100 * ms);
  const unsigned before = adapters[4].requests;
  plug_in(2);
  expect_managed(2);
  EXPECT_EQ(2u, adapters[2].reregistered);
  EXPECT_EQ(before, adapters[4].requests) << "the other was not disturbed";
}

TEST_F(switch_manager, what_is_not_answered_is_asked_again) {
  adapters[1].answers = false;
  link(1);
  for (int i = 0; i < 30; ++i) settle(100 * ms);
  EXPECT_GE(adapters[1].requests, 6u);
  EXPECT_LE(adapters[1].requests, 20u);
  adapters[1].answers = true;
  for (int i = 0; i < 30; ++i) settle(100 * ms);
  expect_managed(1);
}

TEST_F(switch_manager, each_request_that_is_refused_is_made_again_later) {
  for (unsigned first = 0; first < 6; ++first) {
    SCOPED_TRACE(first);
    adapter& a = adapters[1] = {};
    a.info.set<&port_info::state>(port_state::initialize);
    node.plug(1, false);
    advance(100 * ms);
    link(1);
    // The requests up to there are answered one by one.
    for (unsigned n = 0; n < first; ++n)
      if (auto request = mad_from(1)) answer(1, a, *request);
    a.refused = 1;
    for (int i = 0; i < 30; ++i) settle(100 * ms);
    EXPECT_EQ(0u, a.refused);
    expect_managed(1);
  }
}

TEST_F(switch_manager, a_switch_on_a_port_is_left_alone) {
  adapters[1].type = node_type::switch_node;
  link(1);
  for (int i = 0; i < 30; ++i) settle(100 * ms);
  EXPECT_EQ(1u, adapters[1].requests);
  EXPECT_EQ(port_state::initialize, node.port(1).state());
}

TEST_F(switch_manager, a_trap_is_repressed_and_has_the_adapter_looked_at_again) {
  plug_in(2);
  const unsigned before = adapters[2].requests;
  adapters[2].info.set<&port_info::lid>(77);
  image<smp> trap;
  trap.set<&smp::base_version>(1)
      .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(mad_method::trap)
      .set<&smp::tid>(5)
      .set<&smp::attribute_id>(static_cast<unsigned>(smp_attribute::notice));
  give(2, to_qp0(trap, 3, 1));
  settle();
  ASSERT_EQ(1u, by_lid.size());
  EXPECT_EQ(3, by_lid[0].dlid);
  const auto said = image<smp>::from_bytes(by_lid[0].mad.data());
  EXPECT_EQ(mad_method::trap_repress, said.get<&smp::method>());
  EXPECT_EQ(5u, said.get<&smp::tid>());
  EXPECT_GT(adapters[2].requests, before);
  expect_managed(2);
}

TEST_F(switch_manager, another_manager_is_told_that_there_is_a_master) {
  plug_in(1);
  const auto answer = get<sm_info>(smp_attribute::sm_info);
  EXPECT_EQ(sm_state::master, answer.get<&sm_info::state>());
  EXPECT_EQ(guid, answer.get<&sm_info::guid>());
  EXPECT_NE(0u, node.port(0).info.get<&port_info::capability_mask>() & port_capability::sm);
}

TEST_F(switch_manager, an_adapter_that_can_do_nothing_takes_no_lanes_and_no_mtu_away) {
  for (const unsigned most : {0u, 15u}) {
    node.plug(1, false);
    advance(100 * ms);
    adapters[1]
        .info.set<&port_info::mtu_cap>(static_cast<ib_mtu>(most))
        .set<&port_info::vl_cap>(static_cast<vl_code>(most));
    plug_in(1);
    const image<port_info>& own = node.port(1).info;
    EXPECT_EQ(most == 0 ? ib_mtu::mtu_256 : ib_mtu::mtu_4096, own.get<&port_info::neighbor_mtu>());
    EXPECT_EQ(most == 0 ? vl_code::vl0 : vl_code::vl0_7, own.get<&port_info::operational_vls>());
    EXPECT_EQ(port_state::active, own.get<&port_info::state>());
  }
}

struct switch_without_manager : bench {};

TEST_F(switch_without_manager, nobody_is_asked_anything) {
  link(1);
  advance(5'000 * ms);
  EXPECT_FALSE(mad_from(1));
  EXPECT_EQ(0u, node.port(0).lid());
  EXPECT_EQ(mad_status::unsupported_method_attribute,
            ask(directed(mad_method::get, smp_attribute::sm_info)).get<&dr_smp::status>());
}

}  // namespace
}  // namespace freehca::infiniband_switch::test
