// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each file of a client is mapped once, whatever ranges of it the client maps.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "client_memory.hpp"
#include "failing_allocations.hpp"
#include "guarded_copy.hpp"
#include "huge_pages.hpp"

namespace freehca::device_server {
namespace {

using testing::failing_allocations;
using testing::huge_file;
using vfio_user::descriptor;
using vfio_user::dma_map;
using vfio_user::dma_readable;
using vfio_user::dma_writeable;

constexpr std::uint64_t page = 4096;
constexpr std::uint32_t both = dma_readable | dma_writeable;

struct no_messages final : memory_messages {
  bool read(std::uint64_t, void*, std::size_t) override { return false; }
  bool write(std::uint64_t, const void*, std::size_t) override { return false; }
};

// Mappings of the file in this process, as the kernel lists them.
std::size_t listed(int file) {
  struct stat about {};
  EXPECT_EQ(0, fstat(file, &about));
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device;
    ino_t inode = 0;
    words >> range >> rights >> offset >> device >> inode;
    count += inode == about.st_ino && line.find("/memfd:") != std::string::npos ? 1u : 0u;
  }
  return count;
}

descriptor make_file(std::uint64_t bytes, unsigned flags = 0) {
  descriptor file(memfd_create("a client's memory", MFD_CLOEXEC | flags));
  EXPECT_EQ(0, ftruncate(file.get(), static_cast<off_t>(bytes)));
  return file;
}

// Opened a second time: another description of the same file.
descriptor reopen(const descriptor& file, int mode) {
  return descriptor(open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), mode));
}

struct file_mappings_test : ::testing::Test {
  static int map(client_memory& to, std::uint64_t address, std::uint64_t size, int file,
                 std::uint64_t offset = 0, std::uint32_t flags = both) {
    std::vector<descriptor> files;
    files.emplace_back(dup(file));
    return to.map({sizeof(dma_map), flags, offset, address, size}, files);
  }
  int map(std::uint64_t address, std::uint64_t size, const descriptor& file,
          std::uint64_t offset = 0, std::uint32_t flags = both) {
    return map(memory, address, size, file.get(), offset, flags);
  }
  // A value written at an address is at this place of the file, and the other way round.
  static void expect_same(client_memory& in, std::uint64_t address, int file,
                          std::uint64_t offset) {
    const std::uint64_t written = 0x0123456789abcdef ^ address;
    std::uint64_t found = 0;
    ASSERT_TRUE(in.write(address, &written, sizeof written)) << std::hex << address;
    std::byte* const at = testing::look_at(file, offset);
    EXPECT_EQ(0, std::memcmp(at, &written, sizeof written)) << std::hex << offset;
    at[0] ^= std::byte{0xff};
    ASSERT_TRUE(in.read(address, &found, sizeof found));
    EXPECT_EQ(written ^ 0xff, found);
    testing::look_away();
  }
  void expect_same(std::uint64_t address, const descriptor& file, std::uint64_t offset) {
    expect_same(memory, address, file.get(), offset);
  }
  bool reads(std::uint64_t address) {
    std::uint64_t found = 0;
    return memory.read(address, &found, sizeof found);
  }

  no_messages messages;
  client_memory memory{messages, memory_limits{}};
};

TEST_F(file_mappings_test, as_many_pieces_as_are_announced_are_one_mapping) {
  constexpr std::uint64_t pieces = memory_limits::most_ranges;
  ASSERT_EQ(pieces, memory.greatest_count());
  const descriptor file = make_file(2 * pieces * page);
  // No piece borders on the one before it, in the file or in the addresses.
  for (std::uint64_t i = 0; i < pieces; ++i)
    ASSERT_EQ(0, map(2 * i * page, page, file, 2 * (pieces - 1 - i) * page)) << i;
  EXPECT_EQ(1u, listed(file.get()));
  EXPECT_EQ(1u, memory.files().count());
  for (const std::uint64_t i : {std::uint64_t{0}, pieces / 2, pieces - 1})
    expect_same(2 * i * page, file, 2 * (pieces - 1 - i) * page);
  EXPECT_FALSE(reads(page)) << "between two pieces, though its file is mapped there";
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(ENOSPC, map(2 * pieces * page, page, file));
  EXPECT_EQ(0, memory.unmap(0, page));
  EXPECT_EQ(0, map(2 * pieces * page, page, file));
  EXPECT_EQ(0, memory.unmap(0, 4 * pieces * page));
  EXPECT_EQ(0u, listed(file.get()));
}

