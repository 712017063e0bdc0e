// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/fields.hpp>

namespace freehca {

status detail::copy_fields(const field_row* row, std::uint32_t count, std::byte* members,
                           std::byte* image, refused_attribute* note) {
  for (; count != 0; --count, ++row) {
    std::byte* const at = image + 4u * row->word;
    std::byte* const member = members + row->member;
    const bool wide = row->hi >= 32;
    const std::uint64_t word =
        wide ? layouts::load_be<std::uint64_t>(at) : layouts::load_be<std::uint32_t>(at);
    const std::uint64_t mask = row->mask();
    // Most members have one byte. A memcpy() of a size that is not constant is longer, and slower.
    const unsigned bytes = row->member_bytes(), shift = row->in_place ? 0 : row->lo;
    const unsigned order = std::endian::native == std::endian::big ? bytes - 1 : 0;
    std::uint64_t value = 0;
    if (note == nullptr) {
      value = (word & mask) >> shift;
      if (row->is_power) value = std::uint64_t{1} << value;
      for (unsigned i = 0; i < bytes; ++i, value >>= 8) member[i ^ order] = std::byte(value);
      continue;
    }
    for (unsigned i = bytes; i-- != 0;)
      value = value << 8 | std::to_integer<std::uint8_t>(member[i ^ order]);
    const std::uint64_t placed = value << shift;
    if ((placed & ~mask) != 0) return note->refuse(row->name, value, mask >> row->lo);
    const std::uint64_t after = placed | (word & ~mask);
    if (wide) layouts::store_be(at, after);
    else layouts::store_be(at, static_cast<std::uint32_t>(after));
  }
  return {};
}

}  // namespace freehca
