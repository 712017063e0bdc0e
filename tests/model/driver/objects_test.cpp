// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Making and destroying verbs objects: handles, order, limits, and what is left after each failure.
#include "counts.hpp"
#include "rc_pair.hpp"

#include <coroutine>
#include <exception>
#include <set>

#include <freehca/firmware_cmds/cq.hpp>
#include <freehca/firmware_cmds/mr.hpp>
#include <freehca/work_requests/send_request.hpp>

namespace freehca {
namespace {

using namespace testing;
using layouts::qp_state;

struct objects_test : ::testing::Test {
  verbs_rig rig{exact()};
  pd_handle domain = rig.objects.create<protection_domain>().value();
  in_process::host_memory_map::scattered_pages pages = rig.machine.memory().allocate_scattered(8);

  ~objects_test() override {
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    rig.machine.memory().release(pages);
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }
  memory_region_attributes region_attributes(std::uint64_t bytes = 8 * 4096) {
    return {.pd = domain,
            .pages = page_list(pages.addresses.data(), 12, 0, bytes),
            .virtual_address = 0x10000,
            .access = {.local_write = true}};
  }
  status create(mr_handle& to, const memory_region_attributes& a) {
    create_memory_region op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  status create(cq_handle& to, std::uint32_t entries = 15) {
    create_completion_queue op;
    op.start(rig.objects, {.entries = entries});
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  status create(qp_handle& to, queue_pair_attributes a) {
    create_queue_pair op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  template <class Destroy, class Handle>
  status destroy(Handle h) {
    Destroy op;
    op.start(rig.objects, h);
    return rig.await(op);
  }
  template <class F, class... Target>
  status firmware(layouts::image<typename F::input> input, Target... target) {
    firmware_command<F> c{target...};
    c.input = input;
    rig.adapter.commands().submit(c);
    return rig.await(c);
  }
};

TEST_F(objects_test, everything_made_and_destroyed_leaves_nothing) {
  const auto before = counts(rig);
  {
    rc_pair pair(rig);
    mr_handle region;
    ASSERT_TRUE(create(region, region_attributes()).ok());
    EXPECT_NE(counts(rig), before);
    ASSERT_TRUE(destroy<destroy_memory_region>(region).ok());
  }
  EXPECT_EQ(counts(rig), before);
}

TEST_F(objects_test, a_handle_dies_with_its_object) {
  mr_handle first, second;
  ASSERT_TRUE(create(first, region_attributes()).ok());
  const std::uint32_t key = key_of(rig.objects, first);
  EXPECT_NE(key, 0u);
  ASSERT_TRUE(destroy<destroy_memory_region>(first).ok());
  ASSERT_TRUE(create(second, region_attributes()).ok());
  EXPECT_EQ(first.index, second.index) << "the same place";
  EXPECT_EQ(key_of(rig.objects, first), 0u);
  EXPECT_TRUE(destroy<destroy_memory_region>(first).is(driver_error::stale_handle));
  EXPECT_TRUE(destroy<destroy_memory_region>(mr_handle{}).is(driver_error::stale_handle));
  EXPECT_TRUE(destroy<destroy_queue_pair>(qp_handle{77, 1}).is(driver_error::stale_handle));
  ASSERT_TRUE(destroy<destroy_memory_region>(second).ok());
}

TEST_F(objects_test, a_key_is_new_at_each_use_and_never_a_reserved_one) {
  std::set<std::uint32_t> keys;
  const unsigned rounds = 3000;  // each index of the budget at least once
  for (unsigned i = 0; i < rounds; ++i) {
    mr_handle region;
    ASSERT_TRUE(create(region, region_attributes(4096)).ok());
    const std::uint32_t key = key_of(rig.objects, region);
    EXPECT_NE(key, rig.adapter.capabilities().reserved_lkey);
    EXPECT_NE(key, layouts::invalid_lkey);
    keys.insert(key);
    ASSERT_TRUE(destroy<destroy_memory_region>(region).ok());
  }
  EXPECT_EQ(keys.size(), rounds);
}

// A peer may still hold a key from before.
TEST_F(objects_test, a_key_does_not_come_again_when_the_objects_were_closed_and_opened) {
  std::set<std::uint32_t> keys;
  const unsigned rounds = 2 * number_allocator::resting;  // each index comes again
  for (unsigned i = 0; i < rounds; ++i) {
    mr_handle region;
    ASSERT_TRUE(create(region, region_attributes(4096)).ok());
    keys.insert(key_of(rig.objects, region));
    ASSERT_TRUE(destroy<destroy_memory_region>(region).ok());
    ASSERT_TRUE(rig.objects.destroy(domain).ok());
    ASSERT_TRUE(rig.objects.close().ok());
    ASSERT_TRUE(rig.reopen().ok());
    domain = rig.objects.create<protection_domain>().value();
  }
  EXPECT_EQ(keys.size(), rounds);
}

/// A second start of what is under way: a debug build traps, any other goes on with the first.
#ifdef NDEBUG
#define EXPECT_NO_SECOND_START(start) start
#else
#define EXPECT_NO_SECOND_START(start) EXPECT_DEATH(start, "")
#endif

TEST_F(objects_test, a_second_start_of_what_is_under_way_leaves_it_alone) {
  create_memory_region region;
  region.start(rig.objects, region_attributes());
  EXPECT_NO_SECOND_START(region.start(rig.objects, region_attributes(4096)));
  create_completion_queue queue;
  queue.start(rig.objects, {.entries = 15});
  EXPECT_NO_SECOND_START(queue.start(rig.objects, {.entries = 0}));
  ASSERT_TRUE(rig.await(region).ok());
  ASSERT_TRUE(rig.await(queue).ok());
  ASSERT_TRUE(region.made() && queue.made());
  EXPECT_NE(key_of(rig.objects, region.made()), 0u);

  create_queue_pair pair;
  pair.start(rig.objects, {.pd = domain,
                           .send_cq = queue.made(),
                           .receive_cq = queue.made(),
                           .sends = 4,
                           .receives = 4});
  EXPECT_NO_SECOND_START(pair.start(rig.objects, {}));
  ASSERT_TRUE(rig.await(pair).ok());
  modify_queue_pair modify;
  modify.start(rig.objects, pair.made(), qp_state::init);
  EXPECT_NO_SECOND_START(modify.start(rig.objects, pair.made(), qp_state::reset));
  ASSERT_TRUE(rig.await(modify).ok());
  EXPECT_EQ(rig.objects.find(pair.made())->qp_state, qp_state::init);
  query_queue_pair query;
  query.start(rig.objects, pair.made());
  EXPECT_NO_SECOND_START(query.start(rig.objects, {}));
  ASSERT_TRUE(rig.await(query).ok());
  EXPECT_EQ(query.context().get<&layouts::qpc::state>(), qp_state::init);

  destroy_queue_pair no_pair;
  no_pair.start(rig.objects, pair.made());
  EXPECT_NO_SECOND_START(no_pair.start(rig.objects, {}));
  EXPECT_TRUE(rig.await(no_pair).ok());
  destroy_completion_queue no_queue;
  no_queue.start(rig.objects, queue.made());
  EXPECT_NO_SECOND_START(no_queue.start(rig.objects, {}));
  EXPECT_TRUE(rig.await(no_queue).ok());
  destroy_memory_region no_region;
  no_region.start(rig.objects, region.made());
  EXPECT_NO_SECOND_START(no_region.start(rig.objects, {}));
  EXPECT_TRUE(rig.await(no_region).ok());
}

TEST_F(objects_test, users_keep_what_they_use) {
  rc_pair pair(rig);
  EXPECT_TRUE(rig.objects.destroy(pair.domain).is(driver_error::busy));
  EXPECT_TRUE(
      rig.objects.destroy_now(rig.objects.find(pair.completion[0])).is(driver_error::bad_argument))
      << "the device would go on writing to the queue";
  EXPECT_TRUE(destroy<destroy_completion_queue>(pair.completion[0]).is(driver_error::busy));
  EXPECT_TRUE(rig.objects.close().is(driver_error::busy));
  mr_handle region;
  ASSERT_TRUE(create(region, region_attributes()).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).is(driver_error::busy));
  ASSERT_TRUE(destroy<destroy_memory_region>(region).ok());
}

TEST_F(objects_test, regions_that_cannot_be_are_refused_without_a_command) {
  const auto before = counts(rig);
  const auto commands = rig.adapter.commands().statistics().submitted;
  mr_handle region;
  auto a = region_attributes();
  a.pages = page_list(pages.addresses.data(), 12, 0, 0);
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument)) << "no bytes";
  a = region_attributes();
  a.virtual_address += 8;
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument))
      << "not the offset of the first page";
  a = region_attributes();
  a.virtual_address = ~std::uint64_t{0} << 12;
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument))
      << "over the end of the address space";
  a = region_attributes();
  a.access = {.local_write = false, .remote_write = true};
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument))
      << "IBTA: remote write needs local write";
  a = region_attributes();
  a.pd = {};
  EXPECT_TRUE(create(region, a).is(driver_error::stale_handle));
  std::uint64_t crooked = pages.addresses[0] + 512;
  a.pd = domain;
  a.pages = page_list(&crooked, 12, 0, 4096);
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument)) << "a page that is none";
  a.pages = page_list(pages.addresses.data(), 9, 0, 512);
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument)) << "pages below 4 KiB";
  EXPECT_EQ(counts(rig), before);
  EXPECT_EQ(rig.adapter.commands().statistics().submitted, commands);
}

