// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Atomics on some of the bits of eight bytes. No capability bit tells of them: Linux offers them
// wherever there are atomics (6.1 hw/mlx4/main.c masked_atomic_cap).
#pragma once

#include <cstdint>

#include <freehca/queues/requests.hpp>

namespace freehca::queues {

/// Compares the bits of `compare_mask` and, where they are equal, exchanges those of
/// `operand_mask`. `data`: where the value before goes. Its WQE is longer than one block: only a
/// queue that was made for it has it (queue_pair_attributes::masked_atomics).
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

/// Adds in fields: each ends at a bit that is set in `boundaries`, its highest, and nothing is
/// carried out of it.
struct masked_fetch_and_add {
  static constexpr auto opcode = layouts::wqe_opcode::masked_atomic_fa;
  static constexpr auto completes_as = work_opcode::masked_fetch_and_add;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;  ///< what is added
  std::uint64_t boundaries = 0;
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

}  // namespace freehca::queues
