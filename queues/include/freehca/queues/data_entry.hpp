// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

namespace freehca::queues {

/// A piece of registered memory. `address` is an address of the region. `length` is in bytes, at
/// most most_data_bytes. An entry of length 0 is allowed and has no data segment.
struct data_entry {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t lkey = 0;
};

/// A data entry whose length and key are in the byte order of the ring (big-endian).
struct data_entry_in_ring {
  std::uint64_t address = 0;
  std::uint64_t length_and_key = 0;
  std::uint32_t length = 0;
  constexpr data_entry_in_ring(const data_entry& d)
      : address(d.address), length_and_key(in_ring(d)), length(d.length) {}

 private:
  // The two members follow each other in data_entry as their rows do in the segment. One load and
  // one swap therefore convert both on a little-endian host.
  static constexpr std::uint64_t in_ring(const data_entry& d) {
    using segment = layouts::wqe_data;
    static_assert(segment{}.byte_count.offset + 4 == segment{}.lkey.offset);
    if constexpr (std::endian::native == std::endian::little)
      return std::rotl(layouts::swap_be(d.length | std::uint64_t{d.lkey} << 32), 32);
    else
      return layouts::in_word<&segment::byte_count>(d.length) |
             layouts::in_word<&segment::lkey>(d.lkey);
  }
};

/// The most bytes of one entry: the byte count of a data segment has 31 bits.
inline constexpr std::uint32_t most_data_bytes = 0x7fffffff;

/// Makes an entry from a length of any width. A length above most_data_bytes is not truncated.
/// Every post refuses such an entry with driver_error::bad_argument.
constexpr data_entry entry_of(std::uint64_t address, std::uint64_t length, std::uint32_t lkey) {
  constexpr std::uint32_t refused = ~std::uint32_t{0};
  return {address, length <= most_data_bytes ? static_cast<std::uint32_t>(length) : refused, lkey};
}

/// A list of data entries. Sends and writes gather from the entries. Reads scatter to them.
struct data_list {
  const data_entry* first = nullptr;
  std::uint32_t count = 0;
};

/// Data that the post copies into the WQE.
struct inline_data {
  const std::byte* from = nullptr;
  std::uint32_t length = 0;
};

}  // namespace freehca::queues
