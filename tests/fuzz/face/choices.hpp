// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "../input.hpp"

namespace freehca::fuzz {

/// A length, a count or a limit: often small, or near a border.
std::uint32_t amount(input& from);
/// Any number of 64 bits: small, near a border, a power of two, or made of bytes of the input.
std::uint64_t any_number(input& from);

/// A structure of bytes that follow from the input's next four, for attributes at random.
template <class Structure>
Structure any(input& from) {
  Structure made;
  std::uint32_t state = from.word() | 1;
  auto* const bytes = reinterpret_cast<unsigned char*>(&made);
  for (std::size_t i = 0; i < sizeof made; ++i) {
    state = state * 1664525 + 1013904223;  // a common generator of 32 bits (Numerical Recipes)
    bytes[i] = static_cast<unsigned char>(state >> 24);
  }
  return made;
}

/// An element that the input names. The vector is not empty.
template <class Element>
Element& pick(std::vector<Element>& all, input& from) {
  return all[from.byte() % all.size()];
}

}  // namespace freehca::fuzz
