// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <gtest/gtest.h>

#include "frames/tags.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using namespace frames;
using layouts::image;
using layouts::vlan_tag;

namespace {

image<vlan_tag> tag_of(std::string_view hex) {
  return image<vlan_tag>::from_bytes(bytes_of(hex).data());
}

}  // namespace

TEST(frame_tags, a_tag_is_put_behind_the_source_address) {
  frame f{bytes_of("0002c90000010002c90000020800aabb")};
  EXPECT_TRUE(insert_tag(f, tag_of("81006064")));
  EXPECT_EQ(f.bytes, bytes_of("0002c90000010002c9000002810060640800aabb"));
  EXPECT_TRUE(insert_tag(f, tag_of("88a82001")));
  EXPECT_EQ(f.bytes, bytes_of("0002c90000010002c900000288a82001810060640800aabb"));
}

TEST(frame_tags, the_outer_tag_is_taken_out) {
  frame f{tagged_twice};
  EXPECT_EQ(take_tag(f), tag_of("88a82064"));
  EXPECT_EQ(f.bytes.size(), tagged_twice.size() - 4);
  EXPECT_EQ(take_tag(f), tag_of("8100600a"));
  EXPECT_EQ(f.bytes.size(), tagged_twice.size() - 8);
  EXPECT_EQ(number(f.bytes, 12, 2), 0x0800u);
  const frame without = f;
  EXPECT_FALSE(take_tag(f));
  EXPECT_EQ(f.bytes, without.bytes);
  EXPECT_TRUE(insert_tag(f, tag_of("8100600a")) && insert_tag(f, tag_of("88a82064")));
  EXPECT_EQ(f.bytes, tagged_twice);
}

TEST(frame_tags, what_is_too_short_stays) {
  frame short_one{bytes_of("0002c90000010002c90000")};
  EXPECT_FALSE(insert_tag(short_one, tag_of("81006064")));
  EXPECT_EQ(short_one.bytes.size(), 11u);
  frame addresses{bytes_of("0002c90000010002c9000002")};
  EXPECT_TRUE(insert_tag(addresses, tag_of("81006064")));
  EXPECT_EQ(addresses.bytes, bytes_of("0002c90000010002c900000281006064"));
  EXPECT_FALSE(take_tag(addresses));  // no EtherType behind it
  EXPECT_EQ(addresses.bytes.size(), 16u);
}

}  // namespace freehca::model::test
