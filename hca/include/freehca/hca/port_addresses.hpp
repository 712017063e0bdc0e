// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The tables of an Ethernet port: MACs, VLANs, and GIDs with their types.
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/atomics.hpp>
#include <freehca/layouts/set_port.hpp>

#include <freehca/hca/ethernet/port_modification.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// No VLAN: frames have no tag. As an entry of port_addresses::vlans: an empty entry.
inline constexpr std::uint16_t no_vlan = 0xffff;

inline constexpr std::uint64_t most_mac = (std::uint64_t{1} << 48) - 1;
/// True if the first byte of the address has the bit of groups (IEEE 802.3, I/G).
constexpr bool is_multicast_mac(std::uint64_t mac) {
  return (mac >> 40 & 1) != 0;
}

/// The packets of a GID. v2_ipv4 is of a GID that stands for an IPv4 address.
enum class gid_type : std::uint8_t { none, v1, v2_ipv6, v2_ipv4 };

enum class roce_version : std::uint8_t { v1, v2 };

/// An entry of the GID table. A GID of zeros is an empty entry.
struct port_gid {
  gid address{};
  roce_version version = roce_version::v1;
  friend constexpr bool operator==(const port_gid&, const port_gid&) = default;
};

/// Returns the GID of an IPv4 address: ::ffff:a.b.c.d (Linux 6.1 ipv6_addr_set_v4mapped). The most
/// significant byte of `address` is `a`. The GID of an IPv6 address is the address itself.
gid gid_of_ipv4(std::uint32_t address);
bool is_ipv4(const gid& g);
/// True for groups: ff00::/8. A GID of an IPv4 group, 224.0.0.0/4, is one too.
bool is_multicast(const gid& g);
/// Returns the GID of the link-local IPv6 address that belongs to a MAC (RFC 4291, appendix A).
gid gid_of_mac(std::uint64_t mac);

/// The addresses of a port. Their places in the lists are their indexes in the tables of the
/// device. Contexts of queue pairs have such indexes. So an address in use must keep its place: the
/// place of an address that is removed becomes an empty entry.
struct port_addresses {
  /// Numbers of 48 bits, the first byte of the address the most significant. 0: an empty entry. At
  /// most 128.
  const std::uint64_t* macs = nullptr;
  unsigned mac_entries = 0;
  const std::uint16_t* vlans = nullptr;  ///< 0 to 4094, or no_vlan. At most 126.
  unsigned vlan_entries = 0;
  const port_gid* gids = nullptr;  ///< at most 128 and port_attributes::gid_table_length
  unsigned gid_entries = 0;
};

/// What the driver knows of the tables of a port. The control owner writes, any thread reads. A
/// path that another thread writes while the tables change may be checked against either.
class port_address_tables {
 public:
  static constexpr unsigned most_vlans =
      layouts::set_port_vlan_entries - layouts::set_port_vlan_first;

  gid_type gid(unsigned index) const {
    return index < layouts::set_port_gid_entries ? gids_[index].load(relaxed) : gid_type::none;
  }
  bool has_mac(unsigned index) const {
    return index < layouts::set_port_mac_entries && macs_[index].load(relaxed);
  }
  /// Returns the index of the VLAN in the table of the device, or 0 if it is not there.
  unsigned vlan_index(std::uint16_t vlan) const;
  /// Returns the VLAN at an index in the table of the device, or no_vlan.
  std::uint16_t vlan_at(unsigned index) const;

  void forget();
  void set_macs(const port_addresses& to);
  void set_vlans(const port_addresses& to);
  void set_gids(const port_addresses& to);

 private:
  static constexpr auto relaxed = std::memory_order::relaxed;
  atomics::atomic<bool> macs_[layouts::set_port_mac_entries] = {};
  atomics::atomic<std::uint16_t> vlans_[most_vlans] = {};  // the VLAN plus 1; 0: empty
  atomics::atomic<gid_type> gids_[layouts::set_port_gid_entries] = {};
};

/// Writes the tables of an Ethernet port of a device that is up, each of them whole. On a device
/// with RoCE v2 it also sets the UDP port of RoCE v2 (4791, for all ports) and permits v2 on the
/// port. The port may be closed. The caller owns the operation. The lists stay unchanged until the
/// operation is done. See port_modification.
///
/// Outcomes besides those of the commands: driver_error::bad_argument (no such port, too many
/// entries, an address that is no unicast MAC, no VLAN or no unicast GID, an address that the list
/// has twice: device::refused() names it), ::unsupported (not an Ethernet port, or a GID whose
/// version the device does not have), ::bad_state (the device is not up), ::busy (another operation
/// works on the port, or the port is in doubt), ::cancelled, transport_error::timeout. Each table
/// is written by one command, in the order MACs, VLANs, GIDs. A table whose command was refused or
/// not sent keeps its entries. If a command was not answered, the port is in doubt until the late
/// answer or a reset, and its tables count as empty until they are written again.
///
/// Sources: Linux 6.1 port.c mlx4_set_port_mac_table, mlx4_set_port_vlan_table; hw/mlx4/main.c
/// mlx4_ib_update_gids; fw.c mlx4_config_roce_v2_port; docs/hardware-roce.md.
class set_port_addresses : public port_modification {
 public:
  set_port_addresses() = default;
  ~set_port_addresses() { drop(); }

  /// Ports count from 1.
  void start(device& adapter, unsigned port, const port_addresses& to);

 private:
  enum class step : std::uint8_t { udp_port, version, macs, vlans, gids };

  status check() const;
  bool has_v2() const;
  void send_table();
  void put_gids();
  static void advance(stepper& self, status outcome) noexcept;

  step step_ = step::udp_port;
  port_addresses to_;
  std::byte mailbox_[layouts::set_port_gid_entries * layouts::set_port_roce_addr_entry::bytes];
};

}  // namespace freehca
