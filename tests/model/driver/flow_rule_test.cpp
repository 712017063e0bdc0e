// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Rules of device-managed steering.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <freehca/hca/kinds/promiscuous_mode.hpp>
#include <freehca/layouts/register_map.hpp>

#include "counts.hpp"

namespace freehca::testing::flow_rule_tests {
namespace {

using fate = model::command_verdict::fate;
using layouts::flow_rule_type;
using layouts::opcode;
using layouts::qp_service;
using layouts::qp_state;
using places = std::vector<std::size_t>;

constexpr std::uint32_t qkey = 0x1234567;
constexpr unsigned slot_bytes = 256;

gid group(unsigned n) {
  gid g;
  g.raw[0] = 0xff;
  g.raw[1] = 0x12;
  g.raw[15] = static_cast<std::uint8_t>(n);
  return g;
}

/// Port 1 is an InfiniBand port, or an Ethernet port.
rig_options by_rules(bool ethernet = false) {
  rig_options how = exact();
  how.budget.log_mcg_entry_bytes = 10;
  how.by_rules = true;
  if (ethernet) how.machine.model.link[0] = model::link_layer::ethernet;
  return how;
}

/// Datagram queue pairs that share a completion queue.
class rules_rig : public verbs_rig {
 public:
  explicit rules_rig(const rig_options& how = by_rules()) : verbs_rig(how), empty(counts(*this)) {
    domain = objects.create<protection_domain>().value();
    create_completion_queue create;
    create.start(objects, {.entries = 127});
    EXPECT_TRUE(await(create).ok());
    cq = create.made();
    memory.emplace(*this, domain, 16 * slot_bytes, 0, memory_access{.local_write = true});
    for (unsigned i = 0; i < 3; ++i) add_pair();
    before = counts(*this);
    adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  }
  ~rules_rig() {
    machine.adapter().judge_commands({});
    if (domain) {
      EXPECT_EQ(counts(*this), before);
      EXPECT_EQ(machine.counter("flow_rules"), 0u);
      for (const qp_handle q : queue) EXPECT_TRUE(destroy_pair(q).ok());
      memory.reset();
      destroy_completion_queue destroy;
      destroy.start(objects, cq);
      EXPECT_TRUE(await(destroy).ok());
      EXPECT_TRUE(objects.destroy(domain).ok());
      EXPECT_EQ(counts(*this), empty);
    }
    std::string all;
    for (const std::string& c : machine.complaints()) all += c + "\n";
    EXPECT_EQ(machine.adapter().complaints(), 0u) << all;
  }
  /// A reset has taken every object.
  void abandon() {
    memory->region = {};
    memory.reset();
    domain = {};
  }

  void add_pair() {
    create_queue_pair create;
    create.start(objects, {.pd = domain,
                           .send_cq = cq,
                           .receive_cq = cq,
                           .service = qp_service::ud,
                           .sends = 16,
                           .receives = 16});
    EXPECT_TRUE(await(create).ok());
    queue.push_back(create.made());
    if (adapter.port(1).link_layer != layouts::port_type::ethernet) move_to_rts(queue.back());
  }
  void move_to_rts(qp_handle q) {
    connection_attributes a;
    a.qkey = qkey;
    a.address = infiniband_path{.dlid = adapter.port(1).lid};
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      modify_queue_pair move;
      move.start(objects, q, to, a);
      EXPECT_TRUE(await(move).ok());
    }
  }
  status destroy_pair(qp_handle q) {
    destroy_queue_pair destroy;
    destroy.start(objects, q);
    return await(destroy);
  }
  void settle() {
    run([] { return false; }, clock::milliseconds(1));
  }

  status create(const flow_rule_attributes& a, flow_rule_handle* made = nullptr) {
    create_flow_rule op;
    op.start(objects, a);
    const status s = await(op);
    if (made != nullptr) *made = op.made();
    EXPECT_EQ(s.ok(), static_cast<bool>(op.made()));
    return s;
  }
  flow_rule_handle must_create(const flow_rule_attributes& a) {
    flow_rule_handle made;
    const status s = create(a, &made);
    EXPECT_TRUE(s.ok()) << words(s) << static_cast<unsigned>(objects.refused().what);
    return made;
  }
  flow_rule_handle must_join(std::size_t pair, unsigned n, bool block_loopback = false) {
    return must_create(group_rule(queue[pair], 1, group(n), block_loopback));
  }
  status destroy(flow_rule_handle which) {
    destroy_flow_rule op;
    op.start(objects, which);
    return await(op);
  }

