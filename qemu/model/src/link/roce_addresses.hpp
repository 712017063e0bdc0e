// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "link/roce_address.hpp"

namespace freehca::model {

/// The addresses of Ethernet ports, as the RoCE codec asks for them: the tables that SET_PORT has
/// filled. A port that is InfiniBand, or is not there, has none.
class roce_addresses {
 public:
  virtual ~roce_addresses() = default;
  /// Nothing: the entry is empty (zero), or there is none.
  virtual std::optional<roce_address> gid_at(unsigned port, unsigned index) const = 0;
  /// Has the GID table an entry of this GID and version?
  virtual bool own_gid(unsigned port, const std::byte* gid, roce_version version) const = 0;
  /// Has it any entry of this version?
  virtual bool speaks(unsigned port, roce_version version) const = 0;
  virtual std::optional<std::uint64_t> mac_at(unsigned port, unsigned index) const = 0;
  virtual bool own_mac(unsigned port, std::uint64_t mac) const = 0;
  virtual std::optional<std::uint16_t> vlan_at(unsigned port, unsigned index) const = 0;
  /// UDP's destination port of RoCE v2; nothing where SET_PORT has not switched v2 on.
  virtual std::optional<std::uint16_t> v2_udp_port(unsigned port) const = 0;
};

}  // namespace freehca::model
