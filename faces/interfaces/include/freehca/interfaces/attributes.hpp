// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lists of typed attributes, by which a caller passes its requests to a library when one of the two
// may be older than the other. They are for calls that are made once for an object, not for calls
// that move data.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <freehca/hal/status.hpp>

namespace freehca {

/// One attribute, as it goes from caller to library: 16 bytes in all versions of both. Identifiers
/// from 0x8000 on are for kinds of objects outside of this library.
struct alignas(8) attribute {
  /// If this flag is set and the library does not know the identifier or another flag of the entry,
  /// it refuses the list. If this flag is not set, the library skips such an entry.
  static constexpr std::uint16_t mandatory = 1;
  static constexpr std::uint32_t most_bytes_in_place = 8;

  std::uint16_t identifier = 0;
  std::uint16_t flags = 0;  ///< `mandatory`; the other bits are 0
  std::uint32_t bytes = 0;  ///< of the value
  /// A value of 1, 2, 4 or 8 bytes, zero-extended, or the address of a larger value. The caller
  /// owns the larger value and does not change it until the call returns.
  std::uint64_t value = 0;
};
static_assert(sizeof(attribute) == 16 && alignof(attribute) == 8);
static_assert(std::is_standard_layout_v<attribute> && std::is_trivially_copyable_v<attribute>);
static_assert(offsetof(attribute, flags) == 2 && offsetof(attribute, bytes) == 4);

/// Returns the same attribute without the flag `mandatory`: a library that does not know it skips
/// it.
constexpr attribute optional(attribute a) {
  a.flags = static_cast<std::uint16_t>(a.flags & ~attribute::mandatory);
  return a;
}

/// The types that the value of an attribute can have.
template <class T>
concept attribute_value = std::is_trivially_copyable_v<T> &&
    (sizeof(T) > attribute::most_bytes_in_place || std::has_single_bit(sizeof(T)));

/// An identifier and the type of its value, as one constant. `sends(64)` is a mandatory entry of a
/// list. `optional(sends(64))` is an entry that a library may skip. The meaning and the type of an
/// identifier never change.
template <attribute_value T>
struct attribute_name {
  std::uint16_t identifier;

  constexpr attribute operator()(const T& value) const {
    attribute a{identifier, attribute::mandatory, sizeof(T), 0};
    if constexpr (sizeof(T) > attribute::most_bytes_in_place)
      a.value = reinterpret_cast<std::uintptr_t>(&value);
    else if constexpr (std::is_pointer_v<T>) a.value = reinterpret_cast<std::uintptr_t>(value);
    else if constexpr (sizeof(T) == 1) a.value = std::bit_cast<std::uint8_t>(value);
    else if constexpr (sizeof(T) == 2) a.value = std::bit_cast<std::uint16_t>(value);
    else if constexpr (sizeof(T) == 4) a.value = std::bit_cast<std::uint32_t>(value);
    else a.value = std::bit_cast<std::uint64_t>(value);
    return a;
  }
  /// Deleted: the entry could outlive the temporary whose address it holds.
  attribute operator()(const T&& value) const
      requires(sizeof(T) > attribute::most_bytes_in_place) = delete;
};

/// Entries in any order. An attribute_list owns nothing. The caller owns the entries and keeps them
/// until the call to which it passes the list returns. A list made from braces is valid only in the
/// call to which it is passed.
struct attribute_list {
  const attribute* first = nullptr;
  std::uint64_t count = 0;

  constexpr attribute_list() = default;
  constexpr attribute_list(const attribute* entries, std::uint64_t number)
      : first(entries), count(number) {}
  template <std::size_t N>
  constexpr attribute_list(const attribute (&entries)[N]) : attribute_list(entries, N) {}
  constexpr attribute_list(std::initializer_list<attribute> entries)
      : attribute_list(entries.begin(), entries.size()) {}
};
static_assert((sizeof(void*) != 8 || sizeof(attribute_list) == 16) &&
              std::is_standard_layout_v<attribute_list> &&
              std::is_trivially_copyable_v<attribute_list>);

/// The place of the value of a known attribute in a struct of the library.
struct attribute_row {
  // Added to `size`.
  static constexpr std::uint8_t is_required = 0x40;  ///< a list without the attribute is refused
  static constexpr std::uint8_t is_boolean = 0x80;   ///< the value is 0 or 1
  static constexpr std::uint8_t most_bytes = 0x3f;

