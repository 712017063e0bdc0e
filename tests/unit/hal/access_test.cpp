// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The accessors as they ship: bytes in memory are big-endian on every machine.
#include <array>

#include <gtest/gtest.h>

#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>

namespace freehca {
namespace {

using bytes8 = std::array<std::byte, 8>;
constexpr bytes8 counting = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                             std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};

TEST(dma, words_are_big_endian_in_memory) {
  alignas(8) bytes8 memory{};
  dma::store_be64(memory.data(), 0x0102'0304'0506'0708);
  EXPECT_EQ(memory, counting);
  EXPECT_EQ(dma::load_be64(memory.data()), 0x0102'0304'0506'0708u);
  dma::store_be32(memory.data() + 4, 0xaabbccdd);
  EXPECT_EQ(memory[4], std::byte{0xaa});
  EXPECT_EQ(memory[7], std::byte{0xdd});
  EXPECT_EQ(dma::load_be32(memory.data() + 4), 0xaabbccddu);
}

TEST(dma, strings_of_bytes_stay_in_order_and_clear_zeroes_exactly) {
  std::array<std::byte, 10> memory{};
  memory.fill(std::byte{0xee});
  dma::store_bytes(memory.data() + 1, counting.data(), 8);
  bytes8 back{};
  dma::load_bytes(back.data(), memory.data() + 1, 8);
  EXPECT_EQ(back, counting);
  dma::clear(memory.data() + 1, 8);
  EXPECT_EQ(memory[0], std::byte{0xee});
  EXPECT_EQ(memory[1], std::byte{0});
  EXPECT_EQ(memory[8], std::byte{0});
  EXPECT_EQ(memory[9], std::byte{0xee});
}

TEST(dma, a_part_of_a_region_keeps_both_addresses_together) {
  std::array<std::byte, 64> memory{};
  const dma_region whole{memory.data(), 0x1000, memory.size()};
  const dma_region part = whole.part(16, 8);
  EXPECT_EQ(part.host, memory.data() + 16);
  EXPECT_EQ(part.device_address, 0x1010u);
  EXPECT_EQ(part.bytes, 8u);
}

TEST(mmio, registers_are_big_endian) {
  alignas(8) bytes8 window{};
  const mmio_region region{window.data(), window.size()};
  mmio::write_32(region, 0, 0x01020304);
  mmio::write_32(region, 4, 0x05060708);
  EXPECT_EQ(window, counting);
  EXPECT_EQ(mmio::read_32(region, 4), 0x05060708u);
  mmio::write_64(region, 0, 0x0807'0605'0403'0201);
  EXPECT_EQ(mmio::read_32(region, 0), 0x08070605u);
  EXPECT_EQ(mmio::read_32(region.part(4, 4), 0), 0x04030201u);
}

}  // namespace
}  // namespace freehca
