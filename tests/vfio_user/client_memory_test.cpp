// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a client may map, and what of it the function then sees.
#include "client_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "guarded_copy.hpp"
#include "served_program.hpp"

namespace freehca::device_server {
namespace {

using vfio_user::descriptor;
using vfio_user::dma_map;
using vfio_user::dma_readable;
using vfio_user::dma_writeable;
using vfio_user::shared_memory;

constexpr std::uint64_t page = 4096;
constexpr std::uint32_t both = dma_readable | dma_writeable;

// Memory behind messages: 64 KB from address 0 on.
struct behind_messages final : memory_messages {
  bool read(std::uint64_t address, void* to, std::size_t bytes) override {
    ++asked;
    std::memcpy(to, &all[address], bytes);
    return !refuses;
  }
  bool write(std::uint64_t address, const void* from, std::size_t bytes) override {
    ++asked;
    std::memcpy(&all[address], from, bytes);
    return !refuses;
  }
  std::vector<std::byte> all = std::vector<std::byte>(65536);
  unsigned asked = 0;
  bool refuses = false;
};

struct client_memory_test : ::testing::Test {
  int map(std::uint64_t address, std::uint64_t size, int file, std::uint64_t offset = 0,
          std::uint32_t flags = both) {
    std::vector<descriptor> files;
    if (file >= 0) files.emplace_back(dup(file));
    return memory.map({sizeof(dma_map), flags, offset, address, size}, files);
  }
  bool reads(std::uint64_t address, std::size_t bytes = 4) {
    std::vector<std::byte> to(bytes);
    return memory.read(address, to.data(), bytes);
  }

