// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca {

/// Returns the text with this number, counted from 0, of `count` texts that follow each other.
/// Returns `otherwise` if there is none.
const char* text_at(const char* first, unsigned count, unsigned number, const char* otherwise);

/// Texts one behind the other, each with its final zero. A table of pointers would need 8 bytes
/// more for each text.
struct text_row {
  const char* first;
  unsigned count = 0;

  template <std::size_t Bytes>
  constexpr text_row(const char (&texts)[Bytes]) : first(texts) {
    for (const char c : texts) count += c == '\0' ? 1 : 0;
  }
  const char* at(unsigned number, const char* otherwise) const {
    return text_at(first, count, number, otherwise);
  }
};

}  // namespace freehca
