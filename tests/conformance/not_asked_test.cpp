// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What firmware refuses by docs/strictness.md is asked by a row, or docs/conformance.md says why
// it is not.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/conformance/list.hpp>

namespace freehca::conformance {
namespace {

using cells = std::vector<std::string>;
/// Command and rule.
using question = std::pair<std::string, std::string>;

/// The rows of the tables of a page in the sections whose heading begins so, without the heads.
std::vector<cells> table_rows(const std::string& page, const std::string& heading) {
  std::ifstream in(CONFORMANCE_DOCS "/" + page);
  EXPECT_TRUE(in.is_open()) << page;
  std::vector<cells> all;
  bool there = false, head = true;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("## ", 0) == 0) there = line.rfind("## " + heading, 0) == 0;
    if (!there || line.rfind("| ", 0) != 0) {
      head = true;
      continue;
    }
    if (head || line.rfind("| ---", 0) == 0) {
      head = false;
      continue;
    }
    cells row;
    for (std::size_t at = 2, end; (end = line.find(" |", at)) != std::string::npos; at = end + 3)
      row.push_back(end > at ? line.substr(at, end - at) : "");
    all.push_back(row);
  }
  return all;
}

struct refusal {
  question asks;
  std::string wrong;
};

/// Commands that are refused because a source says so.
std::vector<refusal> refusals() {
  std::vector<refusal> all;
  for (const cells& row : table_rows("strictness.md", "Commands")) {
    EXPECT_EQ(row.size(), 7u) << row.front();
    if (row.size() != 7) continue;
    const std::string &answer = row[2], &because = row[5];
    const bool taken = answer.rfind("taken", 0) == 0 || answer.rfind("accepted", 0) == 0;
    if (taken || because.find("no source") != std::string::npos) continue;
    all.push_back({{row[0], because.substr(0, because.find(':'))}, row[1]});
  }
  return all;
}

/// A line of the table "Not asked", whose cells may say "every".
struct exception {
  std::set<std::string> commands;
  std::string rule, wrong;

  bool names(const refusal& r) const {
    return (commands.contains("every") || commands.contains(r.asks.first)) &&
           (rule == "every" || rule == r.asks.second) && (wrong == "every" || wrong == r.wrong);
  }
};

std::string without_quotes(std::string of) {
  std::erase(of, '`');
  return of;
}

std::vector<exception> exceptions() {
  std::vector<exception> all;
  for (const cells& row : table_rows("conformance.md", "Not asked")) {
    EXPECT_EQ(row.size(), 4u) << row.front();
    if (row.size() != 4) continue;
    exception e{.commands = {}, .rule = without_quotes(row[0]), .wrong = row[2]};
    std::istringstream commands(without_quotes(row[1]));
    for (std::string one; std::getline(commands >> std::ws, one, ',');) e.commands.insert(one);
    EXPECT_NE(row[3], "");
    all.push_back(e);
  }
  return all;
}

/// The name of a row begins with its command, but for those of the group `management`.
std::string command_of(const row_group& group, const row& r) {
  if (std::string(group.name) == "management") return "MAD_IFC";
  const std::string name = r.name;
  std::string command = name.substr(0, name.find('-'));
  std::transform(command.begin(), command.end(), command.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return command;
}

/// A row of the opcode that no adapter has; docs/strictness.md has rows of commands.
constexpr char no_command[] = "UNKNOWN";

/// How many rows ask a command for what a rule is about.
std::map<question, unsigned> questions() {
  std::map<question, unsigned> all;
  for (const row_group* group : all_rows()) {
    for (unsigned i = 0; i < group->count; ++i) {
      const row& r = group->at(i);
      const std::string source = r.source;
      const std::string command = command_of(*group, r);
      if (source.rfind("rule ", 0) == 0 && command != no_command)
        ++all[{command, source.substr(5, source.find(':') - 5)}];
    }
  }
  return all;
}

TEST(not_asked, is_what_the_page_on_conformance_gives_a_reason_for_and_nothing_else) {
  const std::vector<exception> reasons = exceptions();
  std::map<question, unsigned> wanted;
  std::vector<unsigned> named(reasons.size());
  for (const refusal& r : refusals()) {
    bool excepted = false;
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (!reasons[i].names(r)) continue;
      ++named[i];
      excepted = true;
    }
    if (!excepted) ++wanted[r.asks];
  }
  const std::map<question, unsigned> asked = questions();
  for (const auto& [what, rows] : wanted)
    EXPECT_GE(asked.contains(what) ? asked.at(what) : 0u, rows)
        << what.first << " by " << what.second << " is refused: where is the row, or the reason?";
  for (const auto& [what, rows] : asked)
    EXPECT_TRUE(wanted.contains(what))
        << what.first << " by " << what.second << " is asked: is it not refused, or excepted?";
  for (std::size_t i = 0; i < reasons.size(); ++i)
    EXPECT_GT(named[i], 0u) << "nothing is refused by " << reasons[i].rule
                            << " that this names: " << reasons[i].wrong;
  EXPECT_GE(reasons.size(), 10u);
  EXPECT_GE(wanted.size(), 50u);
}

}  // namespace
}  // namespace freehca::conformance
