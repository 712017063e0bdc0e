// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The bytes by which two programs exchange their peers: what they are, and what is refused.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/easy/easy.hpp>
#include <freehca/texts/names.hpp>

#include "words.hpp"

namespace freehca {
namespace {

using easy::peer;
using id = attribute_id;
using form = std::array<std::byte, easy::peer_bytes>;

// Each value has bytes of its own, so that a byte in a wrong place shows.
peer on_infiniband() {
  peer p{.qpn = 0x0a0b0c,
         .psn = 0x0d0e0f,
         .lid = 0x1213,
         .qkey = 0x31323334,
         .mtu = layouts::ib_mtu::mtu_2048,
         .sl = 9,
         .pkey = 0x9192};
  for (unsigned i = 0; i < 16; ++i) p.gid.raw[i] = static_cast<std::uint8_t>(0x40 + i);
  return p;
}

peer on_ethernet(gid_type type) {
  peer p = on_infiniband();
  p.lid = 0;
  p.sl = 5;
  p.type = type;
  p.vlan = 0x123;
  p.mac = 0x0002c9aabbcc;
  p.gid = type == gid_type::v2_ipv4 ? gid_of_ipv4(0x0a000001) : gid_of_mac(p.mac);
  return p;
}

form bytes_of(const peer& p) {
  std::byte raw[easy::peer_bytes];
  const status s = easy::write(p, raw);
  EXPECT_TRUE(s.ok()) << testing::words(s);
  form f;
  std::memcpy(f.data(), raw, f.size());
  return f;
}

void expect_same(const peer& a, const peer& b) {
  EXPECT_EQ(a.qpn, b.qpn);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.lid, b.lid);
  EXPECT_EQ(a.gid, b.gid);
  EXPECT_EQ(a.qkey, b.qkey);
  EXPECT_EQ(a.mtu, b.mtu);
  EXPECT_EQ(a.sl, b.sl);
  EXPECT_EQ(a.pkey, b.pkey);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.vlan, b.vlan);
  EXPECT_EQ(a.mac, b.mac);
}

TEST(peer_form, has_these_bytes) {
  const std::vector<unsigned> infiniband = {
      0x66, 0x68, 0x01, 0x00, 0x04, 0x0a, 0x0b, 0x0c, 0x09, 0x0d, 0x0e, 0x0f, 0x91, 0x92, 0x12,
      0x13, 0xff, 0xff, 0,    0,    0,    0,    0,    0,    0x31, 0x32, 0x33, 0x34, 0x40, 0x41,
      0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f};
  const std::vector<unsigned> ethernet = {
      0x66, 0x68, 0x01, 0x03, 0x04, 0x0a, 0x0b, 0x0c, 0x05, 0x0d, 0x0e, 0x0f, 0x91, 0x92, 0,
      0,    0x01, 0x23, 0x00, 0x02, 0xc9, 0xaa, 0xbb, 0xcc, 0x31, 0x32, 0x33, 0x34, 0,    0,
      0,    0,    0,    0,    0,    0,    0,    0,    0xff, 0xff, 10,   0,    0,    1};
  const auto expect = [](const peer& p, const std::vector<unsigned>& expected) {
    const form f = bytes_of(p);
    ASSERT_EQ(f.size(), expected.size());
    for (std::size_t i = 0; i < f.size(); ++i)
      EXPECT_EQ(std::to_integer<unsigned>(f[i]), expected[i]) << "byte " << i;
  };
  expect(on_infiniband(), infiniband);
  expect(on_ethernet(gid_type::v2_ipv4), ethernet);
}

TEST(peer_form, reads_what_was_written) {
  peer least{.qpn = 2, .lid = 1};
  peer most = on_infiniband();
  most.qpn = most.psn = 0xffffff;
  most.lid = 0xbfff;
  most.qkey = 0xffffffff;
  most.mtu = layouts::ib_mtu::mtu_4096;
  most.sl = 15;
  most.pkey = 0xffff;
  peer far = on_ethernet(gid_type::v1);
  far.vlan = 4094;
  far.mac = 0xfeffffffffff;
  far.sl = 7;
  peer untagged = on_ethernet(gid_type::v2_ipv6);
  untagged.vlan = no_vlan;
  for (const peer& p : {least, most, far, untagged, on_ethernet(gid_type::v2_ipv4)}) {
    const form f = bytes_of(p);
    peer got;
    ASSERT_TRUE(easy::read(f.data(), f.size(), got).ok());
    expect_same(got, p);
  }
}