  /// Sends a datagram to a group. Returns the queue pairs that got it, by their places.
  places receivers(std::size_t from, unsigned n) {
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const queues::data_entry to = memory->entry((1 + i) * slot_bytes, slot_bytes);
      auto& ring = objects.find(queue[i])->rings.receive;
      EXPECT_TRUE(ring.post_and_ring({.wr_id = i, .list = &to, .entries = 1}).ok());
    }
    const auto made = objects.create<address_handle>(
        {.pd = domain,
         .address =
             infiniband_path{.dlid = 0xc001, .global = true, .hop_limit = 1, .dgid = group(n)}});
    EXPECT_TRUE(made.ok());
    EXPECT_TRUE(objects.find(queue[from])
                    ->rings.send
                    .post_and_ring(queues::send_datagram{
                        .wr_id = 99,
                        .to = {&objects.find(made.value())->address, 0xffffff, qkey},
                        .data = memory->entry(0, 32)})
                    .ok());
    settle();
    places got;
    queues::work_completion w;
    auto& rings = objects.find(cq)->rings;
    while (rings.poll(&w, 1) == 1) {
      EXPECT_TRUE(w.ok()) << name_of(w.status);
      if (w.wr_id != 99) got.push_back(w.wr_id);
    }
    EXPECT_TRUE(objects.destroy(made.value()).ok());
    std::sort(got.begin(), got.end());
    // Takes the receives back that were not used.
    for (const qp_handle q : queue) {
      modify_queue_pair move;
      move.start(objects, q, qp_state::reset, {});
      EXPECT_TRUE(await(move).ok());
      move_to_rts(q);
    }
    return got;
  }
  std::uint64_t posted() { return adapter.commands().statistics().posted; }
  void strike(opcode which, fate what) {
    machine.adapter().judge_commands(
        [which, what](opcode code, std::uint32_t) -> model::command_verdict {
          if (code != which) return {};
          return {.what = what, .status = layouts::command_status::internal_error};
        });
  }
  void calm() { machine.adapter().judge_commands({}); }

  std::vector<std::uint64_t> empty, before;
  pd_handle domain;
  cq_handle cq;
  std::vector<qp_handle> queue;
  std::optional<registered_buffer> memory;
};

TEST(flow_rule, of_a_group_reaches_every_member_and_no_other) {
  rules_rig rig;
  EXPECT_EQ(rig.machine.counter("init_device_managed_steering"), 1u);
  const flow_rule_handle a = rig.must_join(0, 1), b = rig.must_join(1, 1, true);
  const flow_rule_handle other = rig.must_join(2, 2);
  EXPECT_EQ(rig.machine.counter("flow_rules"), 3u);
  EXPECT_EQ(rig.receivers(2, 1), (places{0, 1}));
  EXPECT_EQ(rig.receivers(0, 1), (places{0, 1}));
  EXPECT_EQ(rig.receivers(1, 1), (places{0})) << "what it sends itself is blocked";
  EXPECT_EQ(rig.receivers(0, 2), (places{2}));
  EXPECT_EQ(rig.receivers(0, 3), (places{}));
  EXPECT_TRUE(rig.destroy(a).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{1}));
  EXPECT_TRUE(rig.destroy(a).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.destroy(b).ok());
  EXPECT_TRUE(rig.destroy(other).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{}));
}

TEST(flow_rule, that_is_exclusive_hides_those_behind_it) {
  rules_rig rig;
  const flow_rule_handle behind = rig.must_join(0, 1);
  flow_rule_attributes first = group_rule(rig.queue[1], 1, group(1));
  first.domain = flow_domain::verbs;
  first.exclusive = true;
  const flow_rule_handle before = rig.must_create(first);
  EXPECT_EQ(rig.receivers(2, 1), (places{1}));
  EXPECT_TRUE(rig.destroy(before).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{0}));
  EXPECT_TRUE(rig.destroy(behind).ok());
}

