// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Owners of event contexts that come, go, or are late while something crosses or the device is
// reset.
#include <deque>
#include <optional>

#include "control_owner.hpp"
#include "rc_pair.hpp"

namespace freehca::testing {
namespace {

void expect_completion_events(control& c) {
  rc_pair_of<control> p(c);
  p.connect();
  registered_buffer_of<control> from(c, p.domain, 64, 0, all_access);
  registered_buffer_of<control> to(c, p.domain, 64, 0, all_access);
  p.cq(0).arm();
  ASSERT_TRUE(p.send(0)
                  .post_and_ring(queues::rdma_write{.remote = {to.address(), to.key},
                                                    .data = from.entry(0, 64)})
                  .ok());
  EXPECT_TRUE(p.next(0).ok());
  EXPECT_TRUE(c.run([&] { return c.completions == 1; }, 1'000'000'000));
}

TEST(owners_ends, leave_their_context_to_the_control_owner) {
  owners_rig rig(1);
  control c(rig);
  rig.open_all();
  ASSERT_TRUE(rig.owners[0].objects.close().ok());
  expect_completion_events(c);
}

TEST(owners_ends, leave_their_context_to_the_control_owner_in_a_reset_as_well) {
  owners_rig rig(1);
  control c(rig);
  rig.open_all();
  operation again;
  rig.adapter.recover(again);
  // Told to stop, it leaves.
  ASSERT_TRUE(rig.run([&] { return !rig.owners[0].objects.up(); }));
  ASSERT_TRUE(rig.owners[0].objects.close().ok());
  ASSERT_TRUE(c.await(again).ok());
  expect_completion_events(c);
  EXPECT_EQ(rig.owners[0].completions, 0u);
}

TEST(owners_ends, that_stop_late_do_not_wake_the_reset_early) {
  in_process::machine_options how;
  how.function_level_reset = false;
  owners_rig rig(1, how);
  rig.open_all();
  rig.owners[0].polls = false;
  const std::uint64_t resets = rig.adapter.info().resets;
  const std::uint64_t software = rig.machine.counter("software_resets");
  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.run([&] { return rig.machine.counter("software_resets") > software; }));
  const std::uint64_t begun = rig.machine.time();
  rig.owners[0].polls = true;
  ASSERT_TRUE(rig.run([&] { return rig.adapter.info().resets > resets; }));
  EXPECT_GE(rig.machine.time() - begun, clock::seconds(1))
      << "nobody looks at the adapter for a second after it was told to reset itself";
  EXPECT_TRUE(rig.await(again).ok());
  EXPECT_TRUE(rig.run([&] { return rig.owners[0].up_again == 1; }, 1'000'000'000));
}

TEST(owners_ends, a_late_answer_that_overtakes_the_first_settles_the_object) {
  owners_rig rig(1);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  unsigned held = 0;
  rig.machine.adapter().judge_commands([&](layouts::opcode code, std::uint32_t) {
    using fate = model::command_verdict::fate;
    const bool hold = code == layouts::opcode::sw2hw_cq;
    held += hold ? 1 : 0;
    return model::command_verdict{.what = hold ? fate::hold : fate::run};
  });
  create_completion_queue cq;
  cq.start(o.objects, {.entries = 15});
  ASSERT_TRUE(rig.run([&] { return held == 1; }));
  // From here on the owner is slow: it hears of nothing until all has happened.
  o.polls = false;
  ASSERT_TRUE(rig.run([&] { return rig.adapter.holdings().slots_in_doubt == 1; }));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  ASSERT_TRUE(rig.run([&] { return rig.adapter.holdings().slots_in_doubt == 0; }));
  cq.cancel();
  rig.adapter.poll();
  o.polls = true;
  EXPECT_FALSE(rig.await(cq).ok());
  EXPECT_TRUE(rig.run([&] { return o.objects.holdings().none(); }, clock::seconds(100)))
      << "what the late answer made is taken back";
}

TEST(owners_ends, leave_no_answer_behind_those_of_many_others) {
  owners_rig rig(2);
  ASSERT_TRUE(rig.owners[0].open().ok());
  verbs_budget many = few_of_each();
  for (verbs_budget::entry& e : many.kinds)
    if (e.what == &kind_of<completion_queue>) e.count = 70;
  const event_owner_setup how{.completion_context = 1};
  const std::size_t bytes = verbs::event_owner_storage_bytes(many);
  storage room(bytes);
  verbs busy;
  const status opened = busy.open(rig.adapter, many, how, room.at(), bytes);
  ASSERT_TRUE(opened.ok()) << words(opened);

  operation again;
  rig.adapter.recover(again);
  rig.owners[0].polls = false;
  ASSERT_TRUE(rig.run([&] { return rig.adapter.awaited_owner() != nullptr; }));
  std::deque<create_completion_queue> asked(70);
  for (create_completion_queue& cq : asked) cq.start(busy, {.entries = 15});
  rig.owners[0].objects.poll();
  ASSERT_TRUE(rig.owners[0].objects.close().ok());

  ASSERT_TRUE(rig.run([&] {
    busy.poll();
    for (const create_completion_queue& cq : asked)
      if (!cq.done()) return false;
    return again.done() && busy.up();
  }));
  EXPECT_TRUE(again.outcome().ok());
  EXPECT_TRUE(busy.close().ok());
}

TEST(owners_ends, have_the_time_to_let_go_when_the_deadline_has_passed) {
  owners_rig rig(1);
  rig.open_all();
  operation down;
  down.set_deadline(rig.machine.time());
  rig.adapter.tear_down(down);
  EXPECT_TRUE(rig.run([&] { return down.done(); }));
  EXPECT_EQ(rig.adapter.state(), device_state::down) << rig.failure();
}

TEST(owners_ends, without_a_new_doorbell_page_hear_of_nobody_elses_events) {
  owners_rig rig(2);
  control c(rig);
  ASSERT_TRUE(rig.owners[1].open().ok());
  operation again;
  rig.adapter.recover(again);
  uar_pages& pages = rig.adapter.uars();
  std::vector<uar_page> taken;
  ASSERT_TRUE(c.run([&] {
    // Somebody else has all pages.
    if (taken.empty() && rig.adapter.state() == device_state::bringing_up &&
        rig.adapter.step() == bring_up_step::set_ports)
      for (auto p = pages.allocate(); p.ok(); p = pages.allocate()) taken.push_back(p.value());
    return again.done() && rig.owners[1].up_again == 1;
  }));
  EXPECT_TRUE(rig.owners[1].last_up.is(driver_error::no_resource)) << words(rig.owners[1].last_up);
  EXPECT_EQ(rig.owners[1].last_up.where(), static_cast<unsigned>(budget::item::uars));
  EXPECT_FALSE(rig.owners[1].objects.up());
  for (const uar_page& page : taken) pages.free(page);

  rc_pair_of<control> p(c);
  p.connect();
  registered_buffer_of<control> from(c, p.domain, 64, 0, all_access);
  ASSERT_TRUE(p.send(0)
                  .post_and_ring(
                      queues::rdma_write{.remote = {0x1234, 0xdeadbeef}, .data = from.entry(0, 64)})
                  .ok());
  EXPECT_FALSE(p.next(0).ok());
  EXPECT_TRUE(c.run([&] { return c.qp_events != 0; }, 1'000'000'000));
}

TEST(owners_ends, without_any_number_hear_of_a_teardown_too) {
  owners_rig rig(1);
  verbs_budget none = few_of_each();
  for (verbs_budget::entry& e : none.kinds) e.count = 0;
  unsigned up_again = 0;
  verbs_events events;
  events.context = &up_again;
  events.up_again = [](void* count, status) noexcept { ++*static_cast<unsigned*>(count); };
  const std::size_t bytes = verbs::event_owner_storage_bytes(none);
  storage room(bytes);
  verbs v;
  ASSERT_TRUE(v.open(rig.adapter, none, {.name = "idle"}, room.at(), bytes, events).ok());
  operation down;
  rig.adapter.tear_down(down);
  ASSERT_TRUE(rig.run([&] {
    v.poll();
    return down.done();
  }));
  EXPECT_FALSE(v.up());
  operation up;
  rig.adapter.bring_up(up);
  ASSERT_TRUE(rig.run([&] {
    v.poll();
    return up.done() && up_again == 1;
  }));
  EXPECT_TRUE(v.close().ok());
}

/// Between the end of its commands and the reset the device still runs, and may write to the ring.
TEST(owners_ends, hold_an_object_whose_destruction_a_reset_ended_until_that) {
  owners_rig rig(2);
  rig.open_all();
  owners_rig::owner& o = rig.owners[0];
  create_completion_queue cq;
  cq.start(o.objects, {.entries = 15});
  ASSERT_TRUE(rig.await(cq).ok());
  // One who does not poll is waited for before the reset.
  rig.owners[1].polls = false;
  destroy_completion_queue gone;
  gone.start(o.objects, cq.made());
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.run([&] { return gone.done(); }, clock::milliseconds(500)));
  EXPECT_TRUE(gone.outcome().is(transport_error::reset)) << words(gone.outcome());
  EXPECT_FALSE(again.done());
  EXPECT_EQ(o.objects.holdings().objects, 1u);
  rig.owners[1].polls = true;
  ASSERT_TRUE(rig.await(again).ok());
  EXPECT_TRUE(rig.run([&] { return o.up_again == 1 && rig.owners[1].up_again == 1; }));
  EXPECT_TRUE(o.objects.holdings().none());
}

}  // namespace
}  // namespace freehca::testing
