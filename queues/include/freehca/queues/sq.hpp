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

#include <freehca/queues/opcode_sets.hpp>
#include <freehca/queues/requests.hpp>
#include <freehca/queues/sq_shape.hpp>
#include <freehca/queues/work_completion.hpp>
#include <freehca/queues/wqe_stores.hpp>

namespace freehca::queues {

class blueflame;  // blueflame.hpp; a caller of post_and_push() includes it

/// Parameters of sq::open(). The memory and the registers that they name outlive the queue.
struct sq_resources {
  dma_region ring;  ///< at least shape.bytes() bytes, aligned to 64
  sq_shape shape;
  posted_request* slots = nullptr;  ///< array of shape.entries() slots
  mmio_region uar;                  ///< the UAR page that the queue pair was created with
  std::uint32_t qpn = 0;
  unsigned most_gather = 0;       ///< data segments of a WQE; must fit the stride
  std::uint32_t most_inline = 0;  ///< bytes; must fit the stride
  std::uint64_t most_message_bytes = 0;
  /// opcode_bit(), datagram_opcode_bit() and xrc_opcode_bit() of the opcodes that the service has
  /// and the device supports.
  std::uint64_t opcodes = 0;
};

/// The send queue of a queue pair. It issues no commands. Requests complete in order. A request
/// that is not signaled is retired by the completion of a later request. One thread at a time is
/// inside the queue group of the queue pair (cq.hpp). A blueflame can be for several groups. One
/// thread at a time uses it.
///
/// The fast path of a post checks a request and stores it straight into the ring. prepare() settles
/// everything else for a run of entries at a time: the state, the free entries, the end of the ring
/// and the stamps ahead of the producer.
class sq {
  /// The place of the next request. prepare() has prepared the entries from `at` up to `end`, which
  /// is not included.
  struct cursor {
    std::byte* at = nullptr;
    std::byte* end = nullptr;
    std::uint64_t owner = 0;  // the owner bit of this lap, in the byte order of the ring
    posted_request* slot = nullptr;
  };

 public:
  /// Takes the ring and calls reset(). Error: driver_error::bad_argument (a shape that the hardware
  /// does not have, missing or too little memory, or a longest WQE beyond the stride).
  status open(const sq_resources& resources);
  void close() { *this = sq{}; }
  bool is_open() const { return ring_ != nullptr; }
  /// Makes every entry the software's, drops all posted requests and disallows post(). Called
  /// before RST2INIT. The queue is open.
  void reset();

  /// Allows or disallows post(). A queue pair allows it in RTS and in ERROR. open() and reset()
  /// disallow it. No effect on a queue that is not open.
  void accept(bool allowed) {
    bell_ &= unannounced;
    if (!allowed || !is_open()) bell_ |= refused;
    next_.end = next_.at;
  }

  /// Writes one WQE. The device may execute it at once, or only after ring(). On an error nothing
  /// changes. Errors: driver_error::queue_full, ::bad_argument (too many entries, too much data, a
  /// datagram without an address, a number of more than 24 bits, an atomic whose data are not 8
  /// bytes, a registration, a frame or headers that are not sound), ::unsupported (an opcode that
  /// the service or the device does not have), ::bad_state (not open, or post() is not allowed).
  template <class Request>
  [[gnu::always_inline]] status post(const Request& request) {
    no_doorbell none;
    return post_by(none, request);
  }

  /// Posts requests[0] to requests[count - 1]. `flags` replaces the flags of each request. The
  /// device may wait for ring(). Returns the number of posted requests. If it is less than `count`,
  /// post() of that request returns the reason.
  ///
  /// `requests` is a pointer, a span, a stream, or another type whose elements are requests of one
  /// type. post_many() copies it and may read an element twice.
  template <class Requests>
  [[gnu::always_inline]] unsigned post_many(Requests requests, unsigned count,
                                            request_flags flags = request_flags::signaled);

  /// Rings the doorbell, which tells the device that there are new WQEs. No effect while post() is
  /// not allowed, or if nothing was posted since the last doorbell.
  void ring() {
    if (bell_ == unannounced) ring_doorbell();
  }