/// No queue pair here takes frames: what the device has of the rules is looked at.
TEST(flow_rule, of_frames_has_its_headers_and_its_type) {
  rules_rig rig(by_rules(true));
  std::vector<flow_rule_handle> all;
  flow_rule_attributes a{.pair = rig.queue[0], .priority = 0xfff};
  a.headers[0] = ethernet_flow{.destination = 0x0002'c900'0001,
                               .destination_mask = most_mac,
                               .vlan = 4094,
                               .vlan_mask = 0xfff,
                               .by_ether_type = true,
                               .ether_type = 0x0800};
  a.headers[1] = ipv4_flow{.destination = 0x0a000001, .destination_mask = 0xffffffff};
  a.headers[2] = udp_flow{{.destination = 4791, .destination_mask = 0xffff}};
  for (a.header_count = 1; a.header_count <= 3; ++a.header_count) all.push_back(rig.must_create(a));
  a.header_count = 3;
  a.headers[2] = tcp_flow{.source = 80, .source_mask = 0xffff};
  all.push_back(rig.must_create(a));
  a.header_count = 0;
  a.type = flow_rule_type::all_default;
  all.push_back(rig.must_create(a));
  a.type = flow_rule_type::multicast_default;
  all.push_back(rig.must_create(a));
  a.header_count = 1;
  EXPECT_TRUE(rig.create(a).is(driver_error::bad_argument)) << "a type without headers";
  EXPECT_EQ(rig.objects.refused().what, attribute_id::rule_headers);
  EXPECT_EQ(rig.machine.counter("flow_rules"), all.size());
  for (const flow_rule_handle h : all) EXPECT_TRUE(rig.destroy(h).ok());
}

TEST(flow_rule, holds_its_queue_pair_and_there_are_so_many_of_them) {
  rules_rig rig;
  std::vector<flow_rule_handle> all{rig.must_join(0, 0)};
  EXPECT_TRUE(rig.destroy_pair(rig.queue[0]).is(driver_error::busy));
  EXPECT_TRUE(rig.objects.destroy(all[0]).is(driver_error::busy)) << "an operation does that";
  for (unsigned n = 1; n < every_kind().count<flow_rule>(); ++n)
    all.push_back(rig.must_join(n % 3, n));
  const status s = rig.create(group_rule(rig.queue[1], 1, group(99)));
  EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
  EXPECT_EQ(s.where(), flow_rule::facts.item);
  for (const flow_rule_handle h : all) EXPECT_TRUE(rig.destroy(h).ok());
}

TEST(flow_rule, needs_a_table_with_room) {
  rig_options how = by_rules();
  how.budget.log_mcgs = 2;
  rules_rig rig(how);
  std::vector<flow_rule_handle> all;
  for (unsigned n = 0; n < 4; ++n) all.push_back(rig.must_join(0, n));
  const status s = rig.create(group_rule(rig.queue[1], 1, group(4)));
  EXPECT_TRUE(s.is(layouts::command_status::exceeds_limits)) << words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(opcode::qp_flow_steering_attach));
  for (const flow_rule_handle h : all) EXPECT_TRUE(rig.destroy(h).ok());
}

/// No source says that firmware refuses a second rule for the same packets. The model takes it.
TEST(flow_rule, that_is_there_already_is_a_rule_too) {
  rules_rig rig;
  const flow_rule_handle a = rig.must_join(0, 1), b = rig.must_join(0, 1);
  EXPECT_NE(a, b);
  EXPECT_TRUE(rig.destroy(a).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{0}));
  EXPECT_TRUE(rig.destroy(b).ok());
}

TEST(flow_rule, is_refused_without_a_command) {
  rules_rig rig;
  const std::uint64_t posted = rig.posted();
  EXPECT_TRUE(rig.create(group_rule({}, 1, group(1))).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.destroy({}).is(driver_error::stale_handle));
  EXPECT_FALSE(rig.objects.create<multicast_table>().ok()) << "it has the rules";
  EXPECT_EQ(rig.posted(), posted);
}

TEST(flow_rule, needs_device_managed_steering) {
  verbs_rig rig(exact());
  create_flow_rule op;
  op.start(rig.objects, {});
  EXPECT_TRUE(rig.await(op).is(driver_error::unsupported));
}

TEST(flow_rule, stays_as_it_was_if_the_firmware_refuses) {
  rules_rig rig;
  const flow_rule_handle kept = rig.must_join(0, 1);
  rig.strike(opcode::qp_flow_steering_attach, fate::refuse);
  const auto before = counts(rig);
  EXPECT_EQ(rig.create(group_rule(rig.queue[1], 1, group(2))).who(), origin::firmware);
  EXPECT_EQ(counts(rig), before);
  rig.strike(opcode::qp_flow_steering_detach, fate::refuse);
  EXPECT_EQ(rig.destroy(kept).who(), origin::firmware);
  rig.calm();
  EXPECT_EQ(rig.receivers(2, 1), (places{0}));
  EXPECT_TRUE(rig.destroy(kept).ok());
}

TEST(flow_rule, in_doubt_is_what_the_late_answer_says) {
  rules_rig rig;
  const flow_rule_handle rule = rig.must_join(0, 1);
  rig.strike(opcode::qp_flow_steering_detach, fate::hold);
  EXPECT_TRUE(rig.destroy(rule).is(transport_error::timeout));
  EXPECT_TRUE(rig.destroy(rule).is(driver_error::busy));
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  rig.calm();
  rig.machine.adapter().release_held_commands();
  rig.settle();
  EXPECT_EQ(rig.objects.holdings().in_doubt, 0u);
  EXPECT_TRUE(rig.destroy(rule).is(driver_error::stale_handle));
}

