// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/device.hpp>

namespace freehca::testing {

/// The DMA block of a device, up to the mailboxes.
struct block_of_memory {
  explicit block_of_memory(device& a)
      : adapter(a),
        plan(a.opened_with()),
        begin(a.arena().block().device_address),
        end(begin + plan.mailboxes) {}

  /// True if the device may write to the page at `at`: a page of an arena that is in use, a page of
  /// an area that is lent, or the ring of an event queue that is open. A ring of small entries does
  /// not fill its part of the block.
  bool may_be_written(std::uint64_t at) const {
    const std::uint64_t offset = at - begin;
    const dma_arena& contexts = adapter.contexts().arena();
    if (adapter.arena().is_out(at) || contexts.is_out(at)) return true;
    const std::uint64_t lent = adapter.holdings().pages * dma_arena::page -
                               adapter.arena().bytes_out() - contexts.bytes_out();
    if (offset >= plan.areas && offset < plan.context_memory) return offset - plan.areas < lent;
    const budget& b = adapter.opened_with();
    const auto in_ring = [this](std::uint64_t from_its_begin, unsigned log_entries) {
      return from_its_begin < queues::eq::ring_bytes(log_entries, adapter.capabilities().eqe_bytes);
    };
    if (offset >= plan.asynchronous_ring && offset < plan.mailboxes)
      return adapter.asynchronous_context().is_open() &&
             in_ring(offset - plan.asynchronous_ring, device_plan::log_asynchronous_eq_entries(b));
    const std::uint64_t behind = offset - plan.event_rings;
    const std::uint64_t queue = behind / plan.completion_ring_bytes;
    return offset >= plan.event_rings && queue < b.completion_event_queues &&
           adapter.completion_context(static_cast<unsigned>(queue)).is_open() &&
           in_ring(behind % plan.completion_ring_bytes, device_plan::log_completion_eq_entries(b));
  }

  device& adapter;
  const device_plan plan;
  const std::uint64_t begin, end;
};

}  // namespace freehca::testing
