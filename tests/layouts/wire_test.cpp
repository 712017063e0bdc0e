// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Packet headers, by drivers/infiniband/core/ud_header.c (bit tables) and IBTA vol. 1.
#include <gtest/gtest.h>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/headers.hpp>

#include "hex_bytes.hpp"

using namespace freehca::layouts;

TEST(headers, local_and_global_route) {
  image<lrh> l;
  // A 256-byte MAD on VL15 with no GRH: (8 + 12 + 8 + 256 + 4) / 4 = 72 words.
  l.set<&lrh::virtual_lane>(15).set<&lrh::lnh>(link_next_header::iba_local).set<&lrh::dlid>(0xffff);
  l.set<&lrh::packet_length>(72).set<&lrh::slid>(0xffff);
  EXPECT_EQ(hex_bytes::hex(l), "f002ffff 0048ffff");
  const auto g = hex_bytes::bytes<grh>("61234567 00181b40");
  EXPECT_EQ(g.get<&grh::ip_version>(), grh_ip_version);
  EXPECT_EQ(g.get<&grh::traffic_class>(), 0x12u);
  EXPECT_EQ(g.get<&grh::flow_label>(), 0x34567u);
  EXPECT_EQ(g.get<&grh::payload_length>(), 24u);
  EXPECT_EQ(g.get<&grh::next_header>(), grh_next_header_bth);
  EXPECT_EQ(g.get<&grh::hop_limit>(), 64u);
}

TEST(headers, link_packets) {
  image<link_packet> p;
  p.set<&link_packet::op>(link_packet_op::flow_control_init).set<&link_packet::fctbs>(0x234);
  p.set<&link_packet::vl>(5).set<&link_packet::fccl>(0xabc);
  EXPECT_EQ(hex_bytes::hex(p), "12345abc 0000");
}

TEST(headers, base_transport) {
  image<bth> b;
  b.set<&bth::opcode>(make_bth_opcode(bth_transport::rc, bth_operation::rdma_write_only))
      .set<&bth::solicited>(true)
      .set<&bth::migrated>(true)
      .set<&bth::pad_count>(2)
      .set<&bth::pkey>(0xffff)
      .set<&bth::dest_qp>(0x41)
      .set<&bth::ack_req>(true)
      .set<&bth::psn>(0x123456);
  EXPECT_EQ(hex_bytes::hex(b), "0ae0ffff 00000041 80123456");
  EXPECT_EQ(make_bth_opcode(bth_transport::ud, bth_operation::send_only), bth_opcode::ud_send_only);
  EXPECT_EQ(make_bth_opcode(bth_transport::ud, bth_operation::send_only_imm), bth_opcode::ud_send_only_imm);
  EXPECT_EQ(transport_of(static_cast<bth_opcode>(0x27)), bth_transport::uc);
  EXPECT_EQ(operation_of(static_cast<bth_opcode>(0x27)), bth_operation::rdma_write_middle);
}

TEST(headers, extended_transport) {
  image<deth> d;
  d.set<&deth::qkey>(0x80010000).set<&deth::source_qp>(1);
  EXPECT_EQ(hex_bytes::hex(d), "80010000 00000001");
  image<reth> r;
  r.set<&reth::virtual_address>(0x0102030405060708).set<&reth::rkey>(0x99).set<&reth::dma_length>(0x1000);
  EXPECT_EQ(hex_bytes::hex(r), "01020304 05060708 00000099 00001000");
  image<atomic_eth> a;
  a.set<&atomic_eth::virtual_address>(8).set<&atomic_eth::rkey>(9).set<&atomic_eth::swap_add>(10);
  a.set<&atomic_eth::compare>(11);
  EXPECT_EQ(hex_bytes::hex(a), "00000000 00000008 00000009 00000000 0000000a 00000000 0000000b");
}

TEST(headers, acknowledge_syndromes) {
  image<aeth> a;
  a.set<&aeth::type>(aeth_type::ack).set<&aeth::value>(aeth_credits_invalid).set<&aeth::msn>(7);
  EXPECT_EQ(hex_bytes::hex(a), "1f000007");
  a.set<&aeth::type>(aeth_type::rnr_nak).set<&aeth::value>(12);
  EXPECT_EQ(hex_bytes::hex(a), "2c000007");
  const std::pair<nak_code, const char*> naks[] = {{nak_code::psn_sequence_error, "60000007"},
                                                   {nak_code::invalid_request, "61000007"},
                                                   {nak_code::remote_access_error, "62000007"},
                                                   {nak_code::remote_operational_error, "63000007"},
                                                   {nak_code::invalid_rd_request, "64000007"}};
  for (const auto& [code, bytes] : naks) {
    a.set<&aeth::type>(aeth_type::nak).set<&aeth::value>(static_cast<std::uint64_t>(code));
    EXPECT_EQ(hex_bytes::hex(a), bytes);
  }
  EXPECT_EQ(rnr_timer_us(0), 655360u);
  EXPECT_EQ(rnr_timer_us(1), 10u);
  EXPECT_EQ(rnr_timer_us(12), 640u);
  EXPECT_EQ(rnr_timer_us(31), 491520u);
  EXPECT_EQ(aeth_credits(5), 6u);
  EXPECT_EQ(aeth_credits(30), 32768u);
}

