// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every command in each way of being wrong. What each brings stands in docs/strictness.md, which names the test: here
// is only how a good call is spoiled. A call that was refused is good afterwards as if nothing had been.
#include <fstream>

#include "command_rules.hpp"
#include "strict_calls.hpp"
#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// The answer that the page gives for the running test.
std::string answer_on_the_page() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = "`" + std::string(info->test_suite_name()) + "." + info->name() + "`";
  std::ifstream page(FREEHCA_STRICTNESS_PAGE);
  for (std::string line; std::getline(page, line);) {
    if (line.find(name) == std::string::npos) continue;
    std::size_t at = line.find(" | ");
    at = line.find(" | ", at + 3) + 3;
    return line.substr(at, line.find_first_of("|:;", at) - at);
  }
  return "no row";
}

/// The answer of the page as a status; "accepted" is success.
bool says(const std::string& text, command_status s) {
  const std::string name = s == command_status::ok ? "accepted" : name_of(s);
  return text.starts_with(name) && text.find_first_not_of(' ', name.size()) == std::string::npos;
}

class strict_commands : public strict_world, public testing::WithParamInterface<wrong_call> {};

}  // namespace

TEST_P(strict_commands, answer) {
  const wrong_call& how = GetParam();
  const good_call& good = good_call_of(how.what);
  if (good.at != stage::running) go_to(good.at);
  call c = good.make(*this);
  if (!c.mailbox.empty()) c.in = driver->input;
  if (c.output) c.out = driver->output;
  command asked{};
  asked.opcode = c.what;
  asked.opcode_modifier = static_cast<std::uint8_t>(c.opcode_modifier);
  const mailboxes has = mailboxes_of(asked);
  ASSERT_EQ(has.input, !c.mailbox.empty());
  ASSERT_EQ(has.output, c.output);

  const call before = c;
  const command_status s = how.wrong(*this, c);
  EXPECT_TRUE(says(answer_on_the_page(), s))
      << name_of(s) << "; the page: " << answer_on_the_page();
  if (s == command_status::ok || !how.repairs) return;
  EXPECT_EQ(issue(before), command_status::ok);
}

INSTANTIATE_TEST_SUITE_P(every, strict_commands, testing::ValuesIn(wrong_calls()),
                         [](const auto& p) { return p.param.name(); });

}  // namespace freehca::model::test
