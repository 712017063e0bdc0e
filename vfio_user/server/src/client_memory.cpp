// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "client_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "guarded_copy.hpp"

namespace freehca::device_server {

using vfio_user::dma_readable;
using vfio_user::dma_writeable;

namespace {

constexpr bool whole_pages(std::uint64_t value) {
  return value % client_memory::page == 0;
}

int check(const vfio_user::dma_map& what, std::size_t files) {
  const std::uint32_t known = dma_readable | dma_writeable;
  if (what.argsz != sizeof what || (what.flags & known) == 0 || (what.flags & ~known) != 0)
    return EINVAL;
  if (what.size == 0 || !whole_pages(what.size) || !whole_pages(what.address)) return EINVAL;
  if (what.address + (what.size - 1) < what.address) return EINVAL;
  if (files > 1 || (files == 0 && what.offset != 0)) return EINVAL;
  return 0;
}

}  // namespace

int client_memory::map_file(const vfio_user::dma_map& what, int file, file_mapping*& found) {
  if (!whole_pages(what.offset)) return EINVAL;
  return files_.take(file, what.offset, what.size, (what.flags & dma_writeable) != 0, found);
}

int client_memory::map(const vfio_user::dma_map& what,
                       std::span<const vfio_user::descriptor> files) {
  if (const int why = check(what, files.size()); why != 0) return why;
  const std::uint64_t last = what.address + (what.size - 1);
  auto next = regions_.upper_bound(last);
  if (next != regions_.begin()) {
    const auto before = std::prev(next);
    if (before->first + (before->second.size - 1) >= what.address) return EEXIST;
  }
  if (regions_.size() >= greatest_count_) return ENOSPC;
  by_address::iterator made;
  try {
    made = regions_.emplace_hint(next, what.address,
                                 region{what.size, what.flags, nullptr, what.offset});
    const int why = files.empty() ? 0 : map_file(what, files[0].get(), made->second.file);
    if (why != 0) regions_.erase(made);
    return why;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void client_memory::release(const region& r) {
  if (r.file != nullptr) files_.give_back(*r.file);
}

int client_memory::unmap(std::uint64_t address, std::uint64_t size) {
  if (size == 0 || address + (size - 1) < address) return EINVAL;
  const std::uint64_t last = address + (size - 1);
  const auto first = regions_.lower_bound(address);
  const auto end = regions_.upper_bound(last);
  if (first != regions_.begin()) {
    const auto before = std::prev(first);
    if (before->first + (before->second.size - 1) >= address) return EINVAL;
  }
  if (first == end) return 0;
  const auto final_one = std::prev(end);
  if (final_one->first + (final_one->second.size - 1) > last) return EINVAL;
  for (auto i = first; i != end; ++i) release(i->second);
  regions_.erase(first, end);
  last_ = regions_.end();
  return 0;
}

std::uint64_t client_memory::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [address, one] : regions_) sum += one.size;
  return sum;
}

void client_memory::clear() {
  for (const auto& [address, r] : regions_) release(r);
  regions_.clear();
  last_ = regions_.end();
}

client_memory::by_address::iterator client_memory::find(std::uint64_t address) {
  const auto has = [&](by_address::iterator i) {
    return i != regions_.end() && address >= i->first && address - i->first < i->second.size;
  };
  if (has(last_)) return last_;
  auto i = regions_.upper_bound(address);
  if (i == regions_.begin()) return regions_.end();
  --i;
  if (!has(i)) return regions_.end();
  return last_ = i;
}

template <class Piece>
bool client_memory::in_pieces(std::uint64_t address, std::size_t bytes, std::uint32_t right,
                              const Piece& piece) {
  std::size_t done = 0;
  while (done < bytes) {
    if (address + done < address) return false;  // past the last address
    const auto i = find(address + done);
    if (i == regions_.end() || (i->second.flags & right) == 0) return false;
    const std::uint64_t within = address + done - i->first;
    const std::size_t n = std::min<std::uint64_t>(bytes - done, i->second.size - within);
    const file_mapping* file = i->second.file;
    const std::uint64_t offset = i->second.offset + within;
    if (file != nullptr && !file->has(offset, n)) return false;
    std::byte* mapped = file == nullptr ? nullptr : file->base + (offset - file->offset);
    if (!piece(mapped, address + done, done, n)) {
      cut_short_ += file != nullptr ? 1 : 0;
      return false;
    }
    done += n;
  }
  return true;
}

bool client_memory::read(std::uint64_t address, void* to, std::size_t bytes) {
  return in_pieces(address, bytes, dma_readable,
                   [&](const std::byte* mapped, std::uint64_t at, std::size_t done, std::size_t n) {
                     std::byte* target = static_cast<std::byte*>(to) + done;
                     return mapped != nullptr ? copy_from_shared(target, mapped, n)
                                              : messages_.read(at, target, n);
                   });
}

bool client_memory::write(std::uint64_t address, const void* from, std::size_t bytes) {
  return in_pieces(address, bytes, dma_writeable,
                   [&](std::byte* mapped, std::uint64_t at, std::size_t done, std::size_t n) {
                     const std::byte* source = static_cast<const std::byte*>(from) + done;
                     return mapped != nullptr ? copy_to_shared(mapped, source, n)
                                              : messages_.write(at, source, n);
                   });
}

}  // namespace freehca::device_server