  /// Calls post() and, if it succeeds, tells the device as ring() does.
  template <class Request>
  [[gnu::always_inline]] status post_and_ring(const Request& request) {
    by_doorbell by;
    return post_by(by, request);
  }

  /// Posts a request through BlueFlame if it fits the register, otherwise through the doorbell.
  /// BlueFlame is worth its cost for a single small request that the caller waits for. The caller
  /// has called ring() for all earlier posts. `by` is of the UAR page that the queue pair was
  /// created with. Errors as with post().
  template <class Request>
  [[gnu::always_inline]] status post_and_push(blueflame& by, const Request& request) {
    return post_by(by, request);
  }

  /// Retires the request of WQE counter `wqe_index` and all requests before it. Returns the slot of
  /// that request, which is valid until the next post. Returns null if the request is not
  /// outstanding.
  const posted_request* retire(std::uint16_t wqe_index) {
    const posted_request* const retired = retire_next(wqe_index);
    return retired != nullptr ? retired : retire_up_to(wqe_index);
  }
  /// Like retire(), for the oldest request alone. Returns null if the device names another one.
  [[gnu::always_inline]] const posted_request* retire_next(std::uint16_t wqe_index) {
    const std::uint32_t tail = tail_;
    if (wqe_index != static_cast<std::uint16_t>(tail) || tail == head_) [[unlikely]]
      return nullptr;
    tail_ = tail + 1;
    const posted_request* const retired = slots_ + (tail & mask_);
    if (retired == nullptr) __builtin_unreachable();  // spares the caller's test for null
    return retired;
  }
  /// Like retire(). Called if retire_next() has returned null.
  [[gnu::noinline]] const posted_request* retire_up_to(std::uint16_t wqe_index);

  /// Retires the oldest outstanding request, if the device will report no more completions. Returns
  /// null if there is none.
  const posted_request* retire_oldest() {
    return head_ == tail_ ? nullptr : slots_ + (tail_++ & mask_);
  }

  std::uint32_t outstanding() const { return head_ - tail_; }
  std::uint32_t most_outstanding() const { return most_posted_; }
  std::uint32_t posted() const { return head_; }
  unsigned most_gather() const { return most_gather_; }
  std::uint32_t most_inline() const { return most_inline_; }

 private:
  /// How a post notifies the device. The third way is a blueflame.
  struct no_doorbell {};
  struct by_doorbell {};
  /// The size of a request's data, as far as check() counts it.
  struct extent {
    std::uint64_t bytes = 0;
    unsigned entries = 0;
  };

  void ring_doorbell() {
    bell_ = 0;
    barrier::dma_store_to_mmio_store();
    mmio::write_32(uar_, layouts::uar::send_doorbell, layouts::swap_be(doorbell_));
  }
  /// The most entries that prepare() stamps at once. It limits the time of a single post.
  static constexpr std::uint32_t most_stamped = 64;

