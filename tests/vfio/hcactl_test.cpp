// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tool as a process, on a made-up sysfs.
#include <filesystem>
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
  EXPECT_TRUE(j[0]["door"].is_null()) << "another driver has it";
}

TEST_F(hcactl_test, the_door_of_an_adapter_that_vfio_has_is_told) {
  tree.add("0000:07:00.0", "0x15b3", "0x1007", "vfio-pci", 7654321);
  EXPECT_NE(run("list").text.find("door group, /dev/vfio/7654321"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(run("list --json").text)[1]["door"], "group");
  // Its files are not there.
  const answer a = run("up 07:00.0 --door iommufd");
  EXPECT_EQ(a.code, 14);
  EXPECT_NE(a.text.find("--door group"), std::string::npos) << a.text;
}

TEST_F(hcactl_test, doors_and_pages_have_names) {
  for (const char* wrong : {"--door window", "--door 1", "--pages 4096", "--pages"})
    EXPECT_GT(run("info 03:00.0 " + std::string(wrong)).code, 100) << wrong;
  for (const char* right : {"--door group", "--door iommufd", "--door auto", "--pages huge"})
    EXPECT_EQ(run("info 03:00.0 " + std::string(right)).code, 0) << right;
}

TEST_F(hcactl_test, each_obstacle_has_its_exit_code) {
  for (const char* command : {"up ", "ping ", "reset "}) {
    EXPECT_EQ(run(command + std::string("nonsense")).code, 10);
    EXPECT_EQ(run(command + std::string("0000:09:00.0")).code, 11);
    EXPECT_EQ(run(command + std::string("0000:06:00.0")).code, 12);
    EXPECT_EQ(run(command + std::string("0000:03:00.0")).code, 13);
  }
}

// By the other program, which judges as this one does.
TEST_F(hcactl_test, each_obstacle_has_its_exit_code_for_a_recording_too) {
  const std::string file = tree.root() + "/recording";
  const auto code = [&](const std::string& address) {
    return run("record " + address + " " + file).code;
  };
  EXPECT_EQ(code("nonsense"), 10);
  EXPECT_EQ(code("0000:09:00.0"), 11);
  EXPECT_EQ(code("0000:06:00.0"), 12);
  EXPECT_EQ(code("0000:03:00.0"), 13);
  EXPECT_FALSE(std::filesystem::exists(file)) << "written before the card could be used";
  EXPECT_GT(run("record 0000:03:00.0").code, 100);
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

// The device is up under the kernel's driver, which is not disturbed: all of it is read in sysfs.
TEST_F(hcactl_test, info_says_what_the_kernel_knows_of_an_adapter_that_is_up_elsewhere) {
  const std::string at = "0000:03:00.0";
  tree.write(at, "revision", "0x00");
  tree.write(at, "current_link_speed", "8.0 GT/s PCIe");
  tree.write(at, "current_link_width", "4");
  tree.write(at, "max_link_speed", "8.0 GT/s PCIe");
  tree.write(at, "max_link_width", "8");
  tree.write(at, "infiniband/mlx4_0/fw_ver", "2.42.5000");
  tree.write(at, "infiniband/mlx4_0/board_id", "MT_1090120019");
  tree.write(at, "infiniband/mlx4_0/node_guid", "0002:c903:00f0:ca00");
  tree.write(at, "infiniband/mlx4_0/ports/1/state", "4: ACTIVE");
  tree.write(at, "infiniband/mlx4_0/ports/1/phys_state", "5: LinkUp");
  tree.write(at, "infiniband/mlx4_0/ports/1/link_layer", "InfiniBand");
  tree.write(at, "infiniband/mlx4_0/ports/1/lid", "0x2");
  tree.write(at, "net/ibs1/operstate", "up");
  for (const char* command : {"info 03:00.0", "info 03:00.0 --reset"}) {
    const answer a = run(command);
    EXPECT_EQ(a.code, 0);
    for (const char* part :
         {"8.0 GT/s PCIe x4, at most 8.0 GT/s PCIe x8", "mlx4_0: firmware 2.42.5000",
          "port 1: InfiniBand, 4: ACTIVE, 5: LinkUp", "LID 0x2", "interface ibs1",
          "bound to mlx4_core"})
      EXPECT_NE(a.text.find(part), std::string::npos) << part << ": " << a.text;
  }
  const auto j = nlohmann::json::parse(run("info 03:00.0 --json").text);
  EXPECT_EQ(j["usable"], false);
  EXPECT_EQ(j["link_width"], "4");
  EXPECT_EQ(j["kernel"]["firmware"], "2.42.5000");
  EXPECT_EQ(j["kernel"]["ports"][0]["state"], "4: ACTIVE");
  EXPECT_EQ(j["kernel"]["interfaces"][0]["name"], "ibs1");
}

TEST_F(hcactl_test, wrong_usage_is_a_document_with_json) {
  for (const char* arguments :
       {"--json", "--json fly", "up --json", "ping 03:00.0 --port 3 --json"}) {
    const answer a = hcactl("--sysfs " + tree.root() + " " + arguments + " 2>/dev/null");
    EXPECT_GT(a.code, 100) << arguments;
    const auto j = nlohmann::json::parse(a.text);
    EXPECT_EQ(j["code"], a.code) << arguments;
    EXPECT_FALSE(j["error"].get<std::string>().empty()) << arguments;
  }
}

TEST_F(hcactl_test, wrong_usage_is_refused) {
  EXPECT_GT(run("").code, 100);
  EXPECT_GT(run("up").code, 100);
  EXPECT_GT(run("ping 03:00.0 --port 3").code, 100);
}

TEST_F(hcactl_test, conform_tells_its_list_and_does_it_only_when_told_to) {
  // Another driver has the adapter: whoever asked it would learn of that.
  const answer list = run("conform 03:00.0");
  EXPECT_EQ(list.code, 0);
  EXPECT_NE(list.text.find("hcactl conform 03:00.0 --yes"), std::string::npos) << list.text;
  EXPECT_GE(nlohmann::json::parse(run("conform 03:00.0 --json").text)["rows"].size(), 150u);
  EXPECT_EQ(run("conform 03:00.0 --yes").code, 13);
  // Refused as by the other commands, and nothing to type comes of it.
  const answer nonsense = run("conform nonsense");
  EXPECT_EQ(nonsense.code, run("info nonsense").code);
  EXPECT_NE(nonsense.code, 0);
  EXPECT_EQ(nonsense.text.find("--yes"), std::string::npos) << nonsense.text;
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
