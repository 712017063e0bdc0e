// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Two adapters on one cable: how the link comes and goes, management across it, and what is no
// packet.
#include <random>

#include "basis/limits.hpp"
#include "cabled_fixture.hpp"
#include "hand_made_packets.hpp"
#include "link/wire_form.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using namespace layouts;
using layouts::port_state;

namespace {

void arrives(station& s, const std::vector<std::byte>& bytes) {
  s.hca->link_receive(1, bytes.data(), bytes.size());
  s.host->run();
}

port_physical_state physical(station& s) {
  return s.info().get<&port_info::physical_state>();
}

}  // namespace

TEST_F(cabled, a_link_comes_up_when_both_ends_are_open) {
  a.open();
  pass(60 * second);
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(physical(a), port_physical_state::polling);
  b.open();
  pass(second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.state(), port_state::initialize);
  EXPECT_EQ(a.info().get<&port_info::link_speed_active>(), link_speed::qdr);
  pass(60 * second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.counter("port1_bad_link_packets"), 0u);
  EXPECT_EQ(a.hca->complaints() + b.hca->complaints(), 0u);
}

TEST_F(cabled, no_manager_comes_by_itself) {
  link_up();
  pass(10 * second);
  EXPECT_EQ(a.info().get<&port_info::lid>(), 0u);
}

TEST_F(cabled, the_other_ends_agent_answers_directed_routes) {
  link_up();
  // CONF_SPECIAL_QP makes the host the owner of QP0: what comes back is seen on the wire instead.
  std::vector<mad_packet> seen;
  b.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) {
    packet p;
    if (from_wire(bytes, p) == arrival::good) seen.push_back(*decode(p));
  };
  a.links().transmit(1, encode(to_qp0(directed(mad_method::get, smp_attribute::node_info))));
  a.host->run();
  ASSERT_EQ(seen.size(), 1u);
  const auto answer = image<dr_smp>::from_bytes(seen[0].mad.data());
  EXPECT_EQ(answer.get<&dr_smp::method>(), mad_method::get_resp);
  EXPECT_EQ(answer.get<&dr_smp::tid>(), 77u);
  EXPECT_EQ((attribute<&dr_smp::data, node_info>(answer).get<&node_info::node_guid>()),
            options{}.node_guid + 0x100);
  // A manager at one end sets up the other by nothing but its packets.
  auto m = directed(mad_method::set, smp_attribute::port_info);
  set_attribute<&dr_smp::data>(
      m, b.info()
             .set<&port_info::lid>(lid_b)
             .set<&port_info::master_sm_lid>(lid_a)
             .set<&port_info::state>(port_state::armed)
             .set<&port_info::physical_state>(port_physical_state::no_change));
  a.links().transmit(1, encode(to_qp0(m)));
  a.host->run();
  EXPECT_EQ(b.state(), port_state::armed);
  EXPECT_EQ(b.info().get<&port_info::lid>(), lid_b);
}

TEST_F(cabled, the_first_data_packet_makes_an_armed_port_active) {
  link_up();
  a.activate(lid_a);
  b.manage(lid_b, port_state::armed);
  b.events(event_type::none);
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x120);
  a.connect(left, right.number, lid_b);
  b.connect(right, left.number, lid_a);
  EXPECT_EQ(b.state(), port_state::armed);
  a.send(left, a.transfer(wqe_opcode::rdma_write, 8, station::region_start, station::region_start));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  EXPECT_EQ(a.counter("transport_retries"), 0u);
  EXPECT_EQ(b.state(), port_state::active);
  EXPECT_EQ(b.events(event_type::port_change), 1u);
}

TEST_F(cabled, what_is_under_way_inside_does_not_shut_the_link_out) {
  activate();
  constexpr std::uint32_t bytes = 1u << 20;
  std::vector<test_qp> senders;
  for (std::uint32_t n = 0x100; n < 0x120; n += 2) {
    test_qp from = a.make_qp(n, qp_service::uc), to = a.make_qp(n + 1, qp_service::uc);
    a.connect(from, to.number, lid_a);
    a.connect(to, from.number, lid_a);
    for (unsigned i = 0; i < 4; ++i)
      a.post_send(from, a.transfer(wqe_opcode::rdma_write, bytes, station::region_start,
                                   station::region_start + bytes));
    senders.push_back(from);
  }
  // From here on nothing runs but what is told to: a command would run the adapter till it is idle.
  for (const test_qp& from : senders) a.ring(from);
  for (unsigned i = 0; i < 40; ++i) a.hca->on_timer();
  EXPECT_GT(a.hca->inside_now().work.backlog(), limits::link_backlog);
  EXPECT_TRUE(a.hca->link_may_receive());
}

TEST_F(cabled, what_a_cable_brings_waits_outside_when_there_is_much_of_it) {
  activate();
  const std::byte nonsense[link_packet::bytes]{};
  for (std::size_t i = 0; i < limits::link_backlog; ++i) {
    EXPECT_TRUE(a.hca->link_may_receive()) << i;
    a.hca->link_receive(1, nonsense, sizeof nonsense);
  }
  EXPECT_FALSE(a.hca->link_may_receive());
  a.host->run();
  EXPECT_TRUE(a.hca->link_may_receive());
  EXPECT_EQ(a.counter("port1_bad_link_packets"), limits::link_backlog);
}

