// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tree of buses, on configuration space that is plain memory: whatever is written to a BAR
// stays there, so that each seems to have 16 bytes.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/bare/pci.hpp>

namespace freehca::bare {
namespace {

std::vector<std::byte> configuration_space;

std::uint64_t now = 0, adapter_comes = ~std::uint64_t{0};
void (*come)() = nullptr;  // when it is adapter_comes

constexpr unsigned buses = 16;
constexpr std::uint64_t unit = 1 << 20;
constexpr std::uint32_t adapter_identity = 0x1007'15b3, bridge_identity = 0x000c'1b36;
constexpr window memory{0x8000'0000, 16 * unit};

class pci_tree_test : public testing::Test {
 protected:
  pci_tree_test() {
    configuration_space.assign(buses * unit, std::byte{0xff});
    adapter_comes = ~std::uint64_t{0};
  }

  static std::byte* at(unsigned bus, unsigned device) {
    return configuration_space.data() + (bus << 20 | device << 15);
  }
  static std::uint32_t read(unsigned bus, unsigned device, unsigned offset) {
    return pci_space(at(bus, device)).read(offset);
  }
  static void add(unsigned bus, unsigned device, std::uint32_t identity, std::uint32_t header) {
    std::memset(at(bus, device), 0, 4096);
    const pci_space space(at(bus, device));
    space.write(pci_space::identity, identity);
    space.write(pci_space::header, header);
  }
  static void add_bridge(unsigned bus, unsigned device) {
    add(bus, device, bridge_identity, 1 << 16);
  }
  static void add_adapter(unsigned bus, unsigned device,
                          std::uint32_t identity = adapter_identity) {
    add(bus, device, identity, 0);
    constexpr std::uint32_t wide = 4, ports = 1;
    for (const unsigned bar : {4u, 5u})
      pci_space(at(bus, device)).write(pci_space::first_bar + 4 * bar, ports);
    for (const unsigned bar : {0u, 2u})
      pci_space(at(bus, device)).write(pci_space::first_bar + 4 * bar, wide);
  }
  trouble find(window from = memory, bool anew = false) {
    return pci_tree({{0, configuration_space.size()}, 0, from}).find_adapter(anew, &found);
  }

  pci_function_place found;
};

TEST_F(pci_tree_test, an_empty_tree_has_no_adapter) {
  const trouble why = find();
  EXPECT_FALSE(why.ok());
  EXPECT_NE(std::string(why.what).find("no such adapter"), std::string::npos);
}

TEST_F(pci_tree_test, an_adapter_that_asks_for_patience_has_a_second) {
  // It answers its vendor with 1, and all ones else.
  pci_space(at(0, 3)).write(pci_space::identity, 0xffff'0001);
  come = [] { add_adapter(0, 3); };
  adapter_comes = now + 900'000'000;
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(found.device, 3u);
  EXPECT_TRUE(found.assigned_here) << "what is not there yet decodes nothing";
}

TEST_F(pci_tree_test, an_adapter_that_never_answers_is_none) {
  pci_space(at(0, 3)).write(pci_space::identity, 0xffff'0001);
  const std::uint64_t began = now;
  EXPECT_FALSE(find().ok());
  EXPECT_GT(now - began, 1'000'000'000u);
  EXPECT_LT(now - began, 2'000'000'000u);
}

TEST_F(pci_tree_test, a_switch_that_comes_late_has_numbers_within_those_above_it) {
  add_bridge(0, 1);
  add_bridge(0, 2);
  come = [] {
    add_bridge(1, 0);
    add_adapter(2, 0);
  };
  adapter_comes = now + 500'000'000;
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(found.depth, 2u);
  EXPECT_EQ(read(0, 1, pci_space::buses) & 0xff'ffff, 0x02'0100u);
  EXPECT_EQ(read(0, 2, pci_space::buses) & 0xff'ffff, 0u) << "closed";
}

TEST_F(pci_tree_test, an_adapter_of_another_generation_is_told_as_such) {
  add_adapter(0, 3, 0x1013'15b3);
  const trouble why = find();
  EXPECT_TRUE(why.cause.is(driver_error::unsupported));
  EXPECT_NE(std::string(why.what).find("another generation"), std::string::npos);
  EXPECT_NE(std::string(why.remedy).find("mlx5"), std::string::npos);
}

TEST_F(pci_tree_test, bridges_without_numbers_get_them_and_windows_around_what_is_behind) {
  add_bridge(0, 1);
  add_bridge(1, 0);
  add_adapter(2, 0);
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(found.bus, 2u);
  EXPECT_EQ(found.depth, 2u);
  EXPECT_TRUE(found.assigned_here);
  EXPECT_EQ(read(0, 1, pci_space::buses) & 0xff'ffff, 0x02'0100u);
  EXPECT_EQ(read(1, 0, pci_space::buses) & 0xff'ffff, 0x02'0200u);
  // Both BARs in the last MiB, the inner bridge's own in the one below, the outer's below that.
  EXPECT_EQ(found.bars[0].address, 0x80f0'0000u);
  EXPECT_EQ(found.bars[2].address, 0x80f0'0010u);
  EXPECT_EQ(read(1, 0, pci_space::memory_window), 0x80f0'80f0u);
  EXPECT_EQ(read(0, 1, pci_space::memory_window), 0x80f0'80e0u);
  EXPECT_EQ(read(1, 0, pci_space::first_bar), 0x80e0'0000u);
  EXPECT_EQ(read(0, 1, pci_space::first_bar), 0x80d0'0000u);
  for (const auto& [bus, device] : {std::pair{0u, 1u}, std::pair{1u, 0u}}) {
    EXPECT_EQ(read(bus, device, pci_space::prefetchable_window), 0xfff0u) << "closed";
    EXPECT_EQ(read(bus, device, pci_space::command),
              pci_space::memory_decode | pci_space::bus_master);
  }
  EXPECT_EQ(read(2, 0, pci_space::command), pci_space::memory_decode | pci_space::no_interrupt_pin);
}

TEST_F(pci_tree_test, a_second_branch_gets_the_next_numbers) {
  add_bridge(0, 1);
  add_bridge(0, 2);
  add_adapter(2, 0);
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(read(0, 1, pci_space::buses) & 0xff'ffff, 0x01'0100u) << "nothing is behind it";
  EXPECT_EQ(read(0, 2, pci_space::buses) & 0xff'ffff, 0x02'0200u);
  EXPECT_EQ(found.depth, 1u);
}

TEST_F(pci_tree_test, a_bridge_that_leads_to_no_bus_there_is_is_passed_over) {
  add_bridge(0, 1);
  pci_space(at(0, 1)).write(pci_space::buses, buses << 8 | buses << 16);
  add_adapter(0, 2);
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(found.depth, 0u);
}

TEST_F(pci_tree_test, a_bridge_that_leads_back_is_not_followed) {
  add_bridge(1, 0);
  add_bridge(0, 1);
  pci_space(at(0, 1)).write(pci_space::buses, 0x01'0100);
  pci_space(at(1, 0)).write(pci_space::buses, 0x01'0100);
  add_adapter(1, 1);
  ASSERT_TRUE(find().ok());
  EXPECT_EQ(found.depth, 1u);
}

TEST_F(pci_tree_test, addresses_from_firmware_stay) {
  add_adapter(0, 2);
  const pci_space space(at(0, 2));
  space.write(pci_space::first_bar, 0xfe00'0004);
  space.write(pci_space::first_bar + 8, 0x4);
  space.write(pci_space::first_bar + 12, 0x1);
  space.write(pci_space::command, pci_space::memory_decode | pci_space::bus_master);
  ASSERT_TRUE(find({}).ok());
  EXPECT_FALSE(found.assigned_here);
  EXPECT_EQ(found.bars[0].address, 0xfe00'0000u);
  EXPECT_EQ(found.bars[2].address, std::uint64_t{1} << 32);
  EXPECT_EQ(read(0, 2, pci_space::command) & pci_space::bus_master, 0u);
}

TEST_F(pci_tree_test, where_firmware_gives_addresses_to_others_none_are_made_up) {
  add(0, 1, 0x1234'8086, 0);
  pci_space(at(0, 1)).write(pci_space::first_bar, 0xfe00'0000);
  pci_space(at(0, 1)).write(pci_space::command, pci_space::memory_decode);
  add_adapter(0, 2);
  const trouble why = find();
  EXPECT_TRUE(why.cause.is(driver_error::no_resource));
  EXPECT_EQ(read(0, 2, pci_space::first_bar), 4u);
  EXPECT_TRUE(find(memory, true).ok()) << "asked to";
}

TEST_F(pci_tree_test, nothing_is_decoded_while_addresses_change) {
  add_bridge(0, 1);
  pci_space(at(0, 1)).write(pci_space::buses, 0x01'0100);
  add_adapter(1, 0);
  constexpr std::uint32_t on = pci_space::memory_decode | pci_space::bus_master;
  for (const unsigned bus : {0u, 1u}) pci_space(at(bus, 1 - bus)).write(pci_space::command, on);
  // It ends in the middle: there is no room for the bridge's own BARs.
  EXPECT_FALSE(find({0x8000'0000, unit}, true).ok());
  for (const unsigned bus : {0u, 1u}) EXPECT_EQ(read(bus, 1 - bus, pci_space::command), 0u);
}

TEST_F(pci_tree_test, a_window_that_is_missing_or_too_small_is_told) {
  add_bridge(0, 1);
  add_adapter(1, 0);
  trouble why = find({});
  ASSERT_FALSE(why.ok());
  EXPECT_NE(std::string(why.what).find("no memory window"), std::string::npos);
  found = {};
  // Room for the adapter's BARs, and none for the bridge's own.
  why = find({0x8000'0000, unit});
  ASSERT_FALSE(why.ok());
  EXPECT_NE(std::string(why.what).find("do not fit"), std::string::npos);
}

}  // namespace

std::uint64_t machine::now() noexcept {
  constexpr std::uint64_t step = 100'000'000;
  freehca::bare::now += step;
  if (freehca::bare::now >= adapter_comes) {
    adapter_comes = ~std::uint64_t{0};
    come();
  }
  return freehca::bare::now;
}

std::byte* machine::map(std::uint64_t, std::size_t, caching) noexcept {
  return configuration_space.data();
}

}  // namespace freehca::bare
