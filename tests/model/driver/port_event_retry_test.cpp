// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A port's change is told by one event. What the driver reads for it may be refused.
#include "verbs_rig.hpp"

namespace freehca {
namespace {

using fate = model::command_verdict::fate;
using layouts::opcode;

class port_event : public ::testing::Test {
 protected:
  port_event() {
    options.events.context = &told;
    options.events.port = [](void* n, unsigned) noexcept { ++*static_cast<unsigned*>(n); };
    rig = std::make_unique<testing::verbs_rig>(options);
    rig->adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
    EXPECT_TRUE(rig->adapter.port(1).active());
  }
  /// The next `count` commands MAD_IFC end so; those behind them run.
  void strike(unsigned count, model::command_verdict how) {
    rig->machine.adapter().judge_commands(
        [this, count, how](opcode o, std::uint32_t) -> model::command_verdict {
          if (o != opcode::mad_ifc) return {};
          return asked++ < count ? how : model::command_verdict{};
        });
  }
  void pull_cable() { rig->machine.adapter().plug_cable(1, false); }
  void run_for(std::uint64_t time) {
    rig->run([] { return false; }, time);
  }

  unsigned told = 0, asked = 0;
  testing::rig_options options;
  std::unique_ptr<testing::verbs_rig> rig;
};

TEST_F(port_event, is_not_lost_when_its_one_command_is_refused) {
  strike(1, {fate::refuse, layouts::command_status::internal_error});
  pull_cable();
  run_for(clock::seconds(1));
  EXPECT_FALSE(rig->adapter.port(1).active());
  EXPECT_GE(told, 1u);
}

TEST_F(port_event, is_not_lost_when_its_one_command_is_not_answered) {
  strike(1, {.what = fate::lose_answer});
  pull_cable();
  run_for(clock::seconds(1));
  EXPECT_FALSE(rig->adapter.port(1).active());
  EXPECT_GE(told, 1u);
  operation again;
  rig->adapter.recover(again);
  EXPECT_TRUE(rig->await(again).ok());
}

TEST_F(port_event, is_read_at_a_bounded_rate_while_the_firmware_refuses) {
  strike(~0u, {fate::refuse, layouts::command_status::internal_error});
  pull_cable();
  run_for(clock::seconds(3));
  EXPECT_TRUE(rig->adapter.port(1).active()) << "not known yet";
  EXPECT_EQ(told, 0u);
  EXPECT_GE(asked, 10u);
  EXPECT_LE(asked, 40u);
  rig->machine.adapter().judge_commands({});
  run_for(clock::milliseconds(200));
  EXPECT_FALSE(rig->adapter.port(1).active());
  const unsigned once = told;
  EXPECT_GE(once, 1u);
  run_for(clock::seconds(1));
  EXPECT_EQ(told, once) << "and not again";
}

}  // namespace
}  // namespace freehca
