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

/// The size of a receive queue: 1 << log_entries entries of 1 << log_stride bytes. rq::open()
/// accepts at most 2^15 entries of 16 to 2048 bytes.
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

/// Returns the smallest shape for `requests` receives of `scatter` data segments each. Error:
/// driver_error::bad_argument (more than 32768 receives or 128 segments).
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

/// Parameters of rq::open(). The memory that they name outlives the queue.
struct rq_resources {
  dma_region ring;  ///< at least shape.bytes() bytes
  rq_shape shape;
  posted_request* slots = nullptr;  ///< array of shape.entries() slots
  dma_region record;                ///< the doorbell record: 4 bytes, aligned to 4
  unsigned most_scatter = 0;        ///< data segments of a receive; at most shape.most_scatter()
};

/// The receive queue of a queue pair. Receives complete in the order in which they were posted. One
/// thread at a time is inside the queue group of the queue pair (cq.hpp).
///
/// A list of data segments that does not fill its entry ends with an end segment (invalid_lkey).
/// open() stores an end segment behind the first data segment of each entry. A post of one data
/// segment therefore stores that segment alone. After the first post of a longer list, each post
/// stores its own end segment.
class rq {
 public:
  /// Uses the caller's memory until close(). Empties the ring and zeroes the doorbell record.
  /// Error: driver_error::bad_argument (a shape that the hardware does not have, missing or too
  /// little memory, a misaligned record, or a most_scatter beyond the shape).
  status open(const rq_resources& resources);
  void close() {
    ring_ = nullptr;
    head_ = tail_ = 0;
    accept(false);
  }
  bool is_open() const { return ring_ != nullptr; }
  /// Drops all posted receives, zeroes the doorbell record and disallows post(). Called before
  /// RST2INIT. The queue is open.
  void reset();

  /// Allows or disallows post(). A queue pair allows it in every state but RESET. open() and
  /// reset() disallow it. A queue that is not open never allows it.
  void accept(bool allowed) {
    accepts_ = allowed && is_open();
    choose_way();
  }

  /// Writes one WQE. The device does not see it before ring(). On an error nothing changes. Errors:
  /// driver_error::queue_full, ::bad_argument (too many entries, an entry that is too long, or no
  /// list), ::bad_state (not open, or post() is not allowed).
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

  /// Retires the oldest receive. Returns its slot, which is valid until the next post(). Returns
  /// null if there is no receive, or if the device names another one.
  const posted_request* retire(std::uint16_t wqe_index) {
    const std::uint32_t tail = tail_;
    if (head_ == tail || ((wqe_index ^ tail) & mask_) != 0) [[unlikely]]
      return nullptr;
    tail_ = tail + 1;
    const posted_request* const retired = slots_ + (tail & mask_);
    if (retired == nullptr) __builtin_unreachable();  // spares the caller's test for null
    return retired;
  }

  /// Retires the oldest outstanding receive, if the device will report no more completions. Returns
  /// null if there is none.
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
  /// The slow path of post(), for any receive.
  [[gnu::noinline]] status post_any(const receive_request& request);
  /// Sets the limit of the fast path of post(), which stores one data segment and nothing else.
  void choose_way() {
    most_in_one_ = accepts_ && ends_stand_ && most_scatter_ != 0 ? most_data_bytes : 0;
  }

  std::byte* ring_ = nullptr;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0;  // free-running; the device uses the low 16 bits
  std::uint32_t tail_ = 0;
  std::uint32_t most_in_one_ = 0;  // longest data entry of the fast path; 0: always slow
  std::byte* record_ = nullptr;
  std::uint16_t most_scatter_ = 0;
  std::uint8_t log_stride_ = 0;
  bool accepts_ = false;
  bool ends_stand_ = false;  // each entry has an end segment behind its first data segment
};
static_assert(sizeof(void*) != 8 || sizeof(rq) <= 56);

}  // namespace freehca::queues
