// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/cache.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/bit_operations.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/receive_request.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

/// The size of a shared receive queue: 1 << log_entries entries of 1 << log_stride bytes.
/// srq::open() accepts 2 to 2^15 entries of 32 to 2048 bytes. Each entry begins with the index of
/// the next free entry. One entry is never posted: it ends this list (Linux 6.1 hw/mlx4/srq.c
/// mlx4_ib_create_srq).
struct srq_shape {
  std::uint8_t log_entries = 1;
  std::uint8_t log_stride = 5;
  constexpr std::uint32_t entries() const { return 1u << log_entries; }
  constexpr std::uint32_t most_posted() const { return entries() - 1; }
  constexpr unsigned most_scatter() const {
    return ((1u << log_stride) - static_cast<unsigned>(layouts::wqe_srq_next::bytes)) /
           static_cast<unsigned>(layouts::wqe_data::bytes);
  }
  constexpr std::size_t bytes() const { return std::size_t{1} << (log_entries + log_stride); }
  friend constexpr bool operator==(const srq_shape&, const srq_shape&) = default;
};

/// Returns the smallest ring of a shared receive queue that holds `requests` receives of `scatter`
/// data segments each. Error:
/// driver_error::bad_argument (more than 32767 receives or 127 segments).
constexpr result<srq_shape> srq_shape_for(std::uint32_t requests, unsigned scatter) {
  if (requests > 0x7fff || scatter > 127) return status(driver_error::bad_argument);
  srq_shape shape;
  if (requests > 1) shape.log_entries = static_cast<std::uint8_t>(layouts::bit_width(requests));
  while (shape.most_scatter() < scatter) ++shape.log_stride;
  return shape;
}
static_assert(srq_shape_for(1, 0).value() == srq_shape{1, 5} &&
              srq_shape_for(3, 3).value() == srq_shape{2, 6} &&
              srq_shape_for(4, 4).value() == srq_shape{3, 7} &&
              srq_shape_for(0x7fff, 127).value() == srq_shape{15, 11});

/// Parameters of srq::open(). The memory that they name outlives the queue.
struct srq_resources {
  dma_region ring;  ///< at least shape.bytes() bytes
  srq_shape shape;
  posted_request* slots = nullptr;  ///< array of shape.entries() slots
  dma_region record;                ///< the doorbell record: 4 bytes, aligned to 4
  unsigned most_scatter = 0;        ///< data segments of a receive; at most shape.most_scatter()
};

/// A receive queue that several queue pairs share (qp_rings::shared). Its receives complete in any
/// order. It joins these queue pairs and their CQs to one queue group (cq.hpp). One thread at a
/// time is inside the group.
///
/// The device finds the entries by a list: each entry has the index of the entry that is posted
/// after it. A completed entry goes to the end of the list. The previous last entry can still get
/// its index, because the last one is never posted. The slots have a copy of the list, because
/// the device could write to the ring. End segments are stored as in rq.
class srq {
 public:
  /// Takes the ring, links its entries and zeroes the doorbell record. Called before SW2HW_SRQ,
  /// because the device begins with entry 0. Error: driver_error::bad_argument (a shape that the
  /// hardware does not have, missing or too little memory, a misaligned record, or a most_scatter
  /// beyond the shape).
  status open(const srq_resources& resources);
  void close() { *this = srq{}; }
  bool is_open() const { return ring_ != nullptr; }

  /// Allows or disallows post(). It is allowed while the device has the queue. open() disallows it.
  /// A queue that is not open never allows it.
  void accept(bool allowed) {
    accepts_ = allowed && is_open();
    choose_way();
  }

  /// Writes one WQE. The device does not see it before ring(). On an error nothing changes. Errors:
  /// driver_error::queue_full, ::bad_argument (too many entries, an entry that is too long, or no
  /// list), ::bad_state (not open, or post() is not allowed).
  [[gnu::always_inline]] status post(const receive_request& request) {
    const std::uint32_t index = first_free_;
    if (!is_one_entry(request, most_in_one_) || index == end_of_free_) [[unlikely]]
      return post_any(request);
    std::byte* const data = entry_at(index) + layouts::wqe_srq_next::bytes;
    store_entry(data, *request.list);
    cache::clean(data, layouts::wqe_data::bytes);
    take(index, request.wr_id, request.list->length);
    return {};
  }

