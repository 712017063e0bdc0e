// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Transitions that change attributes of a queue pair or drain its send queue. Linux 6.1 fills the
// contexts in the same way (hw/mlx4/qp.c __mlx4_ib_modify_qp, mlx4/qp.c __mlx4_qp_modify).
#include <freehca/hca/kinds/queue_pair_changes.hpp>

#include "queue_pair_context.hpp"

namespace freehca {

using namespace layouts;

namespace {

struct change_rule {
  qp_state from, to;
  opcode command;
  std::uint32_t permitted[3];  // of RC, UC and UD, as in queue_pair_services
};

constexpr std::uint32_t all_rights = qp_optpar::rre | qp_optpar::rwe | qp_optpar::rae,
                        migrates = qp_optpar::alternate_path | qp_optpar::pm_state,
                        rts_of_rc = all_rights | migrates | qp_optpar::min_rnr_nak,
                        rts_of_uc = qp_optpar::rwe | migrates,
                        new_path = qp_optpar::primary_path | qp_optpar::pkey_index,
                        begins = qp_optpar::pkey_index | qp_optpar::sched_queue;

constexpr change_rule change_rules[] = {
    {qp_state::init,
     qp_state::init,
     opcode::init2init_qp,
     {begins | all_rights, begins | qp_optpar::rwe, begins | qp_optpar::qkey}},
    {qp_state::rts, qp_state::rts, opcode::rts2rts_qp, {rts_of_rc, rts_of_uc, qp_optpar::qkey}},
    {qp_state::rts, qp_state::sq_draining, opcode::rts2sqd_qp, {0, 0, 0}},
    {qp_state::sq_drained,
     qp_state::sq_drained,
     opcode::sqd2sqd_qp,
     {rts_of_rc | new_path | qp_optpar::sra_max | qp_optpar::rra_max | qp_optpar::retry_count |
          qp_optpar::rnr_retry | qp_optpar::ack_timeout,
      rts_of_uc | new_path, qp_optpar::qkey | qp_optpar::pkey_index}},
    {qp_state::sq_drained,
     qp_state::rts,
     opcode::sqd2rts_qp,
     {rts_of_rc, rts_of_uc, qp_optpar::qkey}},
    {qp_state::sq_error, qp_state::rts, opcode::sqerr2rts_qp, {0, qp_optpar::rwe, qp_optpar::qkey}},
};

#define FREEHCA_ROW(member, table, field) \
  FREEHCA_FIELD_AS(queue_pair_changes, member, &table::field, attribute_id::member)
constexpr auto change_fields = fields_of<qpc>(
    FREEHCA_ROW(pkey_index, primary_path, pkey_index),
    FREEHCA_FIELD(queue_pair_changes, remote_read, &qpc::rre),
    FREEHCA_FIELD(queue_pair_changes, remote_write, &qpc::rwe),
    FREEHCA_FIELD(queue_pair_changes, remote_atomic, &qpc::rae),
    FREEHCA_ROW(min_rnr_timer, qpc, min_rnr_nak),
    FREEHCA_FIELD(queue_pair_changes, qkey, &qpc::qkey),
    FREEHCA_ROW(reads_as_responder, qpc, rra_max), FREEHCA_ROW(reads_as_requester, qpc, sra_max),
    FREEHCA_ROW(retry_count, qpc, retry_count), FREEHCA_ROW(rnr_retry, qpc, rnr_retry),
    FREEHCA_ROW(ack_timeout, primary_path, ack_timeout),
    FREEHCA_FIELD(queue_pair_changes, migration, &qpc::pm_state),
    FREEHCA_ROW(alternate_pkey_index, alternate_path, pkey_index),
    FREEHCA_ROW(alternate_ack_timeout, alternate_path, ack_timeout));
#undef FREEHCA_ROW

/// Checks a path, and writes it at `to`.
status write_changed_path(verbs& owner, const address_attributes& a, std::byte* to) {
  image<address_path> path;
  FREEHCA_TRY(check_port(owner, a));
  FREEHCA_TRY(write_path(owner, a, true, path));
  __builtin_memcpy(to, path.data(), path.size());
  return {};
}

status write_changes(const queue_pair& pair, const change_rule& rule, queue_pair_changes a,
                     image<qp_mailbox>& mailbox) {
  verbs& owner = *pair.owner;
  refused_attribute& note = owner.refused();
  // An XRC queue pair changes as one of a reliable connection.
  const std::size_t service = pair.service->code == qp_service::uc   ? 1
                              : pair.service->code == qp_service::ud ? 2
                                                                     : 0;
  const std::uint32_t refused = a.given & ~rule.permitted[service];
  if (refused != 0) return note.refuse(attribute_id::changes, refused, refused);
  image<qpc> c = queue_pair_context(pair, qp_state::rtr);
  c.set<&qpc::state>(rule.to == qp_state::sq_draining ? qp_state::sq_drained : rule.to);
  if ((a.given & qp_optpar::rra_max) != 0 && a.reads_as_responder == 0) {
    // A responder without resources permits no reads and atomics.
    a.remote_read = a.remote_atomic = false;
    a.given |= qp_optpar::rre | qp_optpar::rae;
  }
  FREEHCA_TRY(take_reads(owner, a.given, a.reads_as_responder, a.reads_as_requester));
  if ((a.given & migrates) != 0 &&
      !owner.adapter().capabilities().has(dev_cap_flag::automatic_path_migration))
    return driver_error::unsupported;
  if ((a.given & qp_optpar::pm_state) != 0 && a.migration != path_migration::rearm)
    FREEHCA_TRY(note.check(attribute_id::migration, static_cast<unsigned>(a.migration),
                           static_cast<unsigned>(path_migration::migrated),
                           static_cast<unsigned>(path_migration::migrated)));
  if ((a.given & qp_optpar::primary_path) != 0) {
    FREEHCA_TRY(
        write_changed_path(owner, a.path, c.data() + row_of<&primary_path::force_loopback>.offset));
    a.given |= qp_optpar::sched_queue;
  } else if ((a.given & qp_optpar::sched_queue) != 0) {
    FREEHCA_TRY(check_port(owner, a.path));
    // Linux sends no port in INIT. The transition to RTR writes it.
    a.given &= ~qp_optpar::sched_queue;
  }
  if ((a.given & qp_optpar::alternate_path) != 0) {
    if (a.alternate.roce() != nullptr)
      return note.refuse(attribute_id::link_layer, static_cast<unsigned>(port_type::ethernet),
                         static_cast<unsigned>(port_type::ib));
    FREEHCA_TRY(write_changed_path(owner, a.alternate,
                                   c.data() + row_of<&alternate_path::force_loopback>.offset));
  }
  namespace o = qp_optpar;
  static constexpr std::uint32_t given_for[] = {
      o::pkey_index,     o::rre,           o::rwe,         o::rae,
      o::min_rnr_nak,    o::qkey,          o::rra_max,     o::sra_max,
      o::retry_count,    o::rnr_retry,     o::ack_timeout, o::pm_state,
      o::alternate_path, o::alternate_path};
  static_assert(sizeof given_for / sizeof *given_for ==
                sizeof change_fields.rows / sizeof *change_fields.rows);
  for (std::uint32_t row = 0; const std::uint32_t bit : given_for) {
    if ((a.given & bit) != 0) FREEHCA_TRY(store(change_fields, a, c, note, row, 1));
    ++row;
  }
  mailbox = {};
  mailbox.set<&qp_mailbox::opt_param_mask>(a.given);
  mailbox.set_bytes<&qp_mailbox::context>(c.data());
  return {};
}

}  // namespace

void change_queue_pair::start(verbs& owner, qp_handle h, qp_state to, const queue_pair_changes& a) {
  if (!startable()) return;
  queue_pair* const pair = owner.find(h);
  status s = verbs::usable(pair);
  constexpr std::uint64_t bytes = sizeof a;
  if (s.ok()) s = owner.refused().check(attribute_id::connection_bytes, a.bytes, bytes, bytes);
  if (!s.ok()) return refuse(owner, s);
  const change_rule* rule = nullptr;
  for (const change_rule& r : change_rules)
    if (r.from == pair->qp_state && r.to == to && !pair->state_unknown) rule = &r;
  if (rule == nullptr) return refuse(owner, driver_error::bad_state);
  transition_.restart();
  transition_.aim(rule->command, pair->number);
  s = write_changes(*pair, *rule, a, transition_.input);
  if (!s.ok()) return refuse(owner, s);
  from_ = rule->from;
  to_ = to;
  if ((a.given & qp_optpar::primary_path) != 0) pair->use_port(a.path.port());
  if ((a.given & qp_optpar::alternate_path) != 0) pair->use_port(a.alternate.port());
  if (to == qp_state::sq_draining) {
    if (a.drained_event) transition_.request.input_modifier |= rts2sqd_drained_event;
    // The event may arrive before the answer.
    pair->moving_to = to;
  }
  if (to == qp_state::init) {
    before_ = {pair->pkey_index, pair->remote_read, pair->remote_write, pair->remote_atomic};
    if ((a.given & qp_optpar::pkey_index) != 0) pair->pkey_index = a.pkey_index;
    if ((a.given & qp_optpar::rre) != 0) pair->remote_read = a.remote_read;
    if ((a.given & qp_optpar::rwe) != 0) pair->remote_write = a.remote_write;
    if ((a.given & qp_optpar::rae) != 0) pair->remote_atomic = a.remote_atomic;
  }
  start_command(*pair, step::modify, transition_, &finished);
}

void change_queue_pair::finished(object_operation& op, status outcome) noexcept {
  auto& self = static_cast<change_queue_pair&>(op);
  auto& pair = static_cast<queue_pair&>(self.object());
  if (pair.in_doubt()) {
    pair.moving_to = self.to_;
    pair.state_unknown = true;
    return pair.suspend();
  }
  if (!outcome.ok()) {
    pair.moving_to = pair.qp_state;
    if (self.to_ != qp_state::init) return;
    pair.pkey_index = self.before_.pkey_index;
    pair.remote_read = self.before_.remote_read;
    pair.remote_write = self.before_.remote_write;
    pair.remote_atomic = self.before_.remote_atomic;
    return;
  }
  // An event may have brought a later state meanwhile.
  if (pair.qp_state != self.from_) return;
  pair.moving_to = self.to_;
  pair.settle_change(true);
  if (pair.owner->up()) pair.resume();
}

}  // namespace freehca
