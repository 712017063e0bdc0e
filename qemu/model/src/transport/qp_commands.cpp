// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "transport/qp_commands.hpp"

#include "basis/adapter_limits.hpp"
#include "basis/capabilities.hpp"
#include "basis/limits.hpp"
#include "command/command_checks.hpp"
#include "queues/blueflame_registers.hpp"
#include "queues/completion_queues.hpp"
#include "queues/qpn.hpp"
#include "queues/queue_pairs.hpp"
#include "queues/shared_receive_queues.hpp"
#include "queues/uar_users.hpp"
#include "tables/icm.hpp"
#include "tables/queue_context.hpp"
#include "transport/error_watch.hpp"
#include "transport/path_migration.hpp"
#include "transport/send_engine.hpp"
#include "transport/uar_looks.hpp"
#include "transport/work_errors.hpp"

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

qp_commands::qp_commands(adapter& a, queue_pairs& pairs, shared_receive_queues& shared,
                         work_errors& errors, error_watch& watch, send_engine& sends,
                         path_migration_machine& migration, blueflame_registers& blueflames,
                         const uar_looks& looks)
    : a_(a),
      pairs_(pairs),
      shared_(shared),
      errors_(errors),
      watch_(watch),
      sends_(sends),
      migration_(migration),
      blueflames_(blueflames),
      looks_(looks) {
  for (const opcode o : {opcode::rst2init_qp, opcode::init2init_qp, opcode::init2rtr_qp,
                         opcode::rtr2rts_qp, opcode::rts2rts_qp, opcode::sqerr2rts_qp,
                         opcode::rts2sqd_qp, opcode::sqd2rts_qp, opcode::sqd2sqd_qp})
    a.commands.on(o, [this, o](command& c) { return modify(c, *transition_of(o)); });
  a.commands.on(opcode::to_err_qp, [this](command& c) { return to_error(c); });
  a.commands.on(opcode::to_rst_qp, [this](command& c) { return to_reset(c); });
  a.commands.on(opcode::query_qp, [this](command& c) { return query(c); });
  if (offers(a.how, capability::loopback_source_check))
    a.commands.on(opcode::update_qp, [this](command& c) { return update(c); });
  a.commands.on(opcode::conf_special_qp, [this](command& c) { return configure_special(c); });
}

command_status qp_commands::modify(command& c, const qp_transition& transition) {
  image<qp_mailbox> mailbox;
  command_checks is(a_.rules);
  if (transition.command != opcode::rts2sqd_qp) is.read(c, mailbox);
  if (is.refused()) return is.status();
  const image<qpc> given = context_of(mailbox);
  if (transition.command == opcode::rst2init_qp) return create(c, given);

  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  queue_pair* qp = pairs_.find(qpn);
  check_state(is, qpn, qp, transition.from);
  if (is.refused()) return is.status();
  is.lent(pairs_.store(*qp), "context of QP", qpn);
  if (is.refused()) return is.status();
  const image<qpc> before = qp->context;
  const std::uint32_t mask =
      transition.optional & static_cast<std::uint32_t>(mailbox.get<&qp_mailbox::opt_param_mask>());
  const bool migrates = qp->connected() && (mask & qp_optpar::pm_state) != 0;
  is.must(!migrates || migration_.may_ask(*qp, given.get<&qpc::pm_state>(), transition.to),
          rule::qp_migration, command_status::bad_parameter,
          "pm_state %u is asked for; QP 0x%x has %u",
          static_cast<unsigned>(given.get<&qpc::pm_state>()), qpn,
          static_cast<unsigned>(qp->migration()));
  if (is.refused()) return is.status();
  apply(transition, mask, given, qp->context);
  qp->refresh(a_.layers);
  check(is, *qp, mask);
  if (is.refused()) {
    qp->context = before;
    qp->refresh(a_.layers);
    return is.status();
  }
  // No source says whether hardware holds on to what it has read ahead. Chosen: what begins anew
  // reads anew.
  qp->sq.ahead.reset();
  if (migrates) ask_migration(*qp, before.get<&qpc::pm_state>());
  entered(*qp, transition, c);
  pairs_.store(*qp);
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
      return offers(a_.how, capability::unreliable_connection);
    case qp_service::xrc:
      return offers(a_.how, capability::extended_reliable_connection);
    default:
      return false;
  }
}

