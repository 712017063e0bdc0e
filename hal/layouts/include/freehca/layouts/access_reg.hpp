// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// ACCESS_REG and the one register that drivers use it for.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

enum class access_reg_method : std::uint8_t { query = 1, write = 2 };
enum class access_reg_id : std::uint16_t { ptys = 0x5004 };

/// The head of both mailboxes; the register follows. Source: Linux 6.1 fw.c struct mlx4_access_reg:
/// an operation TLV (type 1, four words) and a register TLV (type 3).
struct access_reg {
  static constexpr std::size_t bytes = 0x14;
  bits                  operation_tlv_type  {0x00, 31, 27, "operation_tlv_type"};  ///< 1
  bits                  operation_tlv_words {0x00, 26, 16, "operation_tlv_words"};  ///< 4
  bits                  status              {0x00, 14,  8, "status"};  ///< output only
  as<access_reg_id>     register_id         {0x04, 31, 16, "register_id"};
  as<access_reg_method> method              {0x04, 14,  8, "method"};
  bits                  register_class      {0x04,  7,  0, "register_class"};  ///< 1
  bits                  register_tlv_type   {0x10, 31, 28, "register_tlv_type"};  ///< 3
  /// words of the register, and one
  bits                  register_tlv_words  {0x10, 26, 16, "register_tlv_words"};
};
static_assert(claimed<access_reg>().sound);

/// Port type and speed. Source: Linux 6.1 device.h struct mlx4_ptys_reg.
struct ptys {
  static constexpr std::size_t bytes = 0x34;
  bits flags            {0x00, 31, 24, "flags"};
  bits local_port       {0x00, 23, 16, "local_port"};
  bits proto_mask       {0x00,  7,  0, "proto_mask"};  ///< 1 InfiniBand, 4 Ethernet
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
