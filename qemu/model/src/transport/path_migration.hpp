// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/command_status.hpp>

#include "basis/configuration.hpp"
#include "basis/port_layers.hpp"
#include "basis/rule_book.hpp"
#include "link/transport_packet.hpp"
#include "queues/queue_pair.hpp"

namespace freehca::model {

class ports;
class queue_pairs;

/// Automatic path migration of connected queue pairs (IBTA vol. 1, 17.2.8): who asks to be armed
/// (rearm) is armed when the peer is heard to ask too (the migration bit clear), and moves to the
/// alternate path when the peer does (the bit set), when retries are over, or when the driver says
/// so.
class path_migration_machine {
 public:
  path_migration_machine(const configuration& config, const port_layers& layers, ports& links,
                         queue_pairs& pairs, rule_book& rules)
      : config_(config), layers_(layers), links_(links), pairs_(pairs), rules_(rules) {}

  /// May the driver ask for `wanted`, in a command after which the queue pair's state is `then`?
  bool may_ask(const queue_pair& qp, layouts::path_migration wanted, layouts::qp_state then) const;

  /// Does a packet come by the path of the queue pair, with its P_Key? Only such a one arms. A
  /// request to migrate is heard by the alternate path alone, and migrates; one that names another
  /// path is dropped, with an event for the first.
  /// Of what it does not admit the rule book is told the reason.
  bool admits(queue_pair& qp, const transport_packet& v);

  /// To the alternate path, with its event; false when not armed.
  bool migrate(queue_pair& qp);

 private:
  /// The order of the checks is qib's (ruc.c qib_ruc_check_hdr): global route, P_Key, local route
  /// and port (IBTA vol. 1, 9.6.1.5).
  bool comes_by(const path& asked, unsigned pkey_index, const transport_packet& v) const;

  const configuration& config_;
  const port_layers& layers_;
  ports& links_;
  queue_pairs& pairs_;
  rule_book& rules_;
};

}  // namespace freehca::model
