// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// An Ethernet port: its link, and frames out and in.
#include <bit>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/model/link_faults.hpp>

#include "ethernet_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using ethernet_link = ethernet_fixture;
using ethernet_frames = ethernet_fixture;
using changes_seen = std::vector<port_change_subtype>;

}  // namespace

TEST_F(ethernet_link, comes_with_init_port_and_goes_with_close_port) {
  EXPECT_FALSE(asked().get<&layouts::query_port::link_up>());
  ASSERT_EQ(init_port(), status::ok);
  host->advance(second);
  EXPECT_TRUE(asked().get<&layouts::query_port::link_up>());
  EXPECT_EQ(changes(), changes_seen{port_change_subtype::active});
  EXPECT_TRUE(hca->inside().links->active(1));
  ASSERT_EQ(close_port(), status::ok);
  EXPECT_FALSE(asked().get<&layouts::query_port::link_up>());
  EXPECT_EQ(changes(), changes_seen{port_change_subtype::down});
}

TEST_F(ethernet_link, opening_and_closing_twice_is_no_change) {
  open();
  changes();
  EXPECT_EQ(init_port(), status::ok);
  host->advance(second);
  EXPECT_TRUE(changes().empty());
  EXPECT_TRUE(port().link_up());
  EXPECT_EQ(close_port(), status::ok);
  EXPECT_EQ(close_port(), status::ok);
  EXPECT_EQ(changes(), changes_seen{port_change_subtype::down});
}

TEST_F(ethernet_link, is_right_in_query_port_before_the_event_comes) {
  bool up_at_event = false;
  hca->judge_events([&](event_type type) {
    if (type == event_type::port_change) up_at_event = port().link_up();
    return event_fate::deliver;
  });
  ASSERT_EQ(init_port(), status::ok);
  host->advance(second);
  EXPECT_TRUE(up_at_event);
}

TEST_F(ethernet_link, follows_the_cable) {
  open();
  changes();
  hca->plug_cable(1, false);
  host->run();
  EXPECT_FALSE(port().link_up());
  EXPECT_EQ(changes(), changes_seen{port_change_subtype::down});
  EXPECT_EQ(driver->command(opcode::sense_port, 0, 1).output, 0u);
  host->advance(2 * second);
  EXPECT_TRUE(changes().empty());
  hca->plug_cable(1, true);
  host->advance(second);
  EXPECT_EQ(changes(), changes_seen{port_change_subtype::active});
  EXPECT_EQ(driver->command(opcode::sense_port, 0, 1).output,
            static_cast<unsigned>(port_type::ethernet));
}

TEST_F(ethernet_link, never_comes_without_a_cable) {
  options how = ethernet_options();
  how.cable[0] = false;
  start_ethernet(how);
  ASSERT_EQ(init_port(), status::ok);
  host->advance(2 * second);
  EXPECT_FALSE(asked().get<&layouts::query_port::link_up>());
  EXPECT_EQ(driver->command(opcode::sense_port, 0, 1).output, 0u);
  EXPECT_FALSE(hca->set_link_faults(1, {}));
}

TEST_F(ethernet_link, ends_with_a_reset) {
  open();
  hca->reset();
  EXPECT_FALSE(port().link_up());
  EXPECT_FALSE(port().is_open());
}

TEST_F(ethernet_frames, leave_padded_and_are_captured) {
  options how = ethernet_options();
  how.capture[0] = true;
  start_ethernet(how);
  std::vector<bytes> passed;
  host->on_packet = [&](unsigned, const bytes& b) { passed.push_back(b); };
  open();
  frame f = frame_to(group, 20);
  port().transmit(f);
  f.bytes.resize(60);
  EXPECT_EQ(sent, std::vector<bytes>{f.bytes});
  EXPECT_EQ(passed, sent);
  port().transmit(frame_to(group, 61));
  EXPECT_EQ(sent.back().size(), 61u);
  EXPECT_EQ(driver->counter_named("port1_packets_sent"), 2u);
}