  /// Tells the device, by the doorbell record, how many receives were posted. No effect while
  /// post() is not allowed.
  void ring() {
    if (accepts_) write_record();
  }

  /// Calls post() and, if it succeeds, tells the device as ring() does.
  [[gnu::always_inline]] status post_and_ring(const receive_request& request) {
    const status posted = post(request);
    if (posted.ok()) [[likely]]
      write_record();
    return posted;
  }

  /// Retires the receive of entry `wqe_index` and frees the entry. Returns the receive's slot,
  /// which is valid until the next post. Returns null if the entry has no outstanding receive. The
  /// device may give any index.
  const posted_request* retire(std::uint16_t wqe_index) {
    // If the queue is not open, mask_ and end_of_free_ are 0, and every index is refused here.
    if (wqe_index > mask_ || wqe_index == end_of_free_) [[unlikely]]
      return nullptr;
    posted_request* const retired = &slots_[wqe_index];
    if (retired->link != 0) [[unlikely]]
      return nullptr;
    ++retired_;
    append(wqe_index);
    if (retired == nullptr) __builtin_unreachable();  // spares the caller's test for null
    return retired;
  }

  /// Retires an outstanding receive, if the device will report no more completions. If receives
  /// have completed in the order of their posts, it is the oldest receive. Otherwise it is any
  /// receive, because the queue keeps no order. Returns null if there is none.
  const posted_request* retire_oldest();

  std::uint32_t outstanding() const { return posted_ - retired_; }
  std::uint32_t most_outstanding() const { return mask_; }
  unsigned most_scatter() const { return most_scatter_; }

 private:
  void write_record() {
    layouts::image<layouts::rq_doorbell_record> record;
    record.set<&layouts::rq_doorbell_record::wqe_counter>(posted_ & 0xffff);
    barrier::dma_store_to_dma_store();
    dma::store_be32(record_, layouts::load_be<std::uint32_t>(record.data()));
    cache::clean(record_, layouts::rq_doorbell_record::bytes);
  }
  /// Set in the link of a free slot. A link of 0 therefore belongs to an outstanding receive, or to
  /// the last free entry, which has no next entry.
  static constexpr std::uint16_t free = 0x8000;

  std::byte* entry_at(std::uint32_t index) const {
    return ring_ + (std::size_t{index} << log_stride_);
  }
  /// The slow path of post(), for any receive.
  [[gnu::noinline]] status post_any(const receive_request& request);
  /// Sets the limit of the fast path of post(), which stores one data segment and nothing else.
  void choose_way() {
    most_in_one_ = accepts_ && ends_stand_ && most_scatter_ != 0 ? most_data_bytes : 0;
  }
  /// Gives the first free entry, `index`, to a receive.
  [[gnu::always_inline]] void take(std::uint32_t index, std::uint64_t wr_id, std::uint32_t bytes) {
    posted_request& slot = slots_[index];
    first_free_ = slot.link & ~std::uint32_t{free};
    slot.begin(wr_id, work_opcode::receive, bytes);
    ++posted_;
  }
  /// Stores the index of the entry that is posted after entry `index`, in the ring and in the slot.
  void link(std::uint32_t index, std::uint32_t next) {
    using l = layouts::wqe_srq_next;
    slots_[index].link = static_cast<std::uint16_t>(free | next);
    dma::store_be64(entry_at(index), layouts::in_word<&l::next_wqe_index>(next));
    cache::clean(entry_at(index), l::bytes);
  }
  /// Makes an entry the last free entry.
  void append(std::uint32_t index) {
    link(end_of_free_, index);
    end_of_free_ = index;
  }

  std::byte* ring_ = nullptr;
  std::byte* record_ = nullptr;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t first_free_ = 0;   // entry of the next post
  std::uint32_t end_of_free_ = 0;  // last free entry; not posted while it is the last
  std::uint32_t posted_ = 0;       // free-running; the device uses the low 16 bits
  std::uint32_t retired_ = 0;
  std::uint32_t most_in_one_ = 0;  // longest data entry of the fast path; 0: always slow
  std::uint16_t most_scatter_ = 0;
  std::uint8_t log_stride_ = 0;
  bool accepts_ = false;
  bool ends_stand_ = false;  // each entry has an end segment behind its first data segment
};

}  // namespace freehca::queues
