// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// CRCs of packets: the sample of the specification, other people's constants, and a computation bit
// by bit that shares nothing with the model's.
#include <algorithm>
#include <initializer_list>
#include <random>

#include <gtest/gtest.h>

#include <freehca/layouts/headers.hpp>
#include <freehca/packets/packet_crc.hpp>

#include "byte_list.hpp"
#include "link/wire_form.hpp"

namespace freehca::model::test {

namespace {

/// IBTA vol. 1, 7.8.3: the sample of a local packet, an RC "send middle" of 32 bytes.
std::vector<std::byte> sample() {
  return bytes_of({0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00,
                   0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d,
                   0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d,
                   0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00});
}

/// A shift register as the specification draws it: most significant coefficient first, bits of each
/// byte from the least significant on.
std::uint64_t shift_register(const std::vector<std::byte>& over, unsigned width,
                             std::uint64_t polynomial) {
  const std::uint64_t ones = (std::uint64_t{1} << width) - 1;
  std::uint64_t r = ones;
  for (const std::byte b : over)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool in = (std::to_integer<unsigned>(b) >> bit & 1) != 0;
      const bool out = (r >> (width - 1) & 1) != 0;
      r = r << 1 & ones;
      if (in != out) r ^= polynomial;
    }
  // Shifted out from the most significant coefficient, complemented, into bytes from their least
  // significant bit on.
  std::uint64_t sent = 0;
  for (unsigned bit = 0; bit < width; ++bit) sent |= ((r >> (width - 1 - bit) & 1) ^ 1) << bit;
  return sent;
}

std::uint64_t plain_icrc(std::vector<std::byte> p) {
  constexpr std::byte ones{0xff};
  if ((p[1] & std::byte{3}) == std::byte{3}) {
    std::fill_n(p.begin(), 8, ones);
    p[8] |= std::byte{0x0f};
    std::fill_n(p.begin() + 9, 3, ones);
    p[15] = ones;
    p[8 + 40 + 4] = ones;
  } else {
    p[0] |= std::byte{0xf0};
    p[8 + 4] = ones;
  }
  return shift_register(p, 32, 0x04c11db7);
}
std::uint64_t plain_vcrc(const std::vector<std::byte>& p) {
  return shift_register(p, 16, 0x100b);
}

}  // namespace

TEST(packet_crc, the_specifications_sample) {
  packet p{sample()};
  const auto wire = to_wire(p);
  const auto trailer = bytes_of({0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa});
  ASSERT_EQ(wire.size(), p.bytes.size() + trailer.size());
  EXPECT_TRUE(std::equal(trailer.begin(), trailer.end(), wire.end() - 6));
  packet back;
  EXPECT_EQ(from_wire(wire, back), arrival::good);
  EXPECT_EQ(back.bytes, p.bytes);
}

TEST(packet_crc, a_masked_route_header_is_soft_roces_seed) {
  // Soft-RoCE begins the ICRC of a frame without LRH with 0xdebb20e3 (rxe_icrc.c): the state after
  // 8 bytes of ones.
  const std::vector<std::byte> masked(8, std::byte{0xff});
  EXPECT_EQ(shift_register(masked, 32, 0x04c11db7) ^ 0xffffffff, 0xdebb20e3u);
}

TEST(packet_crc, every_length_and_both_routes_against_a_shift_register) {
  std::mt19937 random(7);
  // The headers alone are 20 bytes long, and 60 with a global route.
  for (std::size_t length = 20; length < 220; ++length)
    for (const int next : {2, 3}) {
      if (next == 3 && length < 60) continue;
      std::vector<std::byte> p(length);
      for (std::byte& b : p) b = static_cast<std::byte>(random());
      p[1] = (p[1] & std::byte{0xfc}) | static_cast<std::byte>(next);
      EXPECT_EQ(packets::invariant_crc(p), plain_icrc(p)) << length;
      EXPECT_EQ(packets::variant_crc(p), plain_vcrc(p)) << length;
    }
}

