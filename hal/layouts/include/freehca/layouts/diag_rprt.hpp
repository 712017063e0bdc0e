// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The output of DIAG_RPRT: how often transport and completions went wrong.
#pragma once

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// DIAG_RPRT's opcode modifier (Linux 6.1 device.h MLX4_OP_MOD_QUERY_TRANSPORT_CI_ERRORS). The
/// input modifier is a port where the device counts by port (dev_cap_ext_3_flag::diag_per_port),
/// else 0.
enum class diag_rprt_modifier : std::uint8_t { query_transport_ci_errors = 2 };

/// Source: Linux 6.1 infiniband/hw/mlx4/main.c diag_basic, diag_ext, diag_device_only; the names
/// are those of the PRM's errors: rq and sq, then the completion's syndrome or the reason.
struct diag_rprt {
  static constexpr std::size_t bytes = 0x200;
  bits rq_num_lle     {0x00, 31, 0, "rq_num_lle"};      ///< local length
  bits sq_num_lle     {0x04, 31, 0, "sq_num_lle"};
  bits rq_num_lqpoe   {0x08, 31, 0, "rq_num_lqpoe"};    ///< local QP operation
  bits sq_num_lqpoe   {0x0c, 31, 0, "sq_num_lqpoe"};
  bits rq_num_lpe     {0x18, 31, 0, "rq_num_lpe"};      ///< local protection
  bits sq_num_lpe     {0x1c, 31, 0, "sq_num_lpe"};
  bits rq_num_wrfe    {0x20, 31, 0, "rq_num_wrfe"};     ///< work request flushed
  bits sq_num_wrfe    {0x24, 31, 0, "sq_num_wrfe"};
  bits sq_num_mwbe    {0x2c, 31, 0, "sq_num_mwbe"};     ///< memory window bind
  bits sq_num_bre     {0x34, 31, 0, "sq_num_bre"};      ///< bad response
  bits sq_num_rire    {0x44, 31, 0, "sq_num_rire"};     ///< remote invalid request
  bits rq_num_rire    {0x48, 31, 0, "rq_num_rire"};
  bits sq_num_rae     {0x4c, 31, 0, "sq_num_rae"};      ///< remote access
  bits rq_num_rae     {0x50, 31, 0, "rq_num_rae"};
  bits sq_num_roe     {0x54, 31, 0, "sq_num_roe"};      ///< remote operation
  bits sq_num_tree    {0x5c, 31, 0, "sq_num_tree"};     ///< transport retries exceeded
  bits sq_num_rree    {0x64, 31, 0, "sq_num_rree"};     ///< RNR retries exceeded
  bits rq_num_rnr     {0x68, 31, 0, "rq_num_rnr"};      ///< RNR NAKs sent
  bits sq_num_rnr     {0x6c, 31, 0, "sq_num_rnr"};      ///< RNR NAKs received
  bits rq_num_oos     {0x100, 31, 0, "rq_num_oos"};     ///< out of sequence requests received
  bits sq_num_oos     {0x104, 31, 0, "sq_num_oos"};     ///< out of sequence NAKs received
  /// UD packets dropped for want of a receive.
  bits rq_num_udsdprd {0x118, 31, 0, "rq_num_udsdprd"};
  bits rq_num_dup     {0x130, 31, 0, "rq_num_dup"};     ///< duplicate requests received
  bits sq_num_to      {0x134, 31, 0, "sq_num_to"};      ///< time-outs
  bits num_cqovf      {0x1a0, 31, 0, "num_cqovf"};      ///< CQ overruns
};
static_assert(claimed<diag_rprt>().sound);

}  // namespace freehca::layouts
