// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// ACCESS_REG and the one register that drivers use it for.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class access_reg_method : std::uint8_t { query = 1, write = 2 };
/// The head's status. Linux's driver of this adapter knows only that it is not 0 (fw.c
/// mlx4_ACCESS_REG); the same operation TLV stands in management packets of the maker's switches,
/// where Linux names these (mlxsw/emad.h enum mlxsw_emad_op_tlv_status).
enum class access_reg_status : std::uint8_t {
  ok = 0,
  register_not_supported = 4,
  method_not_supported = 6,
  bad_parameter = 7,
};
enum class access_reg_id : std::uint16_t { ptys = 0x5004 };

/// The head of both mailboxes; the register follows. Source: Linux 6.1 fw.c struct mlx4_access_reg:
/// an operation TLV (type 1, four words) and a register TLV (type 3).
struct access_reg {
  static constexpr std::size_t bytes = 0x14;
  bits                  operation_tlv_type  {0x00, 31, 27, "operation_tlv_type"};  ///< 1
  bits                  operation_tlv_words {0x00, 26, 16, "operation_tlv_words"};  ///< 4
  as<access_reg_status> status              {0x00, 14,  8, "status"};  ///< output only
  as<access_reg_id>     register_id         {0x04, 31, 16, "register_id"};
  as<access_reg_method> method              {0x04, 14,  8, "method"};
  bits                  register_class      {0x04,  7,  0, "register_class"};  ///< 1
  bits                  register_tlv_type   {0x10, 31, 28, "register_tlv_type"};  ///< 3
  /// words of the register, and one
  bits                  register_tlv_words  {0x10, 26, 16, "register_tlv_words"};
};
static_assert(claimed<access_reg>().sound);

/// Bits of the ptys rows eth_proto_* (Linux 6.1 mlx4/en_port.h enum mlx4_link_mode).
enum class ethernet_link_mode : std::uint32_t {
  sgmii_1000base_cx = 1u << 0,
  kx_1000base = 1u << 1,
  cx4_10gbase = 1u << 2,
  kx4_10gbase = 1u << 3,
  kr_10gbase = 1u << 4,
  kr2_20gbase = 1u << 5,
  cr4_40gbase = 1u << 6,
  kr4_40gbase = 1u << 7,
  kr4_56gbase = 1u << 8,
  cr_10gbase = 1u << 12,
  sr_10gbase = 1u << 13,
  sr4_40gbase = 1u << 15,
  cr4_56gbase = 1u << 17,
  sr4_56gbase = 1u << 18,
  tx_100base = 1u << 24,
  t_1000base = 1u << 25,
  t_10gbase = 1u << 26,
};

/// Bits of the row proto_mask.
namespace ptys_protocol {
inline constexpr unsigned infiniband = 1, ethernet = 4;
}  // namespace ptys_protocol

/// Port type and speed. Source: Linux 6.1 device.h struct mlx4_ptys_reg, MLX4_PTYS_AN_DISABLE_*.
struct ptys {
  static constexpr std::size_t bytes = 0x34;
  as<bool> an_disable_admin {0x00, 30, 30, "an_disable_admin"};  ///< autonegotiation is disabled
  as<bool> an_disable_cap   {0x00, 29, 29, "an_disable_cap"};    ///< it can be disabled
  bits local_port       {0x00, 23, 16, "local_port"};
  bits proto_mask       {0x00,  7,  0, "proto_mask"};  ///< ptys_protocol
  bits eth_proto_cap    {0x0c, 31,  0, "eth_proto_cap"};
  bits ib_width_cap     {0x10, 31, 16, "ib_width_cap"};
  bits ib_speed_cap     {0x10, 15,  0, "ib_speed_cap"};
  bits eth_proto_admin  {0x18, 31,  0, "eth_proto_admin"};
  bits ib_width_admin   {0x1c, 31, 16, "ib_width_admin"};
  bits ib_speed_admin   {0x1c, 15,  0, "ib_speed_admin"};
  bits eth_proto_oper   {0x24, 31,  0, "eth_proto_oper"};
  bits ib_width_oper    {0x28, 31, 16, "ib_width_oper"};
  bits ib_speed_oper    {0x28, 15,  0, "ib_speed_oper"};
  bits eth_proto_lp_adv {0x30, 31,  0, "eth_proto_lp_adv"};
};
static_assert(claimed<ptys>().sound);

}  // namespace freehca::layouts