TEST_F(file_mappings_test, a_mapping_goes_with_the_last_range_of_its_file_and_not_before) {
  const descriptor one = make_file(8 * page), other = make_file(8 * page);
  ASSERT_EQ(0, map(0, 2 * page, one));
  ASSERT_EQ(0, map(0x10000, 2 * page, one, 4 * page));
  ASSERT_EQ(0, map(0x20000, 2 * page, other));
  EXPECT_EQ(2u, memory.files().count());
  EXPECT_EQ(0, memory.unmap(0, 2 * page));
  EXPECT_FALSE(reads(0));
  expect_same(0x10000, one, 4 * page);
  expect_same(0x20000, other, 0);
  EXPECT_EQ(0, memory.unmap(0x10000, 2 * page));
  EXPECT_EQ(0u, listed(one.get()));
  EXPECT_EQ(1u, listed(other.get()));
  memory.clear();
  EXPECT_EQ(0u, listed(other.get()));
}

TEST_F(file_mappings_test, ranges_may_share_pages_of_a_file) {
  const descriptor file = make_file(8 * page);
  ASSERT_EQ(0, map(0, 4 * page, file));
  ASSERT_EQ(0, map(0x10000, 4 * page, file, 2 * page));
  ASSERT_EQ(0, map(0x20000, page, file, 3 * page, dma_readable));
  const std::uint32_t written = 7;
  std::uint32_t found = 0;
  ASSERT_TRUE(memory.write(3 * page, &written, 4));
  for (const std::uint64_t address : {0x10000 + page, std::uint64_t{0x20000}}) {
    ASSERT_TRUE(memory.read(address, &found, 4));
    EXPECT_EQ(written, found);
  }
  EXPECT_FALSE(memory.write(0x20000, &written, 4)) << "this range is not writeable";
  EXPECT_EQ(0, memory.unmap(0, 4 * page));
  ASSERT_TRUE(memory.read(0x20000, &found, 4));
  EXPECT_EQ(1u, listed(file.get()));
}

TEST_F(file_mappings_test, a_file_that_has_grown_is_mapped_again_for_the_range_that_needs_it) {
  const descriptor file = make_file(page);
  ASSERT_EQ(0, map(0, page, file));
  ASSERT_EQ(EINVAL, map(page, page, file, page)) << "past the end";
  for (std::uint64_t pages = 2; pages < 300; pages = pages * 3 / 2 + 1) {
    ASSERT_EQ(0, ftruncate(file.get(), static_cast<off_t>(pages * page)));
    ASSERT_EQ(0, map(pages * 2 * page, page, file, (pages - 1) * page));
    EXPECT_EQ(1u, listed(file.get()));
    expect_same(pages * 2 * page, file, (pages - 1) * page);
    expect_same(0, file, 0);
  }
  EXPECT_EQ(1u, memory.files().count());
}

TEST_F(file_mappings_test, a_file_is_known_by_its_inode_and_its_rights) {
  const descriptor file = make_file(4 * page), writer = reopen(file, O_RDWR),
                   reader = reopen(file, O_RDONLY), only_writer = reopen(file, O_WRONLY);
  ASSERT_EQ(0, map(0, page, file));
  ASSERT_EQ(0, map(0x10000, page, writer, page));
  EXPECT_EQ(1u, listed(file.get()));
  ASSERT_EQ(0, map(0x20000, page, reader, 2 * page, dma_readable));
  ASSERT_EQ(0, map(0x30000, page, reader, 3 * page, dma_readable));
  EXPECT_EQ(2u, listed(file.get()));
  EXPECT_EQ(EACCES, map(0x40000, page, reader));
  EXPECT_EQ(EACCES, map(0x40000, page, only_writer));
  EXPECT_EQ(EACCES, map(0x40000, page, only_writer, 0, dma_readable));
  EXPECT_EQ(EBADF, map(0x40000, page, reopen(file, O_PATH), 0, dma_readable));
  const std::uint64_t value = 1;
  EXPECT_TRUE(reads(0x30000));
  EXPECT_FALSE(memory.write(0x30000, &value, sizeof value));
  EXPECT_EQ(4u, memory.count());
}

// A client may keep the right to write for itself.
TEST_F(file_mappings_test, a_file_that_is_sealed_against_writing_can_be_read) {
  const descriptor file = make_file(4 * page, MFD_ALLOW_SEALING);
  ASSERT_EQ(0, fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE));
  EXPECT_EQ(EPERM, map(0, page, file));
  EXPECT_EQ(0, map(0, page, file, 0, dma_readable));
  EXPECT_EQ(0, map(page, page, file, page, dma_readable));
  EXPECT_TRUE(reads(0));
  EXPECT_EQ(1u, listed(file.get()));
}

