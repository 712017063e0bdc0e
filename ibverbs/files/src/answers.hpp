// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the calls answer for an entry of the tree. Each function sets errno as the system would for
// a file of sysfs, and throws nothing but the unwinding of a cancelled thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "lookup.hpp"

namespace freehca::ibverbs_files {

/// Calls it. An exception becomes `failure` with ENOMEM. The unwinding of a cancelled thread passes
/// through, because that is no std::exception.
template <class R, class F>
R without_exceptions(R failure, F f) {
  try {
    return f();
  } catch (const std::exception&) {
    errno = ENOMEM;
    return failure;
  }
}

/// find_place(), with ENOMEM as the place's error instead of an exception.
place place_of(int at, const char* path, bool follow);

/// Opens the entry as open() does. A device file answers ENXIO, since no kernel driver serves it.
int open_entry(const place& where, int flags);

/// Status of an entry that the system does not have.
void fill_status(const std::string& path, const node& entry, struct stat& to);

/// Inode number in the status and in listings.
ino_t inode_of(const std::string& path);

/// Replaces the status of an open descriptor of the tree by that of its entry.
void correct_status(struct stat& status);

/// Whether the modes of access() are allowed: 0, or -1 with EACCES.
int check_access(const node& entry, int mode);

/// True if the last call of the system found nothing, so that the tree's own folder answers.
inline bool system_has_nothing() {
  return errno == ENOENT || errno == ENOTDIR;
}

/// Gives the path to the system or answers it. `system(at, path)` makes the program's call with
/// another path, `entry(place)` answers for what the tree has. A folder that the system has too is
/// the system's. `failure`: result of a call that fails.
template <class R, class System, class Entry>
R answer(int at, const char* path, bool follow, R failure, System system, Entry entry) {
  const place where = place_of(at, path, follow);
  if (where.error != 0) {
    errno = where.error;
    return failure;
  }
  if (!where.in_tree)
    return where.path.empty() ? system(at, path) : system(AT_FDCWD, where.path.c_str());
  if (where.entry.what == kind::folder) {
    const int before = errno;
    const R result = system(AT_FDCWD, where.path.c_str());
    if (result != failure || !system_has_nothing()) return result;
    errno = before;
  } else if (where.folder_asked) {
    errno = ENOTDIR;
    return failure;
  }
  return entry(where);
}

}  // namespace freehca::ibverbs_files
