// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/word.hpp>

#include <freehca/queues/directory.hpp>
#include <freehca/queues/work_completion.hpp>

namespace freehca::queues {

/// Parameters of cq::open(). The memory, the registers and the directory outlive the queue.
struct cq_resources {
  dma_region ring;            ///< at least cq::ring_bytes(...) bytes, aligned to 64
  unsigned log_entries = 0;   ///< at most 22
  unsigned entry_bytes = 32;  ///< 32, or 64 if INIT_HCA chose that
  dma_region record;          ///< the doorbell record: 8 bytes, aligned to 8
  mmio_region uar;            ///< the UAR page that the CQ was created with
  std::uint32_t cqn = 0;
  const qp_directory* queue_pairs = nullptr;
};

/// A completion queue. It issues no commands.
///
/// A completion queue, the queue pairs whose requests complete there, and the shared receive queues
/// of these queue pairs are a queue group. Groups with a common member are one group. One thread at
/// a time is inside the functions of a group's rings. Threads may be inside different groups of an
/// owner at the same time. A thread in a function of `verbs` excludes all groups of the owner: the
/// function may open, stop and close rings, call on_event() and forget(), and change the directory
/// of queue pairs. If a device writes the number of a queue pair of another group into a
/// completion, poll() retires requests of that queue pair. Such a device can cause a data race.
///
/// The last 64-bit word of an entry has the owner bit, the WQE index and the opcode. One load of
/// this word is therefore enough to see that the entry is valid, which WQE it is about, and whether
/// the WQE succeeded.
class cq {
 public:
  static constexpr std::size_t ring_bytes(unsigned log_entries, unsigned entry_bytes) {
    return std::size_t{entry_bytes} << log_entries;
  }

  /// Takes the ring, gives every entry to the device and zeroes the doorbell record. Called before
  /// SW2HW_CQ. Error: driver_error::bad_argument (a size that the hardware does not have, missing
  /// or too little memory, a misaligned record, or a directory that is not open).
  status open(const cq_resources& resources);
  void close() { *this = cq{}; }
  bool is_open() const { return ring_ != nullptr; }

  /// Takes at most `most` completions, and then releases their entries to the device. Returns the
  /// number of completions. Entries that name no live queue pair or no outstanding request are
  /// dropped and counted. If the result is less than `most`, the ring was empty, or the call has
  /// dropped as many entries as the ring has.
  unsigned poll(work_completion* to, unsigned most) {
    if (!pending() || most == 0) return 0;
    return most == 1 ? take_one(*to) : take(to, most);
  }

  /// Like poll(), but gives each completion to sink(const completion_view&) without a copy. The
  /// views are valid until release(), which releases their entries to the device. poll(), arm(),
  /// forget() and a look() that returns 0 may release the entries too. Only release() always does
  /// so. The sink must not call this queue or remove queue pairs. It may post requests whose
  /// completions find room in the ring without the entries that are not released yet.
  template <class Sink>
  [[gnu::always_inline]] unsigned look(unsigned most, Sink&& sink) {
    if (!pending() || most == 0) return 0;
    const unsigned given = walk<false>(
        most,
        [&sink](const auto&... of) __attribute__((always_inline)) {
          completion_view view;
          fill(view, of...);
          sink(static_cast<const completion_view&>(view));
        },
        nullptr);
    // If all entries were dropped, the caller has no view and does not call release().
    if (given == 0) [[unlikely]]
      tell_consumer();
    return given;
  }
  using named_rings = qp_rings* (*)(void* context, std::uint32_t srqn);
  /// Like poll(), for a queue with receives of extended reliable connections (XRC). The entry of
  /// such a receive names a shared receive queue. named(context, its number) returns rings whose
  /// `shared` is that queue, or null if there is no such queue. These rings become
  /// work_completion::queue, and take the place of those of the queue pair, which may have been
  /// destroyed. poll() and look() drop these entries. Source: rdma-core providers/mlx4/cq.c
  /// (mlx4_parse_cqe).
  unsigned take_named(work_completion* to, unsigned most, named_rings named, void* context);
  /// The fast path of take_named() for one receive. Returns false and takes nothing if the next
  /// entry is no successful receive that names its queue: the caller then calls take_named().
  template <class Named>
  [[gnu::always_inline]] bool take_named_receive(work_completion& to, Named&& named) {
    if (!is_open()) return false;
    cache::invalidate(at_, layouts::cqe::bytes);
    const std::uint64_t word = last_word_of(at_);
    if (top_of(word ^ lap_) != 0 || (cache::is_maintained && passed_over_ != 0)) return false;
    barrier::dma_load_to_dma_load();
    qp_rings* const rings = is_xrc_target(qpn_of(at_)) ? named(srqn_of(at_)) : nullptr;
    return rings != nullptr && take_receive_of(to, word, *rings);
  }
  /// Releases the entries of all views that look() has given out.
  [[gnu::always_inline]] void release() {
    if (is_open()) tell_consumer();
  }

