// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// open() and its kin.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "answers.hpp"
#include "interpose.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

/// True if the caller of open() passed a mode. O_TMPFILE has the bit of O_DIRECTORY in it.
bool has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

template <class System>
int open_any(int at, const char* path, int flags, System system) {
  const bool creates = (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0;
  const place where = place_of(at, path, (flags & O_NOFOLLOW) == 0 && !creates);
  if (where.error != 0) {
    errno = where.error;
    return -1;
  }
  if (where.in_tree) return open_entry(where, flags);
  return where.path.empty() ? system(at, path) : system(AT_FDCWD, where.path.c_str());
}

/// The flags that fopen() opens with; -1 if it refuses the mode itself.
int flags_of(const char* mode) {
  int flags = 0;
  switch (mode[0]) {
    case 'r':
      flags = O_RDONLY;
      break;
    case 'w':
      flags = O_WRONLY | O_CREAT | O_TRUNC;
      break;
    case 'a':
      flags = O_WRONLY | O_CREAT | O_APPEND;
      break;
    default:
      return -1;
  }
  for (const char* c = mode + 1; *c != '\0' && *c != ','; ++c) {
    if (*c == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*c == 'x') flags |= O_EXCL;
    if (*c == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

template <class System>
FILE* fopen_any(const char* path, const char* mode, System system) {
  const place where = place_of(AT_FDCWD, path, true);
  if (where.error != 0) {
    errno = where.error;
    return nullptr;
  }
  if (!where.in_tree) return system(where.path.empty() ? path : where.path.c_str());
  const int flags = flags_of(mode);
  if (flags < 0) {
    errno = EINVAL;
    return nullptr;
  }
  const int descriptor = open_entry(where, flags);
  if (descriptor < 0) return nullptr;
  FILE* const file = fdopen(descriptor, mode);
  if (file == nullptr) {
    const int why = errno;
    close(descriptor);
    errno = why;
  }
  return file;
}

using open_type = int(const char*, int, ...);
using openat_type = int(int, const char*, int, ...);
constinit system_call<open_type> system_open{"open"};
constinit system_call<open_type> system_open64{"open64"};
constinit system_call<openat_type> system_openat64{"openat64"};
constinit system_call<int(const char*, int)> system_open_2{"__open_2"};
constinit system_call<int(const char*, int)> system_open64_2{"__open64_2"};
constinit system_call<int(int, const char*, int)> system_openat_2{"__openat_2"};
constinit system_call<int(int, const char*, int)> system_openat64_2{"__openat64_2"};
constinit system_call<FILE*(const char*, const char*)> system_fopen{"fopen"};
constinit system_call<FILE*(const char*, const char*)> system_fopen64{"fopen64"};

}  // namespace

extern "C" {

int answer_open(const char* path, int flags, ...) FREEHCA_INTERPOSE(open);
int answer_open64(const char* path, int flags, ...) FREEHCA_INTERPOSE(open64);
int answer_openat(int at, const char* path, int flags, ...) FREEHCA_INTERPOSE(openat);
int answer_openat64(int at, const char* path, int flags, ...) FREEHCA_INTERPOSE(openat64);
int answer_open_2(const char* path, int flags) FREEHCA_INTERPOSE(__open_2);
int answer_open64_2(const char* path, int flags) FREEHCA_INTERPOSE(__open64_2);
int answer_openat_2(int at, const char* path, int flags) FREEHCA_INTERPOSE(__openat_2);
int answer_openat64_2(int at, const char* path, int flags) FREEHCA_INTERPOSE(__openat64_2);
FILE* answer_fopen(const char* path, const char* mode) FREEHCA_INTERPOSE(fopen);
FILE* answer_fopen64(const char* path, const char* mode) FREEHCA_INTERPOSE(fopen64);

/// The mode behind `flags`, or 0: the caller passed none.
#define FREEHCA_READ_MODE(mode)  \
  mode_t mode = 0;               \
  if (has_mode(flags)) {         \
    va_list list;                \
    va_start(list, flags);       \
    mode = va_arg(list, mode_t); \
    va_end(list);                \
  }

int answer_open(const char* path, int flags, ...) {
  FREEHCA_READ_MODE(mode)
  return open_any(AT_FDCWD, path, flags,
                  [&](int, const char* p) { return system_open(p, flags, mode); });
}

int answer_open64(const char* path, int flags, ...) {
  FREEHCA_READ_MODE(mode)
  return open_any(AT_FDCWD, path, flags,
                  [&](int, const char* p) { return system_open64(p, flags, mode); });
}

int answer_openat(int at, const char* path, int flags, ...) {
  FREEHCA_READ_MODE(mode)
  return open_any(at, path, flags,
                  [&](int from, const char* p) { return system_openat(from, p, flags, mode); });
}

int answer_openat64(int at, const char* path, int flags, ...) {
  FREEHCA_READ_MODE(mode)
  return open_any(at, path, flags,
                  [&](int from, const char* p) { return system_openat64(from, p, flags, mode); });
}

// The checked calls end the process if a mode is missing; that is left to the system.
int answer_open_2(const char* path, int flags) {
  if (has_mode(flags)) return system_open_2(path, flags);
  return open_any(AT_FDCWD, path, flags,
                  [&](int, const char* p) { return system_open_2(p, flags); });
}

int answer_open64_2(const char* path, int flags) {
  if (has_mode(flags)) return system_open64_2(path, flags);
  return open_any(AT_FDCWD, path, flags,
                  [&](int, const char* p) { return system_open64_2(p, flags); });
}

int answer_openat_2(int at, const char* path, int flags) {
  if (has_mode(flags)) return system_openat_2(at, path, flags);
  return open_any(at, path, flags,
                  [&](int from, const char* p) { return system_openat_2(from, p, flags); });
}

int answer_openat64_2(int at, const char* path, int flags) {
  if (has_mode(flags)) return system_openat64_2(at, path, flags);
  return open_any(at, path, flags,
                  [&](int from, const char* p) { return system_openat64_2(from, p, flags); });
}

FILE* answer_fopen(const char* path, const char* mode) {
  return fopen_any(path, mode, [&](const char* p) { return system_fopen(p, mode); });
}

FILE* answer_fopen64(const char* path, const char* mode) {
  return fopen_any(path, mode, [&](const char* p) { return system_fopen64(p, mode); });
}

}  // extern "C"

}  // namespace freehca::ibverbs_files
