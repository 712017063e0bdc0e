// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric_file.hpp"

namespace freehca::wires::shm {

/// A slot that a port of this process has taken.
struct membership {
  unsigned slot = 0;
  std::uint32_t life = 0;
  std::uint16_t lid = 0;
  link_layer link = link_layer::infiniband;
  ip_address address{};
  std::vector<vlan_address> vlan_addresses{};
};

/// Takes a free slot and writes its record. The caller has create_lock. False: `why` has the
/// reason.
bool take_membership(fabric_file& file, const join_request& how, membership& to, std::string& why);
/// Frees the slot. The caller has create_lock, or could not get it.
void end_membership(fabric_file& file, const membership& of);

/// Wakes the port of a slot if it sleeps. The caller has stored what the port is to find.
void wake_slot(control_part& control, unsigned slot);

}  // namespace freehca::wires::shm
