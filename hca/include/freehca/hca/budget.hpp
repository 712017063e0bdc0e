// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca {

/// How large the device is made: everything that costs memory. Table sizes are logarithms of all
/// entries, those that the firmware keeps for itself included; what is lent for a table grows with
/// its use. Constant for the life of a device object.
struct budget {
  unsigned log_qps = 11;   ///< firmware keeps 64 to 1088 of them
  unsigned log_srqs = 8;   ///< firmware keeps 64
  unsigned log_cqs = 9;    ///< firmware keeps 128
  unsigned log_eqs = 6;    ///< firmware keeps 4 to 32
  unsigned log_mpts = 11;  ///< memory regions; firmware keeps 16 to 256
  unsigned log_mtts = 18;  ///< translation entries, one for each page of a region or queue
  unsigned log_mcgs = 7;   ///< multicast groups, hash table and overflow entries together
  /// Of a multicast group's entry in bytes, 6 to 12: 8 is 56 queue pairs of a group, as ConnectX-2
  /// has them.
  unsigned log_mcg_entry_bytes = 8;
  unsigned log_rdmarc_per_qp = 4;  ///< RDMA reads and atomics outstanding at a responder

  unsigned completion_event_queues = 1;  ///< 0 to most_completion_event_queues
  /// Of event queues, at least: they are made as large as command_slots and log_cqs need them.
  unsigned log_asynchronous_eq_entries = 8;
  unsigned log_completion_eq_entries = 10;
  unsigned command_slots = 16;  ///< commands in flight or in doubt; firmware may allow less
  unsigned log_largest_lent_run =
      8;  ///< of pages lent in one piece where the arena has them; 0: single pages

  /// Context memory that nobody needs any more is kept for this long, and at most so many blocks of
  /// it (a page each), in case that it is needed again; the time is the platform's clock's.
  std::uint32_t spare_context_blocks = 32;
  std::uint64_t spare_context_ns = 10'000'000;

  /// DMA memory, in bytes. The firmware tells only when it runs how much it needs of the first two
  /// (captures: 6 MiB and 9 MiB); a bring-up that finds too little says so.
  std::size_t firmware_bytes = std::size_t{8} << 20;
  std::size_t auxiliary_bytes = std::size_t{12} << 20;
  std::size_t context_bytes = std::size_t{6} << 20;
  std::size_t queue_bytes = std::size_t{8} << 20;      ///< rings of all queues, pages
  std::size_t doorbell_bytes = std::size_t{16} << 10;  ///< doorbell records, a cache line each

  static constexpr unsigned most_completion_event_queues = 15;

  /// What `where` of driver_error::no_memory and ::no_resource means when the device's own stores
  /// run out, and of ::exceeds_limits when the firmware asks for more than they hold.
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

constexpr const char* name_of(budget::item i) {
  constexpr const char* names[] = {"storage",
                                   "DMA memory",
                                   "pages to lend to the firmware",
                                   "queue memory",
                                   "doorbell records",
                                   "QP numbers",
                                   "SRQ numbers",
                                   "CQ numbers",
                                   "EQ numbers",
                                   "memory protection entries",
                                   "memory translation entries",
                                   "protection domain numbers",
                                   "UAR pages",
                                   "pages of the firmware's own area",
                                   "pages of the firmware's auxiliary area",
                                   "multicast groups",
                                   "RDMA reads and atomics of a queue pair"};
  constexpr std::size_t known = sizeof names / sizeof *names;
  static_assert(known == static_cast<std::size_t>(budget::item::reads_per_qp));
  const std::size_t place = static_cast<std::size_t>(i) - 1;
  return place < known ? names[place] : "unknown";
}

}  // namespace freehca
