// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// In which order tear_down() takes back what a program has made.
#include "easy_rig.hpp"

namespace freehca {
namespace {

using layouts::opcode;

struct taken_back {
  opcode how;
  std::uint32_t number;
  friend bool operator==(const taken_back&, const taken_back&) = default;
};

class teardown_order : public ::testing::Test {
 protected:
  void tear_down() {
    rig.machine.adapter().judge_commands(
        [this](opcode o, std::uint32_t number) -> model::command_verdict {
          if (o == opcode::to_rst_qp || o == opcode::hw2sw_cq || o == opcode::hw2sw_mpt)
            seen.push_back({o, number});
          return {};
        });
    rig.must(rig.hca.tear_down());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    rig.machine.adapter().judge_commands({});
  }
  std::uint32_t number(mr_handle h) { return rig.hca.objects().find(h)->number; }
  void expect_end_of(const easy::connection& c) {
    expected.push_back({opcode::to_rst_qp, qpn_of(rig.hca.objects(), c.pair)});
    expected.push_back({opcode::hw2sw_cq, rig.hca.objects().find(c.completions)->number});
  }
  void expect_end_of(const easy::memory& m) {
    expected.push_back({opcode::hw2sw_mpt, number(m.region)});
  }

  testing::easy_rig rig;
  std::vector<taken_back> seen, expected;
};

/// Connections and memory in every order of their making: a request that is out names memory.
TEST_F(teardown_order, is_the_reverse_of_their_making_and_memory_comes_last) {
  for (unsigned order = 0; order < 6; ++order) {
    seen.clear();
    expected.clear();
    rig.bring_up();
    std::vector<easy::memory> memories;
    std::vector<easy::connection> connections;
    // Something that is gone again, so that the first free place is not the newest.
    const easy::memory gap = rig.get(rig.hca.allocate(4096));
    for (unsigned i = 0; i < 6; ++i) {
      const bool memory = order == 0 ? i < 3 : order == 1 ? i >= 3 : (i + order) % 2 == 0;
      if (memory) memories.push_back(rig.get(rig.hca.allocate(4096)));
      else connections.push_back(rig.get(rig.hca.open_rc()));
      if (i == 2) rig.must(rig.hca.release(gap));
    }
    for (const easy::connection& c : connections) rig.must(rig.hca.connect(c, c.self));
    // No receive: these wait for ever, one for each memory.
    for (std::size_t i = 0; i < connections.size(); ++i)
      ASSERT_TRUE(connections[i]
                      .post(queues::send{.data = memories[i % memories.size()].part(0, 64)})
                      .ok());
    for (std::size_t i = connections.size(); i-- > 0;) expect_end_of(connections[i]);
    for (std::size_t i = memories.size(); i-- > 0;) expect_end_of(memories[i]);
    tear_down();
    EXPECT_EQ(seen, expected) << order;
  }
}

}  // namespace
}  // namespace freehca
