// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames of Linux's TAP devices, as `hcactl nic` hands them to the adapter.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tap.hpp"

namespace freehca::hcactl {
namespace {

using bytes = std::vector<std::byte>;

void put_16(bytes& f, std::size_t at, unsigned value) {
  f[at] = static_cast<std::byte>(value >> 8);
  f[at + 1] = static_cast<std::byte>(value & 0xff);
}

/// A frame of TCP over IPv4 or IPv6, with a tag or without one.
bytes tcp_frame(bool v6, bool tag, std::size_t payload, unsigned protocol = 6) {
  const std::size_t ip = tag ? 18 : 14, l4 = ip + (v6 ? 40 : 20);
  bytes f(l4 + 20 + payload);
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = static_cast<std::byte>(i * 3);
  if (tag) put_16(f, 12, 0x8100), put_16(f, 14, 3u << 13 | 5);
  put_16(f, ip - 2, v6 ? 0x86dd : 0x0800);
  f[ip] = std::byte{v6 ? std::uint8_t{0x60} : std::uint8_t{0x45}};
  f[ip + (v6 ? 6 : 9)] = static_cast<std::byte>(protocol);
  f[l4 + 12] = std::byte{0x50};
  return f;
}
std::uint16_t l4_of(bool v6, bool tag) {
  return static_cast<std::uint16_t>((tag ? 18 : 14) + (v6 ? 40 : 20));
}

struct tap_frames : ::testing::Test {
  bool prepares(bytes& f, const virtio_header& h) {
    return prepare(nic, h, f.data(), f.size(), out);
  }
  /// What the device gets: the headers, and the pieces.
  bytes sent(const bytes& f) const {
    bytes all;
    if (const auto& h = out.what.headers; h.from != nullptr)
      all.insert(all.end(), h.from, h.from + h.length);
    for (unsigned i = 0; i < out.what.pieces.count; ++i) {
      const std::size_t at = out.pieces[i].address - reinterpret_cast<std::uintptr_t>(f.data());
      const auto first = f.begin() + static_cast<std::ptrdiff_t>(at);
      all.insert(all.end(), first, first + out.pieces[i].length);
    }
    return all;
  }
  network::interface nic;
  prepared_frame out;
};

TEST_F(tap_frames, a_tag_becomes_one_that_the_device_inserts) {
  bytes f = tcp_frame(false, true, 30);
  ASSERT_TRUE(prepares(f, {}));
  EXPECT_EQ(out.what.options.vlan, 5u);
  EXPECT_EQ(out.what.options.priority, 3u);
  EXPECT_FALSE(out.what.options.ip_checksum || out.what.options.l4_checksum);
  bytes untagged = f;
  untagged.erase(untagged.begin() + 12, untagged.begin() + 16);
  EXPECT_EQ(sent(f), untagged);
  // The device has no such tags: they stay in the frame.
  for (const unsigned control : {0x1005u, 0xfffu}) {
    put_16(f, 14, control);
    ASSERT_TRUE(prepares(f, {}));
    EXPECT_EQ(out.what.options.vlan, queues::no_tag);
    EXPECT_EQ(sent(f), f);
  }
}

TEST_F(tap_frames, the_device_computes_checksums_of_tcp_and_udp_alone) {
  for (const bool v6 : {false, true})
    for (const bool tag : {false, true})
      for (const unsigned protocol : {6u, 17u, 132u}) {
        bytes f = tcp_frame(v6, tag, 33, protocol);
        const bytes before = f;
        const std::uint16_t start = l4_of(v6, tag);
        ASSERT_TRUE(prepares(f, {.flags = virtio_header::needs_checksum,
                                 .checksum_start = start,
                                 .checksum_offset = 16}));
        const bool by_device = protocol != 132;
        EXPECT_EQ(out.what.options.l4_checksum, by_device);
        EXPECT_EQ(out.what.options.ip_checksum, by_device && !v6);
        EXPECT_EQ(f == before, by_device);
        if (by_device) continue;
        // With its checksum the sum of the words is all ones (RFC 1071).
        std::uint64_t sum = 0;
        for (std::size_t i = start; i < f.size(); ++i)
          sum += std::to_integer<unsigned>(f[i]) << ((i - start) % 2 == 0 ? 8 : 0);
        // What the kernel has begun is part of the sum, as the pseudo header.
        sum += std::to_integer<unsigned>(before[start + 16u]) << 8 |
               std::to_integer<unsigned>(before[start + 17u]);
        while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
        EXPECT_EQ(sum, 0xffffu);
      }
}

TEST_F(tap_frames, a_long_tcp_payload_has_its_headers_apart) {
  for (const bool v6 : {false, true})
    for (const bool tag : {false, true}) {
      bytes f = tcp_frame(v6, tag, 60000);
      ASSERT_TRUE(prepares(f, {.flags = virtio_header::needs_checksum,
                               .segmentation = 1,
                               .segment_bytes = 1448,
                               .checksum_start = l4_of(v6, tag),
                               .checksum_offset = 16}));
      EXPECT_EQ(out.what.headers.payload, 1448u);
      EXPECT_EQ(out.what.headers.length, l4_of(v6, false) + 20u);
      EXPECT_TRUE(out.what.options.l4_checksum);
      bytes untagged = f;
      if (tag) untagged.erase(untagged.begin() + 12, untagged.begin() + 16);
      EXPECT_EQ(sent(f), untagged);
    }
}

TEST_F(tap_frames, headers_that_are_not_sound_are_refused) {
  bytes shortest(20);
  EXPECT_FALSE(prepares(shortest, {}));
  bytes f = tcp_frame(false, false, 100);
  const virtio_header good{.flags = virtio_header::needs_checksum,
                           .segmentation = 1,
                           .segment_bytes = 10,
                           .checksum_start = 34,
                           .checksum_offset = 16};
  ASSERT_TRUE(prepares(f, good));
  const auto refuses = [&](auto spoil) {
    virtio_header h = good;
    spoil(h);
    EXPECT_FALSE(prepares(f, h));
  };
  refuses([](virtio_header& h) { h.flags = 0; });
  refuses([](virtio_header& h) { h.segment_bytes = 0; });
  refuses([](virtio_header& h) { h.checksum_start = 0xffff; });
  refuses([](virtio_header& h) { h.checksum_offset = 0xffff; });
  refuses([](virtio_header& h) { h.checksum_start = 35; });
  f[46] = std::byte{0xf0};  // longer headers than the frame has after them
  f.resize(34 + 60);
  EXPECT_FALSE(prepares(f, good));
}

TEST(tap_names, that_no_device_can_have_are_refused) {
  for (const std::string name : {"", "a-name-of-16-byt", "a/b", "a b", "tap%d"})
    EXPECT_FALSE(tap::open(name)) << name;
}

}  // namespace
}  // namespace freehca::hcactl
