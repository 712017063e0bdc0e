// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <freehca/layouts/wqe.hpp>

#include "basis/adapter.hpp"
#include "saving/fields.hpp"

namespace freehca::model {

struct queue_pair;
struct work_queue;

/// What hardware holds of a send queue ahead of the entry that it is at (options::prefetch):
/// 64-byte blocks that looked valid when they were read, each at its place in the queue. A block
/// that is held is executed as it was read.
///
/// Which blocks look valid: the first of an entry when its owner bit gives the entry to hardware,
/// any other when its first word is not the stamp (Linux hw/mlx4/qp.c stamp_send_wqe,
/// set_data_seg). One that does not look valid is not held: hardware reads it again when it gets
/// there.
class send_prefetch {
 public:
  /// How far hardware reads ahead at most. Source: Linux hw/mlx4/qp.c set_kernel_sq_size; rdma-core
  /// providers/mlx4/qp.c mlx4_calc_sq_wqe_size, which leave 2 KiB and one WQE free.
  static constexpr std::size_t distance = 2048;

  /// Reads ahead from the entry at `counter` on. What is held already stays as it is. Of memory
  /// that cannot be read nothing is held, and nobody told: whoever gets there is told.
  void read(adapter& a, const queue_pair& qp, std::uint16_t counter);

  /// Block `block` of the WQE at `counter`, if it is held; else nullptr. `ring`: the queue's.
  const std::byte* held(const work_queue& ring, std::uint16_t counter, std::size_t block) const;

  /// `entries` entries from `counter` on have been executed.
  void forget(const work_queue& ring, std::uint16_t counter, std::uint16_t entries);

 private:
  static constexpr std::size_t block_bytes = layouts::wqe_basic_block,
                               blocks = distance / block_bytes;
  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  struct block_held {
    /// The block's number, counted as the queue's counter counts entries.
    std::uint32_t place = nothing;
    std::array<std::byte, block_bytes> bytes;

    using saved = saving::fields<&block_held::place>;
    static constexpr saving::unsaved_member unsaved[] = {
        {"bytes", "transfer_state() saves those of a block that is held"}};
    template <class Archive>
    void transfer_state(Archive& archive) {
      transfer_members(archive, *this);
      if (place != nothing) transfer(archive, bytes);
    }
  };
  block_held& slot(std::uint32_t place) { return slots_[place % blocks]; }

  std::array<block_held, blocks> slots_;

 public:
  using saved = saving::fields<&send_prefetch::slots_>;
};

}  // namespace freehca::model
