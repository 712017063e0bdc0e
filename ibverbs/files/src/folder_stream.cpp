// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "folder_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>

#include "answers.hpp"
#include "descriptors.hpp"
#include "lock.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

/// The first of the open streams. Written under the lock; read without it only to see that there
/// is none.
constinit std::atomic<folder_stream*> first{nullptr};

unsigned char type_of(kind what) {
  switch (what) {
    case kind::folder:
      return DT_DIR;
    case kind::file:
      return DT_REG;
    case kind::link:
      return DT_LNK;
    case kind::device:
      return DT_CHR;
  }
  return DT_UNKNOWN;
}

struct dirent entry_of(const std::string& name, ino_t inode, unsigned char type) {
  struct dirent entry = {};
  entry.d_ino = inode;
  entry.d_reclen = sizeof entry;
  entry.d_type = type;
  // A longer name than 255 bytes exists in no folder.
  std::memcpy(entry.d_name, name.data(), std::min(name.size(), sizeof entry.d_name - 1));
  return entry;
}

struct close_stream {
  void operator()(DIR* stream) const { system_closedir(stream); }
};

/// Entries of the system's folder behind the descriptor, "." and ".." included.
std::vector<struct dirent> entries_of_system(int descriptor) {
  std::vector<struct dirent> entries;
  const int own = system_openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  if (own < 0) return entries;
  const std::unique_ptr<DIR, close_stream> stream(system_fdopendir(own));
  if (stream == nullptr) {
    ::close(own);
    return entries;
  }
  while (const struct dirent* entry = system_readdir(stream.get()))
    entries.push_back(entry_of(entry->d_name, entry->d_ino, entry->d_type));
  return entries;
}

}  // namespace

folder_stream* folder_stream::open(int descriptor, const std::string& path) {
  std::unique_ptr<folder_stream> made(new folder_stream(descriptor, path));
  made->rewind();
  const lock held;
  made->next_ = first.load(std::memory_order_relaxed);
  first.store(made.get(), std::memory_order_release);
  return made.release();
}

folder_stream* folder_stream::of(DIR* stream) noexcept {
  if (first.load(std::memory_order_acquire) == nullptr) return nullptr;
  const lock held;
  for (folder_stream* s = first.load(std::memory_order_relaxed); s != nullptr; s = s->next_)
    if (s->handle() == stream) return s;
  return nullptr;
}

int folder_stream::close() {
  {
    const lock held;
    folder_stream* before = nullptr;
    for (folder_stream* s = first.load(std::memory_order_relaxed); s != this; s = s->next_)
      before = s;
    if (before == nullptr) first.store(next_, std::memory_order_release);
    else before->next_ = next_;
  }
  const int descriptor = descriptor_;
  delete this;
  return ::close(descriptor);
}

void folder_stream::rewind() {
  const int before = errno;
  const std::map<std::string, node> own = entries_of(path_);
  std::vector<struct dirent> entries = entries_of_system(descriptor_);
  std::erase_if(entries, [&](const struct dirent& e) { return own.contains(e.d_name); });
  if (entries.empty())
    for (const char* name : {".", ".."})
      entries.push_back(entry_of(name, inode_of(path_ + "/" + name), DT_DIR));
  for (const auto& [name, what] : own)
    entries.push_back(
        entry_of(name, inode_of((path_ == "/" ? "" : path_) + "/" + name), type_of(what.what)));
  entries_ = std::move(entries);
  at_ = 0;
  errno = before;
}

const struct dirent* folder_stream::read() noexcept {
  return at_ < entries_.size() ? &entries_[at_++] : nullptr;
}

void folder_stream::seek(long to) noexcept {
  at_ = std::min(static_cast<std::size_t>(to < 0 ? 0 : to), entries_.size());
}

}  // namespace freehca::ibverbs_files
