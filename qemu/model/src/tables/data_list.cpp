// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tables/data_list.hpp"

#include <algorithm>
#include <cstring>

namespace freehca::model {

namespace {

/// What the longest WQEs hold: a send has 63 units, a receive 2048 bytes.
constexpr std::size_t segments_most = 128, inline_bytes_most = 1024;

}  // namespace

const char* data_list::broken_invariant() const {
  if (segments_.size() > segments_most || inline_bytes_.size() > inline_bytes_most)
    return "no WQE has so many segments or inline bytes";
  const std::size_t held = inline_bytes_.size();
  for (const segment& s : segments_)
    if (s.is_inline && (s.address > held || s.bytes > held - s.address))
      return "an inline segment is within the inline bytes";
  return nullptr;
}

void data_list::add(std::uint32_t bytes, std::uint32_t lkey, std::uint64_t address) {
  if (bytes == 0) return;
  segments_.append({bytes, lkey, address, false});
  size_ += bytes;
}

void data_list::add_inline(const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  segments_.append({static_cast<std::uint32_t>(bytes), 0, inline_bytes_.size(), true});
  inline_bytes_.append(from, bytes);
  size_ += bytes;
}

bool data_list::names(std::uint32_t lkey) const {
  return std::any_of(segments_.begin(), segments_.end(),
                     [lkey](const segment& s) { return !s.is_inline && s.lkey == lkey; });
}

template <class Piece>
access_result data_list::for_range(std::uint64_t offset, std::size_t bytes, Piece&& piece) const {
  std::size_t done = 0;
  for (const segment& s : segments_) {
    if (done == bytes) break;
    if (offset >= s.bytes) {
      offset -= s.bytes;
      continue;
    }
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(s.bytes - offset, bytes - done));
    const access_result r = piece(s, s.address + offset, done, n);
    if (r != access_result::ok) return r;
    done += n;
    offset = 0;
  }
  return done == bytes ? access_result::ok : access_result::out_of_bounds;
}

access_result data_list::gather(memory_regions& regions, data_owner owner, std::uint64_t offset,
                                std::byte* to, std::size_t bytes) const {
  return for_range(offset, bytes,
                   [&](const segment& s, std::uint64_t address, std::size_t at, std::size_t n) {
                     if (s.is_inline) {
                       std::memcpy(to + at, inline_bytes_.data() + address, n);
                       return access_result::ok;
                     }
                     return regions.read(s.lkey, owner, access::local_read, address, to + at, n);
                   });
}

access_result data_list::scatter(memory_regions& regions, data_owner owner, std::uint64_t offset,
                                 const std::byte* from, std::size_t bytes) const {
  return for_range(
      offset, bytes, [&](const segment& s, std::uint64_t address, std::size_t at, std::size_t n) {
        if (s.is_inline) return access_result::bad_permission;
        return regions.write(s.lkey, owner, access::local_write, address, from + at, n);
      });
}

}  // namespace freehca::model
