// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The link codec of RoCE alone, and the frames that its packets stand in: bytes, checksums, whose a
// frame is, and what is wrong with a bad one.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/packets/packet_crc.hpp>
#include "byte_list.hpp"
#include "link/roce_codec.hpp"

#include "link/roce_wire.hpp"
#include "test_host.hpp"
#include "test_options.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// A frame that somebody else's card has sent, without its FCS (docs/hardware-roce.md).
std::vector<std::byte> golden_frame() {
  return bytes_of({0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08,
                   0x00, 0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61,
                   0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00,
                   0x28, 0x00, 0x00, 0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00,
                   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                   0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a});
}

std::array<std::byte, 16> gid_of(std::initializer_list<int> values) {
  const auto bytes = bytes_of(values);
  std::array<std::byte, 16> gid{};
  std::copy(bytes.begin(), bytes.end(), gid.begin());
  return gid;
}

constexpr std::uint64_t own_mac_0 = 0x0002c9000001, own_mac_3 = 0x0002c9000002,
                        far_mac = 0x0002c9000009;
const auto near_v6 = gid_of({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 0, 0, 0, 0, 1});
const auto far_v6 = gid_of({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 0, 0, 0, 0, 9});
const auto near_v4 = mapped_gid(0x0a000001), far_v4 = mapped_gid(0x0a000002);
enum : unsigned { index_v1 = 2, index_v2_ipv6 = 3, index_v2_ipv4 = 4, index_empty = 5 };

/// Port 1 is Ethernet: two MACs, one VLAN, a GID of each version.
class one_port final : public roce_addresses {
 public:
  std::optional<roce_address> gid_at(unsigned port, unsigned index) const override {
    if (port != 1) return std::nullopt;
    if (index == index_v1) return roce_address{near_v6, roce_version::v1, false};
    if (index == index_v2_ipv6) return roce_address{near_v6, roce_version::v2, true};
    if (index == index_v2_ipv4) return roce_address{near_v4, roce_version::v2, false};
    return std::nullopt;
  }
  bool own_gid(unsigned port, const std::byte* gid, roce_version version) const override {
    for (unsigned i = 0; i < 8; ++i)
      if (const auto g = gid_at(port, i);
          g && g->version == version && std::equal(g->gid.begin(), g->gid.end(), gid))
        return true;
    return false;
  }
  bool speaks(unsigned port, roce_version) const override { return port == 1; }
  std::optional<std::uint64_t> mac_at(unsigned port, unsigned index) const override {
    if (port == 1 && index == 0) return own_mac_0;
    if (port == 1 && index == 3) return own_mac_3;
    return std::nullopt;
  }
  bool own_mac(unsigned port, std::uint64_t mac) const override {
    return port == 1 && (mac == own_mac_0 || mac == own_mac_3);
  }
  std::optional<std::uint16_t> vlan_at(unsigned port, unsigned index) const override {
    if (port == 1 && index == 7) return std::uint16_t{0x123};
    return std::nullopt;
  }
  std::optional<std::uint16_t> v2_udp_port(unsigned) const override { return v2; }

  std::optional<std::uint16_t> v2 = std::uint16_t{4791};
};

