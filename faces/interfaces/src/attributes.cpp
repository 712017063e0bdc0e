// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/attributes.hpp>

namespace freehca {

namespace {

status take(const attribute& from, const attribute_row& row, std::byte* to) {
  const status bad(driver_error::bad_argument, row.identifier);
  if (row.bytes > attribute::most_bytes_in_place) {
    const auto* const value =
        reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(from.value));
    if (value == nullptr) return bad;
    __builtin_memcpy(to, value, row.bytes);
    return {};
  }
  if (row.bytes < sizeof from.value && from.value >> (8u * row.bytes) != 0) return bad;
  if ((row.flags & attribute_row::is_boolean) != 0 && from.value > 1) return bad;
  const auto* value = reinterpret_cast<const std::byte*>(&from.value);
  if constexpr (std::endian::native == std::endian::big) value += sizeof from.value - row.bytes;
  __builtin_memcpy(to, value, row.bytes);
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
    if (n == rows || (a.flags & ~attribute::mandatory) != 0) {
      if ((a.flags & attribute::mandatory) == 0) continue;
      return status(driver_error::unknown_attribute, a.identifier);
    }
    if ((seen >> n & 1) != 0) return status(driver_error::repeated_attribute, a.identifier);
    seen |= std::uint64_t{1} << n;
    if (a.bytes != known[n].bytes) return status(driver_error::wrong_size, a.identifier);
    FREEHCA_TRY(take(a, known[n], to + known[n].offset));
  }
  for (std::uint32_t n = 0; n < rows; ++n)
    if ((known[n].flags & attribute_row::is_required) != 0 && (seen >> n & 1) == 0)
      return status(driver_error::missing_attribute, known[n].identifier);
  return {};
}

}  // namespace freehca
