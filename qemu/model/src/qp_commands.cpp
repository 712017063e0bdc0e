// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "qp_commands.hpp"

#include "adapter_limits.hpp"
#include "capabilities.hpp"
#include "command_checks.hpp"
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
  command_checks is(t_.a.rules);
  if (transition.command != opcode::rts2sqd_qp) is.read(c, mailbox);
  if (is.refused()) return is.status();
  const image<qpc> given = context_of(mailbox);
  if (transition.command == opcode::rst2init_qp) return create(c, given);

  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  queue_pair* qp = t_.pairs.find(qpn);
  check_state(is, qpn, qp, transition.from);
  if (is.refused()) return is.status();
  is.lent(t_.pairs.store(*qp), "context of QP", qpn);
  if (is.refused()) return is.status();
  const image<qpc> before = qp->context;
  const std::uint32_t mask =
      transition.optional & static_cast<std::uint32_t>(mailbox.get<&qp_mailbox::opt_param_mask>());
  const bool migrates = qp->connected() && (mask & qp_optpar::pm_state) != 0;
  is.must(!migrates || t_.migration.may_ask(*qp, given.get<&qpc::pm_state>(), transition.to),
          rule::qp_migration, command_status::bad_parameter,
          "pm_state %u is asked for; QP 0x%x has %u",
          static_cast<unsigned>(given.get<&qpc::pm_state>()), qpn,
          static_cast<unsigned>(qp->migration()));
  if (is.refused()) return is.status();
  apply(transition, mask, given, qp->context);
  qp->refresh();
  check(is, *qp, mask);
  if (is.refused()) {
    qp->context = before;
    qp->refresh();
    return is.status();
  }
  // No source says whether hardware holds on to what it has read ahead. Chosen: what begins anew
  // reads anew.
  qp->sq.ahead.reset();
  if (migrates) ask_migration(*qp, before.get<&qpc::pm_state>());
  entered(*qp, transition, c);
  t_.pairs.store(*qp);
  return command_status::ok;
}

