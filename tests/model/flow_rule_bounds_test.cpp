// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What it costs to find the receivers of a frame or a datagram when a guest has made as many flow
// steering rules as it can, by the units of the account and by the comparisons and matches that are
// counted beside it.
#include <set>

#include <freehca/layouts/flow_rule.hpp>

#include "basis/work_account.hpp"
#include "ethernet_steering_fixture.hpp"
#include "frame_fixture.hpp"

namespace freehca::model::test {

namespace {

using layouts::command_status;
using layouts::flow_rule_type;
using units = work_account::units;

class worst_rules : public ethernet_steering {
 protected:
  using e = layouts::flow_header_ethernet;
  using p = layouts::flow_header_ports;

  /// As many rules for each key as are taken. Rules of one key differ in the mask of the source
  /// address, so that none is refused as the like of another. `source`: whose frames they take.
  void fill(std::uint64_t destination, std::uint64_t source) {
    whole().profile.log_mc_table = 14;
    const auto link = [&](std::uint64_t mask, std::uint64_t number) {
      return image<e>(to_mac(destination, mask))
          .set<&e::smac>(source & number)
          .set<&e::smac_mask>(number);
    };
    const auto as_many = [&](auto&& one) {
      std::uint32_t n = 0;
      while (n < 4096 && one(n + 1) == command_status::ok) ++n;
      EXPECT_EQ(n, flow_steering::rules_per_key);
      attached += n;
    };
    const auto head = [](std::uint32_t n, flow_rule_type type = flow_rule_type::regular) {
      return rule_head{.to = n % (1u << test_driver::log_qps), .priority = n % 7, .type = type};
    };
    as_many([&](std::uint32_t n) { return attach(head(n), link(broadcast, n)); });
    as_many([&](std::uint32_t n) {
      return attach(head(n), link(broadcast, n), of_ip(1, 2),
                    of_ports(layouts::flow_header_id::udp, 5, 80));
    });
    as_many([&](std::uint32_t n) { return attach(head(n), link(0xff, n)); });
    for (const auto type : {flow_rule_type::all_default, flow_rule_type::multicast_default,
                            flow_rule_type::unicast_sniffer, flow_rule_type::multicast_sniffer})
      as_many([&](std::uint32_t n) { return attach(head(n, type), link(0, n)); });
  }
  static test_frame frame_to(std::uint64_t mac) {
    test_frame f(mac);
    f.ip(1, 2).ports(port_protocol::udp, 5, 80);
    return f;
  }
  std::uint64_t compared() { return driver->counter_named("flow_rules_compared"); }
  std::uint64_t matched() { return driver->counter_named("flow_rules_matched"); }

  struct cost {
    std::uint64_t compared = 0, matched = 0;
    units all = 0, greatest = 0;
    unsigned steps = 0;
    std::size_t receivers = 0;
  };
  /// Of a whole search, each of whose steps begins when the slice is over.
  cost of_search(const test_frame& f) {
    work_account& account = whole().account;
    cost c;
    const std::uint64_t compared_before = compared(), matched_before = matched();
    auto s = under_test->begin(1u, f.view);
    member_list found;
    for (bool ended = false; !ended; ++c.steps) {
      account.begin_call();
      account.charge(options::default_turn_units);
      const units before = account.used();
      ended = under_test->go_on(s, 1u, f.view, found);
      c.greatest = std::max(c.greatest, account.used() - before);
      c.all += account.used() - before;
    }
    c.compared = compared() - compared_before;
    c.matched = matched() - matched_before;
    c.receivers = found.size();
    std::set<std::uint32_t> numbers;
    for (const member& m : found) numbers.insert(m.qpn);
    EXPECT_EQ(numbers.size(), found.size()) << "a queue pair gets it twice";
    return c;
  }
  void expect_bounded(const cost& c) {
    EXPECT_LE(c.greatest, work_account::step);
    EXPECT_LE(c.greatest, flow_steering::step_at_most);
    EXPECT_EQ(c.all, c.compared * work_account::entry + c.matched * flow_steering::match);
  }

