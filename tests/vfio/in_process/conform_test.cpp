// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// hcactl conform on the modelled adapter: what it prints, and the file.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <conform.hpp>

#include <freehca/model/command_fault.hpp>

#include "session_rig.hpp"

namespace freehca::hcactl {
namespace {

using layouts::opcode;
using loopback_traffic::impatient_host;
using vfio_host::trouble;

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class conform : public ::testing::Test {
 protected:
  ~conform() override { std::remove(file.c_str()); }

  int run_it(bool json = false) {
    conformance::heard_events heard;
    loopback_traffic::traffic_memory traffic;
    blocking::session s(host, usual_size());
    workplace at{.driver = s,
                 .memory = traffic,
                 .address = "0000:03:00.0",
                 .json = json,
                 .wanted_back = {},
                 .events = heard.events(),
                 .verdict = {}};
    at.verdict = [](status outcome, const char* doing) {
      return vfio_host::failure{trouble::firmware_silent,
                                std::string(doing) + ": " + blocking::words(outcome)};
    };
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code =
        run(at, false, with_adapter([&](workplace& w) {
              return run_conformance(
                  w, heard, {.yes = true, .port = port, .file = file, .keep_identity = keep});
            }));
    error = ::testing::internal::GetCapturedStderr();
    out = ::testing::internal::GetCapturedStdout();
    return code;
  }
  void refuse(opcode bad) {
    host.machine.adapter().judge_commands([bad](opcode o, std::uint32_t) {
      if (o != bad) return model::command_verdict{};
      return model::command_verdict{model::command_verdict::fate::refuse,
                                    layouts::command_status::internal_error};
    });
  }
  /// Lines of rows, as they stand in tests/conformance/rows.txt.
  std::string rows() const {
    std::string all;
    for (std::size_t at = 0, end; at < out.size(); at = end + 1) {
      end = out.find('\n', at);
      const std::string line = out.substr(at, end - at);
      if (line.find('/') < line.find(' ')) all += line + "\n";
    }
    return all;
  }

  impatient_host host;
  unsigned port = 1;
  bool keep = false;
  // Tests run beside each other, each in a process of its own.
  std::string file =
      ::testing::TempDir() + "freehca_conform." + std::to_string(::getpid()) + ".json";
  std::string out, error;
};

TEST_F(conform, prints_the_rows_that_everybody_prints) {
  EXPECT_EQ(run_it(), 0) << error;
  EXPECT_EQ(rows(), text_of(CONFORMANCE_ROWS));
  EXPECT_NE(out.find(" 0 differ, "), std::string::npos) << out;
}

TEST_F(conform, writes_a_file_of_all_rows) {
  EXPECT_EQ(run_it(true), 0) << error;
  const auto j = nlohmann::json::parse(text_of(file));
  EXPECT_EQ(j, nlohmann::json::parse(out)) << "the same document";
  EXPECT_TRUE(j["conformance"]["ok"]);
  EXPECT_EQ(j["conformance"]["rows"].size(), conformance::count_rows());
  EXPECT_TRUE(j["adapter"].contains("capabilities"));
}

TEST_F(conform, leaves_guids_out_unless_it_is_asked_for_them) {
  EXPECT_EQ(run_it(), 0) << error;
  EXPECT_NE(out.find("GUIDs      node left out, system image left out\n"), std::string::npos);
  EXPECT_NE(out.find(", GUID left out, LID "), std::string::npos);
  auto adapter = nlohmann::json::parse(text_of(file))["adapter"];
  EXPECT_FALSE(adapter.contains("node_guid") || adapter.contains("system_image_guid"));
  ASSERT_FALSE(adapter["ports"].empty());
  for (const auto& p : adapter["ports"]) EXPECT_FALSE(p.contains("guid"));

  keep = true;
  EXPECT_EQ(run_it(), 0) << error;
  EXPECT_EQ(out.find("left out"), std::string::npos);
  adapter = nlohmann::json::parse(text_of(file))["adapter"];
  EXPECT_TRUE(adapter.contains("node_guid") && adapter.contains("system_image_guid"));
  for (const auto& p : adapter["ports"]) {
    const std::string guid = p["guid"];
    EXPECT_NE(out.find(guid), std::string::npos) << guid;
  }
}

TEST_F(conform, says_when_something_was_not_given_back) {
  refuse(opcode::hw2sw_cq);
  EXPECT_NE(run_it(true), 0);
  const auto j = nlohmann::json::parse(text_of(file))["conformance"];
  EXPECT_TRUE(j["left_behind"]);
  EXPECT_NE(j["ended"].get<std::string>().find("internal error"), std::string::npos) << j["ended"];
  EXPECT_NE(error.find("taking back what the last row made"), std::string::npos) << error;
  EXPECT_EQ(host.machine.dma_blocks(), 0u);
}

TEST_F(conform, has_a_code_for_an_adapter_that_differs_and_still_tells_all) {
  refuse(opcode::hw_health_check);
  EXPECT_EQ(run_it(true), static_cast<int>(trouble::unlike_others));
  const auto j = nlohmann::json::parse(out);
  EXPECT_EQ(j["code"], 27);
  EXPECT_EQ(j["conformance"]["differ"], 1);
  EXPECT_NE(error.find("queries/hw_health_check: DIFFERS"), std::string::npos) << error;
  EXPECT_FALSE(nlohmann::json::parse(text_of(file))["conformance"]["ok"]);
}

TEST_F(conform, refuses_a_port_that_there_is_not_and_a_file_that_cannot_be) {
  port = 3;
  EXPECT_EQ(run_it(), static_cast<int>(trouble::port_down));
  port = 1;
  file = "/nonexistent/report.json";
  EXPECT_EQ(run_it(), static_cast<int>(trouble::system));
  EXPECT_EQ(rows(), "") << "nothing was done";
}

TEST_F(conform, ends_when_it_is_interrupted_and_gives_the_adapter_back) {
  host.patience = 600;
  EXPECT_EQ(run_it(true), static_cast<int>(trouble::firmware_silent));
  const auto j = nlohmann::json::parse(out);
  EXPECT_NE(j["error"].get<std::string>().find("cancelled"), std::string::npos) << j["error"];
  EXPECT_LT(j["conformance"]["rows"].size(), conformance::count_rows());
  EXPECT_EQ(host.machine.dma_blocks(), 0u);
}

TEST(conform_list, names_every_row_and_how_to_go_on) {
  const std::string text = list_to_text("03:00.0");
  EXPECT_NE(text.find("hcactl conform 03:00.0 --yes"), std::string::npos);
  EXPECT_EQ(list_to_json()["rows"].size(), conformance::count_rows());
  EXPECT_FALSE(list_to_json()["done"]);
  for (const conformance::row_group* group : conformance::all_rows())
    for (unsigned i = 0; i < group->count; ++i)
      EXPECT_NE(text.find(group->at(i).what), std::string::npos) << group->at(i).name;
}

}  // namespace
}  // namespace freehca::hcactl