TEST(peer_form, other_sizes_and_versions_are_refused) {
  const form good = bytes_of(on_infiniband());
  peer got = on_ethernet(gid_type::v1);
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.resize(2 * good.size());
  for (std::size_t n = 0; n <= longer.size(); ++n) {
    if (n == good.size()) continue;
    EXPECT_TRUE(easy::read(longer.data(), n, got).is(driver_error::wrong_size)) << n;
  }
  for (const std::size_t at : {0u, 1u, 2u}) {
    form other = good;
    other[at] ^= std::byte{1};
    EXPECT_TRUE(easy::read(other.data(), other.size(), got).is(driver_error::unsupported)) << at;
  }
  expect_same(got, on_ethernet(gid_type::v1));  // a refused form changes nothing
}

TEST(peer_form, values_that_no_peer_has_are_refused_by_both_and_named) {
  struct wrong {
    id what;
    bool ethernet;
    std::function<void(peer&)> spoil;
    /// The same in the bytes. Null if the form cannot say it.
    std::function<void(form&)> spoil_bytes;
  };
  const auto byte = [](std::size_t at, unsigned value) {
    return [at, value](form& f) { f[at] = std::byte(value); };
  };
  const auto bytes = [](std::size_t at, std::vector<unsigned> values) {
    return [at, values](form& f) {
      for (std::size_t i = 0; i < values.size(); ++i) f[at + i] = std::byte(values[i]);
    };
  };
  const wrong all[] = {
      {id::link_layer, true, [](peer& p) { p.type = static_cast<gid_type>(4); }, byte(3, 4)},
      {id::link_layer, false, [](peer& p) { p.type = static_cast<gid_type>(255); }, byte(3, 255)},
      {id::path_mtu, false, [](peer& p) { p.mtu = static_cast<layouts::ib_mtu>(6); }, byte(4, 6)},
      {id::remote_qpn, false, [](peer& p) { p.qpn = 0; }, bytes(5, {0, 0, 0})},
      {id::remote_qpn, true, [](peer& p) { p.qpn = 1; }, bytes(5, {0, 0, 1})},
      {id::remote_qpn, true, [](peer& p) { p.qpn = 1u << 24; }, nullptr},
      {id::receive_psn, true, [](peer& p) { p.psn = 1u << 24; }, nullptr},
      {id::sl, false, [](peer& p) { p.sl = 16; }, byte(8, 16)},
      {id::sl, true, [](peer& p) { p.sl = 8; }, byte(8, 8)},
      {id::dlid, false, [](peer& p) { p.lid = 0; }, bytes(14, {0, 0})},
      {id::dlid, false, [](peer& p) { p.lid = 0xc000; }, bytes(14, {0xc0, 0})},
      {id::dlid, true, [](peer& p) { p.lid = 1; }, byte(15, 1)},
      {id::dmac, false, [](peer& p) { p.mac = 2; }, byte(23, 2)},
      {id::dmac, true, [](peer& p) { p.mac = 0; }, bytes(18, {0, 0, 0, 0, 0, 0})},
      {id::dmac, true, [](peer& p) { p.mac = std::uint64_t{1} << 48; }, nullptr},
      {id::vlan, true, [](peer& p) { p.vlan = 4095; }, bytes(16, {0x0f, 0xff})},
      {id::vlan, false, [](peer& p) { p.vlan = 1; }, bytes(16, {0, 1})},
  };
  for (const wrong& w : all) {
    peer p = w.ethernet ? on_ethernet(gid_type::v2_ipv6) : on_infiniband();
    form f = bytes_of(p);
    w.spoil(p);
    std::byte to[easy::peer_bytes] = {};
    const status written = easy::write(p, to);
    EXPECT_TRUE(written.is(driver_error::bad_argument)) << name_of(w.what);
    EXPECT_EQ(name_of(static_cast<id>(written.where())), std::string(name_of(w.what)));
    EXPECT_TRUE(std::all_of(to, to + sizeof to, [](std::byte b) { return b == std::byte{}; }));
    if (!w.spoil_bytes) continue;
    w.spoil_bytes(f);
    peer got;
    const status s = easy::read(f.data(), f.size(), got);
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << name_of(w.what);
    EXPECT_EQ(name_of(static_cast<id>(s.where())), std::string(name_of(w.what)));
    EXPECT_EQ(got.qpn, 0u);
  }
}

TEST(peer_form, each_bit_counts) {
  for (const peer& p : {on_infiniband(), on_ethernet(gid_type::v1), on_ethernet(gid_type::v2_ipv4)})
    for (std::size_t bit = 0; bit < 8 * easy::peer_bytes; ++bit) {
      form f = bytes_of(p);
      f[bit / 8] ^= std::byte(1u << bit % 8);
      peer got;
      if (!easy::read(f.data(), f.size(), got).ok()) continue;
      EXPECT_EQ(bytes_of(got), f) << "bit " << bit;
    }
}

}  // namespace
}  // namespace freehca
