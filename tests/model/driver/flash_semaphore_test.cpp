// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The semaphore of the flash, which a reset through the register takes: held by a tool, or by one
// that died.
#include <freehca/layouts/register_map.hpp>

#include "device_rig.hpp"

namespace freehca {
namespace {

using testing::device_rig;

class flash_semaphore : public ::testing::Test {
 protected:
  void SetUp() override {
    rig.setup.port_wait = 0;
    // The read takes it.
    ASSERT_EQ(rig.machine.mmio_read_32(0, layouts::bar0::flash_semaphore), 0u);
  }
  void TearDown() override {
    EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
    rig.adapter.close();
  }
  device_rig rig{{.model = {}, .function_level_reset = false, .record = {}}};
};

TEST_F(flash_semaphore, a_device_whose_flash_is_in_use_is_busy) {
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  const status s = rig.bring_up();
  EXPECT_TRUE(s.is(driver_error::busy)) << rig.failure();
  EXPECT_EQ(rig.adapter.failure().step, bring_up_step::reset);
}

TEST_F(flash_semaphore, that_is_given_back_in_time_was_worth_waiting_for) {
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  operation up;
  rig.adapter.bring_up(up);
  rig.run_for(clock::seconds(5));
  EXPECT_FALSE(up.done());
  EXPECT_EQ(rig.machine.counter("software_resets"), 0u);
  rig.machine.mmio_write(0, layouts::bar0::flash_semaphore, 0, 4);
  EXPECT_TRUE(rig.await(up).ok()) << rig.failure();
  EXPECT_EQ(rig.machine.counter("software_resets"), 1u);
}

TEST_F(flash_semaphore, whoever_takes_the_device_over_resets_it_all_the_same) {
  rig.setup.take_over = true;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  EXPECT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_EQ(rig.adapter.info().resets, 1u);
}

}  // namespace
}  // namespace freehca
