// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>
#include <vector>

namespace freehca::run {

/// Each function returns "" for a good value, otherwise what is wrong with it and what is right.

std::string check_fabric(const std::string& name);

/// "infiniband" or "roce".
std::string check_link(const std::string& name);

/// An IPv4 or IPv6 address that a port can have besides the link-local one of its MAC: no group,
/// and neither loopback nor "any".
std::string check_ip(const std::string& address);

/// VLAN=ADDRESS: a VLAN from 1 to 4094, and an address as check_ip() takes it.
std::string check_vlan(const std::string& value);
/// The first address that the list has twice, as text, or "". The list may have empty texts.
std::string address_twice(const std::vector<std::string>& addresses);

/// "vfio:" and the address of a PCI function.
std::string check_device(const std::string& device);

/// A PCI device number: 1 to 65534, or 0x1 to 0xfffe.
std::string check_part_id(const std::string& number);

/// A file that the program's process will write. The file may exist.
std::string check_output(const std::string& path);

}  // namespace freehca::run
