// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Transitions by a port that there is not. A context has one bit for the port: adapters of two
// ports have no such case.
#include "qp_row.hpp"

namespace freehca::conformance {

using namespace layouts;

namespace rows_of_transition_ports {
namespace {

template <class Path, std::uint32_t Option>
bool by_port_2(bench& b) {
  if (b.can().ports != 1) return false;
  auto mask = b.next_input<qp_mailbox>().get<&qp_mailbox::opt_param_mask>();
  b.change<qp_mailbox, &qp_mailbox::opt_param_mask>(mask | Option);
  change_context<&Path::rlid>(b, b.port().lid);
  return change_context<&Path::sched_queue>(b, sched_queue_ib(2, 0));
}

constexpr qp_row wrong(const char* name, const char* what, qp_state from, opcode command,
                       bool (*spoil)(bench& with)) {
  return {.about = {name, what, expectation::refused(),
                    "rule qp-port: IBTA Modify QP: invalid port; Linux sw/rdmavt/qp.c"},
          .from = from,
          .command = command,
          .spoil = spoil};
}

constexpr qp_row rows[] = {
    wrong("rst2init_qp-port-past-the-last", "RST2INIT_QP by a port past the last", qp_state::reset,
          opcode::rst2init_qp, by_port_2<primary_path, 0>),
    wrong("rst2init_qp-alternate-port-past-the-last",
          "RST2INIT_QP by an alternate port past the last", qp_state::reset, opcode::rst2init_qp,
          by_port_2<alternate_path, 0>),
    wrong("init2init_qp-port-past-the-last", "INIT2INIT_QP by a port past the last", qp_state::init,
          opcode::init2init_qp, by_port_2<primary_path, qp_optpar::sched_queue>),
    wrong("init2rtr_qp-port-past-the-last", "INIT2RTR_QP by a port past the last", qp_state::init,
          opcode::init2rtr_qp, by_port_2<primary_path, 0>),
    wrong("init2rtr_qp-alternate-port-past-the-last",
          "INIT2RTR_QP by an alternate port past the last", qp_state::init, opcode::init2rtr_qp,
          by_port_2<alternate_path, qp_optpar::alternate_path>),
    wrong("rtr2rts_qp-alternate-port-past-the-last",
          "RTR2RTS_QP by an alternate port past the last", qp_state::rtr, opcode::rtr2rts_qp,
          by_port_2<alternate_path, qp_optpar::alternate_path>),
    wrong("rts2rts_qp-alternate-port-past-the-last",
          "RTS2RTS_QP by an alternate port past the last", qp_state::rts, opcode::rts2rts_qp,
          by_port_2<alternate_path, qp_optpar::alternate_path>),
    wrong("sqd2rts_qp-alternate-port-past-the-last",
          "SQD2RTS_QP by an alternate port past the last", qp_state::sq_drained, opcode::sqd2rts_qp,
          by_port_2<alternate_path, qp_optpar::alternate_path>),
    wrong("sqd2sqd_qp-port-past-the-last", "SQD2SQD_QP by a port past the last",
          qp_state::sq_drained, opcode::sqd2sqd_qp,
          by_port_2<primary_path, qp_optpar::primary_path>),
    wrong("sqd2sqd_qp-alternate-port-past-the-last",
          "SQD2SQD_QP by an alternate port past the last", qp_state::sq_drained, opcode::sqd2sqd_qp,
          by_port_2<alternate_path, qp_optpar::alternate_path>),
};

}  // namespace
}  // namespace rows_of_transition_ports

extern const row_group transition_ports = group_of<rows_of_transition_ports::rows, run_qp_row>(
    "transition-ports", "asks a queue pair of an adapter of one port for transitions by port 2");

}  // namespace freehca::conformance
