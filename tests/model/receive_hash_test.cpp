// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Hashes of receive-side scaling, against the vectors that Microsoft publishes ("Verifying the RSS
// Hash Calculation").
#include <algorithm>

#include <gtest/gtest.h>

#include "frames/receive_hash.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using namespace frames;
using layouts::image;
using layouts::rss_context;
using layouts::rss_hash;

namespace {

std::vector<std::byte> key() {
  return bytes_of(
      "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");
}

image<rss_context> context(rss_hash hash = rss_hash::toeplitz) {
  image<rss_context> c;
  c.set_bytes<&rss_context::key>(key().data()).set<&rss_context::hash>(hash);
  return c;
}

image<rss_context> all_flags(rss_hash hash = rss_hash::toeplitz) {
  auto c = context(hash);
  c.set<&rss_context::ipv4>(true).set<&rss_context::ipv6>(true);
  c.set<&rss_context::tcp_ipv4>(true).set<&rss_context::tcp_ipv6>(true);
  c.set<&rss_context::udp_ipv4>(true).set<&rss_context::udp_ipv6>(true);
  return c;
}

receive_hash hash_of(const std::vector<std::byte>& bytes, const image<rss_context>& c,
                     bool fragments = false) {
  return receive_hash_of(frame_view::of(bytes, vxlan).value(), c, fragments);
}

/// A frame of TCP or UDP with these addresses, source first, and ports.
std::vector<std::byte> frame_of(std::string_view addresses, std::uint16_t source_port,
                                std::uint16_t destination_port, int protocol = 6) {
  const bool four = addresses.size() == 16;
  auto bytes = bytes_of(four ? "0002c90000010002c90000020800450000280000000040060000"
                             : "0002c90000010002c900000286dd6000000000140640");
  bytes[four ? 23 : 20] = static_cast<std::byte>(protocol);
  const auto a = bytes_of(addresses);
  bytes.insert(bytes.end(), a.begin(), a.end());
  for (const unsigned port : {source_port, destination_port}) {
    bytes.push_back(static_cast<std::byte>(port >> 8));
    bytes.push_back(static_cast<std::byte>(port & 0xff));
  }
  bytes.resize(bytes.size() + 16);
  bytes[bytes.size() - 8] = std::byte{0x50};
  return bytes;
}

/// Source address, destination address; ports; the hash of the addresses, and with the ports.
struct vector_of {
  std::string_view addresses;
  std::uint16_t source_port, destination_port;
  std::uint32_t of_addresses, of_all;
};

constexpr vector_of published[] = {
    // 66.9.149.187:2794 to 161.142.100.80:1766 and so on.
    {"420995bba18e6450", 2794, 1766, 0x323e8fc2, 0x51ccc178},
    {"c75c6f0241458c53", 14230, 4739, 0xd718262a, 0xc626b0ea},
    {"1813c65f0c16cfb8", 12898, 38024, 0xd2d0a5de, 0x5c2b394a},
    {"261bcd1ed18ea306", 48228, 2217, 0x82989176, 0xafc7327f},
    {"9927a3bfcabc7f02", 44251, 1303, 0x5d1809c5, 0x10e828a2},
    // 3ffe:2501:200:1fff::7 to 3ffe:2501:200:3::1 and so on.
    {"3ffe250102001fff00000000000000073ffe2501020000030000000000000001", 2794, 1766, 0x2cc18cd5,
     0x40207d3d},
    {"3ffe050100080000026097fffe40efabff020000000000000000000000000001", 14230, 4739, 0x0f0c461c,
     0xdde51bbf},
    {"3ffe1900454500030200f8fffe2167cffe800000000000000200f8fffe2167cf", 44251, 38024, 0x4b61e985,
     0x02d1feef},
};

}  // namespace

TEST(receive_hash, published_vectors_of_addresses_and_ports) {
  for (const auto& v : published) {
    const auto tcp = frame_of(v.addresses, v.source_port, v.destination_port);
    EXPECT_EQ(hash_of(tcp, all_flags()).value, v.of_all) << v.addresses;
    EXPECT_TRUE(hash_of(tcp, all_flags()).hashed);
    EXPECT_FALSE(hash_of(tcp, all_flags()).udp);
    const auto udp = frame_of(v.addresses, v.source_port, v.destination_port, 17);
    EXPECT_EQ(hash_of(udp, all_flags()).value, v.of_all) << v.addresses;
    EXPECT_TRUE(hash_of(udp, all_flags()).hashed && hash_of(udp, all_flags()).udp);
  }
}

TEST(receive_hash, published_vectors_of_addresses) {
  auto c = context();
  c.set<&rss_context::ipv4>(true).set<&rss_context::ipv6>(true);
  for (const auto& v : published)
    for (const int protocol : {6, 17, 1}) {
      const auto bytes = frame_of(v.addresses, v.source_port, v.destination_port, protocol);
      EXPECT_EQ(hash_of(bytes, c).value, v.of_addresses) << v.addresses;
      EXPECT_TRUE(hash_of(bytes, c).hashed);
      EXPECT_FALSE(hash_of(bytes, c).udp);
    }
}

