// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the in-process machine tells about its adapter.
#include "device_rig.hpp"

namespace freehca {
namespace {

using testing::device_rig;

TEST(in_process_machine, counts_what_the_adapter_reads_and_writes) {
  device_rig rig;
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  std::uint64_t writes = 0;
  rig.machine.on_adapter_write = [&writes](std::uint64_t, std::size_t) { ++writes; };
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  EXPECT_GT(writes, 0u);
  EXPECT_EQ(rig.machine.adapter_writes(), writes);
  EXPECT_GT(rig.machine.adapter_reads(), 0u);
  EXPECT_TRUE(rig.tear_down().ok()) << rig.failure();
}

}  // namespace
}  // namespace freehca
