// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "device_rig.hpp"

namespace freehca::testing {

/// A device that is open, tried with function level reset and with the reset through the register.
/// Commands time out soon: virtual time costs polls.
class either_reset : public ::testing::TestWithParam<bool> {
 protected:
  either_reset() : rig(options()) {}
  static in_process::machine_options options() {
    in_process::machine_options how;
    how.function_level_reset = GetParam();
    return how;
  }
  void SetUp() override {
    rig.setup.port_wait = clock::milliseconds(50);
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    for (const patience p : {patience::probe, patience::ordinary, patience::lengthy})
      rig.adapter.commands().set_limit(p, clock::milliseconds(20));
  }
  void TearDown() override {
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << rig.complaints();
    rig.adapter.close();
  }
  device_rig rig;
};

inline std::string kind_of_reset(const ::testing::TestParamInfo<bool>& of) {
  return of.param ? "by_function_level_reset" : "through_the_register";
}

}  // namespace freehca::testing
