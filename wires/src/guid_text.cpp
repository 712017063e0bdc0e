// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires/guid_text.hpp>

#include <charconv>

namespace freehca::wires {

std::optional<std::uint64_t> guid_of(const std::string& text) {
  constexpr std::size_t length = 16;
  constexpr int base = 16;
  std::string digits;
  for (const char c : text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text)
    if (c != ':' || digits.size() % 2 != 0 || digits.empty()) digits += c;
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value, base);
  if (digits.size() != length || read.ec != std::errc{} || read.ptr != end || value == 0)
    return std::nullopt;
  return value;
}

}  // namespace freehca::wires
