// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <optional>

#include "basis/adapter.hpp"
#include "link/packet.hpp"
#include "link/path.hpp"
#include "link/transport_packet.hpp"
#include "queues/queue_pair.hpp"
#include "saving/fields.hpp"
#include "transport/ipoib_offloads.hpp"

namespace freehca::model {

class drop_log;
class packet_sender;
class receive_queues;
struct transport_counters;
class work_completions;
class work_errors;

/// Unreliable datagrams: UD queue pairs, and the special queue pairs, whose sends carry headers
/// that software made.
class datagrams {
 public:
  datagrams(adapter& a, receive_queues& receives, work_completions& completions,
            work_errors& errors, transport_counters& counters, packet_sender& sender,
            drop_log& drops)
      : a_(a),
        receives_(receives),
        completions_(completions),
        errors_(errors),
        counters_(counters),
        sender_(sender),
        drops_(drops),
        offloads_(a.profile, *a.regions, a.rules, a.account) {}

  /// Where a packet of a request of any service goes; for headers that software made, by which
  /// port.
  path way_of(const queue_pair& qp, const send_request& r) const;
  /// Sends the packet of a request whose turn it is: a large send has many.
  std::optional<failure> send(queue_pair& qp, const send_request& r);

  /// A datagram for `qp`, a UD or special queue pair. `v.rest` begins behind the BTH.
  void receive(queue_pair& qp, transport_packet v);

 private:
  bool is_ethernet(unsigned port) const;
  std::optional<failure> send_addressed(queue_pair& qp, const send_request& r);
  std::optional<failure> send_prepared(queue_pair& qp, const send_request& r);
  /// The bytes of an MLX send are no packet: dropped, or refused where the adapter is strict.
  std::optional<failure> is_no_packet(const queue_pair& qp, const send_request& r, const packet& p);
  /// The index of the P_Key that admits the packet; nothing when none does.
  std::optional<unsigned> admit(const queue_pair& qp, unsigned port, std::uint16_t pkey) const;
  void place(queue_pair& qp, const transport_packet& v, const struct receive_report& report);
  adapter& a_;
  receive_queues& receives_;
  work_completions& completions_;
  work_errors& errors_;
  transport_counters& counters_;
  packet_sender& sender_;
  drop_log& drops_;
  ipoib_offloads offloads_;

 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {{"offloads_", "it has no state"}};
};

}  // namespace freehca::model
