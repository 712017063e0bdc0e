// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "answers.hpp"

#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "descriptors.hpp"

namespace freehca::ibverbs_files {
namespace {

constexpr off_t file_size = 4096;  // sysfs gives each of its files the size of a page

/// The second in which the library answered first.
time_t time_of_tree() {
  static constinit std::atomic<time_t> kept{0};
  time_t known = kept.load(std::memory_order_relaxed);
  if (known != 0) return known;
  struct timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return kept.compare_exchange_strong(known, now.tv_sec, std::memory_order_relaxed) ? now.tv_sec
                                                                                    : known;
}

mode_t mode_of(kind what) {
  switch (what) {
    case kind::folder:
      return S_IFDIR | 0755;
    case kind::file:
      return S_IFREG | 0444;
    case kind::link:
      return S_IFLNK | 0777;
    case kind::device:
      return S_IFCHR | 0666;
  }
  return 0;
}

int fail(int why) {
  errno = why;
  return -1;
}

}  // namespace

place place_of(int at, const char* path, bool follow) {
  return without_exceptions(place{.error = ENOMEM}, [&] { return find_place(at, path, follow); });
}

int open_entry(const place& where, int flags) {
  const bool path_only = (flags & O_PATH) != 0;
  const bool writes = !path_only && (flags & O_ACCMODE) != O_RDONLY;
  const bool folder = where.entry.what == kind::folder;
  if (!path_only && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return fail(EEXIST);
  if (folder && !path_only && (writes || (flags & O_CREAT) != 0)) return fail(EISDIR);
  if (!folder && (where.folder_asked || (flags & O_DIRECTORY) != 0)) return fail(ENOTDIR);
  if (where.entry.what == kind::link) return fail(ELOOP);
  if (where.entry.what == kind::device) return fail(ENXIO);
  if (where.entry.what == kind::file && !path_only && (writes || (flags & O_TRUNC) != 0))
    return fail(EACCES);
  const int before = errno;
  const int descriptor = without_exceptions(-1, [&] {
    return folder ? open_folder(where.path, flags) : open_file(where.path, where.entry.text, flags);
  });
  if (descriptor >= 0) errno = before;
  return descriptor;
}

ino_t inode_of(const std::string& path) {
  // FNV-1a of 64 bits, cut to 32: programs with a smaller ino_t can hold it.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash ^ hash >> 32) & 0xffffffff;
}

void fill_status(const std::string& path, const node& entry, struct stat& to) {
  to = {};
  to.st_dev = makedev(0, 0xfffff);
  to.st_ino = inode_of(path);
  to.st_mode = mode_of(entry.what);
  to.st_nlink = entry.what == kind::folder ? 2 : 1;
  if (entry.what == kind::device) to.st_rdev = makedev(device_major, device_minor);
  if (entry.what == kind::file) to.st_size = file_size;
  if (entry.what == kind::link) to.st_size = static_cast<off_t>(entry.text.size());
  to.st_blksize = 4096;
  to.st_atim.tv_sec = to.st_mtim.tv_sec = to.st_ctim.tv_sec = time_of_tree();
}

void correct_status(struct stat& status) {
  const int before = errno;
  without_exceptions(0, [&] {
    const std::string path = opened_path_without_name(status);
    if (path.empty()) return 0;
    const place found = find_clean(path);
    if (found.in_tree) fill_status(path, found.entry, status);
    return 0;
  });
  errno = before;
}

int check_access(const node& entry, int mode) {
  const bool may_write = entry.what == kind::device;
  const bool may_execute = entry.what == kind::folder || entry.what == kind::link;
  if (((mode & W_OK) != 0 && !may_write) || ((mode & X_OK) != 0 && !may_execute))
    return fail(EACCES);
  return 0;
}

}  // namespace freehca::ibverbs_files
