// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Deadlines, cancelling, detaching, late answers, reset, and a device that is gone.
#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

class doubt : public channel_test {};

TEST_F(doubt, an_answered_command_gives_its_leases_back_at_once) {
  for (const std::uint8_t status : {std::uint8_t{0}, std::uint8_t{3}}) {
    watched_lease pages(lease_kind::page, 5);
    nop_command c;
    c.put_at_risk(pages.it);
    commands.submit(c);
    commands.poll();
    EXPECT_TRUE(pages.it.at_risk());
    EXPECT_EQ(commands.in_doubt(lease_kind::page), 0u);
    device.answer(status);
    commands.poll();
    EXPECT_FALSE(pages.it.at_risk());
    EXPECT_FALSE(pages.it.in_doubt());
    EXPECT_EQ(pages.settled, 0u);
  }
  finish();
}

TEST_F(doubt, a_polled_timeout_holds_everything_until_the_late_answer) {
  watched_lease pages(lease_kind::page, 5), number(lease_kind::number);
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  c.put_at_risk(number.it);
  commands.submit(c);
  commands.poll();
  pass(60 * second - 1);
  commands.poll();
  EXPECT_FALSE(c.done());
  pass(1);
  commands.poll();
  EXPECT_TRUE(c.outcome().is(transport_error::timeout));
  EXPECT_EQ(c.outcome().where(), static_cast<unsigned>(layouts::opcode::sw2hw_cq));
  EXPECT_TRUE(pages.it.in_doubt());
  EXPECT_EQ(commands.in_doubt(lease_kind::page), 5u);
  EXPECT_EQ(commands.in_doubt(lease_kind::number), 1u);
  EXPECT_EQ(commands.in_doubt(lease_kind::slot), 1u);
  EXPECT_EQ(commands.in_doubt(lease_kind::mailbox), 1u);
  EXPECT_EQ(commands.slots_in_use(), 1u);

  device.answer(0);
  commands.poll();
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_FALSE(pages.how.by_reset);
  EXPECT_TRUE(pages.how.answer.ok());
  EXPECT_EQ(number.settled, 1u);
  EXPECT_EQ(commands.in_doubt(lease_kind::page), 0u);
  EXPECT_EQ(commands.in_doubt(lease_kind::mailbox), 0u);
  EXPECT_EQ(commands.slots_in_use(), 0u);
  EXPECT_EQ(commands.statistics().late, 1u);

  nop_command next;
  commands.submit(next);
  commands.poll();
  device.answer();
  commands.poll();
  EXPECT_TRUE(next.outcome().ok());
  finish();
}

TEST_F(doubt, a_late_answer_by_event_says_what_the_firmware_did) {
  use_events(4);
  watched_lease pages;
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  commands.submit(c);
  commands.poll();
  pass(60 * second);
  commands.poll();
  EXPECT_TRUE(c.outcome().is(transport_error::timeout));
  complete(0, 0x0a);
  EXPECT_EQ(pages.settled, 0u) << "settled by poll() only";
  EXPECT_EQ(commands.next_deadline(), 0u);
  commands.poll();
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_TRUE(pages.how.answer.is(command_status::bad_index));
  complete(0);
  EXPECT_EQ(commands.statistics().duplicate, 1u);
  finish();
}

TEST_F(doubt, a_host_that_sleeps_until_the_deadline_sees_the_late_answer) {
  for (const bool by_events : {false, true}) {
    if (by_events) use_events(4);
    watched_lease pages;
    sw2hw_cq_command c{1u};
    c.put_at_risk(pages.it);
    commands.submit(c);
    commands.poll();
    pass(60 * second);
    commands.poll();
    ASSERT_TRUE(pages.it.in_doubt());
    for (unsigned i = 0; i < 3; ++i) {
      const std::uint64_t until = commands.next_deadline();
      ASSERT_NE(until, operation::no_deadline) << "by events: " << by_events;
      ASSERT_GT(until, device.now) << "and not at once: nothing is known to be there";
      ASSERT_LE(until, device.now + second);
      device.now = until;
      commands.poll();
    }
    if (by_events) complete(device.posted.size() - 1);
    else device.answer(0);
    device.now = commands.next_deadline() == 0 ? device.now : commands.next_deadline();
    commands.poll();
    EXPECT_EQ(pages.settled, 1u);
    EXPECT_EQ(commands.next_deadline(), operation::no_deadline) << "nothing is going on any more";
  }
  finish();
}