TEST_F(ethernet_frames, that_are_too_long_do_not_leave) {
  open();
  EXPECT_EQ(set_port(set_port_selector::general, image<set_port_general>{}
                                                     .set<&set_port_general::v_mtu>(true)
                                                     .set<&set_port_general::mtu>(1526)),
            status::ok);
  EXPECT_EQ(port().frame_bytes_most(), 1522u);
  port().transmit(frame_to(group, 1523));
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(of(statistics(), statistics::tx_giant, statistics_no_vlan), 1u);
  EXPECT_EQ(of(statistics(), statistics::tx_frames, statistics_no_vlan), 0u);
  port().transmit(frame_to(group, 1522));
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(ethernet_frames, do_not_leave_without_a_link) {
  port().transmit(frame_to(group));
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(statistics().get<&ethernet_statistics::tx_dropped>(), 1u);
}

TEST_F(ethernet_frames, arrive_padded_whole_and_later) {
  open();
  frame f = frame_to(broadcast, 42);
  hca->link_receive(1, f.bytes.data(), f.bytes.size());
  EXPECT_TRUE(above.frames.empty());
  host->run();
  f.bytes.resize(60);
  EXPECT_EQ(above.frames, std::vector<bytes>{f.bytes});
}

TEST_F(ethernet_frames, that_are_too_long_do_not_arrive) {
  open();
  set_port(
      set_port_selector::general,
      image<set_port_general>{}.set<&set_port_general::v_mtu>(true).set<&set_port_general::mtu>(
          1526));
  EXPECT_TRUE(passes(frame_to(broadcast, 1522)));
  EXPECT_FALSE(passes(frame_to(broadcast, 1523)));
  EXPECT_EQ(of(statistics(), statistics::rx_giant, statistics_no_vlan), 1u);
  EXPECT_EQ(statistics().get<&ethernet_statistics::rx_dropped_length>(), 1u);
}

TEST_F(ethernet_frames, find_a_closed_or_unplugged_port_shut) {
  EXPECT_FALSE(passes(frame_to(broadcast)));
  open();
  hca->plug_cable(1, false);
  EXPECT_FALSE(passes(frame_to(broadcast)));
  hca->plug_cable(1, true);
  host->advance(second);
  EXPECT_TRUE(passes(frame_to(broadcast)));
}

TEST_F(ethernet_frames, under_way_die_with_the_link) {
  open();
  const frame f = frame_to(broadcast);
  hca->link_receive(1, f.bytes.data(), f.bytes.size());
  port().loop_back(f);
  port().close();
  host->run();
  EXPECT_TRUE(above.frames.empty());
}

TEST_F(ethernet_frames, loop_back_past_the_link) {
  open();
  hca->plug_cable(1, false);
  host->run();
  port().loop_back(frame_to(port().mac(), 30));
  EXPECT_TRUE(above.frames.empty());
  host->run();
  ASSERT_EQ(above.frames.size(), 1u);
  EXPECT_EQ(above.frames[0].size(), 60u);
  EXPECT_TRUE(sent.empty());
  EXPECT_EQ(of(statistics(), statistics::tx_frames, statistics_loopback), 1u);
}

TEST_F(ethernet_frames, wait_for_a_full_cable_in_their_order) {
  open();
  above.told_of_room = 0;
  host->wire_full[0] = true;
  for (std::size_t n = 100; n < 110; ++n) port().transmit(frame_to(group, n));
  EXPECT_TRUE(sent.empty());
  EXPECT_TRUE(port().full());
  host->wire_full[0] = false;
  hca->link_has_room(1);
  host->run();
  ASSERT_EQ(sent.size(), 10u);
  for (std::size_t n = 0; n < 10; ++n) EXPECT_EQ(sent[n].size(), 100 + n);
  EXPECT_FALSE(port().full());
  EXPECT_EQ(above.told_of_room, 1u);
}

TEST_F(ethernet_frames, that_wait_are_bounded_and_go_with_the_cable) {
  options how = ethernet_options();
  how.host_memory_limit = options::least_host_memory;
  start_ethernet(how);
  open();
  host->wire_full[0] = true;
  const std::uint64_t before = driver->counter_named("host_memory_kept");
  for (unsigned n = 0; n < 1000; ++n) port().transmit(frame_to(group, 9000));
  const std::uint64_t kept = driver->counter_named("host_memory_kept") - before;
  EXPECT_GT(kept, 0u);
  EXPECT_LE(kept, options::least_host_memory / 16);
  EXPECT_EQ(kept / 9000 + statistics().get<&ethernet_statistics::tx_dropped>(), 1000u);
  hca->plug_cable(1, false);
  host->advance(second);
  EXPECT_FALSE(port().full());
  EXPECT_EQ(driver->counter_named("host_memory_kept"), before);
}

TEST_F(ethernet_frames, suffer_from_a_bad_cable) {
  open();
  link_faults bad;
  bad.loss = link_faults::always;
  ASSERT_TRUE(hca->set_link_faults(1, bad));
  port().transmit(frame_to(group));
  EXPECT_TRUE(sent.empty());
  bad = {};
  bad.corruption = link_faults::always;
  hca->set_link_faults(1, bad);
  for (unsigned n = 0; n < 50; ++n) port().transmit(frame_to(group));
  const bytes good = frame_to(group).bytes;
  for (const bytes& b : sent) {
    unsigned bits = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
      bits += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(b[i] ^ good[i])));
    EXPECT_EQ(bits, 1u);
  }
  EXPECT_EQ(sent.size(), 50u);
  bad = {};
  bad.duplication = link_faults::always;
  hca->set_link_faults(1, bad);
  port().transmit(frame_to(group));
  EXPECT_EQ(sent.size(), 52u);
  bad = {};
  bad.reordering = link_faults::always;
  hca->set_link_faults(1, bad);
  port().transmit(frame_to(group, 70));
  port().transmit(frame_to(group, 71));
  EXPECT_EQ(sent.size(), 54u);
  EXPECT_EQ(sent[52].size(), 71u);
  EXPECT_EQ(sent[53].size(), 70u);
}

TEST_F(ethernet_frames, of_mac_control_stay_in_the_port) {
  open();
  frame f = frame_to(0x0180'c200'0001, 60);
  store_be<std::uint16_t>(&f.bytes[12], 0x8808);
  EXPECT_FALSE(passes(f));
  EXPECT_EQ(statistics().get<&ethernet_statistics::rx_control>(), 1u);
}

TEST_F(ethernet_frames, pass_between_two_adapters) {
  // Both ends of one cable are ports of this test's kind: what leaves one reaches the other.
  options how = ethernet_options();
  how.mac += 0x10;
  test_host far_host;
  device far(far_host, how);
  test_driver far_driver(far_host, far);
  ASSERT_TRUE(far_driver.bring_up());
  frame_taker far_above;
  packet_receiver* const transport = std::exchange(far.inside().above_ports, &far_above);
  host->lay_cable(1, far_host, 1);
  ASSERT_EQ(far_driver.command(opcode::init_port, 0, 1).status, status::ok);
  open();
  const frame f = frame_to(group, 1000);
  port().transmit(f);
  host->run();
  EXPECT_EQ(far_above.frames, std::vector<bytes>{f.bytes});
  host->part();
  far.inside().above_ports = transport;
}

}  // namespace freehca::model::test
