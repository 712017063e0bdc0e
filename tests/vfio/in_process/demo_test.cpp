// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// `./dev demo --in-process` as a process: what it counts is what the model counted.
#include <cstdint>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "../run_program.hpp"

namespace freehca {
namespace {

testing::answer run(const std::string& arguments) {
  return testing::run_program(std::string(DEMO) + " " + arguments + " 2>&1");
}

TEST(demo, counts_what_the_model_counted) {
  constexpr std::uint64_t messages = 3, kinds = 3, sizes = 10;
  const auto [code, text] = run("--messages " + std::to_string(messages));
  ASSERT_EQ(code, 0) << text;
  std::map<std::string, std::uint64_t> driver;
  std::uint64_t tallies = 0, verified = 0;
  const std::regex count(" +([a-z_]+): driver ([0-9]+), model ([0-9]+)");
  const std::regex tally(" +(send|RDMA write|RDMA read) +([0-9]+) +([0-9]+)");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, count)) {
      EXPECT_EQ(m[2], m[3]) << line;
      driver[m[1]] = std::stoull(m[2]);
    } else if (std::regex_match(line, m, tally)) {
      ++tallies;
      verified += std::stoull(m[3]);
    }
  }
  EXPECT_EQ(tallies, kinds * sizes) << text;
  EXPECT_EQ(verified, messages * kinds * sizes);
  // At MTU 4096: 0 1 63 64 65 4095 4096 are one packet each, 4097 two, 64 KiB 16, 1 MiB 256.
  constexpr std::uint64_t packets = messages * (7 + 2 + 16 + 256);
  EXPECT_EQ(driver["rc_send_packets"], packets);
  EXPECT_EQ(driver["rc_write_packets"], packets);
  EXPECT_EQ(driver["rc_read_requests"], messages * sizes);
  EXPECT_EQ(driver["rc_read_responses"], packets);
  EXPECT_GT(driver["commands"], 0u);
  EXPECT_NE(text.find("all well"), std::string::npos) << text;
}

TEST(demo, refuses_wrong_usage) {
  const auto [code, text] = run("--messages 0");
  EXPECT_GT(code, 100) << text;
}

}  // namespace
}  // namespace freehca
