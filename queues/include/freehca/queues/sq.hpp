// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/assert.hpp>
#include <freehca/hal/barrier.hpp>
#include <freehca/hal/dma.hpp>
#include <freehca/hal/mmio.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/doorbell.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/blueflame.hpp>
#include <freehca/queues/opcode_sets.hpp>
#include <freehca/queues/requests.hpp>
#include <freehca/queues/sq_shape.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/queues/work_request.hpp>
#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

/// What a send queue stands on; outlives it.
struct sq_resources {
  dma_region ring;  ///< shape.bytes(), aligned to 64
  sq_shape shape;
  posted_request* slots = nullptr;  ///< shape.entries() of them
  mmio_region uar;                  ///< the UAR page that the queue pair was created with
  std::uint32_t qpn = 0;
  unsigned most_gather = 0;       ///< no more than fit the stride
  std::uint32_t most_inline = 0;  ///< bytes, no more than fit the stride
  std::uint64_t most_message_bytes = 0;
  /// opcode_bit() and datagram_opcode_bit() of what the service has and the device offers.
  std::uint64_t opcodes = 0;
};

/// The send queue of a queue pair. Issues no command. Requests complete in order; one that is not
/// signaled is retired by a later completion. One owner thread, that of the CQ.
///
/// A post is a check and stores, straight into the ring. Whatever else can stop or delay one (the
/// state, the room, the end of the ring, the stamps ahead of the producer) is settled for a run of
/// entries at a time: see prepare().
class sq {
  static constexpr std::uint32_t nobody = ~std::uint32_t{0};  // the number of no batch
  /// Where the next request goes. `left` requests follow each other from here; at 0 prepare() is
  /// asked. It is signed, since going below 0 is cheaper to see than being there. The order of the
  /// members matters to g++ 12, which else packs the pointers into a vector register and out of it.
  struct cursor {
    std::byte* at = nullptr;
    std::uint64_t owner = 0;  // the owner bit of this lap, as the control segment has it in memory
    posted_request* slot = nullptr;
    std::int32_t left = 0;
  };

 public:
  /// driver_error::bad_argument: a shape that hardware does not have, or too little room.
  status open(const sq_resources& resources);
  void close() {
    FREEHCA_ASSERT(open_batch_ == 0);
    *this = sq{};
  }
  bool is_open() const { return ring_ != nullptr; }
  /// Makes every entry the software's and forgets what was posted: before RST2INIT.
  void reset();

  /// Whether post() is allowed: the queue pair is in RTS or in ERROR. Not after open() or reset().
  void accept(bool allowed) {
    FREEHCA_ASSERT(open_batch_ == 0);
    accepts_ = allowed;
    next_.left = 0;
  }

  /// As accept(false), also while a batch is open: what the batch posts from here on is not rung.
  void stop() {
    accepts_ = false;
    next_.left = 0;
  }

  /// Writes one WQE. The device may begin with it at once, or not before ring(). Nothing was
  /// touched on an error: driver_error::queue_full, ::bad_argument (too many entries, too much
  /// data, a datagram to nowhere), ::unsupported (an opcode that the service or the device does not
  /// have), ::bad_state (not open, or see accept()), ::busy (a batch is open).
  template <class Request>
  [[gnu::always_inline]] status post(const Request& request) {
    return post_at(next_, 0, request);
  }
  /// The same of a request whose opcode is known at run time alone.
  status post(const send_request& request);

  /// Tells the device that there is work. No effect while post() is not allowed.
  void ring() {
    if (accepts_) ring_doorbell();
  }

  template <class Request>
  [[gnu::always_inline]] status post_and_ring(const Request& request) {
    const status posted = post(request);
    if (posted.ok()) [[likely]]
      ring_doorbell();
    return posted;
  }
  status post_and_ring(const send_request& request) { return post_and_ring<send_request>(request); }

