// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A host that sleeps by poll() and next_deadline(): not told to look at once while all there is to
// do waits for the device, and told of everything that has ended.
#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hca/port_operation.hpp>

#include "device_rig.hpp"

namespace freehca::testing {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;

struct sleep : ::testing::Test {
  device_rig rig{{}, without_spares()};
  void SetUp() override {
    rig.setup.port_wait = 0;
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
    rig.run_for(clock::milliseconds(10));
  }
  void TearDown() override {
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    EXPECT_TRUE(rig.adapter.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
  }
  /// Commands that `which` says yes to are not answered until release().
  void hold(bool (*which)(opcode)) {
    rig.machine.adapter().judge_commands([which](opcode code, std::uint32_t) {
      return model::command_verdict{.what = which(code) ? fate::hold : fate::run};
    });
  }
  void release() {
    rig.machine.adapter().judge_commands({});
    rig.machine.adapter().release_held_commands();
  }
  /// Of a thousand looks, a millisecond apart: how many wanted the next one at once. A few do,
  /// behind what has come.
  unsigned wide_awake() {
    unsigned at_once = 0;
    for (unsigned i = 0; i < 1000; ++i) {
      rig.machine.advance(clock::milliseconds(1));
      rig.adapter.poll();
      at_once += rig.adapter.next_deadline() == 0 ? 1u : 0u;
    }
    return at_once;
  }
};

TEST_F(sleep, while_what_is_queued_waits_behind_a_command_in_doubt) {
  hold([](opcode) { return true; });
  command first, second;
  for (command* c : {&first, &second}) {
    c->request.opcode = opcode::nop;
    c->request.key = {object_kind::qp, 5};
  }
  rig.adapter.commands().submit(first);
  rig.adapter.poll();
  first.cancel();
  rig.adapter.poll();
  ASSERT_EQ(rig.adapter.holdings().slots_in_doubt, 1u);
  rig.adapter.commands().submit(second);
  rig.adapter.poll();
  EXPECT_LT(wide_awake(), 10u);
  ASSERT_FALSE(second.done());
  release();
  EXPECT_TRUE(rig.await(second).ok());
}

TEST_F(sleep, while_the_attributes_of_one_port_are_read_and_another_is_next) {
  hold([](opcode code) { return code != opcode::close_port; });
  port_operation close[2];
  for (unsigned i : {0u, 1u}) close[i].close(rig.adapter, i + 1);
  for (port_operation& c : close) EXPECT_TRUE(rig.await(c).ok());
  rig.run([&] { return rig.machine.adapter().held_commands() == 1; }, clock::milliseconds(1));
  ASSERT_EQ(rig.machine.adapter().held_commands(), 1u);
  EXPECT_LT(wide_awake(), 10u);
  release();
  rig.run_for(clock::milliseconds(10));
}

TEST_F(sleep, while_memory_is_short_and_some_is_on_its_way_back) {
  constexpr std::uint32_t near = 1500, far = 1900;
  context_tables& t = rig.adapter.contexts();
  context_request there, back, other, end;
  t.map(there, {context_group::qp, near, 1});
  ASSERT_TRUE(rig.await(there).ok());
  std::vector<dma_region> taken;
  for (;;) {
    const result<dma_region> page = t.arena().allocate(dma_arena::page);
    if (!page.ok()) break;
    taken.push_back(page.value());
  }
  hold([](opcode code) { return code == opcode::unmap_icm; });
  t.unmap(back, {context_group::qp, near, 1});
  rig.run([&] { return rig.machine.adapter().held_commands() == 1; }, clock::milliseconds(1));
  t.map(other, {context_group::qp, far, 1});
  EXPECT_LT(wide_awake(), 10u);
  EXPECT_FALSE(other.done());
  release();
  EXPECT_TRUE(rig.await(back).ok());
  EXPECT_TRUE(rig.await(other).ok()) << "what came back is enough";
  for (const dma_region& r : taken) t.arena().free(r);
  t.unmap(end, {context_group::qp, far, 1});
  EXPECT_TRUE(rig.await(end).ok());
}

TEST_F(sleep, a_command_without_a_limit_waits_for_its_answer) {
  rig.adapter.commands().set_limit(patience::ordinary, clock::never);
  hold([](opcode code) { return code == opcode::nop; });
  command c;
  c.request.opcode = opcode::nop;
  rig.adapter.commands().submit(c);
  rig.run_for(clock::seconds(100));
  EXPECT_FALSE(c.done());
  release();
  EXPECT_TRUE(rig.await(c).ok());
  rig.adapter.commands().set_limit(patience::ordinary, clock::seconds(10));
}

TEST_F(sleep, an_end_is_counted_by_the_look_that_tells_it) {
  context_request there, back;
  const auto counted = [this](operation& op) {
    for (unsigned looks = 0; looks < 100'000; ++looks) {
      const unsigned handled = rig.adapter.poll();
      if (op.done()) return handled > 0;
      rig.machine.step(rig.adapter.next_deadline());
    }
    return false;
  };
  // The second of a block has nothing to send: neither when it comes nor when it goes.
  rig.adapter.contexts().map(there, {context_group::qp, 1500, 1});
  EXPECT_TRUE(rig.await(there).ok());
  there.restart();
  rig.adapter.contexts().map(there, {context_group::qp, 1501, 1});
  EXPECT_TRUE(counted(there));
  rig.adapter.contexts().unmap(back, {context_group::qp, 1501, 1});
  EXPECT_TRUE(counted(back));
  back.restart();
  rig.adapter.contexts().unmap(back, {context_group::qp, 1500, 1});
  EXPECT_TRUE(rig.await(back).ok());
  for (unsigned i = 0; i < 2; ++i) {  // the second time there is nothing to take down
    operation down;
    rig.adapter.tear_down(down);
    EXPECT_TRUE(counted(down)) << i;
  }
}

}  // namespace
}  // namespace freehca::testing
