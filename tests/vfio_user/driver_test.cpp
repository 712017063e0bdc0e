// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver in a process of its own, the adapter in another: `hcactl --vfio-user`.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <regex>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "control_caller.hpp"
#include "run_program.hpp"
#include "served_program.hpp"

namespace freehca::vfio_user {
namespace {

using nlohmann::json;

struct driver : ::testing::Test {
  void start(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--socket", socket});
    server.start(arguments);
  }
  testing::answer hcactl(const std::string& arguments) const {
    return testing::run_program(std::string(HCACTL) + " --vfio-user " + socket + " " + arguments +
                                " 2>&1");
  }
  void expect_clean_end() {
    EXPECT_EQ(0, server.stop());
    EXPECT_EQ(std::string::npos, server.said().find("complaint")) << server.said();
    EXPECT_EQ(std::string::npos, server.said().find("refused")) << server.said();
  }

  // Packets that the adapter has sent: waited for until there are so many.
  std::uint64_t moved_packets(std::uint64_t wanted) const {
    std::uint64_t sent = 0;
    control_caller asks(files.path("control"));
    for (int i = 0; i < 30000 && sent < wanted; ++i) {
      const json found = asks.ask("counters", {{"names", {counter}}});
      if (found.contains("counters")) sent = found["counters"].value(counter, std::uint64_t{0});
      usleep(1000);
    }
    return sent;
  }
  static constexpr const char* counter = "transport_packets_sent";
  /// hcactl's exit code for an adapter that is gone (docs/hcactl.md).
  static constexpr int gone = 22;

