// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>

namespace freehca::layouts {

/// The LID-routed SubnSet(PortInfo) by which a subnet manager gives a port its attributes (IBTA
/// vol. 1, 14.2.5.6). `port` counts from 1. The caller sends it, by MAD_IFC to its own agent.
inline image<smp> set_port_info(const image<port_info>& to, std::uint32_t port) {
  image<smp> made;
  made.set<&smp::base_version>(mad_base_version)
      .set<&smp::mgmt_class>(mad_class::subnet_lid_routed)
      .set<&smp::class_version>(1)
      .set<&smp::method>(mad_method::set)
      .set<&smp::attribute_id>(static_cast<std::uint16_t>(smp_attribute::port_info))
      .set<&smp::attribute_modifier>(port)
      .set_bytes<&smp::data>(to.data());
  return made;
}

}  // namespace freehca::layouts