  /// True if poll() would take an entry. poll() may still drop it.
  [[gnu::always_inline]] bool pending() const {
    if (!is_open()) return false;
    cache::invalidate(at_, layouts::cqe::bytes);
    // This includes the entry at passed_over_, which poll() takes and does not return.
    return is_mine(last_word_of(at_), lap_);
  }

  /// Requests one event at the next completion, or at the next solicited or failed completion. A
  /// request for the next completion stands until its event: a later request for solicited
  /// completions alone does not weaken it (IBTA C11-31, C11-32). If a completion came after the
  /// last poll(), the event comes at once. The caller therefore polls once more after arm() only if
  /// events can be lost. No effect if the queue is not open.
  void arm(bool solicited_only = false);
  /// Called when the event that arm() requested has come. Also called when the event seems lost,
  /// because its completion is in the ring. The next arm() gets another number, because the device
  /// ignores the number of an event that it has already sent.
  void on_event() {
    ++arm_number_;
    requested_ = layouts::cq_arm::none;
  }

  /// Removes the entries of a queue pair that was reset or destroyed, so that its number can be
  /// used again. Frees the shared receives that the entries name, because nothing else will name
  /// them.
  void forget(const qp_rings& pair);
  /// Removes the entries that take_named() would take from the shared receive queue `srqn`, which
  /// was destroyed.
  void forget_named(std::uint32_t srqn);

  /// False if move_to() cannot work here: the cache is maintained, and an entry shares its line
  /// with one that the device writes.
  bool can_move() const { return !cache::is_maintained || log_stride_ != 5; }
  /// The number of entries that poll() has not taken yet.
  std::uint32_t unpolled() const;
  /// Continues in another ring after the device has resized the queue. The entries that were not
  /// polled move there (Linux 6.1 hw/mlx4/cq.c mlx4_ib_cq_resize_copy_cqes). The views of look()
  /// have been released. Error: driver_error::bad_argument (as for open(); or can_move() is false).
  status move_to(const dma_region& ring, unsigned log_entries);

  std::uint32_t cqn() const { return cqn_; }
  std::uint32_t entries() const { return mask_ + 1; }
  std::uint32_t consumer_counter() const { return consumer() & counter_mask; }
  /// The number of entries since open() that were dropped.
  std::uint64_t dropped() const { return dropped_; }

 private:
  [[gnu::always_inline]] void tell_consumer() {
    barrier::dma_load_to_store();
    dma::store_be32(record_.host, consumer_counter());
    cache::clean(record_.host, layouts::cq_doorbell_record::bytes);
  }

  using rows = layouts::cqe_rows;
  static constexpr std::uint32_t counter_mask = 0xffffff;
  static constexpr std::size_t last_word = layouts::cqe::bytes - 8;
  // Bits in the byte order of memory: a test of a single bit needs no swap.
  static constexpr std::uint64_t owner = layouts::bit_in_memory<&rows::owner>;
  static constexpr std::uint64_t sent = layouts::bit_in_memory<&rows::is_send>;
  /// Bit 4 of the opcode.
  static constexpr std::uint64_t high_opcode =
      layouts::swap_be(std::uint64_t{0x10} << layouts::word_shift<&rows::opcode>);

