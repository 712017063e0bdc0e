// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/register_map.hpp>

#include <freehca/queues/directory.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

/// What a completion queue stands on; outlives it.
struct cq_resources {
  dma_region ring;            ///< cq::ring_bytes(...)
  unsigned log_entries = 0;   ///< at most 22
  unsigned entry_bytes = 32;  ///< 32, or 64 where INIT_HCA chose that
  dma_region record;          ///< the doorbell record: 8 bytes, aligned to 8
  mmio_region uar;            ///< the UAR page that the CQ was created with
  std::uint32_t cqn = 0;
  const qp_directory* queue_pairs = nullptr;
};

/// The ring of a completion queue. Issues no command. One owner thread.
class cq {
 public:
  static constexpr std::size_t ring_bytes(unsigned log_entries, unsigned entry_bytes) {
    return std::size_t{entry_bytes} << log_entries;
  }

  /// Takes the ring and makes every entry the device's: before SW2HW_CQ.
  /// driver_error::bad_argument.
  status open(const cq_resources& resources);
  void close() { ring_ = {}; }
  bool is_open() const { return ring_.host != nullptr; }

  /// Takes at most `most` completions and tells the device about it. Entries that name no live
  /// queue pair or no outstanding request are dropped and counted; fewer than `most` means that the
  /// ring was empty.
  unsigned poll(work_completion* to, unsigned most);

  /// Is there an entry that poll() would take?
  bool pending() const { return is_open() && is_mine(entry_at(consumer_), consumer_); }

  /// Asks for one event at the next completion, or the next solicited or failed one. What came
  /// since the last poll() counts as next: poll once more after arming only where events can be
  /// lost.
  void arm(bool solicited_only = false);
  /// The event that arm() asked for has come, or is given up for lost: a look at the ring found
  /// what it should have told of. The device ignores an arm() with the number of an event that it
  /// has sent already.
  void on_event() { ++arm_number_; }

  /// Drops the entries of a queue pair that is reset or gone, so that its number can be used again.
  void forget(std::uint32_t qpn);

  std::uint32_t cqn() const { return cqn_; }
  std::uint32_t entries() const { return entries_; }
  std::uint32_t consumer_counter() const { return consumer_ & counter_mask; }
  /// Entries that made no sense, since open().
  std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr std::uint32_t counter_mask = 0xffffff;
  using entry = layouts::image<layouts::cqe>;

  std::byte* entry_at(std::uint32_t counter) const {
    return ring_.host + std::size_t{counter & (entries_ - 1)} * entry_bytes_ + offset_;
  }
  static entry load_owner_word(const std::byte* at) {
    constexpr std::size_t word = layouts::cqe{}.owner.offset;
    entry e;
    layouts::store_be(e.data() + word, dma::load_be32(at + word));
    return e;
  }
  bool is_mine(const std::byte* at, std::uint32_t counter) const {
    return load_owner_word(at).get<&layouts::cqe::owner>() == ((counter & entries_) != 0);
  }
  bool decode(const entry& e, work_completion& to);
  void tell_consumer();

  dma_region ring_;
  dma_region record_;
  mmio_region uar_;
  const qp_directory* queue_pairs_ = nullptr;
  std::uint64_t dropped_ = 0;
  std::uint32_t cqn_ = 0;
  std::uint32_t entries_ = 0;
  std::uint32_t entry_bytes_ = 0;
  std::uint32_t offset_ = 0;      // of the 32 bytes in an entry
  std::uint32_t consumer_ = 0;    // counts on; the device has 24 bits of it
  std::uint32_t arm_number_ = 1;  // Linux begins with 1 (hw/mlx4/cq.c mlx4_cq_alloc)
};
static_assert(sizeof(void*) != 8 || sizeof(cq) <= 112);

}  // namespace freehca::queues
