// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Several clients on one channel: fair turns, one order for one object, and an end for all that one
// has sent.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include <freehca/firmware_cmds/raw_command.hpp>

#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

class clients : public channel_test {
 protected:
  clients() { use_events(4); }

  /// A command with its number as input modifier.
  command& sent(command_client& by, std::uint32_t n, object_key key = {}, lane l = lane::bulk,
                bool barrier = false) {
    command& made = all.emplace_back();
    made.request.opcode = layouts::opcode::nop;
    made.request.input_modifier = n;
    made.request.lane = l;
    made.request.key = key;
    made.request.barrier = barrier;
    by.submit(made);
    return made;
  }
  std::uint64_t number(std::size_t posted) const {
    return device.posted[posted].get<&hcr::in_modifier>();
  }
  std::vector<std::uint64_t> posted() const {
    std::vector<std::uint64_t> seen;
    for (std::size_t i = 0; i < device.posted.size(); ++i) seen.push_back(number(i));
    return seen;
  }
  /// Polls, and answers all that was posted, until everything is over.
  void run_dry() {
    for (unsigned looks = 0; !commands.idle(); ++looks) {
      ASSERT_LT(looks, 20'000u);
      commands.poll();
      for (; answered < device.posted.size(); ++answered) complete(answered);
    }
  }
  using numbers = std::vector<std::uint64_t>;

  std::deque<command> all;
  std::size_t answered = 0;
  command_client a{commands}, b{commands}, c{commands};
};

TEST_F(clients, ten_thousand_commands_of_one_do_not_delay_another) {
  for (std::uint32_t i = 0; i < 10'000; ++i) sent(a, 1);
  for (std::uint32_t i = 0; i < 500; ++i) sent(b, 2, {object_kind::qp, i});
  for (std::uint32_t i = 0; i < 250; ++i) sent(c, 3);
  run_dry();
  ASSERT_EQ(device.posted.size(), 10'750u);
  std::map<std::uint64_t, unsigned> count;
  for (std::size_t i = 0; i < device.posted.size(); ++i) {
    ++count[number(i)];
    // Everybody who still has something has had the same share.
    if (i < 750) {
      EXPECT_LE(i / 3, count[1]);
      EXPECT_LE(i / 3, count[2]);
      EXPECT_LE(i / 3, count[3]);
    } else if (i < 1250) {
      EXPECT_LE((i - 750) / 2 + 250, count[2]);
    }
  }
  EXPECT_EQ(count[1], 10'000u);
  EXPECT_EQ(count[2], 500u);
  EXPECT_EQ(count[3], 250u);
  EXPECT_EQ(a.queued() + a.in_flight(), 0u);
}

TEST_F(clients, the_driver_itself_is_one_of_them) {
  for (std::uint32_t i = 0; i < 100; ++i) sent(a, 1);
  command own;
  own.request.opcode = layouts::opcode::nop;
  own.request.input_modifier = 9;
  commands.submit(own);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 9, 1, 1}));
  run_dry();
}

TEST_F(clients, lanes_go_before_turns) {
  sent(a, 1);
  sent(a, 2);
  sent(b, 3, {}, lane::teardown);
  sent(c, 4, {}, lane::management);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{4, 3, 1, 2}));
  run_dry();
}

TEST_F(clients, commands_on_one_object_run_in_the_order_of_submission_whoever_sent_them) {
  const object_key qp{object_kind::qp, 5};
  sent(a, 1, qp);
  sent(b, 2, qp, lane::management);
  sent(a, 3, qp);
  sent(c, 4, qp);
  sent(a, 5);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 5}));
  run_dry();
  EXPECT_EQ(posted(), (numbers{1, 5, 2, 3, 4}));
}

TEST_F(clients, one_that_waited_for_its_object_keeps_its_place) {
  const object_key qp{object_kind::qp, 5};
  sent(a, 1, qp);
  sent(a, 2, qp);
  for (std::uint32_t n = 3; n <= 6; ++n) sent(a, n);
  commands.poll();
  ASSERT_EQ(posted(), (numbers{1, 3, 4, 5}));
  complete(0);
  commands.poll();
  EXPECT_EQ(number(4), 2u) << "it is older than 6";
  answered = 1;
  run_dry();
}

TEST_F(clients, cancel_all_takes_back_what_one_has_queued_and_detaches_the_rest) {
  const object_key qp{object_kind::qp, 5};
  watched_lease page;
  std::optional<command_client> gone(std::in_place, commands);
  command first(command_request{.opcode = layouts::opcode::nop, .input_modifier = 1, .key = qp});
  first.put_at_risk(page.it);
  gone->submit(first);
  command& behind = sent(*gone, 2, qp);
  command& other = sent(a, 3, qp);
  command& free = sent(*gone, 4);
  command& stays = sent(a, 5);
  for (std::uint32_t i = 0; i < 3; ++i) sent(*gone, 6);
  commands.poll();
  ASSERT_EQ(posted(), (numbers{1, 5, 4, 6}));
  EXPECT_EQ(gone->in_flight(), 3u);
  EXPECT_EQ(gone->queued(), 3u);
  gone.reset();
  EXPECT_EQ(commands.queued(), 1u);
  EXPECT_FALSE(first.done()) << "only poll() completes";
  commands.poll();
  for (const command* each : {&first, &behind, &free}) {
    ASSERT_TRUE(each->done());
    EXPECT_TRUE(each->outcome().is(driver_error::cancelled));
  }
  EXPECT_TRUE(page.it.in_doubt());
  EXPECT_FALSE(stays.done() || other.done());
  complete(0);
  complete(1);
  commands.poll();
  EXPECT_EQ(page.settled, 1u);
  EXPECT_TRUE(stays.outcome().ok());
  EXPECT_EQ(number(4), 3u) << "behind the late answer";
  answered = 2;
  run_dry();
  EXPECT_TRUE(other.outcome().ok());
  finish();
}

