// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::queues {

/// One piece of registered memory: `address` as the region counts addresses, `length` in bytes, at
/// most 2^31 - 1. An entry of length 0 is allowed and names nothing.
struct data_entry {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

/// An entry with the word of its length and key as the ring has it in memory.
struct data_entry_in_ring {
  std::uint64_t address = 0;
  std::uint64_t length_and_key = 0;
  std::uint32_t length = 0;
  constexpr data_entry_in_ring(const data_entry& d)
      : address(d.address),
        length_and_key(layouts::swap_be(layouts::in_word<&layouts::wqe_data::byte_count>(d.length) |
                                        layouts::in_word<&layouts::wqe_data::lkey>(d.lkey))),
        length(d.length) {}
};

/// Bytes that one entry can name at most: the byte count of a data segment has 31 bits.
inline constexpr std::uint32_t most_data_bytes = 0x7fffffff;

/// An entry for a length of any width. One of more than most_data_bytes is not cut: it makes an
/// entry that every post refuses with driver_error::bad_argument.
constexpr data_entry entry_of(std::uint64_t address, std::uint64_t length, std::uint32_t lkey) {
  constexpr std::uint32_t refused = ~std::uint32_t{0};
  return {address, length <= most_data_bytes ? static_cast<std::uint32_t>(length) : refused, lkey};
}

/// A list of entries: gathered by what sends, scattered to by what reads.
struct data_list {
  const data_entry* first = nullptr;
  std::uint32_t count = 0;
};

/// Data that are copied into the work request.
struct inline_data {
  const std::byte* from = nullptr;
  std::uint32_t length = 0;
};

}  // namespace freehca::queues
