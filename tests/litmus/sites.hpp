// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The accesses of the headers that ship, each by its place in the text.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

namespace freehca::litmus {

struct site {
  std::string_view file;  // without its folder; empty: no access of the headers
  std::uint32_t line = 0, column = 0;

  friend bool operator==(const site&, const site&) = default;
};

inline site site_of(const std::source_location& at) {
  std::string_view file = at.file_name();
  file.remove_prefix(file.rfind('/') + 1);
  // An access of a scenario itself is not what is tested.
  if (file == "scenarios.hpp") return {};
  return {file, at.line(), at.column()};
}

inline const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
    default:
      return "consume";
  }
}

}  // namespace freehca::litmus
