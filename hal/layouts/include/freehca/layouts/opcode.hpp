// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The opcodes of the command interface and the meanings of their opcode modifiers.
// Sources: Linux 6.1 include/linux/mlx4/cmd.h (the opcodes); for each modifier the caller named
// beside it.
#pragma once

#include <cstdint>

namespace freehca::layouts {

/// Command opcodes: bits 11:0 of the last HCR word.
enum class opcode : std::uint16_t {
  // firmware life cycle
  sys_en = 0x001,
  sys_dis = 0x002,
  query_dev_cap = 0x003,
  query_fw = 0x004,
  query_ddr = 0x005,
  query_adapter = 0x006,
  init_hca = 0x007,
  close_hca = 0x008,
  query_hca = 0x00b,
  mod_stat_cfg = 0x034,
  hw_health_check = 0x050,
  query_func = 0x056,
  get_op_req = 0x059,
  inform_flr_done = 0x05b,
  run_fw = 0xff6,
  disable_lam = 0xff7,
  enable_lam = 0xff8,
  unmap_fa = 0xffe,
  map_fa = 0xfff,

  // context memory
  unmap_icm = 0xff9,
  map_icm = 0xffa,
  unmap_icm_aux = 0xffb,
  map_icm_aux = 0xffc,
  set_icm_size = 0xffd,

  // ports and node
  init_port = 0x009,
  close_port = 0x00a,
  set_port = 0x00c,
  query_port = 0x043,
  sense_port = 0x04d,
  set_node = 0x05a,
  virt_port_map = 0x05c,
  allocate_vpp = 0x080,
  set_vport_qos = 0x081,

  // translation and protection tables
  sw2hw_mpt = 0x00d,
  query_mpt = 0x00e,
  hw2sw_mpt = 0x00f,
  read_mtt = 0x010,
  write_mtt = 0x011,
  sync_tpt = 0x02f,

  // event queues
  map_eq = 0x012,
  sw2hw_eq = 0x013,
  hw2sw_eq = 0x014,
  query_eq = 0x015,
  gen_eqe = 0x058,

  // completion queues
  sw2hw_cq = 0x016,
  hw2sw_cq = 0x017,
  query_cq = 0x018,
  modify_cq = 0x02c,

  // shared receive queues
  sw2hw_srq = 0x035,
  hw2sw_srq = 0x036,
  query_srq = 0x037,
  arm_srq = 0x040,

  // queue pairs
  rst2init_qp = 0x019,
  init2rtr_qp = 0x01a,
  rtr2rts_qp = 0x01b,
  rts2rts_qp = 0x01c,
  sqerr2rts_qp = 0x01d,
  to_err_qp = 0x01e,  ///< 2ERR_QP
  rts2sqd_qp = 0x01f,
  sqd2rts_qp = 0x020,
  to_rst_qp = 0x021,  ///< 2RST_QP
  query_qp = 0x022,
  init2init_qp = 0x02d,
  suspend_qp = 0x032,
  unsuspend_qp = 0x033,
  sqd2sqd_qp = 0x038,
  update_qp = 0x061,

  // special queue pairs and management
  conf_special_qp = 0x023,
  mad_ifc = 0x024,
  mad_demux = 0x203,

  // multicast and steering
  read_mcg = 0x025,
  write_mcg = 0x026,
  mgid_hash = 0x027,
  flow_steering_ib_uc_qp_range = 0x064,
  qp_flow_steering_attach = 0x065,
  qp_flow_steering_detach = 0x066,

  // Ethernet
  set_vlan_fltr = 0x047,
  set_mcast_fltr = 0x048,
  dump_eth_stats = 0x049,
  set_vep = 0x052,
  congestion_ctrl = 0x068,

  // miscellaneous
  query_debug_msg = 0x02a,
  set_debug_msg = 0x02b,
  access_mem = 0x02e,
  access_ddr = 0x02e,  ///< the same code as access_mem
  diag_rprt = 0x030,
  nop = 0x031,
  config_dev = 0x03a,
  access_reg = 0x03b,
  query_if_stat = 0x054,
  set_if_stat = 0x055,
  arm_comm_channel = 0x057,

