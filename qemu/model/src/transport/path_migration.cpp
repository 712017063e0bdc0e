// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The rules are those of IBTA vol. 1, 17.2.8, read through Linux hw/qib and hw/hfi1 (ruc.c:
// *_ruc_check_hdr, *_migrate_qp; rc.c: *_restart_rc) and sw/rdmavt/qp.c (rvt_modify_qp).
#include "transport/path_migration.hpp"

#include "link/link_codec.hpp"
#include "link/pkeys.hpp"
#include "ports/ports.hpp"
#include "queues/queue_pairs.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

using state = path_migration;

void set(queue_pair& qp, state s) {
  qp.context.set<&qpc::pm_state>(s);
}

}  // namespace

bool path_migration_machine::may_ask(const queue_pair& qp, state wanted, qp_state then) const {
  const state now = qp.migration();
  // Ethernet ports have none, and Linux asks for none there (hw/mlx4/qp.c mlx4_set_alt_path).
  if (!config_.offers(capability::path_migration) || layers_.ethernet(qp.way.port)) return false;
  switch (wanted) {
    case state::rearm:
      return now != state::armed && then == qp_state::rts;
    case state::migrated:
      return now != state::rearm;
    default:
      return false;
  }
}

bool path_migration_machine::comes_by(const path& asked, unsigned pkey_index,
                                      const transport_packet& v) const {
  std::optional<path> other;
  const path& way = links_.physical(asked, other);
  const ingress& from = v.ingress;
  if (!from.codec->by_global_route(from, way)) return false;
  const auto pkey = static_cast<std::uint16_t>(v.bth.get<&bth::pkey>());
  const std::uint16_t own_pkey = links_.pkey(from.port, pkey_index);
  if (!pkeys_match(pkey, own_pkey)) {
    rules_.because_of_drop("P_Key 0x%04x; wanted: 0x%04x, of index %u", unsigned{pkey},
                           unsigned{own_pkey}, pkey_index);
    links_.count_pkey_violation(from.port);
    return false;
  }
  const bool any_port = config_.profile().any_receive_port && layers_.ethernet(from.port);
  return any_port || from.codec->by_local_route(from, way);
}

bool path_migration_machine::admits(queue_pair& qp, const transport_packet& v) {
  const bool migrated = v.bth.get<&bth::migrated>();
  if (qp.migration() == state::armed && migrated) {
    const auto pkey_index = static_cast<unsigned>(qp.context.get<&alternate_path::pkey_index>());
    if (comes_by(qp.alternate, pkey_index, v)) return migrate(qp);
    if (!qp.migration_refused) pairs_.post_event(qp, event_type::path_migration_failed);
    qp.migration_refused = true;
    return false;
  }
  const auto pkey_index = static_cast<unsigned>(qp.context.get<&primary_path::pkey_index>());
  if (!comes_by(qp.way, pkey_index, v)) return false;
  if (qp.migration() == state::rearm && !migrated) {
    set(qp, state::armed);
    pairs_.touch(qp);
  }
  return true;
}

bool path_migration_machine::migrate(queue_pair& qp) {
  if (qp.migration() != state::armed) return false;
  const auto counter = qp.context.get<&primary_path::counter_index>();
  set_path<primary_path>(qp.context, path_of<alternate_path>(qp.context));
  qp.context.set<&primary_path::counter_index>(counter);
  set(qp, state::migrated);
  qp.refresh(layers_);
  pairs_.touch(qp);
  pairs_.post_event(qp, event_type::path_migrated);
  return true;
}

}  // namespace freehca::model