  /// Prepares a run of entries from head_ on, so that next_ has room. Errors:
  /// driver_error::bad_state, ::queue_full.
  [[gnu::noinline, gnu::cold]] status prepare();
  template <class Request>
  [[gnu::always_inline]] bool allows() const {
    return (opcodes_ & request_bit<Request>()) != 0;
  }
  template <class Request>
  [[gnu::always_inline]] status check(const Request& request, extent& of) const;
  /// True if the type has one data entry instead of a list or inline data.
  template <class Request>
  static constexpr bool has_entry = requires(Request r) {
    r.data.address;
  };
  /// True if check() accepts the request, and a single data entry has 1 to most_bytes_ bytes.
  template <class Request>
  [[gnu::always_inline]] bool fits(const Request& request, extent& of) const {
    if constexpr (has_entry<Request>)
      if (request.data.length - 1u >= most_bytes_) return false;
    return check(request, of).ok();
  }
  /// The fast path of a post: a check, and stores. Returns false if the request needs
  /// post_slowly().
  template <class By, class Request>
  [[gnu::always_inline]] bool post_at_once(By& by, const Request& request, request_flags flags);
  template <class By, class Request>
  [[gnu::always_inline]] status post_by(By& by, const Request& request) {
    // Packets with prepared headers are rare. They have no fast path.
    if constexpr (!requires { request.packet_headers; })
      if (post_at_once(by, request, request.flags)) [[likely]]
        return {};
    return post_slowly(by, request, request.flags);
  }
  /// The slow path of a post: the request needs prepare(), has no bytes, or is refused.
  template <class By, class Request>
  [[gnu::noinline, gnu::cold]] status post_slowly(By& by, const Request& request,
                                                  request_flags flags);
  /// Bytes of a WQE with one data entry.
  template <class Request>
  static constexpr std::uint32_t bytes_with_entry();
  /// The first word of a WQE of `bytes` bytes in this lap, in the byte order of the ring.
  template <class Request>
  [[gnu::always_inline]] static std::uint64_t first_word(const cursor& at, std::uint32_t bytes,
                                                         request_flags flags);
  /// Stores a request that fits, and advances `next`. `first` is the first word of the WQE, or 0 if
  /// the length is not known yet. `has_bytes` is false if a single data entry is empty: it gets no
  /// segment.
  template <class By, class Request>
  [[gnu::always_inline]] void store(cursor& next, By& by, const Request& request, const extent& of,
                                    request_flags flags, std::uint64_t first,
                                    bool has_bytes = true);
  /// True if the WQE of a request goes through `by`. In such a WQE, the number of the queue pair is
  /// where a frame has its tag, and bits 6 and 7 of the number are where a tag is requested. So a
  /// frame with a tag, or of a number with one of these bits, is not pushed (Linux 6.1 en_tx.c
  /// mlx4_en_xmit, hw/mlx4/qp.c create_qp_common). A large send is not pushed either.
  template <class By, class Request>
  [[gnu::always_inline]] bool is_pushed(const By& by, const Request& r, std::uint32_t bytes) const;
  /// The QPN and the WQE index, as bits of the first word of a WQE that is copied to a BlueFlame
  /// register. The WQE in the ring has them too.
  std::uint64_t blueflame_head() const {
    using l = layouts::wqe_ctrl_blueflame;
    return layouts::in_word<&l::qpn>(layouts::swap_be(doorbell_) >>
                                     layouts::send_doorbell{}.qpn.lo) |
           layouts::in_word<&l::wqe_index>(static_cast<std::uint16_t>(head_));
  }

  cursor next_;
  posted_request* slots_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0;  // free-running; the device uses the low 16 bits
  std::uint32_t tail_ = 0;
  std::uint32_t most_bytes_ = 0;  // limit for a request with one data entry
  std::size_t stride_ = 64;
  std::uint64_t opcodes_ = 0;
  std::uint32_t doorbell_ = 0;  // in the byte order of the register
  std::uint16_t most_inline_ = 0;
  std::uint8_t most_gather_ = 0;  // fits, because a WQE has at most 1008 bytes
  /// Two bits in one byte, so that ring() tests both at once.
  std::uint8_t bell_ = refused;
  static constexpr std::uint8_t unannounced = 1;  // no doorbell came after the last post
  static constexpr std::uint8_t refused = 2;      // post() is not allowed
  mmio_region uar_;
  // The members from here on are not used by every post or completion.
  std::uint64_t most_message_bytes_ = 0;
  std::byte* ring_ = nullptr;
  std::uint32_t spare_ = 0;
  std::uint32_t most_posted_ = 0;
  std::uint8_t log_stride_ = 6;
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
  if constexpr (requires { r.frame; })
    if (!is_sound(r.frame)) [[unlikely]]
      return driver_error::bad_argument;
  if constexpr (requires { r.headers; }) {
    const std::uint32_t entries = has_entry<Request> ? 1 : of.entries;
    const std::size_t bytes =
        layouts::wqe_ctrl::bytes + segment_bytes(r.headers) + entries * layouts::wqe_data::bytes;
    if (!is_sound(r.headers) || of.bytes == 0 || bytes > stride_ || bytes > most_wqe_bytes)
        [[unlikely]]
      return driver_error::bad_argument;
  } else if constexpr (requires { r.frame; }) {
    if (of.bytes < least_bytes_of(r.frame)) [[unlikely]]
      return driver_error::bad_argument;
  }
  return {};
}

template <class By, class Request>
inline bool sq::post_at_once(By& by, const Request& r, request_flags flags) {
  extent of;
  if (!allows<Request>() || next_.at == next_.end || !fits(r, of)) [[unlikely]]
    return false;
  store(next_, by, r, of, flags, 0);
  ++head_;
  if constexpr (std::is_same_v<By, no_doorbell>) bell_ = unannounced;
  return true;
}

// A request that the device cannot execute is refused before the ring changes.
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
  if constexpr (std::is_same_v<By, no_doorbell>) bell_ = unannounced;
  return {};
}

