// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// libFuzzer's entry.
#include "kept_targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  // Never destroyed: nothing is to be found in how a program ends.
  static auto& kept = *new freehca::fuzz::kept_targets;
  kept.run(data, bytes);
  return 0;
}