// Of 4 EiB no processor has the addresses.
TEST_F(file_mappings_test, a_file_that_cannot_be_mapped_whole_has_a_mapping_for_each_range) {
  constexpr std::uint64_t far = 1ull << 61;
  const descriptor file = make_file(2 * far), small = make_file(page);
  client_memory few(messages, {memory_limits::most_ranges, 3});
  ASSERT_EQ(0, map(few, 0, 2 * page, file.get()));
  ASSERT_EQ(0, map(few, 0x10000, page, file.get(), far));
  EXPECT_EQ(2u, listed(file.get()));
  expect_same(few, page, file.get(), page);
  expect_same(few, 0x10000, file.get(), far);
  ASSERT_EQ(0, map(few, 0x20000, page, small.get()));
  EXPECT_EQ(ENOSPC, map(few, 0x30000, page, file.get(), page));
  EXPECT_EQ(0, map(few, 0x40000, page, small.get())) << "it needs no mapping more";
  EXPECT_EQ(4u, few.count());
  EXPECT_EQ(0, few.unmap(0x10000, page));
  EXPECT_EQ(1u, listed(file.get()));
  EXPECT_EQ(0, map(few, 0x30000, page, file.get(), page));
  expect_same(few, 0x30000, file.get(), page);
}

TEST_F(file_mappings_test, a_file_that_is_cut_short_fails_where_it_is_cut_and_nowhere_else) {
  guard_copies();
  const descriptor file = make_file(8 * page), other = make_file(8 * page);
  ASSERT_EQ(0, map(0, 2 * page, file));
  ASSERT_EQ(0, map(0x10000, 2 * page, file, 6 * page));
  ASSERT_EQ(0, map(0x20000, 8 * page, other));
  ASSERT_EQ(0, ftruncate(file.get(), 2 * page));
  EXPECT_FALSE(reads(0x10000));
  EXPECT_EQ(1u, memory.cut_short());
  EXPECT_EQ(EINVAL, map(0x30000, page, file, 2 * page)) << "there is no such place any more";
  expect_same(page, file, page);
  expect_same(0x20000, other, 0);
  EXPECT_EQ(0, memory.unmap(0x10000, 2 * page));
  expect_same(page, file, page);
  ASSERT_EQ(0, ftruncate(file.get(), 8 * page));
  ASSERT_EQ(0, map(0x10000, 2 * page, file, 6 * page)) << "grown to where it was";
  expect_same(0x10000, file, 6 * page);
  EXPECT_EQ(1u, listed(file.get()));
}

// QEMU's first pieces of a guest begin at 768 KiB and at 1 MiB; a guest's IOMMU cuts anywhere.
TEST_F(file_mappings_test, ranges_of_huge_pages_begin_and_end_anywhere) {
  const huge_file file(4);
  client_memory huge(messages, memory_limits{}, file.calls());
  const std::uint64_t size = file.bytes();
  struct {
    std::uint64_t offset, bytes;
  } const pieces[] = {{0, 0xa0000},           {0xc0000, page},
                      {0x100000, size / 2},   {size - 3 * page, 3 * page},
                      {size / 2, page},       {size / 2 - page, 5 * page},
                      {size / 2 + page, page}};
  // What was not unmapped would stay for each round.
  for (unsigned round = 0; round < 50; ++round) {
    std::uint64_t address = 0;
    for (const auto& [offset, bytes] : pieces) {
      ASSERT_EQ(0, map(huge, address, bytes, file.get(), offset)) << std::hex << offset;
      expect_same(huge, address, file.get(), offset);
      expect_same(huge, address + bytes - 8, file.get(), offset + bytes - 8);
      address += 0x10000000;
    }
    EXPECT_EQ(1u, huge.files().count());
    for (std::uint64_t at = 0; at < address; at += 0x20000000)
      ASSERT_EQ(0, huge.unmap(at, pieces[at / 0x10000000].bytes));
    expect_same(huge, 0x10000000, file.get(), pieces[1].offset);
    huge.clear();
    ASSERT_EQ(0u, file.mappings());
    ASSERT_EQ(0u, huge.files().count());
  }
}

TEST_F(file_mappings_test, a_file_of_huge_pages_grows_in_huge_pages) {
  huge_file file(1);
  client_memory huge(messages, memory_limits{}, file.calls());
  ASSERT_EQ(0, map(huge, 0, page, file.get(), 3 * page));
  file.grow(3);
  ASSERT_EQ(0, map(huge, 0x10000000, page, file.get(), file.bytes() - page));
  expect_same(huge, 0, file.get(), 3 * page);
  expect_same(huge, 0x10000000, file.get(), file.bytes() - page);
  EXPECT_EQ(1u, huge.files().count());
  huge.clear();
  EXPECT_EQ(0u, file.mappings());
}

