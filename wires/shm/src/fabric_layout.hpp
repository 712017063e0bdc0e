// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The bytes of a fabric's file: a control part that each process maps whole, and a ring for each
// ordered pair of ports, which is mapped when the pair first talks. Pages that were never written
// take no memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <freehca/wires_shm/fabric_port.hpp>

namespace freehca::wires::shm {

inline constexpr unsigned slots = fabric_port::most_ports;
inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t ring_bytes = 1u << 20;

/// The file begins with these characters: "freehca" and a zero.
inline constexpr std::uint64_t file_magic = 0x0061'6368'6565'7266;
/// Changes with each change of this header.
inline constexpr std::uint32_t file_version = 3;

/// The bytes of the file whose record locks mean something. They are the same in each version.
/// create_lock is held by a process that joins or leaves. A live slot holds first_slot_lock + slot.
inline constexpr off_t create_lock = 0;
inline constexpr off_t first_slot_lock = 1;

inline constexpr std::uint16_t first_multicast_lid = 0xc000;
inline constexpr std::uint16_t last_multicast_lid = 0xfffe;

/// Where a ring's bytes begin and end. Producer and consumer have a line of their own.
struct ring_control {
  alignas(line_bytes) std::atomic<std::uint64_t> head;  ///< a ring_word; the producer writes it
  std::atomic<std::uint32_t> wants_room;  ///< not 0: the producer waits; the consumer clears it
  alignas(line_bytes) std::atomic<std::uint64_t> tail;  ///< a ring_word; the consumer writes it
};

/// An address on a VLAN. Without an address: an empty entry.
struct vlan_record {
  std::atomic<std::uint64_t> address[2];  ///< as slot_record::address
  std::atomic<std::uint32_t> vlan;
};

struct slot_record {
  /// Odd: the slot is taken. It grows when a port takes the slot and when the port leaves.
  alignas(line_bytes) std::atomic<std::uint32_t> life;
  std::atomic<std::uint32_t> lid;
  std::atomic<std::int32_t> process;
  std::atomic<char> program[32];  ///< ends with a zero, unless a peer has overwritten it
  /// The halves of the IP address on an Ethernet fabric, each most significant byte first.
  std::atomic<std::uint64_t> address[2];
  vlan_record vlans[fabric_port::most_vlan_addresses];
  /// A bit for each slot that has sent something to this one.
  alignas(line_bytes) std::atomic<std::uint64_t> talkers;
  alignas(line_bytes) std::atomic<std::uint32_t> sleeping;  ///< not 0: a thread sleeps on `wakeups`
  std::atomic<std::uint32_t> wakeups;
};

/// A bit for each multicast LID.
struct group_set {
  std::atomic<std::uint64_t> words[(0x10000 - first_multicast_lid) / 64];
};

struct control_part {
  std::atomic<std::uint64_t> magic;  ///< written last
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint32_t> link;      ///< a link_layer
  std::atomic<std::uint32_t> next_lid;  ///< where the search for a free LID begins
  alignas(page_bytes) slot_record slot[slots];
  std::atomic<std::uint8_t> slot_of_lid[first_multicast_lid];  ///< slot + 1, or 0
  group_set groups[slots];
  alignas(page_bytes) ring_control rings[slots][slots];  ///< consumer, producer
};

inline constexpr std::size_t control_bytes = sizeof(control_part);
inline constexpr off_t file_bytes = static_cast<off_t>(control_bytes + ring_bytes * slots * slots);
static_assert(control_bytes % page_bytes == 0);
static_assert(sizeof(off_t) == 8, "a fabric's file is longer than 4 GiB");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline off_t ring_offset(unsigned consumer, unsigned producer) {
  return static_cast<off_t>(control_bytes +
                            (std::size_t{consumer} * slots + producer) * ring_bytes);
}

}  // namespace freehca::wires::shm