TEST_F(objects_test, queues_that_cannot_be_are_refused_without_a_command) {
  cq_handle cq;
  EXPECT_TRUE(create(cq, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(create(cq, 1u << 30).is(driver_error::bad_argument));
  create_completion_queue elsewhere;
  elsewhere.start(rig.objects, {.entries = 1, .completion_context = 99});
  EXPECT_TRUE(rig.await(elsewhere).is(driver_error::bad_argument));
  ASSERT_TRUE(create(cq).ok());
  EXPECT_EQ(rig.objects.find(cq)->rings.entries(), 16u);

  const auto before = counts(rig);
  const queue_pair_attributes good{
      .pd = domain, .send_cq = cq, .receive_cq = cq, .sends = 4, .receives = 4};
  qp_handle qp;
  auto a = good;
  a.service = layouts::qp_service::rd;
  EXPECT_TRUE(create(qp, a).is(driver_error::unsupported));
  a = good;
  a.gather = 200;
  EXPECT_TRUE(create(qp, a).is(driver_error::bad_argument));
  a = good;
  a.inline_bytes = 2000;
  EXPECT_TRUE(create(qp, a).is(driver_error::bad_argument));
  a = good;
  a.sends = 1u << 20;
  EXPECT_TRUE(create(qp, a).is(driver_error::bad_argument));
  a = good;
  a.receive_cq = {};
  EXPECT_TRUE(create(qp, a).is(driver_error::stale_handle));
  EXPECT_EQ(counts(rig), before);
  ASSERT_TRUE(destroy<destroy_completion_queue>(cq).ok());
}

TEST_F(objects_test, only_transitions_that_exist) {
  rc_pair pair(rig);
  EXPECT_TRUE(pair.move(0, qp_state::rtr).is(driver_error::bad_state));
  EXPECT_TRUE(pair.move(0, qp_state::error).is(driver_error::bad_state));
  auto a = pair.attributes(0);
  a.address.infiniband()->port = 3;
  EXPECT_TRUE(pair.move(0, qp_state::init, a).is(driver_error::bad_argument));
  ASSERT_TRUE(pair.move(0, qp_state::init).ok());
  EXPECT_TRUE(pair.move(0, qp_state::rts).is(driver_error::bad_state));
  a = pair.attributes(0);
  a.address.infiniband()->dlid = 0;
  EXPECT_TRUE(pair.move(0, qp_state::rtr, a).is(driver_error::bad_argument));
  a = pair.attributes(0);
  a.reads_as_responder = 1000;
  EXPECT_TRUE(pair.move(0, qp_state::rtr, a).is(driver_error::bad_argument));
  a = pair.attributes(0);
  a.bytes = 1;
  EXPECT_TRUE(pair.move(0, qp_state::rtr, a).is(driver_error::bad_argument))
      << "a caller with another table";
  ASSERT_TRUE(pair.move(0, qp_state::rtr).ok());
  EXPECT_TRUE(work_requests::post(pair.send(0), {}).is(driver_error::bad_state))
      << "no sends before RTS";
  ASSERT_TRUE(pair.move(0, qp_state::rts).ok());
}

TEST_F(objects_test, the_context_is_what_was_asked_for) {
  rc_pair pair(rig);
  pair.connect();
  query_queue_pair query;
  query.start(rig.objects, pair.queue[0]);
  ASSERT_TRUE(rig.await(query).ok());
  const auto c = query.context();
  const auto asked = pair.attributes(0);
  EXPECT_EQ(c.get<&layouts::qpc::state>(), qp_state::rts);
  EXPECT_EQ(c.get<&layouts::qpc::remote_qpn>(), asked.remote_qpn);
  EXPECT_EQ(c.get<&layouts::qpc::retry_count>(), 7u);
  EXPECT_EQ(c.get<&layouts::qpc::rnr_retry>(), 7u);
  EXPECT_EQ(c.get<&layouts::qpc::ack_req_freq>(), 8u);
  EXPECT_EQ(c.get<&layouts::qpc::sra_max>(), 2u);
  EXPECT_EQ(c.get<&layouts::qpc::rra_max>(), 2u);
  EXPECT_EQ(c.get<&layouts::qpc::min_rnr_nak>(), 12u);
  EXPECT_EQ(c.get<&layouts::primary_path::ack_timeout>(), 14u);
  EXPECT_EQ(c.get<&layouts::primary_path::rlid>(), asked.address.infiniband()->dlid);
  EXPECT_TRUE(c.get<&layouts::qpc::rre>() && c.get<&layouts::qpc::rwe>());
}

TEST_F(objects_test, what_runs_out_is_named) {
  std::vector<mr_handle> regions(every_kind().count<memory_region>());
  for (mr_handle& r : regions) ASSERT_TRUE(create(r, region_attributes()).ok());
  mr_handle one_more;
  const status s = create(one_more, region_attributes());
  EXPECT_TRUE(s.is(driver_error::no_resource));
  EXPECT_EQ(s.where(), memory_region::facts.item);
  for (const mr_handle r : regions) ASSERT_TRUE(destroy<destroy_memory_region>(r).ok());

  rc_pair pair(rig);
  const auto before = counts(rig);
  qp_handle qp;
  const status t = create(qp, {.pd = domain,
                               .send_cq = pair.completion[0],
                               .receive_cq = pair.completion[0],
                               .sends = 8000,
                               .receives = 16000});
  EXPECT_TRUE(t.is(driver_error::no_memory));
  EXPECT_EQ(t.where(), static_cast<unsigned>(verbs_budget::item::requests));
  EXPECT_EQ(counts(rig), before);
}

TEST(ring_memory, is_enough_for_rings_of_exactly_its_size) {
  rig_options how = exact();
  how.budget.queue_bytes = 34 * dma_arena::page;
  verbs_rig rig(how);
  create_completion_queue create[4];
  const std::size_t bytes[] = {4096, 65536, 4096, 65536};
  for (unsigned i = 0; i < 4; ++i) {
    const std::size_t entries = bytes[i] / rig.adapter.capabilities().cqe_bytes;
    create[i].start(rig.objects, {.entries = static_cast<std::uint32_t>(entries - 1)});
    const status s = rig.await(create[i]);
    EXPECT_TRUE(s.ok()) << i << ": " << words(s);
  }
  EXPECT_EQ(rig.adapter.arena().bytes_out(), how.budget.queue_bytes);
  for (create_completion_queue& c : create) {
    destroy_completion_queue destroy;
    destroy.start(rig.objects, c.made());
    EXPECT_TRUE(rig.await(destroy).ok());
  }
}

TEST(ring_memory, that_is_not_aligned_costs_translation_entries_and_works) {
  verbs_rig rig(exact());
  dma_arena& arena = rig.adapter.arena();
  constexpr std::size_t page = dma_arena::page;
  // The free memory begins at the third page and ends at an odd one.
  const result<dma_region> all = arena.allocate(arena.block().bytes);
  ASSERT_TRUE(all.ok());
  const dma_region& taken = all.value();
  arena.free(taken.part(2 * page, taken.bytes - 3 * page));
  {
    rc_pair pair(rig,
                 {.sends = 100, .receives = 100, .gather = 4, .scatter = 4, .inline_bytes = 400});
    pair.connect();
    const queue_pair& queue = *rig.objects.find(pair.queue[0]);
    EXPECT_EQ(queue.log_page, 12u);
    EXPECT_EQ(queue.translation_count, queue.ring.bytes / page);
    EXPECT_GT(queue.translation_count, 1u << number_spaces::log_mtt_unit);
    for (unsigned i = 0; i < 300; ++i) {  // each ring more than once
      ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = i}).ok());
      ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {.wr_id = i}).ok());
      ASSERT_TRUE(pair.next(0).ok());
      EXPECT_EQ(pair.next(1).wr_id, i);
    }
  }
  arena.free(taken.part(0, 2 * page));
  arena.free(taken.part(taken.bytes - page, page));
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

