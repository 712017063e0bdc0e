// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each transition from each state that it does not begin in.
#include "qp_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_transitions {
namespace {

constexpr qp_row wrong(const char* name, const char* what, qp_state from, opcode command) {
  return {.about = {name, what, command_status::bad_qp_state, source::qp_state},
          .from = from,
          .command = command};
}

constexpr qp_row rows[] = {
    wrong("rst2init_qp-in-init", "RST2INIT_QP of a queue pair in INIT", qp_state::init,
          opcode::rst2init_qp),
    wrong("rst2init_qp-in-rtr", "RST2INIT_QP of a queue pair in RTR", qp_state::rtr,
          opcode::rst2init_qp),
    wrong("rst2init_qp-in-rts", "RST2INIT_QP of a queue pair in RTS", qp_state::rts,
          opcode::rst2init_qp),
    wrong("rst2init_qp-in-sqd", "RST2INIT_QP of a queue pair in SQD", qp_state::sq_drained,
          opcode::rst2init_qp),
    wrong("rst2init_qp-in-error", "RST2INIT_QP of a queue pair in ERROR", qp_state::error,
          opcode::rst2init_qp),
    wrong("init2init_qp-in-reset", "INIT2INIT_QP of a queue pair in RESET", qp_state::reset,
          opcode::init2init_qp),
    wrong("init2init_qp-in-rtr", "INIT2INIT_QP of a queue pair in RTR", qp_state::rtr,
          opcode::init2init_qp),
    wrong("init2init_qp-in-rts", "INIT2INIT_QP of a queue pair in RTS", qp_state::rts,
          opcode::init2init_qp),
    wrong("init2init_qp-in-sqd", "INIT2INIT_QP of a queue pair in SQD", qp_state::sq_drained,
          opcode::init2init_qp),
    wrong("init2init_qp-in-error", "INIT2INIT_QP of a queue pair in ERROR", qp_state::error,
          opcode::init2init_qp),
    wrong("init2rtr_qp-in-reset", "INIT2RTR_QP of a queue pair in RESET", qp_state::reset,
          opcode::init2rtr_qp),
    wrong("init2rtr_qp-in-rtr", "INIT2RTR_QP of a queue pair in RTR", qp_state::rtr,
          opcode::init2rtr_qp),
    wrong("init2rtr_qp-in-rts", "INIT2RTR_QP of a queue pair in RTS", qp_state::rts,
          opcode::init2rtr_qp),
    wrong("init2rtr_qp-in-sqd", "INIT2RTR_QP of a queue pair in SQD", qp_state::sq_drained,
          opcode::init2rtr_qp),
    wrong("init2rtr_qp-in-error", "INIT2RTR_QP of a queue pair in ERROR", qp_state::error,
          opcode::init2rtr_qp),
    wrong("rtr2rts_qp-in-reset", "RTR2RTS_QP of a queue pair in RESET", qp_state::reset,
          opcode::rtr2rts_qp),
    wrong("rtr2rts_qp-in-init", "RTR2RTS_QP of a queue pair in INIT", qp_state::init,
          opcode::rtr2rts_qp),
    wrong("rtr2rts_qp-in-rts", "RTR2RTS_QP of a queue pair in RTS", qp_state::rts,
          opcode::rtr2rts_qp),
    wrong("rtr2rts_qp-in-sqd", "RTR2RTS_QP of a queue pair in SQD", qp_state::sq_drained,
          opcode::rtr2rts_qp),
    wrong("rtr2rts_qp-in-error", "RTR2RTS_QP of a queue pair in ERROR", qp_state::error,
          opcode::rtr2rts_qp),
    wrong("rts2rts_qp-in-reset", "RTS2RTS_QP of a queue pair in RESET", qp_state::reset,
          opcode::rts2rts_qp),
    wrong("rts2rts_qp-in-init", "RTS2RTS_QP of a queue pair in INIT", qp_state::init,
          opcode::rts2rts_qp),
    wrong("rts2rts_qp-in-rtr", "RTS2RTS_QP of a queue pair in RTR", qp_state::rtr,
          opcode::rts2rts_qp),
    wrong("rts2rts_qp-in-sqd", "RTS2RTS_QP of a queue pair in SQD", qp_state::sq_drained,
          opcode::rts2rts_qp),
    wrong("rts2rts_qp-in-error", "RTS2RTS_QP of a queue pair in ERROR", qp_state::error,
          opcode::rts2rts_qp),
    wrong("rts2sqd_qp-in-reset", "RTS2SQD_QP of a queue pair in RESET", qp_state::reset,
          opcode::rts2sqd_qp),
    wrong("rts2sqd_qp-in-init", "RTS2SQD_QP of a queue pair in INIT", qp_state::init,
          opcode::rts2sqd_qp),
    wrong("rts2sqd_qp-in-rtr", "RTS2SQD_QP of a queue pair in RTR", qp_state::rtr,
          opcode::rts2sqd_qp),
    wrong("rts2sqd_qp-in-error", "RTS2SQD_QP of a queue pair in ERROR", qp_state::error,
          opcode::rts2sqd_qp),
    wrong("sqd2rts_qp-in-reset", "SQD2RTS_QP of a queue pair in RESET", qp_state::reset,
          opcode::sqd2rts_qp),
    wrong("sqd2rts_qp-in-init", "SQD2RTS_QP of a queue pair in INIT", qp_state::init,
          opcode::sqd2rts_qp),
    wrong("sqd2rts_qp-in-rtr", "SQD2RTS_QP of a queue pair in RTR", qp_state::rtr,
          opcode::sqd2rts_qp),
    wrong("sqd2rts_qp-in-rts", "SQD2RTS_QP of a queue pair in RTS", qp_state::rts,
          opcode::sqd2rts_qp),
    wrong("sqd2rts_qp-in-error", "SQD2RTS_QP of a queue pair in ERROR", qp_state::error,
          opcode::sqd2rts_qp),
    wrong("sqd2sqd_qp-in-reset", "SQD2SQD_QP of a queue pair in RESET", qp_state::reset,
          opcode::sqd2sqd_qp),
    wrong("sqd2sqd_qp-in-init", "SQD2SQD_QP of a queue pair in INIT", qp_state::init,
          opcode::sqd2sqd_qp),
    wrong("sqd2sqd_qp-in-rtr", "SQD2SQD_QP of a queue pair in RTR", qp_state::rtr,
          opcode::sqd2sqd_qp),
    wrong("sqd2sqd_qp-in-rts", "SQD2SQD_QP of a queue pair in RTS", qp_state::rts,
          opcode::sqd2sqd_qp),
    wrong("sqd2sqd_qp-in-error", "SQD2SQD_QP of a queue pair in ERROR", qp_state::error,
          opcode::sqd2sqd_qp),
    wrong("sqerr2rts_qp-in-reset", "SQERR2RTS_QP of a queue pair in RESET", qp_state::reset,
          opcode::sqerr2rts_qp),
    wrong("sqerr2rts_qp-in-init", "SQERR2RTS_QP of a queue pair in INIT", qp_state::init,
          opcode::sqerr2rts_qp),
    wrong("sqerr2rts_qp-in-rtr", "SQERR2RTS_QP of a queue pair in RTR", qp_state::rtr,
          opcode::sqerr2rts_qp),
    wrong("sqerr2rts_qp-in-rts", "SQERR2RTS_QP of a queue pair in RTS", qp_state::rts,
          opcode::sqerr2rts_qp),
    wrong("sqerr2rts_qp-in-sqd", "SQERR2RTS_QP of a queue pair in SQD", qp_state::sq_drained,
          opcode::sqerr2rts_qp),
    wrong("sqerr2rts_qp-in-error", "SQERR2RTS_QP of a queue pair in ERROR", qp_state::error,
          opcode::sqerr2rts_qp),
    wrong("2rst_qp-in-reset", "2RST_QP of a queue pair in RESET", qp_state::reset,
          opcode::to_rst_qp),
};

}  // namespace
}  // namespace rows_of_transitions

extern const row_group transitions = group_of<rows_of_transitions::rows, run_qp_row>(
    "transitions", "asks a queue pair for transitions that do not begin in its state");

}  // namespace freehca::conformance
