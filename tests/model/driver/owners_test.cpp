// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Owners of event contexts: their objects are their own, what the firmware is asked for crosses to
// the control owner and back, and a reset waits for them.
#include <array>
#include <set>

#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/layouts/eqe.hpp>

#include "owners_rig.hpp"
#include "rc_pair.hpp"

namespace freehca::testing {
namespace {

using pair = rc_pair_of<owners_rig::owner>;
using buffer = registered_buffer_of<owners_rig::owner>;

/// Writes from side 0 to side 1, and looks at what arrived.
void move_data(pair& p, pd_handle domain, owners_rig::owner& of) {
  buffer from(of, domain, 5000, 100, all_access), to(of, domain, 5000, 24, all_access);
  for (std::size_t i = 0; i < 5000; ++i) *from.at(i) = static_cast<std::byte>(i * 7);
  const unsigned told = of.completions;
  p.cq(0).arm();
  ASSERT_TRUE(p.send(0)
                  .post_and_ring(queues::rdma_write{
                      .wr_id = 17, .remote = {to.address(), to.key}, .data = from.entry(0, 5000)})
                  .ok());
  const queues::work_completion w = p.next(0);
  EXPECT_TRUE(w.ok());
  EXPECT_EQ(w.wr_id, 17u);
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(*to.at(i), static_cast<std::byte>(i * 7));
  EXPECT_TRUE(of.run([&] { return of.completions > told; }, 1'000'000'000))
      << "its own event queue";
}

TEST(owners, make_objects_and_move_data_each_by_itself) {
  owners_rig rig(3);
  rig.open_all();
  for (owners_rig::owner& o : rig.owners) {
    pair p(o);
    p.connect();
    move_data(p, p.domain, o);
    const device_object& made = *o.objects.find(p.completion[0]);
    EXPECT_FALSE(made.in_doubt());
  }
  EXPECT_EQ(rig.owners[0].completions, 1u);
}

TEST(owners, connect_across_each_other) {
  owners_rig rig(2);
  rig.open_all();
  pair a(rig.owners[0]), b(rig.owners[1]);
  for (const auto to : {layouts::qp_state::init, layouts::qp_state::rtr, layouts::qp_state::rts}) {
    connection_attributes x = a.attributes(0), y = b.attributes(0);
    x.remote_qpn = qpn_of(b.objects(), b.queue[0]);
    y.remote_qpn = qpn_of(a.objects(), a.queue[0]);
    y.receive_psn = x.send_psn;
    y.send_psn = x.receive_psn;
    ASSERT_TRUE(a.move(0, to, x).ok());
    ASSERT_TRUE(b.move(0, to, y).ok());
  }
  buffer from(rig.owners[0], a.domain, 64, 0, all_access);
  buffer to(rig.owners[1], b.domain, 64, 0, all_access);
  from.fill(std::byte{0x5a});
  ASSERT_TRUE(a.send(0)
                  .post_and_ring(queues::rdma_write{.remote = {to.address(), to.key},
                                                    .data = from.entry(0, 64)})
                  .ok());
  EXPECT_TRUE(a.next(0).ok());
  EXPECT_EQ(*to.at(63), std::byte{0x5a});
}

TEST(owners, have_nothing_in_common_but_the_device) {
  owners_rig rig(2);
  rig.open_all();
  pair a(rig.owners[0]), b(rig.owners[1]);
  EXPECT_EQ(rig.owners[1].objects.find(a.queue[0]), nullptr) << "handles are the owner's";
  EXPECT_NE(rig.owners[1].objects.find(b.queue[0]), nullptr);
  EXPECT_NE(qpn_of(a.objects(), a.queue[0]), qpn_of(b.objects(), b.queue[0]));
  EXPECT_NE(rig.owners[0].objects.uar().index, rig.owners[1].objects.uar().index);
}

TEST(owners, a_context_has_one) {
  owners_rig rig(2);
  rig.open_all();
  owners_rig::owner second(rig, 0);
  EXPECT_TRUE(second.open().is(driver_error::busy));
  owners_rig::owner beyond(rig, 2);
  EXPECT_TRUE(beyond.open().is(driver_error::bad_argument));
}

TEST(owners, do_not_take_a_context_that_tells_of_somebody_elses_queues) {
  owners_rig rig(1);
  verbs control;
  storage room(verbs::storage_bytes(rig.setup.budget, few_of_each()));
  ASSERT_TRUE(control.open(rig.adapter, few_of_each(), room.at(), room.bytes()).ok());
  const auto await = [&](operation& op) {
    return rig.run([&] {
      control.poll();
      return op.done();
    }) && op.outcome().ok();
  };
  create_completion_queue queue;
  queue.start(control, {.entries = 15});
  ASSERT_TRUE(await(queue));
  EXPECT_TRUE(rig.owners[0].open().is(driver_error::busy));
  destroy_completion_queue gone;
  gone.start(control, queue.made());
  ASSERT_TRUE(await(gone));
  EXPECT_TRUE(rig.owners[0].open().ok());
  EXPECT_TRUE(control.close().ok());
}

TEST(owners, without_a_doorbell_page_are_not_opened) {
  owners_rig rig(1);
  const auto held = [&] {
    const device_holdings h = rig.adapter.holdings();
    return std::array<std::uint64_t, 4>{h.numbers, h.pages, h.mappings, h.doorbells};
  };
  const auto before = held();
  std::vector<uar_page> pages;
  for (auto page = rig.adapter.uars().allocate(); page.ok(); page = rig.adapter.uars().allocate())
    pages.push_back(page.value());
  const status s = rig.owners[0].open();
  EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::uars));
  EXPECT_FALSE(rig.owners[0].objects.is_open());
  EXPECT_FALSE(rig.adapter.has_owner(0));
  for (const uar_page& page : pages) rig.adapter.uars().free(page);
  EXPECT_EQ(held(), before);
  ASSERT_TRUE(rig.owners[0].open().ok());
}

/// No step crosses for a protection domain, so each event owner has numbers of its own.
TEST(owners, have_protection_domains_with_different_numbers) {
  owners_rig rig(2);
  rig.open_all();
  const std::uint32_t of_control = rig.adapter.numbers().pds.allocate().value();
  std::set<std::uint32_t> numbers{of_control};
  for (owners_rig::owner& o : rig.owners) {
    std::vector<pd_handle> made;
    for (auto pd = o.objects.create<protection_domain>(); pd.ok();
         pd = o.objects.create<protection_domain>()) {
      EXPECT_TRUE(numbers.insert(o.objects.find(pd.value())->number).second);
      made.push_back(pd.value());
    }
    EXPECT_EQ(made.size(), few_of_each().count<protection_domain>());
    for (const pd_handle pd : made) EXPECT_TRUE(o.objects.destroy(pd).ok());
  }
  rig.adapter.numbers().pds.free(of_control);
}

TEST(owners, with_more_protection_domains_than_they_have_numbers_name_them) {
  owners_rig rig(1);
  constexpr std::uint32_t most = 1u << device_plan::log_pds_of_event_owner;
  const verbs_budget many = verbs_budget{}.with<protection_domain>(most + 1);
  const std::size_t bytes = verbs::event_owner_storage_bytes(many);
  storage room(bytes);
  verbs objects;
  ASSERT_TRUE(objects.open(rig.adapter, many, {}, room.at(), bytes).ok());
  std::vector<pd_handle> made;
  for (std::uint32_t i = 0; i < most; ++i)
    made.push_back(objects.create<protection_domain>().value());
  const status s = objects.create<protection_domain>().error();
  EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::pds));
  for (const pd_handle pd : made) EXPECT_TRUE(objects.destroy(pd).ok());
  EXPECT_TRUE(objects.close().ok());
}

