// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/handle.hpp>

namespace freehca {

/// A protection domain is a number: no command makes it.
struct protection_domain {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t index = 0;
  std::uint32_t generation = 1;
  std::uint32_t next_free = none;
  std::uint32_t number = none;
  std::uint32_t users = 0;
};
static_assert(sizeof(protection_domain) == 20);

}  // namespace freehca
