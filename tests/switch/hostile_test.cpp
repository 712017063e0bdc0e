// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What no honest neighbour sends.
#include <algorithm>
#include <random>

#include "bench.hpp"

namespace freehca::infiniband_switch::test {
namespace {

using namespace layouts;

struct switch_hostile : bench {
  void SetUp() override {
    manage({1, 2});
    join(0, {1, 2});
    for (auto& q : around.sent) q.clear();
  }
  /// Dropped, and counted as a PortRcvErrors of port 1.
  void expect_error(const bytes& wire) {
    const auto before = counts(1).rcv_errors.total();
    node.arrived(1, wire);
    EXPECT_EQ(before + 1, counts(1).rcv_errors.total());
    for (unsigned port = 1; port <= count; ++port) EXPECT_TRUE(around.sent[port].empty());
  }
  static bytes with(bytes content, auto change) {
    auto link = image<lrh>::from_bytes(content.data());
    change(link);
    std::copy_n(link.data(), lrh::bytes, content.begin());
    return packets::to_wire(content);
  }
};

TEST_F(switch_hostile, a_wrong_variant_crc) {
  bytes wire = wire_of(datagram(1, 2));
  wire.back() ^= std::byte{1};
  expect_error(wire);
  wire = wire_of(datagram(1, 2));
  wire[40] ^= std::byte{0x10};
  expect_error(wire);
}

TEST_F(switch_hostile, a_wrong_invariant_crc_is_its_receivers_business) {
  bytes wire = wire_of(datagram(1, 2));
  wire[wire.size() - 4] ^= std::byte{1};
  packets::renew_variant_crc(wire);
  node.arrived(1, wire);
  EXPECT_EQ(wire, taken(2));
  wire = wire_of(to_qp0(directed(mad_method::get, smp_attribute::node_info)));
  wire[wire.size() - 4] ^= std::byte{1};
  packets::renew_variant_crc(wire);
  expect_error(wire);
}

TEST_F(switch_hostile, lengths_that_contradict_each_other) {
  const bytes good = packets::build(datagram(1, 2));
  for (const unsigned words : {0u, 1u, 71u, 73u, 2047u})
    expect_error(with(good, [words](auto& l) { l.template set<&lrh::packet_length>(words); }));
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{9}}) {
    bytes wire(length);
    if (length > vcrc_bytes) packets::renew_variant_crc(wire);
    expect_error(wire);
  }
  bytes huge(8000);
  packets::renew_variant_crc(huge);
  expect_error(huge);
}

TEST_F(switch_hostile, headers_that_are_not_there) {
  const bytes good = packets::build(datagram(1, 2));
  expect_error(with(good, [](auto& l) { l.template set<&lrh::link_version>(1); }));
  for (const auto next : {link_next_header::raw, link_next_header::ip_non_iba})
    expect_error(with(good, [next](auto& l) { l.template set<&lrh::lnh>(next); }));
  bytes shortest(good.begin(), good.begin() + lrh::bytes);
  expect_error(with(shortest, [](auto& l) { l.template set<&lrh::packet_length>(2); }));
}

TEST_F(switch_hostile, lanes_that_are_not_there_or_not_a_queue_pairs) {
  auto p = datagram(1, 2);
  p.virtual_lane = 8;  // of eight
  expect_error(wire_of(p));
  p.virtual_lane = 15;
  expect_error(wire_of(p));
  auto m = to_qp0(directed(mad_method::get, smp_attribute::node_info));
  m.virtual_lane = 0;
  expect_error(wire_of(m));
  m.virtual_lane = 15;
  m.grh.emplace();
  expect_error(wire_of(m));
}

