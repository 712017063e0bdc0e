// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The values that a program holds. They are small and can be copied freely. Each value names
// objects of its adapter. After these were destroyed, the value is stale
// (driver_error::stale_handle).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/assert.hpp>
#include <freehca/queues/requests.hpp>

#include <freehca/hca/kinds/memory_region.hpp>
#include <freehca/hca/kinds/queue_pair.hpp>

namespace freehca::easy {

/// The accesses that the peer may make to memory, or over a connection. The program itself can
/// always read and write the memory.
enum class rights : std::uint8_t {
  local = 0,
  remote_read = 1,
  remote_write = 2,
  remote_atomic = 4,
  all = 7,
};
constexpr rights operator|(rights a, rights b) {
  return static_cast<rights>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(rights all, rights one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}

/// Registered memory that both the program and the device can access.
struct memory {
  std::byte* host = nullptr;
  std::size_t bytes = 0;
  mr_handle region{};
  std::uint32_t key = 0;      ///< local and remote
  std::uint64_t address = 0;  ///< of the first byte, as work requests name it

  /// Returns the data entry for a work request of the program. It is a broken precondition if the
  /// part is not inside the memory. For such a part, and for a part of 2 GiB or more, every post
  /// refuses the entry with driver_error::bad_argument.
  queues::data_entry part(std::size_t offset, std::size_t length) const {
    const bool is_inside = offset <= bytes && length <= bytes - offset;
    FREEHCA_ASSERT(is_inside);
    return queues::entry_of(address + offset, is_inside ? length : ~std::uint64_t{0}, key);
  }
  /// Returns the address and key that the peer needs for its requests to this memory.
  queues::remote_memory remote(std::size_t offset = 0) const { return {address + offset, key}; }
};

/// The data that each side sends to the other by any means, see write() and read(). A value of 0 in
/// `mtu` or `pkey`, or a GID of zeros on InfiniBand, means that the peer did not give it.
struct peer {
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;   ///< of the first packet that the peer sends
  std::uint16_t lid = 0;   ///< of the peer, or of the router to a peer in another subnet
  freehca::gid gid{};      ///< named by packets on Ethernet and by packets from another subnet
  std::uint32_t qkey = 0;  ///< of datagrams to the peer
  layouts::ib_mtu mtu{};   ///< the largest packets that the peer takes
  std::uint8_t sl = 0;     ///< service level of the path to the peer; on Ethernet the priority
  std::uint16_t pkey = 0;  ///< partition of the peer
  gid_type type = gid_type::none;  ///< the packets on Ethernet; none: the peer is on InfiniBand
  std::uint16_t vlan = no_vlan;    ///< of frames on Ethernet
  std::uint64_t mac = 0;           ///< of the peer on Ethernet, see port_addresses
};

/// The bytes of a peer in the form of write(), in network byte order.
inline constexpr std::size_t peer_bytes = 44;
/// Writes the form of version 1. Error: driver_error::bad_argument. `where` is the attribute_id of
/// the value that read() would refuse.
status write(const peer& from, std::byte (&to)[peer_bytes]);
/// Reads what write() has written on any host. Changes `to` only if the status is ok. Errors:
/// driver_error::wrong_size (not peer_bytes), ::unsupported (no peer, or one of another version),
/// ::bad_argument (`where` is the attribute_id: a value is out of its range, or the link layer of
/// the peer does not have it).
status read(const std::byte* from, std::size_t bytes, peer& to);

/// Returns the path from one peer to the other on InfiniBand. The path has a GRH if the GIDs are of
/// different subnets.
infiniband_path path_between(unsigned port, const peer& from, const peer& to);
/// Returns the smaller of the MTUs of two peers. If a peer did not give its MTU, returns the other.
layouts::ib_mtu path_mtu_of(layouts::ib_mtu a, layouts::ib_mtu b);
/// True if both peers are members of one partition and not both are limited members (IBTA 10.9.3).
/// If a peer did not give its partition, it counts as a member.
bool share_partition(const peer& a, const peer& b);
/// Checks that the peers can reach each other: they share a partition, their GIDs have one type,
/// and their frames one VLAN. Error: driver_error::bad_argument, noted as attribute_id::link_layer
/// or ::vlan if it is not the partition.
status check_peers(const peer& from, const peer& to, refused_attribute& note);

/// The addresses of an Ethernet port.
struct ethernet_options {
  static constexpr unsigned most_addresses = 8;

  std::uint64_t mac = 0;                 ///< see port_addresses; 0: the MAC of the port
  const gid* addresses = nullptr;        ///< IPv6 addresses, and IPv4 addresses by gid_of_ipv4()
  unsigned address_entries = 0;          ///< 0: the link-local address of the MAC alone
  const std::uint16_t* vlans = nullptr;  ///< see port_addresses; until the operation is done
  unsigned vlan_entries = 0;
};

struct connection_options {
  unsigned port = 1;
  std::uint32_t sends = 64;  ///< outstanding at the same time, at least
  std::uint32_t receives = 64;
  unsigned entries = 4;  ///< most pieces of memory that a request may name
  std::uint32_t inline_bytes = 0;
  rights allowed = rights::all;  ///< of the peer, in memory that allows the same
  std::uint32_t qkey = 0x1ee7;   ///< of datagrams
  std::uint8_t sl = 0;           ///< service level by which the peer sends; Ethernet: the priority
  std::uint16_t pkey_index = 0;  ///< in the P_Key table of the port; Ethernet: 0
  // Ethernet. Both sides must have the same version, kind of address (IPv4 or IPv6) and VLAN.
  unsigned address = 0;  ///< the place in ethernet_options::addresses
  roce_version version = roce_version::v2;
  std::uint16_t vlan = no_vlan;
};

/// A queue pair with its own completion queue, for sends and receives.
struct connection {
  peer self;
  qp_handle pair{};
  cq_handle completions{};
  const verbs* objects = nullptr;  ///< of the adapter, which outlives the connection

  /// Posts a request of queues/requests.hpp, or a queues::receive_request. The device starts with
  /// the request at once. Outcomes: those of queues::sq and rq, and driver_error::stale_handle.
  template <class Request>
  status post(const Request& request) const {
    queue_pair* const queues = objects != nullptr ? objects->find(pair) : nullptr;
    if (queues == nullptr) return driver_error::stale_handle;
    if constexpr (std::is_same_v<Request, queues::receive_request>)
      return queues->rings.receive.post_and_ring(request);
    else return queues->rings.send.post_and_ring(request);
  }
  /// Takes completions that are there, at most `most`, for which no operation waits. Returns their
  /// number.
  unsigned poll(queues::work_completion* to, unsigned most) const {
    completion_queue* const queue = objects != nullptr ? objects->find(completions) : nullptr;
    return queue != nullptr ? queue->rings.poll(to, most) : 0;
  }
};

}  // namespace freehca::easy
