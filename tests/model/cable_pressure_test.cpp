// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A cable that takes nothing for a while: what uses its port waits, and nothing else does.
#include "cabled_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;
using layouts::port_state;

namespace {

/// One adapter whose two ports are cabled to each other, and a queue pair on each.
class cable_pressure : public testing::Test {
 protected:
  static constexpr std::uint16_t lid_1 = 4, lid_2 = 5;
  static constexpr std::uint32_t large = 1u << 20;
  // A request packet that finds the cable full waits in it, and those behind it wait in their
  // queue. Responses go in runs.
  static constexpr std::uint64_t request_run = 1, response_run = 32;

  cable_pressure() : s(both_cabled()) {
    s.host->lay_cable(1, *s.host, 2);
    for (const unsigned port : {1u, 2u}) s.open(port);
    s.host->advance(second);
    s.activate(lid_1, 1);
    s.activate(lid_2, 2);
    s.fill(at(0), large, 3);
  }
  static options both_cabled() {
    options how = test_options();
    how.cable[0] = how.cable[1] = true;
    return how;
  }
  static std::uint64_t at(std::uint64_t offset) { return station::region_start + offset; }
  void make_pair(qp_service service) {
    one = s.make_qp(0x100, service);
    two = s.make_qp(0x101, service);
    s.to_rts(one, s.ready_context(one, two.number).set<&primary_path::rlid>(lid_2));
    s.to_rts(two, s.ready_context(two, one.number)
                      .set<&primary_path::rlid>(lid_1)
                      .set<&primary_path::sched_queue>(sched_queue_ib(2, 0)));
  }
  void fill_up(unsigned port) { s.host->wire_full[port - 1] = true; }
  void make_room(unsigned port) {
    s.host->wire_full[port - 1] = false;
    s.hca->link_has_room(port);
  }
  void write(test_qp& from, std::uint32_t bytes) {
    s.send(from, s.transfer(wqe_opcode::rdma_write, bytes, at(0), at(large)));
  }
  void expect_written(const test_qp& by, std::uint32_t bytes) {
    s.expect_done(by, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    s.expect_pattern(at(large), bytes, 3);
  }

  station s;
  test_qp one, two;  ///< on port 1 and on port 2
};

}  // namespace

TEST_F(cable_pressure, the_senders_of_the_other_port_do_not_wait) {
  make_pair(qp_service::uc);
  for (const bool first : {true, false}) {
    test_qp &held = first ? one : two, &free = first ? two : one;
    const unsigned port = first ? 1 : 2;
    const char* sent = first ? "port1_packets_sent" : "port2_packets_sent";
    const auto before = s.counter(sent);
    fill_up(port);
    write(held, large);
    s.host->run();
    EXPECT_LE(s.counter(sent) - before, request_run);
    write(free, 100'000);
    expect_written(free, 100'000);
    EXPECT_TRUE(s.no_completion());
    make_room(port);
    expect_written(held, large);
    EXPECT_EQ(s.counter(sent) - before, large / 1024);
  }
}

TEST_F(cable_pressure, waiting_costs_nothing) {
  make_pair(qp_service::uc);
  fill_up(1);
  write(one, large);
  s.host->run();
  const unsigned before = s.host->timer_calls;
  s.host->advance(second);
  EXPECT_LE(s.host->timer_calls - before, 2u * 5) << "more than the ports' signs of life";
}

TEST_F(cable_pressure, a_datagram_waits_for_the_port_that_it_names) {
  test_qp qp = s.make_qp(0x140, qp_service::ud);
  s.to_rts(qp, 0);
  test_send datagram;
  datagram.address = at(0);
  datagram.bytes = 100;
  datagram.lkey = s.key;
  datagram.qkey = station::qkey;
  datagram.dqpn = qp.number;
  const auto send_by = [&](unsigned port, std::uint16_t dlid) {
    datagram.port = port;
    datagram.dlid = dlid;
    s.send(qp, datagram);
  };
  fill_up(1);
  send_by(2, lid_1);
  s.expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
  send_by(1, lid_1);  // looped back inside
  s.expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
  send_by(1, lid_2);  // waits in the cable
  s.expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
  send_by(1, lid_2);
  EXPECT_TRUE(s.no_completion());
  make_room(1);
  s.expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
}

TEST_F(cable_pressure, read_responses_wait_too) {
  make_pair(qp_service::rc);
  fill_up(1);
  s.send(two, s.transfer(wqe_opcode::rdma_read, large, at(large), at(0)));
  s.host->run();
  EXPECT_LE(s.counter("port1_packets_sent"), response_run);
  make_room(1);
  s.expect_done(two, true, static_cast<unsigned>(wqe_opcode::rdma_read));
  s.expect_pattern(at(large), large, 3);
  EXPECT_EQ(s.counter("transport_retries"), 0u);
}

TEST_F(cable_pressure, management_goes_before_all_that_waits) {
  make_pair(qp_service::uc);
  fill_up(1);
  write(one, large);
  s.host->run();
  const auto m = station::port_info_request(mad_method::get, 1);
  mad_packet to_the_other;
  std::copy_n(m.data(), to_the_other.mad.size(), to_the_other.mad.begin());
  to_the_other.virtual_lane = 15;
  to_the_other.slid = lid_1;
  to_the_other.dlid = lid_2;
  s.links().transmit(1, encode(to_the_other));
  s.host->run();
  std::vector<unsigned> lanes;
  s.host->on_wire = [&](unsigned port, std::vector<std::byte>& bytes) {
    if (port == 1 && bytes.size() != link_packet::bytes)
      lanes.push_back(
          static_cast<unsigned>(image<lrh>::from_bytes(bytes.data()).get<&lrh::virtual_lane>()));
  };
  make_room(1);
  expect_written(one, large);
  ASSERT_FALSE(lanes.empty());
  EXPECT_EQ(lanes.front(), 15u);
  EXPECT_EQ(std::count(lanes.begin(), lanes.end(), 15u), 1);
}

TEST_F(cable_pressure, a_link_that_goes_down_lets_its_senders_go) {
  make_pair(qp_service::uc);
  fill_up(1);
  write(one, large);
  s.host->run();
  s.hca->plug_cable(1, false);
  s.expect_done(one, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(cable_pressure, link_packets_do_not_pile_up_and_are_told_late) {
  unsigned link_packets = 0;
  s.host->on_wire = [&](unsigned port, std::vector<std::byte>& bytes) {
    link_packets += port == 1 && bytes.size() == link_packet::bytes;
  };
  fill_up(1);
  s.host->advance(9 * second);
  EXPECT_EQ(s.state(2), port_state::active);
  make_room(1);
  EXPECT_EQ(link_packets, 8u) << "one for each lane";
  s.host->advance(9 * second);
  EXPECT_EQ(s.state(2), port_state::active);
}

TEST_F(cable_pressure, the_end_of_a_signal_is_told_late) {
  fill_up(1);
  s.close(1);
  s.host->run();
  EXPECT_EQ(s.state(2), port_state::active);
  make_room(1);
  s.host->run();
  EXPECT_EQ(s.state(2), port_state::down);
}

TEST_F(cable_pressure, nobody_runs_out_of_retries_while_the_cable_is_full) {
  make_pair(qp_service::rc);
  fill_up(1);
  write(one, large);
  // Many times what all retries take, and not so long that the other end misses the port.
  s.host->advance(8 * second);
  EXPECT_TRUE(s.no_completion());
  EXPECT_EQ(s.counter("transport_timeouts"), 0u);
  make_room(1);
  expect_written(one, large);
}

TEST_F(cable_pressure, room_that_comes_while_the_adapter_has_failed_is_there_after_the_reset) {
  make_pair(qp_service::uc);
  fill_up(1);
  write(one, large);
  s.host->run();
  s.hca->fail();
  make_room(1);
  s.hca->reset();
  test_driver again{*s.host, *s.hca};
  ASSERT_TRUE(again.bring_up());
  bool heard = false;
  s.host->on_wire = [&](unsigned port, std::vector<std::byte>&) { heard = heard || port == 1; };
  ASSERT_EQ(again.command(opcode::init_port, 0, 1).status, command_status::ok);
  s.host->run();
  EXPECT_TRUE(heard) << "the port says nothing any more";
}

TEST_F(cable_pressure, a_reset_forgets_who_waited) {
  make_pair(qp_service::uc);
  fill_up(1);
  write(one, large);
  s.host->run();
  s.hca->reset();
  make_room(1);
  s.host->run();
  EXPECT_TRUE(s.host->idle());
}

}  // namespace freehca::model::test