template <class Requests>
inline unsigned sq::post_many(Requests requests, unsigned count, request_flags flags) {
  using request_type = std::remove_cvref_t<decltype(requests[0])>;
  constexpr bool alike = is_stream<Requests>;
  no_doorbell none;
  std::size_t done = 0;
  while (done != count) {
    cursor next = next_;
    std::size_t room = static_cast<std::size_t>(next.end - next.at);
    if (const std::size_t all = (count - done) << log_stride_; room > all) room = all;
    extent first_of;
    if (!allows<request_type>() || (alike && !fits(requests[done], first_of))) room = 0;
    std::uint64_t first = 0;
    if constexpr (has_entry<request_type>)
      first = first_word<request_type>(next, bytes_with_entry<request_type>(), flags);
    const std::byte* const stop = next.at + room;
    for (std::size_t i = done; next.at != stop; ++i) {
      const request_type& r = requests[i];
      extent of;
      if (alike ? !check(r, of).ok() : !fits(r, of)) [[unlikely]]
        break;
      store(next, none, r, of, flags, first);
    }
    const std::size_t posted = static_cast<std::size_t>(next.at - next_.at) >> log_stride_;
    next_ = next;
    head_ += static_cast<std::uint32_t>(posted);
    if (posted != 0) bell_ = unannounced;
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
inline bool sq::is_pushed(const By& by, [[maybe_unused]] const Request& r,
                          std::uint32_t bytes) const {
  if constexpr (requires { r.frame; }) {
    using l = layouts::wqe_ctrl;
    constexpr std::uint64_t inserts =
        layouts::in_word<&l::ins_cvlan>(1) | layouts::in_word<&l::ins_svlan>(1);
    if (requires { r.headers; } || first_word_of(r.frame) != 0 || (blueflame_head() & inserts) != 0)
      return false;
  }
  return by.takes(bytes);
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
  if constexpr (requires { r.headers; }) at += segment_bytes(r.headers);
  if constexpr (requires { r.packet_headers; }) {
    at = store_packet(wqe, at, r, of.entries);
  } else if constexpr (requires { r.data; }) {
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
  // A block of the WQE may begin with headers and end with data segments.
  if constexpr (requires { r.headers; }) store_headers(wqe, r.headers);
  std::uint64_t second = 0;
  if constexpr (requires { r.frame; }) second = second_word_of(r.frame);
  if constexpr (requires { r.immediate; }) second = in_word<&wqe_ctrl::immediate>(r.immediate);
  if constexpr (requires { r.invalidated; }) second = in_word<&wqe_ctrl::immediate>(r.invalidated);
  if constexpr (requires { r.remote_srqn; })
    second |= in_word<&wqe_ctrl::remote_srqn>(r.remote_srqn);
  if constexpr (requires { r.memory; }) second = in_word<&wqe_ctrl::strong_order>(1);
  if constexpr (requires { r.packet_headers; }) second = r.second_word;
  if (first == 0) first = first_word<Request>(next, at, flags);
  if constexpr (requires { r.frame; }) first |= swap_be(first_word_of(r.frame));
  // As mlx4_en sets it (Linux 6.1 en_tx.c mlx4_en_xmit).
  if constexpr (requires { r.headers; }) first |= bit_in_memory<&wqe_ctrl::big_header>;
  if constexpr (requires { r.packet_headers; }) first |= swap_be(r.first_word);
  if constexpr (pushes)
    if (is_pushed(by, r, at)) first |= swap_be(blueflame_head());
  give_away(wqe, at, first, flags, second);
  next.at = wqe + stride_;
  next.slot = slot + 1;
  if constexpr (pushes) {
    if (is_pushed(by, r, at)) by.copy(wqe, at);
    else ring_doorbell();
  } else if constexpr (std::is_same_v<By, by_doorbell>) {
    ring_doorbell();
  }
}

}  // namespace freehca::queues
