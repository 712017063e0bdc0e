// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Context memory on demand: growth, joining, batches, giving back, running out, and a device that
// fails while up.
#include <map>
#include <set>

#include <freehca/hca/port_operation.hpp>
#include <freehca/layouts/mtt.hpp>

#include "device_rig.hpp"

namespace freehca {
namespace {

using layouts::opcode;
using testing::device_rig;

class context_memory : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.setup.port_wait = 0;
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    before = rig.machine.counter("icm_pages");
    rig.machine.adapter().judge_commands([this](opcode code, std::uint32_t) {
      ++commands[code];
      return model::command_verdict{};
    });
  }
  void TearDown() override {
    if (rig.adapter.state() != device_state::down) {
      EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    }
    EXPECT_TRUE(rig.adapter.holdings().none());
    // A card that was pulled has no memory to write to, and the model says so.
    if (!pulled) {
      EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    }
    rig.adapter.close();
  }
  status map(std::uint32_t first, std::uint32_t count = 1) {
    context_request r;
    rig.adapter.contexts().map(r, {context_group::qp, first, count});
    return rig.await(r);
  }
  status unmap(std::uint32_t first, std::uint32_t count = 1) {
    context_request r;
    rig.adapter.contexts().unmap(r, {context_group::qp, first, count});
    return rig.await(r);
  }

  device_rig rig{{}, testing::without_spares()};
  std::uint64_t before = 0;
  bool pulled = false;
  std::map<opcode, unsigned> commands;
  // No two objects so far apart share a block.
  static constexpr std::uint32_t far = 128;
};

TEST_F(context_memory, grows_by_the_block_in_all_tables_of_a_group_and_shrinks_again) {
  context_tables& t = rig.adapter.contexts();
  const std::uint32_t n = 3 * far + 5;
  EXPECT_FALSE(t.mapped(context_group::qp, n));
  const std::uint64_t qpc = t.bytes_lent(context_table::qpc),
                      cmpt = t.bytes_lent(context_table::cmpt_qp);
  ASSERT_TRUE(map(n).ok());
  EXPECT_TRUE(t.mapped(context_group::qp, n));
  EXPECT_GT(t.bytes_lent(context_table::qpc), qpc);
  EXPECT_GT(t.bytes_lent(context_table::cmpt_qp), cmpt);
  EXPECT_GT(rig.machine.counter("icm_pages"), before);
  EXPECT_EQ(commands[opcode::map_icm], 1u);
  ASSERT_TRUE(map(n + 1).ok());
  EXPECT_EQ(commands[opcode::map_icm], 1u) << "it is there already";
  ASSERT_TRUE(unmap(n).ok());
  EXPECT_TRUE(t.mapped(context_group::qp, n)) << "the other one still needs it";
  ASSERT_TRUE(unmap(n + 1).ok());
  EXPECT_FALSE(t.mapped(context_group::qp, n));
  EXPECT_EQ(rig.machine.counter("icm_pages"), before);
}

TEST_F(context_memory, requests_join_and_share_one_command) {
  context_request r[12];
  for (std::uint32_t i = 0; i < 12; ++i)
    rig.adapter.contexts().map(r[i], {context_group::qp, (2 + i % 4) * far + i, 1});
  for (context_request& each : r) EXPECT_TRUE(rig.await(each).ok());
  EXPECT_EQ(commands[opcode::map_icm], 1u);
  for (std::uint32_t i = 0; i < 12; ++i) EXPECT_TRUE(unmap((2 + i % 4) * far + i).ok());
  EXPECT_EQ(rig.machine.counter("icm_pages"), before);
}

TEST(context_spares, are_kept_for_a_while_and_at_most_so_many) {
  freehca::budget b;
  b.spare_context_blocks = 6;
  device_rig rig({}, b);
  rig.setup.port_wait = 0;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  context_tables& t = rig.adapter.contexts();
  const std::uint32_t lent = t.blocks_lent();
  const auto ask = [&](bool map, std::uint32_t number) {
    context_request r;
    if (map) t.map(r, {context_group::qp, number, 1});
    else t.unmap(r, {context_group::qp, number, 1});
    return rig.await(r);
  };
  constexpr std::uint32_t far = 128;
  ASSERT_TRUE(ask(true, far).ok());
  const auto commands = rig.adapter.commands().statistics().submitted;
  ASSERT_TRUE(ask(false, far).ok());
  EXPECT_EQ(t.blocks_kept(), 5u) << "a queue pair's entries in five tables";
  ASSERT_TRUE(ask(true, far).ok());
  EXPECT_EQ(t.blocks_kept(), 0u);
  EXPECT_EQ(rig.adapter.commands().statistics().submitted, commands) << "nothing to do for it";
  ASSERT_TRUE(ask(true, 2 * far).ok());
  ASSERT_TRUE(ask(false, far).ok());
  ASSERT_TRUE(ask(false, 2 * far).ok());
  EXPECT_EQ(t.blocks_kept(), 6u);
  rig.run_for(2 * b.spare_context_ns);
  EXPECT_EQ(t.blocks_kept(), 0u);
  EXPECT_EQ(t.blocks_lent(), lent);
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  EXPECT_TRUE(rig.adapter.holdings().none());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
}

