// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every command in each way of being wrong, on an adapter as it is by default and on a strict one.
// What each brings stands in docs/strictness.md, whose rows are made from what these tests record
// (strictness_page.py --write) and compared with it. A call that was refused is good afterwards as
// if nothing had been.
#include <fstream>
#include <optional>

#include <freehca/model/rules.hpp>

#include "command/command_rules.hpp"
#include "strict_calls.hpp"
#include "strict_fields.hpp"
#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// Which rule was broken, and what was found.
struct finding {
  std::string rule, found;
  bool operator==(const finding&) const = default;
};
void PrintTo(const finding& f, std::ostream* to) {
  *to << f.rule << ": " << f.found;
}

/// What came of a wrong call.
struct ending {
  command_status status{};
  std::optional<finding> refusal;  ///< of the last command that was refused
  std::vector<finding> complaints;
  bool explained =
      true;  ///< each refusal and complaint says its rule, what is wanted, and the source
};

/// The status that the page gives for the running test; "accepted" is success.
std::string status_on_the_page() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = "`" + std::string(info->test_suite_name()) + "." + info->name() + "`";
  std::ifstream page(FREEHCA_STRICTNESS_PAGE);
  for (std::string line; std::getline(page, line);) {
    if (line.find(name) == std::string::npos) continue;
    std::size_t at = line.find(" | ");
    at = line.find(" | ", at + 3) + 3;
    std::string cell = line.substr(at, line.find(" | ", at) - at);
    constexpr std::string_view taken = "taken; strict: ";
    if (cell.starts_with(taken)) cell.erase(0, taken.size());
    return cell.starts_with("accepted") ? "accepted" : cell;
  }
  return "no row";
}

finding finding_in(const remark& r, ending& to) {
  const auto rule = rule_named(r.rule);
  const std::size_t wanted = r.text.find("; wanted: ");
  if (!rule || wanted == std::string::npos) {
    to.explained = false;
    return {r.rule, r.text};
  }
  const rule_entry& e = entry_of(*rule);
  const std::string source(e.source.empty() ? "no source: chosen" : e.source);
  const std::string says =
      "; wanted: " + std::string(e.demand) + " (rule " + r.rule + "; " + source;
  to.explained &= r.text.substr(wanted, says.size()) == says.substr(0, r.text.size() - wanted);
  std::string found = r.text.substr(0, wanted);
  if (r.kind == remark_kind::refused) {
    // "COMMAND modifier ..., token 0x1: status: found".
    std::size_t at = found.find(", token 0x");
    for (int colons = 0; colons < 2 && at != std::string::npos; ++colons)
      at = found.find(": ", at + 1);
    if (at == std::string::npos) to.explained = false;
    else found = found.substr(at + 2);
  } else if (const std::size_t at = found.find(": "); at != std::string::npos) {
    found = found.substr(at + 2);  // "COMMAND: found"
  }
  return {r.rule, found};
}

class strict_commands : public strict_world, public testing::WithParamInterface<wrong_call> {
 protected:
  ending run(bool strict) {
    const wrong_call& wrong = GetParam();
    const good_call& good = good_call_of(wrong.what);
    refused_in_part = false;
    how.link[1] = good.ethernet ? link_layer::ethernet : link_layer::infiniband;
    begin(strict);
    if (good.at != stage::running) go_to(good.at);
    call c = good.make(*this);
    if (!c.mailbox.empty()) c.in = driver->input;
    if (c.output) c.out = driver->output;
    command asked{};
    asked.opcode = c.what;
    asked.opcode_modifier = static_cast<std::uint8_t>(c.opcode_modifier);
    const mailboxes has = mailboxes_of(asked);
    EXPECT_EQ(has.input, !c.mailbox.empty());
    EXPECT_EQ(has.output, c.output);

    const call before = c;
    host->remarks.clear();
    ending e;
    e.status = wrong.wrong(*this, c);
    for (const remark& r : host->remarks) {
      if (r.kind == remark_kind::refused) e.refusal = finding_in(r, e);
      if (r.kind == remark_kind::complaint) e.complaints.push_back(finding_in(r, e));
    }
    EXPECT_GE(hca->complaints(), e.complaints.size());
    if (e.status != command_status::ok && wrong.repairs) {
      EXPECT_EQ(issue(before), command_status::ok);
    }
    return e;
  }

  void record(const ending& strictly, reaction by_default) {
    RecordProperty("answer",
                   strictly.status == command_status::ok ? "accepted" : name_of(strictly.status));
    RecordProperty("reaction", by_default == reaction::takes ? "takes" : "refuses");
    const finding f = strictly.refusal.value_or(finding{});
    RecordProperty("says", f.found);
    RecordProperty("rule", f.rule);
    const auto rule = rule_named(f.rule);
    RecordProperty("source", rule ? std::string(entry_of(*rule).source) : std::string());
  }
};

}  // namespace

TEST_P(strict_commands, answer) {
  const ending strictly = run(true), by_default = run(false);
  EXPECT_EQ(status_on_the_page(),
            strictly.status == command_status::ok ? "accepted" : name_of(strictly.status));
  EXPECT_TRUE(strictly.explained);
  EXPECT_TRUE(by_default.explained);
  if (strictly.status == command_status::ok) {
    EXPECT_EQ(by_default.status, command_status::ok);
    record({}, reaction::refuses);
    return;
  }
  ASSERT_TRUE(strictly.refusal);
  const finding& why = *strictly.refusal;
  EXPECT_TRUE(names_a_field(why.found)) << why.found;
  const auto rule = rule_named(why.rule);
  ASSERT_TRUE(rule) << why.rule;
  const rule_entry& e = entry_of(*rule);
  record(strictly, e.hardware);
  if (e.hardware == reaction::refuses) {
    EXPECT_FALSE(e.source.empty()) << "it refuses, and no source says so";
    EXPECT_EQ(by_default.status, strictly.status);
    EXPECT_EQ(by_default.refusal, strictly.refusal);
    return;
  }
  EXPECT_EQ(by_default.status, command_status::ok)
      << (by_default.refusal ? by_default.refusal->rule + by_default.refusal->found : "");
  EXPECT_NE(std::find(by_default.complaints.begin(), by_default.complaints.end(), why),
            by_default.complaints.end())
      << testing::PrintToString(by_default.complaints) << testing::PrintToString(why);
}

INSTANTIATE_TEST_SUITE_P(every, strict_commands, testing::ValuesIn(wrong_calls()),
                         [](const auto& p) { return p.param.name(); });

}  // namespace freehca::model::test
