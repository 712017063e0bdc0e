// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// LSO: frames cut from a message. Fields are read at offsets that are counted by hand.
#include <algorithm>

#include <gtest/gtest.h>

#include "frames/checksum.hpp"
#include "frames/receive_checks.hpp"
#include "frames/segmentation.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using namespace frames;

namespace {

constexpr checksum_requests all_checksums{
    .ip = true, .l4 = true, .inner_ip = true, .inner_l4 = true};
constexpr int fin = 0x01, syn = 0x02, psh = 0x08, ack = 0x10, cwr = 0x80;

/// Its header: all but so many bytes at the end.
std::vector<std::byte> header_of(std::span<const std::byte> bytes, std::size_t payload) {
  return {bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(payload)};
}

std::vector<std::byte> payload_of(std::size_t length) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

/// All frames of a message, with their checksums, each of which is found right; their payloads are
/// the message's.
std::vector<std::vector<std::byte>> cut(std::vector<std::byte> header, std::size_t length,
                                        std::size_t mss,
                                        const checksum_requests& requests = all_checksums) {
  const auto payload = payload_of(length);
  const auto message = segmentation::of(header, length, mss, vxlan);
  EXPECT_TRUE(message);
  if (!message) return {};
  std::vector<std::vector<std::byte>> result;
  std::vector<std::byte> carried;
  for (std::size_t n = 0; n < message->frames(); ++n) {
    const auto piece = message->payload_of(n);
    EXPECT_EQ(piece.offset, carried.size());
    frame f = message->segment(n, std::span(payload).subspan(piece.offset, piece.bytes));
    put_checksums(f.bytes, vxlan, requests);
    const auto v = frame_view::of(f.bytes, vxlan).value();
    const auto c = check(v, v.inner ? *v.inner : v.outer);
    EXPECT_TRUE(c.ip_ok && c.l4_ok) << n;
    EXPECT_TRUE(check(v, v.outer).ip_ok) << n;
    carried.insert(carried.end(), f.bytes.begin() + static_cast<std::ptrdiff_t>(header.size()),
                   f.bytes.end());
    result.push_back(std::move(f.bytes));
  }
  EXPECT_EQ(carried, payload);
  return result;
}

std::vector<std::byte> tcp_over_ipv4(int flags) {
  auto header = header_of(vxlan_over_ipv4, 13);
  header.erase(header.begin(), header.begin() + 50);
  header[47] = static_cast<std::byte>(flags);
  return header;
}

}  // namespace

TEST(frame_segmentation, lengths_identification_and_sequence_of_tcp_over_ipv4) {
  const auto frames = cut(tcp_over_ipv4(ack), 3001, 1000);
  ASSERT_EQ(frames.size(), 4u);
  const std::size_t lengths[] = {1000, 1000, 1000, 1};
  for (unsigned n = 0; n < 4; ++n) {
    const auto& f = frames[n];
    EXPECT_EQ(f.size(), 54 + lengths[n]);
    EXPECT_EQ(number(f, 16, 2), 40 + lengths[n]);
    EXPECT_EQ(number(f, 18, 2), 0x1234 + n);
    EXPECT_EQ(number(f, 38, 4), 0x01020304 + 1000 * n);
    EXPECT_EQ(number(f, 42, 4), 0x0a0b0c0du);
    EXPECT_EQ(number(f, 47, 1), static_cast<unsigned>(ack));
    EXPECT_TRUE(std::equal(f.begin(), f.begin() + 16, vxlan_over_ipv4.begin() + 50));
  }
}

TEST(frame_segmentation, a_frame_that_fits_is_the_one_that_was_meant) {
  auto expected = vxlan_over_ipv4;
  expected.erase(expected.begin(), expected.begin() + 50);
  const auto message = segmentation::of(header_of(expected, 13), 13, 1448);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->frames(), 1u);
  frame f = message->segment(0, std::span(expected).last(13));
  put_checksums(f.bytes, 0, {.ip = true, .l4 = true});
  EXPECT_EQ(f.bytes, expected);
}

