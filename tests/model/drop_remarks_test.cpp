// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A peer can have packets dropped as fast as it sends them: the line that explains a drop is made
// only while such lines are few, or for somebody who listens.
#include "cabled_fixture.hpp"
#include "frame_fixture.hpp"
#include "vpi_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

std::uint64_t drops_told(const test_host& host) {
  return static_cast<std::uint64_t>(
      std::count_if(host.remarks.begin(), host.remarks.end(),
                    [](const remark& n) { return n.kind == remark_kind::packet_dropped; }));
}

class drop_remarks : public transport_fixture {
 protected:
  static constexpr std::uint64_t many = 3 * remarks_kept;

  drop_remarks() : a(make_qp(0x140, qp_service::ud)), b(make_qp(0x141, qp_service::ud)) {
    to_rts(a, 0);
    to_rts(b, 0);
    host->advance(2 * drop_remarks_interval_ns);
  }
  std::uint64_t unexplained() { return driver->counter_named("drops_unexplained"); }
  /// `many` datagrams at one moment.
  void send_many(std::uint32_t to, std::uint32_t with_qkey = qkey) {
    for (std::uint64_t i = 0; i < many; ++i) {
      test_send s;
      s.address = region_start;
      s.bytes = 8;
      s.lkey = key;
      s.dqpn = to;
      s.qkey = with_qkey;
      send(a, s);
      host->run();
      image<cqe> e;
      while (driver->next_completion(cq, e)) driver->tell_consumer(cq);
    }
  }
  void expect_few(std::uint64_t times = 1) {
    EXPECT_EQ(drops_told(*host), times * remarks_kept);
    EXPECT_EQ(unexplained(), times * (many - remarks_kept));
  }

  test_qp a, b;
};

}  // namespace

TEST_F(drop_remarks, are_few_for_datagrams_that_find_no_receive) {
  send_many(b.number);
  EXPECT_EQ(driver->counter_named("datagrams_without_receive"), many);
  expect_few();
  // Later drops are explained again.
  host->advance(drop_remarks_interval_ns);
  send_many(b.number);
  expect_few(2);
}

TEST_F(drop_remarks, are_few_for_datagrams_to_nobody) {
  send_many(0x3e0);
  EXPECT_EQ(driver->counter_named("transport_packets_dropped"), many);
  expect_few();
}

TEST_F(drop_remarks, are_few_for_datagrams_with_a_wrong_key) {
  send_many(b.number, 5);
  expect_few();
}

TEST_F(drop_remarks, are_all_made_for_those_who_listen) {
  host->listen_to_all = true;
  host->remarks.clear();
  send_many(b.number);
  // Doorbells and events are told too.
  EXPECT_GE(host->remarks.size(), many);
  EXPECT_EQ(unexplained(), 0u);
}

TEST_F(drop_remarks, are_few_for_requests_that_find_no_receive) {
  test_qp c = make_qp(0x120), d = make_qp(0x121);
  using r = qpc;
  constexpr unsigned for_ever = 7, shortest = 1;  // 0.01 ms
  to_rts(c, ready_context(c, d.number).set<&r::rnr_retry>(for_ever));
  to_rts(d, ready_context(d, c.number).set<&r::min_rnr_nak>(shortest));
  test_send s = transfer(wqe_opcode::send, 8, region_start, 0);
  send(c, s);
  host->advance(drop_remarks_interval_ns / 2);
  const std::uint64_t naks = driver->counter_named("transport_rnr_naks_sent");
  ASSERT_GT(naks, many);
  EXPECT_LE(drops_told(*host), remarks_kept);
  EXPECT_GE(unexplained(), naks - remarks_kept);
}

namespace {

using frame_drops = frame_fixture;

}  // namespace

TEST_F(frame_drops, are_told_a_few_times_for_frames_that_a_filter_holds_back) {
  // Nothing is configured, and the filter is enabled.
  ASSERT_EQ(driver->command(opcode::set_mcast_fltr, 0, 1, 2).status, command_status::ok);
  host->advance(2 * drop_remarks_interval_ns);
  const std::uint64_t many = 3 * remarks_kept;
  for (std::uint64_t i = 0; i < many; ++i) arrive(plain(0x0100'5e00'0001, peer_mac));
  EXPECT_EQ(driver->counter_named("port1_frames_filtered"), many);
  EXPECT_EQ(drops_told(*host), remarks_kept);
  EXPECT_EQ(driver->counter_named("drops_unexplained"), many - remarks_kept);
}

TEST(cable_drops, are_told_a_few_times_for_what_another_link_layer_says) {
  station s(with_cabled_vpi(0));
  s.open();
  s.host->advance(2 * drop_remarks_interval_ns);
  s.host->remarks.clear();
  const std::uint64_t many = 3 * remarks_kept;
  const std::vector<std::byte> a_frame(100, std::byte{2});
  for (std::uint64_t i = 0; i < many; ++i) {
    s.hca->link_receive(1, a_frame.data(), a_frame.size());
    s.host->run();
  }
  EXPECT_EQ(s.driver->counter_named("port1_foreign_packets"), many);
  EXPECT_EQ(drops_told(*s.host), remarks_kept);
  EXPECT_EQ(s.driver->counter_named("drops_unexplained"), many - remarks_kept);
}

TEST(cable_drops, are_told_a_few_times_for_packets_that_are_no_packet) {
  options how = test_options();
  how.cable[0] = true;
  station s(how), far(how);
  s.host->lay_cable(1, *far.host, 1);
  s.open();
  far.open();
  s.host->advance(second);
  s.host->remarks.clear();
  const std::uint64_t many = 3 * remarks_kept;
  const std::uint64_t before = s.driver->counter_named("drops_unexplained");
  const std::vector<std::byte> nonsense(100, std::byte{0x5a});
  for (std::uint64_t i = 0; i < many; ++i) {
    s.hca->link_receive(1, nonsense.data(), nonsense.size());
    s.host->run();
  }
  EXPECT_EQ(drops_told(*s.host), remarks_kept);
  EXPECT_EQ(s.driver->counter_named("drops_unexplained") - before, many - remarks_kept);
  s.host->part();
}

}  // namespace freehca::model::test