TEST_F(context_memory, a_request_that_is_fulfilled_cannot_be_cancelled_by_the_callback_of_another) {
  context_request first, second;
  rig.adapter.contexts().map(first, {context_group::qp, far, 1});
  rig.adapter.contexts().map(second, {context_group::qp, far, 1});
  first.then(
      [](operation&, void* other) noexcept { static_cast<context_request*>(other)->cancel(); },
      &second);
  ASSERT_TRUE(rig.await(first).ok());
  const status s = rig.await(second);
  // Whichever it is: what it says about what it holds is true.
  EXPECT_TRUE(s.ok()) << testing::words(s);
  ASSERT_TRUE(unmap(far).ok());
  ASSERT_TRUE(unmap(far).ok());
  EXPECT_EQ(rig.machine.counter("icm_pages"), before);
}

TEST_F(context_memory, numbers_in_blocks_that_the_device_keeps_are_passed_over) {
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    using fate = model::command_verdict::fate;
    return {code == opcode::unmap_icm ? fate::refuse : fate::run,
            layouts::command_status::icm_error};
  });
  ASSERT_TRUE(map(far).ok());
  EXPECT_TRUE(unmap(far).is(layouts::command_status::icm_error));
  rig.machine.adapter().judge_commands({});
  const context_tables& t = rig.adapter.contexts();
  EXPECT_TRUE(map(far).is(driver_error::busy));
  const std::uint32_t next = t.first_usable(context_group::qp, far, 1);
  EXPECT_GT(next, far);
  EXPECT_LE(next, 2 * far);
  EXPECT_EQ(t.first_usable(context_group::qp, far - 1, 1), far - 1);
  EXPECT_TRUE(map(next).ok());
  EXPECT_TRUE(unmap(next).ok());
  EXPECT_TRUE(rig.tear_down().is(driver_error::busy)) << "it is told that a reset was needed";
  EXPECT_EQ(rig.adapter.state(), device_state::down);
}

TEST_F(context_memory, a_late_answer_that_comes_with_the_failure_keeps_the_pages_until_the_reset) {
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    using fate = model::command_verdict::fate;
    return {code == opcode::map_icm ? fate::hold : fate::run, {}};
  });
  context_request r;
  rig.adapter.contexts().map(r, {context_group::qp, far, 1});
  rig.run_for(clock::milliseconds(1));
  const std::uint32_t lent = rig.adapter.contexts().blocks_lent();
  // The device is lost, and the answer is in the event queue behind it: one poll() sees both.
  rig.machine.adapter().release_held_commands();
  rig.adapter.mark_as_lost();
  EXPECT_TRUE(rig.await(r).is(transport_error::gone));
  EXPECT_EQ(rig.adapter.contexts().blocks_lent(), lent) << "the device has them";
}

TEST_F(context_memory, neighbours_go_back_by_one_command_for_each_table) {
  ASSERT_TRUE(map(far, far).ok());
  commands.clear();
  ASSERT_TRUE(unmap(far, far).ok());
  EXPECT_EQ(commands[opcode::unmap_icm], context_layout::shape(context_group::qp).tables);
  EXPECT_EQ(rig.machine.counter("icm_pages"), before);
}

TEST_F(context_memory, what_is_wanted_again_at_once_is_there_at_the_end) {
  const std::uint32_t n = 5 * far;
  ASSERT_TRUE(map(n).ok());
  context_request away, again;
  rig.adapter.contexts().unmap(away, {context_group::qp, n, 1});
  rig.adapter.contexts().map(again, {context_group::qp, n, 1});
  EXPECT_TRUE(rig.await(away).ok());
  EXPECT_TRUE(rig.await(again).ok());
  EXPECT_TRUE(rig.adapter.contexts().mapped(context_group::qp, n));
  ASSERT_TRUE(unmap(n).ok());
}

TEST_F(context_memory, numbers_beyond_the_table_are_refused) {
  EXPECT_TRUE(map(1u << rig.setup.budget.log_qps).is(driver_error::bad_argument));
}