  [[gnu::always_inline]] static std::uint64_t last_word_of(const std::byte* entry) {
    return layouts::swap_be(dma::load_be64(entry + last_word));
  }
  /// The upper half of the entry's last byte: owner, is_send, inline_scatter and bit 4 of the
  /// opcode. Bit 4 is set for errors, the mark of a resize, reads, atomics and memory management.
  /// One comparison of the half recognizes the most common entries.
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
  /// True if the next entry of the completion queue is in the same cache line. The write-back of a
  /// store to this entry would then overwrite what the device has written to the next one.
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
  unsigned take_one(work_completion& to);
  /// Takes the next entry, a receive from `rings.shared`. Returns false and takes nothing if there
  /// is no such receive.
  bool take_receive_of(work_completion& to, std::uint64_t word, const qp_rings& rings);
  template <class Ring>
  [[gnu::noinline]] unsigned take_receive(work_completion& to, std::byte* entry, std::uint64_t word,
                                          const qp_rings& pair, Ring& ring);
  [[gnu::noinline]] unsigned take_later(work_completion& to, qp_rings& pair, std::byte* entry,
                                        std::uint64_t word);
  [[gnu::always_inline]] unsigned took_send(work_completion& to, const posted_request& request,
                                            const qp_rings& pair, std::byte* entry,
                                            std::uint64_t word);
  [[gnu::always_inline]] unsigned took_one(std::byte* entry);
  /// The queue pair that an entry names. Null if there is none.
  [[gnu::always_inline]] qp_rings* pair_of(const std::byte* entry) const;
  /// Walks through the ring from at_ on. Gives each completion to sink(head, queue pair, entry,
  /// last word); see fill(). If `Here` is true, receive(entry, last word, queue pair) takes the
  /// receives, and returns false if there is no such receive. If `Here` is false, a call of
  /// head_of_receive() decodes the receives, because each program with a sink has a copy of walk().
  template <bool Here, class Sink, class Receive>
  [[gnu::always_inline]] unsigned walk(unsigned most, Sink&& sink, Receive&& receive);
  // The following functions return the head of an entry's completion, or null if the entry names no
  // outstanding request. The head is the slot. If the completion differs from the slot, the head is
  // `changed`.
  /// For a send, a write or another request that brings no data back.
  [[gnu::always_inline]] static const posted_request* head_of_send(std::uint64_t word,
                                                                   qp_rings& pair,
                                                                   posted_request& changed);
  /// For a receive, from the queue pair's own queue or from a shared one.
  [[gnu::noinline]] static const posted_request* head_of_receive(const std::byte* entry,
                                                                 std::uint64_t word, qp_rings& pair,
                                                                 posted_request& changed);
  /// Decodes the whole completion of a receive. Returns false if there is no such receive.
  [[gnu::always_inline]] static bool decode_receive(work_completion& to, const std::byte* entry,
                                                    std::uint64_t word, qp_rings& pair);
  template <class Ring>
  [[gnu::always_inline]] static bool decode_receive_of(Ring& ring, work_completion& to,
                                                       const std::byte* entry, std::uint64_t word,
                                                       const qp_rings& pair);
  /// Replaces the length of a read's buffers by the length that its entry has.
  [[gnu::always_inline]] static void take_length(std::uint32_t& bytes, completion_status& status,
                                                 const std::byte* entry);
  /// For an error, a read, an atomic or memory management. Calls qp_rings::failed for errors.
  [[gnu::noinline]] static const posted_request* head_of_other(const std::byte* entry,
                                                               std::uint64_t word, qp_rings& pair,
                                                               posted_request& changed);
  /// Builds a completion from its head and its entry. `word` is the last word of the entry. The
  /// completion gets this word, because it is the one that was decoded.
  [[gnu::always_inline]] static void fill(work_completion& to, const posted_request& head,
                                          const qp_rings& pair, const std::byte* entry,
                                          std::uint64_t word) {
    __builtin_memcpy(static_cast<void*>(&to), &head, sizeof head);
    to.queue = &pair;
    dma::load_bytes(reinterpret_cast<std::byte*>(to.entry), entry, last_word);
    to.entry[last_word / 8] = word;
  }
  // Member by member, so that the view needs no memory.
  [[gnu::always_inline]] static void fill(completion_view& to, const posted_request& head,
                                          const qp_rings& pair, const std::byte* entry,
                                          std::uint64_t word) {
    to.wr_id = head.wr_id;
    to.opcode = head.opcode;
    to.status = head.status;
    std::uint8_t raw[2];
    __builtin_memcpy(raw, &head.link, sizeof raw);
    to.syndrome = raw[0];
    to.vendor_syndrome = raw[1];
    to.byte_count = head.bytes;
    to.queue = &pair;
    to.entry = {entry, word};
  }
  static void make_implausible(posted_request& head) {
    head.bytes = 0;
    head.status = completion_status::implausible;
  }
  /// Copies and swaps only the two bytes of the index.
  [[gnu::always_inline]] static std::uint16_t index_of(std::uint64_t word) {
    static_assert(rows{}.wqe_index.offset == last_word && rows{}.wqe_index.lo == 16);
    std::uint16_t index;
    __builtin_memcpy(&index, &word, sizeof index);
    return std::endian::native == std::endian::little ? __builtin_bswap16(index) : index;
  }
  static layouts::cqe_opcode opcode_of(std::uint64_t word) {
    return static_cast<layouts::cqe_opcode>(
        layouts::from_word<&rows::opcode>(layouts::swap_be(word)));
  }
  /// The QPN of an entry, in the byte order of memory.
  [[gnu::always_inline]] static std::uint32_t qpn_of(const std::byte* entry) {
    return layouts::swap_be(dma::load_be32(entry)) &
           layouts::swap_be(static_cast<std::uint32_t>(rows{}.qpn.mask()));
  }

