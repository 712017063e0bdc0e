// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/interfaces/attributes.hpp>

#include <cstring>

#include <gtest/gtest.h>

namespace freehca {

/// Names as a kind of objects declares them.
namespace sample {

struct address {
  std::uint8_t raw[16] = {};
};
struct place {
  std::uint32_t index = 0, generation = 0;
};
enum class color : std::uint8_t { red, green };

inline constexpr attribute_name<std::uint32_t> count{0x8001};
inline constexpr attribute_name<std::uint8_t> hue{0x8002};
inline constexpr attribute_name<std::uint16_t> height{0x8003};
inline constexpr attribute_name<std::uint64_t> length{0x8004};
inline constexpr attribute_name<bool> loud{0x8005};
inline constexpr attribute_name<void*> cookie{0x8006};
inline constexpr attribute_name<place> where{0x8007};
inline constexpr attribute_name<color> paint{0x8008};
inline constexpr attribute_name<address> target{0x8009};
inline constexpr attribute_name<std::uint32_t> unheard_of{0x800a};
inline constexpr attribute_name<std::uint32_t> depth{0x800b};

struct inside {
  std::uint32_t depth = 4;
};
struct wanted {
  std::uint8_t hue = 1;
  bool loud = false;
  std::uint16_t height = 2;
  std::uint32_t count = 3;
  std::uint64_t length = 5;
  void* cookie = nullptr;
  place where;
  address target;
  color paint = color::red;
  inside within;
};

}  // namespace sample

namespace {

using sample::wanted;

constexpr auto known_inside =
    attributes_of<sample::inside>({FREEHCA_ATTRIBUTE(sample::inside, depth, sample::depth)});
constexpr auto known =
    attributes_of<wanted>({
                              required(FREEHCA_ATTRIBUTE(wanted, count, sample::count)),
                              FREEHCA_ATTRIBUTE(wanted, hue, sample::hue),
                              FREEHCA_ATTRIBUTE(wanted, height, sample::height),
                              FREEHCA_ATTRIBUTE(wanted, length, sample::length),
                              FREEHCA_ATTRIBUTE(wanted, loud, sample::loud),
                              FREEHCA_ATTRIBUTE(wanted, cookie, sample::cookie),
                              FREEHCA_ATTRIBUTE(wanted, where, sample::where),
                              FREEHCA_ATTRIBUTE(wanted, paint, sample::paint),
                              FREEHCA_ATTRIBUTE(wanted, target, sample::target),
                          })
        .with(offsetof(wanted, within), known_inside);

status outcome_of(const attribute_list& list) {
  wanted w;
  return read(list, known, w);
}
attribute with_bytes(attribute a, std::uint32_t bytes) {
  a.bytes = bytes;
  return a;
}
attribute with_value(attribute a, std::uint64_t value) {
  a.value = value;
  return a;
}
attribute with_flags(attribute a, std::uint16_t flags) {
  a.flags = flags;
  return a;
}

TEST(attribute, an_entry_is_a_constant_and_mandatory_unless_it_says_otherwise) {
  constexpr attribute a = sample::count(64);
  static_assert(a.identifier == 0x8001 && a.bytes == 4 && a.value == 64);
  static_assert(a.flags == attribute::mandatory && optional(a).flags == 0);
  static_assert(optional(a).value == 64);
}

TEST(attributes, each_size_arrives_and_the_rest_stays) {
  sample::address target;
  std::memset(target.raw, 0xab, sizeof target.raw);
  wanted w;
  const attribute all[] = {sample::hue(0xff),          sample::height(0xfffe),
                           sample::count(0xffff'fffd), sample::length(0xffff'ffff'ffff'fffc),
                           sample::loud(true),         sample::cookie(&w),
                           sample::where({7, 9}),      sample::paint(sample::color::green),
                           sample::target(target),     sample::depth(11)};
  ASSERT_TRUE(read(all, known, w).ok());
  EXPECT_EQ(w.hue, 0xff);
  EXPECT_EQ(w.height, 0xfffe);
  EXPECT_EQ(w.count, 0xffff'fffdu);
  EXPECT_EQ(w.length, 0xffff'ffff'ffff'fffcu);
  EXPECT_TRUE(w.loud);
  EXPECT_EQ(w.cookie, &w);
  EXPECT_EQ(w.where.index, 7u);
  EXPECT_EQ(w.where.generation, 9u);
  EXPECT_EQ(w.paint, sample::color::green);
  EXPECT_EQ(std::memcmp(w.target.raw, target.raw, sizeof target.raw), 0);
  EXPECT_EQ(w.within.depth, 11u);

  wanted untold;
  ASSERT_TRUE(read({sample::count(8)}, known, untold).ok());
  EXPECT_EQ(untold.count, 8u);
  EXPECT_EQ(untold.hue, 1);
  EXPECT_EQ(untold.height, 2);
  EXPECT_EQ(untold.within.depth, 4u);
}

TEST(attributes, an_unknown_one_is_refused_by_name_or_passed_over) {
  EXPECT_EQ(outcome_of({sample::count(1), sample::unheard_of(2)}),
            status(driver_error::unknown_attribute, 0x800a));
  EXPECT_TRUE(outcome_of({sample::count(1), optional(sample::unheard_of(2))}).ok());
  // What is not known cannot be judged: not its size, not its value, not how often it comes.
  const attribute strange = optional(with_bytes(sample::unheard_of(2), 4096));
  EXPECT_TRUE(outcome_of({strange, sample::count(1), strange}).ok());
}

TEST(attributes, an_unknown_flag_makes_an_entry_unknown) {
  wanted w;
  EXPECT_EQ(read({sample::count(1), with_flags(sample::hue(9), 0x8001)}, known, w),
            status(driver_error::unknown_attribute, 0x8002));
  EXPECT_TRUE(read({sample::count(1), with_flags(sample::hue(9), 2)}, known, w).ok());
  EXPECT_EQ(w.hue, 1);
}

TEST(attributes, a_doubled_one_is_refused) {
  EXPECT_EQ(outcome_of({sample::count(1), sample::hue(1), sample::count(1)}),
            status(driver_error::repeated_attribute, 0x8001));
  EXPECT_EQ(outcome_of({sample::count(1), optional(sample::count(2))}),
            status(driver_error::repeated_attribute, 0x8001));
}

TEST(attributes, another_size_is_refused_also_of_an_optional_one) {
  for (const std::uint32_t bytes : {0u, 1u, 3u, 5u, 8u, 16u, ~0u}) {
    EXPECT_EQ(outcome_of({with_bytes(sample::count(1), bytes)}),
              status(driver_error::wrong_size, 0x8001));
    EXPECT_EQ(outcome_of({sample::count(1), optional(with_bytes(sample::height(1), bytes))}),
              status(driver_error::wrong_size, 0x8003));
    EXPECT_EQ(outcome_of({sample::count(1),
                          with_value({0x8009, attribute::mandatory, bytes == 16 ? 17 : bytes}, 1)}),
              status(driver_error::wrong_size, 0x8009))
        << "nobody looks where it points";
  }
}

TEST(attributes, a_value_that_its_type_has_not_is_refused) {
  EXPECT_EQ(outcome_of({with_value(sample::count(0), std::uint64_t{1} << 32)}),
            status(driver_error::bad_argument, 0x8001));
  EXPECT_EQ(outcome_of({sample::count(1), with_value(sample::hue(0), 0x100)}),
            status(driver_error::bad_argument, 0x8002));
  EXPECT_EQ(outcome_of({sample::count(1), with_value(sample::loud(false), 2)}),
            status(driver_error::bad_argument, 0x8005));
  EXPECT_EQ(outcome_of({sample::count(1), {0x8009, attribute::mandatory, 16, 0}}),
            status(driver_error::bad_argument, 0x8009));
}

TEST(attributes, a_required_one_is_missed) {
  EXPECT_EQ(outcome_of({}), status(driver_error::missing_attribute, 0x8001));
  EXPECT_EQ(outcome_of({sample::hue(1)}), status(driver_error::missing_attribute, 0x8001));
  EXPECT_EQ(outcome_of({with_flags(sample::count(1), 4)}),
            status(driver_error::missing_attribute, 0x8001))
      << "passed over is not there";
}

TEST(attributes, the_first_that_is_wrong_is_told) {
  EXPECT_EQ(outcome_of({with_bytes(sample::hue(1), 2), sample::unheard_of(1)}),
            status(driver_error::wrong_size, 0x8002));
  EXPECT_EQ(outcome_of({sample::unheard_of(1), with_bytes(sample::hue(1), 2)}),
            status(driver_error::unknown_attribute, 0x800a));
}

TEST(attributes, a_list_without_its_array_is_refused) {
  EXPECT_EQ(outcome_of({nullptr, 1}), status(driver_error::bad_argument));
  EXPECT_TRUE(read_attributes({}, nullptr, 0, nullptr).ok());
  EXPECT_EQ(read_attributes({sample::hue(1)}, nullptr, 0, nullptr),
            status(driver_error::unknown_attribute, 0x8002));
}

TEST(attributes, sixty_four_rows_are_told_apart) {
  attribute_row rows[64];
  attribute list[64];
  std::uint8_t to[64] = {};
  for (std::uint16_t i = 0; i < 64; ++i) {
    rows[i] = {i, 1 | attribute_row::is_required, static_cast<std::uint8_t>(i)};
    list[63 - i] = {i, attribute::mandatory, 1, i + 100u};
  }
  auto* const bytes = reinterpret_cast<std::byte*>(to);
  ASSERT_TRUE(read_attributes(list, rows, 64, bytes).ok());
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(to[i], i + 100);
  EXPECT_EQ(read_attributes({list + 1, 63}, rows, 64, bytes),
            status(driver_error::missing_attribute, 63));
  list[0].identifier = 0;
  EXPECT_EQ(read_attributes(list, rows, 64, bytes), status(driver_error::repeated_attribute, 0));
}

}  // namespace
}  // namespace freehca