TEST(packet_crc, fields_that_change_under_way_do_not_change_the_icrc) {
  const auto differs_at = [](std::vector<std::byte> p, std::size_t at, int flip) {
    const auto before = packets::invariant_crc(p);
    p[at] ^= static_cast<std::byte>(flip);
    return packets::invariant_crc(p) != before;
  };
  auto local = sample();
  EXPECT_FALSE(differs_at(local, 0, 0xf0));  // virtual lane
  EXPECT_TRUE(differs_at(local, 1, 0x10));   // service level
  EXPECT_TRUE(differs_at(local, 3, 1));      // DLID
  EXPECT_FALSE(differs_at(local, 12, 0xff));
  EXPECT_TRUE(differs_at(local, 13, 1));
  std::vector<std::byte> global(8 + 40 + 12 + 16, std::byte{0x13});  // link next header 3: a GRH
  for (const std::size_t at : {0u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    EXPECT_FALSE(differs_at(global, at, 0xff)) << at;
  }
  EXPECT_FALSE(differs_at(global, 1, 0xfc));
  EXPECT_TRUE(differs_at(global, 8, 0xf0));   // IP version
  EXPECT_FALSE(differs_at(global, 9, 0xff));  // traffic class and flow label
  EXPECT_FALSE(differs_at(global, 11, 0xff));
  EXPECT_TRUE(differs_at(global, 13, 1));  // payload length
  EXPECT_TRUE(differs_at(global, 14, 1));  // next header
  EXPECT_FALSE(differs_at(global, 15, 0xff));
  EXPECT_TRUE(differs_at(global, 16, 1));
  EXPECT_FALSE(differs_at(global, 52, 0xff));
}

TEST(packet_crc, what_is_wrong_is_told) {
  const auto good = to_wire(packet{sample()});
  packet out;
  auto wire = good;
  wire[30] ^= std::byte{1};
  EXPECT_EQ(from_wire(wire, out), arrival::bad_vcrc);
  wire.pop_back();
  EXPECT_EQ(from_wire(wire, out), arrival::bad_vcrc);
  const auto with_vcrc = [](std::vector<std::byte> w) {
    w.resize(w.size() - 2);
    const auto crc = packets::variant_crc(w);
    w.push_back(static_cast<std::byte>(crc & 0xff));
    w.push_back(static_cast<std::byte>(crc >> 8));
    return w;
  };
  wire = good;
  wire[30] ^= std::byte{1};
  EXPECT_EQ(from_wire(with_vcrc(wire), out), arrival::bad_icrc);
  wire = good;
  wire[5] ^= std::byte{1};  // packet length
  EXPECT_EQ(from_wire(with_vcrc(wire), out), arrival::malformed);
  wire = good;
  wire[0] |= std::byte{1};  // link version
  EXPECT_EQ(from_wire(with_vcrc(wire), out), arrival::malformed);
  wire = good;
  wire[1] &= std::byte{0xfc};  // a raw packet
  EXPECT_EQ(from_wire(with_vcrc(wire), out), arrival::malformed);
  wire.resize(20);  // no room for a BTH
  wire[1] |= std::byte{2};
  wire[5] = std::byte{4};
  wire.resize(18);
  EXPECT_EQ(from_wire(with_vcrc(wire), out), arrival::malformed);
  for (std::size_t length = 0; length < 10; ++length)
    EXPECT_NE(from_wire(std::span(good).first(length), out), arrival::good);
  // One block more than the longest packet of an MTU of 4096.
  std::vector<std::byte> long_packet(4096 + 124 + 4, std::byte{});
  long_packet[1] = std::byte{2};
  long_packet[4] = static_cast<std::byte>((long_packet.size() / 4) >> 8);
  long_packet[5] = static_cast<std::byte>(long_packet.size() / 4 & 0xff);
  long_packet.resize(long_packet.size() + 2);
  EXPECT_EQ(from_wire(with_vcrc(long_packet), out), arrival::malformed);
}

}  // namespace freehca::model::test