TEST_F(context_memory, an_empty_request_needs_no_command) {
  EXPECT_TRUE(map(0, 0).ok());
  EXPECT_TRUE(unmap(0, 0).ok());
  EXPECT_TRUE(commands.empty());
}

TEST_F(context_memory, a_refused_request_holds_nothing) {
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) -> model::command_verdict {
    using fate = model::command_verdict::fate;
    return {code == opcode::map_icm ? fate::refuse : fate::run, layouts::command_status::icm_error};
  });
  EXPECT_TRUE(map(4 * far, 2 * far).is(layouts::command_status::icm_error));
  EXPECT_EQ(rig.machine.counter("icm_pages"), before);
  rig.machine.adapter().judge_commands({});
  EXPECT_TRUE(map(4 * far).ok());
  EXPECT_TRUE(unmap(4 * far).ok());
}

TEST_F(context_memory, running_out_of_pages_is_an_error_that_names_the_budget) {
  std::vector<dma_region> all;
  for (;;) {
    const result<dma_region> page = rig.adapter.contexts().arena().allocate(4096);
    if (!page.ok()) break;
    all.push_back(page.value());
  }
  const status s = map(4 * far);
  EXPECT_TRUE(s.is(driver_error::no_memory));
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::lent_pages));
  for (const dma_region& r : all) rig.adapter.contexts().arena().free(r);
  EXPECT_TRUE(map(4 * far).ok());
  EXPECT_TRUE(unmap(4 * far).ok());
}

TEST_F(context_memory, takes_single_pages_of_a_checkered_arena) {
  context_tables& t = rig.adapter.contexts();
  dma_arena& arena = t.arena();
  std::vector<dma_region> taken;
  for (auto page = arena.allocate(dma_arena::page); page.ok();
       page = arena.allocate(dma_arena::page))
    taken.push_back(page.value());
  // No two pages that are free are neighbours.
  for (std::size_t i = 0; i < taken.size(); i += 3) arena.free(taken[i]);
  const std::size_t out = arena.bytes_out();
  ASSERT_TRUE(map(far, 2 * far).ok());
  EXPECT_GE(arena.bytes_out(), out + 16 * dma_arena::page) << "not all in one piece";
  EXPECT_EQ(rig.machine.counter("icm_pages") - before, (arena.bytes_out() - out) / dma_arena::page);
  ASSERT_TRUE(unmap(far, 2 * far).ok());
  EXPECT_EQ(arena.bytes_out(), out);
  EXPECT_EQ(rig.machine.counter("icm_pages"), before);
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i % 3 != 0) arena.free(taken[i]);
}

TEST(context_bytes, are_all_that_context_memory_takes) {
  freehca::budget b = testing::without_spares();
  b.context_bytes = std::size_t{1} << 20;
  device_rig rig({}, b);
  rig.setup.port_wait = 0;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  constexpr std::uint32_t some = 1 << 13, all = 1 << 18;
  status s;
  std::uint32_t end = some;
  for (; end < all; end += some) {
    context_request r;
    rig.adapter.contexts().map(r, {context_group::mtt, end, some});
    if (s = rig.await(r); !s.ok()) break;
  }
  EXPECT_TRUE(s.is(driver_error::no_memory)) << testing::words(s);
  EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::lent_pages));
  EXPECT_LE(rig.adapter.contexts().arena().bytes_out(), b.context_bytes);
  const result<dma_region> rings = rig.adapter.arena().allocate(b.queue_bytes);
  ASSERT_TRUE(rings.ok());
  rig.adapter.arena().free(rings.value());
  context_request back;
  rig.adapter.contexts().unmap(back, {context_group::mtt, some, end - some});
  EXPECT_TRUE(rig.await(back).ok());
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
  EXPECT_TRUE(rig.adapter.holdings().none());
}

/// The first command has room for the blocks of the first range alone.
TEST_F(context_memory, a_second_range_that_is_refused_gives_the_first_back) {
  rig.machine.adapter().judge_commands([this](opcode code, std::uint32_t) {
    using fate = model::command_verdict::fate;
    model::command_verdict verdict;
    if (code == opcode::map_icm && ++commands[code] == 2)
      verdict = {fate::refuse, layouts::command_status::icm_error};
    return verdict;
  });
  constexpr std::uint32_t entries = layouts::map_entries_per_mailbox * 4096 / layouts::mtt::bytes;
  context_request r;
  rig.adapter.contexts().map(r, {context_group::mtt, entries / 4, entries},
                             {context_group::qp, far, 1});
  EXPECT_TRUE(rig.await(r).is(layouts::command_status::icm_error));
  EXPECT_EQ(commands[opcode::map_icm], 2u);
  EXPECT_TRUE(
      rig.run([&] { return rig.machine.counter("icm_pages") == before; }, clock::seconds(1)));
  EXPECT_FALSE(rig.adapter.contexts().mapped(context_group::mtt, entries));
  EXPECT_FALSE(rig.adapter.contexts().mapped(context_group::qp, far));
  EXPECT_TRUE(map(far).ok()) << "the numbers can be used";
  EXPECT_TRUE(unmap(far).ok());
}

