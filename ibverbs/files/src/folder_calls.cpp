// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// opendir(), its kin, and the calls that take what it returns.
#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "answers.hpp"
#include "descriptors.hpp"
#include "folder_stream.hpp"
#include "interpose.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

// With a file offset of 64 bits both structures are one, and so are a name and its twin with 64.
static_assert(sizeof(struct dirent) == sizeof(struct dirent64));

using filter = int (*)(const struct dirent*);
using order = int (*)(const struct dirent**, const struct dirent**);

/// A stream on a folder of the tree. Takes the descriptor.
DIR* stream_on(int descriptor, const std::string& path) {
  folder_stream* const made = without_exceptions(
      static_cast<folder_stream*>(nullptr), [&] { return folder_stream::open(descriptor, path); });
  if (made != nullptr) return made->handle();
  const int why = errno;
  close(descriptor);
  errno = why;
  return nullptr;
}

DIR* open_place(const place& where) {
  if (where.entry.what != kind::folder) {
    errno = ENOTDIR;
    return nullptr;
  }
  const int descriptor = open_entry(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  return descriptor < 0 ? nullptr : stream_on(descriptor, where.path);
}

void free_list(struct dirent** list, std::size_t count) {
  for (std::size_t i = 0; i != count; ++i) std::free(list[i]);
  std::free(list);
}

/// Adds a copy of the entry. False: no memory.
bool append(struct dirent**& list, std::size_t& count, const struct dirent& entry) {
  void* const longer = std::realloc(list, (count + 1) * sizeof *list);
  if (longer == nullptr) return false;
  list = static_cast<struct dirent**>(longer);
  list[count] = static_cast<struct dirent*>(std::malloc(sizeof entry));
  if (list[count] == nullptr) return false;
  std::memcpy(list[count++], &entry, sizeof entry);
  return true;
}

int scan(DIR* stream, struct dirent*** to, filter selects, order compares) {
  struct dirent** list = nullptr;
  std::size_t count = 0;
  bool complete = true;
  folder_stream* const folder = folder_stream::of(stream);
  while (const struct dirent* entry = complete ? folder->read() : nullptr)
    if (selects == nullptr || selects(entry) != 0) complete = append(list, count, *entry);
  folder->close();
  if (!complete) {
    free_list(list, count);
    errno = ENOMEM;
    return -1;
  }
  if (compares != nullptr && count != 0)
    std::qsort(list, count, sizeof *list,
               reinterpret_cast<int (*)(const void*, const void*)>(
                   reinterpret_cast<void (*)()>(compares)));
  *to = list;
  return static_cast<int>(count);
}

using scandir_type = int(const char*, struct dirent***, filter, order);
constinit system_call<DIR*(const char*)> system_opendir{"opendir"};
constinit system_call<scandir_type> system_scandir{"scandir"};
constinit system_call<int(DIR*, struct dirent*, struct dirent**)> system_readdir_r{"readdir_r"};
constinit system_call<void(DIR*)> system_rewinddir{"rewinddir"};
constinit system_call<void(DIR*, long)> system_seekdir{"seekdir"};
constinit system_call<long(DIR*)> system_telldir{"telldir"};
constinit system_call<int(DIR*)> system_dirfd{"dirfd"};

}  // namespace

