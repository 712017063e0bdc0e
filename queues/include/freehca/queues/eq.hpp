// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/eq_doorbell.hpp>
#include <freehca/layouts/eqe.hpp>

namespace freehca::queues {

/// Parameters of eq::open(). The memory and the register that they name outlive the queue.
struct eq_resources {
  dma_region ring;            ///< at least eq::ring_bytes(...) bytes
  unsigned log_entries = 0;   ///< at most 22
  unsigned entry_bytes = 32;  ///< 32, or 64 if INIT_HCA chose that
  mmio_region doorbell;       ///< four bytes at uar::eq_doorbell_of(eqn) of BAR 2
};

/// The ring of an event queue. It issues no commands. After open(), hca gives the ring to the
/// device with the consumer counter at 0. All functions are called by one owner thread.
class eq {
 public:
  static constexpr std::size_t ring_bytes(unsigned log_entries, unsigned entry_bytes) {
    return std::size_t{entry_bytes} << log_entries;
  }

  /// Takes the ring and gives every entry to the device. Error: driver_error::bad_argument (a shape
  /// that the hardware does not have, or missing or too little memory).
  status open(const eq_resources& resources);
  void close() { ring_ = {}; }
  bool is_open() const { return ring_.host != nullptr; }

  /// True if next() would return an event. False if the queue is not open.
  bool pending() const;

  /// Copies the next event to `to`. Returns false if there is none. The queue is open. next()
  /// reports the consumer counter to the device before the ring can run full. At the end the caller
  /// reports it with arm() or acknowledge().
  bool next(layouts::image<layouts::eqe>& to) {
    const std::byte* entry = entry_at(consumer_);
    if (!is_mine(entry)) return false;
    barrier::dma_load_to_dma_load();
    dma::load_bytes(to.data(), entry, layouts::eqe::bytes);
    ++consumer_;
    if (++unreported_ >= tell_at_) tell(false);
    return true;
  }

  /// Reports the consumer counter to the device, and requests an interrupt at the next event. If an
  /// event came before arm(), the device raises the interrupt at once. The caller therefore looks
  /// again only if interrupts can be lost.
  void arm() { tell(true); }
  /// Reports the consumer counter without a request for an interrupt.
  void acknowledge() { tell(false); }

  std::uint32_t entries() const { return entries_; }
  std::uint32_t consumer_counter() const { return consumer_ & counter_mask; }

 private:
  static constexpr std::uint32_t counter_mask = 0xffffff;

  const std::byte* entry_at(std::uint32_t counter) const {
    return ring_.host + std::size_t{counter & (entries_ - 1)} * entry_bytes_ + offset_;
  }
  bool is_mine(const std::byte* entry) const {
    // The word with the owner bit is loaded first. The rest of the entry is read behind a barrier.
    constexpr std::size_t at = layouts::eqe{}.owner.offset;
    cache::invalidate(entry, layouts::eqe::bytes);
    layouts::image<layouts::eqe> probe;
    layouts::store_be(probe.data() + at, dma::load_be32(entry + at));
    return probe.get<&layouts::eqe::owner>() == ((consumer_ & entries_) != 0);
  }
  void tell(bool ask) {
    // After this store the device may overwrite the entries. All loads from them must be done
    // before.
    barrier::dma_load_to_store();
    mmio::write_32(doorbell_, 0, layouts::eq_doorbell_word(consumer_, ask));
    unreported_ = 0;
  }

  dma_region ring_;
  mmio_region doorbell_;
  std::uint32_t entries_ = 0;
  std::uint32_t entry_bytes_ = 0;
  std::uint32_t offset_ = 0;    // of the event's 32 bytes in an entry
  std::uint32_t consumer_ = 0;  // free-running; the device uses the low 24 bits
  std::uint32_t unreported_ = 0;
  std::uint32_t tell_at_ = 1;
};

}  // namespace freehca::queues
