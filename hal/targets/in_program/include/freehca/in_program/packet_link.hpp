// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace freehca::in_program {

/// What joins the adapter's port to other adapters. Packets of an InfiniBand port are InfiniBand
/// packets, from the first byte of the LRH to the last byte of the VCRC. Those of an Ethernet port
/// are frames, from the destination MAC on, without the FCS. The adapter calls send(),
/// has_room_again(), receive() and release() on one thread at a time; pending(), sleep() and wake()
/// on any thread.
class packet_link {
 public:
  virtual ~packet_link() = default;

  /// Sends a packet to the port or the group that its DLID or destination MAC names. A packet to
  /// nobody is dropped. Returns false if there is no room. The adapter then keeps the packet.
  virtual bool send(const std::byte* from, std::size_t bytes) = 0;
  /// After send() has returned false: whether another attempt is worth it.
  virtual bool has_room_again() = 0;
  /// The next packet that has arrived, lent until release(). Empty: there is none.
  virtual std::span<const std::byte> receive() = 0;
  virtual void release() = 0;

  /// Whether a packet has arrived, or has_room_again() may be true.
  virtual bool pending() const = 0;
  /// Blocks the calling thread until a packet or room arrives, until wake(), or for at most
  /// `nanoseconds`. One thread at a time.
  virtual void sleep(std::uint64_t nanoseconds) = 0;
  /// Ends a sleep() of another thread of this process.
  virtual void wake() = 0;
};

}  // namespace freehca::in_program
