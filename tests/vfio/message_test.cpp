// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The check of the traffic finds what it is there to find.
#include <freehca/loopback_traffic/message.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace freehca::loopback_traffic {
namespace {

// Plain memory: the addresses are made up, and only their order matters.
status allocate(void*, std::size_t bytes, std::size_t alignment, dma_region* block) {
  *block = {static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)), 0x100000, bytes};
  return {};
}
void release(void*, const dma_region& block) {
  std::free(block.host);
}
constexpr platform_operations plain = {.allocate_dma = allocate, .free_dma = release};

TEST(scattered_memory, no_two_neighbours_are_neighbours_for_the_device) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    for (const std::size_t pages : {3u, 8u, 61u, 1000u}) {
      scattered_memory memory;
      ASSERT_TRUE(memory.allocate({&plain, nullptr}, pages * scattered_memory::page, seed).ok());
      const page_list list = memory.pages();
      for (std::size_t i = 1; i < list.pages(); ++i)
        ASSERT_NE(list.page(i), list.page(i - 1) + scattered_memory::page)
            << seed << ' ' << pages << ' ' << i;
    }
}

class message_test : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(memory.allocate({&plain, nullptr}, std::size_t{1} << 17, 3).ok());
    m = {.number = 41, .offset = 4096 + 77, .bytes = GetParam()};
    m.write(memory);
    m.write_guards(memory);
  }
  void flip(std::size_t offset) {
    std::byte b;
    memory.load(offset, &b, 1);
    b ^= std::byte{1};
    memory.store(offset, &b, 1);
  }
  scattered_memory memory;
  message m;
};

TEST_P(message_test, what_was_written_passes) {
  EXPECT_EQ(m.check(memory), "");
}

TEST_P(message_test, each_wrong_byte_is_found) {
  for (std::size_t i = 0; i<m.bytes; i += m.bytes> 1000 ? 997 : 1) {
    flip(m.offset + i);
    EXPECT_NE(m.check(memory).find("byte " + std::to_string(i) + " "), std::string::npos);
    flip(m.offset + i);
  }
  EXPECT_EQ(m.check(memory), "");
}

TEST_P(message_test, each_byte_around_it_is_guarded) {
  for (std::size_t i = 1; i <= message::guard; ++i) {
    flip(m.offset - i);
    EXPECT_NE(m.check(memory), "");
    flip(m.offset - i);
    flip(m.offset + m.bytes + i - 1);
    EXPECT_NE(m.check(memory), "");
    flip(m.offset + m.bytes + i - 1);
  }
}

TEST_P(message_test, an_older_message_in_its_place_is_found) {
  if (m.bytes == 0) return;  // has no bytes that could be older
  message next = m;
  next.number = m.number + 1;
  EXPECT_NE(next.check(memory), "");
}

INSTANTIATE_TEST_SUITE_P(sizes, message_test,
                         ::testing::Values(0, 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, 65536));

}  // namespace
}  // namespace freehca::loopback_traffic
