// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/word.hpp>

#include <freehca/queues/directory.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

struct cq_resources {
  dma_region ring;            ///< cq::ring_bytes(...), aligned to 64
  unsigned log_entries = 0;   ///< at most 22
  unsigned entry_bytes = 32;  ///< 32, or 64 where INIT_HCA chose that
  dma_region record;          ///< the doorbell record: 8 bytes, aligned to 8
  mmio_region uar;            ///< the UAR page that the CQ was created with
  std::uint32_t cqn = 0;
  const qp_directory* queue_pairs = nullptr;
};

/// A completion queue. Issues no command. One owner thread, that of the queue pairs whose requests
/// complete here.
///
/// An entry's last 64-bit word has its owner bit; one load of it sees that bit and, with it, which
/// WQE it is and how it ended.
class cq {
 public:
  static constexpr std::size_t ring_bytes(unsigned log_entries, unsigned entry_bytes) {
    return std::size_t{entry_bytes} << log_entries;
  }

  /// Takes the ring and makes every entry the device's: before SW2HW_CQ.
  /// driver_error::bad_argument.
  status open(const cq_resources& resources);
  void close() { *this = cq{}; }
  bool is_open() const { return ring_ != nullptr; }

  /// Takes at most `most` completions and tells the device about it. Entries that name no live
  /// queue pair or no outstanding request are dropped and counted; fewer than `most` means that the
  /// ring was empty, or held as many such entries as it has places.
  unsigned poll(work_completion* to, unsigned most) {
    if (!pending() || most == 0) return 0;
    return take(to, most);
  }

  /// The same, each given to sink(const work_completion&): for whoever keeps none of them. The
  /// device is told of each first, so that the sink may post; it may remove queue pairs too. It
  /// neither polls nor closes this queue.
  template <class Sink>
  [[gnu::always_inline]] unsigned drain(unsigned most, Sink&& sink) {
    if (!pending() || most == 0) return 0;
    work_completion each;
    return walk<0>(&each, most, sink);
  }

  /// Is there an entry that poll() would take?
  [[gnu::always_inline]] bool pending() const {
    if (!is_open()) return false;
    cache::invalidate(at_, layouts::cqe::bytes);
    // One that is passed over is taken by poll() too, and gives nothing.
    return is_mine(last_word_of(at_), lap_);
  }

  /// Asks for one event at the next completion, or the next solicited or failed one. A request for
  /// the next completion stands until its event: a later one for solicited completions alone does
  /// not weaken it (IBTA C11-31, C11-32). What came since the last poll() counts as next: poll once
  /// more after arming only where events can be lost.
  void arm(bool solicited_only = false);
  /// The event that arm() asked for has come, or is given up for lost: a look at the ring found
  /// what it should have told of. The device ignores an arm() with the number of an event that it
  /// has sent already.
  void on_event() {
    ++arm_number_;
    requested_ = layouts::cq_arm::none;
  }

  /// Drops the entries of a queue pair that is reset or gone, so that its number can be used again.
  /// Shared receives among them are free again: nothing else would tell of them.
  void forget(const qp_rings& pair);

  std::uint32_t cqn() const { return cqn_; }
  std::uint32_t entries() const { return mask_ + 1; }
  std::uint32_t consumer_counter() const { return consumer() & counter_mask; }
  /// Entries that made no sense, since open().
  std::uint64_t dropped() const { return dropped_; }

 private:
  using rows = layouts::cqe_rows;
  static constexpr std::uint32_t counter_mask = 0xffffff;
  static constexpr std::size_t last_word = layouts::cqe::bytes - 8;
  // Of words as they stand in memory: what is only tested needs no swap.
  static constexpr std::uint64_t owner = layouts::bit_in_memory<&rows::owner>;
  static constexpr std::uint64_t sent = layouts::bit_in_memory<&rows::is_send>;
  /// Bit 4 of the opcode sets errors, the mark of a resize, reads, atomics and memory management
  /// apart.
  static constexpr std::uint64_t special = layouts::swap_be(layouts::in_word<&rows::opcode>(0x10));