  /// The same by BlueFlame, where it takes the request; else by a doorbell. It pays for a single
  /// small request, on whose time somebody waits. Nothing that was posted before may be without
  /// its ring(). `by`: of the UAR page that the queue pair was created with.
  template <class Request>
  [[gnu::always_inline]] status post_and_push(blueflame& by, const Request& request) {
    return post_at(next_, 0, request, by);
  }

  /// Posts and one ring() behind them, when the batch ends. Meanwhile the place in the ring is the
  /// batch's: cq::poll() is allowed, posting past it and a second batch are driver_error::busy.
  /// Lives no longer than the queue, and over no reset(), close() or accept(): so over no poll() of
  /// the queue pair's verbs, which may hear of a reset of the device.
  class batch {
   public:
    [[gnu::always_inline]] explicit batch(sq& queue) : queue_(queue), head_(queue.head_) {
      if (queue.open_batch_ != 0) [[unlikely]]
        return;
      next_ = queue.next_;
      queue.next_.left = 0;
      number_ = queue.open_batch_ = queue.batches_ = queue.batches_ % (nobody - 1) + 1;
    }
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;
    template <class Request>
    [[gnu::always_inline]] status post(const Request& request) {
      return queue_.post_at(next_, number_, request);
    }
    [[gnu::always_inline]] ~batch() {
      if (queue_.open_batch_ != number_) [[unlikely]]
        return;
      queue_.open_batch_ = 0;
      queue_.next_ = next_;
      if (!queue_.accepts_) [[unlikely]] {
        queue_.next_.left = 0;
        return;
      }
      if (queue_.head_ != head_) queue_.ring_doorbell();
    }

   private:
    sq& queue_;
    cursor next_;
    std::uint32_t head_;
    std::uint32_t number_ = nobody;
  };

  /// Retires the request of WQE counter `wqe_index` and all before it. Null when the device names
  /// one that is not outstanding.
  const posted_request* retire(std::uint16_t wqe_index) {
    const std::uint32_t tail = tail_;
    if (wqe_index != static_cast<std::uint16_t>(tail) || tail == head_) [[unlikely]]
      return retire_up_to(wqe_index);
    tail_ = tail + 1;
    const posted_request* const retired = slots_ + (tail & mask_);
    if (retired == nullptr) __builtin_unreachable();  // so that callers need not look twice
    return retired;
  }

  /// The same, where it is not the oldest one that the device names.
  [[gnu::noinline]] const posted_request* retire_up_to(std::uint16_t wqe_index);

  /// Retires the oldest outstanding request of a device that will tell of none any more. Null:
  /// there is none.
  const posted_request* retire_oldest() {
    return head_ == tail_ ? nullptr : slots_ + (tail_++ & mask_);
  }

  std::uint32_t outstanding() const { return head_ - tail_; }
  std::uint32_t most_outstanding() const { return most_posted_; }
  std::uint32_t posted() const { return head_; }
  unsigned most_gather() const { return most_gather_; }
  std::uint32_t most_inline() const { return most_inline_; }

 private:
  void ring_doorbell() {
    barrier::dma_store_to_mmio_store();
    mmio::write_32(uar_, layouts::uar::send_doorbell, doorbell_);
  }
  /// The most that are prepared at once, so that no post takes much longer than others.
  static constexpr std::uint32_t most_prepared = 64;

