// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <vector>

#include "entries.hpp"

namespace freehca::recorder {

/// Values that identify a card, such as GUIDs. They are learnt from the fields that have them, and
/// replaced at every place. Equal values get equal replacements. Values that differ by at most 15
/// keep their difference, as the values of one card do (hardware.md).
class identities {
 public:
  /// The node GUID and the first MAC address in a recording with replacements.
  static constexpr std::uint64_t node_guid = 0x02f0ee0300c0de00, mac = 0x02f0eec0de01;

  /// Learns from a command's mailbox, and blanks its fields with text about the card's user.
  void learn_mailbox(const entry& command, bool output, bytes& mailbox);
  /// Learns from the datagram segment of a send WQE.
  void learn_address(const std::byte* segment);

  /// Replaces the values in the data and the numbers of all records.
  void replace(std::vector<entry>& in) const;

  /// The original node GUID and MAC address of port 1; 0: not learnt.
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
