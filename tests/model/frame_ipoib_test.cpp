// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Datagrams of IP over InfiniBand, against the frames that carry the same packets.
#include <gtest/gtest.h>

#include "frames/checksum.hpp"
#include "frames/receive_checks.hpp"
#include "frames/segmentation.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using namespace frames;

namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t ethernet = 14, encapsulation = 4, less = ethernet - encapsulation;

/// The packet of a frame without tags, behind IPoIB's header instead.
bytes datagram_of(const bytes& frame) {
  bytes d(frame.begin() + 12, frame.begin() + ethernet);
  d.resize(encapsulation);
  d.insert(d.end(), frame.begin() + ethernet, frame.end());
  return d;
}

bool untagged(const bytes& frame) {
  return number(frame, 12, 2) == 0x0800 || number(frame, 12, 2) == 0x86dd;
}

}  // namespace

TEST(frame_ipoib, headers_are_those_of_a_frame_that_carries_the_same) {
  unsigned looked_at = 0;
  for (const named_frame& f : all_frames) {
    if (!untagged(f.bytes)) continue;
    ++looked_at;
    const bytes d = datagram_of(f.bytes);
    const auto in_frame = frame_view::of(f.bytes).value(), alone = frame_view::of_ipoib(d).value();
    const frame_headers &x = in_frame.outer, &y = alone.outer;
    EXPECT_EQ(y.ether_type, x.ether_type) << f.name;
    EXPECT_EQ(y.network, encapsulation) << f.name;
    EXPECT_EQ(y.ip, x.ip) << f.name;
    EXPECT_NE(y.ip, network_protocol::other) << f.name;
    EXPECT_EQ(y.network_bytes, x.network_bytes) << f.name;
    EXPECT_EQ(y.end + less, x.end) << f.name;
    EXPECT_EQ(y.ports, x.ports) << f.name;
    if (x.ports != port_protocol::none) {
      EXPECT_EQ(y.transport + less, x.transport) << f.name;
    }
    EXPECT_FALSE(alone.inner) << f.name;
    const receive_checks a = check(in_frame, x), b = check(alone, y);
    EXPECT_EQ(a.ip_ok, b.ip_ok) << f.name;
    EXPECT_EQ(a.l4_ok, b.l4_ok) << f.name;
    EXPECT_EQ(a.sum, b.sum) << f.name;
  }
  EXPECT_GE(looked_at, 10u);
}

TEST(frame_ipoib, what_is_shorter_than_its_header_is_none) {
  const bytes d = datagram_of(captured_udp);
  for (std::size_t n = 0; n < encapsulation; ++n)
    EXPECT_FALSE(frame_view::of_ipoib(std::span(d).first(n))) << n;
  for (std::size_t n = encapsulation; n < d.size(); ++n) {
    const auto v = frame_view::of_ipoib(std::span(d).first(n));
    ASSERT_TRUE(v) << n;
    EXPECT_EQ(v->outer.ip, network_protocol::other) << n;  // its length says more
  }
}

TEST(frame_ipoib, a_large_message_is_cut_as_one_of_frames_is) {
  for (const bytes& whole : {captured_tcp_syn, tcp_over_ipv6, udp_over_ipv6}) {
    const auto headers = frame_view::of(whole).value().outer;
    const bytes header(
        whole.begin(),
        whole.begin() + static_cast<std::ptrdiff_t>(headers.transport + headers.transport_bytes));
    const bytes payload(1000, std::byte{0x5a});
    const auto frames = segmentation::of(header, payload.size(), 300);
    const auto datagrams = segmentation::of_ipoib(datagram_of(header), payload.size(), 300);
    ASSERT_TRUE(frames && datagrams);
    ASSERT_EQ(frames->frames(), 4u);
    ASSERT_EQ(datagrams->frames(), 4u);
    for (std::size_t n = 0; n < 4; ++n) {
      const auto piece = datagrams->payload_of(n);
      EXPECT_EQ(piece.offset, n * 300);
      const auto part = std::span(payload).subspan(piece.offset, piece.bytes);
      EXPECT_EQ(datagrams->segment(n, part).bytes, datagram_of(frames->segment(n, part).bytes));
    }
  }
}

TEST(frame_ipoib, headers_that_cannot_be_cut) {
  const bytes header = datagram_of(captured_tcp_syn);
  EXPECT_FALSE(segmentation::of_ipoib(header, 100, 0));
  EXPECT_FALSE(segmentation::of_ipoib({}, 100, 10));
  EXPECT_FALSE(segmentation::of_ipoib(bytes(header.begin(), header.begin() + 30), 100, 10));
  EXPECT_FALSE(segmentation::of_ipoib(datagram_of(captured_fragment), 100, 10));
  EXPECT_FALSE(segmentation::of_ipoib(datagram_of(icmp_over_ipv6), 100, 10));
  EXPECT_FALSE(segmentation::of_ipoib(header, 70000, 69000));
}

}  // namespace freehca::model::test