TEST_F(doubt, an_answer_that_comes_between_two_looks_at_a_deadline_counts) {
  watched_lease pages;
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  commands.submit(c);
  commands.poll();
  pass(60 * second);
  device.answers_before_read = device.reads + 2;
  commands.poll();
  ASSERT_TRUE(c.done());
  EXPECT_TRUE(c.outcome().ok());
  EXPECT_FALSE(pages.it.in_doubt());
  EXPECT_EQ(commands.statistics().timed_out, 0u);
  finish();
}

// The next command overwrites the register: the answer to the one in doubt is taken first.
TEST_F(doubt, a_late_answer_that_comes_between_two_looks_is_not_lost) {
  watched_lease pages;
  sw2hw_cq_command c{1u};
  nop_command next;
  c.put_at_risk(pages.it);
  commands.submit(c);
  commands.poll();
  c.cancel();
  commands.submit(next);
  commands.poll();
  ASSERT_TRUE(pages.it.in_doubt());
  device.answers_before_read = device.reads + 2;
  commands.poll();
  EXPECT_EQ(device.posted.size(), 2u) << "the register was not free";
  device.answer();
  commands.poll();
  EXPECT_TRUE(next.outcome().ok());
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_TRUE(!pages.how.by_reset && pages.how.answer.ok());
  EXPECT_EQ(commands.statistics().late, 1u);
  finish();
}

TEST_F(doubt, the_mailbox_of_a_command_in_doubt_is_not_used_again) {
  use_events(4);
  firmware_command<commands::query_port> lost{1u};
  commands.submit(lost);
  commands.poll();
  const auto lost_box = device.last().get<&hcr::out_param>();
  pass(60 * second);
  commands.poll();
  for (unsigned port = 2; port < 12; ++port) {
    firmware_command<commands::query_port> c{port};
    commands.submit(c);
    commands.poll();
    EXPECT_NE(device.last().get<&hcr::out_param>(), lost_box);
    complete(device.posted.size() - 1);
    commands.poll();
  }
  finish();
}

TEST_F(doubt, the_callback_runs_before_the_lease_settles_also_when_both_are_due) {
  use_events(4);
  watched_lease pages;
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  bool in_doubt_at_callback = false;
  struct context {
    watched_lease* l;
    bool* seen;
  } x{&pages, &in_doubt_at_callback};
  c.then(
      [](operation&, void* p) noexcept {
        auto& ctx = *static_cast<context*>(p);
        *ctx.seen = ctx.l->it.in_doubt() && ctx.l->settled == 0;
      },
      &x);
  commands.submit(c);
  commands.poll();
  c.cancel();
  complete(0);
  commands.poll();
  EXPECT_TRUE(in_doubt_at_callback);
  EXPECT_EQ(pages.settled, 1u);
  finish();
}

TEST_F(doubt, a_queued_command_is_cancelled_without_a_trace_on_the_device) {
  nop_command busy, c;
  watched_lease pages;
  c.put_at_risk(pages.it);
  commands.submit(busy);
  commands.submit(c);
  commands.poll();
  c.cancel();
  EXPECT_FALSE(c.done()) << "cancel() completes nothing itself";
  c.cancel();
  EXPECT_EQ(commands.poll(), 1u);
  EXPECT_TRUE(c.outcome().is(driver_error::cancelled));
  EXPECT_FALSE(pages.it.in_doubt());
  EXPECT_EQ(device.posted.size(), 1u);
  EXPECT_EQ(commands.statistics().cancelled, 1u);
  finish();
}

