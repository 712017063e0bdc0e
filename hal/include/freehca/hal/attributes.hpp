// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Lists of typed attributes: how a caller tells a library what it wants, when one of them is older
// than the other. For calls that are made once for an object; nothing of it moves data.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <freehca/hal/status.hpp>

namespace freehca {

/// One attribute, as it goes from caller to library: 16 bytes, whatever the versions of both.
/// Identifiers from 0x8000 on are for kinds of objects outside of this library.
struct alignas(8) attribute {
  /// A library that does not know the identifier, or another flag of the entry, refuses the list.
  /// Without this flag it passes over the entry.
  static constexpr std::uint16_t mandatory = 1;
  static constexpr std::uint32_t most_bytes_in_place = 8;

  std::uint16_t identifier = 0;
  std::uint16_t flags = 0;  ///< `mandatory`; the other bits are 0
  std::uint32_t bytes = 0;  ///< of the value
  /// A value of 1, 2, 4 or 8 bytes, zero-extended; of a larger one its address. What the address
  /// points to is the caller's, and stays as it is until the call returns.
  std::uint64_t value = 0;
};
static_assert(sizeof(attribute) == 16 && alignof(attribute) == 8);
static_assert(std::is_standard_layout_v<attribute> && std::is_trivially_copyable_v<attribute>);
static_assert(offsetof(attribute, identifier) == 0 && offsetof(attribute, flags) == 2 &&
              offsetof(attribute, bytes) == 4 && offsetof(attribute, value) == 8);

/// The same attribute, which a library that does not know it may pass over.
constexpr attribute optional(attribute a) {
  a.flags = static_cast<std::uint16_t>(a.flags & ~attribute::mandatory);
  return a;
}

namespace detail {
template <std::size_t Bytes>
using unsigned_of = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;
}  // namespace detail

/// What may be the value of an attribute.
template <class T>
concept attribute_value = std::is_trivially_copyable_v<T> &&
    (sizeof(T) > attribute::most_bytes_in_place || sizeof(T) == 1 || sizeof(T) == 2 ||
     sizeof(T) == 4 || sizeof(T) == 8);

/// An identifier and the type of its value, as one constant: `sends(64)` is an entry of a list, and
/// mandatory; `optional(sends(64))` may be passed over. An identifier means the same, and has the
/// same type, for ever.
template <std::uint16_t Identifier, attribute_value T>
struct attribute_name {
  static constexpr std::uint16_t identifier = Identifier;
  using type = T;
  static constexpr bool in_place = sizeof(T) <= attribute::most_bytes_in_place;

  constexpr attribute operator()(const T& value) const {
    attribute a{Identifier, attribute::mandatory, sizeof(T), 0};
    if constexpr (!in_place) a.value = reinterpret_cast<std::uintptr_t>(&value);
    else if constexpr (std::is_pointer_v<T>) a.value = reinterpret_cast<std::uintptr_t>(value);
    else a.value = std::bit_cast<detail::unsigned_of<sizeof(T)>>(value);
    return a;
  }
  /// The entry would point to what is gone.
  attribute operator()(const T&& value) const
      requires(sizeof(T) > attribute::most_bytes_in_place) = delete;
};

/// Entries in any order. Owns nothing: the entries are the caller's, who keeps them until the call
/// returns that the list is given to. Made from braces it is good in that call alone.
struct attribute_list {
  const attribute* first = nullptr;
  std::uint64_t count = 0;

  constexpr attribute_list() = default;
  constexpr attribute_list(const attribute* entries, std::uint64_t number)
      : first(entries), count(number) {}
  template <std::size_t N>
  constexpr attribute_list(const attribute (&entries)[N]) : first(entries), count(N) {}
  constexpr attribute_list(std::initializer_list<attribute> entries)
      : attribute_list(entries.begin(), entries.size()) {}
};
static_assert(sizeof(void*) != 8 || sizeof(attribute_list) == 16);
static_assert(std::is_standard_layout_v<attribute_list> &&
              std::is_trivially_copyable_v<attribute_list>);

/// Where the value of a known attribute goes in a struct of the library's own.
struct attribute_row {
  static constexpr std::uint16_t is_required = 1;
  static constexpr std::uint16_t is_boolean = 2;  ///< the value is 0 or 1