  // virtual commands: handled by the physical function's driver, never by firmware
  alloc_res = 0xf00,
  free_res = 0xf01,
  mcast_attach = 0xf05,
  ucast_attach = 0xf06,
  promisc = 0xf08,
  query_func_cap = 0xf0a,
  qp_attach = 0xf0b,
};

/// The name as the hardware's tables spell it; "unknown opcode" for a value that has none.
constexpr const char* name_of(opcode o) {
  switch (o) {
    case opcode::sys_en: return "SYS_EN";
    case opcode::sys_dis: return "SYS_DIS";
    case opcode::query_dev_cap: return "QUERY_DEV_CAP";
    case opcode::query_fw: return "QUERY_FW";
    case opcode::query_ddr: return "QUERY_DDR";
    case opcode::query_adapter: return "QUERY_ADAPTER";
    case opcode::init_hca: return "INIT_HCA";
    case opcode::close_hca: return "CLOSE_HCA";
    case opcode::query_hca: return "QUERY_HCA";
    case opcode::mod_stat_cfg: return "MOD_STAT_CFG";
    case opcode::hw_health_check: return "HW_HEALTH_CHECK";
    case opcode::query_func: return "QUERY_FUNC";
    case opcode::get_op_req: return "GET_OP_REQ";
    case opcode::inform_flr_done: return "INFORM_FLR_DONE";
    case opcode::run_fw: return "RUN_FW";
    case opcode::disable_lam: return "DISABLE_LAM";
    case opcode::enable_lam: return "ENABLE_LAM";
    case opcode::unmap_fa: return "UNMAP_FA";
    case opcode::map_fa: return "MAP_FA";
    case opcode::unmap_icm: return "UNMAP_ICM";
    case opcode::map_icm: return "MAP_ICM";
    case opcode::unmap_icm_aux: return "UNMAP_ICM_AUX";
    case opcode::map_icm_aux: return "MAP_ICM_AUX";
    case opcode::set_icm_size: return "SET_ICM_SIZE";
    case opcode::init_port: return "INIT_PORT";
    case opcode::close_port: return "CLOSE_PORT";
    case opcode::set_port: return "SET_PORT";
    case opcode::query_port: return "QUERY_PORT";
    case opcode::sense_port: return "SENSE_PORT";
    case opcode::set_node: return "SET_NODE";
    case opcode::virt_port_map: return "VIRT_PORT_MAP";
    case opcode::allocate_vpp: return "ALLOCATE_VPP";
    case opcode::set_vport_qos: return "SET_VPORT_QOS";
    case opcode::sw2hw_mpt: return "SW2HW_MPT";
    case opcode::query_mpt: return "QUERY_MPT";
    case opcode::hw2sw_mpt: return "HW2SW_MPT";
    case opcode::read_mtt: return "READ_MTT";
    case opcode::write_mtt: return "WRITE_MTT";
    case opcode::sync_tpt: return "SYNC_TPT";
    case opcode::map_eq: return "MAP_EQ";
    case opcode::sw2hw_eq: return "SW2HW_EQ";
    case opcode::hw2sw_eq: return "HW2SW_EQ";
    case opcode::query_eq: return "QUERY_EQ";
    case opcode::gen_eqe: return "GEN_EQE";
    case opcode::sw2hw_cq: return "SW2HW_CQ";
    case opcode::hw2sw_cq: return "HW2SW_CQ";
    case opcode::query_cq: return "QUERY_CQ";
    case opcode::modify_cq: return "MODIFY_CQ";
    case opcode::sw2hw_srq: return "SW2HW_SRQ";
    case opcode::hw2sw_srq: return "HW2SW_SRQ";
    case opcode::query_srq: return "QUERY_SRQ";
    case opcode::arm_srq: return "ARM_SRQ";
    case opcode::rst2init_qp: return "RST2INIT_QP";
    case opcode::init2rtr_qp: return "INIT2RTR_QP";
    case opcode::rtr2rts_qp: return "RTR2RTS_QP";
    case opcode::rts2rts_qp: return "RTS2RTS_QP";
    case opcode::sqerr2rts_qp: return "SQERR2RTS_QP";
    case opcode::to_err_qp: return "2ERR_QP";
    case opcode::rts2sqd_qp: return "RTS2SQD_QP";
    case opcode::sqd2rts_qp: return "SQD2RTS_QP";
    case opcode::to_rst_qp: return "2RST_QP";
    case opcode::query_qp: return "QUERY_QP";
    case opcode::init2init_qp: return "INIT2INIT_QP";
    case opcode::suspend_qp: return "SUSPEND_QP";
    case opcode::unsuspend_qp: return "UNSUSPEND_QP";
    case opcode::sqd2sqd_qp: return "SQD2SQD_QP";
    case opcode::update_qp: return "UPDATE_QP";
    case opcode::conf_special_qp: return "CONF_SPECIAL_QP";
    case opcode::mad_ifc: return "MAD_IFC";
    case opcode::mad_demux: return "MAD_DEMUX";
    case opcode::read_mcg: return "READ_MCG";
    case opcode::write_mcg: return "WRITE_MCG";
    case opcode::mgid_hash: return "MGID_HASH";
    case opcode::flow_steering_ib_uc_qp_range: return "FLOW_STEERING_IB_UC_QP_RANGE";
    case opcode::qp_flow_steering_attach: return "QP_FLOW_STEERING_ATTACH";
    case opcode::qp_flow_steering_detach: return "QP_FLOW_STEERING_DETACH";
    case opcode::set_vlan_fltr: return "SET_VLAN_FLTR";
    case opcode::set_mcast_fltr: return "SET_MCAST_FLTR";
    case opcode::dump_eth_stats: return "DUMP_ETH_STATS";
    case opcode::set_vep: return "SET_VEP";
    case opcode::congestion_ctrl: return "CONGESTION_CTRL";
    case opcode::query_debug_msg: return "QUERY_DEBUG_MSG";
    case opcode::set_debug_msg: return "SET_DEBUG_MSG";
    case opcode::access_mem: return "ACCESS_MEM";
    case opcode::diag_rprt: return "DIAG_RPRT";
    case opcode::nop: return "NOP";
    case opcode::config_dev: return "CONFIG_DEV";
    case opcode::access_reg: return "ACCESS_REG";
    case opcode::query_if_stat: return "QUERY_IF_STAT";
    case opcode::set_if_stat: return "SET_IF_STAT";
    case opcode::arm_comm_channel: return "ARM_COMM_CHANNEL";
    case opcode::alloc_res: return "ALLOC_RES";
    case opcode::free_res: return "FREE_RES";
    case opcode::mcast_attach: return "MCAST_ATTACH";
    case opcode::ucast_attach: return "UCAST_ATTACH";
    case opcode::promisc: return "PROMISC";
    case opcode::query_func_cap: return "QUERY_FUNC_CAP";
    case opcode::qp_attach: return "QP_ATTACH";
  }
  return "unknown opcode";
}

/// HW2SW_CQ, HW2SW_SRQ, HW2SW_MPT, HW2SW_EQ (Linux cq.c, srq.c, mr.c; eq.c passes 1 always).
enum class hw2sw_modifier : std::uint8_t {
  write_context = 0,  ///< the final context goes to the output mailbox
  no_output = 1,
};

/// SW2HW_CQ (Linux cq.c mlx4_cq_alloc): who filled the CQ's buffer with 0xcc before the command.
enum class sw2hw_cq_modifier : std::uint8_t { hardware_initializes = 0, software_initialized = 1 };

/// MODIFY_CQ (Linux cq.c mlx4_cq_modify, mlx4_cq_resize).
enum class modify_cq_modifier : std::uint8_t { resize = 0, moderation = 1 };

/// 2RST_QP, two bits. Linux passes 2 and no mailbox (qp.c __mlx4_qp_modify), iPXE passes 3 and no
/// mailbox (hermon.c hermon_cmd_2rst_qp): bit 1 asks for the software-owned reset state without an
/// output mailbox.
enum class to_rst_qp_modifier : std::uint8_t { write_context = 0, no_output = 2, no_output_ipxe = 3 };

/// CLOSE_HCA (Linux fw.c mlx4_CLOSE_HCA).
enum class close_hca_modifier : std::uint8_t { normal = 0, panic = 1 };

/// MOD_STAT_CFG: the low bit chooses the immediate form (Linux fw.c mlx4_MOD_STAT_CFG 0,
/// mlx4_wol_write 1, mlx4_get_phys_port_id 2, mlx4_wol_read 3).
enum class mod_stat_cfg_modifier : std::uint8_t { set = 0, set_immediate = 1, query = 2, query_immediate = 3 };

/// SET_PORT (Linux cmd.h). With `ethernet` the input modifier is set_port_selector << 8 | port,
/// else port.
enum class set_port_modifier : std::uint8_t { ib = 0, ethernet = 1, beacon = 4 };

/// Bits 15:8 of SET_PORT's input modifier with set_port_modifier::ethernet (Linux cmd.h).
enum class set_port_selector : std::uint8_t {
  general = 0x0,
  rqp_calc = 0x1,
  mac_table = 0x2,
  vlan_table = 0x3,
  prio_map = 0x4,
  gid_table = 0x5,
  prio2tc = 0x8,
  scheduler = 0x9,
  vxlan = 0xb,
  roce_addr = 0xd,
};
constexpr std::uint32_t set_port_input_modifier(set_port_selector selector, unsigned port) {
  return static_cast<std::uint32_t>(selector) << 8 | port;
}

/// MAD_IFC: independent bits (Linux infiniband/hw/mlx4/mad.c mlx4_MAD_IFC).
enum class mad_ifc_modifier : std::uint8_t {
  ignore_mkey = 0x1,
  ignore_bkey = 0x2,
  extended_info = 0x4,  ///< bytes 0x100.. of the input mailbox are a mad_ifc_extended_info
  net_view = 0x8,       ///< a physical function that manages others: the port as the fabric sees it
};

/// MAD_DEMUX (Linux cmd.h); the input modifier is the management class, 1 for subnet management.
enum class mad_demux_modifier : std::uint8_t { config = 0, query_state = 1, query_restrictions = 2 };

/// CONFIG_DEV (Linux fw.c).
enum class config_dev_modifier : std::uint8_t { set = 0, get = 1 };

/// GET_OP_REQ (Linux fw.c mlx4_opreq_action).
enum class get_op_req_modifier : std::uint8_t { get = 0, acknowledge = 1 };

/// VIRT_PORT_MAP (Linux cmd.h).
enum class virt_port_map_modifier : std::uint8_t { get = 0, set = 1 };

/// ALLOCATE_VPP and SET_VPORT_QOS (Linux fw_qos.c).
enum class vport_qos_modifier : std::uint8_t { set = 0, query = 1 };

/// CONGESTION_CTRL (Linux cmd.h).
enum class congestion_ctrl_modifier : std::uint8_t { get_params = 0, get_statistics = 1, set_params = 4 };

/// QUERY_FUNC_CAP (Linux fw.c): the function as a whole, or the port in the input modifier.
enum class query_func_cap_modifier : std::uint8_t { general = 0, port = 1 };

/// WRITE_MCG (Linux mcg.c mlx4_WRITE_PROMISC): the entry with the index in the input modifier, or
/// the one that an mcg_promiscuous_modifier names.
enum class write_mcg_modifier : std::uint8_t { entry = 0, promiscuous = 1 };

/// MGID_HASH (Linux mcg.c find_entry): 1 for Ethernet where vep_mc_steering is reported.
enum class mgid_hash_modifier : std::uint8_t { infiniband = 0, ethernet = 1 };

/// SET_MCAST_FLTR (Linux mlx4.h MLX4_MCAST_*).
enum class set_mcast_fltr_modifier : std::uint8_t { config = 0, disable = 1, enable = 2 };

/// MAP_EQ, UNMAP_EQ are one opcode: bit 31 of the input modifier unmaps, bits 9:0 are the EQ
/// number; the immediate input is a mask of events, bit n for event type n (Linux eq.c
/// mlx4_MAP_EQ).
inline constexpr std::uint32_t map_eq_unmap = 1u << 31;

/// NOP: this input modifier means "finish as soon as possible" (Linux fw.c mlx4_NOP).
inline constexpr std::uint32_t nop_at_once = 0x1f;

}  // namespace freehca::layouts
