// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// One trace record for each command, in every way that one can end, and the statistics beside it.
#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

class trace : public channel_test {
 protected:
  /// A command that differs from a default in everything that a record has.
  struct marked : command {
    marked() {
      request.opcode = layouts::opcode::query_cq;
      request.opcode_modifier = 3;
      request.input_modifier = 0x1234;
      request.lane = lane::teardown;
    }
  };
  void submit(command& one) {
    queued_at = device.now;
    commands.submit(one);
    pass(10);
  }
  void poll_and_post() {
    posted_at = device.now;
    commands.poll();
    pass(10);
  }
  /// The one record there is says all of it.
  void expect_record(status outcome, bool was_posted, std::uint64_t completed_at) {
    ASSERT_EQ(device.traces.size(), 1u);
    const trace_record& r = device.traces[0];
    EXPECT_EQ(r.opcode, static_cast<unsigned>(layouts::opcode::query_cq));
    EXPECT_EQ(r.opcode_modifier, 3u);
    EXPECT_EQ(r.input_modifier, 0x1234u);
    EXPECT_EQ(r.lane, static_cast<unsigned>(lane::teardown));
    EXPECT_EQ(r.queued, queued_at);
    EXPECT_EQ(r.posted, was_posted ? posted_at : 0u);
    EXPECT_EQ(r.completed, completed_at);
    EXPECT_EQ(r.outcome, outcome);
    EXPECT_EQ(r.outcome.where(), static_cast<unsigned>(layouts::opcode::query_cq));
  }
  static status at_opcode(status s) {
    return s.at(static_cast<unsigned>(layouts::opcode::query_cq));
  }

  std::uint64_t queued_at = 0, posted_at = 0;
  marked c;
};

TEST_F(trace, answered_polled) {
  submit(c);
  poll_and_post();
  device.answer();
  const std::uint64_t now = device.now;
  commands.poll();
  ASSERT_EQ(device.traces.size(), 1u);
  EXPECT_EQ(device.traces[0].outcome, status());
  EXPECT_EQ(device.traces[0].posted, posted_at);
  EXPECT_EQ(device.traces[0].completed, now);
  EXPECT_EQ(commands.statistics().answered_ok, 1u);
}

TEST_F(trace, refused_by_the_firmware) {
  use_events(4);
  submit(c);
  poll_and_post();
  complete(0, 0x10);
  expect_record(at_opcode(static_cast<command_status>(0x10)), true, device.now);
  commands.poll();
  EXPECT_EQ(commands.statistics().answered_with_error, 1u);
}

TEST_F(trace, not_answered_and_late) {
  use_events(4);
  submit(c);
  poll_and_post();
  pass(60 * second);
  commands.poll();
  expect_record(at_opcode(transport_error::timeout), true, device.now);
  complete(0);
  commands.poll();
  EXPECT_EQ(device.traces.size(), 1u) << "the late answer ends nothing twice";
  EXPECT_EQ(commands.statistics().timed_out, 1u);
  EXPECT_EQ(commands.statistics().late, 1u);
}

TEST_F(trace, overdue_in_the_queue) {
  nop_command busy;
  commands.submit(busy);
  commands.poll();
  c.set_deadline(device.now + 5);
  submit(c);
  commands.poll();
  expect_record(at_opcode(transport_error::timeout), false, device.now);
  commands.poll();
  EXPECT_EQ(commands.statistics().refused, 1u);
  finish();
}

TEST_F(trace, cancelled_in_the_queue) {
  submit(c);
  c.cancel();
  expect_record(at_opcode(driver_error::cancelled), false, device.now);
  commands.poll();
  EXPECT_EQ(commands.statistics().cancelled, 1u);
}

TEST_F(trace, detached) {
  submit(c);
  poll_and_post();
  c.cancel();
  expect_record(at_opcode(driver_error::cancelled), true, device.now);
  commands.poll();
  EXPECT_EQ(commands.statistics().detached, 1u);
  finish();
  EXPECT_EQ(device.traces.size(), 1u);
}

TEST_F(trace, the_device_is_gone) {
  submit(c);
  poll_and_post();
  device.all_ones = true;
  commands.poll();
  expect_record(at_opcode(transport_error::gone), true, device.now);
  device.all_ones = false;
  finish();
}

TEST_F(trace, reset_in_flight_and_queued) {
  for (const bool flies : {true, false}) {
    device.traces.clear();
    submit(c);
    if (flies) poll_and_post();
    finish();
    expect_record(at_opcode(transport_error::reset), flies, device.now);
    c.restart();
  }
}

TEST_F(trace, refused_by_the_channel) {
  c.request.input = command_request::form::mailbox;  // and nobody who fills it
  submit(c);
  expect_record(at_opcode(driver_error::bad_argument), false, queued_at);
  commands.poll();
}

TEST_F(trace, the_object_is_in_doubt) {
  use_events(4);
  c.request.key = {object_kind::cq, 1};
  command first(command_request{.opcode = layouts::opcode::query_cq, .key = c.request.key});
  commands.submit(first);
  commands.poll();
  pass(60 * second);
  commands.poll();
  device.traces.clear();
  submit(c);
  commands.poll();
  expect_record(at_opcode(driver_error::busy), false, device.now);
  commands.poll();
  finish();
}

TEST_F(trace, nobody_may_send) {
  command_client other(commands);
  commands.admit_clients(false);
  queued_at = device.now;
  other.submit(c);
  expect_record(at_opcode(driver_error::bad_state), false, device.now);
  commands.poll();
}

}  // namespace
}  // namespace freehca::testing
