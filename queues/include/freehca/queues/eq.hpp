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

/// What an event queue stands on; outlives it.
struct eq_resources {
  dma_region ring;            ///< eq::ring_bytes(...)
  unsigned log_entries = 0;   ///< at most 22
  unsigned entry_bytes = 32;  ///< 32, or 64 where INIT_HCA chose that
  mmio_region doorbell;       ///< the four bytes at uar::eq_doorbell_of(eqn) of BAR 2
};

/// The ring of an event queue. Issues no command: hca hands the ring to the device after open(),
/// with the consumer counter at 0. One owner thread.
class eq {
 public:
  static constexpr std::size_t ring_bytes(unsigned log_entries, unsigned entry_bytes) {
    return std::size_t{entry_bytes} << log_entries;
  }

  /// Takes the ring and makes every entry the device's. driver_error::bad_argument: too small, or a
  /// shape that hardware does not have.
  status open(const eq_resources& resources);
  void close() { ring_ = {}; }
  bool is_open() const { return ring_.host != nullptr; }

  /// Is there an entry that next() would take?
  bool pending() const;

  /// Takes the next event, if there is one. Tells the device about the progress by itself before
  /// the ring can run full; the last word is the caller's, with arm().
  bool next(layouts::image<layouts::eqe>& to) {
    const std::byte* entry = entry_at(consumer_);
    if (!is_mine(entry)) return false;
    barrier::dma_load_to_dma_load();
    dma::load_bytes(to.data(), entry, layouts::eqe::bytes);
    ++consumer_;
    if (++unreported_ >= tell_at_) tell(false);
    return true;
  }

  /// Tells the device how far the consumer got, and asks for an interrupt at the next event. Look
  /// again afterwards only where interrupts can be lost: an event that came before is reported at
  /// once.
  void arm() { tell(true); }
  /// The same without asking for an interrupt.
  void acknowledge() { tell(false); }

  std::uint32_t entries() const { return entries_; }
  std::uint32_t consumer_counter() const { return consumer_ & counter_mask; }

 private:
  static constexpr std::uint32_t counter_mask = 0xffffff;

  const std::byte* entry_at(std::uint32_t counter) const {
    return ring_.host + std::size_t{counter & (entries_ - 1)} * entry_bytes_ + offset_;
  }
  bool is_mine(const std::byte* entry) const {
    // The owner bit's word alone is loaded first: what it guards is read behind a barrier.
    constexpr std::size_t at = layouts::eqe{}.owner.offset;
    cache::invalidate(entry, layouts::eqe::bytes);
    layouts::image<layouts::eqe> probe;
    layouts::store_be(probe.data() + at, dma::load_be32(entry + at));
    return probe.get<&layouts::eqe::owner>() == ((consumer_ & entries_) != 0);
  }
  void tell(bool ask) {
    // The device may fill the entries again as soon as it knows: they must have been read.
    barrier::dma_load_to_store();
    mmio::write_32(doorbell_, 0, layouts::eq_doorbell_word(consumer_, ask));
    unreported_ = 0;
  }

  dma_region ring_;
  mmio_region doorbell_;
  std::uint32_t entries_ = 0;
  std::uint32_t entry_bytes_ = 0;
  std::uint32_t offset_ = 0;    // of the 32 bytes in an entry
  std::uint32_t consumer_ = 0;  // counts on; the device has 24 bits of it
  std::uint32_t unreported_ = 0;
  std::uint32_t tell_at_ = 1;
};

}  // namespace freehca::queues
