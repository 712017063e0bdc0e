// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace freehca::wires {

/// What the ports of a fabric exchange: InfiniBand packets, or Ethernet frames.
enum class link_layer : std::uint32_t { infiniband, ethernet };

/// An IPv6 address in network order. An IPv4 address is ::ffff:a.b.c.d.
using ip_address = std::array<std::uint8_t, 16>;
/// The usual text: 10.0.0.1 of an IPv4 address.
std::string text_of(const ip_address& address);

/// The `vlan` of an address that is on no VLAN.
inline constexpr std::uint16_t no_vlan = 0xffff;

/// An IP address of a port on a VLAN.
struct vlan_address {
  std::uint16_t vlan = no_vlan;  ///< 1 to 4094
  ip_address address{};
  friend bool operator==(const vlan_address&, const vlan_address&) = default;
};

/// How a port joins a fabric.
struct join_request {
  /// All ports of a fabric have one link layer: that of the first port.
  link_layer link = link_layer::infiniband;
  /// For Ethernet: the IP address of the port. Zeros: an address 10.0.0.x that no port has.
  ip_address address{};
  /// If another port has the address: false, the port gets an address 10.0.0.x instead; true, the
  /// port does not join. If another port has one of vlan_addresses: false, the port joins without
  /// it; true, the port does not join.
  bool address_is_required = true;
  /// For Ethernet: further addresses, at most fabric_port::most_vlan_addresses. Two ports may have
  /// one address on different VLANs.
  std::vector<vlan_address> vlan_addresses{};
};

/// Counts of the packets and rings that a port has discarded since it joined. All are 0 between
/// processes that behave.
struct fabric_faults {
  std::uint64_t rings_reset = 0;     ///< rings whose indices or lengths made no sense
  std::uint64_t bad_lengths = 0;     ///< packets given to send() that are too short or too long
  std::uint64_t without_memory = 0;  ///< packets dropped because memory for a ring was refused
};

/// A port of this process on a fabric: a file that joins the processes of one user on one machine.
/// Each ordered pair of ports has a ring for packets, which is made when the pair first talks. A
/// process may have several ports, on one fabric or on several.
///
/// Threads: one thread at a time calls send() and has_room_again(). One thread at a time calls
/// receive() and release(). One thread at a time calls sleep(). These may be three threads. Any
/// thread may call the other functions.
///
/// A peer may write anything into the file at any time. It can then lose, forge or delay packets,
/// but it cannot make this port leave its memory or loop for ever. Memory that the peer takes away
/// by truncating the file is an exception: the kernel answers an access with SIGBUS.
///
/// After fork() the port belongs to the parent alone: in the child it sends and receives nothing,
/// and the child's copy may be destroyed. The port lives as long as a record lock (fcntl) of the
/// process, which the kernel drops when the process ends, and when the process closes any
/// descriptor of the file. So no other part of a program may open the file.
class fabric_port {
 public:
  /// The greatest number of ports on one fabric.
  static constexpr unsigned most_ports = 64;
  static constexpr std::size_t most_vlan_addresses = 8;
  /// Bytes of the longest packet: a payload of 4096 bytes and 256 bytes for headers and CRCs.
  static constexpr std::size_t longest_packet = 4096 + 256;
  /// Bytes of the shortest packet: an LRH.
  static constexpr std::size_t shortest_packet = 8;
  /// Bytes of the shortest frame: two MACs and an EtherType.
  static constexpr std::size_t shortest_frame = 14;
  /// A sleep() that only wake(), a packet or room ends.
  static constexpr std::uint64_t no_timeout = ~std::uint64_t{0};

  /// Joins the fabric of this name (1 to 64 letters, digits, dots, dashes and underscores), which
  /// the first port makes. Null: `why` has the reason and the remedy. Waits for other processes
  /// that join or leave at the same moment, but no longer than ten seconds.
  static std::unique_ptr<fabric_port> join(const std::string& name, std::string& why,
                                           const join_request& how = {});
  /// The same, with the file in another folder (of a tmpfs).
  static std::unique_ptr<fabric_port> join_in(const std::string& folder, const std::string& name,
                                              std::string& why, const join_request& how = {});
  /// Leaves the fabric. The last port that leaves removes the file's name.
  ~fabric_port();
  fabric_port(const fabric_port&) = delete;
  fabric_port& operator=(const fabric_port&) = delete;

  /// This port's place in the file: less than most_ports.
  unsigned slot() const;
  /// The port's LID, 1 to 0xbfff. No other port of the fabric had it lately.
  std::uint16_t lid() const;
  /// The port's MAC on an Ethernet fabric, the first byte of the address the most significant. It
  /// is unique as the LID is.
  std::uint64_t mac() const;
  /// The port's IP address on an Ethernet fabric; zeros on an InfiniBand fabric.
  ip_address address() const;
  /// The port's addresses on VLANs.
  const std::vector<vlan_address>& vlan_addresses() const;
  /// The MAC of the port that has this IP address on the VLAN, or on none, this port included. 0:
  /// no port has it. Any thread.
  std::uint64_t mac_of(const ip_address& address, std::uint16_t vlan = no_vlan) const;

  /// Sends an InfiniBand packet, from the first byte of its LRH to the last byte of its VCRC, or an
  /// Ethernet frame, from its destination MAC on without the FCS. The DLID of the LRH (bytes 2 and
  /// 3, most significant first) routes a packet: a unicast LID to the port that has it, a multicast
  /// LID (0xc000 to 0xfffe) to each port that has joined the group, but not to this one. The
  /// destination MAC routes a frame: a unicast MAC to the port that has it, a group's MAC and the
  /// broadcast MAC to all ports, but never to this one. False: a ring is full, and the packet was
  /// sent to no port. Send it again when has_room_again() is true. A packet without a destination
  /// is dropped: true. So is a packet whose length is not between shortest_packet (of a frame:
  /// shortest_frame) and longest_packet, and a packet to a port that has taken nothing out of its
  /// full ring for a second: one stopped process must not stop the others.
  bool send(const std::byte* from, std::size_t bytes);
  /// After a send() that was false, true as soon as the ring that was full is half empty, or has
  /// lost its receiver. Each false send() is answered once with true.
  bool has_room_again();

  /// Joins or leaves a multicast group of an InfiniBand fabric. False: `mlid` is no multicast LID.
  bool join_group(std::uint16_t mlid);
  void leave_group(std::uint16_t mlid);

  /// The next packet that has arrived, in memory of the port that no peer can write. Empty: none.
  /// The same packet is returned until release().
  std::span<const std::byte> receive();
  /// Ends the use of the packet that receive() returned.
  void release();
  /// Whether a ring has bytes. False only if no packet has arrived since the one that is lent.
  bool pending() const;

  /// Returns when a packet arrives, when has_room_again() would become true, when wake() was called
  /// since the last sleep(), or after this time. May return sooner for no reason.
  void sleep(std::uint64_t nanoseconds);
  /// Ends the current sleep() of this port, or the next one if none is under way.
  void wake();

  fabric_faults faults() const;
  /// Whether send() would find a port for the packet. The packet has a permitted length.
  bool has_destination(const std::byte* packet) const;

  class parts;  ///< private to the library
  explicit fabric_port(std::unique_ptr<parts> own);

 private:
  std::unique_ptr<parts> own_;
};

}  // namespace freehca::wires