TEST_F(objects_test, a_refused_region_is_unwound) {
  mr_handle first;
  ASSERT_TRUE(create(first, region_attributes()).ok());
  const std::uint32_t index = (key_of(rig.objects, first) >> 8) + 1;
  // Somebody else's region where the next one will stand.
  layouts::image<layouts::mpt> squatter;
  squatter.set<&layouts::mpt::region>(true)
      .set<&layouts::mpt::physical>(true)
      .set<&layouts::mpt::mem_key>(index);
  ASSERT_TRUE(firmware<commands::sw2hw_mpt>(squatter, index).ok());
  const auto before = counts(rig);
  mr_handle second;
  const status s = create(second, region_attributes());
  EXPECT_EQ(s.who(), origin::firmware) << words(s);
  EXPECT_FALSE(second);
  EXPECT_EQ(counts(rig), before);
  firmware_command<commands::hw2sw_mpt> away{index};
  rig.adapter.commands().submit(away);
  ASSERT_TRUE(rig.await(away).ok());
  ASSERT_TRUE(create(second, region_attributes()).ok());
  ASSERT_TRUE(destroy<destroy_memory_region>(second).ok());
  ASSERT_TRUE(destroy<destroy_memory_region>(first).ok());
}

TEST_F(objects_test, a_completion_is_told_by_an_event) {
  struct told {
    unsigned count = 0;
    cq_handle queue;
    void* cookie = nullptr;
  } seen;
  rig_options how;
  how.events.context = &seen;
  how.events.completion = [](void* context, cq_handle queue, void* cookie) noexcept {
    auto& t = *static_cast<told*>(context);
    ++t.count;
    t.queue = queue;
    t.cookie = cookie;
  };
  verbs_rig armed(how);
  rc_pair pair(armed);
  pair.connect();
  pair.cq(1).arm();
  for (unsigned i = 1; i <= 3; ++i) {
    ASSERT_TRUE(pair.receive(1).post_and_ring({}).ok());
    ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {}).ok());
    ASSERT_TRUE(armed.run([&] { return seen.count == i; }, 10'000'000'000));
    EXPECT_EQ(seen.queue, pair.completion[1]);
    EXPECT_TRUE(pair.next(1).ok());
    EXPECT_TRUE(pair.next(0).ok());
    pair.cq(1).arm();
  }
}

