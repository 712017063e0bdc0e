// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "descriptors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "lock.hpp"
#include "system_calls.hpp"

namespace freehca::ibverbs_files {
namespace {

struct opened {
  dev_t device = 0;
  ino_t inode = 0;
  bool has_name = false;  ///< the file system has a name for it
  std::string path = {};
};

constexpr std::size_t most_opened = 1024;
using table = std::array<opened, most_opened>;

/// Never freed: descriptors are used until the process has ended. Under the lock.
constinit table* all = nullptr;
constinit std::size_t next = 0;
constinit std::atomic<bool> any{false};

/// Remembers the descriptor's inode. False, with errno and the descriptor closed: it has no status.
bool record(int descriptor, const std::string& path) {
  struct stat status;
  if (system_fstat(descriptor, &status) != 0) {
    const int why = errno;
    close(descriptor);
    errno = why;
    return false;
  }
  opened entry{status.st_dev, status.st_ino, status.st_nlink != 0, path};
  const lock held;
  if (all == nullptr) all = new table;
  std::size_t at = next;
  for (std::size_t i = 0; i != most_opened; ++i)
    if ((*all)[i].device == entry.device && (*all)[i].inode == entry.inode) at = i;
  if (at == next) next = (next + 1) % most_opened;
  std::swap((*all)[at], entry);
  any.store(true, std::memory_order_release);
  return true;
}

std::string path_of(const struct stat& status) {
  const lock held;
  if (all == nullptr) return "";
  for (const opened& o : *all)
    if (o.inode == status.st_ino && o.device == status.st_dev && !o.path.empty() &&
        o.has_name == (status.st_nlink != 0))
      return o.path;
  return "";
}

/// Opens what the descriptor is open on once more, with other flags. Takes the descriptor.
int reopened(int descriptor, int flags) {
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  const int again = system_openat(AT_FDCWD, name, flags);
  // Without /proc the descriptor itself serves; the seals keep its content.
  if (again < 0) return descriptor;
  close(descriptor);
  return again;
}

bool write_whole(int descriptor, const std::string& content) {
  std::size_t done = 0;
  while (done != content.size()) {
    const ssize_t n =
        pwrite(descriptor, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// An open folder without entries and without a name.
int open_removed_folder(int flags) {
  const char* chosen = std::getenv("TMPDIR");
  for (const char* base : {"/dev/shm", chosen != nullptr ? chosen : "/tmp", "/tmp"}) {
    std::string name = std::string(base) + "/freehca-folder-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) continue;
    const int descriptor = system_openat(AT_FDCWD, name.c_str(), flags | O_DIRECTORY);
    const int why = errno;
    rmdir(name.c_str());
    errno = why;
    return descriptor;
  }
  return -1;
}

}  // namespace

int open_file(const std::string& path, const std::string& content, int flags) {
  const int made = memfd_create("freehca", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0) return -1;
  if (!write_whole(made, content) ||
      fcntl(made, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    const int why = errno;
    close(made);
    errno = why;
    return -1;
  }
  // The name in /proc is a link, which O_NOFOLLOW would refuse.
  const int descriptor = reopened(made, flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL | O_DIRECT));
  if (descriptor == made && (flags & O_CLOEXEC) == 0) fcntl(made, F_SETFD, 0);
  return record(descriptor, path) ? descriptor : -1;
}

int open_folder(const std::string& path, int flags) {
  int descriptor = system_openat(AT_FDCWD, path.c_str(), flags);
  if (descriptor < 0) {
    if (errno != ENOENT && errno != ENOTDIR) return -1;
    descriptor = open_removed_folder(flags);
  }
  if (descriptor < 0) return -1;
  return record(descriptor, path) ? descriptor : -1;
}

bool system_has_folder(const std::string& path) {
  const int before = errno;
  struct stat status;
  const bool has =
      system_fstatat(AT_FDCWD, path.c_str(), &status, 0) == 0 && S_ISDIR(status.st_mode);
  errno = before;
  return has;
}

bool any_entry_open() noexcept {
  return any.load(std::memory_order_acquire);
}

std::string opened_path(int descriptor) {
  if (!any_entry_open()) return "";
  const int before = errno;
  struct stat status;
  const int known = descriptor == AT_FDCWD ? system_fstatat(AT_FDCWD, ".", &status, 0)
                                           : system_fstat(descriptor, &status);
  errno = before;
  return known == 0 ? path_of(status) : "";
}

std::string opened_path_without_name(const struct stat& status) {
  if (!any_entry_open() || status.st_nlink != 0) return "";
  return path_of(status);
}

}  // namespace freehca::ibverbs_files
