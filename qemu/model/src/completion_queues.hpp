// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/cqe.hpp>

#include "adapter.hpp"

namespace freehca::model {

/// Completion queues: SW2HW_CQ, HW2SW_CQ, QUERY_CQ, MODIFY_CQ, the arm doorbell, completion events.
class completion_queues {
 public:
  explicit completion_queues(adapter& a);

  /// Does CQ `cqn` exist in hardware's hands?
  bool exists(std::uint32_t cqn);

  /// Appends a CQE (owner bit and stride are set here) and raises the completion event if the CQ is armed
  /// for it. `solicited`: an armed-for-solicited CQ fires for it (errors always do). On overrun: the CQ
  /// goes to error state and raises a CQ-error event; the caller's QP gets no completion. False then.
  bool complete(std::uint32_t cqn, layouts::image<layouts::cqe> e, bool solicited);

  /// The CQ doorbell in a UAR page (two 32-bit words, host order).
  void doorbell(std::uint32_t uar, std::uint32_t first, std::uint32_t second);
  void clear();
};

}  // namespace freehca::model
