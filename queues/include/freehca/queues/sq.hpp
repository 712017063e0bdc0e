// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/barrier.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/sq_shape.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/queues/work_request.hpp>

namespace freehca::queues {

/// What the driver keeps of a posted send request.
struct sent_request {
  std::uint64_t wr_id = 0;
  std::uint32_t bytes = 0;  ///< of data
  std::uint8_t units = 0;   ///< of the WQE that was last written here: what has to be stamped again
  work_opcode opcode = work_opcode::send;
};
static_assert(sizeof(sent_request) == 16);

/// What a send queue stands on; outlives it.
struct sq_resources {
  dma_region ring;  ///< shape.bytes()
  sq_shape shape;
  sent_request* slots = nullptr;  ///< shape.entries() of them
  mmio_region uar;                ///< the UAR page that the queue pair was created with
  std::uint32_t qpn = 0;
  unsigned most_gather = 0;       ///< no more than fit the stride
  std::uint32_t most_inline = 0;  ///< bytes, no more than fit the stride
  std::uint64_t most_message_bytes = 0;
  bool atomics = false;
};

/// The send queue of a reliable connection. Issues no command. Requests complete in order; one that
/// is not signaled is retired by a later completion. One owner thread, that of the CQ.
class sq {
 public:
  /// driver_error::bad_argument: a shape that hardware does not have, or too little room.
  status open(const sq_resources& resources);
  void close() {
    ring_ = {};
    head_ = tail_ = 0;
  }
  bool is_open() const { return ring_.host != nullptr; }
  /// Makes every entry the software's and forgets what was posted: before RST2INIT.
  void reset();

  /// Whether post() is allowed: the queue pair is in RTS or in ERROR. Not after open() or reset().
  void accept(bool on) { accepts_ = on; }

  /// Writes one WQE. The device may begin with it at once, or not before ring(). Nothing was
  /// touched on an error: driver_error::queue_full, ::bad_argument (too many entries, too much
  /// data), ::unsupported, ::bad_state (not open, or see accept()).
  status post(const send_request& request);

  /// Tells the device that there is work.
  void ring() {
    barrier::dma_store_to_mmio_store();
    mmio::write_32(uar_, layouts::uar::send_doorbell, layouts::send_doorbell_word(qpn_));
  }

  status post_and_ring(const send_request& request) {
    const status posted = post(request);
    if (posted.ok()) ring();
    return posted;
  }

  /// Retires the request of WQE counter `wqe_index` and all before it. Null when the device names
  /// one that is not outstanding.
  const sent_request* retire(std::uint16_t wqe_index) {
    const auto ahead = static_cast<std::uint16_t>(wqe_index - static_cast<std::uint16_t>(tail_));
    if (ahead >= outstanding()) return nullptr;
    tail_ += ahead;
    return &slots_[tail_++ & (entries_ - 1)];
  }

  /// Retires the oldest outstanding request of a device that will tell of none any more. Null:
  /// there is none.
  const sent_request* retire_oldest() {
    return head_ == tail_ ? nullptr : &slots_[tail_++ & (entries_ - 1)];
  }

  std::uint32_t outstanding() const { return head_ - tail_; }
  std::uint32_t most_outstanding() const { return most_posted_; }
  std::uint32_t posted() const { return head_; }
  unsigned most_gather() const { return most_gather_; }
  std::uint32_t most_inline() const { return most_inline_; }

 private:
  status check(const send_request& request, std::uint64_t bytes) const;
  void stamp(std::uint32_t counter);
  void store(std::uint32_t counter, const std::byte* wqe, unsigned units);
  std::byte* entry_at(std::uint32_t counter) const {
    return ring_.host + (std::size_t{counter & (entries_ - 1)} << log_stride_);
  }

  dma_region ring_;
  sent_request* slots_ = nullptr;
  mmio_region uar_;
  std::uint64_t most_message_bytes_ = 0;
  std::uint32_t qpn_ = 0;
  std::uint32_t entries_ = 0;
  std::uint32_t spare_ = 0;
  std::uint32_t most_posted_ = 0;
  std::uint32_t head_ = 0;  // counts on; the device has 16 bits of it
  std::uint32_t tail_ = 0;
  std::uint32_t most_inline_ = 0;
  std::uint16_t most_gather_ = 0;
  std::uint8_t log_stride_ = 0;
  bool atomics_ = false;
  bool accepts_ = false;
};
static_assert(sizeof(void*) != 8 || sizeof(sq) <= 112);

}  // namespace freehca::queues
