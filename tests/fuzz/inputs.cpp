// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "inputs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace freehca::fuzz {

namespace {

constexpr std::string_view head = "freehca corpus 1\n";
constexpr std::size_t length_bytes = 4;

[[noreturn]] void refuse(const std::filesystem::path& path, const char* why) {
  std::fprintf(stderr, "%s: %s\n", path.c_str(), why);
  std::exit(EXIT_FAILURE);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void read_corpus(const std::filesystem::path& path, std::vector<stored_input>& to) {
  const std::string all = content(path);
  std::string_view rest = all;
  if (!rest.starts_with(head)) refuse(path, "is no corpus");
  rest.remove_prefix(head.size());
  for (unsigned number = 0; !rest.empty(); ++number) {
    if (rest.size() < length_bytes) refuse(path, "ends within a length");
    std::size_t length = 0;
    for (unsigned i = 0; i < length_bytes; ++i)
      length = length * 256 + static_cast<unsigned char>(rest[i]);
    rest.remove_prefix(length_bytes);
    if (rest.size() < length) refuse(path, "ends within an input");
    to.push_back({path.filename().string() + "/" + std::to_string(number),
                  std::string(rest.substr(0, length))});
    rest.remove_prefix(length);
  }
}

}  // namespace

std::vector<stored_input> read_inputs(int paths, char** path) {
  std::vector<stored_input> found;
  for (int i = 0; i < paths; ++i) {
    const std::size_t before = found.size();
    if (std::filesystem::is_directory(path[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(path[i]))
        found.push_back({entry.path().filename().string(), content(entry.path())});
      // A folder's order is not the same on every machine.
      std::sort(found.begin() + static_cast<std::ptrdiff_t>(before), found.end(),
                [](const stored_input& a, const stored_input& b) { return a.name < b.name; });
    } else {
      read_corpus(path[i], found);
    }
    if (found.size() == before) refuse(path[i], "has no input");
  }
  return found;
}

}  // namespace freehca::fuzz
