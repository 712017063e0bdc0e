// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tables of docs/model.md, as tests read them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace freehca::model::test {

/// The cells of each row of the table under "## `section`".
inline std::vector<std::vector<std::string>> rows_on_the_page(std::string_view section) {
  constexpr std::string_view heading = "## ", begin = "| ", between = " | ";
  std::vector<std::vector<std::string>> rows;
  std::ifstream page(FREEHCA_MODEL_PAGE);
  bool inside = false, head = true;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(heading)) inside = line.substr(heading.size()) == section;
    if (!inside || !line.starts_with(begin) || line.starts_with("| ---")) continue;
    if (head) {
      head = false;
      continue;
    }
    std::vector<std::string>& cells = rows.emplace_back();
    for (std::size_t at = begin.size(); at < line.size();) {
      const std::size_t end = std::min(line.find(between, at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = end + between.size();
    }
  }
  EXPECT_FALSE(rows.empty()) << section;
  return rows;
}

/// The number in a cell, "0x" before it.
inline std::uint16_t code_in(const std::string& cell) {
  std::uint16_t code = 0;
  EXPECT_TRUE(cell.starts_with("0x")) << cell;
  const char* end = cell.data() + cell.size();
  const auto [stopped, error] = std::from_chars(cell.data() + 2, end, code, 16);
  EXPECT_TRUE(error == std::errc{} && stopped == end) << cell;
  return code;
}

}  // namespace freehca::model::test
