// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// QUERY_FUNC_CAP, which a physical function's driver answers to virtual functions, and QUERY_FUNC.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// Opcode modifier 0. Source: Linux 6.1 fw.c mlx4_QUERY_FUNC_CAP. With `quotas` clear the *_dep
/// rows count; the rows from 0x6c on count with `valid_mailbox` only.
struct query_func_cap {
  static constexpr std::size_t bytes = 0x100;
  as<bool> ethernet            {0x00, 31, 31, "ethernet"};
  as<bool> rdma                {0x00, 30, 30, "rdma"};
  as<bool> quotas              {0x00, 28, 28, "quotas"};
  as<bool> reserved_lkey_valid {0x00, 27, 27, "reserved_lkey_valid"};
  as<bool> valid_mailbox       {0x00, 26, 26, "valid_mailbox"};
  bits     num_ports           {0x00, 23, 16, "num_ports"};
  bits     pf_behaviour        {0x04, 31,  0, "pf_behaviour"};
  as<bool> fmr                 {0x08, 31, 31, "fmr"};
  bits     qp_quota_dep        {0x10, 23,  0, "qp_quota_dep"};
  bits     cq_quota_dep        {0x14, 23,  0, "cq_quota_dep"};
  bits     srq_quota_dep       {0x18, 23,  0, "srq_quota_dep"};
  bits     mpt_quota_dep       {0x20, 23,  0, "mpt_quota_dep"};
  bits     mtt_quota_dep       {0x24, 23,  0, "mtt_quota_dep"};
  bits     mcg_quota_dep       {0x28, 23,  0, "mcg_quota_dep"};
  bits     max_eq              {0x2c, 23,  0, "max_eq"};
  bits     reserved_eq         {0x30, 23,  0, "reserved_eq"};
  bits     reserved_lkey       {0x48, 31,  0, "reserved_lkey"};
  bits     qp_quota            {0x50, 23,  0, "qp_quota"};
  bits     cq_quota            {0x54, 23,  0, "cq_quota"};
  bits     srq_quota           {0x58, 23,  0, "srq_quota"};
  bits     mpt_quota           {0x60, 23,  0, "mpt_quota"};
  bits     mtt_quota           {0x64, 23,  0, "mtt_quota"};
  bits     mcg_quota           {0x68, 23,  0, "mcg_quota"};
  as<bool> bf_qp_alloc         {0x6c, 31, 31, "bf_qp_alloc"};
  as<bool> a0_qp_alloc         {0x6c, 30, 30, "a0_qp_alloc"};
};
static_assert(query_func_cap{}.qp_quota.offset == 0x50 && claimed<query_func_cap>().sound);

/// Opcode modifier 1: the port in the input modifier.
struct query_func_cap_port {
  static constexpr std::size_t bytes = 0x100;
  bits     physical_port        {0x00,  7,  0, "physical_port"};
  bits     qp0_qkey             {0x04, 31,  0, "qp0_qkey"};
  as<bool> force_phy_wqe_gid    {0x08, 31, 31, "force_phy_wqe_gid"};
  as<bool> phv                  {0x08, 30, 30, "phv"};
  as<bool> vlan_offload_disable {0x08, 29, 29, "vlan_offload_disable"};
  as<bool> force_vlan           {0x0c, 31, 31, "force_vlan"};
  as<bool> force_mac            {0x0c, 30, 30, "force_mac"};
  as<bool> nic_info             {0x0c, 28, 28, "nic_info"};
  as<bool> qp0_enabled          {0x0c, 27, 27, "qp0_enabled"};
  bits     qp0_tunnel           {0x10, 23,  0, "qp0_tunnel"};
  bits     qp0_proxy            {0x14, 23,  0, "qp0_proxy"};
  bits     qp1_tunnel           {0x18, 23,  0, "qp1_tunnel"};
  bits     qp1_proxy            {0x1c, 23,  0, "qp1_proxy"};
  bits     phys_port_id         {0x28, 63,  0, "phys_port_id"};
};
static_assert(claimed<query_func_cap_port>().sound);

/// QUERY_FUNC; input modifier: the function. Source: Linux 6.1 fw.c mlx4_QUERY_FUNC, which masks
/// `device` with 0xf1, a mistake for 0xf8.
struct query_func {
  static constexpr std::size_t bytes = 0x100;
  bits bus               {0x00, 31, 24, "bus"};  ///< Linux keeps four bits
  bits device            {0x00, 23, 19, "device"};
  bits function          {0x00, 18, 16, "function"};
  bits physical_function {0x00,  3,  0, "physical_function"};
  bits rsvd_eqs          {0x04, 31, 16, "rsvd_eqs"};
  bits max_eq            {0x04, 15,  0, "max_eq"};
  bits rsvd_uars         {0x08,  3,  0, "rsvd_uars"};
};
static_assert(claimed<query_func>().sound);

}  // namespace freehca::layouts