TEST_F(clients, one_that_is_cancelled_passes_its_place_on) {
  const object_key qp{object_kind::qp, 5};
  for (std::uint32_t i = 0; i < 4; ++i) sent(c, 1);
  commands.poll();
  command& head = sent(a, 2, qp);
  sent(b, 3, qp);
  sent(a, 4, qp);
  head.cancel();
  a.cancel_all();
  run_dry();
  EXPECT_EQ(posted(), (numbers{1, 1, 1, 1, 3}));
}

TEST_F(clients, are_held_out_but_for_the_owner) {
  command& running = sent(a, 1);
  commands.poll();
  command& queued = sent(a, 2, {object_kind::qp, 1}, lane::bulk, true);
  commands.admit_clients(false);
  command& late = sent(b, 3);
  command own(command_request{.opcode = layouts::opcode::nop, .input_modifier = 4, .key = {}});
  commands.submit(own);
  run_dry();
  EXPECT_TRUE(queued.outcome().is(driver_error::bad_state));
  EXPECT_TRUE(late.outcome().is(driver_error::bad_state));
  EXPECT_TRUE(running.outcome().ok());
  EXPECT_TRUE(own.outcome().ok());
  commands.admit_clients(true);
  command& again = sent(a, 5);
  run_dry();
  EXPECT_TRUE(again.outcome().ok());
}

TEST_F(clients, a_reset_ends_what_they_have_and_they_go_on_afterwards) {
  command& posted_one = sent(a, 1, {object_kind::qp, 1});
  command& waits = sent(b, 2, {object_kind::qp, 1});
  commands.poll();
  finish();
  EXPECT_TRUE(posted_one.outcome().is(transport_error::reset));
  EXPECT_TRUE(waits.outcome().is(transport_error::reset));
  EXPECT_EQ(a.in_flight() + b.queued(), 0u);
  std::fill_n(device.command_register().base, layouts::hcr::bytes, std::byte{0});
  use_events(4);
  answered = device.posted.size();
  command& again = sent(b, 3, {object_kind::qp, 1});
  run_dry();
  EXPECT_TRUE(again.outcome().ok());
}

TEST_F(clients, a_deadline_in_the_queue_holds_for_all_places_in_it) {
  const object_key qp{object_kind::qp, 5};
  for (std::uint32_t i = 0; i < 4; ++i) sent(c, 1);
  commands.poll();
  std::deque<command> some;
  for (std::uint32_t i = 0; i < 6; ++i) {
    command& x = some.emplace_back(
        command_request{.opcode = layouts::opcode::nop, .input_modifier = 10 + i, .key = qp});
    x.set_deadline(device.now + (i % 2 == 0 ? 100 : 300));
    (i % 3 == 0 ? a : b).submit(x);
  }
  EXPECT_EQ(commands.next_deadline(), 0u);
  commands.poll();
  EXPECT_EQ(commands.next_deadline(), device.now + 100);
  pass(100);
  commands.poll();
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(some[i].done(), i % 2 == 0) << i;
  EXPECT_EQ(commands.next_deadline(), device.now + 200);
  run_dry();
  EXPECT_EQ(posted(), (numbers{1, 1, 1, 1, 11, 13, 15}));
}

TEST_F(clients, a_raw_command_has_mailboxes_both_ways) {
  std::byte in[16], out[8];
  for (unsigned i = 0; i < sizeof in; ++i) in[i] = static_cast<std::byte>(i);
  raw_command raw;
  raw.request.opcode = layouts::opcode::diag_rprt;
  raw.request.opcode_modifier = 2;
  raw.request.input_modifier = 77;
  raw.set_input_mailbox(in, sizeof in);
  raw.set_output_mailbox(out, sizeof out);
  a.submit(raw);
  commands.poll();
  const posted_command& p = device.last();
  EXPECT_EQ(p.get<&hcr::opcode>(), layouts::opcode::diag_rprt);
  EXPECT_EQ(p.get<&hcr::opcode_modifier>(), 2u);
  EXPECT_EQ(p.get<&hcr::in_modifier>(), 77u);
  EXPECT_EQ(std::memcmp(p.input.data(), in, sizeof in), 0);
  device.write(p.get<&hcr::out_param>(), "answered", 8);
  complete(0);
  commands.poll();
  ASSERT_TRUE(raw.outcome().ok());
  EXPECT_EQ(std::memcmp(out, "answered", 8), 0);
}

TEST_F(clients, ten_thousand_commands_on_one_object_run_in_their_order_beside_others) {
  const object_key busy{object_kind::qp, 5};
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    sent(i % 2 == 0 ? a : b, i, busy, static_cast<lane>(i % lanes));
    sent(c, 100'000 + i, {object_kind::cq, i / 2});
  }
  run_dry();
  std::uint32_t on_busy = 0;
  std::map<std::uint64_t, std::uint64_t> last_on;
  for (const std::uint64_t n : posted()) {
    if (n < 100'000) {
      ASSERT_EQ(n, on_busy++);
    } else {
      std::uint64_t& last = last_on[(n - 100'000) / 2];
      ASSERT_LT(last, n);
      last = n;
    }
  }
  EXPECT_EQ(on_busy, 10'000u);
  EXPECT_EQ(last_on.size(), 5'000u);
}

}  // namespace
}  // namespace freehca::testing
