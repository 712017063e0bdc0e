// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the report of an adapter names, from our driver on the modelled one.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <freehca/blocking/session.hpp>
#include <freehca/description/adapter.hpp>
#include <freehca/hca/every_kind.hpp>

#include <in_process_host.hpp>

namespace freehca::description {
namespace {

nlohmann::json reported(model::variant kind, std::string* text = nullptr) {
  in_process::machine_options how;
  how.model.kind = kind;
  blocking::in_process_host host(how);
  blocking::session s(host, {.budget = {}, .objects = every_kind()});
  EXPECT_TRUE(s.open().ok());
  EXPECT_TRUE(s.wait(s.adapter().bring_up()).ok());
  nlohmann::json j = to_json(s.adapter().hardware());
  if (text != nullptr) *text = to_text(s.adapter().hardware());
  EXPECT_TRUE(s.tear_down().ok());
  return j;
}

bool has_flag(const nlohmann::json& j, const char* name) {
  const auto& flags = j["capabilities"]["flags"];
  return std::find(flags.begin(), flags.end(), name) != flags.end();
}

TEST(report, names_all_that_an_adapter_is) {
  std::string text;
  const nlohmann::json j = reported(model::variant::connectx3_pro, &text);
  EXPECT_EQ(j["pci_id"], "15b3:1007");
  EXPECT_FALSE(j["firmware"].get<std::string>().empty());
  EXPECT_GT(j["commands_issued"], 0);
  for (const char* of : {"firmware", "auxiliary", "context"})
    EXPECT_GT(j["bytes_lent"][of], 0) << of;
  EXPECT_GT(j["bytes_lent"]["by_table"]["qpc"], 0) << j["bytes_lent"];
  EXPECT_EQ(j["internal_errors_show"], true);
  ASSERT_EQ(j["ports"].size(), 2u);
  EXPECT_EQ(j["ports"][1]["state"], "Active");
  // What the firmware of a ConnectX-3 Pro says (captures, by way of the model), and not what the
  // budget took.
  const auto& limits = j["capabilities"]["limits"];
  EXPECT_EQ(limits["qps"], 1u << 24);
  EXPECT_EQ(limits["mtts"], 1u << 31);
  EXPECT_EQ(limits["send_sges"], 62);
  EXPECT_EQ(limits["message_bytes"], 1u << 30);
  EXPECT_EQ(limits["mtu"], 4096);
  EXPECT_TRUE(has_flag(j, "xrc"));
  EXPECT_TRUE(has_flag(j, "cqe_64b"));
  EXPECT_TRUE(has_flag(j, "memory_window"));
  EXPECT_FALSE(has_flag(j, "counters"));
  for (const char* part :
       {"15b3:1007", "GUIDs", "port 2", "16777216 QPs", "2147483648 MTTs", "xrc", "issued", "lent"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(report, of_an_older_adapter_differs) {
  const nlohmann::json j = reported(model::variant::connectx2);
  EXPECT_EQ(j["pci_id"], "15b3:673c");
  EXPECT_EQ(j["capabilities"]["limits"]["multicast_groups"], 1u << 13);
  EXPECT_EQ(j["capabilities"]["limits"]["cqe_bytes"], 32);
  EXPECT_FALSE(has_flag(j, "cqe_64b"));
}

}  // namespace
}  // namespace freehca::description