TEST_F(file_mappings_test, a_range_of_huge_pages_may_have_a_mapping_of_its_own) {
  const huge_file file(4);
  mapping_calls calls = file.calls();
  static mapping_calls before;
  before = calls;
  // No room for more than one huge page.
  calls.map = [](void* address, std::size_t bytes, int protection, int flags, int of,
                 off_t offset) {
    errno = ENOMEM;
    return bytes > huge_file::page ? MAP_FAILED
                                   : before.map(address, bytes, protection, flags, of, offset);
  };
  client_memory huge(messages, memory_limits{}, calls);
  for (unsigned round = 0; round < 50; ++round) {
    ASSERT_EQ(0, map(huge, 0, page, file.get(), 0xc0000));
    ASSERT_EQ(0, map(huge, 0x10000, 3 * page, file.get(), file.bytes() - 3 * page));
    EXPECT_EQ(ENOMEM, map(huge, 0x20000, 2 * page, file.get(), huge_file::page - page))
        << "on two huge pages";
    EXPECT_EQ(2u, huge.files().count());
    expect_same(huge, 0, file.get(), 0xc0000);
    expect_same(huge, 0x10000 + 3 * page - 8, file.get(), file.bytes() - 8);
    huge.clear();
    ASSERT_EQ(0u, file.mappings());
  }
}

// The kernel refuses it where it would have to split a mapping and there may be no more.
TEST_F(file_mappings_test, what_munmap_did_not_remove_counts_and_is_removed_later) {
  static unsigned refusals;
  refusals = 4;
  mapping_calls calls;
  calls.unmap = [](void* at, std::size_t bytes) {
    if (refusals == 0) return munmap(at, bytes);
    --refusals;
    errno = ENOMEM;
    return -1;
  };
  const descriptor one = make_file(page), other = make_file(page), third = make_file(page);
  client_memory two(messages, {memory_limits::most_ranges, 2}, calls);
  ASSERT_EQ(0, map(two, 0, page, one.get()));
  ASSERT_EQ(0, two.unmap(0, page));
  EXPECT_EQ(1u, two.files().not_unmapped());
  EXPECT_EQ(1u, listed(one.get()));
  ASSERT_EQ(0, map(two, 0, page, other.get()));
  EXPECT_EQ(ENOSPC, map(two, page, page, third.get()));
  EXPECT_EQ(2u, two.files().count());
  expect_same(two, 0, other.get(), 0);
  refusals = 0;
  EXPECT_EQ(0, map(two, page, page, third.get()));
  EXPECT_EQ(0u, two.files().not_unmapped());
  EXPECT_EQ(0u, listed(one.get()));
}

TEST_F(file_mappings_test, an_allocation_that_fails_leaves_everything_as_it_was) {
  const descriptor file = make_file(page);
  ASSERT_EQ(0, map(0x100000, page, make_file(page)));
  std::vector<descriptor> files;
  files.emplace_back(dup(file.get()));
  unsigned refusals = 0;
  // To grow, and as the first range.
  for (const std::uint64_t offset : {std::uint64_t{0}, page}) {
    ASSERT_EQ(0, ftruncate(file.get(), static_cast<off_t>(offset + page)));
    const dma_map what{sizeof(dma_map), both, offset, offset, page};
    const std::size_t before = memory.count(), listed_before = listed(file.get());
    for (std::size_t good = 0;; ++good) {
      int why = 0;
      {
        const failing_allocations none(good, failing_allocations::how::always);
        why = memory.map(what, files);
      }
      if (why == 0) break;
      ++refusals;
      ASSERT_EQ(ENOMEM, why);
      EXPECT_EQ(before, memory.count());
      EXPECT_EQ(listed_before, listed(file.get()));
    }
    expect_same(offset, file, offset);
  }
  EXPECT_GE(refusals, 4u);
  memory.clear();
  EXPECT_EQ(0u, listed(file.get()));
}

TEST(memory_limits, follow_what_the_process_may_have) {
  EXPECT_EQ(memory_limits::most_ranges, memory_limits::ranges_for(~std::uint64_t{0}));
  EXPECT_EQ(1u, memory_limits::ranges_for(0));
  const std::uint64_t bytes = 64u << 20;
  EXPECT_EQ(bytes / 4 / memory_limits::bytes_per_range, memory_limits::ranges_for(bytes));
  EXPECT_EQ(64530u, memory_limits::mappings_for("65530"));
  EXPECT_EQ(1u, memory_limits::mappings_for("1000"));
  EXPECT_EQ(64530u, memory_limits::mappings_for(""));
}

}  // namespace
}  // namespace freehca::device_server
