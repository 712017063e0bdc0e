// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// access(), readlink(), realpath() and their kin.
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "answers.hpp"
#include "descriptors.hpp"
#include "interpose.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

template <class System>
int access_any(int at, const char* path, int mode, bool follow, System system) {
  return answer(at, path, follow, -1, system,
                [&](const place& where) { return check_access(where.entry, mode); });
}

template <class System>
ssize_t readlink_any(int at, const char* path, char* to, std::size_t size, System system) {
  return answer(at, path, false, ssize_t{-1}, system, [&](const place& where) -> ssize_t {
    if (where.entry.what != kind::link || size == 0) {
      errno = EINVAL;
      return -1;
    }
    const std::size_t length = std::min(size, where.entry.text.size());
    std::memcpy(to, where.entry.text.data(), length);
    return static_cast<ssize_t>(length);
  });
}

/// `to`: PATH_MAX bytes, or nullptr for memory that the program frees.
template <class System>
char* realpath_any(const char* path, char* to, System system) {
  return answer(AT_FDCWD, path, true, static_cast<char*>(nullptr), system,
                [&](const place& where) -> char* {
                  if (to == nullptr) return strdup(where.path.c_str());
                  if (where.path.size() >= PATH_MAX) {
                    errno = ENAMETOOLONG;
                    return nullptr;
                  }
                  std::memcpy(to, where.path.c_str(), where.path.size() + 1);
                  return to;
                });
}

using access_type = int(const char*, int);
using checked_readlink_type = ssize_t(const char*, char*, std::size_t, std::size_t);
using checked_readlinkat_type = ssize_t(int, const char*, char*, std::size_t, std::size_t);
constinit system_call<access_type> system_access{"access"};
constinit system_call<access_type> system_euidaccess{"euidaccess"};
constinit system_call<access_type> system_eaccess{"eaccess"};
constinit system_call<int(int, const char*, int, int)> system_faccessat{"faccessat"};
constinit system_call<ssize_t(int, const char*, char*, std::size_t)> system_readlinkat{
    "readlinkat"};
constinit system_call<checked_readlink_type> system_readlink_chk{"__readlink_chk"};
constinit system_call<checked_readlinkat_type> system_readlinkat_chk{"__readlinkat_chk"};
constinit system_call<char*(const char*, char*)> system_realpath{"realpath"};
constinit system_call<char*(const char*, char*, std::size_t)> system_realpath_chk{"__realpath_chk"};
constinit system_call<char*(const char*)> system_canonicalize{"canonicalize_file_name"};

}  // namespace

extern "C" {

int answer_access(const char* path, int mode) FREEHCA_INTERPOSE(access);
int answer_euidaccess(const char* path, int mode) FREEHCA_INTERPOSE(euidaccess);
int answer_eaccess(const char* path, int mode) FREEHCA_INTERPOSE(eaccess);
int answer_faccessat(int at, const char* path, int mode, int flags) FREEHCA_INTERPOSE(faccessat);
ssize_t answer_readlink(const char* path, char* to, std::size_t size) FREEHCA_INTERPOSE(readlink);
ssize_t answer_readlinkat(int at, const char* path, char* to, std::size_t size)
    FREEHCA_INTERPOSE(readlinkat);
ssize_t answer_readlink_chk(const char* path, char* to, std::size_t size, std::size_t room)
    FREEHCA_INTERPOSE(__readlink_chk);
ssize_t answer_readlinkat_chk(int at, const char* path, char* to, std::size_t size,
                              std::size_t room) FREEHCA_INTERPOSE(__readlinkat_chk);
char* answer_realpath(const char* path, char* to) FREEHCA_INTERPOSE(realpath);
char* answer_realpath_chk(const char* path, char* to, std::size_t room)
    FREEHCA_INTERPOSE(__realpath_chk);
char* answer_canonicalize(const char* path) FREEHCA_INTERPOSE(canonicalize_file_name);

int answer_access(const char* path, int mode) {
  return access_any(AT_FDCWD, path, mode, true,
                    [&](int, const char* p) { return system_access(p, mode); });
}

int answer_euidaccess(const char* path, int mode) {
  return access_any(AT_FDCWD, path, mode, true,
                    [&](int, const char* p) { return system_euidaccess(p, mode); });
}

int answer_eaccess(const char* path, int mode) {
  return access_any(AT_FDCWD, path, mode, true,
                    [&](int, const char* p) { return system_eaccess(p, mode); });
}

int answer_faccessat(int at, const char* path, int mode, int flags) {
  return access_any(
      at, path, mode, (flags & AT_SYMLINK_NOFOLLOW) == 0,
      [&](int from, const char* p) { return system_faccessat(from, p, mode, flags); });
}

ssize_t answer_readlink(const char* path, char* to, std::size_t size) {
  return readlink_any(AT_FDCWD, path, to, size,
                      [&](int, const char* p) { return system_readlink(p, to, size); });
}

ssize_t answer_readlinkat(int at, const char* path, char* to, std::size_t size) {
  return readlink_any(at, path, to, size, [&](int from, const char* p) {
    return system_readlinkat(from, p, to, size);
  });
}

// A checked call with too little room ends the process; the system's function does that.
ssize_t answer_readlink_chk(const char* path, char* to, std::size_t size, std::size_t room) {
  if (size > room) return system_readlink_chk(path, to, size, room);
  return answer_readlink(path, to, size);
}

ssize_t answer_readlinkat_chk(int at, const char* path, char* to, std::size_t size,
                              std::size_t room) {
  if (size > room) return system_readlinkat_chk(at, path, to, size, room);
  return answer_readlinkat(at, path, to, size);
}

char* answer_realpath(const char* path, char* to) {
  return realpath_any(path, to, [&](int, const char* p) { return system_realpath(p, to); });
}

char* answer_realpath_chk(const char* path, char* to, std::size_t room) {
  if (room < PATH_MAX) return system_realpath_chk(path, to, room);
  return answer_realpath(path, to);
}

char* answer_canonicalize(const char* path) {
  return realpath_any(path, nullptr, [&](int, const char* p) { return system_canonicalize(p); });
}

}  // extern "C"

}  // namespace freehca::ibverbs_files