TEST_F(doubt, a_command_in_flight_is_detached_and_others_wait_for_its_answer) {
  sw2hw_cq_command c{1u};
  watched_lease pages;
  c.put_at_risk(pages.it);
  nop_command next;
  commands.submit(c);
  commands.poll();
  c.cancel();
  commands.submit(next);
  commands.poll();
  EXPECT_TRUE(c.outcome().is(driver_error::cancelled));
  EXPECT_TRUE(pages.it.in_doubt());
  EXPECT_FALSE(next.done());
  pass(20 * second);
  commands.poll();
  EXPECT_FALSE(next.done()) << "the detached command may still be answered";
  device.answer();
  commands.poll();
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_EQ(device.posted.size(), 2u);
  device.answer();
  commands.poll();
  EXPECT_TRUE(next.outcome().ok());
  EXPECT_EQ(commands.statistics().detached, 1u);
  finish();
}

TEST_F(doubt, after_an_unanswered_polled_command_every_other_ends_at_once) {
  sw2hw_cq_command lost{1u};
  nop_command queued, later;
  commands.submit(lost);
  commands.submit(queued);
  commands.poll();
  pass(60 * second);
  commands.poll();
  commands.poll();
  EXPECT_TRUE(queued.outcome().is(transport_error::timeout));
  commands.submit(later);
  commands.poll();
  commands.poll();
  EXPECT_TRUE(later.outcome().is(transport_error::timeout));
  EXPECT_EQ(device.posted.size(), 1u);
  finish();
}

TEST_F(doubt, a_register_that_stays_taken_ends_the_queue) {
  device.takes_at_once = false;
  use_events(4);
  nop_command a, b;
  a.set_deadline(device.now + 1000 * second);
  commands.submit(a);
  commands.submit(b);
  commands.poll();
  pass(10 * second - 1);
  commands.poll();
  EXPECT_FALSE(b.done());
  pass(1);
  commands.poll();
  commands.poll();
  EXPECT_TRUE(b.outcome().is(transport_error::timeout));
  EXPECT_FALSE(a.done());
  finish();
}

TEST_F(doubt, slots_in_doubt_count_against_the_limit_and_end_the_queue_when_none_is_left) {
  use_events(2);
  nop_command c[3];
  for (auto& x : c) commands.submit(x);
  commands.poll();
  complete(1);
  pass(2 * second);
  commands.poll();
  EXPECT_TRUE(c[0].outcome().is(transport_error::timeout));
  EXPECT_TRUE(c[1].outcome().ok());
  EXPECT_EQ(c[2].where(), operation::phase::in_flight);
  nop_command d;
  commands.submit(d);
  pass(2 * second);
  commands.poll();
  commands.poll();
  EXPECT_TRUE(c[2].outcome().is(transport_error::timeout));
  EXPECT_TRUE(d.outcome().is(transport_error::timeout));
  complete(0);
  commands.poll();
  nop_command e;
  commands.submit(e);
  commands.poll();
  EXPECT_EQ(e.where(), operation::phase::in_flight) << "a late answer gives the slot back";
  finish();
}

TEST_F(doubt, a_command_on_an_object_in_doubt_is_refused) {
  use_events(4);
  sw2hw_cq_command lost{1u};
  commands.submit(lost);
  commands.poll();
  pass(60 * second);
  commands.poll();
  firmware_command<commands::hw2sw_cq> destroy{1u};
  sw2hw_cq_command other{2u};
  commands.submit(destroy);
  commands.submit(other);
  commands.poll();
  commands.poll();
  EXPECT_TRUE(destroy.outcome().is(driver_error::busy));
  EXPECT_EQ(other.where(), operation::phase::in_flight);
  finish();
}

TEST_F(doubt, after_an_unanswered_barrier_nothing_is_posted) {
  use_events(4);
  firmware_command<commands::init_hca> init;
  nop_command c;
  commands.submit(init);
  commands.poll();
  pass(60 * second);
  commands.submit(c);
  commands.poll();
  commands.poll();
  EXPECT_TRUE(init.outcome().is(transport_error::timeout));
  EXPECT_TRUE(c.outcome().is(transport_error::timeout));
  EXPECT_EQ(device.posted.size(), 1u);
  finish();
}

