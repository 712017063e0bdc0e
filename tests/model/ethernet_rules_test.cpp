// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Who gets the frames of Ethernet ports with device-managed steering.
#include "ethernet_steering_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

using type = flow_rule_type;
using macs = std::vector<std::uint64_t>;
using ethernet_rules = ethernet_steering;

TEST_F(ethernet_rules, unicast_goes_to_the_first_rule_and_multicast_to_all) {
  start(steering::by_rules);
  for (const std::uint64_t mac : {own_mac, group_mac}) {
    ASSERT_EQ(attach({.to = 0x150, .priority = 0x5000}, to_mac(mac)), ok);
    ASSERT_EQ(attach({.to = 0x151, .priority = 0x2000}, to_mac(mac)), ok);
    ASSERT_EQ(attach({.to = 0x151, .priority = 0x6000}, to_mac(mac)), ok);
  }
  EXPECT_EQ(members(1u, test_frame(own_mac).view), (member_list{{0x151, false}}));
  EXPECT_EQ(takers(group_mac), (list{0x151, 0x150})) << "nobody gets it twice";
  EXPECT_EQ(takers(other_mac), list{});
  EXPECT_EQ(takers(own_mac, 2), list{});
  ASSERT_EQ(attach({.to = 0x152, .priority = 1, .exclusive = true}, to_mac(group_mac)), ok);
  EXPECT_EQ(takers(group_mac), (list{0x152}));
  ASSERT_EQ(detach(last_rule), ok);
  EXPECT_EQ(takers(group_mac), (list{0x151, 0x150}));
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(ethernet_rules, every_field_of_a_header_counts) {
  start(steering::by_rules);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  const auto caught = [this](const test_frame& f) { return takers(f) == list{0x151}; };
  const auto expect = [&](const bytes& rule, const test_frame& in, const test_frame& out,
                          const char* what) {
    const outcome o = attach_bytes(rule);
    ASSERT_EQ(o.status, ok) << what;
    EXPECT_TRUE(caught(in)) << what;
    EXPECT_FALSE(caught(out)) << what;
    EXPECT_EQ(takers(out), (list{0x150})) << what;
    ASSERT_EQ(detach(o.output), ok);
    EXPECT_FALSE(caught(in)) << what;
  };
  using e = flow_header_ethernet;
  using id = flow_header_id;
  const rule_head first{.to = 0x151, .priority = 1};
  const auto frame = [] { return test_frame(own_mac); };
  const auto link = to_mac(own_mac), any = to_mac(0, 0);
  expect(
      rule_of(first, image<e>(any).set<&e::smac>(other_mac).set<&e::smac_mask>(broadcast)), frame(),
      [&] {
        test_frame f = frame();
        f.view.outer.source = own_mac;
        return f;
      }(),
      "source");
  expect(rule_of(first, image<e>(link).set<&e::ether_type>(0x86dd).set<&e::ether_type_valid>(true)),
         frame().of_type(0x86dd), frame().of_type(0x0800), "type");
  const auto vlan = image<e>(link).set<&e::vlan>(7).set<&e::vlan_mask>(0xfff);
  expect(rule_of(first, vlan), frame().tagged(7), frame().tagged(8), "VLAN");
  expect(rule_of(first, image<e>(vlan).set<&e::vlan>(0)), frame().tagged(0), frame(), "no VLAN");
  expect(rule_of(first, link, of_ip(0, 2)), frame().ip(1, 2), frame().ip(1, 3), "IP destination");
  expect(rule_of(first, link, of_ip(1, 2)), frame().ip(1, 2), frame().ip(3, 2), "IP source");
  expect(rule_of(first, link, of_ip(0, 2)), frame().ip(1, 2), frame(), "no IP");
  const auto with = [&](port_protocol p, std::uint16_t to) {
    return frame().ip(1, 2).ports(p, 9, to);
  };
  constexpr auto tcp = port_protocol::tcp, udp = port_protocol::udp;
  for (const std::uint16_t source :
       {std::uint16_t{0}, std::uint16_t{9}}) {  // with 9 it is the rule of one connection
    const auto by_tcp = rule_of(first, link, of_ip(1, 2), of_ports(id::tcp, source, 80));
    const auto by_udp = rule_of(first, link, of_ip(1, 2), of_ports(id::udp, source, 80));
    expect(by_tcp, with(tcp, 80), with(tcp, 81), "TCP port");
    expect(by_tcp, with(tcp, 80), with(udp, 80), "TCP");
    expect(by_udp, with(udp, 80), with(tcp, 80), "UDP");
    expect(by_udp, with(udp, 80), frame().ip(1, 2), "later fragment");
  }
}

TEST_F(ethernet_rules, rules_look_into_tunnels) {
  start(steering::by_rules);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  ASSERT_EQ(attach({.to = 0x151, .priority = 3}, to_mac(own_mac), of_vni(0, 0), to_mac(0, 0)), ok);
  ASSERT_EQ(attach({.to = 0x152, .priority = 2}, to_mac(own_mac), of_vni(5)), ok);
  ASSERT_EQ(attach({.to = 0x153, .priority = 1}, to_mac(own_mac), of_vni(5), to_mac(other_mac),
                   of_ip(3, 4)),
            ok);
  EXPECT_EQ(takers(test_frame(own_mac)), (list{0x150}));
  EXPECT_EQ(takers(test_frame(own_mac).tunnel(6, other_mac)), (list{0x151}));
  EXPECT_EQ(takers(test_frame(own_mac).tunnel(5, own_mac)), (list{0x152}));
  EXPECT_EQ(takers(test_frame(own_mac).tunnel(5, other_mac)), (list{0x153}));
}

TEST_F(ethernet_rules, defaults_have_what_no_rule_takes) {
  start(steering::by_rules);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(broadcast)), ok);
  ASSERT_EQ(attach({.to = 0x151, .priority = 0, .type = type::multicast_default}), ok);
  EXPECT_EQ(takers(group_mac), (list{0x151}));
  EXPECT_EQ(takers(other_mac), list{});
  ASSERT_EQ(attach({.to = 0x152, .priority = 0, .type = type::all_default}), ok);
  ASSERT_EQ(attach({.to = 0x151, .priority = 1, .type = type::all_default}), ok);
  EXPECT_EQ(takers(own_mac), (list{0x150}));
  EXPECT_EQ(takers(broadcast), (list{0x150}));
  EXPECT_EQ(takers(other_mac), (list{0x152})) << "unicast: the first";
  EXPECT_EQ(takers(group_mac), (list{0x151, 0x152}));
  EXPECT_EQ(takers(other_mac, 2), list{});
}

