// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the adapter judges, and how it says why.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/model/rules.hpp>

#include "basis/rule_book.hpp"
#include "test_driver.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

struct book : ::testing::Test {
  test_host host{1u << 20};
  options how;
  adapter_clock clock{host};
  rule_book rules{host, clock, how};

  std::string last() { return host.remarks.empty() ? "" : host.remarks.back().text; }
};

// Rules of either reaction; which ones does not matter here.
constexpr rule sourced = rule::system_state, chosen = rule::register_place;
static_assert(sourced != chosen);

TEST_F(book, the_rules_chosen_here_have_the_reactions_that_the_tests_need) {
  EXPECT_EQ(entry_of(sourced).hardware, reaction::refuses);
  EXPECT_EQ(entry_of(chosen).hardware, reaction::takes);
}

TEST_F(book, what_a_source_forbids_is_refused_and_the_reason_is_taken_once) {
  EXPECT_TRUE(rules.refuses(sourced, "in state %u", 7u));
  EXPECT_EQ(rules.complaints(), 0u);
  const rule_book::reason why = rules.take_reason();
  EXPECT_STREQ(why.rule, "system-state");
  const rule_entry& e = entry_of(sourced);
  EXPECT_EQ(why.text, "in state 7; wanted: " + std::string(e.demand) + " (rule system-state; " +
                          std::string(e.source) + ")");
  EXPECT_TRUE(rules.take_reason().empty());
}

TEST_F(book, what_no_source_forbids_is_taken_and_complained_of) {
  EXPECT_FALSE(rules.refuses(chosen, "at 0x%x", 0x40u));
  EXPECT_EQ(rules.complaints(), 1u);
  ASSERT_EQ(host.remarks.size(), 1u);
  EXPECT_EQ(host.remarks[0].kind, remark_kind::complaint);
  EXPECT_STREQ(host.remarks[0].rule, "register-place");
  EXPECT_NE(last().find("at 0x40; wanted: "), std::string::npos) << last();
  EXPECT_NE(last().find("no source: chosen"), std::string::npos) << last();
  EXPECT_TRUE(rules.take_reason().empty());
}

TEST_F(book, strictness_refuses_it_and_may_change_at_any_time) {
  how.strict = true;
  EXPECT_TRUE(rules.refuses(chosen, "at 0x%x", 0x40u));
  EXPECT_EQ(rules.complaints(), 0u);
  EXPECT_STREQ(rules.take_reason().rule, "register-place");
  how.strict = false;
  EXPECT_FALSE(rules.refuses(chosen, "at 0x%x", 0x40u));
  EXPECT_EQ(rules.complaints(), 1u);
}

TEST_F(book, a_rule_that_is_off_finds_nothing) {
  how.rules_off.add(chosen);
  how.rules_off.add(sourced);
  EXPECT_FALSE(rules.refuses(sourced, "in state 7"));
  EXPECT_FALSE(rules.complain(chosen, "at 0x40"));
  EXPECT_EQ(rules.complaints(), 0u);
  EXPECT_TRUE(host.remarks.empty());
}

TEST_F(book, the_last_hundred_are_kept_with_their_numbers) {
  for (unsigned i = 1; i <= 130; ++i) rules.complain(chosen, "number %u", i);
  std::vector<remark> kept;
  rules.kept([&kept](const remark& n) { kept.push_back(n); });
  ASSERT_EQ(kept.size(), remarks_kept);
  EXPECT_EQ(kept.front().number, 31u);
  EXPECT_EQ(kept.back().number, 130u);
  EXPECT_EQ(kept.front().text.rfind("number 31;", 0), 0u) << kept.front().text;
}

TEST_F(book, a_line_has_an_end) {
  rules.complain(chosen, "%s", std::string(1000, 'x').c_str());
  EXPECT_EQ(last().size(), 400u);
}

/// The row of docs/rules.md.
std::string row_of(const rule_entry& e) {
  const char* const broken = e.hardware == reaction::refuses ? "refused" : "taken";
  return "| `" + std::string(e.name) + "` | " + std::string(e.demand) + " | " + broken + " | " +
         std::string(e.source.empty() ? "no source: chosen" : e.source) + " |";
}

// Each text of a rule is read by somebody whose driver has broken it.
TEST(rules, have_the_rows_of_the_page) {
  std::ifstream page(FREEHCA_RULES_PAGE);
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("| `")) rows.push_back(line);
  const auto count = static_cast<std::size_t>(rule::count);
  EXPECT_EQ(rows.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string row = row_of(entry_of(static_cast<rule>(i)));
    EXPECT_EQ(i < rows.size() ? rows[i] : "", row);
  }
}