class roce_codec_alone : public ::testing::Test {
 protected:
  roce_codec_alone() {
    way.dmac = far_mac;
    way.sgid_index = index_v1;
    way.dgid = far_v6;
    way.traffic_class = 0x12;
    way.flow_label = 0x34567;
    way.hop_limit = 0x40;
    way.udp_source_port = 0xc123;
    base.set<&bth::opcode>(bth_opcode::ud_send_only)
        .set<&bth::pkey>(0xffff)
        .set<&bth::dest_qp>(0x123)
        .set<&bth::psn>(0x456);
  }
  void go_ipv4() {
    way.sgid_index = index_v2_ipv4;
    way.dgid = far_v4;
  }
  void go_ipv6() { way.sgid_index = index_v2_ipv6; }
  /// A datagram of 5 bytes by `way`.
  outgoing_packet datagram() const {
    outgoing_packet out = *codec.wrap(way, base, deth::bytes, 5);
    out.put(0, image<deth>{}.set<&deth::qkey>(0x11223344).set<&deth::source_qp>(0x99));
    std::memset(out.payload_bytes(), 0xab, 5);
    return out;
  }
  /// The same as it comes from the far end: addresses change places.
  packet answer() const {
    packet p = datagram().p;
    std::byte* const b = p.bytes.data();
    std::swap_ranges(b, b + 6, b + 6);
    const auto h = *roce_headers::of(p.bytes);
    if (h.form == roce_form::v2_ipv4) {
      std::byte* const addresses = b + h.network + ipv4_header{}.source.offset;
      std::swap_ranges(addresses, addresses + 4, addresses + 4);
    } else {
      std::byte* const gids = b + h.network + grh{}.sgid.offset;
      std::swap_ranges(gids, gids + 16, gids + 16);
    }
    return p;
  }
  /// Writes a field of the header at `at`.
  template <auto Field, class T>
  static packet with(packet p, std::size_t at, std::uint64_t value) {
    auto header = image<T>::from_bytes(p.bytes.data() + at);
    header.template set<Field>(value);
    std::memcpy(p.bytes.data() + at, header.data(), T::bytes);
    return p;
  }
  image<cqe_smac> completion_for(const packet& p) const {
    image<cqe> e;
    const auto v = codec.unwrap(1, p);
    codec.put_addresses(v->ingress, true, e);
    return image<cqe_smac>::from_bytes(e.data());
  }
  void expect_refused(const char* why) {
    EXPECT_FALSE(codec.wrap(way, base, 0, 0));
    EXPECT_EQ(rules.take_reason().text, why);
  }

  test_host host{1 << 20};
  options how = test_options();
  adapter_clock clock{host};
  rule_book rules{host, clock, how};
  one_port own;
  packet_buffers buffers;
  roce_codec codec{rules, own, buffers};
  path way;
  image<bth> base;
};

constexpr std::size_t network = 14, ipv4_udp = network + 20, ipv6_udp = network + 40;

}  // namespace

TEST_F(roce_codec_alone, wraps_version_1) {
  const outgoing_packet out = datagram();
  EXPECT_EQ(out.p.bytes,
            bytes_of({0x00, 0x02, 0xc9, 0x00, 0x00, 0x09, 0x00, 0x02, 0xc9, 0x00, 0x00, 0x01, 0x89,
                      0x15,                                            // Ethernet
                      0x61, 0x23, 0x45, 0x67, 0x00, 0x20, 0x1b, 0x40,  // GRH
                      0xfe, 0x80, 0,    0,    0,    0,    0,    0,    0,    2,    0xc9, 0,    0,
                      0,    0,    1,    0xfe, 0x80, 0,    0,    0,    0,    0,    0,    0,    2,
                      0xc9, 0,    0,    0,    0,    9,    0x64, 0x30, 0xff, 0xff, 0,    0,    0x01,
                      0x23, 0,    0,    0x04, 0x56,                    // BTH
                      0x11, 0x22, 0x33, 0x44, 0,    0,    0,    0x99,  // DETH
                      0xab, 0xab, 0xab, 0xab, 0xab, 0,    0,    0}));
  EXPECT_EQ(out.base, 54u);
  EXPECT_EQ(out.extended, 66u);
  EXPECT_EQ(out.payload, 74u);
  EXPECT_EQ(out.opcode(), bth_opcode::ud_send_only);
}

TEST_F(roce_codec_alone, wraps_version_2_over_ipv4) {
  go_ipv4();
  const outgoing_packet out = datagram();
  EXPECT_EQ(
      out.p.bytes,
      bytes_of({0x00, 0x02, 0xc9, 0x00, 0x00, 0x09, 0x00, 0x02, 0xc9, 0x00, 0x00, 0x01, 0x08,
                0x00,                                                                    // Ethernet
                0x45, 0x12, 0x00, 0x3c, 0,    0,    0x40, 0,    0x40, 0x11, 0x26, 0x9d,  // IPv4
                0x0a, 0,    0,    1,    0x0a, 0,    0,    2,                             //
                0xc1, 0x23, 0x12, 0xb7, 0x00, 0x28, 0,    0,                             // UDP
                0x64, 0x30, 0xff, 0xff, 0,    0,    0x01, 0x23, 0,    0,    0x04, 0x56,  // BTH
                0x11, 0x22, 0x33, 0x44, 0,    0,    0,    0x99,                          // DETH
                0xab, 0xab, 0xab, 0xab, 0xab, 0,    0,    0}));
  EXPECT_EQ(out.base, 42u);
}