TEST_F(ethernet_rules, sniffers_have_copies) {
  start(steering::by_rules);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  ASSERT_EQ(attach({.to = 0x151, .priority = 0, .type = type::unicast_sniffer}), ok);
  ASSERT_EQ(attach({.to = 0x152, .priority = 0, .type = type::multicast_sniffer}), ok);
  EXPECT_EQ(takers(own_mac), (list{0x150, 0x151}));
  EXPECT_EQ(takers(other_mac), (list{0x151}));
  EXPECT_EQ(takers(group_mac), (list{0x152}));
  EXPECT_EQ(takers(own_mac, 2), list{});
}

TEST_F(ethernet_rules, rules_with_a_header_of_infiniband_are_for_roce) {
  start(steering::by_rules);
  using i = flow_header_infiniband;
  std::array<std::byte, 16> mgid{}, mask;
  mgid[0] = std::byte{0xff};
  mask.fill(std::byte{0xff});
  ASSERT_EQ(attach({.to = 0x150}, header<i>(flow_header_id::infiniband)
                                      .set_bytes<&i::dgid>(mgid.data())
                                      .set_bytes<&i::dgid_mask>(mask.data())),
            ok);
  ASSERT_EQ(attach({.to = 0x151, .type = type::all_default}), ok);
  std::array<std::byte, grh::bytes> header{};
  std::copy_n(mgid.data(), mgid.size(), header.data() + grh{}.dgid.offset);
  transport_packet v;
  v.bth.set<&bth::dest_qp>(multicast_qpn);
  v.ingress.grh = header.data();
  EXPECT_EQ(members(v), (member_list{{0x150, false}}));
  v.ingress.port = 2;
  EXPECT_EQ(members(v), member_list{});
  EXPECT_EQ(takers(group_mac), (list{0x151}));
}

