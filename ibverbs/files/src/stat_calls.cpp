// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// stat() and its kin, for programs of today and for those that were linked with an older C library.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <type_traits>

#include "answers.hpp"
#include "interpose.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

// With a file offset of 64 bits both structures are one, and so are a name and its twin with 64.
static_assert(sizeof(struct stat) == sizeof(struct stat64) && sizeof(off_t) == 8);

template <class System>
int stat_any(int at, const char* path, struct stat* to, bool follow, System system) {
  return answer(at, path, follow, -1, system, [&](const place& where) {
    fill_status(where.path, where.entry, *to);
    return 0;
  });
}

/// The result of a call that read the status of a descriptor.
int corrected(int result, struct stat* status) {
  if (result == 0) correct_status(*status);
  return result;
}

template <class System>
int fstatat_any(int at, const char* path, struct stat* to, int flags, System system) {
  if (path != nullptr && path[0] == '\0') return corrected(system(at, path), to);
  return stat_any(at, path, to, (flags & AT_SYMLINK_NOFOLLOW) == 0, system);
}

void fill_extended(const struct stat& from, struct statx& to) {
  to = {};
  to.stx_mask = STATX_BASIC_STATS;
  to.stx_blksize = static_cast<std::uint32_t>(from.st_blksize);
  to.stx_nlink = static_cast<std::uint32_t>(from.st_nlink);
  to.stx_mode = static_cast<std::uint16_t>(from.st_mode);
  to.stx_ino = from.st_ino;
  to.stx_size = static_cast<std::uint64_t>(from.st_size);
  to.stx_atime.tv_sec = to.stx_mtime.tv_sec = to.stx_ctime.tv_sec = from.st_mtim.tv_sec;
  to.stx_rdev_major = major(from.st_rdev);
  to.stx_rdev_minor = minor(from.st_rdev);
  to.stx_dev_major = major(from.st_dev);
  to.stx_dev_minor = minor(from.st_dev);
}

/// The result of statx() for a descriptor: that of its entry, if it is one of the tree.
int corrected(int result, struct statx* status) {
  if (result != 0 || (status->stx_mask & STATX_NLINK) == 0 || status->stx_nlink != 0) return result;
  struct stat known = {};
  known.st_dev = makedev(status->stx_dev_major, status->stx_dev_minor);
  known.st_ino = status->stx_ino;
  correct_status(known);
  if (known.st_nlink != 0) fill_extended(known, *status);
  return result;
}

using stat_type = int(const char*, struct stat*);
using fstatat_type = int(int, const char*, struct stat*, int);
using xstat_type = int(int, const char*, struct stat*);
constinit system_call<stat_type> system_stat{"stat"};
constinit system_call<stat_type> system_lstat{"lstat"};
constinit system_call<int(int, const char*, int, unsigned, struct statx*)> system_statx{"statx"};
constinit system_call<xstat_type> system_xstat{"__xstat"};
constinit system_call<xstat_type> system_lxstat{"__lxstat"};
constinit system_call<int(int, int, struct stat*)> system_fxstat{"__fxstat"};
constinit system_call<int(int, int, const char*, struct stat*, int)> system_fxstatat{"__fxstatat"};

}  // namespace

