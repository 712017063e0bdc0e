// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <freehca/layouts/qpc.hpp>

#include "entries.hpp"
#include "host_blocks.hpp"

namespace freehca::recorder {

enum class ring_kind : std::uint8_t { event_queue, completion_queue, queue_pair, shared_receives };

/// A queue in host memory, as its creating command described it.
struct ring {
  ring_kind kind{};
  std::uint32_t number = 0;
  std::vector<std::uint64_t> pages;
  std::size_t page_bytes = 4096, first = 0, bytes = 0;
  // for entries that the adapter writes
  std::size_t entry_bytes = 32, offset = 0;
  std::uint32_t entries = 0, consumer = 0;
  // for a queue pair
  std::size_t send_first = 0, send_bytes = 0, send_stride = 64;
  layouts::qp_service service{};
  std::optional<std::uint64_t> record;  // address of its doorbell record

  std::uint64_t address_of(std::size_t at) const {
    return pages[(first + at) / page_bytes] + (first + at) % page_bytes;
  }
};

/// The memory with structures instead of payload, learnt from the commands: rings, doorbell
/// records, and the translations (MTTs) of the rings' pages. The driver writes translations by
/// WRITE_MTT or stores them in lent memory. Only stores to this memory are recorded.
class rings {
 public:
  using store_handler = std::function<void(std::uint64_t address, bytes data)>;
  using entry_handler = std::function<void(const ring& of, std::uint64_t address, bytes data)>;

  /// `segment`: a wqe_datagram of a send.
  using address_handler = std::function<void(const std::byte* segment)>;

  rings(const host_blocks& memory, store_handler store, entry_handler entry,
        address_handler address)
      : memory_(memory),
        store_(std::move(store)),
        entry_(std::move(entry)),
        address_(std::move(address)) {}

  /// Called before the command is posted.
  void before(const entry& command, const bytes& input);
  /// Called when the command has succeeded.
  void after(const entry& command);
  void forget();

  /// Called after the driver has stored to an address that is mapped for the device.
  void stored(std::uint64_t address, std::size_t bytes);
  /// Records the stores since the last call.
  void flush();
  /// Called before the driver loads from the address. If the address is in a queue, records the new
  /// entries of this queue.
  void loads(std::uint64_t address);

 private:
  struct area {
    std::size_t bytes;
    const ring* of;  // null: a doorbell record
    std::size_t at;  // in the ring
  };
  using key = std::pair<ring_kind, std::uint32_t>;

  void take_queue(const entry& command, const bytes& input);
  void take_queue_pair(const entry& command, const bytes& input);
  void add(ring r, std::uint64_t mtt_address, std::uint64_t record, std::size_t record_bytes);
  void remove(const key& which);
  void sweep(ring& in);
  void tell(const ring* of, std::uint64_t address, std::size_t at, std::size_t count);
  void tell_send_entries(const ring& of, std::size_t at, std::size_t count);
  void tell_memory(std::uint64_t address, const bytes& data);
  bytes read(std::uint64_t address, std::size_t count) const;
  std::map<std::uint64_t, area>::const_iterator area_at(std::uint64_t address) const;

  const host_blocks& memory_;
  store_handler store_;
  entry_handler entry_;
  address_handler address_;
  void lend(const entry& command, const bytes& input);
  void take_back(std::uint64_t va, std::uint64_t count);
  void follow_translations(const bytes& init);
  /// The page address of the translation at `address`, an offset in the table; 0: not known.
  std::uint64_t page_of(std::uint64_t address) const;

  struct chunk {
    std::uint64_t bus, bytes;
  };
  std::map<std::uint64_t, chunk> lent_;            // by the address in context memory
  std::uint64_t table_begin_ = 0, table_end_ = 0;  // of the translations, in context memory
  std::map<std::uint64_t, std::uint64_t>
      written_;  // page addresses of WRITE_MTT, by the entry's address
  std::map<key, ring> all_;
  std::map<std::uint64_t, area> areas_;
  std::vector<std::pair<std::uint64_t, std::size_t>> dirty_;
  bool long_completions_ = false, long_events_ = false;
};

}  // namespace freehca::recorder