TEST_F(objects_test, an_overrun_is_told_and_the_queue_can_be_destroyed) {
  struct told {
    unsigned count = 0;
    void* cookie = nullptr;
    layouts::cq_error_syndrome why{};
  } seen;
  rig_options how;
  how.events.context = &seen;
  how.events.cq_error = [](void* context, cq_handle, void* cookie,
                           layouts::cq_error_syndrome why) noexcept {
    auto& t = *static_cast<told*>(context);
    ++t.count;
    t.cookie = cookie;
    t.why = why;
  };
  verbs_rig small(how);
  int cookie = 0;
  rc_pair pair(small);
  create_completion_queue tiny;
  tiny.start(small.objects, {.entries = 1, .cookie = &cookie});
  ASSERT_TRUE(small.await(tiny).ok());
  create_queue_pair third;
  third.start(small.objects,
              {.pd = pair.domain, .send_cq = tiny.made(), .receive_cq = tiny.made(), .sends = 8});
  ASSERT_TRUE(small.await(third).ok());
  connection_attributes a = pair.attributes(0);
  a.remote_qpn = qpn_of(small.objects, pair.queue[1]);
  a.address.infiniband()->force_loopback = true;
  for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
    modify_queue_pair change;
    change.start(small.objects, third.made(), to, a);
    ASSERT_TRUE(small.await(change).ok());
  }
  modify_queue_pair flush;
  queues::sq& queue = small.objects.find(third.made())->rings.send;
  for (unsigned i = 0; i < 4; ++i) ASSERT_TRUE(work_requests::post(queue, {}).ok());
  queue.ring();
  flush.start(small.objects, third.made(), qp_state::error, a);
  ASSERT_TRUE(small.await(flush).ok());
  ASSERT_TRUE(small.run([&] { return seen.count != 0; }, 10'000'000'000));
  EXPECT_EQ(seen.cookie, &cookie);
  EXPECT_EQ(seen.why, layouts::cq_error_syndrome::overrun);
  destroy_queue_pair away;
  away.start(small.objects, third.made());
  ASSERT_TRUE(small.await(away).ok());
  destroy_completion_queue gone;
  gone.start(small.objects, tiny.made());
  ASSERT_TRUE(small.await(gone).ok());
}

TEST_F(objects_test, operations_can_be_awaited_by_a_coroutine) {
  struct task {
    struct promise_type {
      task get_return_object() {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() {}
      void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> frame;
  };
  bool finished = false;
  const auto work = [&]() -> task {
    create_memory_region make;
    make.start(rig.objects, region_attributes());
    EXPECT_TRUE((co_await make).ok());
    destroy_memory_region away;
    away.start(rig.objects, make.made());
    EXPECT_TRUE((co_await away).ok());
    create_memory_region refused;
    refused.start(rig.objects, {});
    EXPECT_TRUE((co_await refused).is(driver_error::stale_handle));
    finished = true;
  };
  const task t = work();
  EXPECT_TRUE(rig.run([&] { return finished; }));
  t.frame.destroy();
}

/// An adapter that takes longer for a command than the driver waits.
struct unanswered_test : objects_test {
  static constexpr std::uint64_t second = 1'000'000'000;
  mr_handle first;  // keeps the context memory mapped, so that the next command is the object's own

  unanswered_test() { EXPECT_TRUE(create(first, region_attributes()).ok()); }
  ~unanswered_test() override { EXPECT_TRUE(destroy<destroy_memory_region>(first).ok()); }
  void latency(std::uint64_t nanoseconds) {
    model::fault_options faults;
    faults.command_latency_ns = nanoseconds;
    rig.machine.adapter().set_faults(faults);
  }
};

TEST_F(unanswered_test, a_region_nobody_got_is_taken_back_after_the_late_answer) {
  const auto before = counts(rig);
  latency(90 * second);
  mr_handle region;
  const status s = create(region, region_attributes());
  EXPECT_TRUE(s.is(transport_error::timeout)) << words(s);
  EXPECT_FALSE(region);
  latency(0);
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  EXPECT_EQ(rig.adapter.commands().in_doubt(lease_kind::number), 1u);
  EXPECT_EQ(rig.adapter.commands().in_doubt(lease_kind::buffer), 8u);
  EXPECT_TRUE(rig.objects.destroy(domain).is(driver_error::busy)) << "it may be there";
  EXPECT_TRUE(rig.run([&] { return counts(rig) == before; }, 100 * second));
}

TEST_F(unanswered_test, a_destruction_that_is_answered_late_is_finished_late) {
  const auto before = counts(rig);
  mr_handle region;
  ASSERT_TRUE(create(region, region_attributes()).ok());
  latency(90 * second);
  EXPECT_TRUE(destroy<destroy_memory_region>(region).is(transport_error::timeout));
  latency(0);
  EXPECT_TRUE(destroy<destroy_memory_region>(region).is(driver_error::busy));
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  EXPECT_TRUE(rig.run([&] { return counts(rig) == before; }, 100 * second));
  EXPECT_TRUE(destroy<destroy_memory_region>(region).is(driver_error::stale_handle));
}

TEST_F(unanswered_test, a_cancelled_creation_holds_until_the_answer) {
  const auto before = counts(rig);
  latency(5 * second);
  create_memory_region op;
  op.start(rig.objects, region_attributes());
  rig.run([&] { return rig.adapter.commands().in_flight() == 1; }, second);
  op.cancel();
  EXPECT_TRUE(rig.await(op).is(driver_error::cancelled));
  latency(0);
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  EXPECT_TRUE(rig.run([&] { return counts(rig) == before; }, 20 * second));
}

TEST_F(unanswered_test, a_transition_in_doubt_waits_for_its_late_answer) {
  rc_pair pair(rig);
  ASSERT_TRUE(pair.move(0, qp_state::init).ok());
  latency(90 * second);
  EXPECT_TRUE(pair.move(0, qp_state::rtr).is(transport_error::timeout));
  latency(0);
  EXPECT_TRUE(pair.move(0, qp_state::error).is(driver_error::busy));
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, 100 * second));
  EXPECT_EQ(rig.objects.find(pair.queue[0])->qp_state, qp_state::rtr);
  EXPECT_TRUE(pair.move(0, qp_state::rts).ok());
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
  EXPECT_TRUE(pair.move(0, qp_state::init).ok());
}

// The late answer may say that it is in RESET, where nothing that is posted ever completes.
TEST_F(unanswered_test, a_queue_pair_whose_state_is_not_known_takes_no_posts) {
  rc_pair pair(rig);
  pair.connect();
  latency(90 * second);
  EXPECT_TRUE(pair.move(0, qp_state::reset).is(transport_error::timeout));
  latency(0);
  queues::qp_rings& rings = rig.objects.find(pair.queue[0])->rings;
  EXPECT_TRUE(rings.send.post(queues::nop{}).is(driver_error::bad_state));
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, 100 * second));
  EXPECT_TRUE(rings.send.post(queues::nop{}).is(driver_error::bad_state));
  EXPECT_TRUE(rings.receive.post({}).is(driver_error::bad_state));
  // The late answer has told that it is in RESET. Firmware would refuse one more reset of it.
  EXPECT_EQ(rig.objects.find(pair.queue[0])->qp_state, qp_state::reset);
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
  EXPECT_TRUE(pair.move(0, qp_state::init).ok());
}

