// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Checksums of frames, against captured frames, and against a sum word by word that shares nothing
// with the model's.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "frames/checksum.hpp"
#include "frames/receive_checks.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using namespace frames;

namespace {

receive_checks checks_of(const std::vector<std::byte>& bytes) {
  const auto v = frame_view::of(bytes, vxlan).value();
  return check(v, v.outer);
}

std::vector<std::byte> with(std::vector<std::byte> bytes, std::size_t at,
                            std::initializer_list<int> values) {
  for (const int v : values) bytes[at++] = static_cast<std::byte>(v);
  return bytes;
}

/// The sum of a whole IPv6 packet that is `bytes` from byte 14 on, without its first word and
/// without next header and hop limit.
unsigned plain_sum_of_ipv6(std::vector<std::byte> bytes) {
  for (const std::size_t at : {14u, 15u, 16u, 17u, 20u, 21u}) bytes[at] = {};
  return plain_sum(std::span(bytes).subspan(14));
}

/// The checksums of a frame spoilt at `places`, then asked for: the frame must be what it was.
void expect_put(const std::vector<std::byte>& good, std::initializer_list<std::size_t> places,
                const checksum_requests& requests) {
  auto bytes = good;
  for (const std::size_t at : places) {
    bytes[at] ^= std::byte{0x5a};
    bytes[at + 1] ^= std::byte{0xa5};
  }
  put_checksums(bytes, vxlan, requests);
  EXPECT_EQ(bytes, good);
}

}  // namespace

TEST(frame_checksum, the_example_of_rfc_1071) {
  const auto bytes = bytes_of("0001f203f4f5f6f7");
  EXPECT_EQ(ones_sum().add(bytes).folded(), 0xddf2);
  EXPECT_EQ(ones_sum().add(std::span(bytes).first(4)).add(std::span(bytes).subspan(4)).folded(),
            0xddf2);
  EXPECT_EQ(ones_sum().folded(), 0);
}

TEST(frame_checksum, every_length_and_place_sums_as_word_by_word) {
  std::vector<std::byte> bytes(64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 200);
  for (std::size_t at = 0; at < 8; ++at)
    for (std::size_t n = 0; at + n <= bytes.size(); ++n) {
      const auto part = std::span(bytes).subspan(at, n);
      EXPECT_EQ(ones_sum().add(part).folded(), plain_sum(part)) << at << " " << n;
    }
  const std::vector<std::byte> ones(0x20000, std::byte{0xff});
  EXPECT_EQ(ones_sum().add(ones).folded(), 0xffff);
}

TEST(frame_checksum, captured_frames_are_right) {
  for (const auto* bytes : {&captured_tcp_ack, &captured_udp, &captured_tcp_syn}) {
    const auto c = checks_of(*bytes);
    EXPECT_TRUE(c.ipv4 && c.ip_ok && c.l4_ok);
    EXPECT_TRUE(c.tcp != c.udp);
    EXPECT_FALSE(c.ipv6 || c.options || c.fragment);
    EXPECT_EQ(c.sum, 0xffff);
  }
}

TEST(frame_checksum, any_changed_byte_that_is_covered_is_found) {
  for (const auto* good : {&captured_tcp_ack, &captured_udp, &tcp_over_ipv6, &tagged_twice}) {
    const auto h = frame_view::of(*good)->outer;
    for (std::size_t at = h.network; at < good->size(); ++at) {
      auto bytes = *good;
      bytes[at] ^= std::byte{0x10};
      const auto v = frame_view::of(bytes).value();
      const bool header = h.ip == network_protocol::ipv4 && at < h.transport;
      const bool addresses = at >= h.network + (h.ip == network_protocol::ipv4 ? 12u : 8u) &&
                             at < h.network + (h.ip == network_protocol::ipv4 ? 20u : 40u);
      if (v.outer.ip == network_protocol::other || v.outer.fragment != h.fragment) continue;
      EXPECT_EQ(check(v, v.outer).ip_ok, !header) << at;
      if (addresses || (at >= h.transport && at < h.end)) {
        EXPECT_FALSE(check(v, v.outer).l4_ok) << at;
        EXPECT_NE(check(v, v.outer).sum, 0xffff) << at;
      }
      if (at >= h.end) {
        EXPECT_TRUE(check(v, v.outer).l4_ok) << at;
      }
    }
  }
}

TEST(frame_checksum, ipv6_says_which_headers_there_are) {
  for (const auto* bytes : {&tcp_over_ipv6, &udp_over_ipv6, &udp_behind_extensions}) {
    const auto c = checks_of(*bytes);
    EXPECT_TRUE(c.ipv6 && c.ip_ok && c.l4_ok);
    EXPECT_TRUE(c.tcp != c.udp);
    EXPECT_FALSE(c.ipv4 || c.options || c.fragment);
    EXPECT_EQ(c.ipv6_extensions, 0);
    EXPECT_EQ(c.sum, 0xffff);
  }
  EXPECT_TRUE(checks_of(tcp_over_ipv6).tcp);
  EXPECT_TRUE(checks_of(udp_over_ipv6).udp);
}