TEST(frame_segmentation, a_whole_number_of_pieces_has_no_empty_one_behind) {
  EXPECT_EQ(cut(tcp_over_ipv4(ack), 3000, 1000).size(), 3u);
  EXPECT_EQ(cut(tcp_over_ipv4(ack), 1000, 1000).size(), 1u);
  EXPECT_EQ(cut(tcp_over_ipv4(ack), 1001, 1000).size(), 2u);
  EXPECT_EQ(cut(tcp_over_ipv4(ack), 0, 1000).size(), 1u);
  EXPECT_EQ(cut(tcp_over_ipv4(ack), 5, 1).size(), 5u);
}

TEST(frame_segmentation, flags_of_the_end_in_the_last_and_of_congestion_in_the_first) {
  const auto flags_of = [](int flags) {
    std::vector<int> result;
    for (const auto& f : cut(tcp_over_ipv4(flags), 3000, 1000))
      result.push_back(static_cast<int>(number(f, 47, 1)));
    return result;
  };
  using expected = std::vector<int>;
  EXPECT_EQ(flags_of(cwr | ack | psh | fin), expected({cwr | ack, ack, ack | psh | fin}));
  EXPECT_EQ(flags_of(0x40 | 0x20 | 0x04 | syn), expected(3, 0x40 | 0x20 | 0x04 | syn));
  const auto one = cut(tcp_over_ipv4(cwr | ack | psh | fin), 10, 1000);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(number(one[0], 47, 1), static_cast<unsigned>(cwr | ack | psh | fin));
}

TEST(frame_segmentation, sequence_and_identification_wrap) {
  auto header = tcp_over_ipv4(ack);
  header[18] = header[19] = std::byte{0xff};
  std::fill_n(header.begin() + 38, 4, std::byte{0xff});
  const auto frames = cut(header, 300, 100);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(number(frames[0], 18, 2), 0xffffu);
  EXPECT_EQ(number(frames[1], 18, 2), 0u);
  EXPECT_EQ(number(frames[2], 18, 2), 1u);
  EXPECT_EQ(number(frames[0], 38, 4), 0xffffffffu);
  EXPECT_EQ(number(frames[1], 38, 4), 99u);
  EXPECT_EQ(number(frames[2], 38, 4), 199u);
}

