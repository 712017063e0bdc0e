// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What hcactl says of wrong input names the argument, its value and what it may be.
#include "wrong_usage.hpp"

#include "fake_sysfs.hpp"

namespace freehca {
namespace {

using testing::answer;
using testing::expect_refusal;
using testing::wrong_usage;

class wrong_usage_test : public ::testing::Test {
 protected:
  wrong_usage_test() {
    tree.add("0000:03:00.0", "0x15b3", "0x1007", "mlx4_core", 7);
    tree.add("0000:06:00.0", "0x8086", "0x10d3", "e1000e", 9);
  }
  answer run(const std::string& arguments) {
    return testing::run_program(std::string(HCACTL) + " --sysfs " + tree.root() + " " + arguments +
                                " 2>&1");
  }
  testing::fake_sysfs tree;
};

TEST_F(wrong_usage_test, names_argument_value_and_limit) {
  for (const wrong_usage& w : testing::wrong_usage_of_both(" 03:00.0"))
    expect_refusal(w, run(w.arguments));
  const std::vector<wrong_usage> own = {
      {"", {"A subcommand is required", "list, info, up, ping, nic, conform, reset, record"}},
      {"up", {"address is required"}},
      {"record 03:00.0", {"file is required"}},
      {"up 03:00.0 05:00.0", {"05:00.0", "not expected", "up has the options"}},
      {"ping 03:00.0 --service xx", {"--service", "xx", "rc,uc,ud"}},
      {"ping 03:00.0 --service RC", {"--service", "RC", "rc,uc,ud"}},
      {"ping 03:00.0 --threads 16", {"--threads", "16", "1 to 15"}},
      {"ping 03:00.0 --threads -1", {"--threads", "-1", "1 to 15"}},
      {"ping 03:00.0 --threads 2 --seconds 86401", {"--seconds", "86401", "1 to 86400"}},
      {"ping 03:00.0 --threads 2 --recover 0", {"--recover", "0", "1 to 1000"}},
      {"up 03:00.0 --event-queues 0", {"--event-queues", "0", "1 to 16"}},
      {"up 03:00.0 --event-queues 17", {"--event-queues", "17", "1 to 16"}},
      {"up 03:00.0 --size qps=25", {"--size", "qps=25", "7 to 24"}},
      {"up 03:00.0 --size qps=-1", {"--size", "qps=-1", "7 to 24"}},
      {"up 03:00.0 --size qps=x", {"--size", "qps=x", "7 to 24"}},
      {"up 03:00.0 --size qps", {"--size", "qps", "7 to 24"}},
      {"up 03:00.0 --size mtus=4096", {"--size", "mtus=4096", "qps, srqs, cqs"}},
      {"conform 03:00.0 --yes --port 3", {"--port", "3", "1 to 2"}},
      {"record 03:00.0 f --messages 1001", {"--messages", "1001", "1 to 1000"}},
  };
  for (const wrong_usage& w : own) expect_refusal(w, run(w.arguments));
}

TEST_F(wrong_usage_test, addresses_that_cannot_be_used_are_named_with_the_reason) {
  struct {
    const char* address;
    int code;
    std::vector<std::string> said;
  } const addresses[] = {
      {"nonsense", 10, {"'nonsense' is not a PCI address", "domain:bus:device.function"}},
      {"03:00", 10, {"'03:00' is not a PCI address"}},
      {"0000:03:00.8", 10, {"'0000:03:00.8'", "0000:03:00.0"}},
      {"0000:03:20.0", 10, {"'0000:03:20.0'"}},
      {"0000:100:00.0", 10, {"'0000:100:00.0'"}},
      {"''", 10, {"'' is not a PCI address"}},
      {"0000:09:00.0", 11, {"no PCI function 0000:09:00.0", "hcactl list"}},
      {"06:00.0", 12, {"0000:06:00.0 is 8086:10d3", "ConnectX-3"}},
      {"03:00.0", 13, {"0000:03:00.0 is bound to mlx4_core", "driver_override"}},
  };
  for (const auto& a : addresses)
    for (const char* const command : {"up ", "ping ", "reset "}) {
      const answer said = run(command + std::string(a.address));
      EXPECT_EQ(said.code, a.code) << a.address;
      for (const std::string& part : a.said)
        EXPECT_NE(said.text.find(part), std::string::npos) << part << ", in: " << said.text;
    }
}

}  // namespace
}  // namespace freehca
