// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The layout engine. A hardware structure is a struct that holds nothing but rows, one per
// documented field, in the notation of the hardware's tables: byte offset of a big-endian word,
// high bit, low bit, name. `image<T>` is the T::bytes bytes of such a structure in device order,
// and its only accessors take a pointer to a row, so a field of another table does not compile.
// Overlapping fields, fields out of range and misaligned words are refused at compile time;
// unclaimed bits are the reserved bits.
//
//   struct eqc {
//     static constexpr std::size_t bytes = 0x40;
//     bits         log_size {0x0c, 28, 24, "log_size"};
//     as<eq_state> state    {0x00, 11,  8, "state"};
//     addr         mtt_base {0x18, 39,  3, "mtt_base"};   // hi > 31: a 64-bit word at 0x18
//     raw<16>      gid      {0x20, "gid"};                // a string of bytes, in wire order
//   };
//   image<eqc> context;
//   context.set<&eqc::log_size>(7);
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/layouts/assert.hpp>
#include <freehca/layouts/bit_operations.hpp>

namespace freehca::layouts {

/// One row of a table. `offset` is the byte offset of a big-endian 32-bit word (hi <= 31) or 64-bit
/// word (hi >= 32), a multiple of four; `hi` and `lo` are bit numbers with bit 0 the least
/// significant.
struct bits {
  using value = std::uint64_t;
  static constexpr bool in_place = false;  ///< true: values keep their bit position (addresses)
  std::uint16_t offset;
  std::uint8_t hi, lo;                     ///< a byte string has hi = 0xff and lo = its length
  char name[28]{};

  template <std::size_t Length>
  constexpr bits(unsigned byte_offset, unsigned high, unsigned low, const char (&label)[Length])
      : offset(static_cast<std::uint16_t>(byte_offset)),
        hi(static_cast<std::uint8_t>(high)),
        lo(static_cast<std::uint8_t>(low)) {
    static_assert(Length <= sizeof name, "field name too long");
    for (std::size_t i = 0; i < Length; ++i) name[i] = label[i];
  }

  constexpr bool is_raw() const { return hi == 0xff; }
  constexpr unsigned width() const { return static_cast<unsigned>(hi - lo) + 1; }
  constexpr unsigned size() const { return is_raw() ? lo : hi < 32 ? 4 : 8; }
  constexpr std::uint64_t mask() const { return ~std::uint64_t{0} >> (63 - (hi - lo)); }
};

/// A field whose value is of type V: an enumeration or bool.
template <class V>
struct as : bits {
  using value = V;
  using bits::bits;
};

/// A field that holds an address (or an offset): its value keeps its bit position, so that
/// `{0x18, 39, 3}` takes and gives a byte address whose low three bits are zero.
struct addr : bits {
  static constexpr bool in_place = true;
  using bits::bits;
};

/// A string of N bytes in wire order (a GID, a board identifier), reached by `bytes_of`.
template <unsigned N>
struct raw : bits {
  static_assert(N > 0 && N < 256);
  static constexpr unsigned length = N;
  template <std::size_t Length>
  constexpr raw(unsigned byte_offset, const char (&label)[Length]) : bits(byte_offset, 0xff, N, label) {}
};

static_assert(sizeof(bits) == 32);

/// The rows of table T as data.
template <class T>
struct rows {
  static_assert(sizeof(T) % sizeof(bits) == 0, "a table holds rows only");
  static constexpr std::size_t count = sizeof(T) / sizeof(bits);
  bits row[count];
};
template <class T>
inline constexpr T table_object{};
template <class T>
inline constexpr rows<T> table = std::bit_cast<rows<T>>(table_object<T>);

/// Which bits of each byte the rows of T claim, and whether every row is in range and overlaps
/// none.
template <class T>
struct claims {
  std::uint8_t byte[T::bytes]{};
  bool sound = true;
};
template <class T>
consteval claims<T> claimed() {
  claims<T> c;
  for (const bits& b : table<T>.row) {
    if (b.is_raw()) {
      if (b.offset + b.lo > T::bytes) {
        c.sound = false;
        continue;
      }
      for (unsigned i = 0; i < b.lo; ++i) {
        if (c.byte[b.offset + i] != 0) c.sound = false;
        c.byte[b.offset + i] = 0xff;
      }
      continue;
    }
    if (b.lo > b.hi || b.hi > 63 || b.offset % 4 != 0 || b.offset + b.size() > T::bytes) {
      c.sound = false;
      continue;
    }
    for (unsigned i = b.lo; i <= b.hi; ++i) {
      std::uint8_t& at = c.byte[b.offset + b.size() - 1 - i / 8];
      const auto bit = static_cast<std::uint8_t>(1u << i % 8);
      if ((at & bit) != 0) c.sound = false;
      at = static_cast<std::uint8_t>(at | bit);
    }
  }
  return c;
}

template <class T>
inline constexpr claims<T> claims_of = claimed<T>();

/// Loads a big-endian word. The loop form serves constant evaluation only: g++ 12 does not turn it
/// into one load, hence the builtin.
template <class W>
[[gnu::always_inline]] constexpr W load_be(const std::byte* p) {
  W w = 0;
  if (std::is_constant_evaluated()) {
    for (unsigned i = 0; i < sizeof w; ++i) w = static_cast<W>(w << 8 | static_cast<W>(p[i]));
  } else {
    __builtin_memcpy(&w, p, sizeof w);
    w = swap_be(w);
  }
  return w;
}
template <class W>
[[gnu::always_inline]] constexpr void store_be(std::byte* p, W w) {
  if (std::is_constant_evaluated()) {
    for (unsigned i = sizeof w; i-- > 0; w = static_cast<W>(w >> 8)) p[i] = static_cast<std::byte>(w & 0xff);
  } else {
    w = swap_be(w);
    __builtin_memcpy(p, &w, sizeof w);
  }
}

namespace detail {
template <class F, class T>
F field_of(F T::*);
template <class F, class T>
T table_of(F T::*);
}  // namespace detail

/// The row of field M. A table is made once, not for each use of each of its fields: that would
/// take most of the time of a build.
template <auto M>
inline constexpr bits row_of = table_object<decltype(detail::table_of(M))>.*M;
template <auto M>
using word_of = std::conditional_t<row_of<M>.size() == 8, std::uint64_t, std::uint32_t>;

/// The T::bytes bytes of one structure, in device order. Trivially copyable; every constructor
/// zeroes.
template <class T>
class image {
  static_assert(claims_of<T>.sound, "layout: a field is out of range or overlaps another");

