// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "basis/few.hpp"
#include "saving/fields.hpp"
#include "tables/memory_regions.hpp"

namespace freehca::model {

/// The message of a work request: pieces of host memory under local keys, and bytes that stood in
/// the WQE.
class data_list {
 public:
  void add(std::uint32_t bytes, std::uint32_t lkey, std::uint64_t address);
  void add_inline(const std::byte* from, std::size_t bytes);

  /// Bytes in the whole list.
  std::uint64_t size() const { return size_; }
  /// Does a piece of it stand under that local key?
  bool names(std::uint32_t lkey) const;

  /// Copies bytes [offset, offset + bytes) of the message out of memory, or into it. The range must
  /// lie within size(). Inline bytes cannot be written: bad_permission.
  access_result gather(memory_regions& regions, data_owner owner, std::uint64_t offset,
                       std::byte* to, std::size_t bytes) const;
  access_result scatter(memory_regions& regions, data_owner owner, std::uint64_t offset,
                        const std::byte* from, std::size_t bytes) const;

 private:
  struct segment {
    std::uint32_t bytes, lkey;
    std::uint64_t address;  // inline: where in inline_bytes_
    bool is_inline;

    using saved =
        saving::fields<&segment::bytes, &segment::lkey, &segment::address, &segment::is_inline>;
  };
  template <class Piece>
  access_result for_range(std::uint64_t offset, std::size_t bytes, Piece&& piece) const;

  few<segment, 2> segments_;
  few<std::byte, 64> inline_bytes_;
  std::uint64_t size_ = 0;

 public:
  static constexpr saving::unsaved_member unsaved[] = {
      {"segments_", "transfer_state() saves them"},
      {"inline_bytes_", "transfer_state() saves them"},
      {"size_", "the bytes of all segments"}};
  template <class Archive>
  void transfer_state(Archive& archive) {
    std::vector<segment> segments(segments_.begin(), segments_.end());
    std::vector<std::byte> inline_bytes(inline_bytes_.begin(), inline_bytes_.end());
    transfer(archive, segments);
    transfer(archive, inline_bytes);
    if constexpr (Archive::loads) {
      *this = {};
      segments_.append(segments.data(), segments.size());
      inline_bytes_.append(inline_bytes.data(), inline_bytes.size());
      for (const segment& s : segments) size_ += s.bytes;
    }
  }
  const char* broken_invariant() const;
};

}  // namespace freehca::model