TEST(frame_segmentation, a_length_of_zero_for_ipv6_is_no_hindrance) {
  auto header = header_of(tcp_over_ipv6, 21);
  header[18] = header[19] = {};
  const auto frames = cut(header, 100'000, 1428);
  ASSERT_EQ(frames.size(), 71u);
  for (std::size_t n = 0; n < frames.size(); ++n) {
    EXPECT_EQ(number(frames[n], 18, 2), frames[n].size() - 54);
    EXPECT_EQ(number(frames[n], 58, 4), 0x01020304 + 1428 * n);
  }
  EXPECT_EQ(frames.back().size(), 74 + 100'000 - 70 * 1428u);
}

TEST(frame_segmentation, tags_options_and_extensions_stay_in_front) {
  const auto tagged = cut(header_of(tagged_twice, 5), 250, 100);
  ASSERT_EQ(tagged.size(), 3u);
  EXPECT_EQ(number(tagged[2], 12, 4), 0x88a82064u);
  EXPECT_EQ(number(tagged[2], 24, 2), 24 + 20 + 50u);
  EXPECT_EQ(number(tagged[2], 26, 2), 0x1236u);
  const auto extended = cut(header_of(udp_behind_extensions, 9), 250, 100);
  ASSERT_EQ(extended.size(), 3u);
  EXPECT_EQ(number(extended[0], 18, 2), 32 + 8 + 100u);
  EXPECT_EQ(number(extended[0], 90, 2), 108u);
  EXPECT_EQ(number(extended[2], 90, 2), 58u);
}

TEST(frame_segmentation, lengths_of_udp) {
  const auto frames = cut(header_of(udp_over_ipv6, 8), 250, 100);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(number(frames[0], 58, 2), 108u);
  EXPECT_EQ(number(frames[2], 58, 2), 58u);
  EXPECT_EQ(number(frames[2], 18, 2), 58u);
}

TEST(frame_segmentation, headers_inside_are_cut_and_those_outside_follow) {
  const auto frames = cut(header_of(vxlan_over_ipv4, 13), 2500, 1000);
  ASSERT_EQ(frames.size(), 3u);
  const std::size_t lengths[] = {1000, 1000, 500};
  for (unsigned n = 0; n < 3; ++n) {
    const auto& f = frames[n];
    EXPECT_EQ(f.size(), 104 + lengths[n]);
    EXPECT_EQ(number(f, 16, 2), 90 + lengths[n]);       // outer IPv4
    EXPECT_EQ(number(f, 18, 2), 0x7fff + n);            // its identification
    EXPECT_EQ(number(f, 38, 2), 70 + lengths[n]);       // outer UDP
    EXPECT_EQ(number(f, 50 + 16, 2), 40 + lengths[n]);  // inner IPv4
    EXPECT_EQ(number(f, 50 + 18, 2), 0x1234 + n);
    EXPECT_EQ(number(f, 50 + 38, 4), 0x01020304 + 1000 * n);
    EXPECT_EQ(number(f, 50 + 47, 1), n == 2 ? 0x18u : 0x10u);
    const auto v = frame_view::of(f, vxlan).value();
    EXPECT_TRUE(check(v, v.outer).l4_ok);
  }
  const auto six = cut(header_of(vxlan_over_ipv6, 13), 2500, 1000);
  ASSERT_EQ(six.size(), 3u);
  EXPECT_EQ(number(six[2], 18, 2), 8 + 8 + 74 + 500u);
  EXPECT_EQ(number(six[2], 58, 2), 8 + 8 + 74 + 500u);
  EXPECT_EQ(number(six[2], 70 + 18, 2), 20 + 500u);
}

TEST(frame_segmentation, an_outer_udp_without_a_checksum_stays_without_when_none_is_asked_for) {
  auto header = header_of(vxlan_over_ipv4, 13);
  header[40] = header[41] = {};
  for (const auto& f : cut(header, 2500, 1000, {.ip = true, .inner_ip = true, .inner_l4 = true}))
    EXPECT_EQ(number(f, 40, 2), 0u);
}

TEST(frame_segmentation, what_cannot_be_cut_is_refused) {
  const auto refused = [](std::vector<std::byte> header, std::size_t mss = 100,
                          std::size_t payload = 1000) {
    return !segmentation::of(std::move(header), payload, mss, vxlan);
  };
  const auto good = tcp_over_ipv4(ack);
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(refused(good, 0));
  EXPECT_TRUE(refused({}));
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_TRUE(refused(header_of(good, n + 1))) << n;
  EXPECT_TRUE(refused(icmp_over_ipv6));
  EXPECT_TRUE(refused(captured_fragment));
  EXPECT_TRUE(refused(first_fragment_of_ipv6));
  EXPECT_TRUE(refused(captured_vxlan));  // ICMP inside
  auto no_number = header_of(vxlan_over_ipv4, 13);
  no_number[42] = {};  // VXLAN that says it has no network number
  EXPECT_TRUE(refused(no_number));
  // IPv4 can say 65535 bytes from its header on, IPv6 behind its header.
  EXPECT_FALSE(refused(good, 65535 - 40, 100'000));
  EXPECT_TRUE(refused(good, 65535 - 39, 100'000));
  EXPECT_FALSE(refused(good, 100'000, 65535 - 40));
  EXPECT_FALSE(refused(header_of(tcp_over_ipv6, 21), 65535 - 20, 100'000));
  EXPECT_TRUE(refused(header_of(tcp_over_ipv6, 21), 65535 - 19, 100'000));
}

}  // namespace freehca::model::test
