// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <freehca/layouts/flow_rule.hpp>

#include "link/transport_packet.hpp"

namespace freehca::model {

/// What rules look at in a datagram.
struct flow {
  std::uint32_t qpn = 0;            ///< destination
  const std::byte* dgid = nullptr;  ///< 16 bytes; null: the packet has no GRH
  bool ipv4 = false;                ///< IP over InfiniBand; else what follows is not known
  std::uint32_t source = 0, destination = 0;
  std::optional<std::uint8_t> protocol;  ///< when the ports are there too: not in later fragments
  std::uint16_t source_port = 0, destination_port = 0;

  /// `came`: a datagram; its `rest` begins behind the BTH. It must outlive what is returned.
  static flow of(const transport_packet& came);
};

/// A rule of device-managed steering, decoded.
class flow_rule {
 public:
  static flow_rule read(const std::byte* from, std::size_t bytes);

  bool takes(const flow& f) const;
  /// Does it tell datagrams of IP over InfiniBand apart?
  bool looks_at_ip() const { return ipv4_.has_value(); }

  layouts::image<layouts::flow_rule_control> control;
  /// What is malformed, or asked for and not what an InfiniBand port steers by; null: nothing. Such
  /// a rule takes no packet.
  const char* malformed = nullptr;

  /// The one value that a packet must have for this rule, where there is one: by it the rule is
  /// found.
  struct key {
    enum class kind : std::uint8_t { none, dgid, qpn };
    kind what = kind::none;
    std::array<std::byte, 16> value{};
    auto operator<=>(const key&) const = default;

    static key of_dgid(const std::byte* dgid);
    static key of_qpn(std::uint32_t qpn);
  };
  key found_by() const;

 private:
  layouts::image<layouts::flow_header_infiniband> infiniband_;
  std::optional<layouts::image<layouts::flow_header_ipv4>> ipv4_;
  std::optional<layouts::image<layouts::flow_header_ports>> ports_;
};

}  // namespace freehca::model
