// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/sa.hpp>
#include <freehca/layouts/smp.hpp>

#include "saving/fields.hpp"

namespace freehca::model {

/// The highest: a manager that a host starts stands by. no source: chosen
inline constexpr unsigned manager_priority = 15;

using gid_bytes = std::array<std::byte, 16>;
gid_bytes make_gid(std::uint64_t prefix, std::uint64_t guid);

/// One end port as the subnet manager has read it.
struct known_port {
  layouts::image<layouts::node_info> node;
  layouts::image<layouts::node_description> description;
  layouts::image<layouts::port_info> info;
  layouts::image<layouts::guid_info> guids;   ///< the first block
  layouts::image<layouts::pkey_table> pkeys;  ///< the first block

  std::uint16_t lid() const {
    return static_cast<std::uint16_t>(info.get<&layouts::port_info::lid>());
  }
  std::uint64_t guid() const { return node.get<&layouts::node_info::port_guid>(); }
  gid_bytes gid() const { return make_gid(info.get<&layouts::port_info::gid_prefix>(), guid()); }
  /// Does the port answer to this GID (its own, or an alias of its first block)?
  bool has_gid(const std::byte* gid) const;

  using saved = saving::fields<&known_port::node, &known_port::description, &known_port::info,
                               &known_port::guids, &known_port::pkeys>;
};

/// The subnet: what subnet administration answers from. The manager's own port is always part of
/// it; the managed port while it is known.
struct subnet_topology {
  known_port manager, managed;
  bool managed_known = false;

  std::vector<const known_port*> ports() const {
    std::vector<const known_port*> all{&manager};
    if (managed_known) all.push_back(&managed);
    return all;
  }
  const known_port* by_lid(std::uint64_t lid) const;
  const known_port* by_gid(const std::byte* gid) const;

  using saved = saving::fields<&subnet_topology::manager, &subnet_topology::managed,
                               &subnet_topology::managed_known>;
};

/// The rate of a port's link as paths tell it.
layouts::ib_rate rate_of(const known_port& p);

}  // namespace freehca::model