  [[gnu::noinline]] status post_any(const send_request& request);
  /// Settles what a run of requests needs that begins at head_, and leaves it in prepared_.
  /// `asker`: the number of the batch that asks, or 0. Its first request is counted already.
  [[gnu::noinline, gnu::cold]] status prepare(std::uint32_t asker);
  template <class Request>
  [[gnu::always_inline]] status check(const Request& request, std::uint64_t& bytes,
                                      unsigned& entries) const;
  template <class Request>
  [[gnu::always_inline]] status post_at(cursor& next, std::uint32_t asker, const Request& request) {
    no_push none;
    return post_at(next, asker, request, none);
  }
  /// `by`: what takes the WQE beside the ring, if anything: a blueflame, or no_push.
  struct no_push {};
  template <class Request, class By>
  [[gnu::always_inline]] status post_at(cursor& next, std::uint32_t asker, const Request& request,
                                        By& by);
  /// A request whose one entry has no bytes, or too many. Leaves in prepared_ where the next one
  /// goes.
  template <class Request>
  [[gnu::noinline, gnu::cold]] status post_empty(std::int32_t left, std::uint32_t asker,
                                                 const Request& request);
  /// What a WQE that is copied to a register has more than others in its first word: whose it is,
  /// and which; it stands in the ring just as in the copy. Of the request that was counted last.
  std::uint64_t blueflame_head() const {
    using l = layouts::wqe_ctrl_blueflame;
    return layouts::in_word<&l::qpn>(doorbell_ >> layouts::send_doorbell{}.qpn.lo) |
           layouts::in_word<&l::wqe_index>(static_cast<std::uint16_t>(head_ - 1));
  }
  /// Where the request goes that has head_ posted ahead of it.
  cursor place(std::int32_t left) const {
    const std::uint32_t index = head_ & mask_;
    const bool odd_lap = (head_ & (mask_ + 1)) != 0;
    return {ring_ + index * stride_,
            odd_lap ? layouts::bit_in_memory<&layouts::wqe_ctrl::owner> : 0, slots_ + index, left};
  }

  cursor next_;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::size_t stride_ = 64;
  std::uint32_t head_ = 0;  // counts on; the device has 16 bits of it
  std::uint32_t tail_ = 0;
  std::uint64_t opcodes_ = 0;
  std::uint32_t most_bytes_ = 0;  // of a request with one entry
  std::uint32_t doorbell_ = 0;
  std::uint16_t most_gather_ = 0;
  std::uint16_t most_inline_ = 0;
  mmio_region uar_;
  // From here on: what prepare() and the others need that are not called for each request.
  cursor prepared_;
  std::uint64_t most_message_bytes_ = 0;
  std::uint32_t open_batch_ = 0;  // its number; 0: none
  std::uint32_t batches_ = 0;
  std::byte* ring_ = nullptr;
  std::uint32_t spare_ = 0;
  std::uint32_t most_posted_ = 0;
  bool accepts_ = false;
};

// What the device could not do is refused before the ring is touched.
template <class Request>
inline status sq::check(const Request& r, std::uint64_t& bytes, unsigned& entries) const {
  if ((opcodes_ & request_bit<Request>()) == 0) [[unlikely]]
    return next_.slot == nullptr ? driver_error::bad_state : driver_error::unsupported;
  if constexpr (requires { r.to; })
    if (r.to.at == nullptr || r.to.qpn > layouts::wqe_datagram{}.dqpn.mask()) [[unlikely]]
      return driver_error::bad_argument;
  if constexpr (requires { r.remote_srqn; })
    if (r.remote_srqn > layouts::wqe_ctrl{}.remote_srqn.mask()) [[unlikely]]
      return driver_error::bad_argument;
  if constexpr (requires { r.memory; })
    if (!is_sound(r.memory)) [[unlikely]]
      return driver_error::bad_argument;
  if constexpr (requires { r.data; }) {
    using data = std::remove_cvref_t<decltype(r.data)>;
    if constexpr (std::is_same_v<data, data_entry>) {
      bytes = r.data.length;
    } else if constexpr (std::is_same_v<data, inline_data>) {
      bytes = r.data.length;
      if (bytes > most_inline_ || (r.data.from == nullptr && bytes != 0)) [[unlikely]]
        return driver_error::bad_argument;
    } else {
      if (r.data.first == nullptr && r.data.count != 0) [[unlikely]]
        return driver_error::bad_argument;
      if (!add_up(r.data.first, r.data.count, bytes, entries) || entries > most_gather_ ||
          bytes > most_message_bytes_) [[unlikely]]
        return driver_error::bad_argument;
    }
  }
  if constexpr (requires { r.operand; })
    if (bytes != 8) [[unlikely]]
      return driver_error::bad_argument;
  return {};
}

