// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive-side scaling of event owners. The control owner has the numbers of their ranges.
#include <array>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include <freehca/hca/kinds/promiscuous_mode.hpp>

#include "control_owner.hpp"
#include "spread_frames.hpp"

namespace freehca::testing::receive_side_scaling_tests {
namespace {

using owner = owners_rig::owner;
using spread = spread_frames<owner>;

class owners_receive_side_scaling : public ::testing::Test {
 protected:
  owners_receive_side_scaling() {
    rig.open_all();
    spread::open_port(first);
  }
  /// What the device and the second owner have in use.
  std::array<std::uint64_t, 6> held() {
    const device_holdings d = rig.adapter.holdings();
    const verbs_holdings v = second.objects.holdings();
    return {d.numbers, d.pages, d.mappings, d.doorbells, v.objects, v.request_bytes};
  }
  void rest() {
    rig.run([] { return false; }, clock::milliseconds(100));
  }
  /// Calls `interrupt` after each number of turns of a creation, until the creation ends before
  /// that.
  void at_each_moment(
      const std::function<void(std::optional<create_receive_queue_range>&)>& interrupt) {
    bool done = false;
    for (unsigned turns = 0; !done; ++turns) {
      SCOPED_TRACE(turns);
      std::optional<create_receive_queue_range> op(std::in_place);
      op->start(second.objects, {.count = 4});
      for (unsigned i = 0; i < turns && !op->done(); ++i) {
        if (i % 2 == 0) rig.adapter.poll();
        else second.objects.poll();
        if (i % 5 == 0) rig.machine.step();
      }
      done = op->done();
      interrupt(op);
      ASSERT_LT(turns, 200u);
      if (HasFailure()) return;
    }
  }

