// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Runs inputs that were found before (inputs.hpp): a test without a fuzzer.
#include <cstdio>
#include <cstdlib>

#include "inputs.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER|CORPUS...\n", argv[0]);
    return EXIT_FAILURE;
  }
  const auto inputs = freehca::fuzz::read_inputs(argc - 1, argv + 1);
  for (const auto& input : inputs) {
    std::printf("%s\n", input.name.c_str());
    std::fflush(stdout);
    freehca::fuzz::run(input.data(), input.size());
  }
  freehca::fuzz::print_reach();
  std::printf("%zu inputs\n", inputs.size());
  return EXIT_SUCCESS;
}
