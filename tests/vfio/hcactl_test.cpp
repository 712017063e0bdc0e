// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tool as a process, on a made-up sysfs.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_sysfs.hpp"
#include "run_program.hpp"

namespace freehca {
namespace {

using testing::answer;

answer hcactl(const std::string& arguments) {
  return testing::run_program(std::string(HCACTL) + " " + arguments);
}

class hcactl_test : public ::testing::Test {
 protected:
  hcactl_test() {
    tree.add("0000:03:00.0", "0x15b3", "0x1007", "mlx4_core", 7);
    tree.add("0000:06:00.0", "0x8086", "0x10d3", "e1000e", 9);
  }
  answer run(const std::string& arguments) {
    return hcactl("--sysfs " + tree.root() + " " + arguments + " 2>&1");
  }
  testing::fake_sysfs tree;
};

TEST_F(hcactl_test, list_names_the_adapters_and_nothing_else) {
  const answer a = run("list");
  EXPECT_EQ(a.code, 0);
  EXPECT_NE(a.text.find("0000:03:00.0  15b3:1007  ConnectX-3 Pro"), std::string::npos) << a.text;
  EXPECT_EQ(a.text.find("0000:06:00.0"), std::string::npos) << a.text;
}

TEST_F(hcactl_test, list_as_json) {
  const answer a = run("list --json");
  EXPECT_EQ(a.code, 0);
  const auto j = nlohmann::json::parse(a.text);
  ASSERT_EQ(j.size(), 1u);
  EXPECT_EQ(j[0]["driver"], "mlx4_core");
  EXPECT_EQ(j[0]["iommu_group"], 7);
}

TEST_F(hcactl_test, each_obstacle_has_its_exit_code) {
  for (const char* command : {"up ", "ping ", "reset "}) {
    EXPECT_EQ(run(command + std::string("nonsense")).code, 10);
    EXPECT_EQ(run(command + std::string("0000:09:00.0")).code, 11);
    EXPECT_EQ(run(command + std::string("0000:06:00.0")).code, 12);
    EXPECT_EQ(run(command + std::string("0000:03:00.0")).code, 13);
  }
}

TEST_F(hcactl_test, an_error_as_json_carries_code_and_message) {
  const answer a = hcactl("--sysfs " + tree.root() + " --json up 0000:03:00.0 2>/dev/null");
  EXPECT_EQ(a.code, 13);
  const auto j = nlohmann::json::parse(a.text);
  EXPECT_EQ(j["code"], 13);
  EXPECT_NE(j["error"].get<std::string>().find("mlx4_core"), std::string::npos);
}

TEST_F(hcactl_test, info_says_what_stands_in_the_way) {
  const answer a = run("info 0000:03:00.0");
  EXPECT_EQ(a.code, 0);
  EXPECT_NE(a.text.find("bound to mlx4_core"), std::string::npos) << a.text;
}

TEST_F(hcactl_test, wrong_usage_is_refused) {
  EXPECT_GT(run("").code, 100);
  EXPECT_GT(run("up").code, 100);
  EXPECT_GT(run("ping 03:00.0 --port 3").code, 100);
}

TEST_F(hcactl_test, threads_that_cannot_be_are_refused) {
  const auto refused = [this](const std::string& options, const std::string& why) {
    const answer a = run("ping 03:00.0 " + options);
    EXPECT_GT(a.code, 100) << options;
    EXPECT_NE(a.text.find(why), std::string::npos) << a.text;
  };
  refused("--threads 0", "not in range");
  refused("--threads 16", "not in range");
  refused("--threads 2 --service rc", "--service excludes --threads");
  refused("--threads 2 --counted", "--counted excludes --threads");
  refused("--threads 2 --shared-receives", "--shared-receives excludes --threads");
  refused("--threads 2 --seconds 5 --messages 3", "--messages excludes --seconds");
  refused("--seconds 5", "--seconds requires --threads");
  refused("--recover 5", "--recover requires --threads");
  EXPECT_EQ(run("ping 03:00.0 --threads 15 --seconds 5 --recover 2").code, 13);
}

}  // namespace
}  // namespace freehca
