// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/headers.hpp>

#include "link/roce_address.hpp"

namespace freehca::model {

/// What stands between the Ethernet header and the BTH: a GRH, or an IP header and UDP's.
enum class roce_form : std::uint8_t { v1, v2_ipv4, v2_ipv6 };

/// What stands in front of the BTH of a RoCE packet, and where. Offsets count from the first byte
/// of the frame.
struct roce_headers {
  std::uint64_t destination = 0, source = 0;
  std::optional<layouts::image<layouts::vlan_tag>> tag;
  roce_form form = roce_form::v1;
  std::array<std::byte, 16> sgid{}, dgid{};  ///< of IPv4: the mapped ones
  std::size_t network = 0;                   ///< GRH or IP header
  std::size_t udp = 0;                       ///< v2
  std::size_t base = 0;                      ///< the BTH
  std::size_t end = 0;                       ///< behind the ICRC, by the network header's length
  std::uint16_t udp_destination = 0;         ///< v2

  bool v2() const { return form != roce_form::v1; }
  roce_version version() const { return v2() ? roce_version::v2 : roce_version::v1; }
  bool multicast() const { return (destination >> 40 & 1) != 0; }

  /// Nothing: neither EtherType of RoCE nor UDP over IP, or its headers are not whole. UDP to any
  /// port is taken.
  static std::optional<roce_headers> of(std::span<const std::byte> frame);
};

/// What contradicts itself in headers that roce_headers::of() has taken; empty: nothing.
std::string flaw_of(std::span<const std::byte> frame, const roce_headers& h);

/// What hardware puts over an IPv4 header without options: the checksum field is left out.
std::uint16_t ipv4_checksum(const layouts::image<layouts::ipv4_header>& header);

/// ::ffff:a.b.c.d
std::array<std::byte, 16> mapped_gid(std::uint32_t address);
/// The address in a mapped GID; nothing: it is none.
std::optional<std::uint32_t> mapped_address(const std::byte* gid);
/// Is it the GID of a multicast group, of either family?
bool is_multicast_gid(const std::byte* gid);

}  // namespace freehca::model
