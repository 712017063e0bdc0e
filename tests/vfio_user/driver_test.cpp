// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The driver in a process of its own, the adapter in another: `hcactl --vfio-user`.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
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

TEST_F(driver, a_fault_that_was_asked_for_is_told) {
  start({"--x-fault-command", "INIT_HCA:0x02"});
  const auto [code, text] = hcactl("info");
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
  const auto [code, text] = hcactl("info");
  EXPECT_EQ(11, code);
  EXPECT_NE(std::string::npos, text.find("another client is served")) << text;
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
