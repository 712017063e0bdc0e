// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The rules are those of IBTA vol. 1, 17.2.8, read through Linux hw/qib and hw/hfi1 (ruc.c: *_ruc_check_hdr,
// *_migrate_qp; rc.c: *_restart_rc) and sw/rdmavt/qp.c (rvt_modify_qp).
#include "path_migration.hpp"

#include <cstring>

#include "capabilities.hpp"
#include "ports.hpp"
#include "transport_parts.hpp"

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
  if (!offers(t_.a.how, capability::path_migration)) return false;
  switch (wanted) {
    case state::rearm:
      return now != state::armed && then == qp_state::rts;
    case state::migrated:
      return now != state::rearm;
    default:
      return false;
  }
}

bool path_migration_machine::comes_by_alternate(const queue_pair& qp, unsigned port,
                                                const packet_view& v) const {
  const path& way = qp.alternate;
  const auto pkey_index = static_cast<unsigned>(qp.context.get<&alternate_path::pkey_index>());
  if (port != way.port || v.lrh.get<&lrh::slid>() != way.dlid || v.global != way.global ||
      !pkeys_match(static_cast<std::uint16_t>(v.bth.get<&bth::pkey>()),
                   t_.a.links->pkey(port, pkey_index)))
    return false;
  if (!v.global) return true;
  const auto global = image<grh>::from_bytes(v.grh);
  return std::memcmp(global.bytes_of<&grh::sgid>(), way.dgid.data(), way.dgid.size()) == 0;
}

bool path_migration_machine::admits(queue_pair& qp, unsigned port, const packet_view& v) {
  const bool migrated = v.bth.get<&bth::migrated>();
  if (qp.migration() == state::armed && migrated) {
    if (comes_by_alternate(qp, port, v)) return migrate(qp);
    if (!qp.migration_refused) t_.pairs.post_event(qp, event_type::path_migration_failed);
    qp.migration_refused = true;
    return false;
  }
  if (qp.way.port != port) return false;
  if (qp.migration() == state::rearm && !migrated) {
    set(qp, state::armed);
    t_.pairs.touch(qp);
  }
  return true;
}

bool path_migration_machine::migrate(queue_pair& qp) {
  if (qp.migration() != state::armed) return false;
  const auto counter = qp.context.get<&primary_path::counter_index>();
  set_path<primary_path>(qp.context, path_of<alternate_path>(qp.context));
  qp.context.set<&primary_path::counter_index>(counter);
  set(qp, state::migrated);
  qp.refresh();
  t_.pairs.touch(qp);
  t_.pairs.post_event(qp, event_type::path_migrated);
  return true;
}

}  // namespace freehca::model