TEST_F(doubt, the_limits_per_class_and_the_deadline_of_one_command) {
  use_events(4);
  commands.set_limit(patience::lengthy, 7 * second);
  firmware_command<commands::init_hca> init;
  commands.submit(init);
  commands.poll();
  EXPECT_EQ(commands.next_deadline(), device.now + 7 * second);
  pass(7 * second);
  commands.poll();
  EXPECT_TRUE(init.outcome().is(transport_error::timeout));
  commands.device_was_reset();

  use_events(1);
  sw2hw_cq_command a{1u}, waits{2u};
  a.set_deadline(device.now + 90 * second);
  waits.set_deadline(device.now + 3 * second);
  commands.submit(a);
  commands.submit(waits);
  commands.poll();
  pass(3 * second);
  commands.poll();
  EXPECT_TRUE(waits.outcome().is(transport_error::timeout))
      << "a deadline counts in the queue as well";
  pass(70 * second);
  commands.poll();
  EXPECT_FALSE(a.done());
  finish();
}

TEST_F(doubt, a_reset_settles_everything_and_stale_answers_match_nothing) {
  use_events(4);
  watched_lease lost_pages, flying_pages, queued_pages;
  sw2hw_cq_command lost{1u}, flying{2u}, queued{2u};
  lost.put_at_risk(lost_pages.it);
  flying.put_at_risk(flying_pages.it);
  queued.put_at_risk(queued_pages.it);
  commands.submit(lost);
  commands.poll();
  pass(60 * second);
  commands.poll();
  commands.submit(flying);
  commands.submit(queued);
  commands.poll();
  commands.device_was_reset();
  EXPECT_TRUE(flying.outcome().is(transport_error::reset));
  EXPECT_TRUE(queued.outcome().is(transport_error::reset));
  EXPECT_EQ(lost_pages.settled, 1u);
  EXPECT_TRUE(lost_pages.how.by_reset);
  EXPECT_EQ(flying_pages.settled, 1u);
  EXPECT_EQ(queued_pages.settled, 0u) << "it never was at risk";
  EXPECT_EQ(commands.slots_in_use(), 0u);
  EXPECT_FALSE(commands.uses_events());

  complete(0);
  complete(1);
  EXPECT_EQ(commands.statistics().stale, 2u);

  std::fill_n(device.command_register().base, layouts::hcr::bytes, std::byte{0});
  nop_command again;
  commands.submit(again);
  commands.poll();
  EXPECT_TRUE(device.last().get<&hcr::t>());
  device.answer();
  commands.poll();
  EXPECT_TRUE(again.outcome().ok());
  finish();
}

TEST_F(doubt, an_answer_from_before_a_reset_does_not_end_the_command_that_has_its_slot_now) {
  use_events(4);
  nop_command before[4], after[4];
  for (auto& c : before) commands.submit(c);
  commands.poll();
  ASSERT_EQ(device.posted.size(), 4u);
  commands.device_was_reset();
  std::fill_n(device.command_register().base, layouts::hcr::bytes, std::byte{0});
  use_events(4);
  for (auto& c : after) commands.submit(c);
  commands.poll();
  ASSERT_EQ(device.posted.size(), 8u);
  for (unsigned i = 0; i < 4; ++i) complete(i);
  commands.poll();
  EXPECT_EQ(commands.statistics().stale, 4u);
  for (auto& c : after) EXPECT_FALSE(c.done());
  for (unsigned i = 4; i < 8; ++i) complete(i);
  commands.poll();
  for (auto& c : after) EXPECT_TRUE(c.outcome().ok());
}

TEST_F(doubt, a_callback_may_report_the_reset) {
  watched_lease pages;
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  bool doubtful = false;
  struct context {
    channel* ch;
    watched_lease* l;
    bool* doubtful;
  } x{&commands, &pages, &doubtful};
  c.then(
      [](operation&, void* p) noexcept {
        auto& ctx = *static_cast<context*>(p);
        *ctx.doubtful = ctx.l->it.in_doubt();
        ctx.ch->device_was_reset();
      },
      &x);
  commands.submit(c);
  commands.poll();
  pass(60 * second);
  commands.poll();
  EXPECT_TRUE(doubtful);
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_EQ(commands.slots_in_use(), 0u);
  finish();
}

