// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include <freehca/layouts/flow_rule.hpp>

#include "frames/frame_view.hpp"
#include "saving/fields.hpp"
#include "steering/rule_headers.hpp"

namespace freehca::model {

/// The headers that a frame must have for a steering rule of an Ethernet port.
class frame_conditions {
 public:
  /// Takes all headers. Null, or what is malformed.
  const char* read(rule_headers from);
  bool hold(const frame_view& v) const;
  friend bool operator==(const frame_conditions&, const frame_conditions&) = default;
  bool none() const { return outer_.empty() && !vxlan_; }

  /// The one destination MAC that fits, where there is one.
  std::optional<std::uint64_t> destination() const;
  /// The one connection over IPv4 that fits, where there is one.
  struct connection {
    std::uint32_t source, destination;
    port_protocol protocol;
    std::uint16_t source_port, destination_port;
  };
  std::optional<connection> one_connection() const;
  static std::optional<connection> connection_of(const frame_view& v);

 private:
  /// From an Ethernet header on, each of them if it is wanted.
  struct headers {
    std::optional<layouts::image<layouts::flow_header_ethernet>> link;
    std::optional<layouts::image<layouts::flow_header_ipv4>> ipv4;
    std::optional<layouts::image<layouts::flow_header_ports>> ports;

    const char* read(rule_headers& from);
    bool fit(const frame_view& v, const frame_headers& h) const;
    bool empty() const { return !link && !ipv4 && !ports; }
    friend bool operator==(const headers&, const headers&) = default;

    using saved = saving::fields<&headers::link, &headers::ipv4, &headers::ports>;
  };

  headers outer_, inner_;
  std::optional<layouts::image<layouts::flow_header_vxlan>> vxlan_;

 public:
  using saved = saving::fields<&frame_conditions::outer_, &frame_conditions::inner_,
                               &frame_conditions::vxlan_>;
};

}  // namespace freehca::model
