// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// SIGINT in the middle of anything, as far as the process sees it: whenever the program sleeps. The
// adapter is left so that the next one can use it.
#include "session_rig.hpp"

namespace freehca::loopback_traffic {
namespace {

class interruption_sweep : public ::testing::TestWithParam<bool> {
 protected:
  // Interrupts at the n-th sleep; then everything works. True: the interruption did end something.
  static bool interrupt_at(impatient_host& host, std::uint64_t n) {
    SCOPED_TRACE(n);
    host.patience = n;
    const round interrupted = run_round(host);
    host.patience = impatient_host::never;
    const round after = run_round(host);
    EXPECT_TRUE(after.all_well()) << words(after.bring_up) << ", " << after.traffic.wrong;
    return !interrupted.all_well();
  }
};

TEST_P(interruption_sweep, of_bring_up) {
  impatient_host host(GetParam());
  const round whole = run_round(host);
  ASSERT_TRUE(whole.all_well());
  for (std::uint64_t n = 0; n < whole.sleeps_of_bring_up && !HasFailure(); ++n)
    EXPECT_TRUE(interrupt_at(host, n)) << n;
}

TEST_P(interruption_sweep, of_traffic_and_teardown) {
  impatient_host host(GetParam());
  const round whole = run_round(host);
  ASSERT_TRUE(whole.all_well());
  std::uint64_t ended = 0;
  for (std::uint64_t n = whole.sleeps_of_bring_up; n < whole.sleeps && !HasFailure(); ++n)
    if (interrupt_at(host, n)) ++ended;
  // What gives everything back is not interrupted, and traffic is.
  EXPECT_GT(ended, 0u);
  EXPECT_LT(ended, whole.sleeps - whole.sleeps_of_bring_up);
}

// The interruption ends the traffic and not what gives its objects back: no reset is needed.
TEST_P(interruption_sweep, of_traffic_needs_no_reset) {
  impatient_host host(GetParam());
  const round whole = run_round(host);
  ASSERT_TRUE(whole.all_well());
  host.patience_for_one_kind = true;
  const round interrupted = run_round(host);
  EXPECT_TRUE(interrupted.bring_up.ok());
  EXPECT_EQ(interrupted.traffic.tallies.size(), 1u);
  EXPECT_TRUE(interrupted.traffic.outcome.is(driver_error::cancelled))
      << words(interrupted.traffic.outcome);
  EXPECT_EQ(interrupted.resets, whole.resets);
}

INSTANTIATE_TEST_SUITE_P(function_level_reset, interruption_sweep, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "on" : "off"; });

}  // namespace
}  // namespace freehca::loopback_traffic
