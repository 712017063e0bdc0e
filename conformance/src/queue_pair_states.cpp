// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Where transitions lead, and what QUERY_QP says of a queue pair.
#include "qp_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_queue_pair_states {
namespace {

constexpr char linux_modifies[] =
    "Linux hw/mlx4/qp.c __mlx4_ib_modify_qp, mlx4/qp.c mlx4_qp_modify";
constexpr char linux_queries[] = "Linux hw/mlx4/qp.c mlx4_ib_query_qp";

constexpr qp_row good(const char* name, const char* what, qp_service service, qp_state from,
                      opcode command, qp_state to) {
  return {.about = {name, what, to, linux_modifies},
          .from = from,
          .command = command,
          .service = service,
          .and_then_state = true};
}

constexpr qp_row told(const char* name, const char* what, qp_state in,
                      bool (*check)(const image<qpc>& context, const bench& with)) {
  return {.about = {name, what, answer::holds(true), linux_queries},
          .from = in,
          .command = opcode::query_qp,
          .check = check};
}

constexpr qp_row rows[] = {
    good("rc-rst2init", "RC: RST2INIT_QP leads to INIT", qp_service::rc, qp_state::reset,
         opcode::rst2init_qp, qp_state::init),
    good("rc-init2init", "RC: INIT2INIT_QP stays in INIT", qp_service::rc, qp_state::init,
         opcode::init2init_qp, qp_state::init),
    good("rc-init2rtr", "RC: INIT2RTR_QP leads to RTR", qp_service::rc, qp_state::init,
         opcode::init2rtr_qp, qp_state::rtr),
    good("rc-rtr2rts", "RC: RTR2RTS_QP leads to RTS", qp_service::rc, qp_state::rtr,
         opcode::rtr2rts_qp, qp_state::rts),
    good("rc-rts2rts", "RC: RTS2RTS_QP stays in RTS", qp_service::rc, qp_state::rts,
         opcode::rts2rts_qp, qp_state::rts),
    good("rc-rts2sqd", "RC: RTS2SQD_QP leads to SQD, when nothing is under way", qp_service::rc,
         qp_state::rts, opcode::rts2sqd_qp, qp_state::sq_drained),
    good("rc-sqd2rts", "RC: SQD2RTS_QP leads back to RTS", qp_service::rc, qp_state::sq_drained,
         opcode::sqd2rts_qp, qp_state::rts),
    good("rc-sqd2sqd", "RC: SQD2SQD_QP stays in SQD", qp_service::rc, qp_state::sq_drained,
         opcode::sqd2sqd_qp, qp_state::sq_drained),
    good("rc-2err-from-init", "RC: 2ERR_QP leads from INIT to ERROR", qp_service::rc,
         qp_state::init, opcode::to_err_qp, qp_state::error),
    good("rc-2err-from-rtr", "RC: 2ERR_QP leads from RTR to ERROR", qp_service::rc, qp_state::rtr,
         opcode::to_err_qp, qp_state::error),
    good("rc-2err-from-rts", "RC: 2ERR_QP leads from RTS to ERROR", qp_service::rc, qp_state::rts,
         opcode::to_err_qp, qp_state::error),
    good("rc-2err-from-sqd", "RC: 2ERR_QP leads from SQD to ERROR", qp_service::rc,
         qp_state::sq_drained, opcode::to_err_qp, qp_state::error),
    good("uc-rst2init", "UC: RST2INIT_QP leads to INIT", qp_service::uc, qp_state::reset,
         opcode::rst2init_qp, qp_state::init),
    good("uc-init2init", "UC: INIT2INIT_QP stays in INIT", qp_service::uc, qp_state::init,
         opcode::init2init_qp, qp_state::init),
    good("uc-init2rtr", "UC: INIT2RTR_QP leads to RTR", qp_service::uc, qp_state::init,
         opcode::init2rtr_qp, qp_state::rtr),
    good("uc-rtr2rts", "UC: RTR2RTS_QP leads to RTS", qp_service::uc, qp_state::rtr,
         opcode::rtr2rts_qp, qp_state::rts),
    good("uc-rts2rts", "UC: RTS2RTS_QP stays in RTS", qp_service::uc, qp_state::rts,
         opcode::rts2rts_qp, qp_state::rts),
    good("uc-rts2sqd", "UC: RTS2SQD_QP leads to SQD, when nothing is under way", qp_service::uc,
         qp_state::rts, opcode::rts2sqd_qp, qp_state::sq_drained),
    good("uc-sqd2rts", "UC: SQD2RTS_QP leads back to RTS", qp_service::uc, qp_state::sq_drained,
         opcode::sqd2rts_qp, qp_state::rts),
    good("uc-sqd2sqd", "UC: SQD2SQD_QP stays in SQD", qp_service::uc, qp_state::sq_drained,
         opcode::sqd2sqd_qp, qp_state::sq_drained),
    good("uc-2err-from-init", "UC: 2ERR_QP leads from INIT to ERROR", qp_service::uc,
         qp_state::init, opcode::to_err_qp, qp_state::error),
    good("uc-2err-from-rts", "UC: 2ERR_QP leads from RTS to ERROR", qp_service::uc, qp_state::rts,
         opcode::to_err_qp, qp_state::error),
    good("ud-rst2init", "UD: RST2INIT_QP leads to INIT", qp_service::ud, qp_state::reset,
         opcode::rst2init_qp, qp_state::init),
    good("ud-init2init", "UD: INIT2INIT_QP stays in INIT", qp_service::ud, qp_state::init,
         opcode::init2init_qp, qp_state::init),
    good("ud-init2rtr", "UD: INIT2RTR_QP leads to RTR", qp_service::ud, qp_state::init,
         opcode::init2rtr_qp, qp_state::rtr),
    good("ud-rtr2rts", "UD: RTR2RTS_QP leads to RTS", qp_service::ud, qp_state::rtr,
         opcode::rtr2rts_qp, qp_state::rts),
    good("ud-rts2rts", "UD: RTS2RTS_QP stays in RTS", qp_service::ud, qp_state::rts,
         opcode::rts2rts_qp, qp_state::rts),
    good("ud-rts2sqd", "UD: RTS2SQD_QP leads to SQD, when nothing is under way", qp_service::ud,
         qp_state::rts, opcode::rts2sqd_qp, qp_state::sq_drained),
    good("ud-sqd2rts", "UD: SQD2RTS_QP leads back to RTS", qp_service::ud, qp_state::sq_drained,
         opcode::sqd2rts_qp, qp_state::rts),
    good("ud-sqd2sqd", "UD: SQD2SQD_QP stays in SQD", qp_service::ud, qp_state::sq_drained,
         opcode::sqd2sqd_qp, qp_state::sq_drained),
    good("ud-2err-from-init", "UD: 2ERR_QP leads from INIT to ERROR", qp_service::ud,
         qp_state::init, opcode::to_err_qp, qp_state::error),
    good("ud-2err-from-rts", "UD: 2ERR_QP leads from RTS to ERROR", qp_service::ud, qp_state::rts,
         opcode::to_err_qp, qp_state::error),
    good("rc-2rst-from-init", "RC: 2RST_QP leads from INIT to RESET", qp_service::rc,
         qp_state::init, opcode::to_rst_qp, qp_state::reset),
    good("rc-2rst-from-rtr", "RC: 2RST_QP leads from RTR to RESET", qp_service::rc, qp_state::rtr,
         opcode::to_rst_qp, qp_state::reset),
    good("rc-2rst-from-rts", "RC: 2RST_QP leads from RTS to RESET", qp_service::rc, qp_state::rts,
         opcode::to_rst_qp, qp_state::reset),
    good("rc-2rst-from-sqd", "RC: 2RST_QP leads from SQD to RESET", qp_service::rc,
         qp_state::sq_drained, opcode::to_rst_qp, qp_state::reset),
    good("rc-2rst-from-error", "RC: 2RST_QP leads from ERROR to RESET", qp_service::rc,
         qp_state::error, opcode::to_rst_qp, qp_state::reset),
    told("query-peer", "QUERY_QP in RTR gives the peer that it was given", qp_state::rtr,
         [](const image<qpc>& c, const bench& b) {
           return c.get<&qpc::remote_qpn>() == b.number(object::queue_pair) &&
                  c.get<&primary_path::rlid>() == b.port().lid;
         }),
    told("query-mtu", "QUERY_QP in RTR gives the MTU that it was given", qp_state::rtr,
         [](const image<qpc>& c, const bench& b) {
           return c.get<&qpc::mtu>() == b.port().active_mtu;
         }),
    told("query-receive-psn", "QUERY_QP in RTR gives the sequence number that it waits for",
         qp_state::rtr,
         [](const image<qpc>& c, const bench&) { return c.get<&qpc::next_rcv_psn>() == 0x100; }),
    told("query-send-psn", "QUERY_QP in RTS gives the sequence number that it begins with",
         qp_state::rts,
         [](const image<qpc>& c, const bench&) { return c.get<&qpc::next_send_psn>() == 0x100; }),
    told("query-retries", "QUERY_QP in RTS gives the retries that it was given", qp_state::rts,
         [](const image<qpc>& c, const bench&) {
           return c.get<&qpc::retry_count>() == 7 && c.get<&qpc::rnr_retry>() == 7;
         }),
    told("query-queues", "QUERY_QP in INIT gives its completion queues", qp_state::init,
         [](const image<qpc>& c, const bench& b) {
           return c.get<&qpc::cqn_send>() == b.number(object::completion_queue) &&
                  c.get<&qpc::cqn_recv>() == b.number(object::completion_queue);
         }),
    told("query-migrated", "QUERY_QP in RTS says migrated, where no migration was asked for",
         qp_state::rts,
         [](const image<qpc>& c,
            const bench&) { return c.get<&qpc::pm_state>() == path_migration::migrated; }),
};

}  // namespace
}  // namespace rows_of_queue_pair_states

extern const row_group queue_pair_states = group_of<rows_of_queue_pair_states::rows, run_qp_row>(
    "queue-pair-states", "takes a queue pair through its states, and reads its context");

}  // namespace freehca::conformance
