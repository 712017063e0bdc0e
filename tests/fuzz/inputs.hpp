// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Inputs that were found before, for programs that run them without a fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace freehca::fuzz {

struct stored_input {
  std::string name, bytes;

  const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
  std::size_t size() const { return bytes.size(); }
};

/// The inputs of each path, by name: a folder with one file for each, or a corpus in one file
/// (dev.d/fuzz_pack.py), whose inputs are called by their number. Ends the program if a path is
/// missing, empty or damaged: a replay of nothing is no test.
std::vector<stored_input> read_inputs(int paths, char** path);

}  // namespace freehca::fuzz