TEST_F(unanswered_test, a_transition_that_is_answered_late_counts_as_its_answer_says) {
  rc_pair pair(rig);
  pair.connect();
  latency(90 * second);
  EXPECT_TRUE(pair.move(0, qp_state::error).is(transport_error::timeout));
  latency(0);
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, 100 * second));
  EXPECT_EQ(rig.objects.find(pair.queue[0])->qp_state, qp_state::error);
  // What is posted in ERROR is flushed.
  EXPECT_TRUE(pair.send(0).post_and_ring(queues::nop{.wr_id = 7}).ok());
  EXPECT_EQ(pair.next(0).status, queues::completion_status::flushed);

  // Refused late: the queue pair is where it was.
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
  rig.machine.adapter().judge_commands(
      [](layouts::opcode code, std::uint32_t) -> model::command_verdict {
        using fate = model::command_verdict::fate;
        return {.what = code == layouts::opcode::rst2init_qp ? fate::hold : fate::run};
      });
  EXPECT_TRUE(pair.move(0, qp_state::init).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  EXPECT_TRUE(rig.machine.adapter().answer_held_command(
      0, {.what = model::command_verdict::fate::refuse,
          .status = layouts::command_status::internal_error}));
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, 100 * second));
  EXPECT_EQ(rig.objects.find(pair.queue[0])->qp_state, qp_state::reset);
  EXPECT_TRUE(pair.move(0, qp_state::init).ok());
}

