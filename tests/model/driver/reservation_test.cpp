// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Context memory that is lent in advance: how few commands and entries it takes, that nothing
// follows, and that all of it comes back.
#include <algorithm>
#include <iostream>
#include <random>

#include <freehca/hca/context_reservation.hpp>

#include "device_rig.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;

class reservation : public ::testing::Test {
 protected:
  static constexpr std::uint32_t many = 4096;
  static freehca::budget large() {
    freehca::budget b = testing::without_spares();
    b.log_qps = 13;
    b.context_bytes = std::size_t{16} << 20;
    return b;
  }
  static in_process::machine_options slow() {
    in_process::machine_options o;
    o.model.faults.command_latency_ns = latency;
    return o;
  }
  void SetUp() override {
    rig.setup.port_wait = 0;
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
    icm = rig.machine.counter("icm_pages");
    pages = rig.adapter.holdings().pages;
    count();
  }
  void TearDown() override {
    rig.machine.adapter().judge_commands({});
    for (const dma_region& r : taken) rig.adapter.arena().free(r);
    taken.clear();
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  void count() {
    maps = unmaps = entries = 0;
    rig.machine.adapter().judge_commands([this](opcode code, std::uint32_t modifier) {
      if (code == opcode::map_icm) {
        ++maps;
        entries += modifier;
      }
      if (code == opcode::unmap_icm) ++unmaps;
      return model::command_verdict{};
    });
  }
  status reserve(context_reservation& r, context_group g = context_group::qp,
                 std::uint32_t objects = many) {
    r.restart();
    r.reserve(rig.adapter, g, objects);
    return rig.await(r);
  }
  status release(context_reservation& r) {
    r.restart();
    r.release(rig.adapter);
    return rig.await(r);
  }
  status map(std::uint32_t number, bool yes = true) {
    context_request r;
    if (yes) rig.adapter.contexts().map(r, context_group::qp, number);
    else rig.adapter.contexts().unmap(r, context_group::qp, number);
    return rig.await(r);
  }
  /// Takes every page of the arena, and gives back those with an odd number, but at most `leave`.
  void scatter(std::size_t leave = ~std::size_t{0}) {
    std::vector<dma_region> free;
    for (std::size_t i = 0;; ++i) {
      const result<dma_region> page = rig.adapter.arena().allocate(dma_arena::page);
      if (!page.ok()) break;
      const bool odd = (page.value().device_address / dma_arena::page) % 2 != 0;
      (odd && free.size() < leave ? free : taken).push_back(page.value());
    }
    for (const dma_region& r : free) rig.adapter.arena().free(r);
  }
  void expect_baseline(const std::string& where) {
    EXPECT_TRUE(
        rig.run([&] { return rig.adapter.contexts().idle() && rig.adapter.commands().idle(); }));
    EXPECT_EQ(rig.machine.counter("icm_pages"), icm) << where;
    EXPECT_EQ(rig.adapter.holdings().pages, pages + taken.size()) << where;
    EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u) << where;
  }

  static constexpr std::uint64_t latency = 20'000;
  testing::device_rig rig{slow(), large()};
  std::vector<dma_region> taken;
  std::uint64_t icm = 0, pages = 0;
  unsigned maps = 0, unmaps = 0, entries = 0;
};

TEST_F(reservation, of_4096_queue_pairs_takes_one_command_where_memory_lies_together) {
  context_reservation r;
  ASSERT_TRUE(reserve(r).ok());
  const std::uint64_t lent = rig.machine.counter("icm_pages") - icm;
  std::cout << lent << " pages in " << entries << " entries of " << maps << " MAP_ICM\n";
  EXPECT_GT(lent, 1000u);
  EXPECT_LE(maps, 1u);
  EXPECT_LE(entries, lent / 16);
  // Objects come and go, up to the last one that is covered.
  const unsigned before = maps;
  for (std::uint32_t n = r.first(); n < r.first() + many; n += 97) {
    ASSERT_TRUE(map(n).ok());
    if (n % 2 == 0) {
      ASSERT_TRUE(map(n, false).ok());
    }
  }
  EXPECT_EQ(maps, before) << "never again";
  EXPECT_EQ(unmaps, 0u);
  // What is in use stays, with what came in the same piece; the rest goes.
  ASSERT_TRUE(release(r).ok());
  EXPECT_GT(rig.machine.counter("icm_pages"), icm);
  for (std::uint32_t n = r.first(); n < r.first() + many; n += 97)
    if (n % 2 != 0) {
      ASSERT_TRUE(map(n, false).ok());
    }
  expect_baseline("released");
}

