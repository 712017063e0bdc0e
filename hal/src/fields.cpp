// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/fields.hpp>

namespace freehca {

status detail::copy_fields(const field_row* row, std::uint32_t count, std::byte* members,
                           std::byte* image, refused_attribute* note) {
  for (; count != 0; --count, ++row) {
    std::byte* const at = image + 4u * row->word;
    std::uint64_t word =
        row->hi < 32 ? layouts::load_be<std::uint32_t>(at) : layouts::load_be<std::uint64_t>(at);
    const std::uint64_t mask = row->mask();
    std::uint64_t value = 0;
    auto* first = reinterpret_cast<std::byte*>(&value);
    if constexpr (std::endian::native == std::endian::big)
      first += sizeof value - row->member_bytes();
    if (note == nullptr) {
      value = row->in_place ? word & mask : (word & mask) >> row->lo;
      if (row->is_power) value = std::uint64_t{1} << value;
      __builtin_memcpy(members + row->member, first, row->member_bytes());
      continue;
    }
    __builtin_memcpy(first, members + row->member, row->member_bytes());
    const std::uint64_t placed = row->in_place ? value : value << row->lo;
    if ((placed & ~mask) != 0) return note->refuse(row->name, value, mask >> row->lo);
    word = placed | (word & ~mask);
    if (row->hi < 32) layouts::store_be(at, static_cast<std::uint32_t>(word));
    else layouts::store_be(at, word);
  }
  return {};
}

}  // namespace freehca