  [[gnu::always_inline]] static std::uint64_t last_word_of(const std::byte* entry) {
    return layouts::swap_be(dma::load_be64(entry + last_word));
  }
  /// The upper half of the entry's last byte: owner, is_send, a reserved bit and bit 4 of the
  /// opcode. One comparison of it tells the most common entries.
  [[gnu::always_inline]] static constexpr unsigned top_of(std::uint64_t word) {
    return std::endian::native == std::endian::little ? static_cast<unsigned>(word >> 60)
                                                      : static_cast<unsigned>(word >> 4 & 0xf);
  }
  [[gnu::always_inline]] static bool is_mine(std::uint64_t word, std::uint64_t lap) {
    return ((word ^ lap) & owner) == 0;
  }
  std::byte* entry_at(std::uint32_t counter) const {
    return begin_ + (std::size_t{counter & mask_} << log_stride_);
  }
  std::uint64_t lap_of(std::uint32_t counter) const {
    return (counter & (mask_ + 1)) != 0 ? owner : 0;
  }
  /// Does the next entry lie in the same line of the cache? Who stores to this one stores, when the
  /// line is written back, to that one as well.
  bool shares_its_line(std::uint32_t counter) const {
    return log_stride_ == 5 && (counter & 1) == 0;
  }
  bool is_passed_over(const std::byte* entry) const {
    return passed_over_ != 0 && entry == entry_at(passed_over_ - 1);
  }
  /// Entries taken since open().
  std::uint32_t consumer() const {
    return laps_ + static_cast<std::uint32_t>((at_ - begin_) >> log_stride_);
  }
  void go_to(std::uint32_t counter) {
    at_ = entry_at(counter);
    lap_ = lap_of(counter);
    laps_ = counter & ~mask_;
  }

  unsigned take(work_completion* to, unsigned most);
  /// Goes through the ring from where it stands, `Step` completions of `to` further with each.
  template <unsigned Step, class Sink>
  [[gnu::always_inline]] unsigned walk(work_completion* to, unsigned most, Sink&& sink);
  /// A send, a write or another request that brought no data back.
  [[gnu::always_inline]] bool decode_send(const std::byte* entry, std::uint64_t word,
                                          qp_rings& pair, work_completion& to);
  [[gnu::noinline]] bool decode_other(const std::byte* entry, std::uint64_t word,
                                      work_completion& to);
  /// A receive, from a queue pair's own queue or from a shared one. Of a sink, a function: its code
  /// is in each program that drains.
  [[gnu::noinline]] bool decode_receive(const std::byte* entry, std::uint64_t word, qp_rings& pair,
                                        work_completion& to);
  [[gnu::always_inline]] bool decode_receive_here(const std::byte* entry, std::uint64_t word,
                                                  qp_rings& pair, work_completion& to);
  template <class Ring>
  [[gnu::always_inline]] bool decode_receive_from(Ring& ring, const std::byte* entry,
                                                  std::uint64_t word, const qp_rings& pair,
                                                  work_completion& to);
  bool decode_special(const std::byte* entry, std::uint64_t word, qp_rings& pair,
                      work_completion& to);
  /// The head of the completion and the entry, whose last word was loaded already: what was judged
  /// by it is what the completion has.
  [[gnu::always_inline]] static void fill(work_completion& to, const posted_request& request,
                                          const qp_rings& pair, const std::byte* entry,
                                          std::uint64_t word) {
    __builtin_memcpy(static_cast<void*>(&to), &request, sizeof request);
    to.queue = &pair;
    dma::load_bytes(reinterpret_cast<std::byte*>(to.entry), entry, last_word);
    to.entry[last_word / 8] = word;
  }
  [[gnu::always_inline]] static std::uint32_t qpn_of(const std::byte* entry) {
    return dma::load_be32(entry) & static_cast<std::uint32_t>(rows{}.qpn.mask());
  }
  [[gnu::cold]] bool drop() {
    ++dropped_;
    return false;
  }
  [[gnu::always_inline]] void tell_consumer() {
    layouts::image<layouts::cq_doorbell_record> record;
    record.set<&layouts::cq_doorbell_record::update_ci>(consumer_counter());
    barrier::dma_load_to_store();
    dma::store_be32(record_.host, layouts::load_be<std::uint32_t>(record.data()));
    cache::clean(record_.host, layouts::cq_doorbell_record::bytes);
  }

