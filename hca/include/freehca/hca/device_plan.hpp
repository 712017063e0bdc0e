// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/hal/dma_arena.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/queues/eq.hpp>

#include <freehca/hca/budget.hpp>
#include <freehca/hca/context_tables.hpp>
#include <freehca/hca/numbers.hpp>
#include <freehca/hca/uar.hpp>

namespace freehca {

/// The division of the storage and of the DMA block of a device. Offsets are in bytes.
struct device_plan {
  // storage
  std::size_t slots, contexts, area_entries, qps, srqs, cqs, eqs, mpts, mtts, pds, keys, uars,
      arena, doorbell_arena, storage_bytes;
  // DMA block
  std::size_t arena_bytes, areas, context_memory, context_bytes, event_rings, completion_ring_bytes,
      asynchronous_ring, mailboxes, doorbells, dma_bytes, alignment;

  static constexpr unsigned log_pds = 12;  ///< a protection domain costs only one bit
  static constexpr unsigned log_pds_of_event_owner = 10;
  static constexpr unsigned most_log_eq_entries = 20;

  /// The size of a completion event queue. A full event queue loses events permanently, so each
  /// queue has room for all events that can be in it at once. A completion event queue can have one
  /// event for each completion queue (Linux 6.1 eq.c mlx4_init_eq_table). Linux adds spare entries
  /// and leaves out the completion queues that the firmware keeps. The numbers of both are equal.
  static constexpr unsigned log_completion_eq_entries(const budget& b) {
    return b.log_completion_eq_entries > b.log_cqs ? b.log_completion_eq_entries : b.log_cqs;
  }
  /// The size of the asynchronous event queue. It has at least two entries for each command slot:
  /// one for the completion of the command, and one for an event of an object or a port.
  static constexpr unsigned log_asynchronous_eq_entries(const budget& b) {
    const unsigned least = layouts::bit_width(2 * b.command_slots - 1);
    return b.log_asynchronous_eq_entries > least ? b.log_asynchronous_eq_entries : least;
  }

  constexpr explicit device_plan(const budget& b) {
    constexpr std::size_t page = dma_arena::page;
    // To a power of two.
    const auto round_up = [](std::size_t n, std::size_t to) { return (n + to - 1) & ~(to - 1); };
    const auto whole_pages = [round_up](std::size_t n) { return round_up(n, page); };
    // The arena of rings comes first, so that its rings are aligned as well as possible.
    arena_bytes = areas = whole_pages(b.queue_bytes);
    context_memory = areas + whole_pages(b.firmware_bytes) + whole_pages(b.auxiliary_bytes);
    context_bytes = whole_pages(b.context_bytes);
    // Each ring of an event queue is aligned to its size, a power of two. The asynchronous queue's
    // is the last.
    completion_ring_bytes = whole_pages(queues::eq::ring_bytes(log_completion_eq_entries(b), 64));
    const std::size_t ring =
        whole_pages(queues::eq::ring_bytes(log_asynchronous_eq_entries(b), 64));
    event_rings = round_up(context_memory + context_bytes, completion_ring_bytes);
    asynchronous_ring =
        round_up(event_rings + b.completion_event_queues * completion_ring_bytes, ring);
    alignment = page << b.log_largest_lent_run;
    if (alignment < completion_ring_bytes) alignment = completion_ring_bytes;
    if (alignment < ring) alignment = ring;
    mailboxes = asynchronous_ring + ring;
    doorbells = mailboxes + channel::mailbox_bytes_for(b.command_slots);
    dma_bytes = doorbells + whole_pages(b.doorbell_bytes);

    std::size_t at = 0;
    const auto take = [&at](std::size_t n) {
      const std::size_t here = at;
      at += (n + 15) / 16 * 16;
      return here;
    };
    const auto take_numbers = [take](unsigned log, std::size_t owner_bytes = 0) {
      return take(number_allocator::storage_bytes_for(std::size_t{1} << log) +
                  (owner_bytes << log));
    };
    slots = take(channel::storage_bytes_for(b.command_slots));
    contexts = take(context_tables::storage_bytes_for(b));
    area_entries =
        take(layouts::map_entries_per_mailbox * sizeof(layouts::image<layouts::map_entry>));
    qps = take_numbers(b.log_qps, 1);
    srqs = take_numbers(b.log_srqs, 1);
    cqs = take_numbers(b.log_cqs, 1);
    eqs = take_numbers(b.log_eqs);
    mpts = take_numbers(b.log_mpts);
    mtts = take_numbers(b.log_mtts - number_spaces::log_mtt_unit);
    pds = take_numbers(log_pds);
    keys = take(std::size_t{1} << b.log_mpts);
    uars = take(uar_pages::storage_bytes());
    arena = take(dma_arena::storage_bytes_for(arena_bytes));
    doorbell_arena = take(dma_arena::storage_bytes_for(b.doorbell_bytes, 64));
    storage_bytes = at;
  }

  /// Returns true if each figure of the budget is in its valid range.
  static constexpr bool sound(const budget& b) {
    return b.log_qps <= 24 && b.log_srqs <= 24 && b.log_cqs <= 24 && b.log_eqs <= 10 &&
           b.log_mpts <= 24 && b.log_mtts >= 6 && b.log_mtts <= 31 && b.log_mcgs >= 1 &&
           b.log_mcgs <= 24 && b.log_mcg_entry_bytes >= 6 && b.log_mcg_entry_bytes <= 12 &&
           b.log_rdmarc_per_qp <= 7 &&
           b.completion_event_queues <= budget::most_completion_event_queues &&
           b.log_asynchronous_eq_entries >= 4 &&
           b.log_asynchronous_eq_entries <= most_log_eq_entries &&
           b.log_completion_eq_entries >= 4 && b.log_completion_eq_entries <= most_log_eq_entries &&
           b.command_slots >= 1 && b.command_slots <= channel::most_slots &&
           b.log_largest_lent_run <= 16 && b.doorbell_bytes >= 64;
  }
};

}  // namespace freehca
