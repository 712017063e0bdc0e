// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Functions that every scenario of barriers uses to observe the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/store_buffer.hpp"

namespace freehca::queues {

inline std::string at_wqe(std::uint32_t n, const char* what) {
  return "WQE " + std::to_string(n) + ": " + what;
}
/// Whether the two views have the same bytes at `host`.
inline bool same(const testing::store_buffer::view& a, const testing::store_buffer::view& b,
                 const std::byte* host, std::size_t bytes) {
  return std::memcmp(a.at(host), b.at(host), bytes) == 0;
}
inline std::byte* bytes_of(std::vector<std::uint64_t>& words) {
  return reinterpret_cast<std::byte*>(words.data());
}

/// Runs `one` once for each choice of the moments at which its loads are satisfied. Returns the
/// first complaint, or an empty string. Adds the barriers that the driver passed to `sites`.
inline std::string explore(const testing::load_explorer::scenario& one, const testing::trial& which,
                           testing::barrier_sites& sites) {
  testing::load_explorer explorer;
  std::string wrong = explorer.explore(one, which);
  sites.merge(testing::barrier_sites(explorer.sites()));
  return wrong;
}

}  // namespace freehca::queues