extern "C" {

DIR* answer_opendir(const char* path) FREEHCA_INTERPOSE(opendir);
DIR* answer_fdopendir(int descriptor) FREEHCA_INTERPOSE(fdopendir);
int answer_closedir(DIR* stream) FREEHCA_INTERPOSE(closedir);
struct dirent* answer_readdir(DIR* stream) FREEHCA_INTERPOSE(readdir);
struct dirent* answer_readdir64(DIR* stream) FREEHCA_INTERPOSE(readdir64);
int answer_readdir_r(DIR* stream, struct dirent* entry, struct dirent** result)
    FREEHCA_INTERPOSE(readdir_r);
int answer_readdir64_r(DIR* stream, struct dirent* entry, struct dirent** result)
    FREEHCA_INTERPOSE(readdir64_r);
void answer_rewinddir(DIR* stream) FREEHCA_INTERPOSE(rewinddir);
void answer_seekdir(DIR* stream, long to) FREEHCA_INTERPOSE(seekdir);
long answer_telldir(DIR* stream) FREEHCA_INTERPOSE(telldir);
int answer_dirfd(DIR* stream) FREEHCA_INTERPOSE(dirfd);
int answer_scandir(const char* path, struct dirent*** to, filter selects, order compares)
    FREEHCA_INTERPOSE(scandir);
int answer_scandir64(const char* path, struct dirent*** to, filter selects, order compares)
    FREEHCA_INTERPOSE(scandir64);

DIR* answer_opendir(const char* path) {
  const place where = place_of(AT_FDCWD, path, true);
  if (where.error != 0) {
    errno = where.error;
    return nullptr;
  }
  if (where.in_tree) return open_place(where);
  return system_opendir(where.path.empty() ? path : where.path.c_str());
}

DIR* answer_fdopendir(int descriptor) {
  const std::string path =
      without_exceptions(std::string(), [&] { return opened_path(descriptor); });
  if (path.empty()) return system_fdopendir(descriptor);
  const place where = without_exceptions(place{.error = ENOMEM}, [&] { return find_clean(path); });
  // Of a file, the system says what it says of all files.
  if (!where.in_tree || where.entry.what != kind::folder) return system_fdopendir(descriptor);
  folder_stream* const made = without_exceptions(
      static_cast<folder_stream*>(nullptr), [&] { return folder_stream::open(descriptor, path); });
  return made != nullptr ? made->handle() : nullptr;
}

int answer_closedir(DIR* stream) {
  folder_stream* const folder = folder_stream::of(stream);
  return folder != nullptr ? folder->close() : system_closedir(stream);
}

struct dirent* answer_readdir(DIR* stream) {
  folder_stream* const folder = folder_stream::of(stream);
  if (folder == nullptr) return system_readdir(stream);
  return const_cast<struct dirent*>(folder->read());
}
struct dirent* answer_readdir64(DIR* stream) {
  return answer_readdir(stream);
}

int answer_readdir_r(DIR* stream, struct dirent* entry, struct dirent** result) {
  folder_stream* const folder = folder_stream::of(stream);
  if (folder == nullptr) return system_readdir_r(stream, entry, result);
  const struct dirent* const next = folder->read();
  if (next != nullptr) std::memcpy(entry, next, sizeof *next);
  *result = next != nullptr ? entry : nullptr;
  return 0;
}
int answer_readdir64_r(DIR* stream, struct dirent* entry, struct dirent** result) {
  return answer_readdir_r(stream, entry, result);
}

void answer_rewinddir(DIR* stream) {
  folder_stream* const folder = folder_stream::of(stream);
  if (folder == nullptr) return system_rewinddir(stream);
  // Without memory the stream has its old entries.
  without_exceptions(0, [&] {
    folder->rewind();
    return 0;
  });
  folder->seek(0);
}

void answer_seekdir(DIR* stream, long to) {
  folder_stream* const folder = folder_stream::of(stream);
  if (folder == nullptr) return system_seekdir(stream, to);
  folder->seek(to);
}

long answer_telldir(DIR* stream) {
  folder_stream* const folder = folder_stream::of(stream);
  return folder != nullptr ? folder->position() : system_telldir(stream);
}

int answer_dirfd(DIR* stream) {
  folder_stream* const folder = folder_stream::of(stream);
  return folder != nullptr ? folder->descriptor() : system_dirfd(stream);
}

int answer_scandir(const char* path, struct dirent*** to, filter selects, order compares) {
  const place where = place_of(AT_FDCWD, path, true);
  if (where.error != 0) {
    errno = where.error;
    return -1;
  }
  if (!where.in_tree)
    return system_scandir(where.path.empty() ? path : where.path.c_str(), to, selects, compares);
  DIR* const stream = open_place(where);
  return stream == nullptr ? -1 : scan(stream, to, selects, compares);
}
int answer_scandir64(const char* path, struct dirent*** to, filter selects, order compares) {
  return answer_scandir(path, to, selects, compares);
}

}  // extern "C"

}  // namespace freehca::ibverbs_files
