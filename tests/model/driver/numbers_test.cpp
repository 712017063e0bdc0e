// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <vector>

#include <gtest/gtest.h>

#include <freehca/hca/numbers.hpp>

namespace freehca {
namespace {

class number_test : public ::testing::Test {
 protected:
  void open(std::uint32_t first, std::uint32_t end, unsigned log_unit = 0) {
    numbers.open(reinterpret_cast<std::byte*>(storage), first, end, log_unit, budget::item::qps);
  }
  std::uint64_t storage[32];
  number_allocator numbers;
};

// The ring of each event queue has a line of translation entries, behind those that the firmware
// keeps.
static_assert(number_spaces::event_ring_mtt(1, 0) == 8 && number_spaces::event_ring_mtt(8, 0) == 8);
static_assert(number_spaces::event_ring_mtt(16, 1) == 24);

TEST_F(number_test, gives_each_number_once_and_names_the_budget_at_the_end) {
  open(64, 128);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(numbers.allocate().value(), 64 + i);
  const result<std::uint32_t> none = numbers.allocate();
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(none.error().is(driver_error::no_resource));
  EXPECT_EQ(none.error().where(), static_cast<unsigned>(budget::item::qps));
  EXPECT_EQ(numbers.out(), 64u);
}

TEST_F(number_test, finds_numbers_that_are_unlike_those_of_an_owner) {
  open(0, 64);
  numbers.keep_owners();
  EXPECT_EQ(numbers.first_unlike(1, 8, 4, 16), 8u) << "it has no number";
  const std::uint32_t run =
      numbers.allocate(4, 4, [](std::uint32_t, std::uint32_t) { return std::uint32_t{20}; })
          .value();
  numbers.set_owner(run, 4, 1);
  for (unsigned n = 0; n < 64; ++n) EXPECT_EQ(numbers.owner_of(n), n >= 20 && n < 24 ? 1u : 0u);
  EXPECT_EQ(numbers.first_unlike(2, 36, 4, 16), 36u) << "numbers of another owner";
  EXPECT_EQ(numbers.first_unlike(1, 36, 4, 16), 40u);
  EXPECT_EQ(numbers.first_unlike(1, 39, 1, 16), 40u);
  EXPECT_EQ(numbers.first_unlike(1, 0, 8, 16), 8u);
  EXPECT_EQ(numbers.first_unlike(1, 0, 16, 16), 64u) << "none";
  EXPECT_EQ(numbers.first_unlike(1, 0, 32, 16), 64u) << "they are like each other";
  numbers.free(run, 4);
  EXPECT_EQ(numbers.owner_of(23), 0u);
  EXPECT_EQ(numbers.first_unlike(1, 0, 16, 16), 0u);
}

TEST_F(number_test, a_freed_number_comes_last) {
  open(0, 8);
  EXPECT_EQ(numbers.allocate().value(), 0u);
  numbers.free(0);
  for (unsigned i = 1; i < 8; ++i) EXPECT_EQ(numbers.allocate().value(), i);
  EXPECT_EQ(numbers.allocate().value(), 0u);
}

TEST_F(number_test, what_was_freed_rests_and_then_the_lowest_comes_first) {
  open(0, 1024);
  for (unsigned i = 0; i < 200; ++i) EXPECT_EQ(numbers.allocate().value(), i);
  for (unsigned i = 100; i < 100 + number_allocator::resting; ++i) numbers.free(i);
  EXPECT_EQ(numbers.allocate().value(), 200u) << "all that was freed rests";
  numbers.free(7);
  EXPECT_EQ(numbers.allocate().value(), 100u) << "the one that has rested longest";
  EXPECT_EQ(numbers.out(), 200u - number_allocator::resting + 1);
}

TEST_F(number_test, runs_are_aligned_and_whole_units) {
  open(10, 1024, 3);
  const std::uint32_t a = numbers.allocate(1).value();
  EXPECT_EQ(a, 16u) << "rounded up to a unit";
  const std::uint32_t b = numbers.allocate(20, 64).value();
  EXPECT_EQ(b % 64, 0u);
  EXPECT_EQ(numbers.out(), 8u + 24u);
  numbers.free(b, 20);
  numbers.free(a);
  EXPECT_EQ(numbers.out(), 0u);
  EXPECT_FALSE(numbers.allocate(2048).ok());
}

TEST_F(number_test, what_the_filter_knows_to_be_unusable_is_passed_over) {
  open(0, 256);
  // 64 to 127 cannot be used.
  const auto filter = [](std::uint32_t first, std::uint32_t count) {
    return first < 128 && first + count > 64 ? 128u : first;
  };
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(numbers.allocate(1, 1, filter).value(), i);
  EXPECT_EQ(numbers.allocate(1, 1, filter).value(), 128u);
  EXPECT_EQ(numbers.allocate(8, 8, filter).value(), 136u);
  for (unsigned i = 0; i < 119; ++i) EXPECT_TRUE(numbers.allocate(1, 1, filter).ok());
  EXPECT_FALSE(numbers.allocate(1, 1, filter).ok());
  EXPECT_EQ(numbers.allocate().value(), 64u) << "for others they are free";
}

// Looks at words are counted, not time.

/// Half of the units is free ahead of one entry that is taken, and the run that is asked for fits
/// behind it only.
TEST(number_search, of_a_long_run_is_linear_in_the_size_of_the_table) {
  for (const unsigned log : {12u, 15u, 18u}) {
    const std::uint32_t end = 1u << log, half = end / 2;
    std::vector<std::uint64_t> storage(end / 64);
    number_allocator numbers;
    numbers.open(reinterpret_cast<std::byte*>(storage.data()), 0, end, 0, budget::item::mtts);
    ASSERT_EQ(numbers.allocate(half - 1).value(), 0u);
    ASSERT_EQ(numbers.allocate(1).value(), half - 1);
    numbers.free(0, half - 1);
    // What rests comes back at once.
    for (unsigned i = 0; i < number_allocator::resting; ++i)
      numbers.free(numbers.allocate(1).value());
    const std::uint64_t before = numbers.looks();
    EXPECT_EQ(numbers.allocate(half).value(), half);
    EXPECT_LE(numbers.looks() - before, 2 * (end / 64 + 8)) << log;
  }
}

/// Whatever stands in the table, and whether something is found or not.
TEST(number_search, looks_at_no_unit_twice_in_a_pass) {
  constexpr std::uint32_t end = 1u << 14;
  for (const std::uint32_t gap : {1u, 2u, 3u, 63u, 64u, 65u, 500u}) {
    std::vector<std::uint64_t> storage(end / 64);
    number_allocator numbers;
    numbers.open(reinterpret_cast<std::byte*>(storage.data()), 0, end, 0, budget::item::mtts);
    // Runs of `gap` free units with one taken between them; none is as long as what is asked for.
    std::vector<std::uint32_t> given;
    for (std::uint32_t i = 0; i < end; ++i) given.push_back(numbers.allocate().value());
    for (const std::uint32_t n : given)
      if (n % (gap + 1) != gap) numbers.free(n);
    for (const std::uint32_t alignment : {1u, 4u, 128u}) {
      const std::uint64_t before = numbers.looks();
      EXPECT_FALSE(numbers.allocate(gap + 1, alignment).ok()) << gap;
      const std::uint64_t changes = 2 * (end / (gap + 1) + 1);
      EXPECT_LE(numbers.looks() - before, 2 * (end / 64 + changes + 2)) << gap << ' ' << alignment;
    }
  }
}

TEST(number_search, finds_what_a_look_at_each_unit_finds) {
  std::uint32_t random = 12345;
  const auto next = [&random] { return random = random * 1664525 + 1013904223; };
  for (unsigned round = 0; round < 200; ++round) {
    constexpr std::uint32_t end = 300;
    std::vector<std::uint64_t> storage((end + 63) / 64);
    number_allocator numbers;
    numbers.open(reinterpret_cast<std::byte*>(storage.data()), 5, end, 0, budget::item::mtts);
    std::vector<bool> taken(end);
    for (std::uint32_t i = 0; i < 5; ++i) taken[i] = true;
    for (unsigned i = 0; i < 60; ++i) {
      const std::uint32_t count = 1 + (next() >> 16) % (i % 7 == 0 ? 100 : 9);
      const std::uint32_t alignment = 1u << (next() >> 16) % 5;
      std::uint32_t expected = end;
      for (std::uint32_t at = 0; at + count <= end && expected == end; at += alignment) {
        bool fits = true;
        for (std::uint32_t u = at; u < at + count; ++u) fits = fits && !taken[u];
        if (fits) expected = at;
      }
      const result<std::uint32_t> got = numbers.allocate(count, alignment);
      ASSERT_EQ(got.ok() ? got.value() : end, expected) << round << ' ' << i;
      if (!got.ok()) continue;
      for (std::uint32_t u = expected; u < expected + count; ++u) taken[u] = true;
      // Some come back; the test leaves what rests out of its own table, as the allocator does.
    }
  }
}

TEST_F(number_test, a_closed_one_has_nothing) {
  EXPECT_FALSE(numbers.allocate().ok());
}

}  // namespace
}  // namespace freehca
