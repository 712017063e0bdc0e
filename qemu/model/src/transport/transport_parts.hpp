// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include "basis/adapter.hpp"
#include "queues/blueflame_registers.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/receive_queues.hpp"
#include "queues/shared_receive_queues.hpp"
#include "saving/fields.hpp"
#include "steering/steering.hpp"
#include "transport/answers.hpp"
#include "transport/arrivals.hpp"
#include "transport/datagrams.hpp"
#include "transport/drop_log.hpp"
#include "transport/error_watch.hpp"
#include "transport/frame_receiver.hpp"
#include "transport/frame_sender.hpp"
#include "transport/group_delivery.hpp"
#include "transport/packet_sender.hpp"
#include "transport/path_migration.hpp"
#include "transport/qp_commands.hpp"
#include "transport/requester.hpp"
#include "transport/responder.hpp"
#include "transport/send_engine.hpp"
#include "transport/transport.hpp"
#include "transport/transport_counters.hpp"
#include "transport/uar_looks.hpp"
#include "transport/work_completions.hpp"
#include "transport/work_errors.hpp"

namespace freehca::model {

/// The parts of the transport, put together. Each is handed the others that it needs; some of them
/// stand further down here, and are not used before all are made.
struct transport::parts {
  explicit parts(adapter& whole);
  void clear();

  adapter& a;
  transport_counters counters;
  drop_log drops;
  queue_pairs pairs;
  shared_receive_queues shared;
  receive_queues receives;
  blueflame_registers blueflames;
  model::steering steering;
  work_completions completions;
  work_errors errors;
  error_watch watch;
  path_migration_machine migration;
  packet_sender sender;
  answers replies;
  requester requests;
  responder responses;
  model::datagrams datagrams;
  frame_sender frames;
  frame_receiver received_frames;
  send_engine sends;
  uar_looks looks;
  group_delivery deliveries;
  model::arrivals arrivals;
  qp_commands commands;

  using saved =
      saving::fields<&parts::counters, &parts::pairs, &parts::shared, &parts::blueflames,
                     &parts::steering, &parts::errors, &parts::watch, &parts::sender,
                     &parts::replies, &parts::requests, &parts::datagrams, &parts::received_frames,
                     &parts::sends, &parts::looks, &parts::deliveries>;
  static constexpr saving::unsaved_member unsaved[] = {
      {"receives", "it has no state"},    {"drops", "it has no state"},
      {"completions", "it has no state"}, {"migration", "it has no state"},
      {"responses", "it has no state"},   {"frames", "it has no state"},
      {"arrivals", "it has no state"},    {"commands", "it has no state"}};
};

}  // namespace freehca::model