TEST(headers, roce_v2_encapsulation) {
  image<ipv4_header> i;
  i.set<&ipv4_header::version>(4)
      .set<&ipv4_header::header_words>(5)
      .set<&ipv4_header::total_length>(60)
      .set<&ipv4_header::dont_fragment>(true)
      .set<&ipv4_header::ttl>(64)
      .set<&ipv4_header::protocol>(ip_protocol_udp)
      .set<&ipv4_header::source>(0xc0a80001)
      .set<&ipv4_header::destination>(0xc0a80002);
  EXPECT_EQ(hex_bytes::hex(i), "4500003c 00004000 40110000 c0a80001 c0a80002");
  image<udp_header> u;
  u.set<&udp_header::source_port>(0xc000).set<&udp_header::destination_port>(roce_v2_udp_port);
  u.set<&udp_header::length>(40);
  EXPECT_EQ(hex_bytes::hex(u), "c00012b7 00280000");
  const auto v = hex_bytes::bytes<vlan_tag>("81006064");
  EXPECT_EQ(v.get<&vlan_tag::tpid>(), ethertype::vlan);
  EXPECT_EQ(v.get<&vlan_tag::priority>(), 3u);
  EXPECT_EQ(v.get<&vlan_tag::vid>(), 100u);
}

TEST(headers, addresses_of_ethernet_as_numbers) {
  const auto e = hex_bytes::bytes<ethernet_address_numbers>("0002c900 0001aabb ccddeeff");
  EXPECT_EQ(e.get<&ethernet_address_numbers::destination>(), 0x0002'c900'0001u);
  EXPECT_EQ(e.get<&ethernet_address_numbers::source>(), 0xaabb'ccdd'eeffu);
}

// The header diagrams of RFC 9293, 8200 and 7348.
TEST(headers, tcp) {
  image<tcp_header> t;
  t.set<&tcp_header::source_port>(0x1234).set<&tcp_header::destination_port>(0x5678);
  t.set<&tcp_header::sequence>(0x01020304).set<&tcp_header::acknowledgment>(0x05060708);
  t.set<&tcp_header::header_words>(5).set<&tcp_header::window>(0xabcd);
  t.set<&tcp_header::checksum>(0x1111).set<&tcp_header::urgent>(0x2222);
  EXPECT_EQ(hex_bytes::hex(t), "12345678 01020304 05060708 5000abcd 11112222");
  constexpr tcp_header h;
  // Bits of byte 13: FIN 1, SYN 2, RST 4, PSH 8, ACK 0x10, URG 0x20, ECE 0x40, CWR 0x80.
  EXPECT_EQ(h.fin.lo, 16 + 0);
  EXPECT_EQ(h.syn.lo, 16 + 1);
  EXPECT_EQ(h.rst.lo, 16 + 2);
  EXPECT_EQ(h.psh.lo, 16 + 3);
  EXPECT_EQ(h.ack.lo, 16 + 4);
  EXPECT_EQ(h.urg.lo, 16 + 5);
  EXPECT_EQ(h.ece.lo, 16 + 6);
  EXPECT_EQ(h.cwr.lo, 16 + 7);
}

TEST(headers, extensions_of_ipv6) {
  const auto e = hex_bytes::bytes<ipv6_extension>("11020000");
  EXPECT_EQ(e.get<&ipv6_extension::next_header>(), ip_protocol_udp);
  EXPECT_EQ(e.get<&ipv6_extension::length>(), 2u);
  image<ipv6_fragment> f;
  f.set<&ipv6_fragment::next_header>(ip_protocol_tcp).set<&ipv6_fragment::offset>(185);
  f.set<&ipv6_fragment::more_fragments>(true).set<&ipv6_fragment::identification>(0xdeadbeef);
  EXPECT_EQ(hex_bytes::hex(f), "060005c9 deadbeef");
}

TEST(headers, vxlan) {
  image<vxlan_header> v;
  v.set<&vxlan_header::vni_valid>(true).set<&vxlan_header::vni>(0x123456);
  EXPECT_EQ(hex_bytes::hex(v), "08000000 12345600");
}