TEST_F(reservation, takes_single_pages_where_there_is_nothing_else) {
  scatter();
  context_reservation r;
  ASSERT_TRUE(reserve(r).ok());
  const std::uint64_t lent = rig.machine.counter("icm_pages") - icm;
  EXPECT_EQ(entries, lent) << "an entry for each page";
  EXPECT_LE(maps,
            (lent + layouts::map_entries_per_mailbox - 1) / layouts::map_entries_per_mailbox + 1);
  ASSERT_TRUE(release(r).ok());
  expect_baseline("released");
}

TEST_F(reservation, every_group_that_grows_can_be_reserved) {
  for (const context_group g :
       {context_group::srq, context_group::cq, context_group::mpt, context_group::mtt}) {
    context_reservation r;
    ASSERT_TRUE(reserve(r, g, 100).ok()) << static_cast<unsigned>(g);
    EXPECT_GE(r.count(), 100u);
    ASSERT_TRUE(release(r).ok());
    expect_baseline(std::to_string(static_cast<unsigned>(g)));
  }
  context_reservation r;
  EXPECT_TRUE(reserve(r, context_group::eq).is(driver_error::unsupported));
  EXPECT_TRUE(release(r).is(driver_error::bad_state)) << "nothing is held";
}

TEST_F(reservation, started_a_second_time_while_it_is_under_way_goes_on_with_the_first) {
  context_reservation r;
  r.reserve(rig.adapter, context_group::qp, many);
#ifdef NDEBUG
  r.reserve(rig.adapter, context_group::qp, 1);
  r.release(rig.adapter);
#else
  EXPECT_DEATH(r.reserve(rig.adapter, context_group::qp, 1), "");
  EXPECT_DEATH(r.release(rig.adapter), "");
#endif
  ASSERT_TRUE(rig.await(r).ok());
  EXPECT_TRUE(map(many - 1, true).ok());
  EXPECT_TRUE(map(many - 1, false).ok());
  EXPECT_TRUE(release(r).ok());
  EXPECT_EQ(rig.machine.counter("icm_pages"), icm);
}

TEST_F(reservation, covers_whatever_numbers_its_objects_get) {
  number_allocator& qps = rig.adapter.numbers().qps;
  std::vector<std::uint32_t> alive;
  for (unsigned i = 0; i < 50; ++i) alive.push_back(qps.allocate().value());
  const auto others = alive.size();
  context_reservation r;
  ASSERT_TRUE(reserve(r, context_group::qp, 300).ok());
  std::mt19937 random(3);
  for (unsigned i = 0; i < 20'000; ++i) {
    if (alive.size() < others + 300 && random() % 100 < 60) {
      const std::uint32_t n = qps.allocate().value();
      ASSERT_GE(n, r.first());
      ASSERT_LT(n, r.first() + r.count());
      ASSERT_TRUE(rig.adapter.contexts().mapped(context_group::qp, n));
      alive.push_back(n);
    } else if (!alive.empty()) {
      std::swap(alive[random() % alive.size()], alive.back());
      qps.free(alive.back());
      alive.pop_back();
    }
  }
  for (const std::uint32_t n : alive) qps.free(n);
  EXPECT_TRUE(release(r).ok());
  expect_baseline("released");
}

TEST_F(reservation, that_finds_too_little_memory_holds_nothing) {
  scatter(700);
  context_reservation r;
  const status s = reserve(r);
  EXPECT_TRUE(s.is(driver_error::no_memory)) << testing::words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::lent_pages));
  expect_baseline("refused");
  for (const dma_region& page : taken) rig.adapter.arena().free(page);
  taken.clear();
  EXPECT_TRUE(reserve(r).ok());
  EXPECT_TRUE(release(r).ok());
  expect_baseline("released");
}

TEST_F(reservation, whatever_memory_there_is_all_of_it_comes_back) {
  std::mt19937 random(5);
  unsigned made = 0, refused = 0;
  for (unsigned round = 0; round < 160; ++round) {
    // Pieces of all sizes are taken, so that those left are of all sizes too.
    for (unsigned i = 0; i < 600; ++i) {
      const result<dma_region> some = rig.adapter.arena().allocate(dma_arena::page << random() % 5);
      if (some.ok()) taken.push_back(some.value());
    }
    std::shuffle(taken.begin(), taken.end(), random);
    for (std::size_t keep = random() % (taken.size() + 1); taken.size() > keep; taken.pop_back())
      rig.adapter.arena().free(taken.back());
    std::uint64_t out = 0;
    for (const dma_region& each : taken) out += each.bytes / dma_arena::page;
    context_reservation r;
    const status s = reserve(r);
    if (s.ok()) {
      ++made;
      ASSERT_TRUE(release(r).ok());
    } else {
      ++refused;
      EXPECT_TRUE(s.is(driver_error::no_memory)) << testing::words(s);
    }
    EXPECT_TRUE(rig.run([&] { return rig.adapter.contexts().idle(); }));
    ASSERT_EQ(rig.machine.counter("icm_pages"), icm) << round;
    ASSERT_EQ(rig.adapter.holdings().pages, pages + out) << round;
  }
  EXPECT_GT(made, 5u);
  EXPECT_GT(refused, 2u);
}