TEST(reset_test, a_reset_takes_every_object) {
  verbs_rig rig;
  auto pages = rig.machine.memory().allocate_scattered(4);
  auto* const pair = new rc_pair(rig);
  pair->connect();
  create_memory_region region;
  region.start(rig.objects,
               {.pd = pair->domain, .pages = page_list(pages.addresses.data(), 12, 0, 16384)});
  ASSERT_TRUE(rig.await(region).ok());
  // One in doubt, one under way.
  model::fault_options faults;
  faults.command_latency_ns = 400'000'000'000;
  rig.machine.adapter().set_faults(faults);
  destroy_memory_region doubtful;
  doubtful.start(rig.objects, region.made());
  ASSERT_TRUE(rig.await(doubtful).is(transport_error::timeout));
  destroy_queue_pair under_way;
  under_way.start(rig.objects, pair->queue[0]);
  rig.machine.adapter().set_faults({});

  rig.adapter.mark_as_lost();
  operation down;
  rig.adapter.tear_down(down);
  ASSERT_TRUE(rig.run([&] { return down.done() && under_way.done(); }));
  EXPECT_FALSE(under_way.outcome().ok());
  const verbs& left = rig.objects;
  EXPECT_EQ(left.held<memory_region>() + left.held<completion_queue>() + left.held<queue_pair>(),
            0u);
  EXPECT_EQ(left.held<protection_domain>(), 0u);
  EXPECT_EQ(rig.objects.find(pair->queue[1]), nullptr);
  EXPECT_TRUE(rig.adapter.holdings().none());
  pair->queue[0] = pair->queue[1] = {};
  pair->completion[0] = pair->completion[1] = {};
  pair->domain = {};
  delete pair;
  rig.machine.memory().release(pages);
}

