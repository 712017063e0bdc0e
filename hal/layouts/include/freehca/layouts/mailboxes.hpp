// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/layouts/opcode.hpp>

namespace freehca::layouts {

/// What the HCR's two parameters mean to a command.
struct mailboxes {
  bool input = false, output = false;
};

/// Which parameters of a command are mailbox addresses; of some commands the opcode modifier
/// decides. Sources: which of mlx4_cmd, mlx4_cmd_box and mlx4_cmd_imm the Linux 6.1 driver calls,
/// and with what.
constexpr mailboxes mailboxes_of(opcode o, unsigned modifier) {
  switch (o) {
    case opcode::query_fw:
    case opcode::query_dev_cap:
    case opcode::query_adapter:
    case opcode::query_hca:
    case opcode::query_func:
    case opcode::query_port:
    case opcode::query_mpt:
    case opcode::query_eq:
    case opcode::query_cq:
    case opcode::query_srq:
    case opcode::query_qp:
    case opcode::read_mcg:
    case opcode::read_mtt:
    case opcode::query_if_stat:
    case opcode::dump_eth_stats:
    case opcode::diag_rprt:
      return {false, true};
    case opcode::map_fa:
    case opcode::map_icm_aux:
    case opcode::map_icm:
    case opcode::init_hca:
    case opcode::set_node:
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
    case opcode::update_qp:
    case opcode::write_mcg:
    case opcode::mgid_hash:
    case opcode::qp_flow_steering_attach:
    case opcode::set_vlan_fltr:
      return {true, false};
    case opcode::mad_ifc:
    case opcode::access_reg:
      return {true, true};
    case opcode::hw2sw_mpt:
    case opcode::hw2sw_eq:
    case opcode::hw2sw_cq:
    case opcode::hw2sw_srq:
      return {false, modifier == static_cast<unsigned>(hw2sw_modifier::write_context)};
    case opcode::to_rst_qp:
      return {false, modifier == static_cast<unsigned>(to_rst_qp_modifier::write_context)};
    case opcode::mod_stat_cfg:
      return {modifier == 0, modifier == 2};
    case opcode::mad_demux:
      return {modifier == static_cast<unsigned>(mad_demux_modifier::config),
              modifier != static_cast<unsigned>(mad_demux_modifier::config)};
    case opcode::config_dev:
      return {modifier == 0, modifier == 1};
    case opcode::congestion_ctrl:
      return {modifier == static_cast<unsigned>(congestion_ctrl_modifier::set_params),
              modifier <= static_cast<unsigned>(congestion_ctrl_modifier::get_statistics)};
    case opcode::virt_port_map:
      return {modifier == static_cast<unsigned>(virt_port_map_modifier::set),
              modifier == static_cast<unsigned>(virt_port_map_modifier::get)};
    case opcode::set_port:
      return {modifier <= static_cast<unsigned>(set_port_modifier::ethernet) ||
                  modifier == static_cast<unsigned>(set_port_modifier::beacon),
              false};
    case opcode::get_op_req:
      return {false, modifier == 0};
    default:
      return {};
  }
}

}  // namespace freehca::layouts
