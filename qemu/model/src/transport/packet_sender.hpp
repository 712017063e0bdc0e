// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <freehca/layouts/headers.hpp>

#include "basis/adapter.hpp"
#include "link/outgoing_packet.hpp"
#include "link/path.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

class answers;
class arrivals;
class queue_pairs;
class send_engine;
struct transport_counters;

/// The way out of the transport: packets to the port, and who waits for room there.
class packet_sender final : private work_receiver {
 public:
  packet_sender(adapter& a, queue_pairs& pairs, send_engine& sends, answers& replies,
                model::arrivals& arrivals, transport_counters& counters)
      : a_(a),
        work_(a.work, "packet sender", *this),
        pairs_(pairs),
        sends_(sends),
        replies_(replies),
        arrivals_(arrivals),
        counters_(counters) {}

  /// Lays out a packet by `way`, as the link of its port wants it: `transport` gets its pad count
  /// there. The payload is to be written whole. Nothing: the port has no such address as `way`
  /// names for its near end, and the rule book was told which.
  std::optional<outgoing_packet> lay_out(const path& way, layouts::image<layouts::bth> transport,
                                         std::size_t extended_bytes,
                                         std::size_t payload_bytes) const;
  /// Sends a packet: into the port, as VIRT_PORT_MAP maps it, or straight back when the sender
  /// forces the loop.
  void transmit(const path& asked, outgoing_packet out);
  /// Must `qp` wait with a packet by that path? Then it goes on when the port has room, and keeps
  /// its turn until it need not wait: of the queue pairs that are woken together the one that has
  /// waited longest goes first.
  bool held_up(queue_pair& qp, const path& asked);
  /// It waits no more.
  void forget(queue_pair& qp);
  void port_has_room(unsigned port);
  void clear();

 private:
  using waiter = std::pair<std::uint64_t, std::uint32_t>;  ///< its turn, and number in the table
  void wake_senders(unsigned port);

  // number: the port. Of a looped packet, value: whether the port was an Ethernet port.
  enum work : std::uint8_t { looped_packet, wake };
  void run_item(work_item& what) override;

  adapter& a_;
  work_source work_;
  queue_pairs& pairs_;
  send_engine& sends_;
  answers& replies_;
  model::arrivals& arrivals_;
  transport_counters& counters_;
  std::array<std::set<waiter>, 2> held_up_;  ///< by port
  std::array<std::set<waiter>, 2> woken_;    ///< those that were, and are to go on
  std::array<bool, 2> room_again_{};  ///< there was room again while some of `woken_` were left
  std::uint64_t last_turn_ = 0;

 public:
  using saved = saving::fields<&packet_sender::held_up_, &packet_sender::woken_,
                               &packet_sender::room_again_, &packet_sender::last_turn_>;
  static constexpr saving::unsaved_member unsaved[] = {{"work_", "set at construction"}};
};

}  // namespace freehca::model
