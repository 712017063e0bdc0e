// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// hcactl's commands on the modelled adapter: with --json there is one document on standard output,
// however it went.
#include <optional>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <work.hpp>

#include <freehca/model/command_fault.hpp>

#include "session_rig.hpp"

namespace freehca::hcactl {
namespace {

using layouts::opcode;
using loopback_traffic::impatient_host;
using vfio_host::trouble;

constexpr int refused = static_cast<int>(trouble::firmware_error);

struct command {
  const char* name;
  bool take_over;
  work what;
  const char* member;  // of the document when the work succeeds
  friend std::ostream& operator<<(std::ostream& to, const command& c) { return to << c.name; }
};

struct answer {
  int code = -1;
  std::string out, error;
};

// The firmware refuses `bad`.
answer carry_out(const command& c, bool json, std::optional<opcode> bad) {
  impatient_host host;
  if (bad)
    host.machine.adapter().judge_commands([bad](opcode o, std::uint32_t) {
      if (o != *bad) return model::command_verdict{};
      return model::command_verdict{model::command_verdict::fate::refuse,
                                    layouts::command_status::internal_error};
    });
  loopback_traffic::traffic_memory traffic;
  blocking::session s(host, usual_size());
  workplace at{.driver = s,
               .memory = traffic,
               .address = "0000:03:00.0",
               .json = json,
               .wanted_back = {},
               .verdict = {}};
  at.verdict = [](status outcome, const char* doing) {
    return vfio_host::failure{trouble::firmware_error,
                              std::string(doing) + ": " + blocking::words(outcome)};
  };
  answer a;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  a.code = run(at, c.take_over, c.what);
  a.error = ::testing::internal::GetCapturedStderr();
  a.out = ::testing::internal::GetCapturedStdout();
  return a;
}

// Refuses what follows the document, so that a second one is found.
nlohmann::json the_only_document(const std::string& text) {
  const auto j = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(j.is_discarded()) << text;
  return j.is_discarded() ? nlohmann::json::object() : j;
}

class one_document : public ::testing::TestWithParam<command> {};
// Commands that ask the firmware something: a reset does not, nor does the teardown after it.
class one_document_of_firmware : public one_document {};

TEST_P(one_document, when_all_is_well) {
  const answer a = carry_out(GetParam(), true, {});
  EXPECT_EQ(a.code, 0) << a.error;
  const auto j = the_only_document(a.out);
  EXPECT_TRUE(j.contains(GetParam().member)) << j;
  EXPECT_FALSE(j.contains("error")) << j;
  EXPECT_EQ(a.error, "");
}

TEST_P(one_document_of_firmware, when_only_teardown_fails) {
  const answer a = carry_out(GetParam(), true, opcode::close_hca);
  EXPECT_EQ(a.code, refused);
  const auto j = the_only_document(a.out);
  EXPECT_TRUE(j.contains(GetParam().member)) << "what was found out is told all the same: " << j;
  EXPECT_EQ(j.value("code", 0), refused);
  EXPECT_EQ(j.value("error", "").rfind("teardown", 0), 0u) << j;
  EXPECT_NE(a.error.find("hcactl: teardown"), std::string::npos) << a.error;
}

TEST_P(one_document_of_firmware, when_bring_up_fails) {
  const answer a = carry_out(GetParam(), true, opcode::init_hca);
  EXPECT_EQ(a.code, refused);
  const auto j = the_only_document(a.out);
  EXPECT_EQ(j.size(), 2u) << j;
  EXPECT_EQ(j.value("code", 0), refused);
  EXPECT_EQ(j.value("error", "").rfind("bring-up", 0), 0u) << j;
}

TEST_P(one_document, and_none_for_people) {
  const answer a = carry_out(GetParam(), false, {});
  EXPECT_EQ(a.code, 0) << a.error;
  EXPECT_NE(a.out, "");
  EXPECT_TRUE(nlohmann::json::parse(a.out, nullptr, false).is_discarded()) << a.out;
}

findings ping_once(workplace& at) {
  return move_data(at, {.port = 1, .messages = 1});
}
findings inform_usable(workplace& at) {
  return inform(at, {{"usable", true}});
}

const command of_info{"info", false, with_adapter(inform_usable), "adapter"};
const command of_up{"up", false, with_adapter(report_adapter), "capabilities"};
const command of_ping{"ping", false, with_adapter(ping_once), "traffic"};
const command of_reset{"reset", true, reset_adapter, "reset"};

const auto name_of_command = [](const auto& of) { return std::string(of.param.name); };
INSTANTIATE_TEST_SUITE_P(of, one_document, ::testing::Values(of_info, of_up, of_ping, of_reset),
                         name_of_command);
INSTANTIATE_TEST_SUITE_P(of, one_document_of_firmware, ::testing::Values(of_info, of_up, of_ping),
                         name_of_command);

TEST(one_document_of_ping, when_traffic_fails) {
  const answer a = carry_out(of_ping, true, opcode::rtr2rts_qp);
  EXPECT_EQ(a.code, refused);
  EXPECT_EQ(the_only_document(a.out).value("error", "").rfind("traffic", 0), 0u) << a.out;
}

}  // namespace
}  // namespace freehca::hcactl
