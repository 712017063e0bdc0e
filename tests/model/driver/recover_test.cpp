// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// One operation from any state to up; and how soon an internal error is seen.
#include <functional>

#include "either_reset.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;

class recover : public testing::either_reset {
 protected:
  status run_recover() {
    operation op;
    rig.adapter.recover(op);
    return rig.await(op);
  }
  void expect_up(std::uint64_t resets) {
    EXPECT_TRUE(rig.adapter.up()) << rig.failure();
    EXPECT_EQ(rig.adapter.info().resets, resets);
    EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u);
    EXPECT_EQ(rig.adapter.holdings().pages, pages_of_one_up());
  }
  /// What an undisturbed device holds while it is up.
  std::uint64_t pages_of_one_up() {
    if (pages == 0) {
      testing::device_rig other(options());
      other.setup.port_wait = clock::milliseconds(50);
      EXPECT_TRUE(other.adapter.open(other.setup).ok());
      EXPECT_TRUE(other.bring_up().ok());
      pages = other.adapter.holdings().pages;
      EXPECT_TRUE(other.tear_down().ok());
    }
    return pages;
  }
  void TearDown() override {
    rig.machine.adapter().judge_commands({});
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    either_reset::TearDown();
  }
  std::uint64_t pages = 0;
};

TEST_P(recover, from_down_it_is_a_bring_up) {
  EXPECT_TRUE(run_recover().ok());
  expect_up(1);
}

TEST_P(recover, from_up_with_users_and_with_commands_under_way) {
  ASSERT_TRUE(rig.bring_up().ok());
  const auto number = rig.adapter.numbers().pds.allocate();
  ASSERT_TRUE(number.ok());
  rig.machine.adapter().judge_commands(
      [](opcode, std::uint32_t) { return model::command_verdict{.what = fate::hold}; });
  context_request r;
  rig.adapter.contexts().map(r, {context_group::qp, 1000, 1});
  rig.run([&] { return rig.machine.adapter().held_commands() == 1; });
  rig.machine.adapter().judge_commands({});
  EXPECT_TRUE(run_recover().ok());
  EXPECT_TRUE(r.outcome().is(transport_error::reset));
  expect_up(3);
}

TEST_P(recover, from_a_failure_again_and_again) {
  ASSERT_TRUE(rig.bring_up().ok());
  for (unsigned i = 0; i < 10; ++i) {
    rig.machine.adapter().fail();
    EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::failed; }));
    EXPECT_TRUE(run_recover().ok()) << rig.failure();
  }
  expect_up(1 + 10 * 2);
}

TEST_P(recover, from_a_bring_up_that_is_in_doubt) {
  rig.machine.adapter().judge_commands([n = 0](opcode, std::uint32_t) mutable {
    return model::command_verdict{.what = ++n == 9 ? fate::hold : fate::run};
  });
  EXPECT_TRUE(rig.bring_up().is(transport_error::timeout));
  EXPECT_EQ(rig.adapter.state(), device_state::in_doubt);
  EXPECT_TRUE(run_recover().ok()) << rig.failure();
  rig.machine.adapter().release_held_commands();
  rig.run_for(clock::milliseconds(5));
  expect_up(3);
}

/// The undo that a late answer lets begin is joined: it says how the teardown went, not why the
/// bring-up failed.
TEST_P(recover, a_teardown_that_joins_an_undo_has_an_outcome_of_its_own) {
  unsigned joined = 0;
  for (unsigned nth = 5; nth < 25; ++nth) {
    rig.machine.adapter().judge_commands([n = 0u, nth](opcode, std::uint32_t) mutable {
      return model::command_verdict{.what = ++n == nth ? fate::hold : fate::run};
    });
    const status up = rig.bring_up();
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
    rig.run([&] { return rig.adapter.state() == device_state::tearing_down; },
            clock::milliseconds(1));
    if (rig.adapter.state() == device_state::tearing_down) {
      ++joined;
      EXPECT_FALSE(rig.adapter.failure().cause.ok());
    }
    const status down = rig.tear_down();
    EXPECT_TRUE(down.ok()) << nth << ": " << testing::words(down);
    EXPECT_TRUE(rig.adapter.failure().cause.ok()) << nth << ": " << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none()) << nth << testing::words(up);
  }
  EXPECT_GT(joined, 3u);
}

TEST_P(recover, of_a_card_that_is_pulled_says_so_and_of_one_put_back_works) {
  ASSERT_TRUE(rig.bring_up().ok());
  rig.machine.remove();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::failed; }));
  EXPECT_TRUE(run_recover().is(transport_error::gone));
  EXPECT_EQ(rig.adapter.state(), device_state::down);
  EXPECT_TRUE(rig.adapter.holdings().none());
  rig.machine.plug_in();
  EXPECT_TRUE(run_recover().ok()) << rig.failure();
  EXPECT_TRUE(rig.adapter.up());
}

