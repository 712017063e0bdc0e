// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/opcode.hpp>

namespace freehca::recorder {

/// Commands whose input mailbox is recorded: those with a table that describes every byte. A
/// mailbox without a table may have any contents, including the name of the card's user.
constexpr bool has_input_mailbox(layouts::opcode code) {
  using layouts::opcode;
  switch (code) {
    case opcode::map_fa:
    case opcode::map_icm:
    case opcode::map_icm_aux:
    case opcode::init_hca:
    case opcode::set_node:
    case opcode::set_port:
    case opcode::sw2hw_mpt:
    case opcode::write_mtt:
    case opcode::sw2hw_eq:
    case opcode::sw2hw_cq:
    case opcode::modify_cq:
    case opcode::sw2hw_srq:
    case opcode::rst2init_qp:
    case opcode::init2init_qp:
    case opcode::init2rtr_qp:
    case opcode::rtr2rts_qp:
    case opcode::rts2rts_qp:
    case opcode::sqerr2rts_qp:
    case opcode::sqd2sqd_qp:
    case opcode::sqd2rts_qp:
    case opcode::write_mcg:
    case opcode::mad_ifc:
    case opcode::mad_demux:
      return true;
    default:
      return false;
  }
}

/// The same for output mailboxes.
constexpr bool has_output_mailbox(layouts::opcode code) {
  using layouts::opcode;
  switch (code) {
    case opcode::query_fw:
    case opcode::query_dev_cap:
    case opcode::query_adapter:
    case opcode::query_hca:
    case opcode::query_port:
    case opcode::query_mpt:
    case opcode::hw2sw_mpt:
    case opcode::query_eq:
    case opcode::hw2sw_eq:
    case opcode::query_cq:
    case opcode::hw2sw_cq:
    case opcode::query_srq:
    case opcode::hw2sw_srq:
    case opcode::query_qp:
    case opcode::read_mcg:
    case opcode::mad_ifc:
      return true;
    default:
      return false;
  }
}

}  // namespace freehca::recorder
