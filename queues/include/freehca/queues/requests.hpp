// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests as types. The members of a request say which segments its WQE has: `remote` a
// remote address segment, `to` a datagram segment, `operand` an atomic segment, `operand_mask` a
// longer one (masked_atomics.hpp), `memory` a segment of memory management (memory_requests.hpp),
// `immediate` the immediate of the control segment, `invalidated` the key in its place,
// `remote_srqn` the queue beside it (xrc_requests.hpp), `data` a data segment for each entry, or
// inline ones. A new opcode is a new struct.
//
// A request, its lists and its inline bytes are the caller's again when the post returns. The
// memory that data entries name is the device's until the request completes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/address.hpp>
#include <freehca/queues/data_entry.hpp>

namespace freehca::queues {

/// Memory of the peer.
struct remote_memory {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// The same with the word of its key as the ring has it in memory.
struct remote_memory_in_ring {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  constexpr remote_memory_in_ring(const remote_memory& r)
      : address(r.address),
        key(layouts::swap_be(layouts::in_word<&layouts::wqe_remote_address::rkey>(r.rkey))) {}
};

/// What a request asks for beside its opcode, as the control segment has it in memory: bits of its
/// first 64-bit word stand there in the second half, bits of its second word in the first half. So
/// both fit in one word, each half where a post stores it, and nothing is swapped.
enum class request_flags : std::uint64_t {
  none = 0,
  /// Starts when earlier reads and atomics are done.
  fence = layouts::swap_be(layouts::in_word<&layouts::wqe_ctrl_rows::fence>(1)),
  /// The receiver's completion wakes who waits for solicited ones.
  solicited = layouts::swap_be(layouts::in_word<&layouts::wqe_ctrl_rows::solicited>(1)),
  /// Completes with an entry in the CQ; an error completes in any case.
  signaled = layouts::swap_be(layouts::in_word<&layouts::wqe_ctrl_rows::cq_update>(
      static_cast<std::uint64_t>(layouts::wqe_completion::always))),
};
constexpr request_flags operator|(request_flags a, request_flags b) {
  return static_cast<request_flags>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}
/// In the word of the control segment that begins at byte 0x00, and in the one at 0x08; as they
/// stand in memory.
constexpr std::uint64_t in_first_word(request_flags f) {
  return static_cast<std::uint64_t>(f) & layouts::swap_be(std::uint64_t{0xffff'ffff});
}
constexpr std::uint64_t in_second_word(request_flags f) {
  return static_cast<std::uint64_t>(f) & ~layouts::swap_be(std::uint64_t{0xffff'ffff});
}
static_assert(in_first_word(request_flags::fence) != 0 &&
              in_second_word(request_flags::fence) == 0 &&
              in_first_word(request_flags::signaled | request_flags::solicited) == 0);

/// What a completed request was.
enum class work_opcode : std::uint8_t {
  rdma_read,
  compare_and_swap,
  fetch_and_add,
  masked_compare_and_swap,
  masked_fetch_and_add,
  send,
  rdma_write,
  nop,
  fast_register,
  local_invalidate,
  receive,
  /// The byte count is of what was written, elsewhere than into the receive's buffer.
  receive_rdma_with_immediate,
};
/// Does a request of this kind bring data back?
constexpr bool brings_data(work_opcode o) {
  return o < work_opcode::send;
}

template <class Data>
struct send_of {
  static constexpr auto opcode = layouts::wqe_opcode::send;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;  ///< comes back in the completion
  Data data{};
  request_flags flags = request_flags::signaled;
};
using send = send_of<data_entry>;
using send_list = send_of<data_list>;
using send_inline = send_of<inline_data>;

template <class Data>
struct send_with_immediate_of {
  static constexpr auto opcode = layouts::wqe_opcode::send_imm;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  Data data{};
  std::uint32_t immediate = 0;  ///< as a number; big-endian on the wire
  request_flags flags = request_flags::signaled;
};
using send_with_immediate = send_with_immediate_of<data_entry>;
using send_with_immediate_list = send_with_immediate_of<data_list>;
using send_with_immediate_inline = send_with_immediate_of<inline_data>;

/// Also ends what a key of the receiver's opens: that of a region or of a window.
template <class Data>
struct send_with_invalidate_of {
  static constexpr auto opcode = layouts::wqe_opcode::send_inval;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  Data data{};
  std::uint32_t invalidated = 0;  ///< the receiver's key
  request_flags flags = request_flags::signaled;
};
using send_with_invalidate = send_with_invalidate_of<data_entry>;
using send_with_invalidate_list = send_with_invalidate_of<data_list>;
using send_with_invalidate_inline = send_with_invalidate_of<inline_data>;

/// Of a datagram queue: at most the path's MTU, and no part of a message.
template <class Data>
struct send_datagram_of {
  static constexpr auto opcode = layouts::wqe_opcode::send;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  datagram_destination to{};
  Data data{};
  request_flags flags = request_flags::signaled;
};
using send_datagram = send_datagram_of<data_entry>;
using send_datagram_list = send_datagram_of<data_list>;
using send_datagram_inline = send_datagram_of<inline_data>;

template <class Data>
struct send_datagram_with_immediate_of {
  static constexpr auto opcode = layouts::wqe_opcode::send_imm;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;
  datagram_destination to{};
  Data data{};
  std::uint32_t immediate = 0;
  request_flags flags = request_flags::signaled;
};
using send_datagram_with_immediate = send_datagram_with_immediate_of<data_entry>;
using send_datagram_with_immediate_list = send_datagram_with_immediate_of<data_list>;
using send_datagram_with_immediate_inline = send_datagram_with_immediate_of<inline_data>;

template <class Data>
struct rdma_write_of {
  static constexpr auto opcode = layouts::wqe_opcode::rdma_write;
  static constexpr auto completes_as = work_opcode::rdma_write;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  Data data{};
  request_flags flags = request_flags::signaled;
};
using rdma_write = rdma_write_of<data_entry>;
using rdma_write_list = rdma_write_of<data_list>;
using rdma_write_inline = rdma_write_of<inline_data>;

template <class Data>
struct rdma_write_with_immediate_of {
  static constexpr auto opcode = layouts::wqe_opcode::rdma_write_imm;
  static constexpr auto completes_as = work_opcode::rdma_write;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  Data data{};
  std::uint32_t immediate = 0;
  request_flags flags = request_flags::signaled;
};
using rdma_write_with_immediate = rdma_write_with_immediate_of<data_entry>;
using rdma_write_with_immediate_list = rdma_write_with_immediate_of<data_list>;
using rdma_write_with_immediate_inline = rdma_write_with_immediate_of<inline_data>;

template <class Data>
struct rdma_read_of {
  static constexpr auto opcode = layouts::wqe_opcode::rdma_read;
  static constexpr auto completes_as = work_opcode::rdma_read;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  Data data{};  ///< where the answer goes
  request_flags flags = request_flags::signaled;
};
using rdma_read = rdma_read_of<data_entry>;
using rdma_read_list = rdma_read_of<data_list>;

/// Requests for sq::post_many() that differ in their wr_id and in two offsets: writes or reads of
/// one length between one region here and one of the peer's. What is the same in all of them is
/// brought into the form of the ring once.
template <class Request>
class stream {
  static_assert(std::is_same_v<Request, rdma_write> || std::is_same_v<Request, rdma_read>);

 public:
  struct place {
    std::uint64_t wr_id = 0;
    std::uint64_t here = 0;   ///< bytes behind the address of the data
    std::uint64_t there = 0;  ///< bytes behind the peer's address
  };
  struct request {
    static constexpr auto opcode = Request::opcode;
    static constexpr auto completes_as = Request::completes_as;
    std::uint64_t wr_id;
    remote_memory_in_ring remote;
    data_entry_in_ring data;
  };

  /// `like`: both addresses, keys and the length. `places`: of each request, as long as post_many()
  /// may ask for it.
  constexpr stream(const Request& like, const place* places)
      : remote_(like.remote), data_(like.data), places_(places) {}
  [[gnu::always_inline]] request operator[](std::size_t i) const {
    request r{places_[i].wr_id, remote_, data_};
    r.remote.address += places_[i].there;
    r.data.address += places_[i].here;
    return r;
  }

 private:
  remote_memory_in_ring remote_;
  data_entry_in_ring data_;
  const place* places_;
};
template <class T>
inline constexpr bool is_stream = false;
template <class Request>
inline constexpr bool is_stream<stream<Request>> = true;

/// 8 bytes, atomic among this device's own atomics. `data`: where the value before goes.
struct compare_and_swap {
  static constexpr auto opcode = layouts::wqe_opcode::atomic_cs;
  static constexpr auto completes_as = work_opcode::compare_and_swap;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;  ///< what is stored where `compare` stands
  std::uint64_t compare = 0;
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

struct fetch_and_add {
  static constexpr auto opcode = layouts::wqe_opcode::atomic_fa;
  static constexpr auto completes_as = work_opcode::fetch_and_add;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;  ///< what is added
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

/// Does nothing but complete.
struct nop {
  static constexpr auto opcode = layouts::wqe_opcode::nop;
  static constexpr auto completes_as = work_opcode::nop;
  std::uint64_t wr_id = 0;
  request_flags flags = request_flags::signaled;
};

/// The bit of an opcode in a set of opcodes; of its datagram form, which is a WQE of its own shape.
constexpr std::uint64_t opcode_bit(layouts::wqe_opcode o) {
  return std::uint64_t{1} << static_cast<unsigned>(o);
}
constexpr std::uint64_t datagram_opcode_bit(layouts::wqe_opcode o) {
  return opcode_bit(o) << 32;
}
/// Of its form for an extended reliable connection, which names a shared receive queue. No queue
/// has these beside those of datagrams, whose bits lie between them.
inline constexpr unsigned first_xrc_bit = 39;
constexpr std::uint64_t xrc_opcode_bit(layouts::wqe_opcode o) {
  return opcode_bit(o) << first_xrc_bit;
}
/// The bit of the requests of a type.
template <class Request>
constexpr std::uint64_t request_bit() {
  if constexpr (requires(Request r) { r.remote_srqn; }) return xrc_opcode_bit(Request::opcode);
  else if constexpr (requires(Request r) { r.to; }) return datagram_opcode_bit(Request::opcode);
  else return opcode_bit(Request::opcode);
}

}  // namespace freehca::queues