TEST(frame_checksum, other_protocols_over_ipv6_get_the_sum_from_the_payload_length_on) {
  const auto c = checks_of(icmp_over_ipv6);
  EXPECT_TRUE(c.ipv6 && c.ip_ok);
  EXPECT_FALSE(c.tcp || c.udp || c.l4_ok);
  EXPECT_EQ(c.sum, plain_sum_of_ipv6(icmp_over_ipv6));
  auto padded = icmp_over_ipv6;
  padded.resize(padded.size() + 6, std::byte{0x33});
  EXPECT_EQ(checks_of(padded).sum, c.sum);
  // What a driver adds makes it the sum of ICMP over its pseudo header: right.
  EXPECT_EQ(plain_sum(std::span(icmp_over_ipv6).subspan(14 + 8), 58 + 12), 0xffffu);
  EXPECT_EQ(plain_sum({}, c.sum + 58), 0xffffu);
}

TEST(frame_checksum, fragments_have_sums_of_their_own_and_no_protocol) {
  const auto c = checks_of(captured_fragment);
  EXPECT_TRUE(c.ipv4 && c.ip_ok && c.fragment);
  EXPECT_FALSE(c.tcp || c.udp || c.l4_ok);
  const auto bytes = std::span(captured_fragment);
  EXPECT_EQ(c.sum, plain_sum(bytes.subspan(26), 17 + 36));
  // The first fragment of what was TCP: all of its packet, and yet nobody knows that.
  const auto first = checks_of(with(captured_tcp_ack, 20, {0x20}));
  EXPECT_TRUE(first.ipv4 && first.fragment);
  EXPECT_FALSE(first.tcp || first.udp || first.l4_ok);
  for (const auto* six : {&first_fragment_of_ipv6, &later_fragment_of_ipv6}) {
    const auto d = checks_of(*six);
    EXPECT_TRUE(d.ipv6 && d.ip_ok);
    EXPECT_EQ(d.ipv6_extensions, 0x10);
    EXPECT_FALSE(d.fragment || d.tcp || d.udp || d.l4_ok);
    EXPECT_EQ(d.sum, plain_sum_of_ipv6(*six));
  }
}

TEST(frame_checksum, other_protocols_over_ipv4_get_the_sum_with_the_pseudo_header) {
  auto bytes = with(captured_udp, 23, {1});  // ICMP
  const auto c = checks_of(bytes);
  EXPECT_FALSE(c.udp || c.l4_ok || c.ip_ok);
  EXPECT_EQ(c.sum, plain_sum(std::span(bytes).subspan(26), 1 + 48));
}

TEST(frame_checksum, options_of_ipv4_are_told_and_not_in_the_sum) {
  const auto c = checks_of(tagged_twice);
  EXPECT_TRUE(c.options && c.ip_ok && c.tcp && c.l4_ok);
  EXPECT_EQ(c.sum, 0xffff);
}

TEST(frame_checksum, udp_without_a_checksum_is_not_called_right) {
  const auto c = checks_of(captured_vxlan);
  EXPECT_TRUE(c.udp && c.ip_ok);
  EXPECT_FALSE(c.l4_ok);
  EXPECT_EQ(c.sum, plain_sum(std::span(captured_vxlan).subspan(26), 17 + 114));
}

TEST(frame_checksum, udp_ends_where_its_own_length_says) {
  // Two bytes behind the datagram, within the IP packet: its own checksum stays right.
  auto bytes = udp_over_ipv6;
  bytes.resize(bytes.size() + 2, std::byte{0x77});
  bytes = with(bytes, 19, {0x12});
  EXPECT_TRUE(checks_of(bytes).l4_ok);
  EXPECT_FALSE(checks_of(with(bytes, 59, {0x13})).l4_ok);  // longer than the packet
  EXPECT_FALSE(checks_of(with(bytes, 59, {7})).l4_ok);     // shorter than its header
}

TEST(frame_checksum, udp_shorter_than_its_header_is_never_right) {
  // Its checksum is then outside, and one of the ports makes the sum of the rest 0xffff.
  for (unsigned port = 0; port <= 0xffff; ++port) {
    const auto ports = with(captured_udp, 34, {int(port >> 8), int(port & 0xff)});
    ASSERT_FALSE(checks_of(with(ports, 38, {0, 6})).l4_ok) << port;
  }
}

TEST(frame_checksum, what_is_not_ip_says_nothing) {
  const auto c = checks_of(with(captured_udp, 12, {0x08, 0x06}));
  EXPECT_FALSE(c.ipv4 || c.ipv6 || c.tcp || c.udp || c.ip_ok || c.l4_ok);
  EXPECT_EQ(c.sum, 0);
}

