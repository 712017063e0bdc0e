// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the model reads out of Ethernet frames. Expected numbers are counted by hand from the bytes.
#include <gtest/gtest.h>

#include "frames/frame_view.hpp"
#include "whole_frames.hpp"

namespace freehca::model::test {

using namespace frames;

namespace {

frame_headers outer_of(const std::vector<std::byte>& bytes) {
  return frame_view::of(bytes).value().outer;
}

/// The headers when the byte at `at` is another.
frame_headers with(std::vector<std::byte> bytes, std::size_t at, int value) {
  bytes[at] = static_cast<std::byte>(value);
  return outer_of(bytes);
}

void expect_not_ip(const frame_headers& h) {
  EXPECT_EQ(h.ip, network_protocol::other);
  EXPECT_EQ(h.ports, port_protocol::none);
  EXPECT_EQ(h.network_bytes, 0u);
  EXPECT_EQ(h.end, 0u);
}

}  // namespace

TEST(frame_view, padding_stands_behind_the_end_of_ip) {
  const auto h = outer_of(captured_tcp_ack);
  EXPECT_EQ(h.destination, 0xbc30'5be8'd349u);
  EXPECT_EQ(h.source, 0xb8ac'6f92'd5bfu);
  EXPECT_FALSE(h.tag);
  EXPECT_EQ(h.ether_type, 0x0800);
  EXPECT_EQ(h.network, 14u);
  EXPECT_EQ(h.ip, network_protocol::ipv4);
  EXPECT_EQ(h.network_bytes, 20u);
  EXPECT_EQ(captured_tcp_ack.size(), 60u);
  EXPECT_EQ(h.end, 54u);
  EXPECT_FALSE(h.options || h.fragment || h.later_fragment || h.extensions);
  EXPECT_EQ(h.protocol, 6);
  EXPECT_EQ(h.ports, port_protocol::tcp);
  EXPECT_EQ(h.transport, 34u);
  EXPECT_EQ(h.transport_bytes, 20u);
  EXPECT_EQ(h.source_port, 99);
  EXPECT_EQ(h.destination_port, 39663);
}

TEST(frame_view, a_frame_without_a_whole_ethernet_header_is_none) {
  for (std::size_t n = 0; n < 14; ++n)
    EXPECT_FALSE(frame_view::of(std::span(captured_udp).first(n))) << n;
  const std::vector<std::byte> least(captured_udp.begin(), captured_udp.begin() + 14);
  expect_not_ip(outer_of(least));
  EXPECT_EQ(outer_of(least).ether_type, 0x0800);
}

TEST(frame_view, group_addresses_are_told_by_their_first_bit) {
  EXPECT_FALSE(outer_of(captured_udp).multicast());
  EXPECT_TRUE(with(captured_udp, 0, 1).multicast());
  auto bytes = captured_udp;
  std::fill_n(bytes.begin(), 6, std::byte{0xff});
  EXPECT_TRUE(outer_of(bytes).broadcast());
  EXPECT_TRUE(outer_of(bytes).multicast());
  EXPECT_FALSE(with(bytes, 5, 0xfe).broadcast());
}

TEST(frame_view, all_tags_are_skipped_and_the_first_is_told) {
  const auto h = outer_of(tagged_twice);
  ASSERT_TRUE(h.tag);
  using layouts::vlan_tag;
  EXPECT_EQ(h.tag->get<&vlan_tag::tpid>(), 0x88a8u);
  EXPECT_EQ(h.tag->get<&vlan_tag::priority>(), 1u);
  EXPECT_FALSE(h.tag->get<&vlan_tag::dei>());
  EXPECT_EQ(h.tag->get<&vlan_tag::vid>(), 0x64u);
  EXPECT_EQ(h.ether_type, 0x0800);
  EXPECT_EQ(h.network, 22u);
  EXPECT_TRUE(h.options);
  EXPECT_EQ(h.network_bytes, 24u);
  EXPECT_EQ(h.transport, 46u);
  EXPECT_EQ(h.ports, port_protocol::tcp);
  EXPECT_EQ(h.end, tagged_twice.size());
}

TEST(frame_view, a_tag_that_no_ethertype_follows_is_none) {
  for (const std::size_t n : {14u, 16u, 17u}) {
    const auto view = frame_view::of(std::span(tagged_twice).first(n));
    ASSERT_TRUE(view);
    EXPECT_FALSE(view->outer.tag) << n;
    EXPECT_EQ(view->outer.ether_type, 0x88a8) << n;
  }
  EXPECT_TRUE(frame_view::of(std::span(tagged_twice).first(18))->outer.tag);
}

TEST(frame_view, ipv4_whose_version_or_lengths_lie_is_not_ip) {
  expect_not_ip(with(captured_udp, 14, 0x65));  // version
  expect_not_ip(with(captured_udp, 14, 0x44));  // a header of 16 bytes
  expect_not_ip(with(captured_udp, 17, 0x45));  // a total length of one more than there is
  expect_not_ip(with(captured_udp, 16, 0x01));  // and of 256 more
  expect_not_ip(with(captured_udp, 17, 19));    // less than the header
  EXPECT_EQ(with(captured_udp, 17, 20).ip, network_protocol::ipv4);
  EXPECT_EQ(with(captured_udp, 17, 20).ports, port_protocol::none);
  // The most header words that there are reach behind the end of this one.
  expect_not_ip(with(captured_tcp_ack, 14, 0x4f));
}

TEST(frame_view, ipv4_fragments_are_told_and_only_the_first_has_ports) {
  const auto first = outer_of(captured_fragment);
  EXPECT_TRUE(first.fragment);
  EXPECT_FALSE(first.later_fragment);
  EXPECT_EQ(first.ports, port_protocol::udp);
  EXPECT_EQ(first.destination_port, 20197);
  const auto later = with(captured_fragment, 21, 1);
  EXPECT_TRUE(later.fragment && later.later_fragment);
  EXPECT_EQ(later.ports, port_protocol::none);
  EXPECT_EQ(later.protocol, 17);
  const auto last = with(captured_udp, 21, 1);
  EXPECT_TRUE(last.fragment && last.later_fragment);
  EXPECT_FALSE(with(captured_udp, 20, 0x40).fragment);  // don't fragment
}

TEST(frame_view, a_transport_header_that_is_cut_off_gives_no_ports) {
  EXPECT_EQ(with(captured_tcp_ack, 17, 39).ports, port_protocol::none);
  EXPECT_EQ(with(captured_tcp_ack, 46, 0x40).ports, port_protocol::none);  // of 16 bytes
  EXPECT_EQ(with(captured_tcp_ack, 46, 0x60).ports, port_protocol::none);  // into the padding
  EXPECT_EQ(with(captured_udp, 17, 27).ports, port_protocol::none);
  EXPECT_EQ(with(captured_udp, 17, 28).ports, port_protocol::udp);
}

TEST(frame_view, ipv6_and_what_its_length_covers) {
  const auto h = outer_of(tcp_over_ipv6);
  EXPECT_EQ(h.ip, network_protocol::ipv6);
  EXPECT_EQ(h.network_bytes, 40u);
  EXPECT_EQ(h.end, 95u);
  EXPECT_FALSE(h.extensions);
  EXPECT_EQ(h.ports, port_protocol::tcp);
  EXPECT_EQ(h.source_port, 40000);
  EXPECT_EQ(h.destination_port, 5001);
  auto padded = tcp_over_ipv6;
  padded.resize(100);
  EXPECT_EQ(outer_of(padded).end, 95u);
  expect_not_ip(with(tcp_over_ipv6, 19, 0x2a));  // one byte more than there is
  expect_not_ip(with(tcp_over_ipv6, 14, 0x40));  // version
}

TEST(frame_view, extension_headers_of_ipv6_are_looked_behind) {
  const auto h = outer_of(udp_behind_extensions);
  EXPECT_TRUE(h.extensions);
  EXPECT_FALSE(h.fragment);
  EXPECT_EQ(h.network_bytes, 72u);
  EXPECT_EQ(h.protocol, 17);
  EXPECT_EQ(h.ports, port_protocol::udp);
  EXPECT_EQ(h.transport, 86u);
  EXPECT_EQ(h.destination_port, 5001);
  // An extension header longer than the packet ends the search.
  const auto cut = with(udp_behind_extensions, 55, 0xff);
  EXPECT_EQ(cut.ip, network_protocol::ipv6);
  EXPECT_EQ(cut.network_bytes, 40u);
  EXPECT_EQ(cut.ports, port_protocol::none);
}

TEST(frame_view, fragments_of_ipv6_are_told) {
  const auto first = outer_of(first_fragment_of_ipv6);
  EXPECT_TRUE(first.fragment && first.extensions);
  EXPECT_FALSE(first.later_fragment);
  EXPECT_EQ(first.ports, port_protocol::udp);
  const auto later = outer_of(later_fragment_of_ipv6);
  EXPECT_TRUE(later.fragment && later.later_fragment);
  EXPECT_EQ(later.ports, port_protocol::none);
  EXPECT_EQ(later.protocol, 17);
  // What a later one carries is the middle of something, whatever its first header was.
  auto bytes = later_fragment_of_ipv6;
  bytes[63] = {};  // would be the length of destination options
  const auto options = with(bytes, 54, 60);
  EXPECT_EQ(options.protocol, 60);
  EXPECT_EQ(options.network_bytes, 48u);
  EXPECT_TRUE(with(first_fragment_of_ipv6, 57, 0).fragment);  // the only one (RFC 6946)
}

TEST(frame_view, no_more_than_so_many_extension_headers_are_looked_behind) {
  const auto chain_of = [](unsigned headers) {
    auto bytes = bytes_of("0002c90000010002c900000286dd6000000000003c40");
    bytes.resize(54);
    for (unsigned n = 0; n < headers; ++n) {
      const std::size_t at = bytes.size();
      bytes.resize(at + 8);
      bytes[at] = std::byte{n + 1 == headers ? std::uint8_t{17} : std::uint8_t{60}};
    }
    bytes.resize(bytes.size() + 8);
    bytes[19] = static_cast<std::byte>(bytes.size() - 54);
    return bytes;
  };
  EXPECT_EQ(outer_of(chain_of(8)).ports, port_protocol::udp);
  const auto too_many = outer_of(chain_of(9));
  EXPECT_EQ(too_many.ports, port_protocol::none);
  EXPECT_EQ(too_many.protocol, 60);
  EXPECT_EQ(too_many.ip, network_protocol::ipv6);
}

TEST(frame_view, vxlan_has_headers_inside) {
  const auto v = frame_view::of(captured_vxlan, vxlan).value();
  ASSERT_TRUE(v.inner);
  EXPECT_EQ(v.vni, 0xffu);
  EXPECT_EQ(v.outer.ports, port_protocol::udp);
  EXPECT_EQ(v.inner->begin, 50u);
  EXPECT_EQ(v.inner->destination, 0x0030'8801'0002u);
  EXPECT_EQ(v.inner->source, 0x0016'3e37'f604u);
  EXPECT_EQ(v.inner->ip, network_protocol::ipv4);
  EXPECT_EQ(v.inner->protocol, 1);
  EXPECT_EQ(v.inner->ports, port_protocol::none);
  EXPECT_EQ(v.inner->end, captured_vxlan.size());
  const auto six = frame_view::of(vxlan_over_ipv6, vxlan).value();
  ASSERT_TRUE(six.inner);
  EXPECT_EQ(six.vni, 0x1234u);
  EXPECT_EQ(six.inner->ip, network_protocol::ipv6);
  EXPECT_EQ(six.inner->ports, port_protocol::tcp);
}

TEST(frame_view, what_is_not_vxlan_has_no_headers_inside) {
  EXPECT_FALSE(frame_view::of(captured_vxlan)->inner);
  EXPECT_FALSE(frame_view::of(captured_vxlan, vxlan + 1)->inner);
  const auto changed = [](std::size_t at, int value) {
    auto bytes = captured_vxlan;
    bytes[at] = static_cast<std::byte>(value);
    return frame_view::of(bytes, vxlan)->inner;
  };
  EXPECT_FALSE(changed(42, 0));     // no network number
  EXPECT_FALSE(changed(20, 0x20));  // a fragment
  EXPECT_TRUE(changed(42, 0xff));   // the other flags do not matter
  // No room for an Ethernet header inside.
  auto bytes = captured_vxlan;
  bytes[17] = std::byte{20 + 8 + 8 + 13};
  EXPECT_FALSE(frame_view::of(bytes, vxlan)->inner);
  bytes[17] = std::byte{20 + 8 + 8 + 14};
  ASSERT_TRUE(frame_view::of(bytes, vxlan)->inner);
  // The inner packet must end where the outer one does.
  EXPECT_EQ(frame_view::of(bytes, vxlan)->inner->ip, network_protocol::other);
}

TEST(frame_view, lengths_in_a_message_header_do_not_count) {
  auto header = tcp_over_ipv6;
  header.resize(74);
  expect_not_ip(outer_of(header));
  const auto v = frame_view::of_message_header(header).value();
  EXPECT_EQ(v.outer.ports, port_protocol::tcp);
  EXPECT_EQ(v.outer.end, header.size());
}

}  // namespace freehca::model::test