TEST_F(ethernet_rules, rules_have_their_bounds_by_address_and_by_connection) {
  start(steering::by_rules);
  const unsigned most = whole().limits().rules_per_group;
  for (unsigned i = 0; i < most; ++i) ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  EXPECT_EQ(attach({.to = 0x150}, to_mac(own_mac)), command_status::exceeds_limits);
  const auto one = [&](std::uint32_t to, std::uint16_t port) {
    return attach({.to = to, .priority = 1}, to_mac(own_mac), of_ip(1, 2),
                  of_ports(flow_header_id::tcp, port, 80));
  };
  ASSERT_EQ(one(0x151, 1), ok) << "a connection's rule is not looked at for others";
  // None costs a frame that it is not for.
  test_frame f(own_mac);
  f.ip(1, 2).ports(port_protocol::tcp, 1, 80);
  EXPECT_EQ(takers(f), (list{0x151}));
  const auto cost = [&] {
    const auto before = whole().account.used();
    takers(f);
    return whole().account.used() - before;
  };
  const auto alone = cost();
  for (std::uint16_t port = 2; port < 12; ++port) ASSERT_EQ(one(0x152, port), ok);
  EXPECT_EQ(cost(), alone);
  for (std::uint32_t n = most + 11; n < 1u << test_driver::log_mc_table; ++n)
    ASSERT_EQ(attach({.to = 0x153}, to_mac(n)), ok);
  EXPECT_EQ(attach({.to = 0x153}, to_mac(other_mac)), command_status::exceeds_limits);
}

TEST_F(ethernet_rules, as_many_as_ethtool_gives_stand_for_one_address) {
  start(steering::by_rules);
  whole().profile.log_mc_table = 11;
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  const auto to_port = [this](std::uint32_t to, std::uint16_t port) {
    return attach({.to = to, .priority = 0x2000}, to_mac(own_mac), of_ip(0, 2),
                  of_ports(flow_header_id::tcp, 0, port));
  };
  for (std::uint16_t port = 1; port <= 256; ++port) ASSERT_EQ(to_port(0x151, port), ok) << port;
  ASSERT_EQ(to_port(0x152, 300), ok);
  EXPECT_EQ(takers(test_frame(own_mac).ip(1, 2).ports(port_protocol::tcp, 5, 300)), (list{0x152}));
  // One frame is not compared with any number.
  std::uint16_t port = 1000;
  while (port < 5000 && to_port(0x151, port) == ok) ++port;
  EXPECT_EQ(port, 1000 + flow_steering::rules_per_key - 258);
}

