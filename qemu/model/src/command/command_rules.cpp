// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "command/command_rules.hpp"

#include <freehca/layouts/diag_rprt.hpp>

namespace freehca::model {

using layouts::opcode;

layouts::mailboxes mailboxes_of(const command& c) {
  return layouts::mailboxes_of(c.opcode, c.opcode_modifier);
}

bool writes_context(const command& c) {
  return mailboxes_of(c).output && c.output_parameter != 0;
}

// Sources: the callers in Linux 6.1, iPXE hermon.c; opcode.hpp names what each means.
std::uint16_t modifiers_of(opcode o) {
  constexpr std::uint16_t none = 0x1, all = 0xffff;
  switch (o) {
    case opcode::close_hca:
    case opcode::hw2sw_mpt:
    case opcode::hw2sw_eq:
    case opcode::sw2hw_cq:
    case opcode::hw2sw_cq:
    case opcode::modify_cq:
    case opcode::hw2sw_srq:
    case opcode::mgid_hash:  // Linux mcg.c: 1 for Ethernet
    case opcode::config_dev:
    case opcode::write_mcg:  // Linux mcg.c: 1 for promiscuous entries
    case opcode::virt_port_map:
    case opcode::get_op_req:
      return 0x3;
    case opcode::mad_demux:
    case opcode::set_mcast_fltr:
      return 0x7;
    case opcode::set_port:
      return 1u << static_cast<unsigned>(layouts::set_port_modifier::ib) |
             1u << static_cast<unsigned>(layouts::set_port_modifier::ethernet) |
             1u << static_cast<unsigned>(layouts::set_port_modifier::beacon);
    case opcode::to_rst_qp:
    case opcode::mod_stat_cfg:
      return 0xf;
    case opcode::congestion_ctrl:
      return 1u << static_cast<unsigned>(layouts::congestion_ctrl_modifier::get_params) |
             1u << static_cast<unsigned>(layouts::congestion_ctrl_modifier::get_statistics) |
             1u << static_cast<unsigned>(layouts::congestion_ctrl_modifier::set_params);
    case opcode::diag_rprt:
      return 1u << static_cast<unsigned>(layouts::diag_rprt_modifier::query_transport_ci_errors);
    case opcode::conf_special_qp:  // iPXE: a mask of queue pairs
    case opcode::mad_ifc:          // a mask too
      return all;
    default:
      return none;
  }
}

bool chooses_operation(opcode o) {
  return o == opcode::mod_stat_cfg || o == opcode::modify_cq || o == opcode::mad_demux ||
         o == opcode::set_port || o == opcode::set_mcast_fltr || o == opcode::config_dev ||
         o == opcode::virt_port_map || o == opcode::congestion_ctrl || o == opcode::get_op_req;
}

system_state least_state_of(opcode o) {
  switch (o) {
    case opcode::query_fw:
    case opcode::map_fa:
      return system_state::cold;
    case opcode::unmap_fa:
    case opcode::run_fw:
      return system_state::firmware_mapped;
    case opcode::query_dev_cap:
    case opcode::query_adapter:
    case opcode::query_hca:
    case opcode::query_func:
    case opcode::query_port:
    case opcode::sense_port:
    case opcode::mod_stat_cfg:
    case opcode::config_dev:
    case opcode::hw_health_check:
    case opcode::set_icm_size:
    case opcode::map_icm_aux:
    case opcode::unmap_icm_aux:
    case opcode::map_icm:
    case opcode::unmap_icm:
    case opcode::init_hca:
    case opcode::close_hca:
    case opcode::nop:
      return system_state::firmware_running;
    default:
      return system_state::hca_running;
  }
}

std::optional<std::uint64_t> object_of(const command& c) {
  enum kind : std::uint64_t { mpt = 1, eq, cq, srq, qp };
  const auto named = [&c](kind k) { return k << 32 | (c.input_modifier & 0xffffff); };
  switch (c.opcode) {
    case opcode::sw2hw_mpt:
    case opcode::hw2sw_mpt:
    case opcode::query_mpt:
      return named(mpt);
    case opcode::sw2hw_eq:
    case opcode::hw2sw_eq:
    case opcode::query_eq:
      return named(eq);
    case opcode::sw2hw_cq:
    case opcode::hw2sw_cq:
    case opcode::query_cq:
    case opcode::modify_cq:
      return named(cq);
    case opcode::sw2hw_srq:
    case opcode::hw2sw_srq:
    case opcode::query_srq:
    case opcode::arm_srq:
      return named(srq);
    case opcode::rst2init_qp:
    case opcode::init2init_qp:
    case opcode::init2rtr_qp:
    case opcode::rtr2rts_qp:
    case opcode::rts2rts_qp:
    case opcode::sqerr2rts_qp:
    case opcode::to_err_qp:
    case opcode::rts2sqd_qp:
    case opcode::sqd2sqd_qp:
    case opcode::sqd2rts_qp:
    case opcode::to_rst_qp:
    case opcode::query_qp:
    case opcode::update_qp:
      return named(qp);
    default:
      return std::nullopt;
  }
}

}  // namespace freehca::model
