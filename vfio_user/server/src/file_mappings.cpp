// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "file_mappings.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace freehca::device_server {
namespace {

constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t to) {
  return value - value % to;
}
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return round_down(value + (to - 1), to);
}

// For a file on huge pages, mmap() and munmap() accept only whole huge pages. hugetlbfs reports
// their size as st_blksize. On other file systems st_blksize may have any value.
std::uint64_t page_of(const struct stat& about) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto block = static_cast<std::uint64_t>(about.st_blksize);
  return about.st_blksize > 0 && block % page == 0 ? block : page;
}

}  // namespace

struct file_mappings::piece {
  dev_t device;
  ino_t inode;
  std::uint64_t file_bytes, page;
  std::uint64_t offset, size;
  bool open_for_writing;
};

file_mappings::~file_mappings() {
  for (std::list<file_mapping>* list : {&all_, &not_unmapped_})
    for (const file_mapping& one : *list) calls_.unmap(one.base, one.bytes);
}

int file_mappings::make(int file, int protection, std::uint64_t offset, std::uint64_t bytes,
                        std::list<file_mapping>& made) {
  if (count() >= most_) return ENOSPC;
  try {
    made.emplace_back();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  void* at = calls_.map(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file,
                        static_cast<off_t>(offset));
  if (at == MAP_FAILED) return errno;
  file_mapping& one = made.back();
  one.base = static_cast<std::byte*>(at);
  one.offset = offset;
  one.bytes = bytes;
  one.self = std::prev(made.end());
  return 0;
}

// munmap() can fail: if the kernel has merged mappings, removing a part needs one mapping more.
void file_mappings::remove(std::list<file_mapping>& from, std::list<file_mapping>::iterator one) {
  if (calls_.unmap(one->base, one->bytes) == 0) from.erase(one);
  else not_unmapped_.splice(not_unmapped_.end(), from, one);
}

void file_mappings::unmap_what_was_left() {
  not_unmapped_.remove_if(
      [this](const file_mapping& one) { return calls_.unmap(one.base, one.bytes) == 0; });
}

// If a file has grown, it is mapped a second time before the first mapping is removed, because
// mremap() cannot extend a mapping of huge pages.
int file_mappings::map_whole(const piece& what, int file, bool writeable, file_mapping*& found) {
  const file_mapping::key key{what.device, what.inode, writeable};
  const auto known = whole_files_.find(key);
  if (known != whole_files_.end() && known->second->has(what.offset, what.size)) {
    found = known->second;
    ++found->ranges;
    return 0;
  }
  std::list<file_mapping> made;
  const int protection = writeable ? PROT_READ | PROT_WRITE : PROT_READ;
  const std::uint64_t bytes = round_up(what.file_bytes, what.page);
  if (const int why = make(file, protection, 0, bytes, made); why != 0) return why;
  if (known != whole_files_.end()) {
    found = known->second;
    std::swap(found->base, made.back().base);
    std::swap(found->bytes, made.back().bytes);
    remove(made, made.begin());
  } else {
    found = &made.back();
    try {
      whole_files_.emplace(key, found);
    } catch (const std::bad_alloc&) {
      remove(made, made.begin());
      return ENOMEM;
    }
    found->of = key;
    found->whole_file = true;
    all_.splice(all_.end(), made);
  }
  ++found->ranges;
  return 0;
}

int file_mappings::map_piece(const piece& what, int file, bool writeable, file_mapping*& found) {
  const std::uint64_t begin = round_down(what.offset, what.page);
  const std::uint64_t end = round_up(what.offset + what.size, what.page);
  const int protection = writeable ? PROT_READ | PROT_WRITE : PROT_READ;
  std::list<file_mapping> made;
  if (const int why = make(file, protection, begin, end - begin, made); why != 0) return why;
  found = &made.back();
  found->ranges = 1;
  all_.splice(all_.end(), made);
  return 0;
}

int file_mappings::take(int file, std::uint64_t offset, std::uint64_t size, bool writeable,
                        file_mapping*& found) {
  struct stat about {};
  if (calls_.status(file, &about) != 0) return errno;
  // Refuse devices and similar files: the kernel may map them, with unknown effects.
  if (!S_ISREG(about.st_mode)) return ENODEV;
  const auto length = static_cast<std::uint64_t>(about.st_size);
  if (offset > length || size > length - offset) return EINVAL;
  const int mode = fcntl(file, F_GETFL);
  if (mode < 0) return errno;
  // The errno of mmap(), also if the file is mapped already and mmap() is not called.
  if ((mode & O_PATH) != 0) return EBADF;
  const bool open_for_writing = (mode & O_ACCMODE) == O_RDWR;
  if ((mode & O_ACCMODE) == O_WRONLY || (writeable && !open_for_writing)) return EACCES;
  unmap_what_was_left();
  const piece what{about.st_dev, about.st_ino, length,          page_of(about),
                   offset,       size,         open_for_writing};
  if (map_whole(what, file, open_for_writing, found) == 0) return 0;
  // A file that is open for writing may be sealed (F_SEAL_WRITE). In this case map it for reading.
  if (open_for_writing && !writeable && map_whole(what, file, false, found) == 0) return 0;
  return map_piece(what, file, writeable, found);
}

void file_mappings::give_back(file_mapping& from) {
  if (--from.ranges != 0) return;
  if (from.whole_file) whole_files_.erase(from.of);
  remove(all_, from.self);
}

}  // namespace freehca::device_server
