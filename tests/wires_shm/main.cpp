// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include <cstring>

#include "helper_process.hpp"

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "--helper") == 0)
    return freehca::wires::run_helper({words + 2, words + count});
  testing::InitGoogleTest(&count, words);
  return RUN_ALL_TESTS();
}
