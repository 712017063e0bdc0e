// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The command set as a whole, as docs/model.md tells it, and commands that no other test is about.
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <freehca/layouts/opcode.hpp>

#include "basis/command.hpp"
#include "model_page.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;

namespace {

constexpr unsigned opcodes = 0x1000;

struct row {
  std::uint16_t code = 0;
  bool refused = false;
  bool of_ethernet = false;  ///< done with an Ethernet port, else refused
};

std::map<std::string, row> commands_on_the_page() {
  std::map<std::string, row> rows;
  for (const auto& cells : rows_on_the_page("Commands")) {
    const row r{code_in(cells[1]), cells[2].starts_with("refused: bad operation"),
                cells[2].starts_with("with an Ethernet port: ")};
    EXPECT_TRUE(rows.emplace(cells[0], r).second) << cells[0] << " stands there twice";
  }
  return rows;
}

using command_set = transport_fixture;

}  // namespace

TEST_F(command_set, stands_on_the_page_whole) {
  const auto rows = commands_on_the_page();
  options how = test_options();
  how.link[1] = link_layer::ethernet;
  test_host other_host;
  device ethernet{other_host, how};
  const auto takes = [](device& d, unsigned code) {
    return static_cast<bool>(d.inside().commands.find(static_cast<std::uint16_t>(code)));
  };
  std::set<std::string> known;
  unsigned done = 0;
  for (unsigned code = 0; code < opcodes; ++code) {
    const auto o = static_cast<opcode>(code);
    const std::string name = layouts::name_of(o);
    const bool taken = takes(ethernet, code);
    if (name == "unknown opcode") {
      EXPECT_FALSE(taken) << code;
      continue;
    }
    known.insert(name);
    const auto found = rows.find(name);
    ASSERT_NE(found, rows.end()) << name << " is not on the page";
    EXPECT_EQ(found->second.code, code) << name;
    EXPECT_EQ(found->second.refused, !taken) << name;
    EXPECT_EQ(found->second.refused || found->second.of_ethernet, !takes(*hca, code)) << name;
    done += taken;
  }
  for (const auto& [name, r] : rows) EXPECT_TRUE(known.contains(name)) << name << " is no command";
  std::printf("%u commands: %u done, %u refused\n", static_cast<unsigned>(known.size()), done,
              static_cast<unsigned>(known.size()) - done);
}

TEST_F(command_set, what_is_not_offered_is_a_bad_operation) {
  for (const auto& [name, r] : commands_on_the_page()) {
    if (!r.refused && !r.of_ethernet) continue;
    EXPECT_EQ(
        driver->command(static_cast<opcode>(r.code), driver->input, 1, 0, driver->output).status,
        command_status::bad_operation)
        << name;
  }
}

TEST_F(command_set, the_firmware_is_well) {
  EXPECT_EQ(driver->command(opcode::hw_health_check).status, command_status::ok);
}

TEST_F(command_set, queue_pairs_change_before_they_are_connected_and_while_they_are_drained) {
  using q = layouts::qpc;
  const test_qp a = make_qp(0x150);
  auto context = first_context(a);
  ASSERT_EQ(modify(opcode::rst2init_qp, a.number, context), command_status::ok);
  ASSERT_EQ(
      modify(opcode::init2init_qp, a.number, context.set<&q::qkey>(7), layouts::qp_optpar::qkey),
      command_status::ok);
  EXPECT_EQ(context_of(a).get<&q::qkey>(), 7u);
  context = ready_context(a, a.number);
  ASSERT_EQ(modify(opcode::init2rtr_qp, a.number, context), command_status::ok);
  ASSERT_EQ(modify(opcode::rtr2rts_qp, a.number, context), command_status::ok);
  ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, a.number).status, command_status::ok);
  host->run();
  ASSERT_EQ(modify(opcode::sqd2sqd_qp, a.number, context.set<&q::retry_count>(3),
                   layouts::qp_optpar::retry_count),
            command_status::ok);
  EXPECT_EQ(context_of(a).get<&q::retry_count>(), 3u);
}

}  // namespace freehca::model::test
