// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/device.hpp>

namespace freehca::testing {

/// True if the device may write to the page at `at`, an address of the DMA block below the
/// mailboxes: a page of the arena that is in use, a page of an area that is lent, or the ring of an
/// event queue that is open.
inline bool may_be_written(device& adapter, std::uint64_t at) {
  const device_plan plan(adapter.opened_with());
  const dma_arena& arena = adapter.arena();
  const std::uint64_t begin = arena.block().device_address - plan.arena_at;
  if (at >= begin + plan.arena_at) return arena.is_out(at);
  if (at < begin + plan.areas) return adapter.asynchronous_context().is_open();
  const std::uint64_t lent = adapter.holdings().pages * dma_arena::page - arena.bytes_out();
  return at - begin - plan.areas < lent;
}

}  // namespace freehca::testing
