// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Cables that are laid, pulled and laid again.
#include "bench.hpp"

namespace freehca::infiniband_switch::test {
namespace {

using namespace layouts;

struct switch_links : bench {
  std::vector<link_packet_op> said(unsigned port) {
    std::vector<link_packet_op> all;
    for (const bytes& one : around.link_packets[port]) {
      const auto p = packets::link_packet_of(one);
      EXPECT_TRUE(p);
      if (p) all.push_back(p->get<&link_packet::op>());
    }
    around.link_packets[port].clear();
    return all;
  }
  bool change_bit() { return node.tables().info().get<&layouts::switch_info::port_state_change>(); }
  void clear_change_bit() {
    auto info = node.tables().info();
    set(smp_attribute::switch_info, info.set<&layouts::switch_info::port_state_change>(true));
    ASSERT_FALSE(change_bit());
  }
  void ask_for_physical(unsigned port, port_physical_state state) {
    auto info = get<port_info>(smp_attribute::port_info, port);
    info.set<&port_info::state>(port_state::no_change).set<&port_info::physical_state>(state);
    set(smp_attribute::port_info, info, port);
  }
};

TEST_F(switch_links, a_port_trains_when_it_hears_somebody) {
  EXPECT_EQ(never, node.deadline());
  node.plug(1, true);
  EXPECT_EQ(std::vector{link_packet_op::training_1}, said(1));
  advance(3 * port_link::beat_ns);
  EXPECT_EQ(std::vector(3, link_packet_op::training_1), said(1)) << "nobody is heard";
  say(1, link_packet_op::training_1);
  advance(port_link::training_ns);
  EXPECT_EQ(link_packet_op::training_2, said(1).back());
  EXPECT_EQ(port_state::down, node.port(1).state());
  say(1, link_packet_op::training_2);
  EXPECT_EQ(port_state::initialize, node.port(1).state());
  EXPECT_TRUE(node.port(1).link_up());
  EXPECT_EQ(std::vector(8, link_packet_op::flow_control_init), said(1)) << "one for each lane";
  EXPECT_TRUE(change_bit());
}

TEST_F(switch_links, the_other_end_may_be_ready_first) {
  node.plug(1, true);
  say(1, link_packet_op::training_2);
  EXPECT_EQ(port_state::down, node.port(1).state());
  advance(port_link::training_ns);
  EXPECT_EQ(port_state::initialize, node.port(1).state());
}

TEST_F(switch_links, active_ports_say_plain_flow_control) {
  manage({1});
  said(1);
  advance(port_link::beat_ns);
  EXPECT_EQ(std::vector(8, link_packet_op::flow_control), said(1));
}

TEST_F(switch_links, every_way_to_lose_a_link) {
  link(1);
  const auto lose = [&](auto how) {
    link(2);
    clear_change_bit();
    const auto before = counts(2).link_downed.total();
    how();
    EXPECT_EQ(port_state::down, node.port(2).state());
    EXPECT_EQ(port_physical_state::polling, node.port(2).physical_state());
    EXPECT_EQ(before + 1, counts(2).link_downed.total());
    EXPECT_TRUE(change_bit());
    node.plug(2, false);
  };
  lose([&] { node.plug(2, false); });
  lose([&] { say(2, link_packet_op::no_signal); });
  lose([&] { say(2, link_packet_op::training_1); });
  lose([&] {
    for (int i = 0; i < 12; ++i) {
      advance(1000 * ms);
      say(1, link_packet_op::flow_control);
    }
  });
  EXPECT_EQ(port_state::initialize, node.port(1).state()) << "it was heard";
}

TEST_F(switch_links, who_trains_anew_comes_back) {
  link(1);
  say(1, link_packet_op::training_1);
  EXPECT_EQ(port_state::down, node.port(1).state());
  said(1);
  advance(port_link::training_ns);
  EXPECT_EQ(std::vector{link_packet_op::training_2}, said(1));
  say(1, link_packet_op::training_2);
  EXPECT_EQ(port_state::initialize, node.port(1).state());
}

TEST_F(switch_links, what_waits_for_a_link_that_is_lost_is_lost_with_it) {
  manage({1, 2});
  around.takes[2] = false;
  give(1, datagram(1, 2));
  node.plug(2, false);
  around.takes[2] = true;
  node.has_room(2);
  link(2);
  EXPECT_TRUE(around.sent[2].empty());
}

TEST_F(switch_links, a_manager_disables_a_port_and_enables_it) {
  manage({1, 2});
  clear_change_bit();
  said(2);
  ask_for_physical(2, port_physical_state::disabled);
  EXPECT_EQ(port_state::active, node.port(2).state()) << "the answer gets away first";
  advance(port_link::linger_ns);
  EXPECT_EQ(port_state::down, node.port(2).state());
  EXPECT_EQ(port_physical_state::disabled, node.port(2).physical_state());
  EXPECT_EQ(link_packet_op::no_signal, said(2).back());
  EXPECT_FALSE(change_bit()) << "a manager's own doing is no news";
  say(2, link_packet_op::training_1);
  say(2, link_packet_op::training_2);
  advance(1000 * ms);
  EXPECT_TRUE(said(2).empty());
  ask_for_physical(2, port_physical_state::polling);
  advance(port_link::linger_ns);
  EXPECT_EQ(std::vector{link_packet_op::training_1}, said(2));
  say(2, link_packet_op::training_1);
  advance(port_link::training_ns);
  say(2, link_packet_op::training_2);
  EXPECT_EQ(port_state::initialize, node.port(2).state());
  EXPECT_TRUE(change_bit());
}

TEST_F(switch_links, a_manager_that_takes_a_link_down_lets_it_train_again) {
  manage({1, 2});
  said(2);
  set_state(2, port_state::down);
  advance(port_link::linger_ns);
  EXPECT_EQ(port_state::down, node.port(2).state());
  EXPECT_EQ(link_packet_op::training_1, said(2).back()) << "the other end trains anew, too";
  say(2, link_packet_op::training_1);
  advance(port_link::training_ns);
  say(2, link_packet_op::training_2);
  EXPECT_EQ(port_state::initialize, node.port(2).state());
}

TEST_F(switch_links, a_sign_of_life_that_found_no_room_follows) {
  link(1);
  said(1);
  around.takes[1] = false;
  advance(port_link::beat_ns);
  EXPECT_TRUE(said(1).empty());
  around.takes[1] = true;
  node.has_room(1);
  EXPECT_EQ(std::vector(8, link_packet_op::flow_control_init), said(1));
}

TEST_F(switch_links, two_switches_on_one_cable) {
  world other_world;
  switch_node other(identity_of(2), other_world);
  node.plug(1, true);
  other.plug(2, true);
  for (int i = 0; i < 20; ++i) {
    for (; !around.link_packets[1].empty(); around.link_packets[1].pop_front())
      other.arrived(2, around.link_packets[1].front());
    for (; !other_world.link_packets[2].empty(); other_world.link_packets[2].pop_front())
      node.arrived(1, other_world.link_packets[2].front());
    advance(port_link::beat_ns / 4);
    other_world.clock = around.clock;
    other.run();
  }
  EXPECT_EQ(port_state::initialize, node.port(1).state());
  EXPECT_EQ(port_state::initialize, other.port(2).state());
}

}  // namespace
}  // namespace freehca::infiniband_switch::test
