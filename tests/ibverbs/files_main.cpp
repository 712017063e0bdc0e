// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tests of files run with the preloaded object. This program starts itself with it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (std::getenv("FREEHCA_FILES_TEST") == nullptr && !GTEST_FLAG_GET(list_tests)) {
    setenv("FREEHCA_FILES_TEST", "1", 1);
    setenv("LD_PRELOAD", FREEHCA_FILES_PRELOAD, 1);
    // InitGoogleTest() took its own options out of the arguments.
    const std::string filter = "--gtest_filter=" + GTEST_FLAG_GET(filter);
    const std::string output = "--gtest_output=" + GTEST_FLAG_GET(output);
    execl("/proc/self/exe", argv[0], filter.c_str(), output.c_str(), nullptr);
    std::perror("exec");
    return 1;
  }
  return RUN_ALL_TESTS();
}
