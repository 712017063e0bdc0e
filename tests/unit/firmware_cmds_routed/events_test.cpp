// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

class events : public channel_test {};

TEST_F(events, several_at_once_up_to_the_limit_and_in_any_order) {
  use_events(3);
  nop_command c[5];
  for (auto& x : c) commands.submit(x);
  commands.poll();
  ASSERT_EQ(device.posted.size(), 3u);
  EXPECT_TRUE(device.last().get<&hcr::e>());
  EXPECT_EQ(commands.in_flight(), 3u);
  complete(2);
  complete(0);
  EXPECT_FALSE(c[2].done()) << "completions are delivered by poll() only";
  EXPECT_EQ(commands.poll(), 2u);
  EXPECT_TRUE(c[2].done());
  EXPECT_TRUE(c[0].done());
  EXPECT_FALSE(c[1].done());
  EXPECT_EQ(device.posted.size(), 5u);
  complete(1);
  complete(3);
  complete(4);
  EXPECT_EQ(commands.poll(), 3u);
  EXPECT_EQ(commands.statistics().most_in_flight, 3u);
  finish();
}

TEST_F(events, no_more_than_there_are_slots) {
  use_events(64);
  nop_command c[6];
  for (auto& x : c) commands.submit(x);
  commands.poll();
  EXPECT_EQ(device.posted.size(), slot_count);
  finish();
}

TEST_F(events, mailboxes_of_commands_under_way_are_apart) {
  use_events(4);
  firmware_command<commands::query_port> a{1u}, b{2u};
  commands.submit(a);
  commands.submit(b);
  commands.poll();
  layouts::image<layouts::query_port> reply;
  for (unsigned i : {1u, 0u}) {
    reply.set<&layouts::query_port::max_vl>(i + 3);
    device.write(device.posted[i].get<&hcr::out_param>(), reply.data(), reply.size());
    complete(i);
  }
  commands.poll();
  EXPECT_EQ(a.output.get<&layouts::query_port::max_vl>(), 3u);
  EXPECT_EQ(b.output.get<&layouts::query_port::max_vl>(), 4u);
  finish();
}

TEST_F(events, status_and_immediate_output_come_with_the_event) {
  use_events(2);
  firmware_command<commands::set_icm_size> a;
  nop_command b;
  commands.submit(a);
  commands.submit(b);
  commands.poll();
  complete(0, 0x06);  // NOP overtook: it is in the management lane
  complete(1, 0, 0x42);
  commands.poll();
  EXPECT_EQ(a.output_immediate(), 0x42u);
  EXPECT_TRUE(b.outcome().is(command_status::resource_busy));
  finish();
}

TEST_F(events, nothing_is_posted_while_the_register_is_taken) {
  device.takes_at_once = false;
  use_events(4);
  nop_command a, b;
  commands.submit(a);
  commands.submit(b);
  commands.poll();
  EXPECT_EQ(device.posted.size(), 1u);
  EXPECT_EQ(commands.next_deadline(), 0u) << "only polling shows when the register is free";
  commands.poll();
  EXPECT_EQ(device.posted.size(), 1u);
  device.take();
  commands.poll();
  EXPECT_EQ(device.posted.size(), 2u);
  device.take();
  complete(0);
  complete(1);
  commands.poll();
  finish();
}

TEST_F(events, duplicate_stale_and_foreign_completions_are_told_apart) {
  use_events(4);
  commands.on_completion(0, 0, 0);
  EXPECT_EQ(commands.statistics().foreign, 1u) << "no command was ever sent with this slot";
  nop_command a, b;
  commands.submit(a);
  commands.poll();
  complete(0);
  complete(0);
  EXPECT_EQ(commands.statistics().duplicate, 1u);
  commands.poll();
  complete(0);
  EXPECT_EQ(commands.statistics().duplicate, 2u);

  commands.submit(b);
  commands.poll();
  EXPECT_EQ(token_of(0) & 3, token_of(1) & 3) << "the same slot";
  complete(0);
  EXPECT_EQ(commands.statistics().stale, 1u);
  EXPECT_FALSE(b.done());
  complete(1);
  commands.poll();
  EXPECT_TRUE(b.done());
  finish();
}

class events_three_slots : public channel_test {
 protected:
  events_three_slots() : channel_test(3) {}
};

TEST_F(events_three_slots, a_token_beyond_the_last_slot_is_foreign) {
  use_events(3);
  commands.on_completion(3, 0, 0);
  commands.on_completion(0xffff, 0, 0);
  EXPECT_EQ(commands.statistics().foreign, 2u);
}

TEST_F(events, tokens_keep_their_meaning_over_65536_commands) {
  use_events(1);
  for (unsigned i = 0; i < 0x10000 + 10; ++i) {
    nop_command c;
    commands.submit(c);
    commands.poll();
    complete(device.posted.size() - 1);
    commands.poll();
    ASSERT_TRUE(c.done()) << i;
    if (device.posted.size() > 2) device.posted.erase(device.posted.begin());
  }
  EXPECT_EQ(
      commands.statistics().stale + commands.statistics().duplicate + commands.statistics().foreign,
      0u);
  finish();
}

TEST_F(events, the_switch_waits_for_what_is_in_flight) {
  nop_command a, b;
  commands.submit(a);
  commands.poll();
  commands.use_events(4);
  commands.submit(b);
  commands.poll();
  EXPECT_EQ(device.posted.size(), 1u);
  EXPECT_FALSE(commands.uses_events());
  device.answer();
  commands.poll();
  EXPECT_TRUE(commands.uses_events());
  ASSERT_EQ(device.posted.size(), 2u);
  EXPECT_TRUE(device.last().get<&hcr::e>());

  commands.use_polling();
  nop_command c;
  commands.submit(c);
  commands.poll();
  EXPECT_EQ(device.posted.size(), 2u);
  complete(1);
  commands.poll();
  ASSERT_EQ(device.posted.size(), 3u);
  EXPECT_FALSE(device.last().get<&hcr::e>());
  device.answer();
  commands.poll();
  EXPECT_TRUE(c.done());
  finish();
}

TEST_F(events, an_event_for_a_polled_command_is_foreign) {
  nop_command a;
  commands.submit(a);
  commands.poll();
  complete(0);
  EXPECT_EQ(commands.statistics().foreign, 1u);
  EXPECT_FALSE(a.done());
  finish();
}

TEST_F(events, next_deadline_is_the_earliest_of_all) {
  EXPECT_EQ(commands.next_deadline(), operation::no_deadline);
  use_events(1);
  EXPECT_EQ(commands.next_deadline(), operation::no_deadline);
  sw2hw_cq_command a{1u}, b{2u};
  commands.submit(a);
  commands.submit(b);
  commands.poll();
  EXPECT_EQ(commands.next_deadline(), device.now + 60 * second);
  sw2hw_cq_command c{3u};
  c.set_deadline(device.now + 5);
  commands.submit(c);
  commands.poll();
  EXPECT_EQ(commands.next_deadline(), device.now + 5);
  finish();
}

}  // namespace
}  // namespace freehca::testing
