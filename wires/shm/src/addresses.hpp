// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The addresses of ports on Ethernet fabrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric_file.hpp"

namespace freehca::wires::shm {

/// MACs follow from LIDs. So a frame for a port that has left goes to nobody, even if its slot is
/// taken again. The upper half is a vendor's (00:02:c9, Mellanox).
inline constexpr std::uint64_t first_mac = 0x0002'c9f0'0000;
constexpr std::uint64_t mac_of_lid(std::uint16_t lid) {
  return first_mac + lid;
}
/// 0: the MAC is not of a fabric.
constexpr std::uint16_t lid_of_mac(std::uint64_t mac) {
  return mac >> 16 == first_mac >> 16 && (mac & 0xffff) < first_multicast_lid
             ? static_cast<std::uint16_t>(mac)
             : std::uint16_t{0};
}

ip_address address_of(const slot_record& record);
void set_address(slot_record& record, const ip_address& address);
std::vector<vlan_address> vlan_addresses_of(const slot_record& record);
void set_vlan_addresses(slot_record& record, const std::vector<vlan_address>& addresses);

/// The slot of the port that has the address on the VLAN, or on none; `slots`: none. Asks no
/// kernel, so it may be the slot of a port that has just died.
unsigned slot_of_address(const control_part& control, const vlan_address& address);

/// Whether the addresses of the request can be taken: true if none is required. False: `why` names
/// the port that has one of them, or says that there are too many. The caller has create_lock.
bool addresses_are_free(fabric_file& file, const join_request& how, std::string& why);
/// The address of the request, or one that no port has. The caller has create_lock.
ip_address choose_address(fabric_file& file, unsigned slot, const join_request& how);
/// Those addresses on VLANs of the request that no port has. The caller has create_lock.
std::vector<vlan_address> choose_vlan_addresses(fabric_file& file, const join_request& how);

}  // namespace freehca::wires::shm
