// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// getxattr() and its kin, which `ls -l` calls for each file: an entry of the tree has no extended
// attributes.
#include <sys/types.h>

#include "answers.hpp"
#include "interpose.hpp"
#include "system_call.hpp"

namespace freehca::ibverbs_files {
namespace {

using get_type = ssize_t(const char*, const char*, void*, std::size_t);
using list_type = ssize_t(const char*, char*, std::size_t);
constinit system_call<get_type> system_getxattr{"getxattr"};
constinit system_call<get_type> system_lgetxattr{"lgetxattr"};
constinit system_call<list_type> system_listxattr{"listxattr"};
constinit system_call<list_type> system_llistxattr{"llistxattr"};

template <class System>
ssize_t get_any(const char* path, bool follow, System system) {
  return answer(AT_FDCWD, path, follow, ssize_t{-1}, system, [](const place&) -> ssize_t {
    errno = ENODATA;
    return -1;
  });
}

template <class System>
ssize_t list_any(const char* path, bool follow, System system) {
  return answer(AT_FDCWD, path, follow, ssize_t{-1}, system,
                [](const place&) -> ssize_t { return 0; });
}

}  // namespace

extern "C" {

ssize_t answer_getxattr(const char* path, const char* name, void* to, std::size_t size)
    FREEHCA_INTERPOSE(getxattr);
ssize_t answer_lgetxattr(const char* path, const char* name, void* to, std::size_t size)
    FREEHCA_INTERPOSE(lgetxattr);
ssize_t answer_listxattr(const char* path, char* to, std::size_t size) FREEHCA_INTERPOSE(listxattr);
ssize_t answer_llistxattr(const char* path, char* to, std::size_t size)
    FREEHCA_INTERPOSE(llistxattr);

ssize_t answer_getxattr(const char* path, const char* name, void* to, std::size_t size) {
  return get_any(path, true,
                 [&](int, const char* p) { return system_getxattr(p, name, to, size); });
}

ssize_t answer_lgetxattr(const char* path, const char* name, void* to, std::size_t size) {
  return get_any(path, false,
                 [&](int, const char* p) { return system_lgetxattr(p, name, to, size); });
}

ssize_t answer_listxattr(const char* path, char* to, std::size_t size) {
  return list_any(path, true, [&](int, const char* p) { return system_listxattr(p, to, size); });
}

ssize_t answer_llistxattr(const char* path, char* to, std::size_t size) {
  return list_any(path, false, [&](int, const char* p) { return system_llistxattr(p, to, size); });
}

}  // extern "C"

}  // namespace freehca::ibverbs_files
