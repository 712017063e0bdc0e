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

TEST_F(number_test, gives_each_number_once_and_names_the_budget_at_the_end) {
  open(64, 128);
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(numbers.allocate().value(), 64 + i);
  const result<std::uint32_t> none = numbers.allocate();
  ASSERT_FALSE(none.ok());
  EXPECT_TRUE(none.error().is(driver_error::no_resource));
  EXPECT_EQ(none.error().where(), static_cast<unsigned>(budget::item::qps));
  EXPECT_EQ(numbers.out(), 64u);
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
  const number_filter filter{[](const void*, std::uint32_t first, std::uint32_t count) {
                               return first < 128 && first + count > 64 ? 128u : first;
                             },
                             nullptr};
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(numbers.allocate(1, 1, &filter).value(), i);
  EXPECT_EQ(numbers.allocate(1, 1, &filter).value(), 128u);
  EXPECT_EQ(numbers.allocate(8, 8, &filter).value(), 136u);
  for (unsigned i = 0; i < 119; ++i) EXPECT_TRUE(numbers.allocate(1, 1, &filter).ok());
  EXPECT_FALSE(numbers.allocate(1, 1, &filter).ok());
  EXPECT_EQ(numbers.allocate().value(), 64u) << "for others they are free";
}

TEST_F(number_test, a_closed_one_has_nothing) {
  EXPECT_FALSE(numbers.allocate().ok());
}

}  // namespace
}  // namespace freehca