  std::uint16_t identifier = 0;
  std::uint16_t bytes = 0;
  std::uint16_t offset = 0;
  std::uint16_t flags = 0;
};
static_assert(sizeof(attribute_row) == 8);

/// The same row, without which a list is refused.
consteval attribute_row required(attribute_row row) {
  row.flags |= attribute_row::is_required;
  return row;
}

namespace detail {
/// Not constexpr: a table that calls it does not compile.
void bad_attribute_table();

template <class Member, std::uint16_t Identifier, class T>
consteval attribute_row attribute_row_for(attribute_name<Identifier, T>, std::size_t offset) {
  static_assert(std::is_same_v<Member, T>, "the attribute has another type than the member");
  static_assert(sizeof(T) <= 0xffff);
  if (offset > 0xffff) bad_attribute_table();
  attribute_row row{Identifier, sizeof(T), static_cast<std::uint16_t>(offset), 0};
  if constexpr (std::is_same_v<T, bool>) row.flags = attribute_row::is_boolean;
  return row;
}
}  // namespace detail

// The row of an attribute_table<type> that puts the attribute `name` into `member`.
#define FREEHCA_ATTRIBUTE(type, member, name) \
  ::freehca::detail::attribute_row_for<decltype(type::member)>(name, offsetof(type, member))

/// What a library knows of the attributes of one struct S: a row for each, made by attributes_of().
template <class S, std::size_t N>
struct attribute_table {
  attribute_row rows[N];

  /// The rows of this table, and those of a struct that stands in S at `offset`.
  template <class Inner, std::size_t K>
  consteval attribute_table<S, N + K> with(std::size_t offset,
                                           const attribute_table<Inner, K>& inner) const;
};

/// Refuses to compile a table in which an identifier stands twice.
template <class S, std::size_t N>
consteval attribute_table<S, N> attributes_of(const attribute_row (&rows)[N]) {
  static_assert(N <= 64 && std::is_trivially_copyable_v<S>);
  attribute_table<S, N> known{};
  for (std::size_t i = 0; i < N; ++i) {
    known.rows[i] = rows[i];
    if (std::size_t{rows[i].offset} + rows[i].bytes > sizeof(S)) detail::bad_attribute_table();
    for (std::size_t k = 0; k < i; ++k)
      if (rows[k].identifier == rows[i].identifier) detail::bad_attribute_table();
  }
  return known;
}

template <class S, std::size_t N>
template <class Inner, std::size_t K>
consteval attribute_table<S, N + K> attribute_table<S, N>::with(
    std::size_t offset, const attribute_table<Inner, K>& inner) const {
  attribute_row all[N + K];
  for (std::size_t i = 0; i < N; ++i) all[i] = rows[i];
  for (std::size_t i = 0; i < K; ++i) {
    all[N + i] = inner.rows[i];
    all[N + i].offset = static_cast<std::uint16_t>(all[N + i].offset + offset);
  }
  return attributes_of<S>(all);
}

/// read() for whoever has no table at compile time: at most 64 rows; `to` is the struct.
status read_attributes(const attribute_list& from, const attribute_row* known, std::uint32_t rows,
                       std::byte* to);

/// Reads a list into a struct that this library laid out and shares with nobody; members whose
/// attributes are not in the list keep what they had. Each error but the first names the identifier
/// in `where`, and leaves `to` of no use: driver_error::bad_argument with `where` 0 (there is no
/// array behind the count), ::bad_argument (a value larger than its type, a truth value besides 0
/// and 1, no address of a large value), ::unknown_attribute, ::repeated_attribute, ::wrong_size,
/// ::missing_attribute. Entries are judged in the order of the list. It may be called by any
/// thread.
template <class S, std::size_t N>
status read(const attribute_list& from, const attribute_table<S, N>& known, S& to) {
  return read_attributes(from, known.rows, N, static_cast<std::byte*>(static_cast<void*>(&to)));
}

}  // namespace freehca
