// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Atomics on some bits of 8 bytes. The device has no capability bit for them. Linux offers them
// wherever there are atomics (6.1 hw/mlx4/main.c masked_atomic_cap). A queue pair has them only if
// it was created with queue_pair_attributes::masked_atomics.
#pragma once

#include <cstdint>

#include <freehca/queues/requests.hpp>

namespace freehca::queues {

/// Compares the bits of `compare_mask`. If they are equal, replaces the bits of `operand_mask`.
/// `data` is one entry of 8 bytes, where the device stores the previous value. The WQE is longer
/// than one basic block.
struct masked_compare_and_swap {
  static constexpr auto opcode = layouts::wqe_opcode::masked_atomic_cs;
  static constexpr auto completes_as = work_opcode::masked_compare_and_swap;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  std::uint64_t operand_mask = 0;
  std::uint64_t compare_mask = 0;
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

/// Adds in fields. Each set bit of `boundaries` is the highest bit of a field. No carry leaves a
/// field. `data` is as above.
struct masked_fetch_and_add {
  static constexpr auto opcode = layouts::wqe_opcode::masked_atomic_fa;
  static constexpr auto completes_as = work_opcode::masked_fetch_and_add;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;  ///< the addend
  std::uint64_t boundaries = 0;
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

}  // namespace freehca::queues
