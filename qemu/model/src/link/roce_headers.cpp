// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "link/roce_headers.hpp"

#include <algorithm>
#include <cstdio>

namespace freehca::model {

using namespace layouts;

namespace {

constexpr std::size_t type_bytes = 2;

template <class... Values>
std::string said(const char* format, Values... values) {
  std::array<char, 120> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// Reads header T at `at`; nothing when the frame ends before it does.
template <class T>
std::optional<image<T>> header_at(std::span<const std::byte> frame, std::size_t at) {
  if (frame.size() < at + T::bytes) return std::nullopt;
  return image<T>::from_bytes(frame.data() + at);
}

/// GRH or IPv6 header.
bool take_grh(std::span<const std::byte> frame, roce_headers& h) {
  const auto global = header_at<grh>(frame, h.network);
  if (!global) return false;
  std::copy_n(global->bytes_of<&grh::sgid>(), h.sgid.size(), h.sgid.begin());
  std::copy_n(global->bytes_of<&grh::dgid>(), h.dgid.size(), h.dgid.begin());
  h.base = h.network + grh::bytes;
  h.end = h.base + static_cast<std::size_t>(global->get<&grh::payload_length>());
  return h.form == roce_form::v1 || (global->get<&grh::ip_version>() == 6 &&
                                     global->get<&grh::next_header>() == ip_protocol_udp);
}

bool take_ipv4(std::span<const std::byte> frame, roce_headers& h) {
  using ip = ipv4_header;
  const auto header = header_at<ip>(frame, h.network);
  constexpr unsigned least_words = ip::bytes / 4;
  if (!header || header->get<&ip::version>() != 4 ||
      header->get<&ip::header_words>() < least_words ||
      header->get<&ip::protocol>() != ip_protocol_udp || header->get<&ip::fragment_offset>() != 0)
    return false;
  h.sgid = mapped_gid(static_cast<std::uint32_t>(header->get<&ip::source>()));
  h.dgid = mapped_gid(static_cast<std::uint32_t>(header->get<&ip::destination>()));
  h.base = h.network + static_cast<std::size_t>(header->get<&ip::header_words>() * 4);
  h.end = h.network + static_cast<std::size_t>(header->get<&ip::total_length>());
  return true;
}

bool take_udp(std::span<const std::byte> frame, roce_headers& h) {
  const auto header = header_at<udp_header>(frame, h.base);
  if (!header) return false;
  h.udp = h.base;
  h.udp_destination = static_cast<std::uint16_t>(header->get<&udp_header::destination_port>());
  h.base += udp_header::bytes;
  return true;
}

}  // namespace

std::optional<roce_headers> roce_headers::of(std::span<const std::byte> frame) {
  roce_headers h;
  const auto addresses = header_at<ethernet_address_numbers>(frame, 0);
  std::size_t type_at = ethernet_addresses::bytes;
  if (!addresses || frame.size() < type_at + type_bytes) return std::nullopt;
  h.destination = addresses->get<&ethernet_address_numbers::destination>();
  h.source = addresses->get<&ethernet_address_numbers::source>();
  if (load_be<std::uint16_t>(frame.data() + type_at) == ethertype::vlan) {
    h.tag = header_at<vlan_tag>(frame, type_at);
    type_at += vlan_tag::bytes;
    if (frame.size() < type_at + type_bytes) return std::nullopt;
  }
  h.network = type_at + type_bytes;
  switch (load_be<std::uint16_t>(frame.data() + type_at)) {
    case ethertype::roce_v1:
      h.form = roce_form::v1;
      break;
    case ethertype::ipv4:
      h.form = roce_form::v2_ipv4;
      break;
    case ethertype::ipv6:
      h.form = roce_form::v2_ipv6;
      break;
    default:
      return std::nullopt;
  }
  const bool network = h.form == roce_form::v2_ipv4 ? take_ipv4(frame, h) : take_grh(frame, h);
  if (!network || (h.v2() && !take_udp(frame, h))) return std::nullopt;
  return h;
}

std::string flaw_of(std::span<const std::byte> frame, const roce_headers& h) {
  if (h.form == roce_form::v2_ipv4) {
    using ip = ipv4_header;
    const auto header = image<ip>::from_bytes(frame.data() + h.network);
    if (header.get<&ip::header_words>() * 4 != ip::bytes)
      return said("IPv4 header of %u words; wanted: 5, no options (IBTA A17.3.1)",
                  static_cast<unsigned>(header.get<&ip::header_words>()));
    if (header.get<&ip::more_fragments>()) return "IPv4 fragment; wanted: a whole packet";
    const auto checksum = static_cast<unsigned>(header.get<&ip::checksum>());
    if (checksum != ipv4_checksum(header))
      return said("IPv4 header checksum 0x%04x; wanted: 0x%04x", checksum,
                  unsigned{ipv4_checksum(header)});
  } else {
    const auto global = image<grh>::from_bytes(frame.data() + h.network);
    const auto version = static_cast<unsigned>(global.get<&grh::ip_version>());
    const auto next = static_cast<unsigned>(global.get<&grh::next_header>());
    if (version != grh_ip_version)
      return said("GRH version %u; wanted: %u (IBTA 8.3)", version, unsigned{grh_ip_version});
    if (!h.v2() && next != grh_next_header_bth)
      return said("GRH next header 0x%02x; wanted: 0x%02x (IBTA 8.3)", next,
                  unsigned{grh_next_header_bth});
  }
  if (h.end < h.base + bth::bytes + icrc_bytes)
    return said("%zu bytes by the network header; wanted: a BTH and an ICRC, %zu at least",
                h.end - h.network, h.base + bth::bytes + icrc_bytes - h.network);
  if ((h.end - h.base) % 4 != 0)
    return said("%zu bytes from BTH to ICRC; wanted: words of 4", h.end - h.base);
  if (h.v2()) {
    const auto length = static_cast<std::size_t>(
        image<udp_header>::from_bytes(frame.data() + h.udp).get<&udp_header::length>());
    if (length != h.end - h.udp)
      return said("UDP length %zu; wanted: %zu by the IP header", length, h.end - h.udp);
  }
  return {};
}

std::uint16_t ipv4_checksum(const image<ipv4_header>& header) {
  auto without = header;
  without.set<&ipv4_header::checksum>(0);
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < ipv4_header::bytes; at += 2)
    sum += load_be<std::uint16_t>(without.data() + at);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::array<std::byte, 16> mapped_gid(std::uint32_t address) {
  std::array<std::byte, 16> gid{};
  gid[10] = gid[11] = std::byte{0xff};
  store_be(gid.data() + 12, address);
  return gid;
}

std::optional<std::uint32_t> mapped_address(const std::byte* gid) {
  const auto address = load_be<std::uint32_t>(gid + 12);
  const auto mapped = mapped_gid(address);
  if (!std::equal(mapped.begin(), mapped.end(), gid)) return std::nullopt;
  return address;
}

bool is_multicast_gid(const std::byte* gid) {
  const auto address = mapped_address(gid);
  return address ? *address >> 28 == 0xe : gid[0] == std::byte{0xff};
}

}  // namespace freehca::model
