// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What `hcactl record` tells when the run fails, the file cannot be written, or both.
#include <recording/outcome.hpp>

#include <gtest/gtest.h>

namespace freehca::hcactl {
namespace {

using vfio_host::failure;
using vfio_host::trouble;

TEST(driver_outcome, a_run_and_a_file_that_fail_are_both_told) {
  const failure run{trouble::wrong_data, "wrong data"}, file{trouble::system, "no room"};
  EXPECT_FALSE(run_and_file({}, {}));
  EXPECT_EQ(run_and_file(run, {})->message, "wrong data");
  EXPECT_EQ(run_and_file({}, file)->message, "no room");
  EXPECT_EQ(run_and_file({}, file)->kind, trouble::system);
  EXPECT_EQ(run_and_file(run, file)->message, "wrong data; moreover no room");
  EXPECT_EQ(run_and_file(run, file)->kind, trouble::wrong_data);
}

}  // namespace
}  // namespace freehca::hcactl