TEST_P(recover, cancelled_or_overdue_at_any_instant_ends_down_or_up) {
  std::uint64_t whole = rig.machine.time();
  EXPECT_TRUE(rig.bring_up().ok());
  whole = rig.machine.time();
  EXPECT_TRUE(run_recover().ok());
  whole = rig.machine.time() - whole;
  unsigned down = 0;
  for (const bool by_deadline : {false, true}) {
    for (unsigned part = 0; part <= 40; ++part) {
      if (!rig.adapter.up()) {
        ASSERT_TRUE(rig.bring_up().ok()) << part << rig.failure();
      }
      const std::uint64_t after = whole * part / 40;
      operation op;
      if (by_deadline) op.set_deadline(rig.machine.time() + after);
      rig.adapter.recover(op);
      if (!by_deadline) {
        rig.run([&] { return op.done(); }, after);
        op.cancel();
      }
      const status s = rig.await(op);
      if (s.ok()) {
        EXPECT_TRUE(rig.adapter.up()) << part;
        continue;
      }
      EXPECT_TRUE(by_deadline ? s.is(transport_error::timeout) : s.is(driver_error::cancelled))
          << part << ": " << testing::words(s);
      EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::down; })) << part;
      EXPECT_TRUE(rig.adapter.holdings().none()) << part;
      ++down;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(down, 40u);
}

TEST_P(recover, is_refused_beside_another_sequence_and_when_closed) {
  operation up, other;
  rig.adapter.bring_up(up);
  rig.adapter.recover(other);
  EXPECT_TRUE(rig.await(other).is(driver_error::bad_state));
  EXPECT_TRUE(rig.await(up).ok());
  device closed;
  for (const auto sequence : {&device::recover, &device::bring_up, &device::tear_down}) {
    other.restart();
    (closed.*sequence)(other);
    EXPECT_EQ(closed.next_deadline(), 0u);
    EXPECT_EQ(closed.poll(), 1u);
    EXPECT_TRUE(other.outcome().is(driver_error::bad_state));
  }
}

INSTANTIATE_TEST_SUITE_P(resets, recover, ::testing::Bool(), testing::kind_of_reset);

TEST(health, is_looked_at_as_often_as_the_setup_says) {
  for (const std::uint64_t interval :
       {clock::microseconds(300), clock::milliseconds(7), clock::seconds(2)}) {
    testing::device_rig rig;
    rig.setup.port_wait = 0;
    rig.setup.health_interval = interval;
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok());
    // No event tells of it: the card is pulled.
    for (unsigned i = 0; i < 5; ++i) {
      rig.run_for(interval * i / 5);
      rig.machine.remove();
      const std::uint64_t struck = rig.machine.time();
      EXPECT_TRUE(rig.run([&] { return rig.adapter.state() == device_state::failed; }));
      EXPECT_LE(rig.machine.time(), struck + interval + clock::microseconds(1));
      rig.machine.plug_in();
      operation again;
      rig.adapter.recover(again);
      ASSERT_TRUE(rig.await(again).ok()) << rig.failure();
    }
    EXPECT_TRUE(rig.tear_down().ok());
    rig.adapter.close();
  }
}

TEST(health, is_not_looked_at_when_nobody_wants_it) {
  testing::device_rig rig;
  rig.setup.health_interval = 0;
  EXPECT_TRUE(rig.adapter.open(rig.setup).is(driver_error::bad_argument));
  rig.setup.health_interval = clock::never;
  rig.setup.port_wait = 0;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok());
  rig.adapter.poll();
  rig.machine.remove();
  rig.run_for(clock::seconds(20));
  EXPECT_TRUE(rig.adapter.up());
  static_cast<void>(rig.tear_down());
  rig.adapter.close();
}

/// While it waits for its ports, nothing but the look at the buffer tells a bring-up that the
/// device is gone.
TEST(health, is_looked_at_during_bring_up_too) {
  testing::device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  operation up;
  rig.adapter.bring_up(up);
  EXPECT_TRUE(rig.run([&] { return rig.adapter.step() == bring_up_step::query_hca; }));
  rig.machine.remove();
  EXPECT_TRUE(rig.await(up).is(transport_error::gone));
  EXPECT_EQ(rig.adapter.state(), device_state::failed);
  EXPECT_TRUE(rig.tear_down().ok());
  rig.adapter.close();
}

}  // namespace
}  // namespace freehca
