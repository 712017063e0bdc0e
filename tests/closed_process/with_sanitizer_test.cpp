// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A closed process that the address sanitizer ends.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "in_child.hpp"

namespace freehca::closed_process::test {
namespace {

// Reads behind the end of an allocation.
int read_too_far() {
  const std::vector<char> few(8);
  const volatile std::size_t end = few.size();
  return few[end];
}

TEST(sanitized_builds, a_report_has_the_names_of_functions) {
  const folder files;
  const std::string log = files.path("log");
  const end ended = run_in_child([&] {
    if (std::freopen(log.c_str(), "w", stderr) == nullptr) return 100;
    if (close_process(mode::required, {}).failed) return not_closed;
    return read_too_far();
  });
  EXPECT_EQ(end{.code = 1}, ended);
  std::ifstream file(log);
  const std::string said{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(std::string::npos, said.find("heap-buffer-overflow")) << said;
  EXPECT_NE(std::string::npos, said.find("read_too_far")) << said;
}

}  // namespace
}  // namespace freehca::closed_process::test
