// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace freehca::ibverbs_files {

/// One row of a port's GID table.
struct gid_facts {
  std::array<std::uint8_t, 16> raw{};  ///< network order
  std::string type = "IB/RoCE v1";     ///< text of gid_attrs/types/N; empty: no such file
  std::string network_device = {};     ///< text of gid_attrs/ndevs/N; empty: no such file
};

/// A file below `counters` or `hw_counters`.
struct counter_facts {
  std::string name;
  std::uint64_t value = 0;
};

struct port_facts {
  std::string state = "1: DOWN";               ///< "4: ACTIVE"
  std::string physical_state = "3: Disabled";  ///< "5: LinkUp"
  std::string rate;                            ///< "56 Gb/sec (4X FDR)"
  std::string link_layer = "InfiniBand";       ///< or "Ethernet"
  unsigned lid = 0;
  unsigned sm_lid = 0;
  unsigned lid_mask_count = 0;
  unsigned sm_sl = 0;
  std::uint32_t capability_mask = 0;
  std::vector<gid_facts> gids;
  std::vector<std::uint16_t> pkeys;
  std::vector<counter_facts> counters;
  std::vector<counter_facts> hardware_counters;
  std::string network_device = {};    ///< a folder in device/net; empty: none
  std::array<std::uint8_t, 6> mac{};  ///< of the network device
};

/// What the files of one device say.
struct device_facts {
  std::string name;         ///< as ibv_get_device_name(): the folder in /sys/class/infiniband
  std::string uverbs_name;  ///< "uverbs0": the file in /dev/infiniband
  std::uint64_t node_guid = 0;
  std::uint64_t system_image_guid = 0;
  unsigned vendor = 0;    ///< PCI vendor
  unsigned device = 0;    ///< PCI device; hca_type is "MT" with this number
  unsigned revision = 0;  ///< hw_rev and the PCI revision
  std::string firmware_version;
  std::string board_id;
  std::string node_description;
  std::string link_speed = "8.0 GT/s PCIe";  ///< device/current_link_speed
  unsigned link_width = 8;                   ///< device/current_link_width
  std::array<port_facts, 2> ports;
  unsigned port_count = 0;  ///< 1 or 2
};

/// The PCI address that the files show. No host has a device in this domain: it is above all that
/// firmware numbers, and below those of Linux's own domains.
inline constexpr const char* pci_address = "ffff:00:00.0";

/// Returns the facts as they are now. It is called once for each call of the program that names a
/// file of the tree, so it should be quick. Any thread may call it, at any time, without a lock of
/// the library's; signal handlers of the program must not name files of the tree. The result must
/// not change until the same thread calls it again; a thread-local object does that. What the
/// function itself opens is the system's. A std::exception becomes the errno ENOMEM of the call
/// that the program made.
using facts_source = const device_facts& (*)();

/// Sets the function that is called whenever a program names a file that may be the device's.
/// Without a source (nullptr, the initial state) all calls go to the system.
void set_facts_source(facts_source source) noexcept;

}  // namespace freehca::ibverbs_files