  folder files;
  std::string socket = files.path("device");
  served_program server;
};

TEST_F(driver, each_generation_moves_verified_data_and_has_nothing_to_complain_of) {
  for (const auto& [variant, number] :
       {std::pair{"connectx3-pro", "1007"}, {"connectx3", "1003"}, {"connectx2", "673c"}}) {
    SCOPED_TRACE(variant);
    start({"--variant", variant, "--strict", "on"});
    const auto [code, text] = hcactl("ping --messages 2");
    EXPECT_EQ(0, code) << text;
    EXPECT_NE(std::string::npos, text.find("15b3:" + std::string(number))) << text;
    EXPECT_NE(std::string::npos, text.find("completion by interrupt")) << text;
    EXPECT_TRUE(std::regex_search(text, std::regex("RDMA read +1048576 +2"))) << text;
    expect_clean_end();
  }
}

// The host of an adapter in another process offers no line interrupt to the driver.
TEST_F(driver, it_polls_an_adapter_without_msix) {
  start({"--x-msix", "off"});
  const auto [code, text] = hcactl("ping --messages 1");
  EXPECT_EQ(0, code) << text;
  EXPECT_NE(std::string::npos, text.find("completion by polling")) << text;
  expect_clean_end();
}

TEST_F(driver, the_second_port_and_another_session_after_the_first) {
  start();
  for (const char* port : {"1", "2"}) {
    const auto [code, text] = hcactl(std::string("ping --messages 1 --port ") + port);
    EXPECT_EQ(0, code) << text;
  }
  expect_clean_end();
}

TEST_F(driver, an_ethernet_port_is_one_for_the_driver_too) {
  start({"--link1", "eth", "--port1", "stream:listen=" + files.path("wire")});
  const auto [code, text] = hcactl("--json up");
  ASSERT_EQ(0, code) << text;
  const json found = json::parse(text);
  EXPECT_EQ("Ethernet", found["ports"][0]["link_layer"]) << found["ports"][0].dump();
  expect_clean_end();
}

TEST_F(driver, a_reset_frees_it_from_an_owner_that_died) {
  start();
  ASSERT_EQ(0, hcactl("reset").code);
  ASSERT_EQ(0, hcactl("info").code);
  expect_clean_end();
}

TEST_F(driver, info_resets_nothing_unless_told_to) {
  // Whatever brought it up would be told of the fault.
  start({"--x-fault-command", "INIT_HCA:0x02", "--control", files.path("control"), "--trace"});
  const auto [code, text] = hcactl("info");
  EXPECT_EQ(0, code) << text;
  EXPECT_NE(std::string::npos, text.find("15b3:1007  ConnectX-3 Pro")) << text;
  EXPECT_NE(std::string::npos, text.find("hcactl --vfio-user " + socket + " info --reset")) << text;
  const auto as_json = json::parse(hcactl("--json info").text);
  EXPECT_EQ(true, as_json["usable"]) << as_json.dump();
  EXPECT_EQ("15b3:1007", as_json["pci_id"]);
  EXPECT_FALSE(as_json.contains("adapter")) << as_json.dump();
  const auto counters = json::parse(
      testing::run_program(std::string(FREEHCA_DEVICE) + " --control " + files.path("control") +
                           " --ask '{\"request\":\"counters\",\"names\":[\"commands\"]}'")
          .text);
  EXPECT_EQ(0, counters["counters"]["commands"]) << counters.dump();
  EXPECT_EQ(20, hcactl("info --reset").code);
  EXPECT_EQ(0, server.stop());
}

TEST_F(driver, info_with_a_reset_tells_what_up_tells) {
  start();
  const auto [code, text] = hcactl("--json info --reset");
  ASSERT_EQ(0, code) << text;
  const auto document = json::parse(text);
  EXPECT_EQ("15b3:1007", document["pci_id"]);
  EXPECT_EQ(16777216, document["adapter"]["capabilities"]["limits"]["qps"]) << text;
  expect_clean_end();
}

TEST_F(driver, it_has_the_commands_and_options_that_hcactl_has_over_vfio) {
  start();
  for (const std::string arguments :
       {"ping --messages 1 --service uc", "ping --messages 1 --service ud",
        "ping --messages 1 --shared-receives", "ping --messages 1 --counted",
        "ping --threads 2 --messages 2", "up --size qps=18 --event-queues 3 --tables"}) {
    const auto [code, text] = hcactl(arguments);
    EXPECT_EQ(0, code) << arguments << ": " << text;
  }
  const auto list = hcactl("conform");
  EXPECT_EQ(0, list.code);
  EXPECT_NE(std::string::npos, list.text.find("hcactl --vfio-user " + socket + " conform --yes"))
      << list.text;
  const std::string file = files.path("recording");
  const auto recorded = hcactl("record --messages 1 " + file);
  EXPECT_EQ(0, recorded.code) << recorded.text;
  EXPECT_NE(std::string::npos, recorded.text.find("records in " + file)) << recorded.text;
  expect_clean_end();
}

TEST_F(driver, wrong_usage_is_a_document_with_json) {
  for (const char* arguments : {"--json fly", "ping --port 3 --json", "--json"}) {
    const auto [code, text] = testing::run_program(std::string(HCACTL) + " --vfio-user " + socket +
                                                   " " + arguments + " 2>/dev/null");
    EXPECT_GT(code, 100) << arguments;
    const auto document = json::parse(text);
    EXPECT_EQ(code, document["code"]) << arguments;
    EXPECT_FALSE(document["error"].get<std::string>().empty()) << arguments;
  }
}

TEST_F(driver, a_fault_that_was_asked_for_is_told) {
  start({"--x-fault-command", "INIT_HCA:0x02"});
  const auto [code, text] = hcactl("up");
  EXPECT_EQ(20, code) << text;
  EXPECT_NE(std::string::npos, text.find("INIT_HCA")) << text;
  EXPECT_EQ(0, server.stop());
}

TEST_F(driver, nobody_serves) {
  const auto [code, text] = hcactl("info");
  EXPECT_EQ(11, code);
  EXPECT_NE(std::string::npos, text.find("freehca-device --socket")) << text;
}

TEST_F(driver, somebody_else_is_served) {
  start();
  client other;
  ASSERT_EQ(0, other.connect(socket));
  ASSERT_EQ(0, other.negotiate());
  const auto [code, text] = hcactl("up");
  EXPECT_EQ(11, code);
  EXPECT_NE(std::string::npos, text.find("another client is served")) << text;
  // To tell that is what info is for, and the other client does not notice.
  const auto told = hcactl("info");
  EXPECT_EQ(0, told.code);
  EXPECT_NE(std::string::npos, told.text.find("another client is served")) << told.text;
  std::array<std::byte, 4> id;
  EXPECT_EQ(0, other.read(configuration_region, 0, id));
  other.disconnect();
  EXPECT_EQ(0, server.stop());
}

TEST_F(driver, the_server_is_killed_under_traffic_and_the_next_one_serves) {
  start({"--control", files.path("control")});
  std::string said;
  int status = -1;
  std::thread traffic([&] {
    const auto [code, text] = hcactl("ping --messages 1000000");
    status = code;
    said = text;
  });
  // What has moved is more than what bringing up moves.
  const std::uint64_t packets = moved_packets(1000);
  EXPECT_GE(packets, 1000u) << server.said();
  kill(server.process(), SIGKILL);
  EXPECT_EQ(-1, server.wait());
  traffic.join();
  EXPECT_EQ(gone, status) << said;
  EXPECT_NE(std::string::npos, said.find("gone")) << said;
  start();
  EXPECT_EQ(0, hcactl("ping --messages 1").code);
  expect_clean_end();
}

}  // namespace
}  // namespace freehca::vfio_user
