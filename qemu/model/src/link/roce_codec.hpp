// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "basis/rule_book.hpp"
#include "link/link_codec.hpp"
#include "link/packet_buffers.hpp"
#include "link/roce_addresses.hpp"
#include "link/roce_headers.hpp"

namespace freehca::model {

/// Ethernet links: Ethernet header, VLAN tag, and a GRH (v1), or UDP over IPv4 or IPv6 (v2), then
/// the BTH. A packet's bytes are the frame from the destination MAC to the padding.
class roce_codec final : public link_codec {
 public:
  roce_codec(rule_book& rules, const roce_addresses& own, packet_buffers& buffers)
      : rules_(rules), own_(own), buffers_(buffers) {}

  std::optional<outgoing_packet> wrap(const path& way, layouts::image<layouts::bth> transport,
                                      std::size_t extended_bytes,
                                      std::size_t payload_bytes) const override;

  std::optional<transport_packet> unwrap(unsigned port, const packet& p) const override;
  std::string why_not(const packet& p) const override;

  bool from_own_port(const ingress& from) const override;
  bool by_global_route(const ingress& from, const path& way) const override;
  bool by_local_route(const ingress& from, const path& way) const override;
  std::string sender(const ingress& from) const override;
  void put_addresses(const ingress& from, bool datagram,
                     layouts::image<layouts::cqe>& e) const override;

  std::size_t prepared_bytes_max() const override;
  prepared_verdict finish(const prepared_send& by, outgoing_packet& out) const override;

 private:
  /// What a packet has in front of its BTH, from the tables of its port.
  struct near_end {
    std::array<std::byte, 16> gid{};
    roce_form form = roce_form::v1;
    std::uint64_t mac = 0;
    std::optional<std::uint16_t> tag;
  };
  /// Nothing: an entry that `way` names is empty, and the rule book was told which.
  std::optional<near_end> near_end_of(const path& way) const;
  /// GID and form alone.
  std::optional<near_end> near_gid(const path& way) const;
  std::uint16_t udp_port(unsigned port) const;

  rule_book& rules_;
  const roce_addresses& own_;
  packet_buffers& buffers_;
};

}  // namespace freehca::model
