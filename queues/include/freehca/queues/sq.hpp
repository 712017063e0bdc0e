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
/// A post is a check and stores, straight into the ring. Everything else that can stop or delay a
/// post (the state, the room, the end of the ring, the stamps ahead of the producer) is settled for
/// a run of entries at a time: see prepare().
class sq {
  /// Where the next request goes. The requests from `at` to `end` follow each other; prepare()
  /// settles what comes behind them.
  struct cursor {
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    std::uint64_t owner = 0;  // the owner bit of this lap, as the control segment has it in memory
    posted_request* slot = nullptr;
  };

 public:
  /// driver_error::bad_argument: a shape that hardware does not have, or too little room.
  status open(const sq_resources& resources);
  void close() { *this = sq{}; }
  bool is_open() const { return ring_ != nullptr; }
  /// Makes every entry the software's and forgets what was posted: before RST2INIT.
  void reset();

  /// Whether post() is allowed: the queue pair is in RTS or in ERROR. Not after open() or reset().
  void accept(bool allowed) {
    accepts_ = allowed;
    next_.end = next_.at;
  }

  /// Writes one WQE. The device may begin with it at once, or not before ring(). Nothing was
  /// touched on an error: driver_error::queue_full, ::bad_argument (too many entries, too much
  /// data, a datagram to nowhere), ::unsupported (an opcode that the service or the device does not
  /// have), ::bad_state (not open, or see accept()).
  template <class Request>
  [[gnu::always_inline]] status post(const Request& request) {
    no_doorbell none;
    return post_by(none, request);
  }

  /// Posts requests[0], requests[1] and so on, `count` of them, each with `flags` in place of its
  /// own. ring() tells the device of them. Returns how many were posted. When there are fewer than
  /// `count`, post() of the next one gives the reason.
  ///
  /// `requests`: a pointer, a span, a stream, or another type that gives requests of one type. It
  /// is copied, and may be asked for one request twice.
  template <class Requests>
  [[gnu::always_inline]] unsigned post_many(Requests requests, unsigned count,
                                            request_flags flags = request_flags::signaled);

  /// Tells the device that there is work. No effect while post() is not allowed.
  void ring() {
    if (accepts_) ring_doorbell();
  }

  template <class Request>
  [[gnu::always_inline]] status post_and_ring(const Request& request) {
    by_doorbell by;
    return post_by(by, request);
  }

  /// The same by BlueFlame, where it takes the request; else by a doorbell. It is worth its price
  /// for a single small request that a caller waits for. Nothing that was posted before may be
  /// without its ring(). `by`: of the UAR page that the queue pair was created with.
  template <class Request>
  [[gnu::always_inline]] status post_and_push(blueflame& by, const Request& request) {
    return post_by(by, request);
  }

