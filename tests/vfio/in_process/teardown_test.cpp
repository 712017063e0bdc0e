// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Firmware that does not take objects back: a reset ends them, and only then does the driver forget
// them.
#include <ostream>
#include <tuple>

#include <freehca/model/command_fault.hpp>

#include "session_rig.hpp"

namespace freehca::loopback_traffic {
namespace {

using layouts::opcode;
using fate = model::command_verdict::fate;

struct refusal {
  const char* name;
  opcode code;
  fate what;
  friend std::ostream& operator<<(std::ostream& to, const refusal& r) { return to << r.name; }
};

class stubborn_firmware : public ::testing::TestWithParam<std::tuple<refusal, bool>> {};

TEST_P(stubborn_firmware, is_reset_and_nothing_is_left) {
  const auto& [refused, function_level_reset] = GetParam();
  impatient_host host(function_level_reset);
  const round whole = run_round(host);
  ASSERT_TRUE(whole.all_well());
  unsigned times = 0;
  const opcode code = refused.code;
  const fate what = refused.what;
  const round r = run_round(host, [&] {
    host.machine.adapter().judge_commands([&times, code, what](opcode c, std::uint32_t) {
      if (c != code) return model::command_verdict{};
      ++times;
      return model::command_verdict{what, layouts::command_status::internal_error};
    });
  });
  host.machine.adapter().judge_commands({});
  EXPECT_EQ(times, 1u) << "what the firmware refused once is not asked of it again";
  EXPECT_FALSE(r.traffic.outcome.ok());
  EXPECT_TRUE(r.traffic.wrong.empty());
  EXPECT_EQ(r.resets, whole.resets + 1);
  const round after = run_round(host);
  EXPECT_TRUE(after.all_well()) << words(after.bring_up);
}

INSTANTIATE_TEST_SUITE_P(
    of, stubborn_firmware,
    ::testing::Combine(::testing::Values(refusal{"qp_refused", opcode::to_rst_qp, fate::refuse},
                                         refusal{"qp_silent", opcode::to_rst_qp, fate::lose_answer},
                                         refusal{"cq_refused", opcode::hw2sw_cq, fate::refuse},
                                         refusal{"cq_silent", opcode::hw2sw_cq, fate::lose_answer},
                                         refusal{"region_refused", opcode::hw2sw_mpt, fate::refuse},
                                         refusal{"region_silent", opcode::hw2sw_mpt,
                                                 fate::lose_answer}),
                       ::testing::Bool()),
    [](const auto& of) {
      return std::string(std::get<0>(of.param).name) + (std::get<1>(of.param) ? "_flr" : "_no_flr");
    });

TEST(a_pulled_adapter, leaves_nothing) {
  impatient_host host;
  const auto pull = [&host] { host.machine.remove(); };
  const round r = run_round(host, pull);
  EXPECT_TRUE(r.bring_up.ok());
  EXPECT_FALSE(r.traffic.outcome.ok());
}

}  // namespace
}  // namespace freehca::loopback_traffic