TEST(owners, do_not_take_handles_of_each_other_nor_of_their_own_past) {
  owners_rig rig(2);
  rig.open_all();
  verbs& one = rig.owners[0].objects;
  verbs& other = rig.owners[1].objects;
  const pd_handle first = one.create<protection_domain>().value();
  const pd_handle second = other.create<protection_domain>().value();
  EXPECT_EQ(first.index, second.index) << "the same place";
  EXPECT_NE(one.find(first), nullptr);
  EXPECT_EQ(other.find(first), nullptr);
  EXPECT_TRUE(other.destroy(first).is(driver_error::stale_handle));
  create_completion_queue cq;
  cq.start(one, {.entries = 15});
  ASSERT_TRUE(rig.await(cq).ok());
  create_queue_pair foreign;
  foreign.start(
      other,
      {.pd = second, .send_cq = cq.made(), .receive_cq = cq.made(), .sends = 4, .receives = 4});
  EXPECT_TRUE(rig.await(foreign).is(driver_error::stale_handle));
  destroy_completion_queue gone;
  gone.start(one, cq.made());
  ASSERT_TRUE(rig.await(gone).ok());
  ASSERT_TRUE(one.destroy(first).ok());
  ASSERT_TRUE(one.close().ok());
  ASSERT_TRUE(rig.owners[0].open().ok());
  const pd_handle third = one.create<protection_domain>().value();
  EXPECT_EQ(third.index, first.index);
  EXPECT_EQ(one.find(first), nullptr) << "from before it was closed";
  ASSERT_TRUE(one.destroy(third).ok());
  ASSERT_TRUE(other.destroy(second).ok());
}

