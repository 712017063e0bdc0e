// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// libFuzzer's entry.
#include "run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  freehca::fuzz::run(data, bytes);
  return 0;
}