TEST_F(doubt, all_ones_is_a_device_that_is_gone) {
  for (const bool by_event : {false, true}) {
    if (by_event) use_events(4);
    watched_lease pages;
    sw2hw_cq_command flying{1u}, queued{1u};
    flying.put_at_risk(pages.it);
    commands.submit(flying);
    commands.submit(queued);
    commands.poll();
    device.all_ones = true;
    nop_command more;
    commands.submit(more);
    commands.poll();
    commands.poll();
    EXPECT_TRUE(flying.outcome().is(transport_error::gone));
    EXPECT_TRUE(queued.outcome().is(transport_error::gone));
    EXPECT_TRUE(more.outcome().is(transport_error::gone));
    EXPECT_TRUE(pages.it.in_doubt()) << "it may still write until bus mastering is off";
    const unsigned reads = device.reads;
    nop_command later;
    commands.submit(later);
    commands.poll();
    EXPECT_TRUE(later.outcome().is(transport_error::gone));
    EXPECT_EQ(device.reads, reads) << "a lost device is not touched any more";
    EXPECT_TRUE(commands.failure().is(transport_error::gone));
    device.all_ones = false;
    std::fill_n(device.command_register().base, layouts::hcr::bytes, std::byte{0});
    commands.device_was_reset();
    EXPECT_EQ(pages.settled, 1u);
    EXPECT_TRUE(commands.failure().ok());
  }
  finish();
}

TEST_F(doubt, a_deadline_on_a_lost_device_says_gone_not_timeout) {
  use_events(4);
  sw2hw_cq_command c{1u};
  commands.submit(c);
  commands.poll();
  device.all_ones = true;
  pass(60 * second);
  commands.poll();
  EXPECT_TRUE(c.outcome().is(transport_error::gone));
  finish();
}

TEST_F(doubt, a_late_answer_after_fail_all_settles) {
  use_events(4);
  watched_lease pages;
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  commands.submit(c);
  commands.poll();
  commands.fail_all(transport_error::gone);
  commands.poll();
  EXPECT_TRUE(c.outcome().is(transport_error::gone));
  complete(0);
  commands.poll();
  EXPECT_EQ(pages.settled, 1u);
  finish();
}

TEST_F(doubt, a_settler_may_submit_the_command_that_takes_things_back) {
  struct undo {
    channel* ch;
    firmware_command<commands::unmap_icm> unmap{std::uint64_t{0x1000}, 1u};
  } u{&commands};
  lease pages(
      lease_kind::page, 1,
      [](lease&, const settlement& how, void* p) noexcept {
        auto& self = *static_cast<undo*>(p);
        if (!how.by_reset && how.answer.ok()) self.ch->submit(self.unmap);
      },
      &u);
  firmware_command<commands::map_icm> map;
  layouts::image<layouts::map_entry> entry;
  map.set_input(&entry, 1);
  map.put_at_risk(pages);
  commands.submit(map);
  commands.poll();
  pass(60 * second);
  commands.poll();
  EXPECT_TRUE(map.outcome().is(transport_error::timeout));
  device.answer();
  commands.poll();
  ASSERT_EQ(device.posted.size(), 2u);
  EXPECT_EQ(device.last().get<&hcr::opcode>(), layouts::opcode::unmap_icm);
  device.answer();
  commands.poll();
  EXPECT_TRUE(u.unmap.outcome().ok());
  finish();
}

/// Submits its command again whenever it is refused because its object is in doubt.
struct patient_sender {
  explicit patient_sender(channel& of) : ch(of) {}
  channel& ch;
  firmware_command<commands::hw2sw_cq> c{1u};
  unsigned refusals = 0;
  void submit() {
    c.then(
        [](operation& op, void* p) noexcept {
          auto& self = *static_cast<patient_sender*>(p);
          if (!op.outcome().is(driver_error::busy)) return;
          ++self.refusals;
          op.restart();
          self.submit();
        },
        this);
    ch.submit(c);
  }
};