  std::uint16_t identifier = 0;
  std::uint8_t size = 0;  ///< of the value, in bytes
  std::uint8_t offset = 0;

  constexpr std::uint32_t bytes() const { return size & most_bytes; }
};
static_assert(sizeof(attribute_row) == 4);

/// Returns the same row as a required one.
consteval attribute_row required(attribute_row row) {
  row.size |= attribute_row::is_required;
  return row;
}

namespace detail {
/// Not constexpr, so a table that calls this function does not compile.
void bad_attribute_table();

template <class Member, class T>
consteval attribute_row attribute_row_for(attribute_name<T> name, std::size_t offset) {
  static_assert(std::is_same_v<Member, T>, "the attribute has another type than the member");
  static_assert(sizeof(T) <= attribute_row::most_bytes);
  if (offset > 0xff) bad_attribute_table();
  const unsigned flags = std::is_same_v<T, bool> ? attribute_row::is_boolean : 0;
  return {name.identifier, static_cast<std::uint8_t>(sizeof(T) | flags),
          static_cast<std::uint8_t>(offset)};
}
}  // namespace detail

// The row of an attribute_table<type> that puts the attribute `name` into `member`.
#define FREEHCA_ATTRIBUTE(type, member, name) \
  ::freehca::detail::attribute_row_for<decltype(type::member)>(name, offsetof(type, member))

/// The attributes of one struct S that a library knows: one row each. Rows with the same identifier
/// and values beyond the end of S do not compile.
template <class S, std::size_t N>
struct attribute_table {
  static_assert(N <= 64 && std::is_trivially_copyable_v<S>);
  attribute_row rows[N];

  consteval attribute_table() = default;
  /// The `K` rows of `first`, and then those of the table of a struct that is a member of S at
  /// `offset`.
  template <std::size_t K>
  consteval attribute_table(const attribute_row (&first)[K], const attribute_row* inner = nullptr,
                            std::size_t offset = 0) {
    for (std::size_t i = 0; i < N; ++i) {
      rows[i] = i < K ? first[i] : inner[i - K];
      const std::size_t at = rows[i].offset + (i < K ? 0 : offset);
      if (at > 0xff || at + rows[i].bytes() > sizeof(S)) detail::bad_attribute_table();
      rows[i].offset = static_cast<std::uint8_t>(at);
      for (std::size_t k = 0; k < i; ++k)
        if (rows[k].identifier == rows[i].identifier) detail::bad_attribute_table();
    }
  }
  /// Returns the rows of this table and the rows of `inner`. `inner` is the table of a struct that
  /// is a member of S at `offset`.
  template <class Inner, std::size_t K>
  consteval attribute_table<S, N + K> with(std::size_t offset,
                                           const attribute_table<Inner, K>& inner) const {
    return {rows, inner.rows, offset};
  }
};

/// Makes a table of rows.
template <class S, std::size_t N>
consteval attribute_table<S, N> attributes_of(const attribute_row (&rows)[N]) {
  return {rows};
}

/// read() for a caller without a table at compile time. There are at most 64 rows. `to` is the
/// struct.
status read_attributes(const attribute_list& from, const attribute_row* known, std::uint32_t rows,
                       std::byte* to);

/// Reads a list into a struct that is private to this library. A member whose attribute is not in
/// the list keeps its value. The entries are checked in the order of the list. Any thread may call
/// this function.
///
/// If the list has a count but no array, the error is driver_error::bad_argument with `where` 0.
/// Every other error has the identifier in `where` and leaves `to` in an undefined state:
/// driver_error::bad_argument (a value larger than its type, a boolean other than 0 and 1, a null
/// address of a large value), ::unknown_attribute, ::repeated_attribute, ::wrong_size,
/// ::missing_attribute.
template <class S, std::size_t N>
status read(const attribute_list& from, const attribute_table<S, N>& known, S& to) {
  return read_attributes(from, known.rows, N, reinterpret_cast<std::byte*>(&to));
}

}  // namespace freehca
