// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A program's operations that end early at every one of their commands: refused, cancelled, past
// their deadline, answered late or never. Nothing of them is left, and the same works afterwards.
#include <memory>

#include "easy_rig.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using easy::rights;
using layouts::opcode;
using testing::easy_rig;
using testing::words;

/// How the n-th command of an operation goes wrong.
enum class trouble { refused, cancelled, cancelled_in_doubt, late, never_answered };
constexpr trouble all_troubles[] = {trouble::refused, trouble::cancelled,
                                    trouble::cancelled_in_doubt, trouble::late,
                                    trouble::never_answered};

class unwinding : public ::testing::TestWithParam<trouble> {
 protected:
  void SetUp() override {
    rig.bring_up();
    rig.settle();
  }

  /// The n-th command from now on meets its fate.
  void judge(unsigned n, fate what) {
    seen = 0;
    rig.machine.adapter().judge_commands(
        [this, n, what](opcode code, std::uint32_t) -> model::command_verdict {
          if (code == opcode::mad_ifc || ++seen != n) return {};
          struck = code;
          return {.what = what};
        });
  }

  /// Starts it, and lets its n-th command go wrong. True: there was one, and the operation failed.
  template <class Start>
  bool goes_wrong(unsigned n, Start start) {
    const trouble t = GetParam();
    judge(n, t == trouble::refused     ? fate::refuse
             : t == trouble::cancelled ? fate::run
                                       : fate::hold);
    auto op = start(t == trouble::late || t == trouble::never_answered
                        ? rig.machine.time() + clock::milliseconds(500)
                        : operation::no_deadline);
    rig.run([&] { return op->done() || seen >= n; });
    if (op->done() && seen < n) {
      EXPECT_TRUE(op->outcome().ok()) << words(op->outcome());
      judge(0, fate::run);
      rig.machine.adapter().release_held_commands();
      return false;
    }
    if (t == trouble::cancelled || t == trouble::cancelled_in_doubt) op->cancel();
    const status s = rig.await(*op);
    if (struck == opcode::unmap_icm && takes_back) {
      // What is gone for the user is undone to the end, whatever comes.
    } else if (t == trouble::refused) {
      EXPECT_TRUE(s.is(layouts::command_status::internal_error)) << at(n) << words(s);
    } else if (t == trouble::cancelled || t == trouble::cancelled_in_doubt) {
      EXPECT_TRUE(s.is(driver_error::cancelled)) << at(n) << words(s);
    } else {
      EXPECT_TRUE(s.is(transport_error::timeout)) << at(n) << words(s);
    }
    judge(0, fate::run);
    if (t == trouble::never_answered) {
      // Only the reset of a teardown ends it.
      come_up_anew();
      return true;
    }
    // The operation may be over before the adapter has got as far as holding the command.
    rig.settle();
    rig.machine.adapter().release_held_commands();
    rig.settle();
    return true;
  }
  void come_up_anew() {
    auto down = hca.tear_down();
    const status s = rig.await(down);
    EXPECT_TRUE(s.ok() || s.is(driver_error::busy)) << words(s);  // busy: a reset was needed
    EXPECT_EQ(hca.hardware().state(), device_state::down);
    EXPECT_TRUE(hca.hardware().holdings().none());
    EXPECT_EQ(hca.places_taken(), 0u);
    rig.machine.adapter().release_held_commands();
    rig.bring_up();
    rig.settle();
  }
  std::string at(unsigned n) const {
    return "command " + std::to_string(n) + ", " + layouts::name_of(struck) + ": ";
  }

  /// Makes and gives back what `start` brings, however it goes wrong.
  template <class Start, class GiveBack>
  void expect_nothing_left(Start start, GiveBack give_back) {
    const auto before = rig.counts();
    unsigned n = 1;
    while (goes_wrong(n, start) && n < 50) {
      EXPECT_EQ(rig.counts(), before) << at(n);
      ++n;
    }
    EXPECT_GT(n, 2u);
    EXPECT_LT(n, 50u);
    give_back();
    EXPECT_EQ(rig.counts(), before);
    {
      auto again = start(operation::no_deadline);
      EXPECT_TRUE(rig.await(*again).ok()) << words(again->outcome());
    }
    give_back();
    EXPECT_EQ(rig.counts(), before);
    EXPECT_EQ(rig.machine.counter("complaints"), 0u);
  }

  easy_rig rig;
  easy::adapter& hca = rig.hca;
  unsigned seen = 0;
  opcode struck{};
  bool takes_back = false;  // that is what goes wrong
};

