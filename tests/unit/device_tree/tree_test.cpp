// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/device_tree/tree.hpp>

#include <gtest/gtest.h>

#include "blob.hpp"

namespace freehca::device_tree {
namespace {

bytes of(const char* text) {
  return {reinterpret_cast<const std::byte*>(text), std::char_traits<char>::length(text) + 1};
}

/// A bus that passes 1 MiB at 0x1000 on to 0x2'0000'0000, one that changes nothing, and one that
/// passes nothing on.
std::vector<std::byte> board_with_buses() {
  blob b;
  b.begin("").cells("#address-cells", {2}).cells("#size-cells", {2});
  b.begin("aliases").texts("serial0", "/soc/serial@1100").texts("loop", "loop").end();
  b.begin("chosen").texts("stdout-path", "serial0:115200n8").end();
  b.begin("soc").cells("#address-cells", {1}).cells("#size-cells", {1});
  b.cells("ranges", {0x1000, 2, 0, 0x100000});
  b.begin("serial@1100").texts("compatible", std::string("maker,chip\0ns16550a", 19));
  b.cells("reg", {0x1100, 0x20, 0x201100, 0x20}).end();
  b.begin("serial@1200").texts("compatible", "maker,off").texts("status", "disabled");
  b.cells("reg", {0x1200, 0x20}).end();
  b.end();
  b.begin("flat").cells("#address-cells", {2}).cells("#size-cells", {1}).empty("ranges");
  b.begin("timer").texts("compatible", "maker,timer").cells("reg", {5, 6, 7}).end();
  b.end();
  b.begin("apart").cells("#address-cells", {1}).cells("#size-cells", {0});
  b.begin("sensor").texts("compatible", "maker,sensor").cells("reg", {9}).end();
  b.end();
  return b.end().finish();
}

class device_tree_of_buses : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(t.open(whole.data()).ok()); }
  const std::vector<std::byte> whole = board_with_buses();
  tree t;
  node n;
  window w;
};

TEST_F(device_tree_of_buses, finds_any_of_the_names_that_a_node_is_compatible_with) {
  ASSERT_TRUE(t.find_compatible("ns16550a", n).ok());
  EXPECT_STREQ(n.name(), "serial@1100");
  ASSERT_TRUE(t.find_compatible("maker,chip", n).ok());
  EXPECT_STREQ(n.name(), "serial@1100");
  EXPECT_TRUE(t.find_compatible("ns16550", n).is(driver_error::no_resource));
}
TEST_F(device_tree_of_buses, passes_over_what_is_disabled) {
  EXPECT_TRUE(t.find_compatible("maker,off", n).is(driver_error::no_resource));
}
TEST_F(device_tree_of_buses, translates_an_address_through_the_bus) {
  ASSERT_TRUE(t.find_compatible("ns16550a", n).ok());
  ASSERT_TRUE(n.reg(0, w).ok());
  EXPECT_EQ(w.base, 0x2'0000'0100u);
  EXPECT_EQ(w.bytes, 0x20u);
}
TEST_F(device_tree_of_buses, refuses_an_address_that_the_bus_does_not_pass_on) {
  ASSERT_TRUE(t.find_compatible("ns16550a", n).ok());
  EXPECT_TRUE(n.reg(1, w).is(driver_error::unsupported));
  EXPECT_TRUE(n.reg(2, w).is(driver_error::no_resource));
}
TEST_F(device_tree_of_buses, leaves_an_address_as_it_is_where_ranges_is_empty) {
  ASSERT_TRUE(t.find_compatible("maker,timer", n).ok());
  ASSERT_TRUE(n.reg(0, w).ok());
  EXPECT_EQ(w.base, 0x5'0000'0006u);
  EXPECT_EQ(w.bytes, 7u);
}
TEST_F(device_tree_of_buses, refuses_an_address_of_a_bus_without_ranges) {
  ASSERT_TRUE(t.find_compatible("maker,sensor", n).ok());
  EXPECT_TRUE(n.reg(0, w).is(driver_error::unsupported));
}
TEST_F(device_tree_of_buses, follows_paths_and_aliases) {
  ASSERT_TRUE(t.find_path(of("/soc/serial@1200"), n).ok());
  EXPECT_STREQ(n.name(), "serial@1200");
  ASSERT_TRUE(t.find_path(of("/soc"), n).ok());
  EXPECT_STREQ(n.name(), "soc");
  ASSERT_TRUE(t.find_path(of("serial0"), n).ok());
  EXPECT_STREQ(n.name(), "serial@1100");
  EXPECT_TRUE(t.find_path(of("/soc/serial"), n).is(driver_error::no_resource));
  EXPECT_TRUE(t.find_path(of("/serial@1100"), n).is(driver_error::no_resource));
  EXPECT_TRUE(t.find_path(of("serial"), n).is(driver_error::no_resource));
  EXPECT_TRUE(t.find_path(of("loop"), n).is(driver_error::no_resource));
  EXPECT_TRUE(t.find_path(of(""), n).is(driver_error::no_resource));
}
TEST_F(device_tree_of_buses, finds_the_console_that_chosen_names) {
  ASSERT_TRUE(t.find_console(n).ok());
  EXPECT_STREQ(n.name(), "serial@1100");
}

