// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What hcactl --vfio-user says of wrong input names the argument, its value and what it may be.
#include <wrong_usage.hpp>

namespace freehca {
namespace {

using testing::answer;
using testing::wrong_usage;

answer run(const std::string& arguments) {
  return testing::run_program(std::string(HCACTL) + " --vfio-user " + arguments + " 2>&1");
}

TEST(remote_wrong_usage, names_argument_value_and_limit) {
  for (const wrong_usage& w : testing::wrong_usage_of_both(""))
    testing::expect_refusal(w, run("/nowhere/socket " + w.arguments));
  testing::expect_refusal({"", {"A subcommand is required", "info, up, ping, nic, conform, reset"}},
                          run("/nowhere/socket"));
}

TEST(remote_wrong_usage, a_socket_that_nobody_serves_is_named_with_the_reason) {
  for (const char* const socket : {"/nowhere/socket", "/dev/null", "/"}) {
    const answer a = run(std::string(socket) + " ping");
    EXPECT_EQ(a.code, 11) << a.text;
    EXPECT_NE(a.text.find(std::string(socket) + ": "), std::string::npos) << a.text;
    EXPECT_NE(a.text.find("freehca-device --socket"), std::string::npos) << a.text;
  }
}

}  // namespace
}  // namespace freehca
