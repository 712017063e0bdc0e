// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// libFuzzer's entry; and with FREEHCA_REPLAY a program that does each file of a folder once.
#include "conversation.hpp"

#ifndef FREEHCA_REPLAY
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  freehca::fuzz::converse({data, bytes});
  return 0;
}
#else
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main(int argc, char** argv) {
  unsigned inputs = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      std::printf("%s\n", entry.path().filename().c_str());
      std::fflush(stdout);
      freehca::fuzz::converse({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      ++inputs;
    }
  std::printf("%u inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
#endif
