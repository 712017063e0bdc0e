// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/qpc.hpp>

#include "qp_transitions.hpp"
#include "queue_pair.hpp"
#include "transport.hpp"

namespace freehca::model {

class command_checks;

/// The commands on queue pairs: transitions, QUERY_QP, CONF_SPECIAL_QP.
class qp_commands {
 public:
  explicit qp_commands(transport::parts& t);

 private:
  layouts::command_status modify(command& c, const qp_transition& transition);
  layouts::command_status create(command& c, const layouts::image<layouts::qpc>& given);
  bool has_service(layouts::qp_service s) const;
  static void check_state(command_checks& is, std::uint32_t qpn, const queue_pair* qp,
                          layouts::qp_state wanted);
  void check_port(command_checks& is, const char* field, unsigned port) const;
  /// The place, the size and the doorbells of a new queue pair's queues.
  void check_new(command_checks& is, queue_pair& qp) const;
  /// What a transition has given the queue pair, where `mask` chose it.
  void check(command_checks& is, const queue_pair& qp, std::uint32_t mask) const;
  layouts::command_status to_error(command& c);
  layouts::command_status to_reset(command& c);
  layouts::command_status query(command& c);
  layouts::command_status configure_special(command& c);
  /// The driver has set the migration state, which was `before`.
  void ask_migration(queue_pair& qp, layouts::path_migration before);
  void entered(queue_pair& qp, const qp_transition& transition, const command& c);
  transport::parts& t_;
};

}  // namespace freehca::model