  std::uint64_t attached = 0;
};

constexpr std::uint64_t per_key = flow_steering::rules_per_key;

}  // namespace

TEST_F(worst_rules, that_take_a_frame_cost_no_step_more_than_a_step) {
  start(steering::by_rules);
  fill(group_mac, other_mac);
  EXPECT_EQ(attached, 7 * per_key);
  const cost c = of_search(frame_to(group_mac));
  EXPECT_EQ(c.compared, 4 * per_key) << "of address, connection, any frame, and sniffers";
  EXPECT_EQ(c.matched, c.compared);
  EXPECT_EQ(c.receivers, per_key) << "the queue pairs of all keys are the same";
  EXPECT_GE(c.steps, 2u) << "no turn can end between";
  expect_bounded(c);
}

TEST_F(worst_rules, that_take_no_frame_cost_no_step_more_than_a_step) {
  start(steering::by_rules);
  // Each rule wants a bit that the frame's source has not.
  fill(group_mac, ~other_mac & 0xffff'ffff'ffff);
  const cost c = of_search(frame_to(group_mac));
  EXPECT_EQ(c.compared, 6 * per_key);
  EXPECT_EQ(c.matched, 0u);
  EXPECT_EQ(c.receivers, 0u);
  EXPECT_GE(c.steps, 3u);
  expect_bounded(c);
}

TEST_F(worst_rules, of_unicast_cost_no_step_more_than_a_step) {
  start(steering::by_rules);
  fill(own_mac, other_mac);
  const cost c = of_search(frame_to(own_mac));
  EXPECT_EQ(c.compared, 4 * per_key);
  expect_bounded(c);
}

TEST_F(worst_rules, of_one_key_leave_room_to_none_more) {
  start(steering::by_rules);
  fill(group_mac, other_mac);
  EXPECT_EQ(
      attach({.to = 0x150},
             image<e>(to_mac(group_mac)).set<&e::ether_type>(1).set<&e::ether_type_valid>(true)),
      command_status::exceeds_limits);
  EXPECT_EQ(attach({.to = 0x150}, to_mac(other_mac)), command_status::ok);
}

namespace {

/// Rules of the whole adapter, in turns that are as short as they can be.
class worst_rules_of_an_adapter : public frame_fixture {
 protected:
  worst_rules_of_an_adapter() : frame_fixture(short_turns(), steering::by_rules) {
    hca->inside().profile.log_mc_table = 14;
  }
  static options short_turns() {
    options how = ethernet_options();
    how.turn_units = options::least_turn_units;
    return how;
  }
  command_status attach(flow_rule_type type, std::uint32_t to, std::uint64_t source_mask) {
    using k = layouts::flow_rule_control;
    using e = layouts::flow_header_ethernet;
    const auto control = layouts::image<k>{}
                             .set<&k::type>(type)
                             .set<&k::allow_loopback>(true)
                             .set<&k::port>(1)
                             .set<&k::qpn>(to);
    const auto link = layouts::image<e>{}
                          .set<&e::words>(e::bytes / 4)
                          .set<&e::id>(layouts::flow_header_id::ethernet)
                          .set<&e::smac>(peer_mac & source_mask)
                          .set<&e::smac_mask>(source_mask);
    host->store(driver->input, control);
    host->store(driver->input + k::bytes, link);
    return driver
        ->command(layouts::opcode::qp_flow_steering_attach, driver->input,
                  (k::bytes + e::bytes) / 4)
        .status;
  }
};

}  // namespace

TEST_F(worst_rules_of_an_adapter, are_searched_and_obeyed_in_steps_of_their_own) {
  test_qp qp = make_frame_qp(0x150);
  post_receive(qp, region_start + 0x10000, 2048, key);
  for (const auto type : {flow_rule_type::all_default, flow_rule_type::multicast_sniffer})
    for (std::uint32_t n = 1; n <= per_key; ++n)
      ASSERT_EQ(attach(type, qp.number, n), command_status::ok) << n;
  host->run();
  work_account& account = hca->inside().account;
  account.forget_greatest();
  const frame_bytes f = plain(0x0100'5e00'0001, peer_mac, 1500);
  hca->link_receive(1, f.data(), f.size());
  const auto compared = [this] { return driver->counter_named("flow_rules_compared"); };
  const auto told = [this] { return driver->counter_named("cqes"); };
  unsigned turns = 0;
  for (std::uint64_t had = told(); told() == had; ++turns) {
    ASSERT_LT(turns, 1000u) << "the frame does not come";
    const std::uint64_t before = compared();
    hca->on_timer();
    EXPECT_TRUE(compared() == before || told() == had)
        << "rules were compared and a copy was made in one step";
  }
  EXPECT_GE(compared(), 2 * per_key);
  host->run();
  EXPECT_LE(account.greatest(), options::least_turn_units + work_account::step);
}

}  // namespace freehca::model::test