extern "C" {

int answer_stat(const char* path, struct stat* to) FREEHCA_INTERPOSE(stat);
int answer_stat64(const char* path, struct stat* to) FREEHCA_INTERPOSE(stat64);
int answer_lstat(const char* path, struct stat* to) FREEHCA_INTERPOSE(lstat);
int answer_lstat64(const char* path, struct stat* to) FREEHCA_INTERPOSE(lstat64);
int answer_fstat(int descriptor, struct stat* to) FREEHCA_INTERPOSE(fstat);
int answer_fstat64(int descriptor, struct stat* to) FREEHCA_INTERPOSE(fstat64);
int answer_fstatat(int at, const char* path, struct stat* to, int flags) FREEHCA_INTERPOSE(fstatat);
int answer_fstatat64(int at, const char* path, struct stat* to, int flags)
    FREEHCA_INTERPOSE(fstatat64);
int answer_statx(int at, const char* path, int flags, unsigned mask, struct statx* to)
    FREEHCA_INTERPOSE(statx);
int answer_xstat(int version, const char* path, struct stat* to) FREEHCA_INTERPOSE(__xstat);
int answer_xstat64(int version, const char* path, struct stat* to) FREEHCA_INTERPOSE(__xstat64);
int answer_lxstat(int version, const char* path, struct stat* to) FREEHCA_INTERPOSE(__lxstat);
int answer_lxstat64(int version, const char* path, struct stat* to) FREEHCA_INTERPOSE(__lxstat64);
int answer_fxstat(int version, int descriptor, struct stat* to) FREEHCA_INTERPOSE(__fxstat);
int answer_fxstat64(int version, int descriptor, struct stat* to) FREEHCA_INTERPOSE(__fxstat64);
int answer_fxstatat(int version, int at, const char* path, struct stat* to, int flags)
    FREEHCA_INTERPOSE(__fxstatat);
int answer_fxstatat64(int version, int at, const char* path, struct stat* to, int flags)
    FREEHCA_INTERPOSE(__fxstatat64);

int answer_stat(const char* path, struct stat* to) {
  return stat_any(AT_FDCWD, path, to, true, [&](int, const char* p) { return system_stat(p, to); });
}
int answer_stat64(const char* path, struct stat* to) {
  return answer_stat(path, to);
}

int answer_lstat(const char* path, struct stat* to) {
  return stat_any(AT_FDCWD, path, to, false,
                  [&](int, const char* p) { return system_lstat(p, to); });
}
int answer_lstat64(const char* path, struct stat* to) {
  return answer_lstat(path, to);
}

int answer_fstat(int descriptor, struct stat* to) {
  return corrected(system_fstat(descriptor, to), to);
}
int answer_fstat64(int descriptor, struct stat* to) {
  return answer_fstat(descriptor, to);
}

int answer_fstatat(int at, const char* path, struct stat* to, int flags) {
  return fstatat_any(at, path, to, flags,
                     [&](int from, const char* p) { return system_fstatat(from, p, to, flags); });
}
int answer_fstatat64(int at, const char* path, struct stat* to, int flags) {
  return answer_fstatat(at, path, to, flags);
}

int answer_statx(int at, const char* path, int flags, unsigned mask, struct statx* to) {
  const auto system = [&](int from, const char* p) {
    return system_statx(from, p, flags, mask, to);
  };
  if (path != nullptr && path[0] == '\0') return corrected(system(at, path), to);
  return answer(at, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, -1, system, [&](const place& where) {
    struct stat status;
    fill_status(where.path, where.entry, status);
    fill_extended(status, *to);
    return 0;
  });
}

int answer_xstat(int version, const char* path, struct stat* to) {
  return stat_any(AT_FDCWD, path, to, true,
                  [&](int, const char* p) { return system_xstat(version, p, to); });
}
int answer_xstat64(int version, const char* path, struct stat* to) {
  return answer_xstat(version, path, to);
}

int answer_lxstat(int version, const char* path, struct stat* to) {
  return stat_any(AT_FDCWD, path, to, false,
                  [&](int, const char* p) { return system_lxstat(version, p, to); });
}
int answer_lxstat64(int version, const char* path, struct stat* to) {
  return answer_lxstat(version, path, to);
}

int answer_fxstat(int version, int descriptor, struct stat* to) {
  return corrected(system_fxstat(version, descriptor, to), to);
}
int answer_fxstat64(int version, int descriptor, struct stat* to) {
  return answer_fxstat(version, descriptor, to);
}

int answer_fxstatat(int version, int at, const char* path, struct stat* to, int flags) {
  return fstatat_any(at, path, to, flags, [&](int from, const char* p) {
    return system_fxstatat(version, from, p, to, flags);
  });
}
int answer_fxstatat64(int version, int at, const char* path, struct stat* to, int flags) {
  return answer_fxstatat(version, at, path, to, flags);
}

}  // extern "C"

}  // namespace freehca::ibverbs_files