TEST(rules, have_names_that_are_found_again) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(rule::count); ++i) {
    const auto r = static_cast<rule>(i);
    EXPECT_EQ(rule_named(entry_of(r).name), r);
  }
  EXPECT_FALSE(rule_named("no-such-rule"));
  EXPECT_TRUE(rule_set::named("")->has(rule::count) == false);
  EXPECT_TRUE(rule_set::named("uar-place,system-state")->has(rule::uar_place));
  EXPECT_FALSE(rule_set::named("uar-place,no-such-rule"));
}

struct explained : ::testing::Test {
  test_host host;
  options how = test_options();
  device hca{host, how};
  test_driver driver{host, hca};
  void SetUp() override { host.attach(hca); }
};

TEST_F(explained, a_refused_command_says_which_rule_it_broke) {
  EXPECT_EQ(driver.command(opcode::query_dev_cap).status, command_status::bad_system_state);
  ASSERT_FALSE(host.remarks.empty());
  const remark& n = host.remarks.back();
  EXPECT_EQ(n.kind, remark_kind::refused);
  EXPECT_STREQ(n.rule, "system-state");
  EXPECT_EQ(n.text.rfind("QUERY_DEV_CAP modifier 0x0, opcode modifier 0, token 0x", 0), 0u)
      << n.text;
  EXPECT_NE(n.text.find(": bad system state: it comes after RUN_FW, and the system is as after "
                        "a reset; wanted: "),
            std::string::npos)
      << n.text;
}

TEST_F(explained, what_no_source_forbids_is_taken_unless_the_adapter_is_strict) {
  ASSERT_TRUE(driver.bring_up());
  hca.set_strict(false);
  EXPECT_EQ(driver.command(opcode::nop, 0, 0, 15).status, command_status::ok);
  ASSERT_EQ(host.complaints.size(), 1u);
  EXPECT_NE(host.complaints[0].find("opcode modifier 15; wanted: "), std::string::npos);
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, driver.output + 8).status,
            command_status::ok);
  EXPECT_EQ(hca.complaints(), 2u);
  hca.set_strict(true);
  EXPECT_EQ(driver.command(opcode::nop, 0, 0, 15).status, command_status::bad_operation);
  EXPECT_STREQ(host.remarks.back().rule, "opcode-modifier");
  EXPECT_EQ(driver.command(opcode::query_fw, 0, 0, 0, driver.output + 8).status,
            command_status::bad_parameter);
  EXPECT_STREQ(host.remarks.back().rule, "mailbox-alignment");
  EXPECT_EQ(hca.complaints(), 2u);
  // Where it chooses the operation, there is none to take.
  hca.set_strict(false);
  EXPECT_EQ(driver.command(opcode::mad_demux, 0, 1, 15).status, command_status::bad_operation);
  EXPECT_STREQ(host.remarks.back().rule, "known-operation");
}

TEST_F(explained, what_goes_well_is_told_to_those_who_listen) {
  ASSERT_TRUE(driver.bring_up());
  EXPECT_TRUE(host.remarks.empty());
  host.listen_to_all = true;
  EXPECT_EQ(driver.command(opcode::nop).status, command_status::ok);
  bool told = false;
  for (const remark& n : host.remarks)
    told |= n.kind == remark_kind::command && n.text.rfind("NOP modifier", 0) == 0;
  EXPECT_TRUE(told);
}

TEST_F(explained, the_device_keeps_what_explains) {
  EXPECT_EQ(driver.command(opcode::query_dev_cap).status, command_status::bad_system_state);
  hca.write_registers(0x4, 1, 4);
  std::vector<remark> kept;
  hca.remarks(
      [](const remark& n, void* to) { static_cast<std::vector<remark>*>(to)->push_back(n); },
      &kept);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].kind, remark_kind::refused);
  EXPECT_EQ(kept[1].kind, remark_kind::complaint);
  EXPECT_STREQ(kept[1].rule, "register-place");
  EXPECT_EQ(kept[1].number, 2u);
}

TEST_F(explained, rules_are_switched_off_while_it_runs) {
  hca.set_rules_off(*rule_set::named("register-place"));
  hca.write_registers(0x4, 1, 4);
  EXPECT_EQ(hca.complaints(), 0u);
  hca.set_rules_off({});
  hca.write_registers(0x4, 1, 4);
  EXPECT_EQ(hca.complaints(), 1u);
}

}  // namespace
}  // namespace freehca::model::test
