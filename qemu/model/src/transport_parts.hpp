// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstdint>
#include <set>

#include "adapter.hpp"
#include "answers.hpp"
#include "blueflame_registers.hpp"
#include "datagrams.hpp"
#include "error_watch.hpp"
#include "flow_steering.hpp"
#include "group_delivery.hpp"
#include "multicast_groups.hpp"
#include "packet_census.hpp"
#include "path_migration.hpp"
#include "qp_commands.hpp"
#include "queue_pairs.hpp"
#include "receive_queues.hpp"
#include "requester.hpp"
#include "responder.hpp"
#include "send_engine.hpp"
#include "shared_receive_queues.hpp"
#include "transport.hpp"
#include "work_completions.hpp"
#include "work_errors.hpp"

namespace freehca::model {

/// The rooms of the transport. Each keeps a reference to the whole and uses the others' public
/// functions.
struct transport::parts {
  explicit parts(adapter& whole);

  /// Sends a packet: into the port, or straight back when the sender forces the loop.
  void transmit(const path& way, packet p);
  void receive(unsigned port, const packet& p);
  /// To one queue pair.
  void deliver(queue_pair& qp, unsigned port, const packet_view& v);
  /// Must `qp` wait with a packet by `way`? Then it goes on when the port has room.
  bool held_up(const queue_pair& qp, const path& way);
  void port_has_room(unsigned port);
  /// A packet that came by `port` goes no further: counted, and told why.
  [[gnu::format(printf, 4, 5)]] void drop(unsigned port, const packet_view& v, const char* format,
                                          ...);
  void clear();

  adapter& a;
  queue_pairs pairs;
  shared_receive_queues shared;
  receive_queues receives;
  work_completions completions;
  work_errors errors;
  error_watch watch;
  send_engine sends;
  requester requests;
  responder responses;
  answers replies;
  path_migration_machine migration;
  model::datagrams datagrams;
  multicast_groups groups;
  flow_steering rules;
  group_delivery deliveries;
  blueflame_registers blueflames;
  qp_commands commands;

  // counters
  packet_census census{a.counters};
  std::uint64_t packets_sent = 0, packets_received = 0, packets_dropped = 0;
  std::uint64_t retries = 0, datagrams_dropped = 0;
  counter_by_port rnr_waits, duplicates, timeouts, sequence_naks, out_of_sequence, rnr_naks_sent;

 private:
  void wake_senders(unsigned port);

  std::array<std::set<std::uint32_t>, 2> held_up_;  ///< by port: numbers in the table
  std::array<std::set<std::uint32_t>, 2> woken_;    ///< those that were, and are to go on
};

}  // namespace freehca::model