TEST(frame_checksum, headers_inside_are_checked_by_themselves) {
  for (const auto* bytes : {&vxlan_over_ipv4, &vxlan_over_ipv6}) {
    const auto v = frame_view::of(*bytes, vxlan).value();
    EXPECT_TRUE(check(v, v.outer).udp && check(v, v.outer).l4_ok);
    ASSERT_TRUE(v.inner);
    const auto c = check(v, *v.inner);
    EXPECT_TRUE(c.tcp && c.ip_ok && c.l4_ok);
    EXPECT_EQ(c.sum, 0xffff);
    auto spoilt = *bytes;
    spoilt.back() ^= std::byte{1};
    const auto w = frame_view::of(spoilt, vxlan).value();
    EXPECT_FALSE(check(w, *w.inner).l4_ok);
  }
}

TEST(frame_checksum, what_is_put_is_what_captured_frames_have) {
  expect_put(captured_tcp_ack, {24, 50}, {.ip = true, .l4 = true});
  expect_put(captured_tcp_syn, {24, 50}, {.ip = true, .l4 = true});
  expect_put(captured_udp, {24, 40}, {.ip = true, .l4 = true});
  expect_put(tagged_twice, {32, 62}, {.ip = true, .l4 = true});
  expect_put(tcp_over_ipv6, {70}, {.ip = true, .l4 = true});
  expect_put(udp_behind_extensions, {92}, {.ip = true, .l4 = true});
  expect_put(captured_fragment, {24}, {.ip = true, .l4 = true});
}

TEST(frame_checksum, only_what_is_asked_for_is_put) {
  const auto spoilt = with(with(captured_udp, 24, {1, 2}), 40, {3, 4});
  auto bytes = spoilt;
  put_checksums(bytes, 0, {});
  EXPECT_EQ(bytes, spoilt);
  put_checksums(bytes, 0, {.ip = true});
  EXPECT_EQ(bytes, with(captured_udp, 40, {3, 4}));
  bytes = spoilt;
  put_checksums(bytes, 0, {.l4 = true});
  EXPECT_EQ(bytes, with(captured_udp, 24, {1, 2}));
  // A fragment's UDP, and other protocols, stay.
  for (const auto* stays : {&captured_fragment, &icmp_over_ipv6, &first_fragment_of_ipv6}) {
    bytes = *stays;
    put_checksums(bytes, 0, {.l4 = true});
    EXPECT_EQ(bytes, *stays);
  }
}

TEST(frame_checksum, a_udp_checksum_of_zero_is_sent_as_all_ones) {
  expect_put(udp_that_sums_to_zero, {40}, {.l4 = true});
  EXPECT_EQ(number(udp_that_sums_to_zero, 40, 2), 0xffffu);
  EXPECT_TRUE(checks_of(udp_that_sums_to_zero).l4_ok);
  // UDP that says it has none gets one when it is asked for.
  EXPECT_FALSE(checks_of(with(captured_udp, 40, {0, 0})).l4_ok);
  auto bytes = with(captured_udp, 40, {0, 0});
  put_checksums(bytes, 0, {.l4 = true});
  EXPECT_EQ(bytes, captured_udp);
}

TEST(frame_checksum, a_tcp_checksum_of_zero_stays_zero) {
  // Its checksum is moved into the urgent pointer: what remains is zero.
  auto bytes = captured_tcp_ack;
  bytes[52] = bytes[50];
  bytes[53] = bytes[51];
  put_checksums(bytes, 0, {.l4 = true});
  EXPECT_EQ(number(bytes, 50, 2), 0u);
  EXPECT_TRUE(checks_of(bytes).l4_ok);
}

TEST(frame_checksum, the_inner_ones_are_put_before_the_outer_ones_that_cover_them) {
  const checksum_requests all{.ip = true, .l4 = true, .inner_ip = true, .inner_l4 = true};
  // 50 bytes to the inner frame over IPv4, 70 over IPv6.
  expect_put(vxlan_over_ipv4, {24, 40, 50 + 24, 50 + 50}, all);
  expect_put(vxlan_over_ipv6, {60, 70 + 70}, all);
  expect_put(vxlan_over_ipv4, {24, 50 + 24, 50 + 50},
             {.ip = true, .inner_ip = true, .inner_l4 = true});
  auto bytes = with(vxlan_over_ipv4, 50 + 24, {1, 2});
  put_checksums(bytes, vxlan, {.ip = true});
  EXPECT_EQ(bytes, with(vxlan_over_ipv4, 50 + 24, {1, 2}));
  put_checksums(bytes, 0, all);  // nobody said that it is VXLAN
  EXPECT_EQ(number(bytes, 50 + 24, 2), 0x0102u);
}

}  // namespace freehca::model::test