  behind_messages messages;
  client_memory memory{messages};
  shared_memory host{16 * page};
};

TEST_F(client_memory_test, mappings_are_seen_where_they_are_and_nowhere_else) {
  ASSERT_EQ(0, map(0x10000, 4 * page, host.file(), 2 * page));
  *host.at(2 * page) = std::byte{7};
  std::byte found{};
  EXPECT_TRUE(memory.read(0x10000, &found, 1));
  EXPECT_EQ(std::byte{7}, found);
  const std::uint64_t value = 0x1122334455667788;
  EXPECT_TRUE(memory.write(0x10000 + 4 * page - 8, &value, 8));
  EXPECT_EQ(0, std::memcmp(host.at(6 * page - 8), &value, 8));
  EXPECT_FALSE(reads(0xffff, 1));
  EXPECT_FALSE(reads(0x10000 + 4 * page, 1));
  EXPECT_FALSE(reads(0x10000 + 4 * page - 2, 4)) << "its last bytes are nowhere";
  EXPECT_FALSE(reads(~std::uint64_t{0} - 1, 4)) << "past the last address";
}

TEST_F(client_memory_test, an_access_goes_on_in_the_next_mapping) {
  ASSERT_EQ(0, map(0x0000, page, host.file(), 5 * page));
  ASSERT_EQ(0, map(page, page, -1));
  ASSERT_EQ(0, map(2 * page, page, host.file(), 0));
  std::vector<std::byte> sent(2 * page + 100), got(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7);
  EXPECT_TRUE(memory.write(page - 50, sent.data(), page + 100));
  EXPECT_TRUE(memory.read(page - 50, got.data(), page + 100));
  EXPECT_EQ(0, std::memcmp(sent.data(), got.data(), page + 100));
  EXPECT_EQ(2u, messages.asked);
  EXPECT_EQ(0, std::memcmp(host.at(6 * page - 50), sent.data(), 50));
  messages.refuses = true;
  EXPECT_FALSE(reads(page - 50, 100));
}

TEST_F(client_memory_test, overlaps_are_refused) {
  ASSERT_EQ(0, map(4 * page, 4 * page, -1));
  EXPECT_EQ(EEXIST, map(4 * page, 4 * page, -1));
  EXPECT_EQ(EEXIST, map(3 * page, 2 * page, -1));
  EXPECT_EQ(EEXIST, map(7 * page, page, -1));
  EXPECT_EQ(EEXIST, map(5 * page, page, -1));
  EXPECT_EQ(EEXIST, map(0, 16 * page, -1));
  EXPECT_EQ(0, map(3 * page, page, -1));
  EXPECT_EQ(0, map(8 * page, page, -1));
  EXPECT_EQ(3u, memory.count());
}

TEST_F(client_memory_test, what_makes_no_mapping) {
  EXPECT_EQ(EINVAL, map(0, 0, -1));
  EXPECT_EQ(EINVAL, map(0, page + 1, -1));
  EXPECT_EQ(EINVAL, map(1, page, -1));
  EXPECT_EQ(EINVAL, map(~std::uint64_t{0} - page + 1, 2 * page, -1)) << "past the last address";
  EXPECT_EQ(0, map(~std::uint64_t{0} - page + 1, page, -1)) << "up to the last address";
  EXPECT_EQ(EINVAL, map(0, page, -1, page)) << "an offset in no file";
  EXPECT_EQ(EINVAL, map(0, page, -1, 0, 0)) << "neither readable nor writeable";
  EXPECT_EQ(EINVAL, map(0, page, -1, 0, both | 4)) << "a flag that is not known";
  EXPECT_EQ(EINVAL, map(0, page, host.file(), 1));
  EXPECT_EQ(EINVAL, map(0, page, host.file(), 16 * page)) << "past the end of the file";
  EXPECT_EQ(EINVAL, map(0, 17 * page, host.file()));
  EXPECT_EQ(EINVAL, map(0, page, host.file(), ~std::uint64_t{0} - page + 1));
  std::vector<descriptor> two;
  two.emplace_back(dup(host.file()));
  two.emplace_back(dup(host.file()));
  EXPECT_EQ(EINVAL, memory.map({sizeof(dma_map), both, 0, 0, page}, two));
  EXPECT_EQ(EINVAL, memory.map({sizeof(dma_map) - 1, both, 0, 0, page}, {}));
  EXPECT_EQ(1u, memory.count());
}

TEST_F(client_memory_test, files_that_are_no_memory) {
  int ends[2];
  ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
  const descriptor one(ends[0]), other(ends[1]), event(eventfd(0, EFD_CLOEXEC)),
      place(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), zero(open("/dev/zero", O_RDWR));
  for (const descriptor* file : {&one, &event, &place, &zero})
    EXPECT_EQ(ENODEV, map(0, page, file->get()));
  EXPECT_EQ(0u, memory.count());
}

TEST_F(client_memory_test, rights_are_kept) {
  ASSERT_EQ(0, map(0, page, host.file(), 0, dma_readable));
  ASSERT_EQ(0, map(page, page, host.file(), page, dma_writeable));
  const std::uint32_t value = 1;
  EXPECT_TRUE(reads(0));
  EXPECT_FALSE(memory.write(0, &value, 4));
  EXPECT_FALSE(reads(page));
  EXPECT_TRUE(memory.write(page, &value, 4));
  EXPECT_FALSE(memory.write(page - 2, &value, 4)) << "its first bytes may not be written";
}

TEST_F(client_memory_test, a_file_that_may_not_be_written) {
  vfio_user::folder files;
  const std::string path = files.path("memory");
  const descriptor writer(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(0, ftruncate(writer.get(), page));
  const descriptor reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(EACCES, map(0, page, reader.get()));
  EXPECT_EQ(0, map(0, page, reader.get(), 0, dma_readable));
}

TEST_F(client_memory_test, unmapping) {
  for (const std::uint64_t at : {2u, 3u, 5u}) ASSERT_EQ(0, map(at * page, page, host.file()));
  ASSERT_EQ(0, map(8 * page, 2 * page, host.file()));
  EXPECT_TRUE(reads(8 * page));
  EXPECT_EQ(0, memory.unmap(0, 2 * page)) << "a virtual IOMMU takes back what it never gave";
  EXPECT_EQ(EINVAL, memory.unmap(8 * page, page)) << "a part of one";
  EXPECT_EQ(EINVAL, memory.unmap(9 * page, page));
  EXPECT_EQ(EINVAL, memory.unmap(5 * page, 4 * page)) << "one and a part of one";
  EXPECT_EQ(EINVAL, memory.unmap(0, 0));
  EXPECT_EQ(EINVAL, memory.unmap(page, ~std::uint64_t{0}));
  EXPECT_EQ(4u, memory.count());
  EXPECT_EQ(0, memory.unmap(8 * page, 2 * page));
  EXPECT_FALSE(reads(8 * page)) << "though it was the last that was used";
  EXPECT_EQ(0, memory.unmap(2 * page, 4 * page)) << "several, and what lies between them";
  EXPECT_EQ(0u, memory.count());
  EXPECT_EQ(0, memory.unmap(2 * page, page));
}

TEST_F(client_memory_test, no_more_than_that_many) {
  const std::uint64_t most = memory.greatest_count();
  for (std::uint64_t i = 0; i < most; ++i) ASSERT_EQ(0, map(i * page, page, -1));
  EXPECT_EQ(ENOSPC, map(most * page, page, -1));
}

TEST_F(client_memory_test, a_file_that_is_cut_short_behind_its_mapping) {
  guard_copies();
  ASSERT_EQ(0, map(0, 16 * page, host.file()));
  ASSERT_EQ(0, ftruncate(host.file(), page));
  std::vector<std::byte> much(2 * page);
  EXPECT_TRUE(reads(0));
  EXPECT_FALSE(reads(2 * page));
  EXPECT_FALSE(reads(2 * page, 8));
  EXPECT_FALSE(memory.read(0, much.data(), much.size()));
  EXPECT_FALSE(memory.write(0, much.data(), much.size()));
  EXPECT_FALSE(memory.write(3 * page, much.data(), 4));
  EXPECT_EQ(5u, memory.cut_short());
  EXPECT_TRUE(reads(0)) << "the rest goes on";
}

}  // namespace
}  // namespace freehca::device_server
