// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/eqe.hpp>

#include "adapter.hpp"

namespace freehca::model {

/// Event queues: SW2HW_EQ, HW2SW_EQ, QUERY_EQ, MAP_EQ, the EQ doorbells in the UAR pages, interrupts.
class event_queues {
 public:
  explicit event_queues(adapter& a);

  /// Writes an EQE to EQ `eqn` (owner bit and stride are set here) and interrupts if the EQ is armed.
  /// False: no such EQ in hardware's hands. An overrun turns the EQ into overflow state, as hardware does.
  bool post(std::uint32_t eqn, const layouts::image<layouts::eqe>& e);

  /// Posts to the EQ that MAP_EQ chose for this type of event; dropped silently when none is mapped.
  void post_asynchronous(layouts::event_type type, layouts::image<layouts::eqe> e);

  /// A write to the EQ doorbell in UAR page `uar`; `index` is the EQ's slot in that page.
  void doorbell(std::uint32_t uar, unsigned index, std::uint32_t value);
  /// The clear-interrupt register (INTx mode).
  void clear_interrupt();
  void clear();
};

}  // namespace freehca::model
