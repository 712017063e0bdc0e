// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/attributes.hpp>

namespace freehca {

namespace {

// Returns the reason for which the entry is refused.
driver_error take(const attribute& a, const attribute_row& row, std::byte* to) {
  const std::uint32_t bytes = row.bytes();
  if (a.bytes != bytes) return driver_error::wrong_size;
  const auto* value = reinterpret_cast<const std::byte*>(&a.value);
  if (bytes > attribute::most_bytes_in_place)
    value = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(a.value));
  else if constexpr (std::endian::native == std::endian::big) value += sizeof a.value - bytes;
  // The first value that is too large. 0: all values have the type.
  const std::uint64_t end = (row.size & attribute_row::is_boolean) != 0 ? 2
                            : bytes < sizeof a.value ? std::uint64_t{1} << 8 * bytes
                                                     : 0;
  if (value == nullptr || (end != 0 && a.value >= end)) return driver_error::bad_argument;
  __builtin_memcpy(to + row.offset, value, bytes);
  return {};
}

}  // namespace

status read_attributes(const attribute_list& from, const attribute_row* known, std::uint32_t rows,
                       std::byte* to) {
  if (from.first == nullptr && from.count != 0) return driver_error::bad_argument;
  std::uint64_t seen = 0;  // one bit for each row
  for (std::uint64_t i = 0; i < from.count; ++i) {
    const attribute& a = from.first[i];
    std::uint32_t n = 0;
    while (n < rows && known[n].identifier != a.identifier) ++n;
    // An unknown flag may change the meaning of the entry.
    const bool is_known = n < rows && (a.flags & ~attribute::mandatory) == 0;
    if (!is_known && (a.flags & attribute::mandatory) == 0) continue;
    const driver_error wrong = !is_known              ? driver_error::unknown_attribute
                               : (seen >> n & 1) != 0 ? driver_error::repeated_attribute
                                                      : take(a, known[n], to);
    if (wrong != driver_error{}) return status(wrong, a.identifier);
    seen |= std::uint64_t{1} << n;
  }
  for (std::uint32_t n = 0; n < rows; ++n)
    if ((known[n].size & attribute_row::is_required) != 0 && (seen >> n & 1) == 0)
      return status(driver_error::missing_attribute, known[n].identifier);
  return {};
}

}  // namespace freehca