command_status qp_commands::create(command& c, const image<qpc>& given) {
  command_checks is(a_.rules);
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  const std::uint32_t index = pairs_.index_of(qpn);
  const qp_service service = given.get<&qpc::service>();
  const auto send_cqn = static_cast<std::uint32_t>(given.get<&qpc::cqn_send>());
  const auto receive_cqn = static_cast<std::uint32_t>(given.get<&qpc::cqn_recv>());
  const auto srqn = static_cast<std::uint32_t>(given.get<&qpc::srqn>());
  const bool shared = given.get<&qpc::srq>() != 0;
  const auto cq_exists = [this, &is](std::uint32_t cqn, const char* field) {
    is.must(a_.cqs->exists(cqn), rule::qp_cq, command_status::bad_resource_state,
            "%s: CQ 0x%x is not in hardware's hands", field, cqn);
  };
  is.must(pairs_.find(qpn) == nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is not reset; wanted %u", qpn, static_cast<unsigned>(qp_state::reset))
      .not_reserved("QP", index, a_.limits().reserved_qps())
      .room_for_one_more(a_.kept, "QPs", pairs_.count(), pairs_.bytes_of_one())
      .must(has_service(service), rule::qp_service, command_status::bad_parameter, "service %u",
            static_cast<unsigned>(service))
      .that(!given.get<&qpc::rss>() || may_spread(given), rule::rss_reported,
            command_status::bad_parameter, "rss in the context of QP 0x%x", qpn);
  cq_exists(send_cqn, "cqn_send");
  cq_exists(receive_cqn, "cqn_recv");
  is.must(!shared || shared_.exists(srqn), rule::qp_srq, command_status::bad_resource_state,
          "srqn: SRQ 0x%x is not in hardware's hands", srqn)
      .lent(a_.context_memory->control_entry_mapped(cmpt_type::qp, index), "control entry of QP",
            qpn);
  if (is.refused()) return is.status();

  queue_pair& qp = pairs_.create(qpn);
  apply(*transition_of(opcode::rst2init_qp), 0, given, qp.context);
  // The command's number counts: iPXE leaves the context's empty (hermon.c hermon_create_qp).
  qp.context.set<&qpc::local_qpn>(qpn);
  qp.special = pairs_.special_kind(qpn, qp.special_port);
  qp.refresh(a_.layers);
  check_new(is, qp);
  // A page size may have been clamped.
  qp.refresh(a_.layers);
  if (!is.refused()) is.lent(pairs_.store(qp), "context of QP", qpn);
  if (is.refused()) {
    pairs_.destroy(qp);
    return is.status();
  }
  if (qp.sq.ring.present)
    a_.uars.add(static_cast<std::uint32_t>(qp.context.get<&qpc::usr_page>()),
                uar_users::kind::send_queue, qp.qpn);
  if (shared) shared_.attach(srqn);
  a_.cqs->attach(send_cqn);
  a_.cqs->attach(receive_cqn);
  return command_status::ok;
}

/// RSS is for raw Ethernet: for IP over InfiniBand QUERY_DEV_CAP does not report it.
bool qp_commands::may_spread(const image<qpc>& given) const {
  const unsigned port =
      sched_queue_port(static_cast<unsigned>(given.get<&primary_path::sched_queue>()));
  return offers(a_.how, capability::receive_side_scaling) &&
         given.get<&qpc::service>() == qp_service::mlx && a_.layers.ethernet(port);
}

void qp_commands::check_new(command_checks& is, queue_pair& qp) const {
  image<qpc>& c = qp.context;
  is.in_uar(a_.configuration.uar_pages(), c);
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
    is.at_most<&qpc::log_sq_size>(rule::qp_queue_size, c, a_.limits().log_work_queue_entries)
        .that(sq.log_stride >= log_basic_block, rule::qp_send_stride, command_status::bad_parameter,
              "log_sq_stride %u: %u bytes; at least 64", sq.log_stride - 4, 1u << sq.log_stride);
  if (rq.present)
    is.at_most<&qpc::log_rq_size>(rule::qp_queue_size, c, a_.limits().log_work_queue_entries);
  if (sq.present || rq.present)
    is.clamp<&qpc::log_page_size>(rule::page_size, c, log_page_size_max);
}

void qp_commands::ask_migration(queue_pair& qp, path_migration before) {
  qp.migration_refused = false;
  if (before != path_migration::armed) return;
  qp.context.set<&qpc::pm_state>(before);
  migration_.migrate(qp);
}

void qp_commands::check_port(command_checks& is, const char* field, unsigned port) const {
  is.must(port <= a_.how.ports, rule::qp_port, command_status::bad_parameter,
          "%s: port %u; the adapter has %u", field, port, a_.how.ports);
}

void qp_commands::check(command_checks& is, const queue_pair& qp, std::uint32_t mask) const {
  check_port(is, "sched_queue", qp.way.port);
  if ((mask & qp_optpar::alternate_path) != 0)
    check_port(is, "sched_queue of the alternate path", qp.alternate.port);
  if (qp.state == qp_state::init) return;
  // Beyond its own resources stand those of the next queue pair.
  if (qp.reliable())
    is.must(qp.context.get<&qpc::rra_max>() <= a_.profile.log_rd_per_qp,
            rule::qp_responder_resources, command_status::bad_parameter, "rra_max %u; at most %u",
            static_cast<unsigned>(qp.context.get<&qpc::rra_max>()), a_.profile.log_rd_per_qp);
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
      qp.sq.window.begin(static_cast<std::uint32_t>(qp.context.get<&qpc::next_send_psn>()),
                         qp.reliable(), qp.retry_limits());
      sends_.kick(qp);
      break;
    case opcode::sqerr2rts_qp:
    case opcode::sqd2rts_qp:
      sends_.kick(qp);
      break;
    case opcode::rts2sqd_qp:
      qp.sq.drain_event = (c.input_modifier & drain_event) != 0;
      sends_.kick(qp);
      break;
    default:
      break;
  }
}

