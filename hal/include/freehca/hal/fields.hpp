// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Tables that copy between plain structs and structures of the hardware. A row of a table pairs a
// member with a field. One loop reads the rows, for both directions. A field costs 6 bytes, and no
// code of its own.
//
//   constexpr auto rows = fields_of<port_info>(FREEHCA_FIELD(link, lid, &port_info::lid),
//                                              FREEHCA_FIELD(link, mtu, &port_info::neighbor_mtu));
//   load(rows, answer, to);
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/status.hpp>
#include <freehca/layouts/layout.hpp>

namespace freehca {

/// An attribute that a caller passes to the driver. The driver defines the values.
enum class attribute_id : std::uint8_t;

/// The attribute that was refused last with driver_error::bad_argument, and the limit that its
/// value is above or below. If value and limit are equal, the value is not possible at all.
struct refused_attribute {
  attribute_id what{};
  std::uint64_t value = 0, limit = 0;

  /// Returns driver_error::bad_argument. Not inline: every check would repeat the code.
  [[gnu::noinline]] status refuse(attribute_id attribute, std::uint64_t its_value,
                                  std::uint64_t its_limit) {
    *this = {attribute, its_value, its_limit};
    return driver_error::bad_argument;
  }
  /// Refuses values above `most`, and values below `least`.
  status check(attribute_id attribute, std::uint64_t its_value, std::uint64_t most,
               std::uint64_t least = 0) {
    if (its_value < least) return refuse(attribute, its_value, least);
    return its_value > most ? refuse(attribute, its_value, most) : status();
  }
};
static_assert(sizeof(refused_attribute) == 24);

/// A member and its field, as the loops read them. Values of addresses have the same bits in member
/// and word (`in_place`). Of a member that is 2 to the power of its field, the field is the
/// logarithm (`is_power`).
struct field_row {
  std::uint16_t member;  ///< offset in the struct
  std::uint8_t word;     ///< offset of the field's word in the structure, in units of 4 bytes
  attribute_id name;     ///< 0: no attribute
  std::uint8_t hi : 6, in_place : 1, is_power : 1;
  std::uint8_t lo : 6, log_member_bytes : 2;

  constexpr unsigned member_bytes() const { return 1u << log_member_bytes; }
  constexpr std::uint64_t mask() const { return ~std::uint64_t{0} >> (63u - hi + lo) << lo; }
};
static_assert(sizeof(field_row) == 6);

struct power_of_2 {};

namespace detail {

template <class S, class Table, bool IsPower>
struct typed_field_row : field_row {};
template <class S, class L, bool HasPowers, std::uint32_t N>
struct field_table {
  field_row rows[N];
};

template <class S, class Member, std::size_t Offset, auto Field, auto How>
consteval auto field_row_for() {
  using field = decltype(layouts::detail::field_of(Field));
  constexpr layouts::bits b = layouts::row_of<Field>;
  constexpr bool is_power = std::is_class_v<decltype(How)>;
  static_assert(!b.is_raw() && (std::is_unsigned_v<Member> || std::is_enum_v<Member>));
  // The member holds every value of the field.
  constexpr unsigned needed = is_power ? 1u << b.width() : field::in_place ? b.hi + 1u : b.width();
  static_assert(needed <= (std::is_same_v<Member, bool> ? 1 : 8 * sizeof(Member)));
  // A value that does not fit loses no bit at the place of the field.
  static_assert(field::in_place || is_power || sizeof(Member) < 8 || b.lo == 0);
  attribute_id name{};
  if constexpr (!is_power) name = How;
  return typed_field_row<S, decltype(layouts::detail::table_of(Field)), is_power>{
      {Offset, b.offset / 4, name, b.hi, field::in_place, is_power, b.lo,
       std::countr_zero(sizeof(Member))}};
}

/// Copies the fields to the members if `note` is null. Otherwise copies the members to the fields,
/// up to a member whose value its field cannot hold.
status copy_fields(const field_row* row, std::uint32_t count, std::byte* members, std::byte* image,
                   refused_attribute* note);

}  // namespace detail

// A row: `member` of `type` has the value of `field`.
#define FREEHCA_FIELD(type, member, field) \
  FREEHCA_FIELD_AS(type, member, field, ::freehca::attribute_id{})
// `how` is the identifier of an attribute, or power_of_2{}. Such a row is for load() only.
#define FREEHCA_FIELD_AS(type, member, field, how)                                              \
  ::freehca::detail::field_row_for<type, decltype(type::member), offsetof(type, member), field, \
                                   how>()

/// Makes a table of rows. Does not compile if rows have members of several structs or a field of
/// another structure than L.
template <class L, class S, class... Table, bool... IsPower>
consteval auto fields_of(detail::typed_field_row<S, Table, IsPower>... rows) {
  static_assert(layouts::claims_of<L>.sound && (std::is_base_of_v<Table, L> && ...));
  return detail::field_table<S, L, (IsPower || ...), sizeof...(rows)>{{rows...}};
}

/// Copies `count` fields of the structure at `from` to the members of the struct at `to`.
inline void load_fields(const field_row* rows, std::uint32_t count, const std::byte* from,
                        void* to) {
  static_cast<void>(detail::copy_fields(rows, count, static_cast<std::byte*>(to),
                                        const_cast<std::byte*>(from), nullptr));
}

/// Copies the fields to the members. The other members keep their values.
template <class S, class L, bool HasPowers, std::uint32_t N>
void load(const detail::field_table<S, L, HasPowers, N>& table, const layouts::image<L>& from,
          S& to) {
  load_fields(table.rows, N, from.data(), &to);
}

/// Copies the members of `count` rows to the fields. Refuses a member whose value its field cannot
/// hold. The fields of the rows behind it then keep their values.
template <class S, class L, std::uint32_t N>
status store(const detail::field_table<S, L, false, N>& table, const S& from, layouts::image<L>& to,
             refused_attribute& note, std::uint32_t first = 0, std::uint32_t count = N) {
  return detail::copy_fields(table.rows + first, count,
                             reinterpret_cast<std::byte*>(const_cast<S*>(&from)), to.data(), &note);
}

}  // namespace freehca