  /// Retires the request of WQE counter `wqe_index` and all before it. Null when the device names
  /// one that is not outstanding.
  const posted_request* retire(std::uint16_t wqe_index) {
    const posted_request* const retired = retire_next(wqe_index);
    return retired != nullptr ? retired : retire_up_to(wqe_index);
  }
  /// The same. Null too when it is not the oldest one that the device names.
  [[gnu::always_inline]] const posted_request* retire_next(std::uint16_t wqe_index) {
    const std::uint32_t tail = tail_;
    if (wqe_index != static_cast<std::uint16_t>(tail) || tail == head_) [[unlikely]]
      return nullptr;
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
  /// How the device is told of a request, beside a blueflame.
  struct no_doorbell {};
  struct by_doorbell {};
  /// How long a request's data are, as far as check() counts them.
  struct extent {
    std::uint64_t bytes = 0;
    unsigned entries = 0;
  };

  void ring_doorbell() {
    barrier::dma_store_to_mmio_store();
    mmio::write_32(uar_, layouts::uar::send_doorbell, layouts::swap_be(doorbell_));
  }
  /// The most that are prepared at once, so that no post takes much longer than others.
  static constexpr std::uint32_t most_prepared = 64;

  /// Settles what a run of requests needs that begins at head_: afterwards next_ has room.
  [[gnu::noinline, gnu::cold]] status prepare();
  template <class Request>
  [[gnu::always_inline]] bool allows() const {
    return (opcodes_ & request_bit<Request>()) != 0;
  }
  template <class Request>
  [[gnu::always_inline]] status check(const Request& request, extent& of) const;
  /// Has a request one data entry, whose segment is always there?
  template <class Request>
  static constexpr bool has_entry = requires(Request r) {
    r.data.address;
  };
  /// Passes check(), and an only entry has bytes, and not too many.
  template <class Request>
  [[gnu::always_inline]] bool fits(const Request& request, extent& of) const {
    if constexpr (has_entry<Request>)
      if (request.data.length - 1u >= most_bytes_) return false;
    return check(request, of).ok();
  }
  /// Posts a request that needs no more than a check and stores. False: it is post_slowly()'s.
  template <class By, class Request>
  [[gnu::always_inline]] bool post_at_once(By& by, const Request& request, request_flags flags);
  template <class By, class Request>
  [[gnu::always_inline]] status post_by(By& by, const Request& request) {
    if (post_at_once(by, request, request.flags)) [[likely]]
      return {};
    return post_slowly(by, request, request.flags);
  }
  /// Any request: one that needs prepare(), one of no bytes, one that is refused.
  template <class By, class Request>
  [[gnu::noinline, gnu::cold]] status post_slowly(By& by, const Request& request,
                                                  request_flags flags);
  /// The bytes of a WQE of one data entry.
  template <class Request>
  static constexpr std::uint32_t bytes_with_entry();
  /// The first word of the WQEs of that many bytes in this lap, as they have it in memory.
  template <class Request>
  [[gnu::always_inline]] static std::uint64_t first_word(const cursor& at, std::uint32_t bytes,
                                                         request_flags flags);
  /// Stores a request that fits, and moves `next` on. `first`: its first word, or 0 for a WQE whose
  /// length is not known yet. `has_bytes`: an only entry that has none names nothing, and has no
  /// segment.
  template <class By, class Request>
  [[gnu::always_inline]] void store(cursor& next, By& by, const Request& request, const extent& of,
                                    request_flags flags, std::uint64_t first,
                                    bool has_bytes = true);
  /// What a WQE that is copied to a register has more than others in its first word: its queue pair
  /// and its number. The WQE stands in the ring just as in the copy.
  std::uint64_t blueflame_head() const {
    using l = layouts::wqe_ctrl_blueflame;
    return layouts::in_word<&l::qpn>(layouts::swap_be(doorbell_) >>
                                     layouts::send_doorbell{}.qpn.lo) |
           layouts::in_word<&l::wqe_index>(static_cast<std::uint16_t>(head_));
  }

  cursor next_;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0;  // counts on; the device has 16 bits of it
  std::uint32_t tail_ = 0;
  std::uint32_t most_bytes_ = 0;  // of a request with one entry
  std::size_t stride_ = 64;
  std::uint64_t opcodes_ = 0;
  std::uint32_t doorbell_ = 0;  // as the register has it in memory
  std::uint16_t most_gather_ = 0;
  std::uint16_t most_inline_ = 0;
  mmio_region uar_;
  // From here on: members that a post or a completion does not need each time.
  std::uint64_t most_message_bytes_ = 0;
  std::byte* ring_ = nullptr;
  std::uint32_t spare_ = 0;
  std::uint32_t most_posted_ = 0;
  std::uint8_t log_stride_ = 6;
  bool accepts_ = false;
};

template <class Request>
inline status sq::check(const Request& r, extent& of) const {
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
    if constexpr (has_entry<Request>) {
      of.bytes = r.data.length;
    } else if constexpr (std::is_same_v<data, inline_data>) {
      of.bytes = r.data.length;
      if (of.bytes > most_inline_ || (r.data.from == nullptr && of.bytes != 0)) [[unlikely]]
        return driver_error::bad_argument;
    } else {
      if (r.data.first == nullptr && r.data.count != 0) [[unlikely]]
        return driver_error::bad_argument;
      if (!add_up(r.data.first, r.data.count, of.bytes, of.entries) || of.entries > most_gather_ ||
          of.bytes > most_message_bytes_) [[unlikely]]
        return driver_error::bad_argument;
    }
  }
  if constexpr (requires { r.operand; })
    if (of.bytes != 8) [[unlikely]]
      return driver_error::bad_argument;
  return {};
}

template <class By, class Request>
inline bool sq::post_at_once(By& by, const Request& r, request_flags flags) {
  extent of;
  if (!allows<Request>() || next_.at == next_.end || !fits(r, of)) [[unlikely]]
    return false;
  store(next_, by, r, of, flags, 0);
  ++head_;
  return true;
}

// What the device could not do is refused before the ring is touched.
template <class By, class Request>
status sq::post_slowly(By& by, const Request& r, request_flags flags) {
  if (!allows<Request>()) return is_open() ? driver_error::unsupported : driver_error::bad_state;
  extent of;
  FREEHCA_TRY(check(r, of));
  if constexpr (has_entry<Request>)
    if (r.data.length > most_bytes_) return driver_error::bad_argument;
  if (next_.at == next_.end) FREEHCA_TRY(prepare());
  store(next_, by, r, of, flags, 0, of.bytes != 0);
  ++head_;
  return {};
}

