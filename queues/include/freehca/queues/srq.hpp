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

/// How a shared receive queue is divided: entries of 32 << n bytes, at most 2 KiB, each of which
/// begins with the number of the next free one. One entry is never posted: it ends that list
/// (Linux 6.1 hw/mlx4/srq.c mlx4_ib_create_srq).
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

/// The smallest shape for `requests` receives of `scatter` entries each.
/// driver_error::bad_argument.
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

/// What a shared receive queue stands on; outlives it.
struct srq_resources {
  dma_region ring;  ///< shape.bytes()
  srq_shape shape;
  posted_request* slots = nullptr;  ///< shape.entries() of them
  dma_region record;                ///< the doorbell record: 4 bytes, aligned to 4
  unsigned most_scatter = 0;        ///< no more than shape.most_scatter()
};

/// A receive queue that several queue pairs take from (qp_rings::shared), in whatever order their
/// messages come. One owner thread, that of the CQs that their receives complete to.
///
/// The device finds the entries by a list: each names the one that is posted after it. An entry
/// that completed goes to the end of the list, whose number no post has used yet. The list is kept
/// in the slots too, since the device could write to the ring. The end of each entry's segments
/// stands there as in rq.
class srq {
 public:
  /// driver_error::bad_argument: a shape that hardware does not have, or too little room. Before
  /// SW2HW_SRQ: the device begins with entry 0.
  status open(const srq_resources& resources);
  void close() { *this = srq{}; }
  bool is_open() const { return ring_ != nullptr; }

  /// Whether post() is allowed: the device has the queue. Not after open().
  void accept(bool allowed) {
    accepts_ = allowed && is_open();
    choose_way();
  }

  /// Writes one WQE, which the device does not see before ring(). Nothing was touched on an error:
  /// driver_error::queue_full, ::bad_argument, ::bad_state (not open, or see accept()).
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

  /// Tells the device how many were posted. No effect while post() is not allowed.
  void ring() {
    if (accepts_) write_record();
  }

  [[gnu::always_inline]] status post_and_ring(const receive_request& request) {
    const status posted = post(request);
    if (posted.ok()) [[likely]]
      write_record();
    return posted;
  }

  /// Retires the receive of entry `wqe_index`, which is free from then on; what this returns can be
  /// read until the next post. Null: no receive is outstanding there, whatever the device says.
  const posted_request* retire(std::uint16_t wqe_index) {
    // Of a queue that is not open, 0 is the only index, and the end of the free ones.
    if (wqe_index > mask_ || wqe_index == end_of_free_) [[unlikely]]
      return nullptr;
    posted_request* const retired = &slots_[wqe_index];
    if (retired->link != 0) [[unlikely]]
      return nullptr;
    ++retired_;
    append(wqe_index);
    if (retired == nullptr) __builtin_unreachable();  // so that callers need not look twice
    return retired;
  }

  /// Retires an outstanding receive of a device that will tell of none any more: the oldest as long
  /// as receives completed in the order of their posting, else any, for no order is kept. Null:
  /// there is none.
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
  /// In the link of a slot that is free: so a link of 0 is that of an outstanding receive, or of
  /// the last free entry, which has no next one.
  static constexpr std::uint16_t free = 0x8000;

  std::byte* entry_at(std::uint32_t index) const {
    return ring_ + (std::size_t{index} << log_stride_);
  }
  /// Any post that is not plain.
  [[gnu::noinline]] status post_any(const receive_request& request);
  /// Whether a post of one entry may write that alone, without another look.
  void choose_way() {
    most_in_one_ = accepts_ && ends_stand_ && most_scatter_ != 0 ? most_data_bytes : 0;
  }
  /// The first free entry is a receive's.
  [[gnu::always_inline]] void take(std::uint32_t index, std::uint64_t wr_id, std::uint32_t bytes) {
    posted_request& slot = slots_[index];
    first_free_ = slot.link & ~std::uint32_t{free};
    slot.begin(wr_id, work_opcode::receive, bytes);
    ++posted_;
  }
  /// Says in entry `index` and in its slot which one is posted after it.
  void link(std::uint32_t index, std::uint32_t next) {
    using l = layouts::wqe_srq_next;
    slots_[index].link = static_cast<std::uint16_t>(free | next);
    dma::store_be64(entry_at(index), layouts::in_word<&l::next_wqe_index>(next));
    cache::clean(entry_at(index), l::bytes);
  }
  /// An entry becomes the last of the free ones.
  void append(std::uint32_t index) {
    link(end_of_free_, index);
    end_of_free_ = index;
  }

  std::byte* ring_ = nullptr;
  std::byte* record_ = nullptr;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t first_free_ = 0;   // the next post's
  std::uint32_t end_of_free_ = 0;  // never posted before another one is free
  std::uint32_t posted_ = 0;       // counts on; the device has 16 bits of it
  std::uint32_t retired_ = 0;
  std::uint32_t most_in_one_ = 0;  // bytes of a plain post
  std::uint16_t most_scatter_ = 0;
  std::uint8_t log_stride_ = 0;
  bool accepts_ = false;
  bool ends_stand_ = false;  // in every entry
};

}  // namespace freehca::queues