template <class Request>
status sq::post_empty(std::int32_t left, std::uint32_t asker, const Request& r) {
  cursor next = place(left);
  status s = driver_error::bad_argument;
  if constexpr (requires { without_data(r); })
    if (r.data.length == 0) s = post_at(next, asker, without_data(r));
  prepared_ = next;
  return s;
}

template <class Request, class By>
inline status sq::post_at(cursor& next, std::uint32_t asker, const Request& r, By& by) {
  using namespace layouts;
  constexpr bool pushes = !std::is_same_v<By, no_push>;
  std::uint64_t bytes = 0;
  unsigned entries = 0;
  if (const status s = check(r, bytes, entries); !s.ok()) [[unlikely]]
    return s;
  if constexpr (requires { r.data.lkey; })
    if (r.data.length - 1u >= most_bytes_) [[unlikely]] {
      const status s = post_empty(next.left, asker, r);
      next = prepared_;
      if constexpr (pushes)
        if (s.ok()) ring_doorbell();
      return s;
    }
  if (--next.left < 0) [[unlikely]] {
    next.left = 0;
    const status s = prepare(asker);
    if (!s.ok()) return s;
    next = prepared_;
  }
  std::byte* const wqe = next.at;
  posted_request* const slot = next.slot;
  ++head_;
  *slot = {r.wr_id, Request::completes_as, completion_status::ok, 0,
           brings_data(Request::completes_as) ? static_cast<std::uint32_t>(bytes) : 0};

  std::uint32_t at = wqe_ctrl::bytes;
  if constexpr (requires { r.to; }) {
    store_datagram(wqe + at, r.to);
    at += wqe_datagram::bytes;
  }
  if constexpr (requires { r.remote; }) {
    store_remote(wqe + at, r.remote);
    at += wqe_remote_address::bytes;
  }
  if constexpr (requires { r.operand; }) {
    dma::store_be64(wqe + at + wqe_atomic{}.swap_add.offset, r.operand);
    std::uint64_t compare = 0;
    if constexpr (requires { r.compare; }) compare = r.compare;
    if constexpr (requires { r.boundaries; }) compare = r.boundaries;
    dma::store_be64(wqe + at + wqe_atomic{}.compare.offset, compare);
    if constexpr (requires { r.operand_mask; })
      store_masks(wqe + at, r.operand_mask, r.compare_mask);
    at += requires {
      r.operand_mask;
    }
    ? wqe_masked_atomic::bytes : wqe_atomic::bytes;
  }
  if constexpr (requires { r.memory; }) at += store_memory(wqe + at, r.memory);
  if constexpr (requires { r.data; }) {
    using data = std::remove_cvref_t<decltype(r.data)>;
    if constexpr (std::is_same_v<data, data_entry>) {
      store_data(wqe, at, r.data);
      at += wqe_data::bytes;
    } else if constexpr (std::is_same_v<data, inline_data>) {
      at = store_inline(wqe, at, r.data);
    } else {
      at = store_list(wqe, at, r.data, entries);
    }
  }
  std::uint64_t second = 0;
  if constexpr (requires { r.immediate; }) second = in_word<&wqe_ctrl::immediate>(r.immediate);
  if constexpr (requires { r.invalidated; }) second = in_word<&wqe_ctrl::immediate>(r.invalidated);
  if constexpr (requires { r.remote_srqn; })
    second |= in_word<&wqe_ctrl::remote_srqn>(r.remote_srqn);
  if constexpr (requires { r.memory; }) second = in_word<&wqe_ctrl::strong_order>(1);
  std::uint64_t first = in_word<&wqe_ctrl::opcode>(static_cast<std::uint64_t>(r.opcode)) |
                        in_word<&wqe_ctrl::ds>(at / wqe_unit);
  if constexpr (pushes)
    if (by.takes(at)) first |= blueflame_head();
  give_away(wqe, at, next.owner | swap_be(first), r.flags, second);
  next.at = wqe + stride_;
  next.slot = slot + 1;
  if constexpr (pushes) {
    if (by.takes(at)) by.copy(wqe, at);
    else ring_doorbell();
  }
  return {};
}

}  // namespace freehca::queues
