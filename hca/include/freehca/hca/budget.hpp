// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca {

/// The sizes of everything in a device that costs memory. A table size is the logarithm of the
/// number of all entries, including those that the firmware keeps for itself. The memory lent for a
/// table grows with the use of the table. A budget is constant for the life of a device object.
struct budget {
  unsigned log_qps = 11;   ///< the firmware keeps 64 to 1088 QPs
  unsigned log_srqs = 8;   ///< the firmware keeps 64 SRQs
  unsigned log_cqs = 9;    ///< the firmware keeps 128 CQs
  unsigned log_eqs = 6;    ///< the firmware keeps 4 to 32 EQs
  unsigned log_mpts = 11;  ///< memory regions; the firmware keeps 16 to 256 entries
  unsigned log_mtts = 18;  ///< translation entries: one for each page of a region, few for a queue
  unsigned log_mcgs = 7;   ///< multicast groups: the sum of hash table and overflow entries
  /// The size of the entry of a multicast group in bytes, 6 to 12. With 8, a group has room for 56
  /// queue pairs, as on ConnectX-2.
  unsigned log_mcg_entry_bytes = 8;
  /// Entries of the multicast table whose memory is lent from the start: steer_by_rules() sets it.
  std::uint32_t lent_mcgs = 0;
  unsigned log_rdmarc_per_qp = 4;  ///< outstanding RDMA reads and atomics at a responder

  unsigned completion_event_queues = 1;  ///< 0 to most_completion_event_queues
  /// The minimum sizes of the event queues. The driver enlarges them if command_slots or log_cqs
  /// need more entries.
  unsigned log_asynchronous_eq_entries = 8;
  unsigned log_completion_eq_entries = 10;
  unsigned command_slots = 16;  ///< commands in flight or in doubt; the firmware may allow fewer
  /// Pages in the largest entry of MAP_FA and MAP_ICM_AUX; 0: single pages.
  unsigned log_largest_lent_run = 8;

  /// A block of context memory that has no user is kept as a spare block, in case it is needed
  /// again. At most spare_context_blocks blocks (usually one page each) are kept. The driver takes
  /// all spare blocks back spare_context_ns nanoseconds of the platform's clock after the first of
  /// them became spare.
  std::uint32_t spare_context_blocks = 32;
  std::uint64_t spare_context_ns = 10'000'000;

  /// DMA memory, in bytes. The first two are one piece of memory, for the firmware's own area and
  /// its auxiliary area. The firmware reports only during bring-up how much it needs (captures: 6
  /// MiB and 9 MiB). If there is too little, the bring-up fails with driver_error::exceeds_limits.
  /// Each of the other figures bounds memory of its own.
  std::size_t firmware_bytes = std::size_t{8} << 20;
  std::size_t auxiliary_bytes = std::size_t{12} << 20;
  std::size_t context_bytes = std::size_t{6} << 20;
  std::size_t queue_bytes = std::size_t{8} << 20;      ///< rings of all queues, in whole pages
  std::size_t doorbell_bytes = std::size_t{16} << 10;  ///< doorbell records, one cache line each

  static constexpr unsigned most_completion_event_queues = 15;

  /// The meaning of `where` in driver_error::no_memory and ::no_resource, if a store of the device
  /// is exhausted. Also the meaning of `where` in ::exceeds_limits, if the firmware asks for more
  /// than a store holds.
  enum class item : std::uint8_t {
    storage = 1,
    dma,
    lent_pages,
    queue_memory,
    doorbell_records,
    qps,
    srqs,
    cqs,
    eqs,
    mpts,
    mtts,
    pds,
    uars,
    firmware_area,
    auxiliary_area,
    multicast_groups,
    reads_per_qp,
  };
};

}  // namespace freehca
