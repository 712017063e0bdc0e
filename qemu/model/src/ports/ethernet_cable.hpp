// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "basis/adapter.hpp"
#include "link/link_fault_source.hpp"
#include "ports/ethernet_counters.hpp"

namespace freehca::model {

/// The sending half of an Ethernet port's cable. Unlike a cable of InfiniBand it has nothing to
/// tell of the other end: who is there is not known. Frames that find no room wait in a queue.
class ethernet_cable {
 public:
  /// What finds no place in the queue is counted in `counters`.
  ethernet_cable(adapter& a, ethernet_counters& counters, unsigned number);

  void send(std::vector<std::byte> bytes);
  /// Frames wait for room. When none does any more, packet_receiver::port_has_room() is called.
  bool full() const { return !waiting_.empty(); }
  void has_room();
  void set_faults(const link_faults& how) { faults_.set(how); }
  /// Nothing of what was to be sent will be; whoever waited goes on.
  void begin_anew();

 private:
  void release_held_back();
  void queue(std::vector<std::byte> bytes);
  void send_waiting();
  /// To environment::link_send; false: there is no room.
  bool put(std::span<const std::byte> bytes);

  adapter& a_;
  ethernet_counters& counters_;
  const unsigned number_;
  link_fault_source faults_{link_fault_source::resealing::never};
  std::vector<std::byte> held_back_;  ///< until the next frame has gone
  scheduler::ticket release_;
  bool full_ = false;  ///< link_send has no room
  std::deque<std::vector<std::byte>> waiting_;
  std::uint64_t waiting_bytes_ = 0;
};

}  // namespace freehca::model
