// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/vfio_host/iova_allocator.hpp>

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace freehca::vfio_host {
namespace {

constexpr std::uint64_t page = iova_allocator::page;

TEST(iova_allocator, never_gives_address_zero) {
  iova_allocator a({{0, 0xffff}});
  EXPECT_EQ(a.take(page, page), page);
}

TEST(iova_allocator, stays_out_of_the_windows_between_ranges) {
  // x86: the window of interrupt messages.
  iova_allocator a({{0, 0xfedfffff}, {0xfef00000, 0x7fffffffff}});
  const auto low = a.take(0xfedff000, page);
  ASSERT_TRUE(low);
  EXPECT_EQ(*low, page);
  const auto high = a.take(page, page);
  ASSERT_TRUE(high);
  EXPECT_EQ(*high, 0xfef00000u);
  EXPECT_FALSE(a.take(std::uint64_t{1} << 40, page));
}

TEST(iova_allocator, aligns) {
  iova_allocator a({{0x1000, 0xffffffff}});
  const auto at = a.take(page, std::uint64_t{1} << 20);
  ASSERT_TRUE(at);
  EXPECT_EQ(*at, std::uint64_t{1} << 20);
  EXPECT_EQ(a.take(page, page), page) << "the gap before the aligned piece is still free";
}

TEST(iova_allocator, places_a_piece_behind_a_multiple) {
  iova_allocator a({{0x1000, 0xffffffff}});
  constexpr std::uint64_t large = std::uint64_t{1} << 21;
  EXPECT_EQ(a.take(large, large, 3 * page), 3 * page);
  EXPECT_EQ(a.take(large, large, 3 * page), large + 3 * page);
  EXPECT_EQ(a.take(page, large, page), page) << "the gap before is still free";
  EXPECT_EQ(a.take(page, large, page), 2 * large + 3 * page + (large - 2 * page));
  EXPECT_FALSE(a.take(page, large, large));
  EXPECT_FALSE(a.take(page, large, 1));
}

TEST(iova_allocator, refuses_sizes_and_alignments_that_make_no_sense) {
  iova_allocator a({{0, 0xffffffff}});
  EXPECT_FALSE(a.take(0, page));
  EXPECT_FALSE(a.take(page + 1, page));
  EXPECT_FALSE(a.take(page, page + 1));
  EXPECT_FALSE(a.take(page, 1));
  EXPECT_FALSE(a.give_back(page, page)) << "nothing was taken there";
}

TEST(iova_allocator, survives_ranges_at_the_ends_of_the_address_space) {
  iova_allocator a({{~std::uint64_t{0} - 10, ~std::uint64_t{0}}, {5, 4}, {100, 200}});
  EXPECT_FALSE(a.take(page, page));
}

TEST(iova_allocator, pieces_never_overlap_and_all_comes_back) {
  std::mt19937_64 random(7);
  iova_allocator a({{0x10000, 0x4ffff}, {0x60000, 0x9ffff}});
  struct piece {
    std::uint64_t at, bytes;
  };
  std::vector<piece> taken;
  unsigned refused = 0;
  for (int i = 0; i < 5000; ++i) {
    if (!taken.empty() && random() % 2 == 0) {
      const std::size_t victim = random() % taken.size();
      ASSERT_TRUE(a.give_back(taken[victim].at, taken[victim].bytes));
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(victim));
      continue;
    }
    const std::uint64_t bytes = (1 + random() % 8) * page, alignment = page << random() % 4;
    const auto at = a.take(bytes, alignment);
    if (!at) {
      ++refused;
      continue;
    }
    ASSERT_EQ(*at % alignment, 0u);
    ASSERT_TRUE((*at >= 0x10000 && *at + bytes <= 0x50000) ||
                (*at >= 0x60000 && *at + bytes <= 0xa0000));
    for (const piece& other : taken)
      ASSERT_TRUE(*at + bytes <= other.at || other.at + other.bytes <= *at);
    taken.push_back({*at, bytes});
  }
  EXPECT_GT(refused, 0u);
  for (const piece& p : taken) ASSERT_TRUE(a.give_back(p.at, p.bytes));
  EXPECT_EQ(a.taken(), 0u);
  EXPECT_TRUE(a.take(0x40000, page)) << "the free pieces were not joined";
}

}  // namespace
}  // namespace freehca::vfio_host