TEST_F(switch_hostile, what_holds_no_mad) {
  bytes content = packets::build(to_qp0(directed(mad_method::get, smp_attribute::node_info)));
  content.resize(content.size() - 4);
  expect_error(with(content, [](auto& l) { l.template set<&lrh::packet_length>(71); }));
  auto other = directed(mad_method::get, smp_attribute::node_info);
  const auto before = counts(1).rcv_packets.total();
  give(1, to_qp0(other.set<&dr_smp::mgmt_class>(mad_class::performance)));
  give(1, to_qp0(other.set<&dr_smp::base_version>(2)));
  EXPECT_EQ(before + 2, counts(1).rcv_packets.total());
  EXPECT_TRUE(around.sent[1].empty());
}

TEST_F(switch_hostile, another_queue_pair_of_port_0) {
  give(1, datagram(1, 10));
  EXPECT_TRUE(around.sent[1].empty());
}

TEST_F(switch_hostile, anothers_lid_that_leads_to_port_0) {
  image<linear_forwarding_block> block;
  set(smp_attribute::linear_forwarding, block);  // all LIDs, so no answer comes by one
  around.sent[1].clear();
  image<smp> m;
  m.set<&smp::base_version>(1).set<&smp::mgmt_class>(mad_class::subnet_lid_routed);
  m.set<&smp::class_version>(1).set<&smp::method>(mad_method::get);
  const auto before = counts(0).rcv_errors.total();
  give(1, to_qp0(m, 1, 5));
  give(1, datagram(1, 5));
  EXPECT_EQ(before + 2, counts(0).rcv_errors.total());
}

TEST_F(switch_hostile, link_packets_of_no_known_form) {
  const auto before = counts(1).rcv_errors.total();
  node.arrived(1, bytes(6));
  say(1, static_cast<link_packet_op>(7));
  say(1, link_packet_op::flow_control, 15);
  EXPECT_EQ(before + 3, counts(1).rcv_errors.total());
  say(1, link_packet_op::flow_control, 14);  // a lane that is not in operation here
  EXPECT_EQ(before + 3, counts(1).rcv_errors.total());
  EXPECT_EQ(port_state::active, node.port(1).state());
}

TEST_F(switch_hostile, packets_before_there_is_a_link) {
  node.plug(3, true);
  give(3, datagram(3, 2));
  give(3, to_qp0(directed(mad_method::get, smp_attribute::node_info)));
  EXPECT_TRUE(around.sent[2].empty());
  EXPECT_TRUE(around.sent[3].empty());
}

/// Whatever comes, the switch does not fall over, and answers who has a link afterwards.
TEST_F(switch_hostile, noise) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    bytes content;
    switch (random() % 4) {
      case 0:
        content.resize(random() % 400);
        for (auto& b : content) b = static_cast<std::byte>(random());
        break;
      case 1:
        content = packets::build(
            datagram(static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(random())));
        break;
      default: {
        auto m = directed(random() % 2 != 0 ? mad_method::get : mad_method::set,
                          static_cast<smp_attribute>(0x10 + random() % 0x20), 0, {1, 2});
        for (unsigned i = 0; i < 8; ++i)
          m.data()[random() % 256] = static_cast<std::byte>(random());
        content = packets::build(to_qp0(m));
      }
    }
    if (random() % 8 == 0 && !content.empty())
      content[random() % content.size()] = static_cast<std::byte>(random());
    if (random() % 16 == 0) content.resize(content.size() / 2);
    node.arrived(1 + static_cast<unsigned>(random()) % count, packets::to_wire(content));
    if (random() % 64 == 0) advance(random() % (50 * ms));
    for (auto& q : around.sent) q.clear();
    for (auto& q : around.link_packets) q.clear();
    around.told.clear();
  }
  // Some of that has disabled ports or set a key; a port that comes anew is linked all the same.
  EXPECT_LE(node.port(0).info.get<&port_info::lid>(), 0xbfffu);
  for (unsigned port = 0; port <= count; ++port)
    EXPECT_LE(node.port(port).data_lanes(), 8u) << "no Set has gone past what the port can";
}

}  // namespace
}  // namespace freehca::infiniband_switch::test
