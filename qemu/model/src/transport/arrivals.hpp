// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/adapter.hpp"
#include "link/packet.hpp"
#include "link/transport_packet.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

class datagrams;
class drop_log;
class group_delivery;
class path_migration_machine;
class queue_pairs;
class requester;
class responder;
class steering;
struct transport_counters;

/// The way into the transport: finds who gets a packet, and hands it to the state machine of that
/// queue pair's service.
class arrivals {
 public:
  arrivals(adapter& a, queue_pairs& pairs, model::steering& steering, group_delivery& deliveries,
           path_migration_machine& migration, model::datagrams& datagrams, requester& requests,
           responder& responses, transport_counters& counters, drop_log& drops)
      : a_(a),
        pairs_(pairs),
        steering_(steering),
        deliveries_(deliveries),
        migration_(migration),
        datagrams_(datagrams),
        requests_(requests),
        responses_(responses),
        counters_(counters),
        drops_(drops) {}

  /// A packet that came by `port`.
  void receive(unsigned port, const packet& p);
  /// To one queue pair.
  void deliver(queue_pair& qp, const transport_packet& v);
  /// May a queue pair that is not connected have what came by `port`?
  bool takes_from(const queue_pair& qp, unsigned port) const;

 private:
  /// The special queue pair of that well-known number for what came by `port`; null: there is none.
  queue_pair* special(unsigned port, std::uint32_t number) const;

  adapter& a_;
  queue_pairs& pairs_;
  model::steering& steering_;
  group_delivery& deliveries_;
  path_migration_machine& migration_;
  model::datagrams& datagrams_;
  requester& requests_;
  responder& responses_;
  transport_counters& counters_;
  drop_log& drops_;
};

}  // namespace freehca::model