void qp_commands::check_unrung(const queue_pair& qp) const {
  if (!looks_.awaited(static_cast<std::uint32_t>(qp.context.get<&qpc::usr_page>())))
    sends_.check_unrung(qp);
}

command_status qp_commands::to_error(command& c) {
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  queue_pair* qp = pairs_.find(qpn);
  command_checks is(a_.rules);
  is.must(qp != nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is reset; any other would do", qpn);
  if (is.refused()) return is.status();
  check_unrung(*qp);
  errors_.enter_error(*qp, std::nullopt);
  watch_.touched(*qp);
  is.lent(pairs_.store(*qp), "context of QP", qpn);
  return is.status();
}

command_status qp_commands::to_reset(command& c) {
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  queue_pair* qp = pairs_.find(qpn);
  command_checks is(a_.rules);
  // Firmware refuses it in the reset state, and the driver must not ask for it (Linux commit
  // "IB/mlx4: Fix RESET to RESET and RESET to ERROR transitions"; hw/mlx4/qp.c mlx4_ib_modify_qp
  // ends well without a command). The commit names no status: that of 2ERR_QP.
  is.must(qp != nullptr, rule::qp_state, command_status::bad_qp_state,
          "state of QP 0x%x is reset; any other would do", qpn);
  if (is.refused()) return is.status();
  check_unrung(*qp);
  if (c.opcode_modifier == static_cast<std::uint8_t>(to_rst_qp_modifier::write_context)) {
    pairs_.store(*qp);
    is.was_written(write_context(c, qp->context), c);
    if (is.refused()) return is.status();
  }
  if (qp->shared_receive) shared_.detach(qp->srqn);
  a_.cqs->detach(qp->send_cqn);
  a_.cqs->detach(qp->receive_cqn);
  blueflames_.forget(qp->number());
  sends_.forget(*qp);
  pairs_.destroy(*qp);
  return is.status();
}

command_status qp_commands::query(command& c) {
  // In the reset state there is nothing to tell but the state, 0.
  const std::uint32_t qpn = c.input_modifier & qpn_mask;
  command_checks is(a_.rules);
  image<qpc> context;
  if (queue_pair* qp = pairs_.find(qpn)) {
    is.lent(pairs_.store(*qp), "context of QP", qpn);
    context = qp->context;
  }
  if (!is.refused()) is.was_written(write_context(c, context), c);
  return is.status();
}

command_status qp_commands::configure_special(command& c) {
  const std::uint32_t base = c.input_modifier & qpn_mask;
  command_checks is(a_.rules);
  is.that(base % 8 == 0, rule::special_qps, command_status::bad_parameter,
          "input modifier: QP 0x%x is no multiple of 8", base);
  if (base != 0)
    is.not_reserved("input modifier: QP", base, a_.limits().reserved_qps())
        .in_table("input modifier: QP", base, a_.profile.log_qps);
  if (is.refused()) return is.status();
  pairs_.set_special_base(base);
  return command_status::ok;
}

}  // namespace freehca::model