TEST(device_tree, takes_no_blob_for_a_tree_that_is_none) {
  tree t;
  EXPECT_TRUE(t.open(nullptr).is(driver_error::bad_argument));
  const std::vector<std::byte> good = board_with_buses();
  // Words: magic, size, structure, strings, -, version, compatible version, -, sizes.
  for (const std::size_t wrong : {0u, 1u, 2u, 3u, 5u, 6u, 8u, 9u}) {
    std::vector<std::byte> bad = good;
    const bool is_version = wrong == 5;
    for (std::size_t i = 0; i < 4; ++i)
      bad[4 * wrong + i] = static_cast<std::byte>(is_version ? 0 : 0x7f);
    EXPECT_TRUE(t.open(bad.data()).is(driver_error::bad_argument)) << wrong;
  }
  EXPECT_TRUE(t.open(good.data()).ok());
}
TEST(device_tree, refuses_one_that_is_too_deep) {
  blob b;
  for (unsigned i = 0; i <= node::most_levels; ++i) b.begin("x");
  for (unsigned i = 0; i <= node::most_levels; ++i) b.end();
  const std::vector<std::byte> deep = b.finish();
  tree t;
  node n;
  ASSERT_TRUE(t.open(deep.data()).ok());
  EXPECT_TRUE(t.find_compatible("any", n).is(driver_error::bad_argument));
}
TEST(device_tree, refuses_one_whose_nodes_do_not_end) {
  const std::vector<std::byte> open = blob().begin("").begin("x").end().finish();
  tree t;
  node n;
  ASSERT_TRUE(t.open(open.data()).ok());
  EXPECT_TRUE(t.find_compatible("any", n).is(driver_error::bad_argument));
}
TEST(device_tree, refuses_one_whose_addresses_or_sizes_have_too_many_cells) {
  const auto next = [](std::uint32_t address_cells, std::uint32_t size_cells) {
    blob b;
    b.begin("").cells("#address-cells", {address_cells}).cells("#size-cells", {size_cells});
    const std::vector<std::byte> whole = b.end().finish();
    tree t;
    EXPECT_TRUE(t.open(whole.data()).ok());
    return node(t).next();
  };
  EXPECT_TRUE(next(3, 2).ok());
  EXPECT_TRUE(next(4, 2).is(driver_error::bad_argument));
  EXPECT_TRUE(next(3, 3).is(driver_error::bad_argument));
}
TEST(device_tree, never_reads_outside_of_a_damaged_one) {
  const std::vector<std::byte> good = board_with_buses();
  constexpr std::size_t size_in_header = 4, behind_size = 8;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i >= size_in_header && i < behind_size) continue;  // what is readable is said there
    for (const unsigned value : {0x00u, 0x01u, 0x03u, 0x7fu, 0xffu}) {
      std::vector<std::byte> bad = good;
      bad[i] = static_cast<std::byte>(value);
      tree t;
      if (!t.open(bad.data()).ok()) continue;
      node n(t);
      unsigned nodes = 0;
      window w;
      for (; n.next().ok(); ++nodes) static_cast<void>(n.reg(0, w));
      EXPECT_LE(nodes, good.size() / 4);
      static_cast<void>(t.find_console(n));
      static_cast<void>(t.reserved(0, w));
    }
  }
}

}  // namespace
}  // namespace freehca::device_tree
