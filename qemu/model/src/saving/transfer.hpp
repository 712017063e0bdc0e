// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// One function writes and reads all state: transfer(archive, value), where the archive is a writer
// or a reader. A class says what it consists of by its table of fields (fields.hpp), or by a member
// function `template <class Archive> void transfer_state(Archive&)`. A class that has
// `const char* broken_invariant() const` is asked after a load; a text refuses the stream.
//
// Numbers are little-endian. What has no order of its own (unordered_map, unordered_set) is written
// in the order of its keys, so equal states have equal bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <freehca/layouts/layout.hpp>

#include "saving/fields.hpp"
#include "saving/reader.hpp"
#include "saving/writer.hpp"

namespace freehca::model::saving {

template <class Archive, class Value>
void transfer(Archive& archive, Value& value);

namespace detail {

template <template <class...> class Template, class Type>
inline constexpr bool is_a = false;
template <template <class...> class Template, class... Arguments>
inline constexpr bool is_a<Template, Template<Arguments...>> = true;

template <class Type>
inline constexpr bool is_image = false;
template <class Table>
inline constexpr bool is_image<layouts::image<Table>> = true;
template <class Type>
inline constexpr bool is_array = std::is_array_v<Type>;
template <class Element, std::size_t count>
inline constexpr bool is_array<std::array<Element, count>> = true;

template <class Type>
inline constexpr bool is_bitset = false;
template <std::size_t count>
inline constexpr bool is_bitset<std::bitset<count>> = true;

/// Its memory is its stream.
template <class Type>
inline constexpr bool is_array_of_words = false;
template <class Word, std::size_t count>
inline constexpr bool is_array_of_words<std::array<Word, count>> =
    std::endian::native == std::endian::little&& std::is_integral_v<Word> &&
    !std::is_same_v<Word, bool>;

template <class Type>
concept sequence = is_a<std::vector, Type> || is_a<std::deque, Type> || is_a<std::list, Type>;
template <class Type>
concept mapping = is_a<std::map, Type> || is_a<std::unordered_map, Type>;
template <class Type>
concept set = is_a<std::set, Type> || is_a<std::unordered_set, Type>;
template <class Type>
concept owning_pointer = is_a<std::unique_ptr, Type> || is_a<std::shared_ptr, Type>;

template <class Archive, class Number>
void transfer_number(Archive& archive, Number& value) {
  using word = std::make_unsigned_t<Number>;
  std::array<std::uint8_t, sizeof(Number)> bytes{};
  if constexpr (!Archive::loads)
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(static_cast<word>(value) >> 8 * i);
  archive.bytes(bytes.data(), bytes.size());
  if constexpr (Archive::loads) {
    word read = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
      read = static_cast<word>(static_cast<std::uint64_t>(read) << 8 | bytes[i]);
    value = static_cast<Number>(read);
  }
}

template <class Archive>
void transfer_flag(Archive& archive, bool& value) {
  auto byte = static_cast<std::uint8_t>(value);
  archive.bytes(&byte, 1);
  if constexpr (Archive::loads) {
    if (byte > 1) archive.refuse("%u is neither 0 nor 1", byte);
    value = byte == 1;
  }
}

}  // namespace detail

/// Without a look at the value.
template <class Archive, class Enumeration>
void transfer_any_value(Archive& archive, Enumeration& value) {
  auto number = static_cast<std::underlying_type_t<Enumeration>>(value);
  detail::transfer_number(archive, number);
  value = static_cast<Enumeration>(number);
}

template <class Archive, class Enumeration>
void transfer_up_to(Archive& archive, Enumeration& value, Enumeration most) {
  transfer_any_value(archive, value);
  if constexpr (Archive::loads) {
    if (value >= Enumeration{} && value <= most) return;
    archive.refuse("%lld is none of the values 0 to %lld", static_cast<long long>(value),
                   static_cast<long long>(most));
    value = Enumeration{};
  }
}

namespace detail {

/// Eight bits in a byte, the first in the lowest.
template <class Archive, std::size_t count>
void transfer_bits(Archive& archive, std::bitset<count>& value) {
  static_assert(count % 8 == 0);
  for (std::size_t first = 0; first < count; first += 8) {
    std::uint8_t byte = 0;
    if constexpr (!Archive::loads)
      for (unsigned i = 0; i < 8; ++i)
        byte = static_cast<std::uint8_t>(byte | unsigned{value.test(first + i)} << i);
    archive.bytes(&byte, 1);
    if constexpr (Archive::loads)
      for (unsigned i = 0; i < 8; ++i) value.set(first + i, (byte >> i & 1) != 0);
  }
}

/// The number of elements, each of which has a byte at least.
template <class Archive>
std::uint32_t transfer_count(Archive& archive, std::size_t count) {
  auto number = static_cast<std::uint32_t>(count);
  transfer_number(archive, number);
  if constexpr (Archive::loads)
    if (!archive.ok() || !archive.has(number)) return 0;
  return number;
}

template <class Archive, class Sequence>
void transfer_sequence(Archive& archive, Sequence& value) {
  using element = typename Sequence::value_type;
  const std::uint32_t count = transfer_count(archive, value.size());
  if constexpr (Archive::loads) value.clear();
  if constexpr (std::is_same_v<Sequence, std::vector<std::byte>>) {
    if constexpr (Archive::loads) value.resize(count);
    archive.bytes(value.data(), count);
  } else if constexpr (std::is_same_v<Sequence, std::vector<bool>>) {
    if constexpr (Archive::loads) value.resize(count);
    for (std::uint32_t i = 0; i < count && archive.ok(); ++i) {
      bool flag = value[i];
      transfer_flag(archive, flag);
      value[i] = flag;
    }
  } else if constexpr (Archive::loads) {
    for (std::uint32_t i = 0; i < count && archive.ok(); ++i) {
      element next{};
      transfer(archive, next);
      value.push_back(std::move(next));
    }
  } else {
    for (element& one : value) transfer(archive, one);
  }
}

/// The elements in the order of their keys.
template <class Associative>
auto in_order(Associative& value) {
  std::vector<decltype(value.begin())> all;
  all.reserve(value.size());
  for (auto at = value.begin(); at != value.end(); ++at) all.push_back(at);
  if constexpr (mapping<Associative>)
    std::sort(all.begin(), all.end(), [](auto a, auto b) { return a->first < b->first; });
  else std::sort(all.begin(), all.end(), [](auto a, auto b) { return *a < *b; });
  return all;
}

template <class Archive, class Associative>
void transfer_associative(Archive& archive, Associative& value) {
  using key = typename Associative::key_type;
  std::uint32_t count = transfer_count(archive, value.size());
  if constexpr (Archive::loads) {
    value.clear();
    for (; count != 0 && archive.ok(); --count) {
      key k{};
      transfer(archive, k);
      if constexpr (mapping<Associative>) {
        const auto [at, is_new] = value.try_emplace(std::move(k));
        if (is_new) transfer(archive, at->second);
        else archive.refuse("a key comes twice");
      } else if (!value.insert(std::move(k)).second) {
        archive.refuse("an element comes twice");
      }
    }
  } else {
    for (auto at : in_order(value)) {
      if constexpr (mapping<Associative>) {
        key k = at->first;
        transfer(archive, k);
        transfer(archive, at->second);
      } else {
        key k = *at;
        transfer(archive, k);
      }
    }
  }
}

/// A value that may be absent.
template <class Archive, class Optional>
void transfer_optional(Archive& archive, Optional& value) {
  bool present = bool{value};
  transfer_flag(archive, present);
  if constexpr (!Archive::loads) {
    if (present) transfer(archive, const_cast<std::remove_cvref_t<decltype(*value)>&>(*value));
  } else {
    value.reset();
    if (!present || !archive.ok()) return;
    if constexpr (owning_pointer<Optional>) {
      auto made = std::make_unique<std::remove_const_t<typename Optional::element_type>>();
      transfer(archive, *made);
      value = std::move(made);
    } else {
      transfer(archive, value.emplace());
    }
  }
}

/// The object behind a pointer that the constructor has set.
template <class Archive, class Pointer>
void transfer_behind(Archive& archive, Pointer& to) {
  if (to) transfer(archive, *to);
}

template <class Class, class Member>
constexpr auto member_of(Member Class::*row) {
  return row;
}
template <class Row>
constexpr auto member_of(Row row) {
  return row.member;
}

template <auto row, class Archive, class Class>
void transfer_row(Archive& archive, Class& of) {
  using kind = std::remove_const_t<decltype(row)>;
  constexpr auto member = member_of(row);
  if constexpr (is_a<since_row, kind>)
    if (archive.version() < row.version) return;
  if constexpr (is_a<outside_digest_row, kind>)
    if (archive.for_digest()) return;
  archive.enter(name_of_member<member>);
  if constexpr (is_a<up_to_row, kind>) transfer_up_to(archive, of.*member, row.greatest);
  else if constexpr (is_a<any_value_row, kind>) transfer_any_value(archive, of.*member);
  else if constexpr (is_a<behind_row, kind>) transfer_behind(archive, of.*member);
  else transfer(archive, of.*member);
  archive.leave();
}

template <class Archive, class Class, auto... rows>
void transfer_fields(Archive& archive, Class& of, fields<rows...>) {
  (transfer_row<rows>(archive, of), ...);
}

}  // namespace detail

/// The members of the table of a class whose transfer_state() has more to do.
template <class Archive, class Class>
void transfer_members(Archive& archive, Class& of) {
  detail::transfer_fields(archive, of, typename Class::saved{});
}

/// Writes `value`, or reads it.
template <class Archive, class Value>
void transfer(Archive& archive, Value& value) {
  using namespace detail;
  if constexpr (requires { value.transfer_state(archive); }) {
    value.transfer_state(archive);
  } else if constexpr (requires { typename Value::saved; }) {
    transfer_fields(archive, value, typename Value::saved{});
  } else if constexpr (!std::is_null_pointer_v<std::remove_const_t<decltype(fields_of<Value>)>>) {
    transfer_fields(archive, value, fields_of<Value>);
  } else if constexpr (std::is_same_v<Value, bool>) {
    transfer_flag(archive, value);
  } else if constexpr (std::is_same_v<Value, std::byte>) {
    archive.bytes(&value, 1);
  } else if constexpr (std::is_enum_v<Value>) {
    static_assert(!std::is_null_pointer_v<std::remove_const_t<decltype(greatest<Value>)>>,
                  "specialise saving::greatest, or use a row up_to() or any_value()");
    transfer_up_to(archive, value, greatest<Value>);
  } else if constexpr (std::is_integral_v<Value>) {
    transfer_number(archive, value);
  } else if constexpr (is_image<Value>) {
    archive.bytes(value.data(), value.size());
  } else if constexpr (is_array_of_words<Value>) {
    archive.bytes(value.data(), sizeof value);
  } else if constexpr (is_array<Value>) {
    for (auto& element : value) transfer(archive, element);
  } else if constexpr (is_bitset<Value>) {
    transfer_bits(archive, value);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    const std::uint32_t count = transfer_count(archive, value.size());
    if constexpr (Archive::loads) value.resize(count);
    archive.bytes(value.data(), count);
  } else if constexpr (sequence<Value>) {
    transfer_sequence(archive, value);
  } else if constexpr (mapping<Value> || set<Value>) {
    transfer_associative(archive, value);
  } else if constexpr (is_a<std::optional, Value> || owning_pointer<Value>) {
    transfer_optional(archive, value);
  } else if constexpr (is_a<std::pair, Value> || is_a<std::tuple, Value>) {
    std::apply([&archive](auto&... parts) { (transfer(archive, parts), ...); }, value);
  } else {
    static_assert(std::is_void_v<Value>, "the class has no table of fields (saving/fields.hpp)");
  }
  if constexpr (Archive::loads && requires { value.broken_invariant(); }) {
    if (archive.ok())
      if (const char* broken = value.broken_invariant()) archive.refuse("%s", broken);
  }
}

}  // namespace freehca::model::saving
