// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/device_plan.hpp>

#include <gtest/gtest.h>

namespace freehca {
namespace {

/// A budget that differs from the default in one figure.
template <class Figure>
budget with(Figure budget::*figure, Figure value) {
  budget b;
  b.*figure = value;
  return b;
}

/// No arena has the parts of the DMA block, so nothing else keeps them apart.
TEST(device_plan, divides_the_block_into_parts_that_do_not_overlap) {
  const std::size_t odd = 12345;
  const budget budgets[] = {
      budget{},
      with(&budget::completion_event_queues, 0u),
      with(&budget::completion_event_queues, budget::most_completion_event_queues),
      with(&budget::log_cqs, 16u),
      with(&budget::log_cqs, 4u),
      with(&budget::log_completion_eq_entries, 4u),
      with(&budget::log_completion_eq_entries, 20u),
      with(&budget::log_asynchronous_eq_entries, 4u),
      with(&budget::log_asynchronous_eq_entries, 20u),
      with(&budget::command_slots, 1u),
      with(&budget::command_slots, static_cast<unsigned>(channel::most_slots)),
      with(&budget::log_largest_lent_run, 0u),
      with(&budget::log_largest_lent_run, 16u),
      with(&budget::queue_bytes, odd),
      with(&budget::context_bytes, odd),
      with(&budget::firmware_bytes, odd),
      with(&budget::auxiliary_bytes, odd),
      with(&budget::doorbell_bytes, odd),
  };
  for (const budget& b : budgets) {
    SCOPED_TRACE(&b - budgets);
    ASSERT_TRUE(device_plan::sound(b));
    const device_plan p(b);
    const std::size_t completion_ring =
        queues::eq::ring_bytes(device_plan::log_completion_eq_entries(b), 64);
    const std::size_t asynchronous_ring =
        queues::eq::ring_bytes(device_plan::log_asynchronous_eq_entries(b), 64);
    EXPECT_GE(p.arena_bytes, b.queue_bytes);
    EXPECT_GE(p.areas, p.arena_bytes);
    EXPECT_GE(p.context_memory, p.areas + b.firmware_bytes + b.auxiliary_bytes);
    EXPECT_GE(p.context_bytes, b.context_bytes);
    EXPECT_GE(p.event_rings, p.context_memory + p.context_bytes);
    EXPECT_GE(p.completion_ring_bytes, completion_ring);
    EXPECT_GE(p.asynchronous_ring,
              p.event_rings + b.completion_event_queues * p.completion_ring_bytes);
    EXPECT_GE(p.mailboxes, p.asynchronous_ring + asynchronous_ring);
    EXPECT_GE(p.doorbells, p.mailboxes + channel::mailbox_bytes_for(b.command_slots));
    EXPECT_GE(p.dma_bytes, p.doorbells + b.doorbell_bytes);
    for (const std::size_t part : {p.areas, p.context_memory, p.event_rings, p.asynchronous_ring,
                                   p.mailboxes, p.doorbells, p.dma_bytes})
      EXPECT_EQ(part % dma_arena::page, 0u);

    // Each ring is aligned to its size: the address of the block, and the ring's place in it.
    const std::size_t last_ring = p.mailboxes - p.asynchronous_ring;
    for (const std::size_t ring : {p.completion_ring_bytes, last_ring}) {
      EXPECT_EQ(ring & (ring - 1), 0u);
      EXPECT_EQ(p.alignment % ring, 0u);
    }
    EXPECT_EQ(p.event_rings % p.completion_ring_bytes, 0u);
    EXPECT_EQ(p.asynchronous_ring % last_ring, 0u);
  }
}

}  // namespace
}  // namespace freehca