TEST_F(roce_codec_alone, wraps_version_2_over_ipv6) {
  go_ipv6();
  own.v2 = std::uint16_t{4792};
  const outgoing_packet out = datagram();
  EXPECT_EQ(
      out.p.bytes,
      bytes_of({0x00, 0x02, 0xc9, 0x00, 0x00, 0x09, 0x00, 0x02, 0xc9, 0x00, 0x00, 0x01, 0x86,
                0xdd,                                            // Ethernet
                0x61, 0x23, 0x45, 0x67, 0x00, 0x28, 0x11, 0x40,  // IPv6
                0xfe, 0x80, 0,    0,    0,    0,    0,    0,    0,    2,    0xc9, 0,    0,    0,
                0,    1,    0xfe, 0x80, 0,    0,    0,    0,    0,    0,    0,    2,    0xc9, 0,
                0,    0,    0,    9,    0xc1, 0x23, 0x12, 0xb8, 0x00, 0x28, 0,    0,     // UDP
                0x64, 0x30, 0xff, 0xff, 0,    0,    0x01, 0x23, 0,    0,    0x04, 0x56,  // BTH
                0x11, 0x22, 0x33, 0x44, 0,    0,    0,    0x99,                          // DETH
                0xab, 0xab, 0xab, 0xab, 0xab, 0,    0,    0}));
  EXPECT_EQ(out.base, 62u);
}

TEST_F(roce_codec_alone, tags_by_the_table_or_by_the_datagram) {
  way.vlan_index = 7;
  way.priority = 5;
  way.smac_index = 3;
  auto out = datagram();
  EXPECT_EQ(std::vector(out.p.bytes.begin(), out.p.bytes.begin() + 18),
            bytes_of({0x00, 0x02, 0xc9, 0x00, 0x00, 0x09, 0x00, 0x02, 0xc9, 0x00, 0x00, 0x02, 0x81,
                      0x00, 0xa1, 0x23, 0x89, 0x15}));
  EXPECT_EQ(out.base, 58u);
  way.vlan_index.reset();
  way.vlan_tag = std::uint16_t{0x7004};
  out = datagram();
  EXPECT_EQ(out.p.bytes[14], std::byte{0x70});
  EXPECT_EQ(out.p.bytes[15], std::byte{0x04});
  EXPECT_TRUE(codec.unwrap(1, out.p));
}

TEST_F(roce_codec_alone, a_connections_version_is_its_contexts) {
  way.roce = roce_mode::v2;
  EXPECT_EQ(roce_headers::of(datagram().p.bytes)->form, roce_form::v2_ipv6);
  go_ipv4();
  EXPECT_EQ(roce_headers::of(datagram().p.bytes)->form, roce_form::v2_ipv4);
  way.roce = roce_mode::v1;
  EXPECT_EQ(roce_headers::of(datagram().p.bytes)->form, roce_form::v1);
}

TEST_F(roce_codec_alone, wraps_nothing_where_an_entry_is_empty) {
  way.sgid_index = index_empty;
  expect_refused("GID 5 of port 1; wanted: an entry that is not empty");
  way.sgid_index = index_v1;
  way.smac_index = 1;
  expect_refused("MAC 1 of port 1; wanted: an entry that is not empty");
  way.smac_index = 0;
  way.vlan_index = 2;
  expect_refused("VLAN 2 of port 1; wanted: an entry that is not empty");
  way.vlan_index.reset();
  way.sgid_index = index_v2_ipv4;
  expect_refused("RoCE v2 over IPv4 by GID 4; wanted: mapped IPv4 addresses at both ends");
  way.port = 2;
  expect_refused("GID 4 of port 2; wanted: an entry that is not empty");
}

TEST_F(roce_codec_alone, unwraps_what_it_wraps) {
  for (const unsigned index : {index_v1, index_v2_ipv6, index_v2_ipv4})
    for (const bool tagged : {false, true}) {
      way.sgid_index = index;
      way.dgid = index == index_v2_ipv4 ? far_v4 : far_v6;
      way.vlan_tag.reset();
      if (tagged) way.vlan_tag = std::uint16_t{5};
      const packet p = datagram().p;
      auto v = codec.unwrap(2, p);
      ASSERT_TRUE(v) << index;
      EXPECT_EQ(v->ingress.port, 2u);
      EXPECT_EQ(v->ingress.codec, &codec);
      EXPECT_TRUE(v->ingress.global());
      EXPECT_EQ(v->destination(), 0x123u);
      EXPECT_EQ(v->rest_bytes, deth::bytes + 5);
      EXPECT_EQ(v->take<deth>()->get<&deth::source_qp>(), 0x99u);
      EXPECT_EQ(std::memcmp(v->ingress.dgid(), way.dgid.data(), 16), 0) << index;
      const auto& near = index == index_v2_ipv4 ? near_v4 : near_v6;
      EXPECT_EQ(std::memcmp(v->ingress.sgid(), near.data(), 16), 0) << index;
    }
}

