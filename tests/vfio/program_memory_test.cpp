// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory of the program that the device uses over VFIO: rights, addresses, messages, and threads
// that map at the same time.
#include <sys/mman.h>

#include <cerrno>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fake_vfio.hpp"

namespace freehca::vfio_host {
namespace {

using freehca::testing::fake_vfio;
using freehca::testing::page;

class program_memory_test : public ::testing::Test {
 protected:
  void SetUp() override {
    device = kernel.open();
    ASSERT_NE(device, nullptr);
    before = kernel.mapped();
  }
  void TearDown() override { EXPECT_EQ(kernel.mapped(), before); }
  status map(std::byte* at, std::size_t bytes, std::uint64_t* address, bool write = true) {
    const platform_operations& to = *device->platform().operations;
    return (write ? to.map_memory : to.map_read_only_memory)(device.get(), at, bytes, address);
  }
  status unmap(std::uint64_t address, std::size_t bytes) {
    return device->platform().operations->unmap_memory(device.get(), address, bytes);
  }
  void expect_refusal(std::byte* at, std::size_t bytes, bool write, const std::string& words) {
    std::uint64_t address = 0;
    const status s = map(at, bytes, &address, write);
    EXPECT_TRUE(s.is(transport_error::refused));
    EXPECT_EQ(s.where(), static_cast<unsigned>(EFAULT));
    EXPECT_NE(device->last_refusal().find(words), std::string::npos) << device->last_refusal();
  }

  fake_vfio kernel;
  std::unique_ptr<vfio_device> device;
  std::size_t before = 0;
};

std::byte* mapped_pages(std::size_t count, int rights = PROT_READ | PROT_WRITE) {
  void* const at = mmap(nullptr, count * page, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

TEST_F(program_memory_test, is_read_only_for_the_device_if_it_is_asked_for_so) {
  std::byte* const writable = mapped_pages(1);
  std::byte* const read_only = mapped_pages(1, PROT_READ);
  std::uint64_t a = 0, b = 0, c = 0;
  ASSERT_TRUE(map(writable, page, &a).ok());
  ASSERT_TRUE(map(writable, page, &b, false).ok());
  ASSERT_TRUE(map(read_only, page, &c, false).ok()) << device->last_refusal();
  EXPECT_TRUE(kernel.may_write(a));
  EXPECT_FALSE(kernel.may_write(b));
  EXPECT_FALSE(kernel.may_write(c));
  EXPECT_EQ(device->lent_bytes(), 3 * page);
  for (const std::uint64_t one : {a, b, c}) EXPECT_TRUE(unmap(one, page).ok());
  EXPECT_EQ(device->lent_bytes(), 0u);
}

TEST_F(program_memory_test, is_refused_with_the_right_that_is_missing) {
  expect_refusal(mapped_pages(2, PROT_READ), 2 * page, true, "may not write a page of it");
  expect_refusal(mapped_pages(2, PROT_NONE), 2 * page, false, "may not read it");
  std::byte* const holed = mapped_pages(3);
  munmap(holed + page, page);
  expect_refusal(holed, 3 * page, true, "a page of it is not there");
}

// A large page of the IOMMU, and of a region, needs the same offset on both sides.
TEST_F(program_memory_test, has_addresses_that_agree_with_pointers) {
  constexpr std::size_t large = std::size_t{2} << 20;
  std::byte* const memory = mapped_pages(4 * large / page);
  for (const std::size_t offset : {std::size_t{0}, page, 100 * page, large}) {
    std::uint64_t address = 0;
    ASSERT_TRUE(map(memory + offset, large, &address).ok()) << device->last_refusal();
    EXPECT_EQ(address % large, reinterpret_cast<std::uintptr_t>(memory + offset) % large);
    EXPECT_TRUE(unmap(address, large).ok());
  }
}

TEST_F(program_memory_test, has_other_addresses_where_none_agree) {
  kernel.ranges = {{0, 0x7ffff}};
  device = nullptr;
  device = kernel.open();
  ASSERT_NE(device, nullptr);
  before = kernel.mapped();
  std::byte* const memory = mapped_pages(128);
  std::uint64_t address = 0;
  ASSERT_TRUE(map(memory, 65 * page, &address).ok()) << device->last_refusal();
  EXPECT_TRUE(unmap(address, 65 * page).ok());
}

TEST_F(program_memory_test, is_mapped_by_several_threads_at_a_time) {
  std::byte* const memory = mapped_pages(8);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([this, memory, t] {
      for (unsigned i = 0; i < 200; ++i) {
        std::uint64_t address = 0;
        EXPECT_TRUE(map(memory + t * page, 4 * page, &address, t % 2 == 0).ok());
        EXPECT_TRUE(unmap(address, 4 * page).ok());
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace freehca::vfio_host