TEST_F(doubt, a_retry_on_an_object_in_doubt_is_refused_once_a_poll_and_lets_others_pass) {
  use_events(4);
  sw2hw_cq_command lost{1u}, other{2u};
  commands.submit(lost);
  commands.poll();
  pass(60 * second);
  commands.poll();
  ASSERT_TRUE(lost.outcome().is(transport_error::timeout));
  patient_sender sender(commands);
  sender.submit();
  commands.submit(other);
  for (unsigned i = 0; i < 10; ++i) EXPECT_LE(commands.poll(), 1u);
  EXPECT_GE(sender.refusals, 9u);
  EXPECT_LE(sender.refusals, 10u);
  complete(1);
  commands.poll();
  EXPECT_TRUE(other.outcome().ok());
  complete(0);
  for (unsigned i = 0; i < 3; ++i) commands.poll();
  ASSERT_EQ(device.posted.size(), 3u) << "the late answer lets it go";
  complete(2);
  commands.poll();
  EXPECT_TRUE(sender.c.outcome().ok());
}

TEST_F(doubt, the_deadline_of_a_posted_command_is_its_owners_until_it_is_answered) {
  use_events(4);
  nop_command probe;
  sw2hw_cq_command c{1u};
  commands.submit(c);
  commands.submit(probe);
  commands.poll();
  EXPECT_EQ(loop.next_deadline(), device.now + 2 * second) << "the probe's";
  // It is posted first.
  complete(0);
  commands.poll();
  ASSERT_TRUE(probe.done());
  EXPECT_EQ(loop.next_deadline(), device.now + 60 * second);
  complete(1);
  commands.poll();
  EXPECT_EQ(loop.next_deadline(), operation::no_deadline);
}

TEST_F(doubt, a_command_that_is_destroyed_between_its_end_and_its_delivery_settles_too) {
  use_events(4);
  watched_lease pages;
  auto c = std::make_unique<sw2hw_cq_command>(1u);
  c->put_at_risk(pages.it);
  commands.submit(*c);
  commands.poll();
  c->cancel();
  EXPECT_EQ(c->where(), operation::phase::ended);
  c.reset();
  EXPECT_EQ(commands.poll(), 0u);
  EXPECT_TRUE(pages.it.in_doubt());
  complete(0);
  commands.poll();
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_EQ(commands.next_deadline(), operation::no_deadline);
}

TEST_F(doubt, a_reset_settles_what_was_answered_late_and_not_delivered) {
  use_events(4);
  watched_lease pages;
  sw2hw_cq_command c{1u};
  c.put_at_risk(pages.it);
  commands.submit(c);
  commands.poll();
  c.cancel();
  commands.poll();
  ASSERT_TRUE(c.done());
  complete(0);
  EXPECT_EQ(pages.settled, 0u) << "the answer waits for the delivery";
  commands.device_was_reset();
  EXPECT_EQ(pages.settled, 1u);
  EXPECT_TRUE(pages.how.by_reset) << "the reset has undone what the command did";
}

/// The device is reset by a callback, while a command that ended before it waits behind.
TEST_F(doubt, what_ends_during_a_delivery_completes_ahead_of_its_leases) {
  use_events(4);
  watched_lease pages[2];
  sw2hw_cq_command first{1u}, second_one{2u};
  struct order {
    channel* ch;
    watched_lease* l;
    bool told_first = false;
  } o{&commands, &pages[1]};
  first.put_at_risk(pages[0].it);
  second_one.put_at_risk(pages[1].it);
  first.then([](operation&, void* p) noexcept { static_cast<order*>(p)->ch->device_was_reset(); },
             &o);
  second_one.then(
      [](operation&, void* p) noexcept {
        auto& self = *static_cast<order*>(p);
        self.told_first = self.l->settled == 0;
      },
      &o);
  commands.submit(first);
  commands.submit(second_one);
  commands.poll();
  complete(0);
  while (commands.next_deadline() == 0 || !second_one.done()) commands.poll();
  EXPECT_TRUE(first.outcome().ok());
  EXPECT_TRUE(second_one.outcome().is(transport_error::reset));
  EXPECT_TRUE(o.told_first);
  EXPECT_EQ(pages[1].settled, 1u);
  EXPECT_EQ(commands.slots_in_use(), 0u);
}

}  // namespace
}  // namespace freehca::testing