/// Nobody knows its number.
TEST(flow_rule, that_was_created_late_stays_until_the_reset) {
  for (const bool dropped : {false, true}) {
    rules_rig rig;
    rig.strike(opcode::qp_flow_steering_attach, fate::hold);
    auto op = std::make_unique<create_flow_rule>();
    op->start(rig.objects, group_rule(rig.queue[0], 1, group(1)));
    rig.run([&] { return rig.machine.adapter().held_commands() != 0; });
    if (!dropped) {
      op->cancel();
      EXPECT_TRUE(rig.await(*op).is(driver_error::cancelled));
      EXPECT_FALSE(op->made());
    }
    op.reset();
    EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
    rig.calm();
    rig.machine.adapter().release_held_commands();
    rig.settle();
    EXPECT_EQ(rig.objects.holdings().in_doubt, 0u);
    EXPECT_EQ(rig.objects.held<flow_rule>(), 1u);
    EXPECT_TRUE(rig.destroy_pair(rig.queue[0]).is(driver_error::busy));
    operation again;
    rig.adapter.recover(again);
    EXPECT_TRUE(rig.await(again).ok());
    EXPECT_TRUE(rig.objects.holdings().none());
    rig.abandon();
  }
}

/// While the operation waits, and while the rule is in doubt.
TEST(flow_rule, ends_with_a_reset) {
  for (const opcode held : {opcode::qp_flow_steering_attach, opcode::qp_flow_steering_detach}) {
    for (const bool doubt : {false, true}) {
      rules_rig rig;
      const flow_rule_handle rule = rig.must_join(0, 1);
      rig.strike(held, fate::hold);
      create_flow_rule create;
      destroy_flow_rule destroy;
      operation* op = &create;
      if (held == opcode::qp_flow_steering_attach) {
        create.start(rig.objects, group_rule(rig.queue[1], 1, group(2)));
      } else {
        destroy.start(rig.objects, rule);
        op = &destroy;
      }
      rig.run([&] { return rig.machine.adapter().held_commands() != 0; });
      if (doubt) {
        EXPECT_TRUE(rig.await(*op).is(transport_error::timeout));
      }
      rig.calm();
      operation again;
      rig.adapter.recover(again);
      EXPECT_TRUE(rig.await(again).ok());
      EXPECT_FALSE(rig.await(*op).ok());
      EXPECT_TRUE(rig.objects.holdings().none());
      EXPECT_TRUE(rig.destroy(rule).is(driver_error::stale_handle));
      rig.machine.adapter().release_held_commands();
      rig.abandon();
    }
  }
}

/// The entries of a port of B0 steering, where rules are not.
TEST(promiscuous_mode, is_an_entry_for_unicast_and_one_for_groups) {
  rig_options how = exact();
  how.machine.model.link[0] = model::link_layer::ethernet;
  rules_rig rig(how);
  std::vector<std::pair<std::uint32_t, layouts::image<layouts::mcg_header>>> sent;
  std::uint32_t member = 0;
  rig.machine.adapter().judge_commands(
      [&](opcode code, std::uint32_t modifier) -> model::command_verdict {
        if (code != opcode::write_mcg) return {};
        const std::uint64_t high = rig.machine.mmio_read_32(0, layouts::bar0::hcr),
                            low = rig.machine.mmio_read_32(0, layouts::bar0::hcr + 4);
        const std::byte* const at = rig.machine.memory().find(high << 32 | low, 64);
        if (at == nullptr) return {};
        sent.emplace_back(modifier, layouts::image<layouts::mcg_header>::from_bytes(at));
        member = layouts::load_be<std::uint32_t>(at + layouts::mcg_header::bytes);
        return {};
      });
  const auto set = [&](unsigned port, qp_handle pair, bool unicast, bool groups) {
    set_promiscuous_mode op;
    op.start(rig.objects, port, pair, unicast, groups);
    return rig.await(op);
  };
  const std::uint32_t qpn = rig.objects.find(rig.queue[0])->number;
  using head = layouts::mcg_header;
  for (const bool unicast : {true, false}) {
    for (const bool groups : {true, false}) {
      sent.clear();
      const status s = set(1, rig.queue[0], unicast, groups);
      ASSERT_TRUE(s.ok()) << words(s);
      ASSERT_EQ(sent.size(), 2u);
      EXPECT_EQ(member, qpn);
      EXPECT_EQ(sent[0].first, 0x10002u);
      EXPECT_EQ(sent[1].first, 0x10000u);
      EXPECT_EQ(sent[0].second.get<&head::members_count>(), unicast ? 1u : 0u);
      EXPECT_EQ(sent[1].second.get<&head::members_count>(), groups ? 1u : 0u);
      EXPECT_EQ(sent[1].second.get<&head::protocol>(), layouts::mcg_protocol::ethernet);
    }
  }
  sent.clear();
  EXPECT_TRUE(set(2, rig.queue[0], true, true).is(driver_error::unsupported)) << "InfiniBand";
  EXPECT_TRUE(set(0, rig.queue[0], true, true).is(driver_error::bad_argument));
  EXPECT_TRUE(set(3, rig.queue[0], true, true).is(driver_error::bad_argument));
  EXPECT_TRUE(set(1, {}, true, true).is(driver_error::stale_handle));
  set_promiscuous_mode first, second;
  first.start(rig.objects, 1, rig.queue[0], false, false);
  second.start(rig.objects, 1, rig.queue[0], false, false);
  EXPECT_TRUE(rig.await(second).is(driver_error::busy));
  EXPECT_TRUE(rig.await(first).ok());
  sent.clear();
  rig.strike(opcode::write_mcg, fate::refuse);
  EXPECT_EQ(set(1, rig.queue[0], false, false).who(), origin::firmware);
  rig.calm();
  EXPECT_TRUE(set(1, rig.queue[0], false, false).ok());
  EXPECT_EQ(rig.create({.pair = rig.queue[0]}).where(), 0u);
}

