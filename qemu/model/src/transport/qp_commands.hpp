// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/qpc.hpp>

#include "basis/adapter.hpp"
#include "queues/queue_pair.hpp"
#include "transport/qp_transitions.hpp"

namespace freehca::model {

class blueflame_registers;
class error_watch;
class path_migration_machine;
class queue_pairs;
class send_engine;
class shared_receive_queues;
class uar_looks;
class work_errors;

class command_checks;

/// The commands on queue pairs: transitions, QUERY_QP, CONF_SPECIAL_QP.
class qp_commands {
 public:
  qp_commands(adapter& a, queue_pairs& pairs, shared_receive_queues& shared, work_errors& errors,
              error_watch& watch, send_engine& sends, path_migration_machine& migration,
              blueflame_registers& blueflames, const uar_looks& looks);

 private:
  layouts::command_status modify(command& c, const qp_transition& transition);
  layouts::command_status create(command& c, const layouts::image<layouts::qpc>& given);
  bool has_service(layouts::qp_service s) const;
  static void check_state(command_checks& is, std::uint32_t qpn, const queue_pair* qp,
                          layouts::qp_state wanted);
  void check_port(command_checks& is, const char* field, unsigned port) const;
  /// The place, the size and the doorbells of a new queue pair's queues.
  bool may_spread(const layouts::image<layouts::qpc>& given) const;
  void check_new(command_checks& is, queue_pair& qp) const;
  /// What a transition has given the queue pair, where `mask` chose it.
  void check(command_checks& is, const queue_pair& qp, std::uint32_t mask) const;
  /// Is there an entry whose doorbell never came, as far as doorbells are told of?
  void check_unrung(const queue_pair& qp) const;
  layouts::command_status to_error(command& c);
  layouts::command_status to_reset(command& c);
  layouts::command_status query(command& c);
  layouts::command_status update(command& c);
  layouts::command_status configure_special(command& c);
  /// The driver has set the migration state, which was `before`.
  void ask_migration(queue_pair& qp, layouts::path_migration before);
  void entered(queue_pair& qp, const qp_transition& transition, const command& c);
  adapter& a_;
  queue_pairs& pairs_;
  shared_receive_queues& shared_;
  work_errors& errors_;
  error_watch& watch_;
  send_engine& sends_;
  path_migration_machine& migration_;
  blueflame_registers& blueflames_;
  const uar_looks& looks_;
};

}  // namespace freehca::model