/// Pages that UNMAP_ICM could not ask for come back when the command in doubt is answered, whoever
/// sent it.
TEST_F(context_memory, what_a_command_in_doubt_held_up_comes_back_behind_its_answer) {
  using fate = model::command_verdict::fate;
  ASSERT_TRUE(map(12 * far, far).ok());
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  // A barrier: nothing passes it.
  rig.machine.adapter().judge_commands([](opcode code, std::uint32_t) {
    return model::command_verdict{.what = code == opcode::close_port ? fate::hold : fate::run};
  });
  port_operation close;
  close.close(rig.adapter, 2);
  EXPECT_TRUE(rig.await(close).is(transport_error::timeout));
  ASSERT_EQ(rig.adapter.holdings().slots_in_doubt, 1u);
  EXPECT_TRUE(unmap(12 * far, far).is(transport_error::timeout));
  rig.run_for(clock::milliseconds(50));
  EXPECT_GT(rig.machine.counter("icm_pages"), before);
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.adapter.commands().slots_in_use() == 0; }));
  EXPECT_TRUE(
      rig.run([&] { return rig.machine.counter("icm_pages") == before; }, clock::seconds(1)));
  EXPECT_EQ(rig.adapter.holdings().in_doubt(), 0u);
}

TEST_F(context_memory, tables_lie_apart_and_aligned_to_their_size) {
  const context_layout& l = rig.adapter.contexts().layout();
  std::map<std::uint64_t, std::uint64_t> places;
  for (unsigned g = 0; g < context_groups; ++g) {
    const auto shape = context_layout::shape(static_cast<context_group>(g));
    for (unsigned i = 0; i < shape.tables; ++i) {
      const auto t = static_cast<context_table>(static_cast<unsigned>(shape.first) + i);
      const std::uint64_t bytes = std::uint64_t{1}
                                  << (l.table(t).log_entry_bytes + l.log_objects[g]);
      EXPECT_EQ(l.table(t).base % bytes, 0u) << name_of(t);
      places[l.table(t).base] = l.table(t).base + bytes;
    }
  }
  EXPECT_EQ(places.size(), context_tables_count);
  std::uint64_t end = 0;
  for (const auto& [from, to] : places) {
    EXPECT_GE(from, end);
    end = to;
  }
  EXPECT_LE(end, l.bytes);
}

TEST_F(context_memory, a_device_that_is_pulled_while_up_fails_once_and_comes_down) {
  unsigned told = 0;
  event_sinks sinks;
  sinks.context = &told;
  sinks.device_failed = [](void* n, status why) noexcept {
    EXPECT_TRUE(why.is(transport_error::gone));
    ++*static_cast<unsigned*>(n);
  };
  rig.adapter.set_sinks(sinks);
  rig.machine.remove();
  pulled = true;
  rig.run_for(clock::seconds(1));
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(rig.adapter.state(), device_state::failed);
  EXPECT_TRUE(map(6 * far).is(transport_error::gone));
  EXPECT_TRUE(rig.tear_down().ok());
  rig.adapter.set_sinks({});
}

}  // namespace

namespace {

TEST(port_events, a_manager_that_comes_after_bring_up_is_seen) {
  device_rig rig;
  rig.setup.port_wait = 0;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  ASSERT_FALSE(rig.adapter.port(1).active());
  std::set<unsigned> ports;
  event_sinks sinks;
  sinks.context = &ports;
  sinks.port = [](void* to, unsigned port) noexcept {
    static_cast<std::set<unsigned>*>(to)->insert(port);
  };
  rig.adapter.set_sinks(sinks);
  EXPECT_TRUE(
      rig.run([&] { return rig.adapter.port(1).active() && rig.adapter.port(2).active(); }));
  EXPECT_EQ(ports, (std::set<unsigned>{1, 2}));
  EXPECT_NE(rig.adapter.port(1).lid, 0);
  pkey_query keys;
  keys.start(rig.adapter.commands(), 1, 0);
  ASSERT_TRUE(rig.await(keys).ok());
  EXPECT_EQ(keys.pkey(0), layouts::default_pkey_full);
  rig.adapter.set_sinks({});
  EXPECT_TRUE(rig.tear_down().ok());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
}

}  // namespace
}  // namespace freehca