TEST_F(reservation, every_command_refused_or_late) {
  scatter();
  for (const fate f : {fate::refuse, fate::hold, fate::hold_and_refuse}) {
    for (unsigned n = 1; n <= 4; ++n) {
      rig.machine.adapter().judge_commands(
          [n, f, seen = 0u](opcode code, std::uint32_t) mutable -> model::command_verdict {
            return {.what = code == opcode::map_icm && ++seen == n ? f : fate::run};
          });
      context_reservation r;
      const status s = reserve(r);
      EXPECT_TRUE(f == fate::refuse ? s.is(layouts::command_status::internal_error)
                                    : s.is(transport_error::timeout))
          << n << ": " << testing::words(s);
      rig.machine.adapter().judge_commands({});
      rig.machine.adapter().release_held_commands();
      EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
      expect_baseline("command " + std::to_string(n));
    }
  }
}

TEST_F(reservation, large_pieces_that_are_answered_late_come_back_whole) {
  for (const fate f : {fate::hold, fate::hold_and_refuse}) {
    rig.machine.adapter().judge_commands([f](opcode code, std::uint32_t) -> model::command_verdict {
      return {.what = code == opcode::map_icm ? f : fate::run};
    });
    context_reservation r;
    EXPECT_TRUE(reserve(r).is(transport_error::timeout));
    EXPECT_GT(rig.adapter.holdings().pages_in_doubt, 1000u);
    count();
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
    expect_baseline("late");
  }
}

TEST_F(reservation, cancelled_or_overdue_at_any_instant_holds_nothing) {
  scatter();
  unsigned ended = 0;
  for (const bool by_deadline : {false, true}) {
    for (std::uint64_t after = 0; after < 8 * latency; after += latency / 3) {
      context_reservation r;
      if (by_deadline) r.set_deadline(rig.machine.time() + after);
      r.reserve(rig.adapter, context_group::qp, many);
      if (!by_deadline) {
        rig.run([&] { return r.done(); }, after);
        r.cancel();
      }
      const status s = rig.await(r);
      if (s.ok()) {
        ASSERT_TRUE(release(r).ok());
      } else {
        EXPECT_TRUE(by_deadline ? s.is(transport_error::timeout) : s.is(driver_error::cancelled))
            << testing::words(s);
        ++ended;
      }
      expect_baseline(std::to_string(after));
    }
  }
  EXPECT_GT(ended, 20u);
}

TEST_F(reservation, is_void_after_a_reset) {
  context_reservation r;
  ASSERT_TRUE(reserve(r).ok());
  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.await(again).ok()) << rig.failure();
  EXPECT_EQ(rig.machine.counter("icm_pages"), icm);
  EXPECT_TRUE(release(r).ok());
  EXPECT_TRUE(reserve(r).ok());
  EXPECT_TRUE(reserve(r).is(driver_error::bad_state)) << "it holds something";
  EXPECT_TRUE(release(r).ok());
  expect_baseline("anew");
}

TEST_F(reservation, can_be_made_again_after_a_reset_without_an_empty_release) {
  context_reservation r;
  ASSERT_TRUE(reserve(r).ok());
  operation again;
  rig.adapter.recover(again);
  ASSERT_TRUE(rig.await(again).ok()) << rig.failure();
  EXPECT_TRUE(reserve(r).ok());
  EXPECT_TRUE(release(r).ok());
  expect_baseline("anew");
}

TEST_F(reservation, that_is_held_does_not_stand_in_the_way_of_a_teardown) {
  context_reservation r;
  ASSERT_TRUE(reserve(r).ok());
  const std::uint64_t resets = rig.adapter.info().resets;
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  EXPECT_EQ(rig.adapter.info().resets, resets + 1);
  EXPECT_TRUE(rig.adapter.holdings().none());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_TRUE(release(r).ok());
  const std::uint64_t since = rig.adapter.info().resets;
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  EXPECT_EQ(rig.adapter.info().resets, since) << "nobody holds anything";
}

}  // namespace
}  // namespace freehca
