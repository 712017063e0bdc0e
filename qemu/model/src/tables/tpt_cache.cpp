// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "tables/tpt_cache.hpp"

#include <algorithm>
#include <cstring>

#include "tables/icm.hpp"

namespace freehca::model {

bool tpt_cache::read(icm& from, std::uint32_t key, std::uint64_t at, void* to, std::size_t bytes) {
  auto* p = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const std::uint64_t begin = at / line_bytes * line_bytes;
    line& l = lines_[place_of(key, begin)];
    if (l.epoch != epoch_ || l.at != begin || l.key != key) {
      l.epoch = 0;
      if (!from.read(begin, l.bytes.data(), line_bytes)) return false;
      l.at = begin;
      l.key = key;
      l.epoch = epoch_;
    }
    const auto offset = static_cast<std::size_t>(at - begin);
    const std::size_t now = std::min(bytes, line_bytes - offset);
    std::memcpy(p, l.bytes.data() + offset, now);
    p += now;
    at += now;
    bytes -= now;
  }
  return true;
}

}  // namespace freehca::model
