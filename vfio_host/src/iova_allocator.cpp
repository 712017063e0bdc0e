// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/iova_allocator.hpp>

#include <algorithm>
#include <iterator>

namespace freehca::vfio_host {

iova_allocator::iova_allocator(const std::vector<iova_range>& allowed) {
  for (const iova_range& r : allowed) {
    const std::uint64_t first = std::max(page, (r.first + page - 1) / page * page);
    // Exclude the last page of the address space, for which `last + 1` would wrap.
    const std::uint64_t last = std::min(r.last, ~std::uint64_t{0} - page);
    if (first < r.first || last < first || last - first + 1 < page) continue;
    free_[first] = last;
  }
}

std::optional<std::uint64_t> iova_allocator::take(std::uint64_t bytes, std::uint64_t alignment,
                                                  std::uint64_t offset) {
  if (bytes == 0 || bytes % page != 0 || alignment < page || (alignment & (alignment - 1)) != 0 ||
      offset % page != 0 || offset >= alignment)
    return std::nullopt;
  for (const auto& [first, last] : free_) {
    const std::uint64_t at = first + ((offset - first) & (alignment - 1));
    if (at < first || at > last || last - at < bytes - 1) continue;
    const std::uint64_t begin = first, end = last;
    free_.erase(begin);
    if (at > begin) free_[begin] = at - 1;
    if (end > at + bytes - 1) free_[at + bytes] = end;
    taken_[at] = bytes;
    taken_bytes_ += bytes;
    return at;
  }
  return std::nullopt;
}

bool iova_allocator::give_back(std::uint64_t at, std::uint64_t bytes) {
  const auto found = taken_.find(at);
  if (found == taken_.end() || found->second != bytes) return false;
  taken_.erase(found);
  taken_bytes_ -= bytes;
  std::uint64_t first = at, last = at + bytes - 1;
  const auto behind = free_.lower_bound(at);
  if (behind != free_.begin()) {
    const auto before = std::prev(behind);
    if (before->second + 1 == first) {
      first = before->first;
      free_.erase(before);
    }
  }
  if (const auto next = free_.find(last + 1); next != free_.end()) {
    last = next->second;
    free_.erase(next);
  }
  free_[first] = last;
  return true;
}

}  // namespace freehca::vfio_host
