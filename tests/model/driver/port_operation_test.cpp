// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ports that go down and up again while the device is up.
#include "either_reset.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::command_status;
using layouts::opcode;

class ports : public ::testing::Test {
 protected:
  ports() : rig(how()) {
    EXPECT_TRUE(rig.adapter.open(rig.setup).ok());
    EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
    for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
      rig.adapter.commands().set_limit(p, clock::milliseconds(20));
    before = rig.adapter.holdings();
  }
  ~ports() override {
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  static in_process::machine_options how() {
    in_process::machine_options o;
    o.model.faults.command_latency_ns = latency;
    return o;
  }
  status change(bool open, unsigned port = 1) {
    port_operation op;
    open ? op.open(rig.adapter, port) : op.close(rig.adapter, port);
    return rig.await(op);
  }
  void fail_command(unsigned n, model::command_verdict verdict) {
    rig.machine.adapter().judge_commands(
        [this, n, verdict, seen = 0u](opcode code,
                                      std::uint32_t) mutable -> model::command_verdict {
          if (++seen != n) return {};
          struck = code;
          return verdict;
        });
  }
  void expect_as_before(bool open, const char* where) {
    EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; })) << where;
    EXPECT_EQ(rig.adapter.port_open(1), open) << where;
    const device_holdings now = rig.adapter.holdings();
    EXPECT_EQ(now.pages, before.pages) << where;
    EXPECT_EQ(now.in_doubt(), 0u) << where;
  }

  static constexpr std::uint64_t latency = 20'000;
  testing::device_rig rig;
  device_holdings before;
  opcode struck{};
};

TEST_F(ports, go_down_and_up_and_become_active_again) {
  for (const unsigned port : {1u, 2u}) {
    EXPECT_TRUE(rig.adapter.port_open(port));
    EXPECT_TRUE(rig.adapter.port(port).active());
    EXPECT_TRUE(change(false, port).ok());
    EXPECT_FALSE(rig.adapter.port_open(port));
    EXPECT_TRUE(rig.run([&] { return !rig.adapter.port(port).active(); }));
    EXPECT_TRUE(change(true, port).ok());
    EXPECT_TRUE(rig.run([&] { return rig.adapter.port(port).active(); }, clock::seconds(10)));
  }
}

TEST_F(ports, what_makes_no_sense_is_refused_by_name) {
  EXPECT_TRUE(change(true).is(driver_error::bad_state)) << "it is open";
  EXPECT_TRUE(change(false, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(change(false, 3).is(driver_error::bad_argument));
  port_operation first, second;
  first.close(rig.adapter, 1);
  second.close(rig.adapter, 1);
  EXPECT_TRUE(rig.await(second).is(driver_error::busy));
  EXPECT_TRUE(rig.await(first).ok());
  EXPECT_TRUE(change(false).is(driver_error::bad_state)) << "it is closed";
  EXPECT_TRUE(rig.tear_down().ok()) << "with one port closed";
  EXPECT_TRUE(change(false).is(driver_error::bad_state)) << "the device is down";
  EXPECT_TRUE(rig.bring_up().ok());
}

TEST_F(ports, every_command_refused_leaves_the_port_as_it_was) {
  fail_command(1, {fate::refuse, command_status::internal_error});
  EXPECT_TRUE(change(false).is(command_status::internal_error));
  expect_as_before(true, "CLOSE_PORT");
  rig.machine.adapter().judge_commands({});
  ASSERT_TRUE(change(false).ok());
  rig.run_for(clock::milliseconds(1));
  for (unsigned n = 1; n <= 3; ++n) {
    fail_command(n, {fate::refuse, command_status::internal_error});
    EXPECT_TRUE(change(true).is(command_status::internal_error)) << n;
    expect_as_before(false, layouts::name_of(struck));
  }
  EXPECT_EQ(struck, opcode::init_port);
  // Fewer lanes, as in bring-up.
  fail_command(2, {fate::refuse, command_status::bad_size});
  EXPECT_TRUE(change(true).ok());
  EXPECT_EQ(struck, opcode::set_port);
  expect_as_before(true, "SET_PORT");
}

TEST_F(ports, every_command_not_answered_is_in_doubt_until_it_is) {
  for (const fate f : {fate::hold, fate::hold_and_refuse}) {
    const bool done_late = f == fate::hold;
    if (!rig.adapter.port_open(1)) {
      ASSERT_TRUE(change(true).ok());
      rig.run_for(clock::milliseconds(1));
    }
    fail_command(1, {.what = f});
    EXPECT_TRUE(change(false).is(transport_error::timeout));
    EXPECT_TRUE(change(false).is(driver_error::busy));
    EXPECT_EQ(rig.adapter.holdings().mappings_in_doubt, 1u);
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    expect_as_before(!done_late, "CLOSE_PORT");
    if (rig.adapter.port_open(1)) {
      ASSERT_TRUE(change(false).ok());
    }
    rig.run_for(clock::milliseconds(1));
    for (unsigned n = 1; n <= 3; ++n) {
      fail_command(n, {.what = f});
      EXPECT_TRUE(change(true).is(transport_error::timeout)) << n;
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      expect_as_before(n == 3 && done_late, layouts::name_of(struck));
    }
  }
}

TEST_F(ports, cancelled_or_overdue_at_any_instant) {
  unsigned ended = 0;
  for (const bool by_deadline : {false, true}) {
    for (std::uint64_t after = 0; after <= 6 * latency; after += latency / 4) {
      const bool open = !rig.adapter.port_open(1);
      port_operation op;
      if (by_deadline) op.set_deadline(rig.machine.time() + after);
      open ? op.open(rig.adapter, 1) : op.close(rig.adapter, 1);
      if (!by_deadline) {
        rig.run([&] { return op.done(); }, after);
        op.cancel();
      }
      const status s = rig.await(op);
      if (!s.ok()) {
        ++ended;
        EXPECT_TRUE(by_deadline ? s.is(transport_error::timeout) : s.is(driver_error::cancelled))
            << after << ": " << testing::words(s);
      }
      // Whatever came of it, the driver knows it when the late answer is there.
      EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
      expect_as_before(rig.adapter.port_open(1), "late");
      if (!rig.adapter.port_open(1)) {
        EXPECT_TRUE(rig.run([&] { return !rig.adapter.port(1).active(); })) << after;
      }
      rig.run_for(clock::milliseconds(1));
    }
  }
  EXPECT_GE(ended, 10u);
}

TEST_F(ports, a_teardown_in_the_midst_of_one_resets) {
  fail_command(1, {.what = fate::hold});
  port_operation op;
  op.close(rig.adapter, 1);
  rig.run([&] { return rig.machine.adapter().held_commands() == 1; });
  rig.machine.adapter().judge_commands({});
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_TRUE(op.outcome().is(transport_error::reset));
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_TRUE(rig.bring_up().ok());
  EXPECT_TRUE(change(false).ok());
}

}  // namespace
}  // namespace freehca