  owners_rig rig{2, computed_steering()};
  owner &first = rig.owners[0], &second = rig.owners[1];
};

TEST_F(owners_receive_side_scaling, gives_each_owner_the_frames_of_its_queues) {
  spread of_first(first), of_second(second);
  constexpr std::uint8_t all = ipv4 | tcp_ipv4 | udp_ipv4 | ipv6 | tcp_ipv6 | udp_ipv6;
  for (spread* const s : {&of_first, &of_second}) {
    s->make_queues();
    ASSERT_TRUE(s->create(s->rss, s->table(all)).ok());
  }
  for (spread* const s : {&of_first, &of_second}) {
    s->start_receiving();
    for (const published_hash& v : published) s->expect_hash(v, tcp, v.of_all);
    owner &its = s->rig, &other = &its == &first ? second : first;
    const unsigned before = its.completions, of_other = other.completions;
    its.objects.find(s->cq)->rings.arm();
    s->expect_hash(published[0], udp, published[0].of_all);
    EXPECT_TRUE(rig.run([&] { return its.completions == before + 1; }, clock::seconds(1)));
    EXPECT_EQ(other.completions, of_other) << "its own event queue";
  }
}

TEST_F(owners_receive_side_scaling, a_range_gives_aligned_numbers_once_and_takes_them_back) {
  spread s(second);
  const number_allocator& numbers = rig.adapter.numbers().qps;
  const std::uint32_t before = numbers.out();
  for (const std::uint32_t count : {1u, 2u, 8u, 16u}) {
    ASSERT_TRUE(s.create(s.range, {.count = count}).ok());
    EXPECT_EQ(second.objects.find(s.range)->number % count, 0u);
    EXPECT_EQ(numbers.out(), before + count);
    EXPECT_TRUE(s.destroy(s.range).ok());
    EXPECT_EQ(numbers.out(), before);
  }
  s.make_queues(2);
  EXPECT_EQ(s.number(1), s.number(0) + 1);
  EXPECT_EQ(numbers.out(), before + 2) << "the queues have the numbers of the range";
  rwq_handle more;
  const status none = s.create(more, s.attributes());
  EXPECT_TRUE(none.is(driver_error::no_resource));
  EXPECT_EQ(none.where(), receive_queue_range::facts.item);
  EXPECT_TRUE(s.destroy(s.queue[0]).ok());
  EXPECT_EQ(numbers.out(), before + 2);
  EXPECT_TRUE(s.create(more, s.attributes()).is(driver_error::no_resource)) << "no number twice";
  EXPECT_TRUE(s.destroy(s.range).is(driver_error::busy)) << "a queue is left";
  EXPECT_TRUE(s.destroy(s.queue[1]).ok());
  EXPECT_TRUE(s.destroy(s.range).ok());
  EXPECT_TRUE(s.destroy(s.range).is(driver_error::stale_handle));
  EXPECT_EQ(numbers.out(), before);
}

TEST_F(owners_receive_side_scaling, refuses_handles_of_another_owner) {
  spread of_first(first), of_second(second);
  of_first.make_queues(2);
  of_second.make_queues(2);
  receive_work_queue_attributes from_first = of_second.attributes();
  from_first.range = of_first.range;
  rwq_handle none;
  EXPECT_TRUE(of_second.create(none, from_first).is(driver_error::stale_handle));
  rss_queue_pair_attributes table = of_second.table(ipv4);
  table.table = of_first.queue.data();
  EXPECT_TRUE(of_second.create(of_second.rss, table).is(driver_error::stale_handle));
  EXPECT_TRUE(of_second.destroy(of_first.range).is(driver_error::stale_handle));
  EXPECT_TRUE(of_second.destroy(of_first.queue[0]).is(driver_error::stale_handle));
}

TEST_F(owners_receive_side_scaling, leaves_nothing_if_a_command_is_refused_or_not_answered) {
  using fate = model::command_verdict::fate;
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  spread s(second);
  const auto before = held();
  const auto make = [&]() -> status {
    FREEHCA_TRY(s.create(s.range, {.count = 2}));
    for (unsigned i = 0; i < 2; ++i) {
      rwq_handle q;
      FREEHCA_TRY(s.create(q, s.attributes()));
      s.queue.push_back(q);
      for (const qp_state to : {qp_state::init, qp_state::rtr}) FREEHCA_TRY(s.move(q, to));
    }
    FREEHCA_TRY(s.create(s.rss, s.table(ipv4)));
    for (const qp_state to : {qp_state::init, qp_state::rtr}) FREEHCA_TRY(s.move(s.rss, to));
    return {};
  };
  for (const fate how : {fate::refuse, fate::hold}) {
    status end = driver_error::cancelled;
    unsigned n = 0;
    while (!end.ok()) {
      SCOPED_TRACE(++n);
      rig.machine.adapter().judge_commands([&, seen = 0u](opcode code, std::uint32_t) mutable {
        const bool strikes = code != opcode::mad_ifc && ++seen == n;
        return model::command_verdict{strikes ? how : fate::run, command_status::internal_error};
      });
      end = make();
      if (how == fate::hold && !end.ok()) {
        EXPECT_TRUE(end.is(transport_error::timeout)) << words(end);
      }
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      rest();
      s.remove(s.rss);
      for (const rwq_handle q : s.queue) s.remove(q);
      s.queue.clear();
      s.remove(s.range);
      ASSERT_EQ(held(), before);
      ASSERT_EQ(rig.adapter.holdings().in_doubt(), 0u);
    }
    EXPECT_EQ(n, 8u) << "MAP_ICM, six transitions, and none";
  }
}

TEST_F(owners_receive_side_scaling, leaves_nothing_of_a_range_that_is_cancelled_or_dropped) {
  const auto before = held();
  for (const bool drops : {false, true})
    at_each_moment([&](std::optional<create_receive_queue_range>& op) {
      if (!drops) op->cancel();
      const status s = drops && !op->done() ? driver_error::cancelled : rig.await(*op);
      if (s.ok()) {
        destroy_receive_queue_range gone;
        gone.start(second.objects, op->made());
        EXPECT_TRUE(rig.await(gone).ok());
      } else {
        EXPECT_TRUE(s.is(driver_error::cancelled)) << words(s);
      }
      op.reset();
      rest();
      EXPECT_EQ(held(), before);
    });
}

TEST_F(owners_receive_side_scaling, leaves_nothing_of_a_range_when_the_device_is_reset) {
  const auto before = held();
  at_each_moment([&](std::optional<create_receive_queue_range>& op) {
    const unsigned resets = second.up_again;
    EXPECT_TRUE(rig.recover().ok());
    EXPECT_TRUE(rig.run([&] { return op->done() && second.up_again == resets + 1; }));
    EXPECT_EQ(held(), before);
  });
}

TEST_F(owners_receive_side_scaling, ends_with_the_device_and_begins_again) {
  for (unsigned round = 0; round < 3; ++round) {
    spread s(second);
    s.make_queues();
    ASSERT_TRUE(s.create(s.rss, s.table(ipv4)).ok());
    s.start_receiving();
    s.expect_hash(published[1], tcp, published[1].of_addresses);
    second.ended.clear();
    ASSERT_TRUE(rig.tear_down().ok());
    EXPECT_EQ(second.ended.size(), queues_of_table * receives) << "the receives that were posted";
    EXPECT_TRUE(second.objects.holdings().none());
    EXPECT_TRUE(rig.adapter.holdings().none());
    s.abandon();
    ASSERT_TRUE(rig.bring_up().ok());
    ASSERT_TRUE(rig.run([&] { return second.objects.up(); }));
    spread::open_port(second);
  }
}

/// The owner has a directory of eight places.
class owners_small_directory : public owners_receive_side_scaling {
 protected:
  static constexpr unsigned places = 8;
  owners_small_directory() {
    EXPECT_TRUE(second.objects.close().ok());
    open(rooms[0]);
  }
  ~owners_small_directory() override {
    operation down;
    rig.adapter.tear_down(down);
    EXPECT_TRUE(await(down).ok());
    EXPECT_TRUE(small.close().ok());
  }
  status await(operation& op) {
    EXPECT_TRUE(rig.run([&] {
      small.poll();
      return op.done();
    }));
    return op.outcome();
  }
  void open(storage& room) {
    const event_owner_setup how{.completion_context = 1};
    const status s = small.open(rig.adapter, kinds, how, room.at(), room.bytes());
    ASSERT_TRUE(s.ok()) << words(s);
  }
  template <class K>
  result<handle<K>> create(const typename K::attributes& a) {
    create_object<K> op;
    op.start(small, a);
    const status s = await(op);
    return s.ok() ? result<handle<K>>(op.made()) : result<handle<K>>(s);
  }
  template <class K>
  void destroy(handle<K> which) {
    destroy_object<K> op;
    op.start(small, which);
    const status s = await(op);
    EXPECT_TRUE(s.ok()) << words(s);
  }
  void expect_no_numbers(const status& s) {
    EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
    EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::qps));
  }

