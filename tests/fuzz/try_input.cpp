// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// libFuzzer's entry; with FREEHCA_REPLAY a program that runs each input that was found before.
#include "try_input.hpp"

#ifndef FREEHCA_REPLAY
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  freehca::fuzz::try_input({data, bytes});
  return 0;
}
#else
#include <cstdio>

#include "inputs.hpp"

int main(int argc, char** argv) {
  const auto inputs = freehca::fuzz::read_inputs(argc - 1, argv + 1);
  for (const auto& input : inputs) {
    std::printf("%s\n", input.name.c_str());
    std::fflush(stdout);
    freehca::fuzz::try_input({input.data(), input.size()});
  }
  std::printf("%zu inputs\n", inputs.size());
  return inputs.empty() ? 1 : 0;
}
#endif