  std::byte* at_ = nullptr;
  std::uint64_t lap_ = 0;      // the owner bit that makes an entry ours
  std::byte* last_ = nullptr;  // entry of the ring
  std::uint32_t laps_ = 0;     // entries of whole laps
  std::uint32_t mask_ = 0;
  std::size_t stride_ = 32;
  std::uint32_t log_stride_ = 5;
  /// Where the cache is maintained: 1 + the place of an entry that forget() could not take out, as
  /// the device may write the other half of its line. There is one at most; 0: none.
  std::uint32_t passed_over_ = 0;
  std::byte* begin_ = nullptr;  // of the first entry, in its second half where it has 64 bytes
  std::byte* ring_ = nullptr;
  dma_region record_;
  mmio_region uar_;
  const qp_directory* queue_pairs_ = nullptr;
  std::uint64_t dropped_ = 0;
  std::uint32_t cqn_ = 0;
  std::uint8_t arm_number_ =
      1;  // its lower two bits; Linux begins with 1 (hw/mlx4/cq.c mlx4_cq_alloc)
  // The strongest request since the last event. No source says what the device makes of a weaker
  // one, so it is never sent: illumos hermon_cq.c (hermon_cq_arm_doorbell) keeps this too.
  layouts::cq_arm requested_ = layouts::cq_arm::none;
};

template <unsigned Step, class Sink>
inline unsigned cq::walk(work_completion* to, unsigned most, Sink&& sink) {
  const qp_directory::view queue_pairs = queue_pairs_->look();
  // In registers while this goes on, but for a sink, which may have entries forgotten.
  std::byte* entry = at_;
  std::uint64_t lap = lap_ ^ sent;  // so that the top of a send's word is 0
  unsigned left = most;
  // Forged entries could keep this going for as long as the device makes them.
  for (std::uint32_t senseless = 0;;) {
    cache::invalidate(entry, layouts::cqe::bytes);
    const std::uint64_t word = last_word_of(entry);
    const unsigned top = top_of(word ^ lap);
    bool told;
    if (cache::is_maintained && is_passed_over(entry)) [[unlikely]] {
      passed_over_ = 0;
      told = false;
    } else if (top == 0) [[likely]] {
      barrier::dma_load_to_dma_load();
      qp_rings* const pair = queue_pairs.find(qpn_of(entry));
      told = pair != nullptr ? decode_send(entry, word, *pair, *to) : drop();
    } else if (top == top_of(sent)) {
      barrier::dma_load_to_dma_load();
      qp_rings* const pair = queue_pairs.find(qpn_of(entry));
      if (pair == nullptr) [[unlikely]]
        told = drop();
      else if constexpr (Step == 0) told = decode_receive(entry, word, *pair, *to);
      else told = decode_receive_here(entry, word, *pair, *to);
    } else {
      if ((top & top_of(owner)) != 0) break;
      barrier::dma_load_to_dma_load();
      told = decode_other(entry, word, *to);
    }
    if (entry == last_) [[unlikely]] {
      entry = begin_;
      lap ^= owner;
      laps_ += mask_ + 1;
    } else {
      entry += stride_;
    }
    if (told) [[likely]] {
      --left;
      if constexpr (Step == 0) {
        // What the sink posts may complete into the place of this entry.
        at_ = entry;
        lap_ = lap ^ sent;
        tell_consumer();
        sink(static_cast<const work_completion&>(*to));
        entry = at_;
        lap = lap_ ^ sent;
      }
      to += Step;
      if (left == 0) break;
    } else if (++senseless > mask_) {
      break;
    }
  }
  at_ = entry;
  lap_ = lap ^ sent;
  tell_consumer();
  return most - left;
}

inline bool cq::decode_send(const std::byte* entry, std::uint64_t word, qp_rings& pair,
                            work_completion& to) {
  const posted_request* const request = pair.send.retire(
      static_cast<std::uint16_t>(layouts::from_word<&rows::wqe_index>(layouts::swap_be(word))));
  if (request == nullptr) [[unlikely]]
    return drop();
  const bool wants_data = brings_data(request->opcode);
  fill(to, *request, pair, entry, word);
  if (wants_data) [[unlikely]] {
    // Reads and atomics complete with opcodes of their own.
    to.byte_count = 0;
    to.status = completion_status::implausible;
  }
  return true;
}

}  // namespace freehca::queues