template <class Requests>
inline unsigned sq::post_many(Requests requests, unsigned count, request_flags flags) {
  using Request = std::remove_cvref_t<decltype(requests[0])>;
  constexpr bool alike = is_stream<Requests>;
  no_doorbell none;
  std::size_t done = 0;
  while (done != count) {
    cursor next = next_;
    std::size_t room = static_cast<std::size_t>(next.end - next.at);
    if (const std::size_t all = (count - done) << log_stride_; room > all) room = all;
    extent first_of;
    if (!allows<Request>() || (alike && !fits(requests[done], first_of))) room = 0;
    std::uint64_t first = 0;
    if constexpr (has_entry<Request>)
      first = first_word<Request>(next, bytes_with_entry<Request>(), flags);
    const std::byte* const stop = next.at + room;
    for (std::size_t i = done; next.at != stop; ++i) {
      const Request& r = requests[i];
      extent of;
      if (alike ? !check(r, of).ok() : !fits(r, of)) [[unlikely]]
        break;
      store(next, none, r, of, flags, first);
    }
    const std::size_t posted = static_cast<std::size_t>(next.at - next_.at) >> log_stride_;
    next_ = next;
    head_ += static_cast<std::uint32_t>(posted);
    done += posted;
    if (done == count) break;
    if (!post_slowly(none, requests[done], flags).ok()) break;
    ++done;
  }
  return static_cast<unsigned>(done);
}

template <class Request>
constexpr std::uint32_t sq::bytes_with_entry() {
  using namespace layouts;
  std::size_t bytes = wqe_ctrl::bytes + wqe_data::bytes;
  if constexpr (requires(Request r) { r.to; }) bytes += wqe_datagram::bytes;
  if constexpr (requires(Request r) { r.remote; }) bytes += wqe_remote_address::bytes;
  if constexpr (requires(Request r) { r.operand_mask; }) bytes += wqe_masked_atomic::bytes;
  else if constexpr (requires(Request r) { r.operand; }) bytes += wqe_atomic::bytes;
  return static_cast<std::uint32_t>(bytes);
}

template <class Request>
inline std::uint64_t sq::first_word(const cursor& at, std::uint32_t bytes, request_flags flags) {
  using l = layouts::wqe_ctrl;
  return at.owner | in_first_word(flags) |
         layouts::swap_be(
             layouts::in_word<&l::opcode>(static_cast<std::uint64_t>(Request::opcode)) |
             layouts::in_word<&l::ds>(bytes / layouts::wqe_unit));
}

template <class By, class Request>
inline void sq::store(cursor& next, By& by, const Request& r, const extent& of, request_flags flags,
                      std::uint64_t first, bool has_bytes) {
  using namespace layouts;
  constexpr bool pushes = std::is_same_v<By, blueflame>;
  std::byte* const wqe = next.at;
  posted_request* const slot = next.slot;
  slot->begin(r.wr_id, Request::completes_as,
              brings_data(Request::completes_as) ? static_cast<std::uint32_t>(of.bytes) : 0);

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
    if constexpr (has_entry<Request>) {
      if (has_bytes) {
        store_data(wqe, at, r.data);
        at += wqe_data::bytes;
      }
    } else if constexpr (std::is_same_v<data, inline_data>) {
      at = store_inline(wqe, at, r.data);
    } else {
      at = store_list(wqe, at, r.data, of.entries);
    }
  }
  std::uint64_t second = 0;
  if constexpr (requires { r.immediate; }) second = in_word<&wqe_ctrl::immediate>(r.immediate);
  if constexpr (requires { r.invalidated; }) second = in_word<&wqe_ctrl::immediate>(r.invalidated);
  if constexpr (requires { r.remote_srqn; })
    second |= in_word<&wqe_ctrl::remote_srqn>(r.remote_srqn);
  if constexpr (requires { r.memory; }) second = in_word<&wqe_ctrl::strong_order>(1);
  if (first == 0) first = first_word<Request>(next, at, flags);
  if constexpr (pushes)
    if (by.takes(at)) first |= swap_be(blueflame_head());
  give_away(wqe, at, first, flags, second);
  next.at = wqe + stride_;
  next.slot = slot + 1;
  if constexpr (pushes) {
    if (by.takes(at)) by.copy(wqe, at);
    else ring_doorbell();
  } else if constexpr (std::is_same_v<By, by_doorbell>) {
    ring_doorbell();
  }
}

}  // namespace freehca::queues