TEST_F(cabled, closing_one_end_takes_the_link_down_at_both_at_once) {
  activate();
  a.events(event_type::none);
  b.events(event_type::none);
  a.close();
  b.host->run();
  EXPECT_EQ(b.state(), port_state::down);
  EXPECT_EQ(physical(b), port_physical_state::polling);
  EXPECT_EQ(physical(a), port_physical_state::disabled);
  EXPECT_EQ(a.events(event_type::port_change), 1u);
  EXPECT_EQ(b.events(event_type::port_change), 1u);
  a.open();
  pass(second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.state(), port_state::initialize);
  EXPECT_EQ(b.info().get<&port_info::lid>(), lid_b);
}

TEST_F(cabled, a_disabled_port_takes_the_link_down_and_keeps_it_down) {
  activate();
  b.manage(lid_b, port_state::no_change, 1, port_physical_state::disabled);
  pass(second);
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(physical(b), port_physical_state::disabled);
  pass(60 * second);
  EXPECT_EQ(a.state(), port_state::down);
}

TEST_F(cabled, a_polling_port_can_be_disabled) {
  a.open();
  pass(second);
  a.manage(lid_a, port_state::no_change, 1, port_physical_state::disabled);
  pass(second);
  EXPECT_EQ(physical(a), port_physical_state::disabled);
  b.open();
  pass(60 * second);
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(b.state(), port_state::down);
  EXPECT_EQ(physical(b), port_physical_state::polling);
  a.close();
  a.open();
  pass(second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.state(), port_state::initialize);
}

TEST_F(cabled, a_bounced_link_trains_again_at_both_ends) {
  activate();
  a.manage(lid_a, port_state::down);
  pass(200'000'000);
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(b.state(), port_state::down);
  pass(second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.state(), port_state::initialize);
}

TEST_F(cabled, a_reset_takes_the_link_down) {
  activate();
  b.hca->reset();
  a.host->run();
  EXPECT_EQ(a.state(), port_state::down);
}

TEST_F(cabled, an_end_that_falls_silent_is_missed) {
  activate();
  a.host->part();  // nothing crosses the cable from here on
  a.host->advance(9 * second);
  EXPECT_EQ(a.state(), port_state::active);
  a.host->advance(3 * second);
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(physical(a), port_physical_state::polling);
}

TEST_F(cabled, a_catastrophic_error_is_missed) {
  activate();
  b.hca->fail();
  pass(12 * second);
  EXPECT_EQ(a.state(), port_state::down);
}

TEST_F(cabled, an_adapter_that_has_failed_tells_nothing_of_its_cable) {
  activate();
  a.hca->fail();
  a.host->run();
  a.events(event_type::none);
  const auto written = a.host->bytes_written;
  const auto messages = a.host->messages.size();
  a.hca->plug_cable(1, false);
  pass(second);
  EXPECT_EQ(b.state(), port_state::down);
  a.hca->plug_cable(1, true);
  pass(second);
  EXPECT_EQ(a.host->bytes_written, written);
  EXPECT_EQ(a.host->messages.size(), messages);
}

TEST_F(cabled, a_pulled_cable_is_seen_at_both_ends_and_comes_back) {
  activate();
  a.hca->plug_cable(1, false);
  a.host->run();
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(b.state(), port_state::down);
  pass(60 * second);
  EXPECT_EQ(a.state(), port_state::down);
  EXPECT_EQ(b.state(), port_state::down);
  a.hca->plug_cable(1, true);
  pass(second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.state(), port_state::initialize);
}

TEST_F(cabled, an_end_that_begins_anew_without_a_word_is_noticed) {
  activate();
  // The other virtual machine was killed and started again: all that comes is a port that polls.
  arrives(a, link_packet_of(link_packet_op::training_1));
  EXPECT_EQ(a.state(), port_state::down);
  pass(2 * second);
  EXPECT_EQ(a.state(), port_state::initialize);
  EXPECT_EQ(b.state(), port_state::initialize);
}