TEST_P(unwinding, allocate) {
  std::shared_ptr<easy::allocating> last;
  expect_nothing_left(
      [&](std::uint64_t deadline) {
        last = std::make_shared<easy::allocating>();
        last->set_deadline(deadline);
        last->start(hca, 10000, rights::all);
        return last;
      },
      [&] { rig.must(hca.release(last->value().value())); });
}

TEST_P(unwinding, open_rc) {
  std::shared_ptr<easy::opening> last;
  expect_nothing_left(
      [&](std::uint64_t deadline) {
        last = std::make_shared<easy::opening>();
        last->set_deadline(deadline);
        last->start(hca, layouts::qp_service::rc, {});
        return last;
      },
      [&] { rig.must(hca.close(last->value().value())); });
}

TEST_P(unwinding, open_ud) {
  std::shared_ptr<easy::opening> last;
  expect_nothing_left(
      [&](std::uint64_t deadline) {
        last = std::make_shared<easy::opening>();
        last->set_deadline(deadline);
        last->start(hca, layouts::qp_service::ud, {});
        return last;
      },
      [&] { rig.must(hca.close(last->value().value())); });
}

TEST_P(unwinding, connect) {
  const auto before = rig.counts();
  unsigned n = 1;
  for (bool wrong = true; wrong && n < 50; ++n) {
    auto a = rig.get(hca.open_rc()), b = rig.get(hca.open_rc());
    const auto opened = rig.counts();
    wrong = goes_wrong(n, [&](std::uint64_t deadline) {
      auto op = std::make_shared<easy::connecting>();
      op->set_deadline(deadline);
      op->start(hca, a, b.self);
      return op;
    });
    if (GetParam() == trouble::never_answered && wrong) continue;
    EXPECT_EQ(rig.counts(), opened) << at(n);
    rig.must(hca.connect(a, b.self));
    rig.must(hca.connect(b, a.self));
    const auto from = rig.get(hca.allocate(64));
    const auto to = rig.get(hca.allocate(64, rights::all));
    std::memset(from.host, 0x21, 64);
    ASSERT_TRUE(
        a.post(queues::rdma_write{.wr_id = n, .remote = to.remote(), .data = from.part(0, 64)})
            .ok());
    EXPECT_TRUE(rig.get(hca.next(a)).ok()) << at(n);
    EXPECT_EQ(std::memcmp(from.host, to.host, 64), 0) << at(n);
    rig.must(hca.release(from));
    rig.must(hca.release(to));
    rig.must(hca.close(a));
    rig.must(hca.close(b));
    EXPECT_EQ(rig.counts(), before) << at(n);
  }
  EXPECT_EQ(n, 4u);  // RTR and RTS, and none
  EXPECT_EQ(rig.machine.counter("complaints"), 0u);
}

/// What could not be taken back may be asked for again.
TEST_P(unwinding, close_and_release) {
  takes_back = true;
  const auto before = rig.counts();
  unsigned n = 1;
  for (bool wrong = true; wrong && n < 50; ++n) {
    const auto c = rig.get(hca.open_rc());
    wrong = goes_wrong(n, [&](std::uint64_t deadline) {
      auto op = std::make_shared<easy::closing>();
      op->set_deadline(deadline);
      op->start(hca, c);
      return op;
    });
    auto again = hca.close(c);
    const status s = rig.await(again);
    EXPECT_TRUE(s.ok() || s.is(driver_error::stale_handle)) << at(n) << words(s);
    rig.settle();
    // Context memory that the device would not give back is held until the reset.
    if (rig.counts() != before && struck == opcode::unmap_icm) {
      come_up_anew();
    }
    EXPECT_EQ(rig.counts(), before) << at(n);
  }
  EXPECT_GT(n, 3u);
  n = 1;
  for (bool wrong = true; wrong && n < 50; ++n) {
    const auto m = rig.get(hca.allocate(5000));
    wrong = goes_wrong(n, [&](std::uint64_t deadline) {
      auto op = std::make_shared<easy::releasing>();
      op->set_deadline(deadline);
      op->start(hca, m);
      return op;
    });
    auto again = hca.release(m);
    const status s = rig.await(again);
    EXPECT_TRUE(s.ok() || s.is(driver_error::stale_handle)) << at(n) << words(s);
    rig.settle();
    if (rig.counts() != before && struck == opcode::unmap_icm) {
      come_up_anew();
    }
    EXPECT_EQ(rig.counts(), before) << at(n);
  }
  EXPECT_GT(n, 2u);
}

