// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Whole Ethernet frames with right checksums, and sums that share nothing with the model's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace freehca::model::test {

inline constexpr std::uint16_t vxlan = 4789;  ///< VXLAN's UDP port (RFC 7348, section 8)

namespace frames {

inline std::vector<std::byte> bytes_of(std::string_view hex) {
  const auto nibble = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(nibble(hex[2 * i]) * 16 + nibble(hex[2 * i + 1]));
  return bytes;
}

/// RFC 1071, word by word.
inline unsigned plain_sum(std::span<const std::byte> bytes, unsigned sum = 0) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    sum += std::to_integer<unsigned>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
    if (sum > 0xffff) sum -= 0xffff;
  }
  return sum;
}

inline unsigned number(std::span<const std::byte> bytes, std::size_t at, std::size_t length) {
  unsigned value = 0;
  for (std::size_t i = 0; i < length; ++i)
    value = value * 256 + std::to_integer<unsigned>(bytes[at + i]);
  return value;
}

// Captured, from the tests of gopacket (google/gopacket, layers).
/// TCP, no payload, six bytes of padding behind it: decode_test.go (smallPacket).
inline const std::vector<std::byte> captured_tcp_ack = bytes_of(
    "bc305be8d349b8ac6f92d5bf0800450000280000400040063f9fac1151c5ac11514900639aef000000002ec1"
    "278350140000c3080000000000000000");
/// A DNS answer: dns_test.go (testPacketDNSRegression).
inline const std::vector<std::byte> captured_udp = bytes_of(
    "002219b67e22000f35bb0b4008004500004489c4000038112f3d6dc2a0045fd35c0ee1a600350030a597f618"
    "0010000100000000000108706963736c69666502727500000100010000291000000080000000");
/// TCP with an option: tcp_test.go (testPacketTCPOptionDecode).
inline const std::vector<std::byte> captured_tcp_syn = bytes_of(
    "000000000001000000000001080045000034000000008006b970c0a80001c0a800023039d431deadbeef0000"
    "000070020000829c0000020420000000000054657374");
/// The first fragment of a datagram: decode_test.go (testPacketIPv4Fragmented).
inline const std::vector<std::byte> captured_fragment = bytes_of(
    "000039cfd9cd004033d97cfd08004500003800f220004011af370a010101816f1e1b7cab4ee5002400000000"
    "0000000000000000000000000000000000000000000000000000");
/// ICMP in VXLAN, whose UDP has no checksum: vxlan_test.go (testPacketVXLAN).
inline const std::vector<std::byte> captured_vxlan = bytes_of(
    "00163e0871cf36dc851eb340080045000086d2c0400040115152c0a8cb01c0a8ca01b05d12b5007200000800"
    "00000000ff0000308801000200163e37f604080045000054000040004001234fc0a8cb03c0a8cb050800f6f2"
    "050c0001fce2975100000000a6f8020000000000101112131415161718191a1b1c1d1e1f2021222324252627"
    "28292a2b2c2d2e2f3031323334353637");

// Made up; the checksums were worked out apart from the model. All TCP and UDP headers name the
// ports 40000 and 5001, VXLAN 4789.
inline const std::vector<std::byte> tcp_over_ipv6 = bytes_of(
    "0002c90000010002c900000286dd600123450029064020010db800000000000000000000000120010db80000"
    "000100000000000000029c401389010203040a0b0c0d5018020021e100006f6464206c656e677468206f6620"
    "7061796c6f6164");
inline const std::vector<std::byte> udp_over_ipv6 = bytes_of(
    "0002c90000010002c900000286dd600123450010114020010db800000000000000000000000120010db80000"
    "000100000000000000029c401389001052ec646174616772616d");
/// Hop-by-hop, routing without segments left, destination options of 16 bytes.
inline const std::vector<std::byte> udp_behind_extensions = bytes_of(
    "0002c90000010002c900000286dd600123450031004020010db800000000000000000000000120010db80000"
    "000100000000000000022b000104000000003c000000000000001101010c0000000000000000000000009c40"
    "1389001131ea646174616772616d21");
inline const std::vector<std::byte> first_fragment_of_ipv6 = bytes_of(
    "0002c90000010002c900000286dd6001234500202c4020010db800000000000000000000000120010db80000"
    "0001000000000000000211000001deadbeef9c401389003076bd000102030405060708090a0b0c0d0e0f");
inline const std::vector<std::byte> later_fragment_of_ipv6 = bytes_of(
    "0002c90000010002c900000286dd6001234500202c4020010db800000000000000000000000120010db80000"
    "0001000000000000000211000018deadbeef101112131415161718191a1b1c1d1e1f2021222324252627");
inline const std::vector<std::byte> icmp_over_ipv6 = bytes_of(
    "0002c90000010002c900000286dd60012345000c3a4020010db800000000000000000000000120010db80000"
    "000100000000000000028000456f0001000270696e67");
/// 0x88a8 2064, 0x8100 600a; TCP behind an option of IPv4.
inline const std::vector<std::byte> tagged_twice = bytes_of(
    "0002c90000010002c900000288a820648100600a080046000031123440004006103bc0a80101c0a801029404"
    "00009c401389010203040a0b0c0d501802001cba000068656c6c6f");
/// Its checksum comes out as 0 and is sent as 0xffff.
inline const std::vector<std::byte> udp_that_sums_to_zero = bytes_of(
    "0002c90000010002c900000208004500001e123440004011a547c0a80101c0a801029c401389000affffccbc");
/// TCP over IPv4 in VXLAN, network 0x1234, over IPv4; outer UDP with a checksum.
inline const std::vector<std::byte> vxlan_over_ipv4 = bytes_of(
    "0002c90000010002c90000020800450000677fff400040113733c0a80101c0a801029c4012b500537a5f0800"
    "0000001234000002c90000010002c9000002080045000035123440004006a53bc0a80101c0a801029c401389"
    "010203040a0b0c0d5018020059600000696e6e6572207061796c6f6164");
/// The same with IPv6 both times.
inline const std::vector<std::byte> vxlan_over_ipv6 = bytes_of(
    "0002c90000010002c900000286dd600123450067114020010db800000000000000000000000120010db80000"
    "000100000000000000029c4012b50067163c08000000001234000002c90000010002c900000286dd60012345"
    "0021064020010db800000000000000000000000120010db80000000100000000000000029c40138901020304"
    "0a0b0c0d50180200813e0000696e6e6572207061796c6f6164");

struct named_frame {
  const char* name;
  const std::vector<std::byte>& bytes;
};
inline const named_frame all_frames[] = {
    {"captured_tcp_ack", captured_tcp_ack},
    {"captured_udp", captured_udp},
    {"captured_tcp_syn", captured_tcp_syn},
    {"captured_fragment", captured_fragment},
    {"captured_vxlan", captured_vxlan},
    {"tcp_over_ipv6", tcp_over_ipv6},
    {"udp_over_ipv6", udp_over_ipv6},
    {"udp_behind_extensions", udp_behind_extensions},
    {"first_fragment_of_ipv6", first_fragment_of_ipv6},
    {"later_fragment_of_ipv6", later_fragment_of_ipv6},
    {"icmp_over_ipv6", icmp_over_ipv6},
    {"tagged_twice", tagged_twice},
    {"udp_that_sums_to_zero", udp_that_sums_to_zero},
    {"vxlan_over_ipv4", vxlan_over_ipv4},
    {"vxlan_over_ipv6", vxlan_over_ipv6},
};

}  // namespace frames

}  // namespace freehca::model::test