TEST(promiscuous_mode, is_rules_where_the_device_steers_by_them) {
  rules_rig rig(by_rules(true));
  set_promiscuous_mode op;
  op.start(rig.objects, 1, rig.queue[0], true, true);
  EXPECT_TRUE(rig.await(op).is(driver_error::unsupported));
}

status bring_up_of(const rig_options& how) {
  in_process::machine machine(how.machine);
  storage memory(device::storage_bytes(how.budget));
  device adapter;
  device_setup setup{.platform = machine.platform(),
                     .budget = how.budget,
                     .storage = memory.at(),
                     .storage_bytes = memory.bytes()};
  steer_by_rules(setup);
  EXPECT_TRUE(adapter.open(setup).ok());
  operation up;
  adapter.bring_up(up);
  EXPECT_TRUE(machine.run([&] { return up.done(); },
                          [&] {
                            adapter.poll();
                            return adapter.next_deadline();
                          },
                          60'000'000'000));
  EXPECT_EQ(adapter.failure().step, bring_up_step::init_hca);
  EXPECT_TRUE(adapter.holdings().none());
  const status cause = adapter.failure().cause;
  adapter.close();
  return cause;
}

TEST(flow_rule, is_not_chosen_at_bring_up_if_the_device_or_the_budget_lacks_something) {
  rig_options how = by_rules();
  how.budget.log_mcg_entry_bytes = 8;
  const status s = bring_up_of(how);
  EXPECT_TRUE(s.is(driver_error::bad_argument)) << words(s);
  how = by_rules();
  how.machine.model.kind = model::variant::connectx2;
  EXPECT_TRUE(bring_up_of(how).is(driver_error::unsupported));
}

TEST(flow_rule, leaves_the_multicast_table_to_a_device_without_rules) {
  rig_options how = by_rules();
  how.rules_are_required = false;
  {
    rules_rig rig(how);
    EXPECT_TRUE(rig.adapter.steers_by_rules());
    EXPECT_TRUE(rig.destroy(rig.must_join(0, 1)).ok());
  }
  how.machine.model.kind = model::variant::connectx2;
  rules_rig rig(how);
  EXPECT_FALSE(rig.adapter.steers_by_rules());
  EXPECT_EQ(rig.machine.counter("init_device_managed_steering"), 0u);
  EXPECT_TRUE(rig.create(group_rule(rig.queue[0], 1, group(1))).is(driver_error::unsupported));
  const auto table = rig.objects.create<multicast_table>();
  ASSERT_TRUE(table.ok());
  join_group join;
  join.start(rig.objects, {.table = table.value(), .pair = rig.queue[0], .group = group(1)});
  EXPECT_TRUE(rig.await(join).ok());
  EXPECT_EQ(rig.receivers(2, 1), (places{0}));
  leave_group leave;
  leave.start(rig.objects, join.made());
  EXPECT_TRUE(rig.await(leave).ok());
  EXPECT_TRUE(rig.objects.destroy(table.value()).ok());
}

}  // namespace
}  // namespace freehca::testing::flow_rule_tests
