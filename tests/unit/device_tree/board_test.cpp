// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/device_tree/board.hpp>

#include <gtest/gtest.h>

#include <freehca/device_tree/serial.hpp>

#include "blob.hpp"

namespace freehca::device_tree {
namespace {

constexpr std::uint64_t image = 0x4020'0000;
constexpr std::uint32_t io = 0x0100'0000, memory_32 = 0x0200'0000, memory_64 = 0x0300'0000;

/// Begins as QEMU's "virt" for Arm does; the caller goes on below the root.
blob beginning() {
  blob b;
  b.begin("").cells("#address-cells", {2}).cells("#size-cells", {2});
  b.begin("memory@40000000").texts("device_type", "memory");
  b.cells("reg", {0, 0x1000, 0, 0x1000, 0, 0x4000'0000, 0, 0x1000'0000}).end();
  return b;
}

blob& host_bridge(blob& b, std::uint32_t cpu_side_of_window, const char* coherence = nullptr) {
  b.begin("pcie").texts("compatible", "pci-host-ecam-generic");
  b.cells("#address-cells", {3}).cells("#size-cells", {2}).cells("bus-range", {0, 15});
  b.cells("reg", {0x40, 0x1000'0000, 0, 0x1000'0000});
  b.cells("ranges", {io,       0,           0,         0,           0x3eff'0000, 0,
                     0x1'0000, memory_32,   0,         0x1000'0000, 0,           cpu_side_of_window,
                     0,        0x2eff'0000, memory_64, 0x80,        0,           0x80,
                     0,        0x80,        0});
  if (coherence != nullptr) b.empty(coherence);
  return b.end();
}

bare::trouble read(board& to, const std::vector<std::byte>& from, std::uint64_t at = image) {
  tree t;
  EXPECT_TRUE(t.open(from.data()).ok());
  return to.read(t, at);
}

TEST(device_tree_board, finds_the_memory_that_the_image_lies_in) {
  board b;
  ASSERT_TRUE(read(b, beginning().end().finish()).ok());
  EXPECT_EQ(b.memory().base, 0x4000'0000u);
  EXPECT_EQ(b.memory().bytes, 0x1000'0000u);
}
TEST(device_tree_board, says_so_when_no_memory_is_where_the_image_lies) {
  board b;
  EXPECT_STREQ(read(b, beginning().end().finish(), 0x8000'0000).what,
               "it knows of no memory where the image lies");
}
TEST(device_tree_board, says_so_when_the_tree_is_damaged) {
  board b;
  EXPECT_STREQ(read(b, beginning().finish()).what, "it is damaged");
}
TEST(device_tree_board, says_so_when_rows_of_a_host_bridge_would_have_no_cells) {
  blob from;
  from.begin("").cells("#address-cells", {0xffff'fffb}).cells("#size-cells", {7});
  board b;
  EXPECT_STREQ(read(b, host_bridge(from, 0x1000'0000).end().finish()).what, "it is damaged");
}
TEST(device_tree_board, lets_memory_end_where_the_firmware_keeps_some) {
  blob by_node = beginning(), by_block = beginning();
  by_node.begin("reserved-memory").cells("#address-cells", {2}).cells("#size-cells", {2});
  by_node.empty("ranges");
  by_node.begin("below").cells("reg", {0, 0x4000'0000, 0, 0x1000}).end();
  by_node.begin("above").cells("reg", {0, 0x4800'0000, 0, 0x1000}).end();
  by_node.end().end();
  by_block.reserve(0x4000'0000, 0x1000).reserve(0x4800'0000, 0x1000).end();
  for (blob* from : {&by_node, &by_block}) {
    board b;
    ASSERT_TRUE(read(b, from->finish()).ok());
    EXPECT_EQ(b.memory().base + b.memory().bytes, 0x4800'0000u);
  }
}
TEST(device_tree_board, copies_the_command_line_as_far_as_there_is_room) {
  blob b = beginning(), too_long = beginning();
  board some;
  ASSERT_TRUE(
      read(some, b.begin("chosen").texts("bootargs", "take_over x").end().end().finish()).ok());
  EXPECT_STREQ(some.command_line(), "take_over x");
  const std::string text(2 * board::most_command_line, 'a');
  ASSERT_TRUE(
      read(some, too_long.begin("chosen").texts("bootargs", text).end().end().finish()).ok());
  EXPECT_EQ(std::string(some.command_line()), text.substr(0, board::most_command_line - 1));
}
TEST(device_tree_board, finds_the_host_bridge_and_its_window_below_4_gib) {
  blob from = beginning();
  board b;
  ASSERT_TRUE(read(b, host_bridge(from, 0x1000'0000).end().finish()).ok());
  bare::pci_host host;
  ASSERT_TRUE(b.find_pci(true, &host).ok());
  EXPECT_EQ(host.ecam.base, 0x40'1000'0000u);
  EXPECT_EQ(host.ecam.bytes, 16u << 20) << "as many as there are buses";
  EXPECT_EQ(host.first_bus, 0u);
  EXPECT_EQ(host.memory.base, 0x1000'0000u);
  EXPECT_EQ(host.memory.bytes, 0x2eff'0000u);
}
TEST(device_tree_board, takes_no_window_where_processor_and_bus_have_other_addresses) {
  blob from = beginning();
  board b;
  ASSERT_TRUE(read(b, host_bridge(from, 0x9000'0000).end().finish()).ok());
  bare::pci_host host;
  ASSERT_TRUE(b.find_pci(true, &host).ok());
  EXPECT_EQ(host.memory.bytes, 0u);
}
TEST(device_tree_board, refuses_a_host_bridge_whose_devices_do_not_agree_with_caches) {
  const auto find = [](const char* said, bool unless_said) {
    blob from = beginning();
    board b;
    bare::pci_host host;
    EXPECT_TRUE(read(b, host_bridge(from, 0x1000'0000, said).end().finish()).ok());
    return b.find_pci(unless_said, &host).ok();
  };
  EXPECT_TRUE(find("dma-coherent", false));
  EXPECT_FALSE(find(nullptr, false));
  EXPECT_TRUE(find(nullptr, true));
  EXPECT_FALSE(find("dma-noncoherent", true));

  blob above;
  above.begin("").cells("#address-cells", {2}).cells("#size-cells", {2}).empty("dma-coherent");
  above.begin("memory").texts("device_type", "memory").cells("reg", {0, 0x4000'0000, 0, 1u << 28});
  board b;
  bare::pci_host host;
  ASSERT_TRUE(read(b, host_bridge(above.end(), 0x1000'0000).end().finish()).ok());
  EXPECT_TRUE(b.find_pci(false, &host).ok());
}
TEST(device_tree_board, says_so_when_there_is_no_host_bridge) {
  board b;
  ASSERT_TRUE(read(b, beginning().end().finish()).ok());
  bare::pci_host host;
  EXPECT_STREQ(b.find_pci(true, &host).step, "looking for the PCI host bridge");
}

/// The console is of this kind, at address 0x1000.
serial_line console(const char* compatible, std::uint32_t shift, std::uint32_t width) {
  blob b;
  b.begin("").cells("#address-cells", {1}).cells("#size-cells", {1});
  b.begin("chosen").texts("stdout-path", "/uart").end();
  b.begin("uart").texts("compatible", compatible).cells("reg", {0x1000, 0x100});
  b.cells("reg-shift", {shift}).cells("reg-io-width", {width}).end();
  const std::vector<std::byte> whole = b.end().finish();
  tree t;
  serial_line line;
  EXPECT_TRUE(t.open(whole.data()).ok());
  EXPECT_TRUE(line.find(t).ok());
  EXPECT_EQ(line.registers().base, 0x1000u);
  return line;
}

TEST(device_tree_serial, writes_where_each_kind_of_line_wants_it) {
  alignas(4) std::byte registers[0x20] = {};
  serial_line pl011 = console("arm,pl011", 0, 4);
  pl011.mapped(registers);
  pl011.put('a');
  EXPECT_EQ(registers[0], std::byte{'a'});

  registers[5] = std::byte{0x20};
  serial_line bytes_apart = console("ns16550a", 0, 1);
  bytes_apart.mapped(registers);
  bytes_apart.put('b');
  EXPECT_EQ(registers[0], std::byte{'b'});

  registers[5 * 4] = std::byte{0x20};
  registers[1] = std::byte{0xff};
  serial_line words_apart = console("ns16550a", 2, 4);
  words_apart.mapped(registers);
  words_apart.put('c');
  EXPECT_EQ(registers[0], std::byte{'c'});
  EXPECT_EQ(registers[1], std::byte{0}) << "the access is 4 bytes wide";
}
TEST(device_tree_serial, does_not_wait_for_ever_for_a_line_that_is_stopped) {
  alignas(4) std::byte registers[0x20] = {};
  registers[0x18] = std::byte{0x20};  // PL011: full
  serial_line line = console("arm,pl011", 0, 4);
  line.mapped(registers);
  line.put('a');
  EXPECT_EQ(registers[0], std::byte{'a'});
}
TEST(device_tree_serial, waits_once_for_a_line_that_stays_stopped) {
  alignas(4) std::byte registers[0x20] = {};
  registers[0x18] = std::byte{0x20};  // PL011: full
  serial_line line = console("arm,pl011", 0, 4);
  line.mapped(registers);
  EXPECT_EQ(line.put('a'), 1'000'000u);
  EXPECT_EQ(line.put('a'), 1u);
  EXPECT_EQ(line.put('a'), 1u);
  registers[0x18] = std::byte{0};
  EXPECT_EQ(line.put('b'), 0u);
  EXPECT_EQ(registers[0], std::byte{'b'});
  registers[0x18] = std::byte{0x20};
  EXPECT_EQ(line.put('a'), 1'000'000u) << "it is waited for anew";
}
TEST(device_tree_serial, reads_what_has_come_and_does_not_wait) {
  alignas(4) std::byte registers[0x20] = {};
  char c = '-';
  registers[0] = std::byte{'a'};
  serial_line pl011 = console("arm,pl011", 0, 4);
  EXPECT_FALSE(pl011.get(&c)) << "it is not mapped";
  pl011.mapped(registers);
  registers[0x18] = std::byte{0x10};  // empty
  EXPECT_FALSE(pl011.get(&c));
  EXPECT_EQ(c, '-');
  registers[0x18] = std::byte{0};
  ASSERT_TRUE(pl011.get(&c));
  EXPECT_EQ(c, 'a');

  registers[0] = std::byte{0};
  registers[5] = std::byte{0x20};
  serial_line bytes_apart = console("ns16550a", 0, 1);
  bytes_apart.mapped(registers);
  EXPECT_FALSE(bytes_apart.get(&c)) << "there is room, and nothing has come";
  registers[5] = std::byte{0x21};
  registers[0] = std::byte{'b'};
  ASSERT_TRUE(bytes_apart.get(&c));
  EXPECT_EQ(c, 'b');

  registers[5 * 4] = std::byte{0x01};
  registers[0] = std::byte{'c'};
  serial_line words_apart = console("ns16550a", 2, 4);
  words_apart.mapped(registers);
  ASSERT_TRUE(words_apart.get(&c));
  EXPECT_EQ(c, 'c');
}
TEST(device_tree_serial, gives_what_came_damaged_as_zero) {
  alignas(4) std::byte registers[0x20] = {};
  char c = '-';
  registers[0] = std::byte{'a'};
  registers[1] = std::byte{0x08};  // PL011: an overrun, beside the byte
  serial_line pl011 = console("arm,pl011", 0, 4);
  pl011.mapped(registers);
  ASSERT_TRUE(pl011.get(&c));
  EXPECT_EQ(c, '\0');

  registers[5] = std::byte{0x03};  // an overrun
  serial_line line = console("ns16550a", 0, 1);
  line.mapped(registers);
  c = '-';
  ASSERT_TRUE(line.get(&c));
  EXPECT_EQ(c, '\0');
}
TEST(device_tree_serial, takes_any_line_that_it_knows_where_no_console_is_named) {
  blob b;
  b.begin("").cells("#address-cells", {1}).cells("#size-cells", {1});
  b.begin("uart").texts("compatible", "ns16550a").cells("reg", {0x2000, 0x100}).end();
  const std::vector<std::byte> whole = b.end().finish();
  tree t;
  ASSERT_TRUE(t.open(whole.data()).ok());
  serial_line line;
  EXPECT_TRUE(line.find(t).ok());
  EXPECT_EQ(line.registers().base, 0x2000u);
}
TEST(device_tree_serial, writes_to_a_line_that_is_assumed) {
  alignas(4) std::byte registers[0x20] = {};
  registers[1] = std::byte{0xff};
  serial_line line;
  line.assume("arm,pl011", {0x3000, 0x1000});
  EXPECT_EQ(line.registers().base, 0x3000u);
  line.mapped(registers);
  line.put('d');
  EXPECT_EQ(registers[0], std::byte{'d'});
  EXPECT_EQ(registers[1], std::byte{0}) << "the access is 4 bytes wide";
}
TEST(device_tree_serial, writes_to_a_16550_that_is_assumed_with_registers_four_bytes_apart) {
  alignas(4) std::byte registers[0x20] = {};
  registers[0x14] = std::byte{0x20};  // its fifth register says that there is room
  registers[1] = std::byte{0xff};
  serial_line line;
  line.assume("snps,dw-apb-uart", {0x3000, 0x100}, 4, 4);
  line.mapped(registers);
  line.put('d');
  line.put('e');
  EXPECT_EQ(registers[0], std::byte{'e'});
  EXPECT_EQ(registers[1], std::byte{0}) << "the access is 4 bytes wide";
  EXPECT_EQ(line.put('a'), 0u);
  registers[0x14] = std::byte{0};
  EXPECT_EQ(line.put('a'), 1'000'000u) << "it waits for room there";
}
TEST(device_tree_serial, swallows_text_before_it_is_mapped_and_refuses_other_lines) {
  serial_line().put('a');
  blob b;
  b.begin("").begin("chosen").texts("stdout-path", "/uart").end();
  const std::vector<std::byte> whole =
      b.begin("uart").texts("compatible", "maker,uart").end().end().finish();
  tree t;
  ASSERT_TRUE(t.open(whole.data()).ok());
  serial_line line;
  EXPECT_TRUE(line.find(t).is(driver_error::unsupported));
}

}  // namespace
}  // namespace freehca::device_tree
