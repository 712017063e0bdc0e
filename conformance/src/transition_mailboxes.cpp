// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What mailboxes of transitions may have wrong, and what of them is not looked at.
#include <freehca/layouts/init_hca.hpp>

#include "qp_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_transition_mailboxes {
namespace {

constexpr command_status taken = command_status::ok;
constexpr char service[] =
    "rule qp-service: IBTA Create QP: invalid service type for this queue pair";
constexpr char completes[] = "rule qp-cq: IBTA Create QP: invalid CQ handle";
constexpr char size[] =
    "rule qp-queue-size: IBTA Create QP: the requests asked for exceed the capacity";
constexpr char mtu[] = "rule qp-mtu: IBTA Modify QP: invalid path MTU; Linux sw/rdmavt/qp.c";
constexpr char migration[] = "rule qp-migration: IBTA 17.2.8; Linux sw/rdmavt/qp.c rvt_modify_qp";

constexpr char resources[] =
    "rule qp-responder-resources: IBTA Modify QP: responder resources exceed the HCA's";

template <path_migration To>
bool ask_for(bench& b) {
  b.change<qp_mailbox, &qp_mailbox::opt_param_mask>(qp_optpar::pm_state);
  return change_context<&qpc::pm_state>(b, To);
}
constexpr qp_row migrates(const char* name, const char* what, qp_state from, opcode command,
                          bool (*spoil)(bench& with)) {
  return {.about = {name, what, expectation::refused(), migration},
          .from = from,
          .command = command,
          .spoil = spoil};
}

/// Twice as many: those of the next number, which nobody has in hardware's hands, and nobody asks
/// the queue pair for any.
bool too_many_resources(bench& b) {
  if (!b.issue({.what = opcode::query_hca, .output = true}).ok()) return false;
  const auto most = static_cast<unsigned>(b.output<init_hca>().get<&init_hca::log_rd_per_qp>());
  return most < qpc{}.rra_max.mask() && change_context<&qpc::rra_max>(b, most + 1);
}

constexpr qp_row rows[] = {
    {.about = {"rst2init_qp-number-past-the-table",
               "RST2INIT_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .which = named::past_the_table},
    {.about = {"init2init_qp-number-past-the-table",
               "INIT2INIT_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::init,
     .command = opcode::init2init_qp,
     .which = named::past_the_table},
    {.about = {"init2rtr_qp-number-past-the-table",
               "INIT2RTR_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .which = named::past_the_table},
    {.about = {"rtr2rts_qp-number-past-the-table",
               "RTR2RTS_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::rtr,
     .command = opcode::rtr2rts_qp,
     .which = named::past_the_table},
    {.about = {"rts2rts_qp-number-past-the-table",
               "RTS2RTS_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::rts,
     .command = opcode::rts2rts_qp,
     .which = named::past_the_table},
    {.about = {"rts2sqd_qp-number-past-the-table",
               "RTS2SQD_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::rts,
     .command = opcode::rts2sqd_qp,
     .which = named::past_the_table},
    {.about = {"sqd2rts_qp-number-past-the-table",
               "SQD2RTS_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::sq_drained,
     .command = opcode::sqd2rts_qp,
     .which = named::past_the_table},
    {.about = {"sqd2sqd_qp-number-past-the-table",
               "SQD2SQD_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::sq_drained,
     .command = opcode::sqd2sqd_qp,
     .which = named::past_the_table},
    {.about = {"2err_qp-number-past-the-table",
               "2ERR_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::rts,
     .command = opcode::to_err_qp,
     .which = named::past_the_table},
    {.about = {"2rst_qp-number-past-the-table",
               "2RST_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::rts,
     .command = opcode::to_rst_qp,
     .which = named::past_the_table},
    {.about = {"query_qp-number-past-the-table",
               "QUERY_QP of a number past the table is that of its low bits", taken,
               source::high_bits},
     .from = qp_state::rts,
     .command = opcode::query_qp,
     .which = named::past_the_table},
    {.about = {"rst2init_qp-another-number", "RST2INIT_QP whose context names no number", taken,
               "iPXE hermon.c hermon_create_qp leaves it empty"},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil = [](bench& b) { return change_context<&qpc::local_qpn>(b, 0u); }},
    {.about = {"rst2init_qp-reliable-datagrams", "RST2INIT_QP for reliable datagrams",
               expectation::refused(), service},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil = [](bench& b) { return change_context<&qpc::service>(b, qp_service::rd); }},
    {.about = {"rst2init_qp-no-such-service", "RST2INIT_QP for service 4", expectation::refused(),
               service},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil = [](bench& b) { return change_context<&qpc::service>(b, qp_service::fcmnd); }},
    {.about = {"rst2init_qp-no-send-completions",
               "RST2INIT_QP with a completion queue of sends that hardware has not",
               expectation::refused(), completes},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil =
         [](bench& b) {
           return change_context<&qpc::cqn_send>(b,
                                                 b.number(object::completion_queue, named::unmade));
         }},
    {.about = {"rst2init_qp-no-receive-completions",
               "RST2INIT_QP with a completion queue of receives that hardware has not",
               expectation::refused(), completes},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil =
         [](bench& b) {
           return change_context<&qpc::cqn_recv>(b,
                                                 b.number(object::completion_queue, named::unmade));
         }},
    {.about = {"rst2init_qp-no-shared-queue",
               "RST2INIT_QP with a shared receive queue that hardware has not",
               expectation::refused(), "rule qp-srq: IBTA Create QP: invalid SRQ handle"},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil =
         [](bench& b) {
           change_context<&qpc::srq>(b, true);
           return change_context<&qpc::srqn>(b, b.number(object::shared_queue, named::unmade));
         }},
    {.about = {"rst2init_qp-send-queue-above-the-largest",
               "RST2INIT_QP asks for more sends than QUERY_DEV_CAP allows", expectation::refused(),
               size},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil =
         [](bench& b) {
           return b.can().log_most_wqes < qpc{}.log_sq_size.mask() &&
                  change_context<&qpc::log_sq_size>(b, b.can().log_most_wqes + 1);
         }},
    {.about = {"rst2init_qp-receive-queue-above-the-largest",
               "RST2INIT_QP asks for more receives than QUERY_DEV_CAP allows",
               expectation::refused(), size},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil =
         [](bench& b) {
           return b.can().log_most_wqes < qpc{}.log_rq_size.mask() &&
                  change_context<&qpc::log_rq_size>(b, b.can().log_most_wqes + 1);
         }},
    {.about = {"rst2init_qp-domain-above-those-reported",
               "RST2INIT_QP names a protection domain that is not reported", taken,
               "Linux mlx4/pd.c numbers domains up to 2^17; iPXE hermon.h HERMON_GLOBAL_PD"},
     .from = qp_state::reset,
     .command = opcode::rst2init_qp,
     .spoil = [](bench& b) { return change_context<&qpc::pd>(b, 0x1ffffu); }},
    {.about = {"init2rtr_qp-state-left-empty", "INIT2RTR_QP whose context says RESET", taken,
               source::quiet_fields},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .spoil = [](bench& b) { return change_context<&qpc::state>(b, qp_state::reset); }},
    {.about = {"init2rtr_qp-another-service", "INIT2RTR_QP whose context names another service",
               taken, source::quiet_fields},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .spoil = [](bench& b) { return change_context<&qpc::service>(b, qp_service::uc); }},
    {.about = {"rtr2rts_qp-state-left-empty", "RTR2RTS_QP whose context says RESET", taken,
               source::quiet_fields},
     .from = qp_state::rtr,
     .command = opcode::rtr2rts_qp,
     .spoil = [](bench& b) { return change_context<&qpc::state>(b, qp_state::reset); }},
    {.about = {"rtr2rts_qp-another-service", "RTR2RTS_QP whose context names another service",
               taken, source::quiet_fields},
     .from = qp_state::rtr,
     .command = opcode::rtr2rts_qp,
     .spoil = [](bench& b) { return change_context<&qpc::service>(b, qp_service::uc); }},
    {.about = {"rts2rts_qp-state-left-empty", "RTS2RTS_QP whose context says RESET", taken,
               source::quiet_fields},
     .from = qp_state::rts,
     .command = opcode::rts2rts_qp,
     .spoil = [](bench& b) { return change_context<&qpc::state>(b, qp_state::reset); }},
    {.about = {"rts2rts_qp-another-service", "RTS2RTS_QP whose context names another service",
               taken, source::quiet_fields},
     .from = qp_state::rts,
     .command = opcode::rts2rts_qp,
     .spoil = [](bench& b) { return change_context<&qpc::service>(b, qp_service::uc); }},
    {.about = {"init2rtr_qp-no-mtu", "INIT2RTR_QP with an MTU of code 0", expectation::refused(),
               mtu},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .spoil = [](bench& b) { return change_context<&qpc::mtu>(b, ib_mtu{}); }},
    {.about = {"init2rtr_qp-mtu-above-the-largest", "INIT2RTR_QP with an MTU of code 7",
               expectation::refused(), mtu},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .spoil = [](bench& b) { return change_context<&qpc::mtu>(b, static_cast<ib_mtu>(7)); }},
    {.about = {"init2rtr_qp-static-rate", "INIT2RTR_QP with a static rate that is not reported",
               taken, "Linux hw/mlx4/qp.c _mlx4_set_path gives 7 where none is reported"},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .spoil = [](bench& b) { return change_context<&primary_path::static_rate>(b, 7u); }},
    migrates("rtr2rts_qp-migration-armed", "RTR2RTS_QP asks for the migration state armed",
             qp_state::rtr, opcode::rtr2rts_qp, ask_for<path_migration::armed>),
    migrates("rtr2rts_qp-migration-no-such",
             "RTR2RTS_QP asks for a migration state that there is not", qp_state::rtr,
             opcode::rtr2rts_qp, ask_for<static_cast<path_migration>(2)>),
    migrates("rts2rts_qp-migration-armed", "RTS2RTS_QP asks for the migration state armed",
             qp_state::rts, opcode::rts2rts_qp, ask_for<path_migration::armed>),
    migrates("rts2rts_qp-migration-no-such",
             "RTS2RTS_QP asks for a migration state that there is not", qp_state::rts,
             opcode::rts2rts_qp, ask_for<static_cast<path_migration>(2)>),
    migrates("sqd2rts_qp-migration-armed", "SQD2RTS_QP asks for the migration state armed",
             qp_state::sq_drained, opcode::sqd2rts_qp, ask_for<path_migration::armed>),
    migrates("sqd2rts_qp-migration-no-such",
             "SQD2RTS_QP asks for a migration state that there is not", qp_state::sq_drained,
             opcode::sqd2rts_qp, ask_for<static_cast<path_migration>(2)>),
    migrates("sqd2sqd_qp-migration-armed", "SQD2SQD_QP asks for the migration state armed",
             qp_state::sq_drained, opcode::sqd2sqd_qp, ask_for<path_migration::armed>),
    migrates("sqd2sqd_qp-migration-no-such",
             "SQD2SQD_QP asks for a migration state that there is not", qp_state::sq_drained,
             opcode::sqd2sqd_qp, ask_for<static_cast<path_migration>(2)>),
    migrates("sqd2sqd_qp-migration-rearm", "SQD2SQD_QP asks for the migration state rearm",
             qp_state::sq_drained, opcode::sqd2sqd_qp, ask_for<path_migration::rearm>),
    {.about = {"init2rtr_qp-responder-resources",
               "INIT2RTR_QP asks for more responder resources than INIT_HCA gave each queue pair",
               expectation::refused(), resources},
     .from = qp_state::init,
     .command = opcode::init2rtr_qp,
     .spoil = too_many_resources},
    {.about = {"sqd2sqd_qp-responder-resources",
               "SQD2SQD_QP asks for more responder resources than INIT_HCA gave each queue pair",
               expectation::refused(), resources},
     .from = qp_state::sq_drained,
     .command = opcode::sqd2sqd_qp,
     .spoil =
         [](bench& b) {
           b.change<qp_mailbox, &qp_mailbox::opt_param_mask>(qp_optpar::rra_max);
           return too_many_resources(b);
         }},
};

}  // namespace
}  // namespace rows_of_transition_mailboxes

extern const row_group transition_mailboxes =
    group_of<rows_of_transition_mailboxes::rows, run_qp_row>(
        "transition-mailboxes", "asks a queue pair for transitions with a mailbox that is wrong");

}  // namespace freehca::conformance
