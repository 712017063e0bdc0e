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
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/receive_request.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

/// How a receive queue is divided: entries of 16 << n bytes, at most 2 KiB.
struct rq_shape {
  std::uint8_t log_entries = 0;
  std::uint8_t log_stride = 4;
  constexpr std::uint32_t entries() const { return 1u << log_entries; }
  constexpr unsigned most_scatter() const {
    return (1u << log_stride) / static_cast<unsigned>(layouts::wqe_data::bytes);
  }
  constexpr std::size_t bytes() const { return std::size_t{1} << (log_entries + log_stride); }
  friend constexpr bool operator==(const rq_shape&, const rq_shape&) = default;
};

/// The smallest shape for `requests` receives of `scatter` entries each.
/// driver_error::bad_argument.
constexpr result<rq_shape> rq_shape_for(std::uint32_t requests, unsigned scatter) {
  if (requests > 0x8000 || scatter > 128) return status(driver_error::bad_argument);
  rq_shape shape;
  shape.log_entries =
      static_cast<std::uint8_t>(requests <= 1 ? 0 : layouts::bit_width(requests - 1));
  shape.log_stride =
      static_cast<std::uint8_t>(4 + (scatter <= 1 ? 0 : layouts::bit_width(scatter - 1)));
  return shape;
}
static_assert(rq_shape_for(3, 3).value() == rq_shape{2, 6});

/// What a receive queue stands on; outlives it.
struct rq_resources {
  dma_region ring;  ///< shape.bytes()
  rq_shape shape;
  posted_request* slots = nullptr;  ///< shape.entries() of them
  dma_region record;                ///< the doorbell record: 4 bytes, aligned to 4
  unsigned most_scatter = 0;        ///< no more than shape.most_scatter()
};

/// The receive queue of a queue pair. Receives complete in the order of their posting. One owner
/// thread, that of the CQ.
///
/// What ends the list of segments behind the first one is written when the queue opens, and stays
/// there until a receive of several entries is posted: a post of one entry writes that alone.
class rq {
 public:
  /// driver_error::bad_argument: a shape that hardware does not have, or too little room.
  status open(const rq_resources& resources);
  void close() {
    ring_ = nullptr;
    head_ = tail_ = 0;
    accept(false);
  }
  bool is_open() const { return ring_ != nullptr; }
  /// Forgets what was posted: before RST2INIT.
  void reset();

  /// Whether post() is allowed: the queue pair has left RESET. Not after open() or reset().
  void accept(bool allowed) {
    accepts_ = allowed && is_open();
    choose_way();
  }

  /// Writes one WQE, which the device does not see before ring(). Nothing was touched on an error:
  /// driver_error::queue_full, ::bad_argument, ::bad_state (not open, or see accept()).
  [[gnu::always_inline]] status post(const receive_request& request) {
    const std::uint32_t head = head_, mask = mask_;
    if (!is_one_entry(request, most_in_one_) || head - tail_ > mask) [[unlikely]]
      return post_any(request);
    const std::uint32_t index = head & mask;
    std::byte* const wqe = ring_ + (std::size_t{index} << log_stride_);
    store_entry(wqe, *request.list);
    cache::clean(wqe, layouts::wqe_data::bytes);
    slots_[index].begin(request.wr_id, work_opcode::receive, request.list->length);
    head_ = head + 1;
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

  /// Retires the oldest receive; null unless it is the one that the device names.
  const posted_request* retire(std::uint16_t wqe_index) {
    const std::uint32_t tail = tail_;
    if (head_ == tail || ((wqe_index ^ tail) & mask_) != 0) [[unlikely]]
      return nullptr;
    tail_ = tail + 1;
    const posted_request* const retired = slots_ + (tail & mask_);
    if (retired == nullptr) __builtin_unreachable();  // so that callers need not look twice
    return retired;
  }

  /// Retires the oldest outstanding receive of a device that will tell of none any more. Null:
  /// there is none.
  const posted_request* retire_oldest() {
    return head_ == tail_ ? nullptr : &slots_[tail_++ & mask_];
  }

  std::uint32_t outstanding() const { return head_ - tail_; }
  std::uint32_t most_outstanding() const { return mask_ + 1; }
  unsigned most_scatter() const { return most_scatter_; }

 private:
  void write_record() {
    layouts::image<layouts::rq_doorbell_record> record;
    record.set<&layouts::rq_doorbell_record::wqe_counter>(head_ & 0xffff);
    barrier::dma_store_to_dma_store();
    dma::store_be32(record_, layouts::load_be<std::uint32_t>(record.data()));
    cache::clean(record_, layouts::rq_doorbell_record::bytes);
  }
  /// Any post that is not plain.
  [[gnu::noinline]] status post_any(const receive_request& request);
  /// Whether a post of one entry may write that alone, without another look.
  void choose_way() {
    most_in_one_ = accepts_ && ends_stand_ && most_scatter_ != 0 ? most_data_bytes : 0;
  }

  std::byte* ring_ = nullptr;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0;  // counts on; the device has 16 bits of it
  std::uint32_t tail_ = 0;
  std::uint32_t most_in_one_ = 0;  // bytes of a plain post
  std::byte* record_ = nullptr;
  std::uint16_t most_scatter_ = 0;
  std::uint8_t log_stride_ = 0;
  bool accepts_ = false;
  bool ends_stand_ = false;  // in every entry
};
static_assert(sizeof(void*) != 8 || sizeof(rq) <= 56);

}  // namespace freehca::queues