/// A number that came from spaces which the failing bring-up closes would be given out twice.
TEST_F(objects_test, nothing_is_made_before_the_device_is_up) {
  ASSERT_TRUE(rig.objects.destroy(domain).ok());
  rig.machine.adapter().judge_commands(
      [](layouts::opcode code, std::uint32_t) -> model::command_verdict {
        using fate = model::command_verdict::fate;
        return {.what = code == layouts::opcode::init_port ? fate::refuse : fate::run};
      });
  operation again;
  rig.adapter.recover(again);
  unsigned tries = 0;
  rig.run([&] {
    if (rig.adapter.state() == device_state::bringing_up) {
      const auto made = rig.objects.create<protection_domain>();
      EXPECT_TRUE(!made.ok() && made.error().is(driver_error::bad_state));
      ++tries;
    }
    return again.done();
  });
  EXPECT_FALSE(again.outcome().ok());
  EXPECT_GT(tries, 0u);
  rig.machine.adapter().judge_commands({});
  operation up;
  rig.adapter.bring_up(up);
  ASSERT_TRUE(rig.await(up).ok());
  EXPECT_EQ(rig.adapter.numbers().pds.out(), 0u);
  domain = rig.objects.create<protection_domain>().value();
}

TEST_F(objects_test, what_is_started_on_closed_objects_is_refused_at_the_next_poll) {
  verbs closed;
  create_completion_queue op;
  op.start(closed, {.entries = 4});
  EXPECT_FALSE(op.done());
  EXPECT_EQ(closed.next_deadline(), 0u);
  EXPECT_EQ(closed.poll(), 1u);
  ASSERT_TRUE(op.done());
  EXPECT_TRUE(op.outcome().is(driver_error::bad_state));
  EXPECT_EQ(closed.next_deadline(), operation::no_deadline);
}

TEST_F(objects_test, a_region_of_all_addresses_is_refused) {
  auto a = region_attributes();
  a.pages = page_list(pages.addresses.data(), 12, 0, ~std::uint64_t{0});
  a.virtual_address = 0;
  mr_handle region;
  EXPECT_TRUE(create(region, a).is(driver_error::bad_argument));
}

}  // namespace
}  // namespace freehca
