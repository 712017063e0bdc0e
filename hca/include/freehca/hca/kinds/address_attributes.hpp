// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/status.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/queues/address.hpp>

#include <freehca/hca/capabilities.hpp>
#include <freehca/hca/objects/handle.hpp>
#include <freehca/hca/port_addresses.hpp>
#include <freehca/hca/ports.hpp>

namespace freehca {

/// The path to the peer on InfiniBand. If `global` is true, packets have a GRH, as between subnets.
struct infiniband_path {
  unsigned port = 1;
  std::uint16_t dlid = 0;
  std::uint8_t sl = 0;
  std::uint8_t path_bits = 0;    ///< of the source LID
  std::uint8_t static_rate = 0;  ///< layouts::ib_rate; 0: the rate of the port
  bool force_loopback = false;
  bool global = false;
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  gid dgid{};
};

/// The path to the peer by RoCE. The type of the port's GID at `sgid_index` decides between RoCE v1
/// and v2, and between IPv4 and IPv6. The port's tables have the GID, the MAC and the VLAN
/// (set_port_addresses).
struct roce_path {
  unsigned port = 1;
  std::uint64_t dmac = 0;        ///< destination MAC, see port_addresses
  std::uint16_t vlan = no_vlan;  ///< 0 to 4094
  std::uint8_t priority = 0;     ///< 0 to 7; without a VLAN, frames do not have it
  std::uint8_t static_rate = 0;  ///< layouts::ib_rate; 0: the rate of the port
  std::uint8_t sgid_index = 0;   ///< of the source GID
  /// Of the source MAC. Datagrams have the source MAC of their queue pair, not of their address
  /// handle.
  std::uint8_t mac_index = 0;
  std::uint8_t hop_limit = 64;     ///< or TTL; Linux 6.1 IPV6_DEFAULT_HOPLIMIT
  std::uint8_t traffic_class = 0;  ///< or TOS
  std::uint32_t flow_label = 0;    ///< 20 bits; not with IPv4
  gid dgid{};                      ///< destination GID; of an IPv4 address: gid_of_ipv4()
};

/// The port of a queue pair of frames (frame_queue_pair), which has no path to a peer. This
/// structure is for transitions of such queue pairs alone.
struct raw_ethernet_path {
  static constexpr std::uint8_t of_the_request = 0xff;
  unsigned port = 1;
  /// The priority of all tags that the device inserts, 0 to 7. The default is the priority that
  /// each request has (queues::frame_options).
  std::uint8_t priority = of_the_request;
};

class verbs;

/// The functions that write a roce_path, or a raw_ethernet_path. Only a program that names such a
/// path is linked with them.
struct roce_functions {
  /// As write_path() of an address vector.
  status (*vector)(verbs& in, const roce_path& path, bool to_groups_too,
                   layouts::image<layouts::address_vector>& to);
  /// Writes the fields of a path in a context that an address vector does not have.
  status (*context)(verbs& in, const roce_path& path, bool has_peer,
                    layouts::image<layouts::address_path>& to);
  /// Writes the fields of a context outside its path for a transition of queue pair `number`.
  /// Returns the optional fields (layouts::qp_optpar) that the transition has besides others.
  std::uint32_t (*transition)(verbs& in, const roce_path& path, layouts::qp_state to, bool has_peer,
                              std::uint32_t number, layouts::image<layouts::qpc>& context);
  /// Returns queues::address::vlan_and_mac. Marks the address vector of a path with a VLAN. Null:
  /// the path is for queue pairs of frames alone (queue_pair_service::path).
  std::uint64_t (*vlan_and_mac)(const roce_path& path, layouts::image<layouts::address_vector>& to);
};
extern const roce_functions write_roce, write_raw_ethernet;

/// The path to the peer: an infiniband_path or a roce_path. It must be of the port's link layer. Of
/// a queue pair of frames, it is a raw_ethernet_path.
class address_attributes {
 public:
  constexpr address_attributes(const infiniband_path& path = {}) : infiniband_(path) {}
  // By value: with a reference, g++ 12 warns of uninitialized padding if it inlines the caller.
  constexpr address_attributes(roce_path path, const roce_functions& write = write_roce)
      : roce_(path), write_(&write) {}
  constexpr address_attributes(const raw_ethernet_path& path)
      : roce_{.port = path.port, .priority = path.priority}, write_(&write_raw_ethernet) {}

  constexpr unsigned port() const { return is_roce() ? roce_.port : infiniband_.port; }
  constexpr void set_port(unsigned port) { (is_roce() ? roce_.port : infiniband_.port) = port; }
  /// Null if the path is of the other link layer.
  constexpr infiniband_path* infiniband() { return is_roce() ? nullptr : &infiniband_; }
  constexpr const infiniband_path* infiniband() const { return is_roce() ? nullptr : &infiniband_; }
  constexpr roce_path* roce() { return is_roce() ? &roce_ : nullptr; }
  constexpr const roce_path* roce() const { return is_roce() ? &roce_ : nullptr; }
  /// Null if the path is of InfiniBand.
  constexpr const roce_functions* write() const { return write_; }

 private:
  constexpr bool is_roce() const { return write_ != nullptr; }

  union {
    infiniband_path infiniband_;
    roce_path roce_;
  };
  const roce_functions* write_ = nullptr;
};

/// Checks that queue pairs and address handles can use the path's port. Error:
/// driver_error::bad_argument (attribute_id::port: the port does not exist; ::link_layer: the path
/// is not of the port's link layer; the value and the limit are the layouts::port_type of the path
/// and of the port).
status check_port(verbs& in, const address_attributes& path);

/// Writes the path as an address vector without port and protection domain. `to` has only zeros
/// before. Error: driver_error::bad_argument (a field is out of its range, the path is not allowed,
/// or the tables of the port have no such GID, MAC or VLAN). A multicast DLID, MAC or GID is
/// allowed only if `to_groups_too` is true (datagrams). A multicast DLID also needs a global path.
/// The caller has checked the port with check_port().
status write_path(verbs& in, const address_attributes& path, bool to_groups_too,
                  layouts::image<layouts::address_vector>& to);

/// Writes the path as the primary or the alternate path of a queue pair context, without P_Key
/// index, counter and timeout. `to` has only zeros before. Without `has_peer` (datagrams), only the
/// port is written, and on Ethernet the source MAC and the link type. Errors and preconditions are
/// those of the other write_path() without groups. The RoCE version is a field of the context.
status write_path(verbs& in, const address_attributes& path, bool has_peer,
                  layouts::image<layouts::address_path>& to);

/// Writes the destination of datagrams of queue pairs of the protection domain. `to` has only zeros
/// before. Errors: driver_error::stale_handle, and those of check_port() and write_path().
status write_address(verbs& in, pd_handle pd, const address_attributes& path, queues::address& to);

}  // namespace freehca