TEST_F(ethernet_rules, hostile_rules) {
  using s = command_status;
  using e = flow_header_ethernet;
  start(steering::by_rules);
  const bytes good = rule_of({.to = 0x150}, to_mac(own_mac));
  // {byte, value}: mirrors, no type, reserved bits, ports, function, header's size and id.
  const struct {
    std::size_t at;
    unsigned value;
    s status = s::bad_parameter;
  } wrong[] = {{2, 2},
               {2, 4},
               {2, 5},
               {2, 8},
               {2, 0xff},
               {3, 0x10},
               {5, 1},
               {0x10, 4},
               {0x10, 0},
               {0x11, 1},
               {0x13, 2},
               {0x13, 3},
               {0x13, 9},
               {0x12, 1},
               {0x14, 1},
               {0x18, 1},
               {7, 0, s::bad_parameter},
               {7, 3, s::bad_parameter}};
  for (const auto& w : wrong) {
    bytes bad = good;
    bad[w.at] = static_cast<std::byte>(w.value);
    EXPECT_EQ(attach_bytes(bad).status, w.status) << "byte " << w.at << " = " << w.value;
  }
  for (std::size_t words = 0; words < good.size() / 4; ++words)
    EXPECT_EQ(
        attach_bytes({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(words * 4)}).status,
        s::bad_parameter)
        << words;
  const rule_head r{.to = 0x150};
  EXPECT_EQ(attach(r), s::bad_parameter) << "a regular rule has a header";
  EXPECT_EQ(attach(r, to_mac(1), to_mac(2)), s::bad_parameter);
  EXPECT_EQ(attach(r, of_ip(1, 2), to_mac(2)), s::bad_parameter);
  EXPECT_EQ(attach(r, to_mac(1), of_ports(flow_header_id::tcp, 1, 2), of_ip(1, 2)),
            s::bad_parameter);
  EXPECT_EQ(attach(r, to_mac(1), of_vni(1), of_vni(2)), s::bad_parameter);
  EXPECT_EQ(attach(r, to_mac(1), header<e>(flow_header_id::ipv6)), s::bad_parameter);
  EXPECT_EQ(attach(r, to_mac(1), header<flow_header_infiniband>(flow_header_id::infiniband)),
            s::bad_parameter);
  EXPECT_EQ(attach({.to = 1u << test_driver::log_qps}, to_mac(1)), s::bad_index);
  EXPECT_EQ(attach({.to = 0x3ff}, to_mac(own_mac)), ok) << "in reset: what it catches is dropped";
  EXPECT_EQ(takers(own_mac), (list{0x3ff}));
}

TEST_F(ethernet_rules, malformed_rules_that_are_taken_take_nothing) {
  start(steering::by_rules, false);
  ASSERT_EQ(attach({.to = 0x150}), ok);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac), to_mac(own_mac)), ok);
  EXPECT_EQ(takers(own_mac), list{});
  EXPECT_GT(hca->complaints(), 0u);
  EXPECT_TRUE(under_test->listens(1).unicast.empty());
}

TEST_F(ethernet_rules, mirrors_are_refused_always) {
  start(steering::by_rules, false);
  for (const type mirror : {type::mirror_receive, type::mirror_send})
    EXPECT_EQ(attach({.to = 0x150, .type = mirror}), command_status::bad_parameter);
  EXPECT_EQ(takers(own_mac), list{});
}

TEST_F(ethernet_rules, rules_tell_their_addresses) {
  start(steering::by_rules);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(own_mac)), ok);
  ASSERT_EQ(attach({.to = 0x151}, to_mac(own_mac)), ok);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(group_mac)), ok);
  ASSERT_EQ(attach({.to = 0x150, .port = 2}, to_mac(other_mac)), ok);
  ASSERT_EQ(attach({.to = 0x150}, to_mac(other_mac, 0xff), of_ip(1, 2)), ok);
  EXPECT_EQ(under_test->listens(1).unicast, macs{own_mac});
  EXPECT_EQ(under_test->listens(1).multicast, macs{group_mac});
  EXPECT_EQ(under_test->listens(2).unicast, macs{other_mac});
  ASSERT_EQ(attach({.to = 0x150, .type = type::multicast_default}), ok);
  EXPECT_TRUE(under_test->listens(1).all_multicast);
  EXPECT_FALSE(under_test->listens(1).promiscuous);
  ASSERT_EQ(attach({.to = 0x150, .type = type::all_default}), ok);
  EXPECT_TRUE(under_test->listens(1).promiscuous);
  ASSERT_EQ(detach(last_rule), ok);
  EXPECT_FALSE(under_test->listens(1).promiscuous);
  EXPECT_FALSE(under_test->listens(2).all_multicast);
}

}  // namespace
}  // namespace freehca::model::test