  static constexpr verbs_budget kinds = [] {
    verbs_budget b = verbs_budget{}
                         .with<protection_domain>(1)
                         .with<completion_queue>(1)
                         .with<queue_pair>(3)
                         .with<receive_queue_range>(4)
                         .with<receive_work_queue>(4);
    b.requests = 512;
    return b;
  }();
  std::array<storage, 2> rooms{storage(verbs::event_owner_storage_bytes(kinds)),
                               storage(verbs::event_owner_storage_bytes(kinds))};
  verbs small;
};

TEST_F(owners_small_directory, has_a_place_for_each_number_of_a_range) {
  const pd_handle pd = small.create<protection_domain>().value();
  const cq_handle cq = create<completion_queue>({.entries = 15}).value();
  const queue_pair_attributes plain{.pd = pd, .send_cq = cq, .receive_cq = cq, .receives = 2};
  const qp_handle one = create<queue_pair>(plain).value();
  const auto range = create<receive_queue_range>({.count = 4});
  ASSERT_TRUE(range.ok()) << words(range.error());
  const std::uint32_t base = small.find(range.value())->number;
  EXPECT_NE(qpn_of(small, one) % places / 4, base % places / 4) << "the other half";
  expect_no_numbers(create<receive_queue_range>({.count = 4}).error());
  expect_no_numbers(create<receive_queue_range>({.count = 2 * places}).error());
  std::vector<rwq_handle> queues;
  std::vector<qp_handle> pairs{one};
  for (unsigned i = 0; i < 4; ++i) {
    queues.push_back(create<receive_work_queue>({range.value(), plain}).value());
    EXPECT_EQ(small.queue_pairs().find(base + i), &small.find(queues[i])->rings);
    if (i < 2) pairs.push_back(create<queue_pair>(plain).value());
  }
  for (const qp_handle p : pairs)
    EXPECT_EQ(small.queue_pairs().find(qpn_of(small, p)), &small.find(p)->rings);
  for (const qp_handle p : pairs) destroy(p);
  const auto second_range = create<receive_queue_range>({.count = 4});
  ASSERT_TRUE(second_range.ok()) << words(second_range.error());
  expect_no_numbers(create<queue_pair>(plain).error());
  for (const rwq_handle q : queues) destroy(q);
  expect_no_numbers(create<queue_pair>(plain).error());
  destroy(range.value());
  const auto again = create<queue_pair>(plain);
  ASSERT_TRUE(again.ok()) << words(again.error());
}

TEST_F(owners_small_directory, that_is_left_with_a_range_leaves_the_next_owner_its_numbers) {
  ASSERT_TRUE(create<receive_queue_range>({.count = places}).ok());
  small.~verbs();
  new (&small) verbs;
  open(rooms[1]);
  const auto range = create<receive_queue_range>({.count = places});
  EXPECT_TRUE(range.ok()) << words(range.error());
}

/// Ports, rules and entries of the multicast table are the control owner's, also those of the
/// queue pairs of others.
TEST(owners_steering, is_the_control_owners) {
  in_process::machine_options ethernet;
  ethernet.model.link[0] = model::link_layer::ethernet;
  ethernet.model.cable[0] = true;
  owners_rig rig(2, ethernet);
  control of_control(rig);
  owner& event_owner = rig.owners[1];
  ASSERT_TRUE(event_owner.open().ok());
  spread s(event_owner);
  s.make_queues();
  ASSERT_TRUE(s.create(s.rss, s.table(ipv4)).ok());
  const auto promiscuous = [&](auto& by) {
    set_promiscuous_mode op;
    op.start(by.objects, 1, s.rss, true, true);
    return by.await(op);
  };
  EXPECT_TRUE(promiscuous(event_owner).is(driver_error::unsupported));
  EXPECT_TRUE(promiscuous(of_control).is(driver_error::stale_handle));
  create_flow_rule rule;
  rule.start(event_owner.objects, {.pair = s.rss});
  EXPECT_TRUE(event_owner.await(rule).is(driver_error::unsupported));
}

}  // namespace
}  // namespace freehca::testing::receive_side_scaling_tests
