// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Doorbells of queues (registers of a UAR page in BAR 2; places: register_map.hpp; the EQ's:
// eq_doorbell.hpp) and doorbell records (words in host memory). Both are big endian; a doorbell of
// 8 bytes is one store, or two of which the second word goes last.
//
// BlueFlame (rdma-core providers/mlx4/qp.c, mlx4/en_tx.c, mlx4/pd.c): behind the UAR pages BAR 2
// holds as many BlueFlame pages, in the same order, to be mapped write-combining, with registers of
// bf_reg_size bytes (QUERY_DEV_CAP) whose halves are used in turn (offset ^= half). A WQE of at
// most one half, posted alone, is copied there in 64-byte blocks, with wqe_index and qpn in its
// control segment (wqe_ctrl_blueflame); it needs no doorbell. It must stand in the queue, just as
// in the copy, before the copy starts, and write combining is flushed before the next use.
#pragma once

#include <cstdint>

#include <freehca/layouts/layout.hpp>

namespace freehca::layouts {

/// "This QP's send queue has work". Sources: hw/mlx4/qp.c (doorbell_qpn); iPXE hermon.h (send
/// register).
struct send_doorbell {
  static constexpr std::size_t bytes = 4;
  bits qpn {0x00, 31,  8, "qpn"};
};

/// What an arm request asks for. Sources: MT25408 PRM, CQ doorbell; include/linux/mlx4/cq.h
/// (MLX4_CQ_DB_REQ_NOT*).
enum class cq_arm : std::uint8_t { none = 0, solicited = 1, next = 2, arm_n = 3 };

/// Arms a CQ. cmd_sn rises by one with each event taken (Linux: arm_sn), so that a request that was
/// already served is told from a new one. Source: include/linux/mlx4/cq.h (mlx4_cq_arm).
struct cq_doorbell {
  static constexpr std::size_t bytes = 8;
  bits       cmd_sn {0x00, 29, 28, "cmd_sn"};
  as<cq_arm> cmd    {0x00, 26, 24, "cmd"};
  bits       cqn    {0x00, 23,  0, "cqn"};
  bits       ci     {0x04, 23,  0, "ci"};
};

/// A CQ's doorbell record: consumer index, and a copy of the arm request, written before the
/// doorbell. It must be 8-byte aligned (captures).
/// Sources: include/linux/mlx4/cq.h (mlx4_cq_set_ci, mlx4_cq_arm); iPXE hermon.h (CQ doorbell
/// record).
struct cq_doorbell_record {
  static constexpr std::size_t bytes = 8;
  bits       update_ci {0x00, 23,  0, "update_ci"};
  bits       cmd_sn    {0x04, 29, 28, "cmd_sn"};
  as<cq_arm> cmd       {0x04, 26, 24, "cmd"};
  bits       arm_ci    {0x04, 23,  0, "arm_ci"};
};

/// Doorbell record of a receive queue or an SRQ: WQEs posted since creation, modulo 2^16.
/// Source: hw/mlx4/qp.c (_mlx4_ib_post_recv), hw/mlx4/srq.c; MT25408 PRM, QP doorbell record.
struct rq_doorbell_record {
  static constexpr std::size_t bytes = 4;
  bits wqe_counter {0x00, 15,  0, "wqe_counter"};
};

/// The value of a doorbell or record as the CPU's word, for a big-endian store.
constexpr std::uint32_t send_doorbell_word(std::uint32_t qpn) { return qpn << 8; }
constexpr std::uint32_t cq_arm_word(std::uint32_t cmd_sn, cq_arm cmd, std::uint32_t cqn_or_ci) {
  return (cmd_sn & 3) << 28 | static_cast<std::uint32_t>(cmd) << 24 | (cqn_or_ci & 0xffffff);
}

}  // namespace freehca::layouts
