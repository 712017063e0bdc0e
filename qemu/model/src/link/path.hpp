// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <freehca/layouts/qpc.hpp>

namespace freehca::model {

/// How a packet leaves, as an address handle or a queue pair's context has it: port, service level,
/// and whom it reaches. The port's link codec knows what of it stands in which header.
struct path {
  unsigned port = 1, sl = 0;
  bool fixed_port = false;     ///< whatever VIRT_PORT_MAP says
  std::uint8_t path_bits = 0;  ///< of the source LID
  std::uint16_t dlid = 0;
  bool force_loopback = false;
  std::uint8_t counter = 0;  ///< the one by index in which its packets count
  bool global = false;  ///< carries a GRH, as packets of Ethernet always do: the fields that follow
  unsigned sgid_index = 0;
  std::uint8_t hop_limit = 0, traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::array<std::byte, 16> dgid{};

  // Ethernet alone.
  std::uint64_t dmac = 0;
  unsigned smac_index = 0;
  std::optional<unsigned> vlan_index;      ///< it is tagged, with the VLAN of this entry ...
  unsigned priority = 0;                   ///< ... and this priority
  unsigned queue_priority = 0;             ///< of the schedule queue: in which class it waits
  std::optional<std::uint16_t> vlan_tag;   ///< it is tagged with this
  std::optional<layouts::roce_mode> roce;  ///< nothing: as the entry of its source GID says
  std::uint16_t udp_source_port = 0;
};

}  // namespace freehca::model
