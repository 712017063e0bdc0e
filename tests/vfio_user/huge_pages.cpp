// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "huge_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace freehca::testing {
namespace {

constexpr std::uint64_t page = huge_file::page;

int status(int file, struct stat* about) {
  const int failed = fstat(file, about);
  about->st_blksize = page;
  return failed;
}

// Huge pages lie at multiples of their size in memory too.
void* map(void*, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if (offset % static_cast<off_t>(page) != 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  bytes = (bytes + page - 1) / page * page;
  void* room =
      mmap(nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  auto* const begin = static_cast<std::byte*>(room);
  const std::uint64_t before = (page - reinterpret_cast<std::uintptr_t>(room) % page) % page;
  if (before != 0) munmap(begin, before);
  if (before != page) munmap(begin + before + bytes, page - before);
  return mmap(begin + before, bytes, protection, flags | MAP_FIXED, file, offset);
}

int unmap(void* at, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(at) % page != 0 || bytes % page != 0) {
    errno = EINVAL;
    return -1;
  }
  return munmap(at, bytes);
}

vfio_user::descriptor real_file(std::uint64_t bytes) {
  vfio_user::descriptor file(memfd_create("huge pages", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB));
  if (file.open() && fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) != 0) file.close();
  return file;
}

void* looked_at = nullptr;

}  // namespace

huge_file::huge_file(std::uint64_t pages) {
  // Room for what grow() may ask for.
  constexpr std::uint64_t most = 4 * page;
  real_ = real_file(most).open();
  file_ = real_ ? real_file(pages * page)
                : vfio_user::descriptor(memfd_create("huge pages", MFD_CLOEXEC));
  std::printf("huge pages: %s\n", real_ ? "of the machine (MFD_HUGETLB)" : "by a shim");
  grow(pages);
}

void huge_file::grow(std::uint64_t pages) {
  bytes_ = pages * page;
  EXPECT_EQ(0, ftruncate(file_.get(), static_cast<off_t>(bytes_)));
}

device_server::mapping_calls huge_file::calls() const {
  device_server::mapping_calls shim;
  shim.status = status;
  shim.map = map;
  shim.unmap = unmap;
  return real_ ? device_server::mapping_calls{} : shim;
}

std::size_t huge_file::mappings() const {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("/memfd:huge pages") != std::string::npos ? 1u : 0u;
  return count;
}

std::byte* look_at(int file, std::uint64_t offset) {
  const std::uint64_t within = offset % page;
  looked_at = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                   static_cast<off_t>(offset - within));
  EXPECT_NE(MAP_FAILED, looked_at);
  return static_cast<std::byte*>(looked_at) + within;
}

void look_away() {
  EXPECT_EQ(0, munmap(looked_at, page));
}

}  // namespace freehca::testing