TEST(owners, are_not_closed_while_they_have_objects) {
  owners_rig rig(1);
  rig.open_all();
  pair p(rig.owners[0]);
  EXPECT_TRUE(rig.owners[0].objects.close().is(driver_error::busy));
  p.destroy();
  EXPECT_TRUE(rig.owners[0].objects.close().ok());
  EXPECT_EQ(rig.adapter.has_owner(0), false);
  ASSERT_TRUE(rig.owners[0].open().ok()) << "and opened again";
}

TEST(owners, use_up_the_places_of_their_own_budget_alone) {
  owners_rig rig(2);
  rig.open_all();
  std::vector<cq_handle> made;
  for (;;) {
    create_completion_queue cq;
    cq.start(rig.owners[0].objects, {.entries = 1000});
    const status s = rig.await(cq);
    if (!s.ok()) {
      EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
      EXPECT_EQ(s.where(), completion_queue::facts.item) << words(s);
      break;
    }
    made.push_back(cq.made());
  }
  EXPECT_EQ(made.size(), few_of_each().count<completion_queue>());
  pair p(rig.owners[1]);
  p.connect();
  for (const cq_handle h : made) {
    destroy_completion_queue gone;
    gone.start(rig.owners[0].objects, h);
    EXPECT_TRUE(rig.await(gone).ok());
  }
}

/// Everything that the device knows of an object is allocated by the control owner, in the first
/// step of the creation.
TEST(owners, that_lack_something_of_the_device_name_it_and_hold_nothing) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  device& d = rig.adapter;
  number_spaces& n = d.numbers();
  const auto exhaust = [](number_allocator& space) {
    std::vector<std::uint32_t> taken;
    for (auto one = space.allocate(); one.ok(); one = space.allocate())
      taken.push_back(one.value());
    return taken;
  };
  const auto fails_with = [&](operation& op, budget::item what) {
    const status s = rig.await(op);
    EXPECT_TRUE(s.is(driver_error::no_resource) || s.is(driver_error::no_memory)) << words(s);
    EXPECT_EQ(s.where(), static_cast<unsigned>(what)) << words(s);
  };
  const pd_handle domain = o.objects.create<protection_domain>().value();
  create_completion_queue cq;
  cq.start(o.objects, {.entries = 15});
  ASSERT_TRUE(rig.await(cq).ok());
  const verbs_holdings objects = o.objects.holdings();
  const std::uint64_t numbers = d.holdings().numbers, pages = d.holdings().pages,
                      doorbells = d.holdings().doorbells, mapped = d.holdings().mappings;

  const auto queue = [&](budget::item what) {
    create_completion_queue one;
    one.start(o.objects, {.entries = 15});
    fails_with(one, what);
  };
  struct space {
    number_allocator& of;
    budget::item what;
  };
  for (const space& s : {space{n.cqs, budget::item::cqs}, space{n.mtts, budget::item::mtts}}) {
    const std::vector<std::uint32_t> taken = exhaust(s.of);
    queue(s.what);
    for (const std::uint32_t number : taken) s.of.free(number);
  }
  for (const auto& [arena, unit, what] :
       {std::tuple{&d.arena(), std::size_t{4096}, budget::item::queue_memory},
        std::tuple{&d.doorbells(), std::size_t{64}, budget::item::doorbell_records}}) {
    std::vector<dma_region> taken;
    for (auto one = arena->allocate(unit); one.ok(); one = arena->allocate(unit))
      taken.push_back(one.value());
    queue(what);
    for (const dma_region& one : taken) arena->free(one);
  }
  {
    const std::vector<std::uint32_t> taken = exhaust(n.qps);
    create_queue_pair one;
    one.start(o.objects, {.pd = domain, .send_cq = cq.made(), .receive_cq = cq.made(), .sends = 4});
    fails_with(one, budget::item::qps);
    for (const std::uint32_t number : taken) n.qps.free(number);
  }
  {
    const std::vector<std::uint32_t> taken = exhaust(n.srqs);
    create_shared_receive_queue one;
    one.start(o.objects, {.pd = domain, .receives = 4});
    fails_with(one, budget::item::srqs);
    for (const std::uint32_t number : taken) n.srqs.free(number);
  }
  {
    const std::vector<std::uint32_t> taken = exhaust(n.mpts);
    create_fast_memory_region one;
    one.start(o.objects, {.pd = domain, .most_pages = 4});
    fails_with(one, budget::item::mpts);
    for (const std::uint32_t number : taken) n.mpts.free(number);
  }
  EXPECT_EQ(o.objects.holdings().objects, objects.objects);
  EXPECT_EQ(o.objects.holdings().request_bytes, objects.request_bytes);
  EXPECT_EQ(d.holdings().numbers, numbers);
  EXPECT_EQ(d.holdings().pages, pages);
  EXPECT_EQ(d.holdings().doorbells, doorbells);
  EXPECT_EQ(d.holdings().mappings, mapped);
  destroy_completion_queue gone;
  gone.start(o.objects, cq.made());
  ASSERT_TRUE(rig.await(gone).ok());
  ASSERT_TRUE(o.objects.destroy(domain).ok());
}