  template <auto M>
  using field = decltype(detail::field_of(M));

  alignas(8) std::byte raw_[T::bytes]{};

 public:
  using layout = T;
  static constexpr std::size_t bytes = T::bytes;

  /// The row of field M, which is one of T's.
  template <auto M>
  static constexpr const bits& own_row() {
    static_assert(std::is_base_of_v<decltype(detail::table_of(M)), T>,
                  "layout: this field is of another table");
    return row_of<M>;
  }

  /// The value of field M.
  template <auto M>
  [[gnu::always_inline]] constexpr auto get() const {
    return value_in<M>(raw_);
  }

  /// The value of field M of a structure whose T::bytes bytes in device order begin at `from`.
  template <auto M>
  [[gnu::always_inline]] static constexpr auto value_in(const std::byte* from) {
    constexpr const bits& b = own_row<M>();
    static_assert(!b.is_raw(), "layout: a byte string is read by bytes_of");
    const std::uint64_t v = load_be<word_of<M>>(from + b.offset) >> b.lo & b.mask();
    return static_cast<typename field<M>::value>(v << (field<M>::in_place ? b.lo : 0));
  }

  /// Sets field M and leaves all others as they are. A value that does not fit is a broken
  /// precondition.
  template <auto M>
  [[gnu::always_inline]] constexpr image& set(typename field<M>::value v) {
    constexpr const bits& b = own_row<M>();
    static_assert(!b.is_raw(), "layout: a byte string is written by set_bytes");
    const std::uint64_t f = static_cast<std::uint64_t>(v) >> (field<M>::in_place ? b.lo : 0);
    FREEHCA_LAYOUT_ASSERT(f <= b.mask());
    std::byte* p = raw_ + b.offset;
    store_be<word_of<M>>(p, static_cast<word_of<M>>((load_be<word_of<M>>(p) & ~(b.mask() << b.lo)) | (f & b.mask()) << b.lo));
    return *this;
  }

  /// The first byte of byte string M (field<M>::length bytes).
  template <auto M>
  constexpr const std::byte* bytes_of() const {
    constexpr const bits& b = own_row<M>();
    static_assert(b.is_raw(), "layout: this field is not a byte string");
    return raw_ + b.offset;
  }
  template <auto M>
  constexpr image& set_bytes(const std::byte* from) {
    constexpr const bits& b = own_row<M>();
    static_assert(b.is_raw(), "layout: this field is not a byte string");
    if (std::is_constant_evaluated())
      for (unsigned i = 0; i < b.lo; ++i) raw_[b.offset + i] = from[i];
    else __builtin_memcpy(raw_ + b.offset, from, b.lo);
    return *this;
  }

  constexpr std::byte* data() { return raw_; }
  constexpr const std::byte* data() const { return raw_; }
  static constexpr std::size_t size() { return T::bytes; }

  /// Copies T::bytes bytes in device order from `from`.
  static constexpr image from_bytes(const std::byte* from) {
    image i;
    if (std::is_constant_evaluated())
      for (std::size_t n = 0; n < T::bytes; ++n) i.raw_[n] = from[n];
    else __builtin_memcpy(i.raw_, from, T::bytes);
    return i;
  }

  /// Calls out(row, value) for each field in table order; for a byte string value is 0.
  template <class Sink>
  constexpr void dump(Sink&& out) const {
    for (const bits& b : table<T>.row) {
      std::uint64_t v = 0;
      if (!b.is_raw())
        v = (b.size() == 8 ? load_be<std::uint64_t>(raw_ + b.offset) : load_be<std::uint32_t>(raw_ + b.offset)) >>
                b.lo & b.mask();
      out(b, v);
    }
  }

  /// The bits that no row claims: all zero?
  constexpr bool reserved_clear() const { return first_reserved_set() == T::bytes; }

  /// Byte offset of the first byte with a reserved bit set; T::bytes when there is none.
  constexpr std::size_t first_reserved_set() const {
    constexpr const claims<T>& c = claims_of<T>;
    for (std::size_t i = 0; i < T::bytes; ++i)
      if ((static_cast<unsigned>(raw_[i]) & ~unsigned{c.byte[i]} & 0xff) != 0) return i;
    return T::bytes;
  }

  friend constexpr bool operator==(const image& a, const image& b) {
    for (std::size_t i = 0; i < T::bytes; ++i)
      if (a.raw_[i] != b.raw_[i]) return false;
    return true;
  }
};

}  // namespace freehca::layouts
