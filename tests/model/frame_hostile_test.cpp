// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames that lie. Each stands in a heap block of exactly its size, so that a sanitizer sees a look
// behind its end.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include <freehca/layouts/qpc.hpp>

#include "frames/checksum.hpp"
#include "frames/receive_checks.hpp"
#include "frames/receive_hash.hpp"
#include "frames/segmentation.hpp"
#include "frames/tags.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

namespace {

void expect_inside(const frame_headers& h, std::size_t size) {
  ASSERT_LE(h.begin + 14, size);
  ASSERT_LE(h.network, size);
  if (h.ip == network_protocol::other) {
    ASSERT_EQ(h.ports, port_protocol::none);
    return;
  }
  ASSERT_LE(h.network + h.network_bytes, h.end);
  ASSERT_LE(h.end, size);
  if (h.ports == port_protocol::none) return;
  ASSERT_EQ(h.transport, h.network + h.network_bytes);
  ASSERT_LE(h.transport + h.transport_bytes, h.end);
}

layouts::image<layouts::rss_context> hash_everything() {
  layouts::image<layouts::rss_context> c;
  using layouts::rss_context;
  c.set<&rss_context::ipv4>(true).set<&rss_context::ipv6>(true);
  c.set<&rss_context::tcp_ipv4>(true).set<&rss_context::tcp_ipv6>(true);
  c.set<&rss_context::udp_ipv4>(true).set<&rss_context::udp_ipv6>(true);
  c.set<&rss_context::inner_headers>(2).set<&rss_context::hash>(layouts::rss_hash::toeplitz);
  return c;
}

void cut_up(std::span<const std::byte> header) {
  const std::vector<std::byte> payload(100, std::byte{0x55});
  const auto message = segmentation::of({header.begin(), header.end()}, payload.size(), 33, vxlan);
  if (!message) return;
  ASSERT_EQ(message->frames(), 4u);
  for (std::size_t n = 0; n < message->frames(); ++n) {
    const auto piece = message->payload_of(n);
    const auto f = message->segment(n, std::span(payload).subspan(piece.offset, piece.bytes));
    ASSERT_EQ(f.bytes.size(), header.size() + piece.bytes);
  }
}

/// All that the model does with a frame.
void handle(std::span<const std::byte> bytes) {
  frame f{{bytes.begin(), bytes.end()}};
  f.bytes.shrink_to_fit();
  cut_up(f.bytes);
  if (const auto v = frame_view::of(f.bytes, vxlan)) {
    expect_inside(v->outer, f.bytes.size());
    check(*v, v->outer);
    receive_hash_of(*v, hash_everything(), true);
    if (v->inner) {
      expect_inside(*v->inner, v->outer.end);
      check(*v, *v->inner);
    }
  }
  put_checksums(f.bytes, vxlan, {true, true, true, true});
  const std::size_t before = f.bytes.size();
  if (take_tag(f)) {
    ASSERT_EQ(f.bytes.size(), before - 4);
  }
}

}  // namespace

TEST(frame_hostile, every_prefix_of_a_frame_is_read_within_its_bounds) {
  for (const auto& [name, bytes] : frames::all_frames)
    for (std::size_t n = 0; n <= bytes.size(); ++n) {
      SCOPED_TRACE(name);
      ASSERT_NO_FATAL_FAILURE(handle(std::span(bytes).first(n))) << n;
    }
}

TEST(frame_hostile, frames_with_any_byte_wrong_are_read_within_their_bounds) {
  for (const auto& [name, bytes] : frames::all_frames)
    for (std::size_t at = 12; at < bytes.size(); ++at)
      for (const int value : {0x00, 0x01, 0x0f, 0x2c, 0x3c, 0x45, 0x4f, 0x7f, 0x80, 0xf0, 0xff}) {
        auto changed = bytes;
        changed[at] = static_cast<std::byte>(value);
        SCOPED_TRACE(name);
        ASSERT_NO_FATAL_FAILURE(handle(changed)) << at << " " << value;
      }
}

TEST(frame_hostile, frames_with_random_bytes_wrong_are_read_within_their_bounds) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 20000; ++round) {
    auto bytes = frames::all_frames[random() % std::size(frames::all_frames)].bytes;
    for (unsigned n = random() % 4 + 1; n > 0; --n)
      bytes[12 + random() % (bytes.size() - 12)] = static_cast<std::byte>(random());
    bytes.resize(bytes.size() - (random() % 3 == 0 ? random() % bytes.size() : 0));
    ASSERT_NO_FATAL_FAILURE(handle(bytes)) << round;
  }
}

TEST(frame_hostile, a_jumbo_frame_of_nothing_but_tags_is_read) {
  std::vector<std::byte> bytes(12);
  for (unsigned n = 0; n < 2400; ++n)
    for (const int b : {0x81, 0x00, 0x81, 0x00}) bytes.push_back(static_cast<std::byte>(b));
  ASSERT_NO_FATAL_FAILURE(handle(bytes));
  const auto v = frame_view::of(bytes);
  EXPECT_TRUE(v->outer.tag);
  EXPECT_EQ(v->outer.ip, network_protocol::other);
}

}  // namespace freehca::model::test