/// The control owner frees the ring before the event owner has the answer to the last step.
TEST(owners, find_no_open_ring_that_the_control_owner_has_freed) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  create_completion_queue cq;
  cq.start(o.objects, {.entries = 15});
  ASSERT_TRUE(rig.await(cq).ok());
  const std::uint64_t before = rig.adapter.holdings().doorbells;
  destroy_completion_queue gone;
  gone.start(o.objects, cq.made());
  o.polls = false;
  ASSERT_TRUE(rig.run([&] {
    const bool freed = rig.adapter.holdings().doorbells < before;
    if (!freed) o.objects.poll();
    return freed;
  }));
  EXPECT_FALSE(gone.done());
  completion_queue* const queue = o.objects.find(cq.made());
  ASSERT_NE(queue, nullptr);
  EXPECT_FALSE(queue->rings.is_open());
  o.polls = true;
  EXPECT_TRUE(rig.await(gone).ok());
  EXPECT_EQ(o.objects.find(cq.made()), nullptr);
}

/// A block of context memory that is in doubt takes its numbers along, and nobody is refused.
TEST(owners, pass_over_numbers_whose_context_memory_is_in_doubt) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  unsigned held = 0;
  rig.machine.adapter().judge_commands([&](layouts::opcode code, std::uint32_t) {
    using fate = model::command_verdict::fate;
    const bool hold = code == layouts::opcode::map_icm && held++ == 0;
    return model::command_verdict{.what = hold ? fate::hold : fate::run};
  });
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  create_completion_queue late;
  late.start(o.objects, {.entries = 15});
  EXPECT_TRUE(rig.await(late).is(transport_error::timeout)) << words(late.outcome());
  EXPECT_EQ(held, 1u);
  EXPECT_NE(rig.adapter.holdings().mappings_in_doubt, 0u);
  create_completion_queue next;
  next.start(o.objects, {.entries = 15});
  EXPECT_TRUE(rig.await(next).ok()) << words(next.outcome());
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  destroy_completion_queue gone;
  gone.start(o.objects, next.made());
  EXPECT_TRUE(rig.await(gone).ok());
  EXPECT_TRUE(rig.run([&] { return o.objects.holdings().none(); }, clock::seconds(100)));
}