TEST_F(roce_codec_alone, a_datagrams_header_is_the_grh_or_ipv4_behind_20_bytes) {
  std::array<std::byte, 40> area;
  for (const unsigned index : {index_v1, index_v2_ipv6}) {
    way.sgid_index = index;
    const packet p = datagram().p;
    codec.unwrap(1, p)->ingress.put_network_header(area.data());
    EXPECT_EQ(std::memcmp(area.data(), p.bytes.data() + network, 40), 0);
  }
  go_ipv4();
  const packet p = datagram().p;
  area.fill(std::byte{0xee});
  codec.unwrap(1, p)->ingress.put_network_header(area.data());
  EXPECT_TRUE(
      std::all_of(area.begin(), area.begin() + 20, [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_EQ(std::memcmp(area.data() + 20, p.bytes.data() + network, 20), 0);
}

TEST_F(roce_codec_alone, a_packet_that_is_cut_off_is_none_and_it_says_why) {
  for (const unsigned index : {index_v1, index_v2_ipv6, index_v2_ipv4}) {
    way.sgid_index = index;
    way.dgid = index == index_v2_ipv4 ? far_v4 : far_v6;
    const packet whole = datagram().p;
    ASSERT_TRUE(codec.unwrap(1, whole));
    for (std::size_t bytes = 0; bytes < whole.bytes.size(); ++bytes) {
      packet p = whole;
      p.bytes.resize(bytes);
      EXPECT_FALSE(codec.unwrap(1, p)) << bytes;
      EXPECT_NE(codec.why_not(p), "") << bytes;
    }
    packet longer = whole;
    longer.bytes.resize(longer.bytes.size() + 4);
    EXPECT_FALSE(codec.unwrap(1, longer));
  }
}

TEST_F(roce_codec_alone, says_which_field_makes_it_no_packet) {
  const auto refused = [this](const packet& p, const char* why) {
    EXPECT_FALSE(codec.unwrap(1, p)) << why;
    EXPECT_EQ(codec.why_not(p), why);
    packet none;
    std::string said;
    std::vector<std::byte> frame = p.bytes;
    frame.resize(frame.size() + 4);
    EXPECT_EQ(from_frame(frame, none, said), roce_arrival::malformed) << why;
    EXPECT_TRUE(none.bytes.empty());
  };
  packet p = datagram().p;
  refused(with<&grh::ip_version, grh>(p, network, 4), "GRH version 4; wanted: 6 (IBTA 8.3)");
  refused(with<&grh::next_header, grh>(p, network, 17),
          "GRH next header 0x11; wanted: 0x1b (IBTA 8.3)");
  refused(with<&grh::payload_length, grh>(p, network, 12),
          "52 bytes by the network header; wanted: a BTH and an ICRC, 56 at least");
  refused(with<&grh::payload_length, grh>(p, network, 31),
          "31 bytes from BTH to ICRC; wanted: words of 4");
  go_ipv6();
  p = datagram().p;
  refused(with<&udp_header::length, udp_header>(p, ipv6_udp, 36),
          "UDP length 36; wanted: 40 by the IP header");
  refused(with<&grh::next_header, grh>(p, network, 6),
          "no RoCE: wanted EtherType 0x8915, or UDP over IP, and whole headers");
  go_ipv4();
  p = datagram().p;
  refused(with<&ipv4_header::ttl, ipv4_header>(p, network, 1),
          "IPv4 header checksum 0x269d; wanted: 0x659d");
  refused(with<&ipv4_header::more_fragments, ipv4_header>(p, network, 1),
          "IPv4 fragment; wanted: a whole packet");
  refused(with<&ipv4_header::header_words, ipv4_header>(p, network, 6),
          "IPv4 header of 6 words; wanted: 5, no options (IBTA A17.3.1)");
  refused(with<&ipv4_header::version, ipv4_header>(p, network, 5),
          "no RoCE: wanted EtherType 0x8915, or UDP over IP, and whole headers");
}

TEST_F(roce_codec_alone, padding_above_the_payload_is_no_packet) {
  outgoing_packet out = *codec.wrap(way, base, 0, 0);
  ASSERT_TRUE(codec.unwrap(1, out.p));
  const packet p = with<&bth::pad_count, bth>(out.p, out.base, 3);
  EXPECT_FALSE(codec.unwrap(1, p));
  EXPECT_EQ(codec.why_not(p), "BTH pad count above the payload (IBTA 9.2)");
}

TEST_F(roce_codec_alone, knows_what_the_port_has_sent_itself) {
  const packet here = datagram().p, there = answer();
  EXPECT_TRUE(codec.from_own_port(codec.unwrap(1, here)->ingress));
  EXPECT_FALSE(codec.from_own_port(codec.unwrap(2, here)->ingress));
  EXPECT_FALSE(codec.from_own_port(codec.unwrap(1, there)->ingress));
  EXPECT_EQ(codec.sender(codec.unwrap(1, there)->ingress), "MAC 0002c9000009");
}

TEST_F(roce_codec_alone, compares_a_packet_with_a_path) {
  packet p = answer();
  EXPECT_TRUE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  EXPECT_TRUE(codec.by_local_route(codec.unwrap(1, p)->ingress, way));
  EXPECT_FALSE(codec.by_local_route(codec.unwrap(2, p)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "port 2; wanted: port 1");
  // MACs and tags may change on the way.
  p.bytes[11] ^= std::byte{1};
  EXPECT_TRUE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  EXPECT_TRUE(codec.by_local_route(codec.unwrap(1, p)->ingress, way));

  EXPECT_FALSE(codec.by_global_route(codec.unwrap(1, datagram().p)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "destination GID; wanted: that of index 2");
  p.bytes[network + grh{}.sgid.offset + 15] ^= std::byte{1};
  EXPECT_FALSE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "source GID; wanted: that of the path");

  way.roce = roce_mode::v2;
  p = answer();
  EXPECT_TRUE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  way.roce = roce_mode::v1;
  EXPECT_FALSE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "RoCE v2 over IPv6; wanted: RoCE v1");
}

TEST_F(roce_codec_alone, a_completion_tells_the_source_mac_and_the_tag) {
  go_ipv4();
  auto e = completion_for(answer());
  EXPECT_TRUE(e.get<&cqe_smac::grh>());
  EXPECT_FALSE(e.get<&cqe_smac::cvlan_present>());
  EXPECT_EQ(std::vector(e.bytes_of<&cqe_smac::smac>(), e.bytes_of<&cqe_smac::smac>() + 6),
            bytes_of({0x00, 0x02, 0xc9, 0x00, 0x00, 0x09}));
  EXPECT_EQ(e.data()[0x0e], std::byte{0x00});
  EXPECT_EQ(e.data()[0x13], std::byte{0x09});
  way.vlan_tag = std::uint16_t{0xd123};
  e = completion_for(answer());
  EXPECT_TRUE(e.get<&cqe_smac::cvlan_present>());
  EXPECT_EQ(e.get<&cqe_smac::sl>(), 0xdu);
  EXPECT_EQ(e.get<&cqe_smac::vid>(), 0x123u);
}

TEST_F(roce_codec_alone, finishes_what_software_prepared) {
  for (const unsigned index : {index_v1, index_v2_ipv6, index_v2_ipv4}) {
    way.sgid_index = index;
    way.dgid = index == index_v2_ipv4 ? far_v4 : far_v6;
    const packet wanted = datagram().p;
    outgoing_packet out;
    out.p = wanted;
    out.p.bytes.resize(out.p.bytes.size() + icrc_bytes);
    EXPECT_EQ(codec.finish({}, out), prepared_verdict::good);
    EXPECT_EQ(out.p.bytes, wanted.bytes);
    EXPECT_EQ(out.base, datagram().base);
    // Without the three bytes of padding.
    out.p.bytes.resize(wanted.bytes.size() - 3);
    out.p.bytes.resize(wanted.bytes.size() + 1);
    EXPECT_EQ(codec.finish({}, out), prepared_verdict::good);
    EXPECT_EQ(out.p.bytes, wanted.bytes);

    prepared_send keeps_icrc;
    keeps_icrc.control = image<wqe_ctrl_mlx>::from_bytes(
        image<wqe_ctrl_ethernet>{}.set<&wqe_ctrl_ethernet::no_icrc>(true).data());
    out.p.bytes.resize(wanted.bytes.size() + icrc_bytes);
    EXPECT_EQ(codec.finish(keeps_icrc, out), prepared_verdict::wrong_icrc);
    out.p.bytes = to_frame(wanted).bytes;
    EXPECT_EQ(codec.finish(keeps_icrc, out), prepared_verdict::good);
  }
  for (std::size_t bytes = 0; bytes < 70; ++bytes) {
    outgoing_packet out;
    out.p = datagram().p;
    out.p.bytes.resize(bytes);
    EXPECT_EQ(codec.finish({}, out), prepared_verdict::no_packet) << bytes;
    EXPECT_EQ(out.p.bytes.size(), bytes - std::min<std::size_t>(bytes, 4));
  }
  EXPECT_GE(codec.prepared_bytes_max(), 14u + 4 + 40 + 8 + 12 + 8 + 256 + 4);
}

TEST_F(roce_codec_alone, a_captured_frame_has_the_icrc_that_we_compute) {
  const auto frame = golden_frame();
  packet p;
  std::string why;
  ASSERT_EQ(from_frame(frame, p, why), roce_arrival::good) << why;
  EXPECT_EQ(p.bytes.size(), frame.size() - icrc_bytes);
  EXPECT_EQ(to_frame(p).bytes, frame);
  const auto v = codec.unwrap(1, p);
  ASSERT_TRUE(v);
  EXPECT_EQ(v->bth.get<&bth::opcode>(), bth_opcode::cnp);
  EXPECT_EQ(codec.sender(v->ingress), "MAC 7cfe90643b32");
}

TEST_F(roce_codec_alone, version_1_has_the_icrc_of_a_global_infiniband_packet) {
  // rxe's and the specification's rule: eight bytes of ones in place of the LRH.
  const packet p = datagram().p;
  std::vector<std::byte> infiniband = bytes_of({0x00, 0x03, 0, 0, 0, 0, 0, 0});
  infiniband.insert(infiniband.end(), p.bytes.begin() + network, p.bytes.end());
  const std::uint32_t crc = packets::invariant_crc(infiniband);
  const frame f = to_frame(p);
  for (unsigned i = 0; i < 4; ++i)
    EXPECT_EQ(f.bytes[p.bytes.size() + i], static_cast<std::byte>(crc >> (8 * i) & 0xff));
}

TEST_F(roce_codec_alone, the_icrc_covers_what_routers_leave_alone) {
  for (const unsigned index : {index_v1, index_v2_ipv6, index_v2_ipv4}) {
    way.sgid_index = index;
    way.dgid = index == index_v2_ipv4 ? far_v4 : far_v6;
    const frame whole = to_frame(datagram().p);
    const auto h = *roce_headers::of(whole.bytes);
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < h.network; ++i) free.push_back(i);
    free.push_back(h.base + 4);
    if (h.v2()) free.insert(free.end(), {h.udp + 6, h.udp + 7});
    if (index == index_v2_ipv4) free.insert(free.end(), {h.network + 1, h.network + 8});
    else
      free.insert(free.end(),
                  {h.network, h.network + 1, h.network + 2, h.network + 3, h.network + 7});
    for (std::size_t i = 0; i < whole.bytes.size(); ++i) {
      frame f = whole;
      f.bytes[i] ^= std::byte{2};
      // Who changes an IPv4 header changes its checksum.
      if (index == index_v2_ipv4 && i >= h.network && i < h.udp &&
          (i - h.network < 10 || i - h.network > 11)) {
        const auto ip = image<ipv4_header>::from_bytes(f.bytes.data() + h.network);
        store_be(f.bytes.data() + h.network + 10, ipv4_checksum(ip));
      }
      const bool is_free = std::find(free.begin(), free.end(), i) != free.end();
      packet p;
      std::string why;
      const roce_arrival got = from_frame(f.bytes, p, why);
      // The EtherType is not the ICRC's, but nothing is read without it.
      if (i == 12 || i == 13) EXPECT_NE(got, roce_arrival::good);
      else EXPECT_EQ(got == roce_arrival::good, is_free) << index << ": " << i << " " << why;
    }
  }
}

TEST_F(roce_codec_alone, a_frames_padding_is_no_part_of_the_packet) {
  go_ipv4();
  const outgoing_packet acknowledgement = *codec.wrap(way, base, 4, 0);
  frame f = to_frame(acknowledgement.p);
  EXPECT_EQ(f.bytes.size(), 62u);
  f.bytes.resize(100, std::byte{0x55});
  packet p;
  std::string why;
  EXPECT_EQ(from_frame(f.bytes, p, why), roce_arrival::good);
  EXPECT_EQ(p.bytes, acknowledgement.p.bytes);
  for (std::size_t bytes = 0; bytes < 62; ++bytes) {
    packet none;
    EXPECT_EQ(from_frame({f.bytes.data(), bytes}, none, why), roce_arrival::malformed) << bytes;
    EXPECT_NE(why, "");
  }
}

TEST_F(roce_codec_alone, a_wrong_icrc_is_told) {
  frame f = to_frame(datagram().p);
  f.bytes.back() ^= std::byte{1};
  packet p;
  std::string why;
  EXPECT_EQ(from_frame(f.bytes, p, why), roce_arrival::bad_icrc);
  EXPECT_EQ(why, "wrong invariant CRC (IBTA 7.8.1)");
  EXPECT_TRUE(p.bytes.empty());
}

TEST_F(roce_codec_alone, a_frame_is_roces_by_ethertype_or_udp_port_and_by_its_addresses) {
  for (const unsigned index : {index_v1, index_v2_ipv6, index_v2_ipv4}) {
    way.sgid_index = index;
    way.dgid = index == index_v2_ipv4 ? far_v4 : far_v6;
    own.v2 = std::uint16_t{4791};
    const bool v2 = index != index_v1;
    const auto came = to_frame(answer()).bytes, sent = to_frame(datagram().p).bytes;
    EXPECT_TRUE(is_roce_of(came, 1, own));
    EXPECT_FALSE(is_roce_of(came, 2, own));
    EXPECT_FALSE(is_roce_of(sent, 1, own)) << "another's MAC and GID";
    auto other = came;
    other[5] = std::byte{2};
    EXPECT_TRUE(is_roce_of(other, 1, own)) << "the other MAC";
    other[5] = std::byte{7};
    EXPECT_FALSE(is_roce_of(other, 1, own)) << "no MAC of the port";
    other = came;
    const std::size_t dgid_end = index == index_v2_ipv4 ? ipv4_udp : ipv6_udp;
    other[dgid_end - 1] ^= std::byte{0x40};
    EXPECT_FALSE(is_roce_of(other, 1, own)) << "no GID of the port";
    own.v2.reset();
    EXPECT_EQ(is_roce_of(came, 1, own), !v2) << "without v2";
    own.v2 = std::uint16_t{4792};
    EXPECT_EQ(is_roce_of(came, 1, own), !v2) << "another UDP port";
  }
  const auto arp = bytes_of({0x00, 0x02, 0xc9, 0, 0, 1, 0x00, 0x02, 0xc9, 0, 0, 9, 0x08, 0x06});
  EXPECT_FALSE(is_roce_of(arp, 1, own));
}

TEST_F(roce_codec_alone, a_version_1_packet_to_a_version_2_gid_is_the_network_drivers) {
  way.sgid_index = index_v2_ipv4;
  way.dgid = far_v4;
  way.roce = roce_mode::v1;
  packet p = answer();
  EXPECT_FALSE(is_roce_of(p.bytes, 1, own));
}

TEST_F(roce_codec_alone, multicast_needs_the_gid_of_a_group_and_a_port_that_speaks_its_version) {
  way.dmac = 0x333300000001;
  way.dgid = gid_of({0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  EXPECT_TRUE(is_roce_of(datagram().p.bytes, 1, own));
  EXPECT_FALSE(is_roce_of(datagram().p.bytes, 2, own)) << "it has no GID";
  way.dgid = far_v6;
  EXPECT_FALSE(is_roce_of(datagram().p.bytes, 1, own));
  go_ipv4();
  way.dmac = 0x01005e000001;
  EXPECT_FALSE(is_roce_of(datagram().p.bytes, 1, own));
  way.dgid = mapped_gid(0xe0000001);
  EXPECT_TRUE(is_roce_of(datagram().p.bytes, 1, own));
}

}  // namespace freehca::model::test