void qp_commands::check_state(command_checks& is, std::uint32_t qpn, const queue_pair* qp,
                              qp_state wanted) {
  // Numbers of the IBTA's states and the adapter's own between them (qpc.hpp).
  const auto now = static_cast<unsigned>(qp == nullptr ? qp_state::reset : qp->state);
  is.must(qp != nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is %u, reset; wanted %u", qpn, now, static_cast<unsigned>(wanted))
      .that(qp == nullptr || qp->state == wanted, rule::qp_state, command_status::bad_qp_state,
            "state of QP 0x%x is %u; wanted %u", qpn, now, static_cast<unsigned>(wanted));
}

bool qp_commands::has_service(qp_service s) const {
  switch (s) {
    case qp_service::rc:
    case qp_service::ud:
    case qp_service::mlx:
      return true;
    case qp_service::uc:
      return offers(t_.a.how, capability::unreliable_connection);
    case qp_service::xrc:
      return offers(t_.a.how, capability::extended_reliable_connection);
    default:
      return false;
  }
}

command_status qp_commands::create(command& c, const image<qpc>& given) {
  command_checks is(t_.a.rules);
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  const std::uint32_t index = t_.pairs.index_of(qpn);
  const qp_service service = given.get<&qpc::service>();
  const auto send_cqn = static_cast<std::uint32_t>(given.get<&qpc::cqn_send>());
  const auto receive_cqn = static_cast<std::uint32_t>(given.get<&qpc::cqn_recv>());
  const auto srqn = static_cast<std::uint32_t>(given.get<&qpc::srqn>());
  const bool shared = given.get<&qpc::srq>() != 0;
  const auto cq_exists = [this, &is](std::uint32_t cqn, const char* field) {
    is.must(t_.a.cqs->exists(cqn), rule::qp_cq, command_status::bad_resource_state,
            "%s: CQ 0x%x is not in hardware's hands", field, cqn);
  };
  is.must(t_.pairs.find(qpn) == nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is not reset; wanted %u", qpn, static_cast<unsigned>(qp_state::reset))
      .not_reserved("QP", index, t_.a.limits().reserved_qps())
      .room_for_one_more(t_.a, "QPs", t_.pairs.count(), t_.pairs.bytes_of_one())
      .must(has_service(service), rule::qp_service, command_status::bad_parameter, "service %u",
            static_cast<unsigned>(service))
      .that(!given.get<&qpc::rss>(), rule::rss_reported, command_status::bad_parameter,
            "rss in the context of QP 0x%x", qpn);
  cq_exists(send_cqn, "cqn_send");
  cq_exists(receive_cqn, "cqn_recv");
  is.must(!shared || t_.shared.exists(srqn), rule::qp_srq, command_status::bad_resource_state,
          "srqn: SRQ 0x%x is not in hardware's hands", srqn)
      .lent(t_.a.context_memory->control_entry_mapped(cmpt_type::qp, index), "control entry of QP",
            qpn);
  if (is.refused()) return is.status();

  queue_pair& qp = t_.pairs.create(qpn);
  apply(*transition_of(opcode::rst2init_qp), 0, given, qp.context);
  // The command's number counts: iPXE leaves the context's empty (hermon.c hermon_create_qp).
  qp.context.set<&qpc::local_qpn>(qpn);
  qp.special = t_.pairs.special_kind(qpn, qp.special_port);
  qp.refresh();
  check_new(is, qp);
  // A page size may have been clamped.
  qp.refresh();
  if (!is.refused()) is.lent(t_.pairs.store(qp), "context of QP", qpn);
  if (is.refused()) {
    t_.pairs.destroy(qp);
    return is.status();
  }
  if (shared) t_.shared.attach(srqn);
  t_.a.cqs->attach(send_cqn);
  t_.a.cqs->attach(receive_cqn);
  return command_status::ok;
}

void qp_commands::check_new(command_checks& is, queue_pair& qp) const {
  image<qpc>& c = qp.context;
  is.in_uar(t_.a, c);
  check_port(is, "sched_queue", qp.way.port);
  // The parameters of RSS stand over the alternate path and more, and all ones where sizes are: it
  // has no queues (Linux hw/mlx4/qp.c fill_qp_rss_context).
  if (c.get<&qpc::rss>()) return;
  is.no_reserved_bits(c, "context");
  check_port(is, "sched_queue of the alternate path", qp.alternate.port);
  const work_queue &sq = qp.sq.ring, &rq = qp.rq.ring;
  // An entry of the send queue has a basic block at least (layouts/wqe.hpp).
  constexpr unsigned log_basic_block = 6;
  if (sq.present)
    is.at_most<&qpc::log_sq_size>(rule::qp_queue_size, c, t_.a.limits().log_work_queue_entries)
        .that(sq.log_stride >= log_basic_block, rule::qp_send_stride, command_status::bad_parameter,
              "log_sq_stride %u: %u bytes; at least 64", sq.log_stride - 4, 1u << sq.log_stride);
  if (rq.present)
    is.at_most<&qpc::log_rq_size>(rule::qp_queue_size, c, t_.a.limits().log_work_queue_entries);
  if (sq.present || rq.present)
    is.clamp<&qpc::log_page_size>(rule::page_size, c, log_page_size_max);
}

void qp_commands::ask_migration(queue_pair& qp, path_migration before) {
  qp.migration_refused = false;
  if (before != path_migration::armed) return;
  qp.context.set<&qpc::pm_state>(before);
  t_.migration.migrate(qp);
}

void qp_commands::check_port(command_checks& is, const char* field, unsigned port) const {
  is.must(port <= t_.a.how.ports, rule::qp_port, command_status::bad_parameter,
          "%s: port %u; the adapter has %u", field, port, t_.a.how.ports);
}

void qp_commands::check(command_checks& is, const queue_pair& qp, std::uint32_t mask) const {
  check_port(is, "sched_queue", qp.way.port);
  if ((mask & qp_optpar::alternate_path) != 0)
    check_port(is, "sched_queue of the alternate path", qp.alternate.port);
  if (qp.state == qp_state::init) return;
  // Beyond its own resources stand those of the next queue pair.
  if (qp.reliable())
    is.must(qp.context.get<&qpc::rra_max>() <= t_.a.profile.log_rd_per_qp,
            rule::qp_responder_resources, command_status::bad_parameter, "rra_max %u; at most %u",
            static_cast<unsigned>(qp.context.get<&qpc::rra_max>()), t_.a.profile.log_rd_per_qp);
  const bool raw = qp.service == qp_service::mlx && qp.special == 0;
  is.must(qp.mtu != 0 || raw, rule::qp_mtu, command_status::bad_parameter, "mtu %u; 1 to 5",
          static_cast<unsigned>(qp.context.get<&qpc::mtu>()));
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
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  queue_pair* qp = t_.pairs.find(qpn);
  command_checks is(t_.a.rules);
  is.must(qp != nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is reset; any other would do", qpn);
  if (is.refused()) return is.status();
  t_.sends.check_unrung(*qp);
  t_.errors.enter_error(*qp, std::nullopt);
  t_.watch.touched(*qp);
  is.lent(t_.pairs.store(*qp), "context of QP", qpn);
  return is.status();
}

command_status qp_commands::to_reset(command& c) {
  queue_pair* qp = t_.pairs.find(c.input_modifier & qpn_mask);
  if (qp == nullptr) return command_status::ok;
  command_checks is(t_.a.rules);
  t_.sends.check_unrung(*qp);
  if (c.opcode_modifier == static_cast<std::uint8_t>(to_rst_qp_modifier::write_context)) {
    t_.pairs.store(*qp);
    is.was_written(write_context(c, qp->context), c);
    if (is.refused()) return is.status();
  }
  if (qp->shared_receive) t_.shared.detach(qp->srqn);
  t_.a.cqs->detach(qp->send_cqn);
  t_.a.cqs->detach(qp->receive_cqn);
  t_.blueflames.forget(qp->number());
  t_.pairs.destroy(*qp);
  return is.status();
}

command_status qp_commands::query(command& c) {
  // In the reset state there is nothing to tell but the state, 0.
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  command_checks is(t_.a.rules);
  image<qpc> context;
  if (queue_pair* qp = t_.pairs.find(qpn)) {
    is.lent(t_.pairs.store(*qp), "context of QP", qpn);
    context = qp->context;
  }
  if (!is.refused()) is.was_written(write_context(c, context), c);
  return is.status();
}

command_status qp_commands::configure_special(command& c) {
  const std::uint32_t base = c.input_modifier & qpn_mask;
  command_checks is(t_.a.rules);
  is.that(base % 8 == 0, rule::special_qps, command_status::bad_parameter,
          "input modifier: QP 0x%x is no multiple of 8", base);
  if (base != 0)
    is.not_reserved("input modifier: QP", base, t_.a.limits().reserved_qps())
        .in_table("input modifier: QP", base, t_.a.profile.log_qps);
  if (is.refused()) return is.status();
  t_.pairs.set_special_base(base);
  return command_status::ok;
}

}  // namespace freehca::model
