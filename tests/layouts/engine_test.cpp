// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The layout engine, on tables that exist for this test only.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <freehca/layouts/layout.hpp>

#include "pieces.hpp"

namespace {

using namespace freehca::layouts;
using namespace pieces;

enum class colour : std::uint8_t { red = 1, blue = 2 };

struct sample {
  static constexpr std::size_t bytes = 0x28;
  bits       top     {0x00, 31, 31, "top"};
  as<colour> paint   {0x00, 11,  8, "paint"};
  bits       low     {0x00,  3,  0, "low"};
  addr       base    {0x04, 39,  3, "base"};   // a 64-bit word that is aligned to four
  as<bool>   present {0x08,  0,  0, "present"};
  bits       wide    {0x0c, 63,  0, "wide"};
  bits       word    {0x14, 31,  0, "word"};
  raw<16>    gid     {0x18, "gid"};
};

struct extended : sample {
  static constexpr std::size_t bytes = 0x2c;
  bits extra {0x28, 15, 0, "extra"};
};

TEST(engine, starts_with_zeros) {
  const image<sample> i;
  EXPECT_TRUE(holds(i, {}));
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_EQ(i.first_reserved_set(), sample::bytes);
  static_assert(image<sample>::bytes == 0x28 && image<sample>::size() == 0x28);
  static_assert(std::is_trivially_copyable_v<image<sample>>);
}

TEST(engine, sets_and_gets_each_field_in_its_place) {
  image<sample> i;
  i.set<&sample::top>(1).set<&sample::paint>(colour::blue).set<&sample::low>(0xf);
  EXPECT_TRUE(holds(i, {be32(0x00, 0x8000020f)}));
  EXPECT_EQ(i.get<&sample::top>(), 1u);
  EXPECT_EQ(i.get<&sample::paint>(), colour::blue);
  EXPECT_EQ(i.get<&sample::low>(), 0xfu);
  static_assert(std::is_same_v<decltype(i.get<&sample::paint>()), colour>);
  static_assert(std::is_same_v<decltype(i.get<&sample::present>()), bool>);
}

TEST(engine, a_field_that_is_set_again_leaves_its_neighbours) {
  image<sample> i;
  i.set<&sample::low>(0xf).set<&sample::paint>(colour::red).set<&sample::low>(0x5);
  EXPECT_TRUE(holds(i, {be32(0x00, 0x00000105)}));
}

TEST(engine, an_address_keeps_its_bit_position_and_crosses_words) {
  image<sample> i;
  i.set<&sample::base>(0xab12345678).set<&sample::present>(true);
  EXPECT_TRUE(holds(i, {be64(0x04, 0xab12345679)}));
  EXPECT_EQ(i.get<&sample::base>(), 0xab12345678u);
  EXPECT_TRUE(i.get<&sample::present>());
  i.set<&sample::base>(0);
  EXPECT_TRUE(holds(i, {be32(0x08, 1)}));
}

TEST(engine, sixty_four_bits_at_an_offset_of_four) {
  image<sample> i;
  i.set<&sample::wide>(0x0123456789abcdef).set<&sample::word>(0xfedcba98);
  EXPECT_TRUE(holds(i, {be64(0x0c, 0x0123456789abcdef), be32(0x14, 0xfedcba98)}));
  EXPECT_EQ(i.get<&sample::wide>(), 0x0123456789abcdefu);
}

TEST(engine, works_at_compile_time_with_the_same_bytes) {
  constexpr image<sample> c = image<sample>{}.set<&sample::wide>(42).set<&sample::paint>(colour::red);
  static_assert(c.get<&sample::wide>() == 42 && c.get<&sample::paint>() == colour::red && c.reserved_clear());
  image<sample> r;
  r.set<&sample::wide>(42).set<&sample::paint>(colour::red);
  EXPECT_EQ(c, r);
}

TEST(engine, byte_strings_are_in_wire_order) {
  std::byte gid[16];
  for (unsigned n = 0; n < 16; ++n) gid[n] = static_cast<std::byte>(0xf0 + n);
  image<sample> i;
  i.set_bytes<&sample::gid>(gid);
  EXPECT_EQ(std::memcmp(i.bytes_of<&sample::gid>(), gid, 16), 0);
  EXPECT_EQ(std::memcmp(i.data() + 0x18, gid, 16), 0);
  EXPECT_TRUE(i.reserved_clear());
}

TEST(engine, every_bit_that_no_row_claims_is_reserved) {
  const image<sample> clean = made_of<sample>({be32(0x00, 0x80000f0f), be64(0x04, 0xfffffffff9)});
  EXPECT_TRUE(clean.reserved_clear());
  unsigned reserved = 0;
  for (std::size_t n = 0; n < sample::bytes; ++n) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      image<sample> i;
      i.data()[n] = static_cast<std::byte>(1u << bit);
      if (i.reserved_clear()) continue;
      ++reserved;
      EXPECT_EQ(i.first_reserved_set(), n);
    }
  }
  // Claimed: 1 + 4 + 4, 37 + 1, 64, 32 and 128 of 320 bits.
  EXPECT_EQ(reserved, 320u - (9 + 38 + 64 + 32 + 128));
}

