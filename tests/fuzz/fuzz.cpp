// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// libFuzzer's entry.
#include <csignal>
#include <cstdlib>

#include "kept_targets.hpp"

// A failed expectation of GoogleTest's is a breakpoint, which libFuzzer does not wait for: it would
// leave no input behind.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  std::signal(SIGTRAP, [](int) { std::abort(); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  // Never destroyed: nothing is to be found in how a program ends.
  static auto& kept = *new freehca::fuzz::kept_targets;
  kept.run(data, bytes);
  return 0;
}