TEST(receive_hash, every_flag_stands_for_its_own_protocols) {
  const auto tcp4 = frame_of(published[0].addresses, 1, 2, 6);
  const auto udp4 = frame_of(published[0].addresses, 1, 2, 17);
  const auto tcp6 = frame_of(published[5].addresses, 1, 2, 6);
  const auto udp6 = frame_of(published[5].addresses, 1, 2, 17);
  const auto which = [&](const image<rss_context>& c) {
    std::vector<bool> hashed;
    for (const auto* bytes : {&tcp4, &udp4, &tcp6, &udp6})
      hashed.push_back(hash_of(*bytes, c).hashed);
    return hashed;
  };
  using expected = std::vector<bool>;
  EXPECT_EQ(which(context()), expected({false, false, false, false}));
  EXPECT_EQ(which(context().set<&rss_context::ipv4>(true)), expected({true, true, false, false}));
  EXPECT_EQ(which(context().set<&rss_context::ipv6>(true)), expected({false, false, true, true}));
  EXPECT_EQ(which(context().set<&rss_context::tcp_ipv4>(true)),
            expected({true, false, false, false}));
  EXPECT_EQ(which(context().set<&rss_context::udp_ipv4>(true)),
            expected({false, true, false, false}));
  EXPECT_EQ(which(context().set<&rss_context::tcp_ipv6>(true)),
            expected({false, false, true, false}));
  EXPECT_EQ(which(context().set<&rss_context::udp_ipv6>(true)),
            expected({false, false, false, true}));
}

TEST(receive_hash, what_is_not_hashed_has_a_hash_of_zero) {
  auto arp = frame_of(published[0].addresses, 1, 2);
  arp[13] = std::byte{0x06};
  for (const auto& h : {hash_of(arp, all_flags()), hash_of(captured_udp, context())}) {
    EXPECT_FALSE(h.hashed || h.udp);
    EXPECT_EQ(h.value, 0u);
  }
}

TEST(receive_hash, fragments_are_hashed_by_addresses_or_not_at_all) {
  for (const auto* bytes : {&captured_fragment, &first_fragment_of_ipv6, &later_fragment_of_ipv6}) {
    EXPECT_FALSE(hash_of(*bytes, all_flags()).hashed);
    EXPECT_EQ(hash_of(*bytes, all_flags()).value, 0u);
    const auto h = hash_of(*bytes, all_flags(), true);
    EXPECT_TRUE(h.hashed);
    EXPECT_FALSE(h.udp);
    const std::size_t at = bytes == &captured_fragment ? 26 : 22;
    const std::size_t length = bytes == &captured_fragment ? 8 : 32;
    const auto k = key();
    EXPECT_EQ(h.value, toeplitz_hash(std::span<const std::byte, 40>(k),
                                     std::span(*bytes).subspan(at, length)));
  }
  auto c = context();
  c.set<&rss_context::udp_ipv4>(true);
  EXPECT_FALSE(hash_of(captured_fragment, c, true).hashed);
}

TEST(receive_hash, exclusive_or_of_words) {
  const auto c = all_flags(rss_hash::exclusive_or);
  EXPECT_EQ(hash_of(frame_of("0102030410203040", 0x0506, 0x0708), c).value, 0x1424344cu);
  auto addresses = context(rss_hash::exclusive_or);
  addresses.set<&rss_context::ipv4>(true);
  EXPECT_EQ(hash_of(frame_of("0102030410203040", 0x0506, 0x0708), addresses).value, 0x11223344u);
  EXPECT_EQ(hash_of(frame_of("00000001000000020000000400000008"
                             "00000010000000200000004000000080",
                             0x8000, 0x0100),
                    c)
                .value,
            0x800001ffu);
}

TEST(receive_hash, headers_inside_count_when_the_context_says_so) {
  using row = image<rss_context>;
  const auto with = [](unsigned inner) {
    row c = all_flags();
    c.set<&rss_context::inner_headers>(inner);
    return c;
  };
  const auto k = key();
  const auto of_bytes = [&](std::size_t at, std::size_t length) {
    return toeplitz_hash(std::span<const std::byte, 40>(k),
                         std::span(vxlan_over_ipv4).subspan(at, length));
  };
  EXPECT_EQ(hash_of(vxlan_over_ipv4, with(0)).value, of_bytes(26, 12));
  EXPECT_TRUE(hash_of(vxlan_over_ipv4, with(0)).udp);
  EXPECT_EQ(hash_of(vxlan_over_ipv4, with(1)).value, of_bytes(26, 12));
  EXPECT_EQ(hash_of(vxlan_over_ipv4, with(2)).value, of_bytes(50 + 26, 12));
  EXPECT_FALSE(hash_of(vxlan_over_ipv4, with(2)).udp);
  EXPECT_EQ(hash_of(vxlan_over_ipv4, with(3)).value, of_bytes(50 + 26, 8));
  // A frame without them is hashed by what it has.
  const auto v = published[0];
  for (const unsigned inner : {2u, 3u})
    EXPECT_EQ(hash_of(frame_of(v.addresses, v.source_port, v.destination_port), with(inner)).value,
              v.of_all);
}

}  // namespace freehca::model::test
