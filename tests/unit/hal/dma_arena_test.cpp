// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hal/dma_arena.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/hal/clock.hpp>
#include <freehca/hal/page_list.hpp>

namespace freehca {
namespace {

constexpr std::size_t page = dma_arena::page;
constexpr unsigned budget = 0x42;

struct arena_test : ::testing::Test {
  void open(std::size_t pages, std::uint64_t device_address = 0x10'0000, std::size_t unit = page) {
    memory.resize(pages * page);
    storage.resize(dma_arena::storage_bytes_for(memory.size(), unit) / 8);
    ASSERT_TRUE(arena
                    .open({memory.data(), device_address, memory.size()}, unit,
                          reinterpret_cast<std::byte*>(storage.data()), storage.size() * 8, budget)
                    .ok());
  }
  std::vector<std::byte> memory;
  std::vector<std::uint64_t> storage;
  dma_arena arena;
};

TEST_F(arena_test, refuses_what_it_cannot_stand_on) {
  std::vector<std::byte> block(4 * page);
  std::uint64_t word = 0;
  auto* store = reinterpret_cast<std::byte*>(&word);
  const dma_region good{block.data(), 0x1000, block.size()};
  dma_arena a;
  EXPECT_TRUE(a.open(good, 3000, store, 8, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(a.open({block.data(), 0x1010, block.size()}, page, store, 8, 0)
                  .is(driver_error::bad_argument));
  EXPECT_TRUE(a.open(good, page, store, 7, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(a.open(good, page, store + 1, 8, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(a.open({}, page, store, 8, 0).is(driver_error::bad_argument));
  EXPECT_TRUE(a.allocate(1).error().is(driver_error::bad_state));
  EXPECT_TRUE(a.open(good, page, store, 8, 0).ok());
  EXPECT_TRUE(a.open(good, page, store, 8, 0).is(driver_error::bad_state));
}

TEST_F(arena_test, gives_whole_units_and_names_the_budget_when_empty) {
  open(4);
  const auto a = arena.allocate(1), b = arena.allocate(page + 1);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a.value().bytes, page);
  EXPECT_EQ(b.value().bytes, 2 * page);
  EXPECT_EQ(b.value().host - memory.data(),
            static_cast<std::ptrdiff_t>(b.value().device_address - 0x10'0000));
  EXPECT_EQ(arena.bytes_out(), 3 * page);
  const auto c = arena.allocate(2 * page);
  EXPECT_TRUE(c.error().is(driver_error::no_memory));
  EXPECT_EQ(c.error().where(), budget);
  EXPECT_TRUE(arena.allocate(5 * page).error().is(driver_error::no_memory));
  EXPECT_TRUE(arena.allocate(~std::size_t{0}).error().is(driver_error::no_memory));
  EXPECT_TRUE(arena.allocate(0).error().is(driver_error::bad_argument));
  EXPECT_TRUE(arena.allocate(page, 3).error().is(driver_error::bad_argument));
  arena.free(a.value());
  arena.free(b.value());
  EXPECT_EQ(arena.bytes_out(), 0u);
  const auto whole = arena.allocate(4 * page);
  EXPECT_TRUE(whole.ok());
  arena.free(whole.value());
}

TEST_F(arena_test, alignment_counts_in_device_addresses) {
  open(16, 0x3000);
  const auto a = arena.allocate(page, 4 * page);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a.value().device_address, 0x4000u);
  const auto b = arena.allocate(page, 8 * page);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b.value().device_address, 0x8000u);
  const auto c = arena.allocate(page, 16 * page);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c.value().device_address, 0x10000u);
  EXPECT_FALSE(arena.allocate(page, 16 * page).ok());
  for (const auto& r : {a, b, c}) arena.free(r.value());
}

TEST_F(arena_test, rings_take_the_end_that_is_aligned_better) {
  open(40, 0x10'0000);
  const auto small = arena.allocate_ring(page), large = arena.allocate_ring(16 * page),
             middle = arena.allocate_ring(4 * page), odd = arena.allocate_ring(3 * page);
  EXPECT_EQ(small.value().device_address, 0x10'0000u) << "no end is better";
  EXPECT_EQ(large.value().device_address, 0x11'8000u) << "the end is aligned to 8 pages";
  EXPECT_EQ(middle.value().device_address, 0x11'4000u);
  EXPECT_EQ(odd.value().device_address, 0x10'1000u) << "both ends are odd";
  for (const auto& r : {small, large, middle, odd}) arena.free(r.value());
  EXPECT_TRUE(arena.allocate_ring(~std::size_t{0}).error().is(driver_error::no_memory));
  EXPECT_TRUE(arena.allocate_ring(0).error().is(driver_error::bad_argument));
}

TEST_F(arena_test, rings_of_exactly_all_of_it_fit_in_any_order) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 2000; ++round) {
    const std::size_t pages = 1 + random() % 70;
    open(pages, 0x10'0000 + random() % 32 * page);
    std::vector<dma_region> out;
    for (std::size_t left = pages; left > 0;) {
      const std::size_t n = std::min<std::size_t>(left, std::size_t{1} << random() % 6);
      const auto ring = arena.allocate_ring(n * page);
      ASSERT_TRUE(ring.ok()) << n << " of " << left << " pages, round " << round;
      out.push_back(ring.value());
      left -= n;
    }
    for (const dma_region& r : out) arena.free(r);
    arena.close();
  }
}

TEST_F(arena_test, a_part_of_a_run_may_go_back_first) {
  open(4);
  const auto a = arena.allocate(4 * page);
  arena.free(a.value().part(page, page));
  const auto b = arena.allocate(page);
  EXPECT_EQ(b.value().device_address, a.value().device_address + page);
  arena.free(b.value());
  arena.free(a.value().part(0, page));
  arena.free(a.value().part(2 * page, 2 * page));
  EXPECT_EQ(arena.bytes_out(), 0u);
}

TEST_F(arena_test, tells_which_addresses_are_out) {
  open(4);
  const auto a = arena.allocate(2 * page);
  EXPECT_TRUE(arena.is_out(0x10'0000));
  EXPECT_TRUE(arena.is_out(0x10'0000 + 2 * page - 1));
  EXPECT_FALSE(arena.is_out(0x10'0000 + 2 * page));
  EXPECT_FALSE(arena.is_out(0x10'0000 - 1));
  EXPECT_FALSE(arena.is_out(0x10'0000 + 4 * page));
  arena.free(a.value());
  EXPECT_FALSE(arena.is_out(0x10'0000));
}

TEST_F(arena_test, small_units_for_doorbell_records) {
  open(1, 0x5000, 64);
  std::vector<dma_region> records;
  for (;;) {
    const auto r = arena.allocate(8);
    if (!r.ok()) break;
    records.push_back(r.value());
  }
  EXPECT_EQ(records.size(), page / 64);
  for (const auto& r : records) arena.free(r);
  EXPECT_EQ(arena.bytes_out(), 0u);
}

TEST_F(arena_test, random_use_never_overlaps_and_ends_at_zero) {
  open(300, 0x7000);
  std::mt19937 random(7);
  std::map<std::uint64_t, dma_region> out;
  for (int i = 0; i < 20000; ++i) {
    if (out.empty() || random() % 5 < 3) {
      const std::size_t alignment = page << random() % 4;
      const auto r = arena.allocate(1 + random() % (9 * page), alignment);
      if (!r.ok()) continue;
      const dma_region& g = r.value();
      ASSERT_EQ(g.device_address % alignment, 0u);
      const auto next = out.lower_bound(g.device_address);
      if (next != out.end()) {
        ASSERT_LE(g.device_address + g.bytes, next->first);
      }
      if (next != out.begin()) {
        const auto previous = std::prev(next);
        ASSERT_LE(previous->first + previous->second.bytes, g.device_address);
      }
      out.emplace(g.device_address, g);
    } else {
      auto it = std::next(out.begin(), static_cast<std::ptrdiff_t>(random() % out.size()));
      arena.free(it->second);
      out.erase(it);
    }
  }
  for (const auto& [address, region] : out) arena.free(region);
  EXPECT_EQ(arena.bytes_out(), 0u);
  const auto all = arena.allocate(300 * page);
  EXPECT_TRUE(all.ok());
  arena.free(all.value());
}

TEST(page_list, scattered_pages) {
  const std::uint64_t addresses[] = {0x9000, 0x3000, 0x7000};
  const page_list l(addresses, 12, 0xf00, 0x1101);
  EXPECT_EQ(l.pages(), 3u);
  EXPECT_EQ(l.page(1), 0x3000u);
  EXPECT_EQ(l.first_offset(), 0xf00u);
  EXPECT_EQ(page_list(addresses, 12, 0xf00, 0x1100).pages(), 2u);
}

TEST(page_list, a_contiguous_region_seen_as_pages) {
  const page_list l(dma_region{nullptr, 0x12'3480, 0x2000}, 12);
  EXPECT_EQ(l.pages(), 3u);
  EXPECT_EQ(l.page(0), 0x12'3000u);
  EXPECT_EQ(l.page(2), 0x12'5000u);
  EXPECT_EQ(l.first_offset(), 0x480u);
  EXPECT_EQ(l.bytes(), 0x2000u);
  const page_list large(dma_region{nullptr, 0x40'0000, 0x20'0000}, 21);
  EXPECT_EQ(large.pages(), 1u);
}

TEST(clock, never_stays_never) {
  EXPECT_EQ(clock::after(5, clock::milliseconds(2)), 2'000'005u);
  EXPECT_EQ(clock::after(5, clock::never), clock::never);
  EXPECT_EQ(clock::after(clock::never, 1), clock::never);
  EXPECT_EQ(clock::after(clock::never - 1, 5), clock::never);
  EXPECT_EQ(clock::earlier(3, clock::never), 3u);
  EXPECT_EQ(clock::seconds(1), clock::microseconds(1'000'000));
}

}  // namespace
}  // namespace freehca