/// Device and objects are down again, and come up.
TEST_P(unwinding, bring_up) {
  rig.must(hca.tear_down());
  if (GetParam() == trouble::never_answered || GetParam() == trouble::late) return;
  for (const unsigned n : {1u, 4u, 9u, 15u, 20u}) {
    judge(n, GetParam() == trouble::refused ? fate::refuse : fate::run);
    auto op = hca.bring_up();
    rig.run([&] { return op.done() || seen >= n; });
    if (GetParam() != trouble::refused) op.cancel();
    EXPECT_FALSE(rig.await(op).ok());
    EXPECT_FALSE(hca.up());
    judge(0, fate::run);
    rig.must(hca.tear_down());
    EXPECT_TRUE(hca.hardware().holdings().none()) << at(n);
    rig.bring_up();
    rig.must(hca.tear_down());
  }
}

/// A teardown past its deadline resets.
TEST_P(unwinding, tear_down) {
  static_cast<void>(rig.get(hca.open_rc()));
  static_cast<void>(rig.get(hca.allocate(100)));
  judge(1, GetParam() == trouble::refused ? fate::refuse : fate::hold);
  easy::tearing_down op;
  op.set_deadline(rig.machine.time() + clock::milliseconds(500));
  op.start(hca);
  static_cast<void>(rig.await(op));
  EXPECT_EQ(hca.hardware().state(), device_state::down);
  EXPECT_EQ(hca.places_taken(), 0u);
  EXPECT_TRUE(hca.hardware().holdings().none());
  judge(0, fate::run);
  rig.machine.adapter().release_held_commands();
  rig.bring_up();
}

/// Between its commands too.
TEST(unwinding_at_any_time, open_and_connect) {
  easy_rig rig;
  rig.bring_up();
  rig.settle();
  const auto before = rig.counts();
  const auto peer = rig.get(rig.hca.open_rc());
  const auto with_peer = rig.counts();
  unsigned cancelled = 0, late = 0;
  bool whole = false;
  for (std::uint64_t wait = 0; !whole; wait += 150) {
    for (const bool by_deadline : {false, true}) {
      easy::opening open;
      if (by_deadline) open.set_deadline(rig.machine.time() + wait);
      open.start(rig.hca, layouts::qp_service::rc, {});
      rig.run([&] { return open.done(); }, wait);
      open.cancel();
      const status s = rig.await(open);
      cancelled += s.is(driver_error::cancelled) ? 1u : 0u;
      late += s.is(transport_error::timeout) ? 1u : 0u;
      whole = s.ok();
      if (!whole) continue;
      easy::connecting connect;
      connect.start(rig.hca, open.value().value(), peer.self);
      rig.run([&] { return connect.done(); }, wait % 8'000);
      connect.cancel();
      static_cast<void>(rig.await(connect));
      rig.settle();
      rig.must(rig.hca.close(open.value().value()));
    }
    rig.settle();
    ASSERT_EQ(rig.counts(), with_peer) << "after " << wait << " ns";
    ASSERT_LT(wait, clock::milliseconds(100));
  }
  EXPECT_GT(cancelled, 20u);
  EXPECT_GT(late, 20u);
  rig.must(rig.hca.close(peer));
  EXPECT_EQ(rig.counts(), before);
}

TEST(unwinding_at_any_time, a_teardown_beside_operations_under_way) {
  for (std::uint64_t wait = 0; wait < 25'000; wait += 700) {
    easy_rig rig;
    rig.bring_up();
    auto opens = rig.hca.open_rc();
    auto allocates = rig.hca.allocate(100'000);
    rig.run([] { return false; }, wait);
    auto down = rig.hca.tear_down();
    EXPECT_TRUE(rig.await(down).ok()) << wait;
    EXPECT_TRUE(rig.run([&] { return opens.done() && allocates.done(); })) << wait;
    EXPECT_EQ(rig.hca.places_taken(), 0u) << wait;
    EXPECT_TRUE(rig.hca.hardware().holdings().none()) << wait;
    rig.bring_up();
  }
}

std::string name_of(const ::testing::TestParamInfo<trouble>& one) {
  constexpr const char* names[] = {"refused", "cancelled", "cancelled_in_doubt", "late",
                                   "never_answered"};
  return names[static_cast<unsigned>(one.param)];
}

INSTANTIATE_TEST_SUITE_P(, unwinding, ::testing::ValuesIn(all_troubles), name_of);

}  // namespace
}  // namespace freehca