TEST(engine, dump_tells_rows_in_table_order) {
  image<sample> i;
  i.set<&sample::top>(1).set<&sample::base>(0x1000).set<&sample::word>(7);
  std::vector<std::pair<std::string, std::uint64_t>> seen;
  i.dump([&](const bits& row, std::uint64_t value) { seen.emplace_back(row.name, value); });
  const std::vector<std::pair<std::string, std::uint64_t>> want{
      {"top", 1}, {"paint", 0}, {"low", 0}, {"base", 0x1000 >> 3}, {"present", 0}, {"wide", 0}, {"word", 7}, {"gid", 0}};
  EXPECT_EQ(seen, want);
}

TEST(engine, from_bytes_takes_device_order) {
  std::byte b[sample::bytes]{};
  b[0x17] = std::byte{9};
  const auto i = image<sample>::from_bytes(b);
  EXPECT_EQ(i.get<&sample::word>(), 9u);
  EXPECT_NE(i, image<sample>{});
}

TEST(engine, a_table_can_extend_another) {
  image<extended> i;
  i.set<&extended::word>(1).set<&extended::extra>(2);
  EXPECT_TRUE(holds(i, {be32(0x14, 1), be32(0x28, 2)}));
  static_assert(rows<extended>::count == rows<sample>::count + 1);
}

struct overlapping {
  static constexpr std::size_t bytes = 4;
  bits a {0x00, 8, 0, "a"};
  bits b {0x00, 9, 8, "b"};
};
struct raw_overlap {
  static constexpr std::size_t bytes = 8;
  raw<4> a {0x02, "a"};
  bits   b {0x04, 31, 31, "b"};
};
struct crooked {
  static constexpr std::size_t bytes = 8;
  bits a {0x02, 3, 0, "a"};
};
struct backwards {
  static constexpr std::size_t bytes = 8;
  bits a {0x00, 3, 4, "a"};
};
struct past_the_end {
  static constexpr std::size_t bytes = 8;
  raw<8> a {0x04, "a"};
};
struct sound {
  static constexpr std::size_t bytes = 8;
  bits a {0x00, 8, 0, "a"};
  bits b {0x00, 9, 9, "b"};
  bits c {0x04, 31, 0, "c"};
};

TEST(engine, unsound_tables_are_told_apart) {
  static_assert(!claimed<overlapping>().sound && !claimed<raw_overlap>().sound && !claimed<crooked>().sound);
  static_assert(!claimed<backwards>().sound && !claimed<past_the_end>().sound && claimed<sound>().sound);
}

#ifdef NDEBUG
TEST(engine, a_value_too_wide_does_not_spill_into_a_neighbour) {
  image<sample> i;
  volatile std::uint64_t wide = 0x1f5;
  i.set<&sample::low>(wide);
  EXPECT_TRUE(holds(i, {be32(0x00, 0x5)}));
}
#else
TEST(engine_death, a_value_too_wide_traps_in_debug_builds) {
  image<sample> i;
  volatile std::uint64_t wide = 0x1f5;
  EXPECT_DEATH(i.set<&sample::low>(wide), "");
}
#endif

}  // namespace
