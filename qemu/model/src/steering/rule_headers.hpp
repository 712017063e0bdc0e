// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the headers of a steering rule have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <freehca/layouts/flow_rule.hpp>

namespace freehca::model {

/// The headers of a rule that were not looked at yet.
struct rule_headers {
  const std::byte* at;
  std::size_t left;

  /// What the next one says that it is; nothing: there is none.
  std::optional<layouts::flow_header_id> next() const {
    using h = layouts::flow_header;
    if (left < h::bytes) return std::nullopt;
    return layouts::image<h>::from_bytes(at).get<&h::id>();
  }

  /// Takes header T off the front; nothing when it is not whole, or says another size of itself.
  template <class T>
  std::optional<layouts::image<T>> take() {
    if (left < T::bytes) return std::nullopt;
    const auto h = layouts::image<T>::from_bytes(at);
    if (h.template get<&T::words>() * 4 != T::bytes || !h.reserved_clear()) return std::nullopt;
    at += T::bytes;
    left -= T::bytes;
    return h;
  }
};

/// Is a field as wanted, in the bits of the mask?
constexpr bool fits(std::uint64_t field, std::uint64_t wanted, std::uint64_t mask) {
  return ((field ^ wanted) & mask) == 0;
}

}  // namespace freehca::model
