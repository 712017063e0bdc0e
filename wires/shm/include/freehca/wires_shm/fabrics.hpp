// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include <freehca/wires_shm/fabric_port.hpp>

namespace freehca::wires {

/// A port on a fabric, for a listing.
struct fabric_member {
  unsigned slot = 0;
  std::uint16_t lid = 0;
  std::uint64_t mac = 0;  ///< of an Ethernet fabric
  ip_address address{};   ///< of an Ethernet fabric
  pid_t process = 0;      ///< in the process-ID namespace of the process itself
  std::string program;    ///< the program's short name, as the process wrote it
  std::vector<vlan_address> vlan_addresses{};
};

/// A fabric of this user, for a listing.
struct fabric_listing {
  std::string name;
  link_layer link = link_layer::infiniband;
  std::vector<fabric_member> members;  ///< empty: a killed process left the name
  std::string problem;                 ///< why the members cannot be read, or empty
};

/// The fabrics of this user on this machine, by name. Changes nothing, and waits for no other
/// process.
std::vector<fabric_listing> fabrics();
/// The same, of another folder.
std::vector<fabric_listing> fabrics_in(const std::string& folder);

}  // namespace freehca::wires