/// Directories of event owners have fewer places than the device has numbers.
TEST(owners, get_numbers_that_differ_in_their_low_bits) {
  owners_rig rig(2);
  rig.open_all();
  std::deque<create_completion_queue> made[2];
  unsigned turn = 0;
  // Both in turns, with some destroyed between, so that no owner gets neighbours.
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned w = 0; w < 2; ++w) {
      verbs& objects = rig.owners[w].objects;
      create_completion_queue& cq = made[w].emplace_back();
      cq.start(objects, {.entries = 15});
      ASSERT_TRUE(rig.await(cq).ok()) << words(cq.outcome());
      if (++turn % 3 != 0) continue;
      destroy_completion_queue gone;
      gone.start(objects, made[w].front().made());
      ASSERT_TRUE(rig.await(gone).ok());
      made[w].pop_front();
    }
  for (unsigned w = 0; w < 2; ++w) {
    verbs& objects = rig.owners[w].objects;
    for (const create_completion_queue& cq : made[w]) {
      completion_queue* const queue = objects.find(cq.made());
      ASSERT_NE(queue, nullptr);
      EXPECT_EQ(objects.completion_queues().find(queue->number), queue) << "no other has its place";
      EXPECT_EQ(rig.owners[1 - w].objects.completion_queues().find(queue->number), nullptr);
    }
    for (const create_completion_queue& cq : made[w]) {
      destroy_completion_queue gone;
      gone.start(objects, cq.made());
      ASSERT_TRUE(rig.await(gone).ok());
    }
  }
}

/// A directory of one place. The queue that the first owner leaves has all low bits of it.
TEST(owners, that_leave_objects_behind_leave_the_next_owner_its_numbers) {
  owners_rig rig(1);
  const verbs_budget one = verbs_budget{}.with<protection_domain>(1).with<shared_receive_queue>(1);
  const std::size_t bytes = verbs::event_owner_storage_bytes(one);
  storage rooms[] = {storage(bytes), storage(bytes)};
  dma_region ring, record;
  const auto create = [&](verbs& objects) {
    create_shared_receive_queue queue;
    queue.start(objects, {.pd = objects.create<protection_domain>().value(), .receives = 4});
    EXPECT_TRUE(rig.run([&] {
      objects.poll();
      return queue.done();
    }));
    EXPECT_TRUE(queue.outcome().ok()) << words(queue.outcome());
    return queue.made();
  };
  {
    verbs first;
    ASSERT_TRUE(first.open(rig.adapter, one, {}, rooms[0].at(), bytes).ok());
    const shared_receive_queue& left = *first.find(create(first));
    ring = left.ring;
    record = left.record;
  }
  verbs next;
  ASSERT_TRUE(next.open(rig.adapter, one, {}, rooms[1].at(), bytes).ok());
  EXPECT_NE(next.find(create(next)), nullptr);
  // The reset releases the objects of the next owner. Those of the first one are the test's.
  operation down;
  rig.adapter.tear_down(down);
  EXPECT_TRUE(rig.run([&] {
    next.poll();
    return down.done();
  }));
  EXPECT_TRUE(next.close().ok());
  rig.adapter.arena().free(ring);
  rig.adapter.doorbells().free(record);
}