TEST_F(cabled, flow_control_packets_tell_the_state_and_the_lanes) {
  unsigned init = 0, normal = 0, lanes = 0;
  std::uint64_t sent = 0, limit = 0;
  b.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) {
    if (bytes.size() != link_packet::bytes) return;
    const auto p = image<link_packet>::from_bytes(bytes.data());
    init += p.get<&link_packet::op>() == link_packet_op::flow_control_init;
    normal += p.get<&link_packet::op>() == link_packet_op::flow_control;
    lanes |= 1u << p.get<&link_packet::vl>();
    if (p.get<&link_packet::vl>() != 0) return;
    sent = p.get<&link_packet::fctbs>();
    limit = p.get<&link_packet::fccl>();
  };
  link_up();
  pass(second);
  EXPECT_GE(init, 8u * 4);
  EXPECT_EQ(normal, 0u);
  EXPECT_EQ(lanes, 0xffu);
  EXPECT_EQ(limit, 2048u);
  a.activate(lid_a);
  b.activate(lid_b);
  test_qp left = a.make_qp(0x100), right = b.make_qp(0x100);
  a.connect(left, 0x100, lid_b);
  b.connect(right, 0x100, lid_a);
  // 10 packets of 16 blocks and a little: 17 blocks each; one acknowledgement of 1 block comes
  // back.
  a.send(left, a.transfer(wqe_opcode::rdma_write, 10240, a.region_start, b.region_start));
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  init = 0;
  pass(second);
  EXPECT_EQ(init, 0u);
  EXPECT_GE(normal, 8u * 4);
  EXPECT_EQ(limit, 2048u + 170);
  EXPECT_GE(sent, 1u);
  EXPECT_LE(sent, 10u);
}

TEST_F(cabled, what_is_no_packet_is_dropped_and_counted) {
  activate();
  a.events(event_type::none);
  a.watch();
  mad_packet m = to_qp0(directed(mad_method::get, smp_attribute::node_info));
  auto wire = to_wire(encode(m));
  wire[40] ^= std::byte{4};
  arrives(a, wire);
  m.virtual_lane = 8;  // of eight lanes, 0 to 7
  arrives(a, to_wire(encode(m)));
  m.virtual_lane = 0;  // lane 15 and QP0 have each other and nobody else
  arrives(a, to_wire(encode(m)));
  mad_packet data = m;
  data.virtual_lane = 15;
  data.dest_qp = qp1_gsi;
  arrives(a, to_wire(encode(data)));
  auto bad = link_packet_of(link_packet_op::flow_control);
  bad[4] ^= std::byte{1};
  arrives(a, bad);
  arrives(a, link_packet_of(static_cast<link_packet_op>(7)));
  arrives(a, link_packet_of(link_packet_op::flow_control, 9));
  a.came({{},
          {},
          {{"PortCounters1 rcv_errors", 7},
           {"port1_bad_link_packets", 3},
           {"port1_bad_vcrc", 1},
           {"port1_malformed_packets", 3}},
          {},
          "its variant CRC is wrong"});
  EXPECT_EQ(a.state(), port_state::active);
}

TEST_F(cabled, noise_does_no_harm) {
  activate();
  std::mt19937 random(11);
  for (unsigned i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes(random() % 3 == 0 ? 6 : random() % 400);
    for (std::byte& x : bytes) x = static_cast<std::byte>(random());
    if (bytes.size() == 6 && random() % 2 == 0)
      bytes = link_packet_of(static_cast<link_packet_op>(random() % 16), random() % 16);
    a.hca->link_receive(random() % 4, bytes.data(), bytes.size());
    if (i % 100 == 0) a.host->advance(1'000'000);
  }
  pass(3 * second);
  EXPECT_EQ(a.state(), port_state::initialize);
  a.activate(lid_a);
  if (b.state() == port_state::initialize) b.activate(lid_b);
}

TEST_F(cabled, a_full_cable_loses_nothing) {
  activate();
  test_qp left = a.make_qp(0x100, qp_service::uc), right = b.make_qp(0x100, qp_service::uc);
  a.connect(left, 0x100, lid_b);
  b.connect(right, 0x100, lid_a);
  a.fill(a.region_start, 1u << 20, 3);
  a.host->wire_full[0] = true;
  a.send(left, a.transfer(wqe_opcode::rdma_write, 1u << 20, a.region_start, b.region_start));
  a.host->run();
  EXPECT_EQ(b.counter("port1_packets_received"), 0u);
  a.host->wire_full[0] = false;
  a.hca->link_has_room(1);
  a.expect_done(left, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  b.expect_pattern(b.region_start, 1u << 20, 3);
}

TEST(one_adapter_cabled, its_two_ports_are_one_link) {
  options how = test_options();
  how.cable[0] = how.cable[1] = true;
  station s(how);
  s.host->lay_cable(1, *s.host, 2);
  s.open(1);
  s.open(2);
  s.host->advance(second);
  s.activate(4, 1);
  s.activate(5, 2);
  test_qp one = s.make_qp(0x100), two = s.make_qp(0x101);
  s.connect(one, two.number, 5);
  s.to_rts(two, s.ready_context(two, one.number)
                    .set<&primary_path::rlid>(4)
                    .set<&primary_path::sched_queue>(sched_queue_ib(2, 0)));
  s.fill(s.region_start, 100'000, 1);
  s.send(one,
         s.transfer(wqe_opcode::rdma_write, 100'000, s.region_start, s.region_start + 0x100000));
  s.expect_done(one, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  s.expect_pattern(s.region_start + 0x100000, 100'000, 1);
  EXPECT_EQ(s.counter("port1_packets_looped_back"), 0u);
  EXPECT_GE(s.counter("port2_packets_received"), 98u);
  s.close(2);
  s.host->run();
  EXPECT_EQ(s.state(1), port_state::down);
}

}  // namespace freehca::model::test