  /// True if the entry is that of a receive of an extended reliable connection. `qpn` is its QPN in
  /// the byte order of memory.
  static bool names_its_queue(const std::byte* entry, std::uint32_t qpn) {
    return (last_word_of(entry) & sent) == 0 && is_xrc_target(qpn);
  }
  static bool is_xrc_target(std::uint32_t qpn) {
    return (qpn & layouts::swap_be(layouts::xrc_target_qpn_bit)) != 0;
  }
  static std::uint32_t srqn_of(const std::byte* entry) {
    return dma::load_be32(entry + rows{}.remote_qpn.offset) &
           static_cast<std::uint32_t>(rows{}.remote_qpn.mask());
  }
  /// Removes the entries for which names(entry) is true. Calls retire(entry) for each of them.
  template <class Names, class Retire>
  void forget_those(Names&& names, Retire&& retire);

  std::byte* at_ = nullptr;
  std::uint64_t lap_ = 0;      // the owner bit of an entry that is the software's
  std::byte* last_ = nullptr;  // last entry of the ring
  std::uint32_t laps_ = 0;     // entries of complete laps
  std::uint32_t mask_ = 0;
  std::size_t stride_ = 32;
  std::uint32_t log_stride_ = 5;
  /// Used if the cache is maintained: 1 + the index of an entry that forget() could not remove,
  /// because the device may write to the other half of its cache line. There is at most one such
  /// entry. 0 if there is none.
  std::uint32_t passed_over_ = 0;
  std::byte* begin_ = nullptr;  // of the first entry, in its second half if it has 64 bytes
  std::byte* ring_ = nullptr;
  dma_region record_;
  mmio_region uar_;
  const qp_directory* queue_pairs_ = nullptr;
  std::uint64_t dropped_ = 0;
  std::uint32_t cqn_ = 0;
  // The device gets the lower two bits. Linux begins with 1 (hw/mlx4/cq.c mlx4_cq_alloc).
  std::uint8_t arm_number_ = 1;
  // The strongest request since the last event. No source says what the device does with a weaker
  // request. The driver therefore never sends one. illumos hermon_cq.c (hermon_cq_arm_doorbell)
  // keeps this rule too.
  layouts::cq_arm requested_ = layouts::cq_arm::none;
};

template <bool Here, class Sink, class Receive>
inline unsigned cq::walk(unsigned most, Sink&& sink, Receive&& receive) {
  const qp_directory::view queue_pairs = queue_pairs_->look();
  std::byte* entry = at_;           // a local variable, like the next two, to stay in a register
  std::uint64_t lap = lap_ ^ sent;  // makes the top of a send's word 0
  unsigned left = most;
  // The queue pair of the previous entry, and its number. Entries of one queue pair often follow
  // each other.
  qp_rings* pair = nullptr;
  std::uint32_t number = ~std::uint32_t{0};
  posted_request changed;
  const auto finds_pair = [&]() __attribute__((always_inline)) {
    barrier::dma_load_to_dma_load();
    const std::uint32_t qpn = qpn_of(entry);
    if (qpn == number) [[likely]]
      return true;
    qp_rings* const found = queue_pairs.find(layouts::swap_be(qpn));
    if (found == nullptr) return false;
    pair = found;
    number = qpn;
    return true;
  };
  const auto go_on = [&]() __attribute__((always_inline)) {
    if (entry == last_) [[unlikely]] {
      entry = begin_;
      lap ^= owner;
      laps_ += mask_ + 1;
    } else {
      entry += stride_;
    }
  };
  // The counter ends the loop if the device forges entries without end.
  for (std::uint32_t senseless = 0;;) {
    cache::invalidate(entry, layouts::cqe::bytes);
    const std::uint64_t word = last_word_of(entry);
    const unsigned top = top_of(word ^ lap);
    const posted_request* head = nullptr;
    bool received = false;
    if (cache::is_maintained && is_passed_over(entry)) [[unlikely]] {
      passed_over_ = 0;
      --dropped_;  // cancels the count below
    } else if (top == 0) [[likely]] {
      if (finds_pair()) head = head_of_send(word, *pair, changed);
    } else if ((top & top_of(owner)) != 0) {
      break;
    } else if (finds_pair()) {
      if (top != top_of(sent)) head = head_of_other(entry, word, *pair, changed);
      else if constexpr (Here) received = receive(entry, word, *pair);
      else head = head_of_receive(entry, word, *pair, changed);
    }
    if (head == nullptr && !received) [[unlikely]] {
      ++dropped_;
      go_on();
      if (++senseless > mask_) break;
      continue;
    }
    if (!received) sink(*head, *pair, static_cast<const std::byte*>(entry), word);
    go_on();
    if (--left == 0) break;
  }
  at_ = entry;
  lap_ = lap ^ sent;
  return most - left;
}

inline const posted_request* cq::head_of_send(std::uint64_t word, qp_rings& pair,
                                              posted_request& changed) {
  const posted_request* const request = pair.send.retire(index_of(word));
  if (request == nullptr || !brings_data(request->opcode)) [[likely]]
    return request;
  // Reads and atomics complete with opcodes of their own.
  changed = *request;
  make_implausible(changed);
  return &changed;
}

}  // namespace freehca::queues
