// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include "entries.hpp"

namespace freehca::recorder {

/// What tells whose card it is: learnt from the fields that have it, replaced wherever it stands.
/// The same value gets the same replacement. Values within 15 of one another keep their distance,
/// as those of one card have it (hardware.md).
class identities {
 public:
  /// The node GUID and the first MAC address that a replaced recording has.
  static constexpr std::uint64_t node_guid = 0x02f0ee0300c0de00, mac = 0x02f0eec0de01;

  /// Learns from a mailbox of a command; blanks the fields that are text about the owner.
  void learn_mailbox(const entry& command, bool output, bytes& mailbox);
  /// Learns from the datagram segment of a send WQE.
  void learn_address(const std::byte* segment);

  /// Replaces in the data and the numbers of all records.
  void replace(std::vector<entry>& in) const;

  /// The node's own GUID and the MAC address of port 1 as they were; 0: not learnt.
  std::uint64_t own_guid() const { return own_guid_; }
  std::uint64_t own_mac() const { return own_mac_; }

 private:
  void learn_guid(std::uint64_t guid);
  void learn_gid(const std::byte* gid);
  void learn_mac(std::uint64_t mac);
  void learn_unicast_mac(std::uint64_t mac);
  void learn_prefix(std::uint64_t prefix);
  void learn_mad(bytes& mailbox);
  void learn_group(const bytes& mailbox);
  std::vector<std::uint64_t> guids_, macs_;  // in the order in which they were learnt
  std::uint64_t own_guid_ = 0, own_mac_ = 0;
};

}  // namespace freehca::recorder