TEST(owners, hear_of_asynchronous_events_of_their_objects) {
  owners_rig rig(2);
  rig.open_all();
  pair a(rig.owners[0]), b(rig.owners[1]);
  b.connect();
  a.connect();
  buffer from(rig.owners[1], b.domain, 64, 0, all_access);
  // The first packet to a queue pair in RTR or RTS tells that communication is established, or a
  // bad key moves the responder to ERROR: both are told of by the asynchronous queue.
  ASSERT_TRUE(b.send(0)
                  .post_and_ring(
                      queues::rdma_write{.remote = {0x1234, 0xdeadbeef}, .data = from.entry(0, 64)})
                  .ok());
  EXPECT_FALSE(b.next(0).ok());
  EXPECT_TRUE(rig.run([&] { return !rig.owners[1].qp_events.empty(); }, 1'000'000'000));
  EXPECT_TRUE(rig.owners[0].qp_events.empty()) << "nobody else's";
  for (const auto& e : rig.owners[1].qp_events) EXPECT_EQ(e.queue, b.queue[1]);
}

TEST(owners, that_do_not_poll_lose_the_events_for_which_there_is_no_place_and_count_them) {
  using layouts::eqe_qp, layouts::event_type;
  constexpr unsigned too_many = 3;
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  pair p(o);
  // The adapter tells of each answer to a command twice. The second time it tells of one of the
  // owner's queue pairs instead.
  unsigned raised = 0;
  bool second = false;
  rig.machine.adapter().judge_events([](event_type type) {
    return type == event_type::command_completion ? model::event_fate::twice
                                                  : model::event_fate::deliver;
  });
  rig.machine.alter_adapter_write = [&](std::uint64_t, std::byte* to, std::size_t count) {
    constexpr std::size_t owner_word = 8;  // goes last, by itself
    if (count != layouts::eqe::bytes - owner_word) return;
    layouts::image<eqe_qp> e;
    std::memcpy(e.data(), to, count);
    if (e.get<&eqe_qp::event_type>() != event_type::command_completion) return;
    if (second) {
      e = {};
      e.set<&eqe_qp::event_type>(event_type::communication_established)
          .set<&eqe_qp::qpn>(qpn_of(o.objects, p.queue[raised++ % 2]));
      std::memcpy(to, e.data(), count);
    }
    second = !second;
  };
  const auto raise_events = [&](unsigned events) {
    for (const unsigned end = raised + events; raised != end;) {
      firmware_command<commands::nop> c;
      rig.adapter.commands().submit(c);
      ASSERT_TRUE(rig.await(c).ok());
    }
    rig.run([] { return false; }, clock::milliseconds(5));
  };
  o.polls = false;
  raise_events(event_relay::places);
  EXPECT_EQ(o.objects.events_dropped(), 0u) << "there is a place for each";
  raise_events(too_many);
  EXPECT_EQ(o.objects.events_dropped(), too_many);
  EXPECT_TRUE(rig.adapter.up());
  o.polls = true;
  rig.run([] { return false; }, clock::milliseconds(5));
  ASSERT_EQ(o.qp_events.size(), event_relay::places) << "the oldest are kept";
  for (unsigned i = 0; i < event_relay::places; ++i)
    EXPECT_EQ(o.qp_events[i].queue, p.queue[i % 2]) << i;
  o.qp_events.clear();
  raise_events(2);
  EXPECT_EQ(o.qp_events.size(), 2u) << "there are places again";
  EXPECT_EQ(o.objects.events_dropped(), too_many);
  rig.machine.adapter().judge_events({});
  rig.machine.alter_adapter_write = {};
}

TEST(owners, let_go_of_a_device_that_is_reset_and_begin_anew) {
  owners_rig rig(2);
  rig.open_all();
  for (unsigned round = 1; round <= 10; ++round) {
    for (owners_rig::owner& o : rig.owners) {
      pair p(o);
      p.connect();
      move_data(p, p.domain, o);
      const queues::data_entry none{};
      ASSERT_TRUE(p.receive(1).post_and_ring({.wr_id = round, .list = &none, .entries = 0}).ok());
      if (&o == &rig.owners[0]) p.destroy();
      else p.abandon();
    }
    ASSERT_TRUE(rig.recover().ok()) << rig.failure();
    ASSERT_TRUE(rig.run([&] { return rig.owners[1].up_again == round; }, 1'000'000'000));
    EXPECT_EQ(rig.owners[1].ended, std::vector<std::uint64_t>(1, round));
    rig.owners[1].ended.clear();
    EXPECT_TRUE(rig.owners[1].last_up.ok());
    EXPECT_TRUE(rig.owners[1].objects.holdings().none());
  }
}

TEST(owners, of_a_device_that_fails_hear_of_it) {
  owners_rig rig(1);
  rig.open_all();
  rig.adapter.mark_as_lost();
  EXPECT_TRUE(rig.run([&] { return rig.owners[0].failures == 1; }, 1'000'000'000));
  create_completion_queue cq;
  cq.start(rig.owners[0].objects, {.entries = 4});
  EXPECT_FALSE(rig.await(cq).ok());
  ASSERT_TRUE(rig.recover().ok());
  ASSERT_TRUE(rig.run([&] { return rig.owners[0].up_again == 1; }, 1'000'000'000));
  pair p(rig.owners[0]);
  p.connect();
}

TEST(owners, that_never_poll_hold_a_reset_up_until_its_deadline_and_no_longer) {
  owners_rig rig(2);
  rig.open_all();
  rig.owners[1].polls = false;
  operation again;
  again.set_deadline(rig.machine.time() + clock::seconds(20));
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.run([&] {
    const char* const awaited = rig.adapter.awaited_owner();
    return awaited != nullptr && awaited == rig.owners[1].name;
  })) << "the other has let go";
  EXPECT_TRUE(rig.await(again).is(transport_error::timeout));
  EXPECT_EQ(rig.adapter.state(), device_state::failed);
  EXPECT_EQ(rig.adapter.failure().step, bring_up_step::reset);

  operation cancelled;
  rig.adapter.recover(cancelled);
  rig.run([] { return false; }, clock::seconds(3));
  EXPECT_FALSE(cancelled.done());
  cancelled.cancel();
  EXPECT_FALSE(rig.await(cancelled).ok());

  rig.owners[1].polls = true;
  ASSERT_TRUE(rig.recover().ok()) << "it polls again";
  ASSERT_TRUE(rig.run([&] { return rig.owners[1].up_again == 1; }, 1'000'000'000));
}

TEST(owners, with_an_operation_under_way_when_the_device_is_reset) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  // The reset comes at each moment of the creation.
  for (unsigned turns = 0; turns < 12; ++turns) {
    const unsigned up_before = o.up_again;
    create_completion_queue cq;
    cq.start(o.objects, {.entries = 15});
    for (unsigned i = 0; i < turns; ++i) {
      if (i % 2 == 0) rig.adapter.poll();
      else o.objects.poll();
      if (i % 3 == 0) rig.machine.step();
    }
    operation again;
    rig.adapter.recover(again);
    EXPECT_TRUE(rig.run([&] { return again.done() && cq.done(); }));
    EXPECT_TRUE(again.outcome().ok());
    ASSERT_TRUE(rig.run([&] { return o.up_again == up_before + 1; }, 1'000'000'000));
    EXPECT_TRUE(o.objects.holdings().none()) << "after " << turns << " turns";
  }
}

TEST(owners, cancel_an_operation_at_each_moment) {
  for (unsigned turns = 0; turns < 24; ++turns) {
    owners_rig rig(1);
    rig.open_all();
    owners_rig::owner& o = rig.owners[0];
    create_completion_queue cq;
    cq.start(o.objects, {.entries = 15});
    for (unsigned i = 0; i < turns && !cq.done(); ++i) {
      if (i % 2 == 0) rig.adapter.poll();
      else o.objects.poll();
      if (i % 5 == 0) rig.machine.step();
    }
    cq.cancel();
    cq.cancel();
    const status s = rig.await(cq);
    if (s.ok()) {
      destroy_completion_queue gone;
      gone.start(o.objects, cq.made());
      EXPECT_TRUE(rig.await(gone).ok());
    } else {
      EXPECT_TRUE(s.is(driver_error::cancelled)) << words(s) << " after " << turns << " turns";
    }
    // What the firmware had is taken back when it has answered.
    EXPECT_TRUE(rig.run([&] { return o.objects.holdings().none(); }, clock::seconds(100)));
  }
}

TEST(owners, past_the_deadline_of_an_operation_hold_what_is_in_doubt) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  rig.machine.adapter().judge_commands([](layouts::opcode code, std::uint32_t) {
    using fate = model::command_verdict::fate;
    return model::command_verdict{.what =
                                      code == layouts::opcode::sw2hw_cq ? fate::hold : fate::run};
  });
  create_completion_queue cq;
  cq.set_deadline(rig.machine.time() + clock::seconds(1));
  cq.start(o.objects, {.entries = 15});
  EXPECT_TRUE(rig.await(cq).is(transport_error::timeout));
  EXPECT_EQ(o.objects.holdings().in_doubt, 1u);
  EXPECT_TRUE(o.objects.close().is(driver_error::busy));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return o.objects.holdings().none(); }))
      << "the late answer crosses, and what it made is taken back";
}

TEST(owners, sleep_only_when_nothing_has_crossed) {
  owners_rig rig(1);
  unsigned wakes = 0;
  event_owner_setup how;
  how.wake = [](void* count) noexcept { ++*static_cast<unsigned*>(count); };
  how.wake_context = &wakes;
  ASSERT_TRUE(rig.owners[0].open(how).ok());
  verbs& objects = rig.owners[0].objects;
  while (objects.poll() != 0) {
  }
  EXPECT_TRUE(objects.prepare_to_sleep());
  EXPECT_EQ(wakes, 0u);
  create_completion_queue cq;
  cq.start(objects, {.entries = 15});
  rig.machine.run([&] { return wakes != 0; },
                  [&] {
                    rig.adapter.poll();
                    return rig.adapter.next_deadline();
                  });
  EXPECT_EQ(wakes, 1u) << "the answer wakes it, once";
  EXPECT_FALSE(objects.prepare_to_sleep()) << "there is something to do";
  EXPECT_TRUE(rig.await(cq).ok());
  destroy_completion_queue gone;
  gone.start(objects, cq.made());
  EXPECT_TRUE(rig.await(gone).ok());
}

}  // namespace
}  // namespace freehca::testing
