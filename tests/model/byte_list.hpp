// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace freehca::model::test {

/// {0x01, 0xff} as bytes.
inline std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> b;
  for (const int v : values) b.push_back(static_cast<std::byte>(v));
  return b;
}

}  // namespace freehca::model::test
