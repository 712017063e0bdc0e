// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "qp_commands.hpp"

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "completion_queues.hpp"
#include "icm.hpp"
#include "limits.hpp"
#include "qpn.hpp"
#include "queue_context.hpp"
#include "transport_parts.hpp"

namespace freehca::model {

using namespace layouts;

namespace {

/// RTS2SQD: tell when the queue has drained (Linux mlx4/qp.c __mlx4_qp_modify, sqd_event).
constexpr std::uint32_t drain_event = 1u << 31;

bool write_context(command& c, const image<qpc>& context) {
  image<qp_mailbox> out;
  out.set_bytes<&qp_mailbox::context>(context.data());
  return c.write_output(out);
}

}  // namespace

qp_commands::qp_commands(transport::parts& t) : t_(t) {
  for (const opcode o : {opcode::rst2init_qp, opcode::init2init_qp, opcode::init2rtr_qp,
                         opcode::rtr2rts_qp, opcode::rts2rts_qp, opcode::sqerr2rts_qp,
                         opcode::rts2sqd_qp, opcode::sqd2rts_qp, opcode::sqd2sqd_qp})
    t.a.commands.on(o, [this, o](command& c) { return modify(c, *transition_of(o)); });
  t.a.commands.on(opcode::to_err_qp, [this](command& c) { return to_error(c); });
  t.a.commands.on(opcode::to_rst_qp, [this](command& c) { return to_reset(c); });
  t.a.commands.on(opcode::query_qp, [this](command& c) { return query(c); });
  t.a.commands.on(opcode::conf_special_qp, [this](command& c) { return configure_special(c); });
}

command_status qp_commands::modify(command& c, const qp_transition& transition) {
  image<qp_mailbox> mailbox;
  if (transition.command != opcode::rts2sqd_qp && !c.read_input(mailbox))
    return command_status::internal_error;
  const image<qpc> given = context_of(mailbox);
  if (transition.command == opcode::rst2init_qp) return create(c, given);

  queue_pair* qp = t_.pairs.find(c.input_modifier & qpn_mask);
  if (qp == nullptr || qp->state != transition.from) return command_status::bad_qp_state;
  t_.pairs.store(*qp);
  const image<qpc> before = qp->context;
  const std::uint32_t mask =
      transition.optional & static_cast<std::uint32_t>(mailbox.get<&qp_mailbox::opt_param_mask>());
  const bool migrates = qp->connected() && (mask & qp_optpar::pm_state) != 0;
  if (migrates && !t_.migration.may_ask(*qp, given.get<&qpc::pm_state>(), transition.to))
    return command_status::bad_parameter;
  apply(transition, mask, given, qp->context);
  qp->refresh();
  const command_status verdict = check(*qp, mask);
  if (verdict != command_status::ok) {
    qp->context = before;
    qp->refresh();
    return verdict;
  }
  if (migrates) ask_migration(*qp, before.get<&qpc::pm_state>());
  entered(*qp, transition, c);
  return t_.pairs.store(*qp) ? command_status::ok : command_status::icm_error;
}

command_status qp_commands::create(command& c, const image<qpc>& given) {
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  const std::uint32_t index = t_.pairs.index_of(qpn);
  if (t_.pairs.find(qpn) != nullptr) return command_status::bad_qp_state;
  if (index < t_.a.limits().reserved_qps()) return command_status::bad_resource;
  if (t_.pairs.count() >= limits::objects || !t_.a.kept.has_room(queue_pairs::bytes_each))
    return command_status::exceeds_limits;
  switch (given.get<&qpc::service>()) {
    case qp_service::rc:
    case qp_service::ud:
    case qp_service::mlx:
      break;
    case qp_service::uc:
      if (offers(t_.a.how, capability::unreliable_connection)) break;
      return command_status::bad_parameter;
    case qp_service::xrc:
      if (offers(t_.a.how, capability::extended_reliable_connection)) break;
      return command_status::bad_parameter;
    default:
      return command_status::bad_parameter;
  }
  const auto send_cqn = static_cast<std::uint32_t>(given.get<&qpc::cqn_send>());
  const auto receive_cqn = static_cast<std::uint32_t>(given.get<&qpc::cqn_recv>());
  if (!t_.a.cqs->exists(send_cqn) || !t_.a.cqs->exists(receive_cqn))
    return command_status::bad_resource_state;
  const auto srqn = static_cast<std::uint32_t>(given.get<&qpc::srqn>());
  const bool shared = given.get<&qpc::srq>() != 0;
  if (shared && !t_.shared.exists(srqn)) return command_status::bad_resource_state;
  if (!t_.a.context_memory->control_entry_mapped(cmpt_type::qp, index))
    return command_status::icm_error;

  queue_pair& qp = t_.pairs.create(qpn);
  apply(*transition_of(opcode::rst2init_qp), 0, given, qp.context);
  // The command's number counts: iPXE leaves the context's empty (hermon.c hermon_create_qp).
  qp.context.set<&qpc::local_qpn>(qpn);
  qp.special = t_.pairs.special_kind(qpn, qp.special_port);
  qp.refresh();
  if (!can_be(qp)) {
    t_.pairs.destroy(qp);
    return command_status::bad_parameter;
  }
  if (!t_.pairs.store(qp)) {
    t_.pairs.destroy(qp);
    return command_status::icm_error;
  }
  if (shared) t_.shared.attach(srqn);
  return command_status::ok;
}

bool qp_commands::can_be(const queue_pair& qp) const {
  const image<qpc>& c = qp.context;
  if (!has_uar_page(t_.a, c) || qp.way.port > t_.a.how.ports) return false;
  // The parameters of RSS stand over the alternate path and more, and all ones where sizes are: it has no queues
  // (Linux hw/mlx4/qp.c fill_qp_rss_context).
  if (c.get<&qpc::rss>()) return true;
  if (!c.reserved_clear() || qp.alternate.port > t_.a.how.ports) return false;
  const work_queue &sq = qp.sq.ring, &rq = qp.rq.ring;
  // An entry of the send queue has a basic block at least (layouts/wqe.hpp).
  if (sq.present && (sq.log_stride < 6 || sq.log_entries > t_.a.limits().log_work_queue_entries))
    return false;
  if (rq.present && rq.log_entries > t_.a.limits().log_work_queue_entries) return false;
  return (!sq.present && !rq.present) || has_good_page_size(c);
}

void qp_commands::ask_migration(queue_pair& qp, path_migration before) {
  qp.migration_refused = false;
  if (before != path_migration::armed) return;
  qp.context.set<&qpc::pm_state>(before);
  t_.migration.migrate(qp);
}

command_status qp_commands::check(const queue_pair& qp, std::uint32_t mask) const {
  if (qp.way.port > t_.a.how.ports) return command_status::bad_parameter;
  if ((mask & qp_optpar::alternate_path) != 0 && qp.alternate.port > t_.a.how.ports)
    return command_status::bad_parameter;
  if (qp.state == qp_state::init) return command_status::ok;
  // Beyond its own resources stand those of the next queue pair.
  if (qp.reliable() && qp.context.get<&qpc::rra_max>() > t_.a.profile.log_rd_per_qp)
    return command_status::bad_parameter;
  const bool raw = qp.service == qp_service::mlx && qp.special == 0;
  return qp.mtu == 0 && !raw ? command_status::bad_parameter : command_status::ok;
}

void qp_commands::entered(queue_pair& qp, const qp_transition& transition, const command& c) {
  switch (transition.command) {
    case opcode::init2rtr_qp:
      qp.rq.expected_psn = static_cast<std::uint32_t>(qp.context.get<&qpc::next_rcv_psn>());
      break;
    case opcode::rtr2rts_qp:
      qp.sq.next_psn = qp.sq.unacked_psn =
          static_cast<std::uint32_t>(qp.context.get<&qpc::next_send_psn>());
      qp.sq.retries_left = static_cast<unsigned>(qp.context.get<&qpc::retry_count>());
      qp.sq.rnr_retries_left = static_cast<unsigned>(qp.context.get<&qpc::rnr_retry>());
      t_.sends.kick(qp);
      break;
    case opcode::sqerr2rts_qp:
    case opcode::sqd2rts_qp:
      t_.sends.kick(qp);
      break;
    case opcode::rts2sqd_qp:
      qp.sq.drain_event = (c.input_modifier & drain_event) != 0;
      t_.sends.kick(qp);
      break;
    default:
      break;
  }
}

command_status qp_commands::to_error(command& c) {
  queue_pair* qp = t_.pairs.find(c.input_modifier & qpn_mask);
  if (qp == nullptr) return command_status::bad_qp_state;
  t_.errors.enter_error(*qp, std::nullopt);
  t_.watch.touched(*qp);
  return t_.pairs.store(*qp) ? command_status::ok : command_status::icm_error;
}

command_status qp_commands::to_reset(command& c) {
  queue_pair* qp = t_.pairs.find(c.input_modifier & qpn_mask);
  if (qp == nullptr) return command_status::ok;
  bool written = true;
  if (c.opcode_modifier == static_cast<std::uint8_t>(to_rst_qp_modifier::write_context)) {
    t_.pairs.store(*qp);
    written = write_context(c, qp->context);
  }
  if (qp->shared_receive) t_.shared.detach(qp->srqn);
  t_.pairs.destroy(*qp);
  return written ? command_status::ok : command_status::internal_error;
}

command_status qp_commands::query(command& c) {
  // In the reset state there is nothing to tell but the state, 0.
  image<qpc> context;
  if (queue_pair* qp = t_.pairs.find(c.input_modifier & qpn_mask)) {
    if (!t_.pairs.store(*qp)) return command_status::icm_error;
    context = qp->context;
  }
  return write_context(c, context) ? command_status::ok : command_status::internal_error;
}

command_status qp_commands::configure_special(command& c) {
  const std::uint32_t base = c.input_modifier & qpn_mask;
  // Linux aligns the block to 8 (mlx4/qp.c mlx4_init_qp_table).
  if (base % 8 != 0) return command_status::bad_parameter;
  if (base != 0 && (base < t_.a.limits().reserved_qps() || base >> t_.a.profile.log_qps != 0))
    return command_status::bad_index;
  t_.pairs.set_special_base(base);
  return command_status::ok;
}

}  // namespace freehca::model
