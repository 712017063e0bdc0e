// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Work requests as types, one struct for each opcode. The members of the struct say which segments
// the WQE has:
//   remote        a remote address segment
//   to            a datagram segment
//   operand       an atomic segment
//   operand_mask  a masked atomic segment instead (masked_atomics.hpp)
//   memory        a segment of memory management (memory_requests.hpp)
//   headers       a segment of headers (frame_requests.hpp)
//   packet_headers  inline segments with the headers of a packet (prepared_packet.hpp)
//   data          a data segment for each entry that is not empty, or inline segments
// Four members are fields of the control segment:
//   immediate     the immediate data
//   invalidated   the key to invalidate, in the field of the immediate data
//   remote_srqn   the peer's shared receive queue (xrc_requests.hpp)
//   frame         what the device does with a frame (frame_requests.hpp)
//
// When the post returns, the caller may reuse the request, its lists and its inline bytes. The
// device may access the memory of the data entries until the request completes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/layouts/word.hpp>
#include <freehca/layouts/wqe.hpp>

#include <freehca/queues/address.hpp>
#include <freehca/queues/data_entry.hpp>

namespace freehca::queues {

/// Registered memory of the peer.
struct remote_memory {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

/// Memory of the peer, with the key in the byte order of the ring (big-endian).
struct remote_memory_in_ring {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  constexpr remote_memory_in_ring(const remote_memory& r)
      : address(r.address),
        key(layouts::swap_be(layouts::in_word<&layouts::wqe_remote_address::rkey>(r.rkey))) {}
};

/// Options of a request, in the byte order of the control segment, so that a post swaps nothing.
/// Options of the first 64-bit word are bits of its second half. Options of the second word are
/// bits of its first half. One value therefore holds the options of both words.
enum class request_flags : std::uint64_t {
  none = 0,
  /// The request starts after earlier reads and atomics have ended.
  fence = layouts::swap_be(layouts::in_word<&layouts::wqe_ctrl_rows::fence>(1)),
  /// The receiver's completion is a solicited event.
  solicited = layouts::swap_be(layouts::in_word<&layouts::wqe_ctrl_rows::solicited>(1)),
  /// The request adds an entry to the CQ when it succeeds. An error adds one in any case.
  signaled = layouts::swap_be(layouts::in_word<&layouts::wqe_ctrl_rows::cq_update>(
      static_cast<std::uint64_t>(layouts::wqe_completion::always))),
};
constexpr request_flags operator|(request_flags a, request_flags b) {
  return static_cast<request_flags>(static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b));
}
/// The options in the word at byte 0x00 of the control segment, and in the word at byte 0x08, in
/// the byte order of the ring.
constexpr std::uint64_t in_first_word(request_flags f) {
  return static_cast<std::uint64_t>(f) & layouts::swap_be(std::uint64_t{0xffff'ffff});
}
constexpr std::uint64_t in_second_word(request_flags f) {
  return static_cast<std::uint64_t>(f) & ~layouts::swap_be(std::uint64_t{0xffff'ffff});
}
static_assert(in_first_word(request_flags::fence) != 0 &&
              in_second_word(request_flags::fence) == 0 &&
              in_first_word(request_flags::signaled | request_flags::solicited) == 0);

/// The kind of a completed request.
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
  bind_window,
  receive,
  /// A receive that was consumed by an RDMA write with immediate data. The byte count is that of
  /// the write, which stored nothing in the receive's buffer.
  receive_rdma_with_immediate,
};
/// True if a request of this kind brings data back: reads and atomics.
constexpr bool brings_data(work_opcode o) {
  return o < work_opcode::send;
}

template <class Data>
struct send_of {
  static constexpr auto opcode = layouts::wqe_opcode::send;
  static constexpr auto completes_as = work_opcode::send;
  std::uint64_t wr_id = 0;  ///< returned in the completion
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
  std::uint32_t immediate = 0;  ///< in host order; big-endian on the wire
  request_flags flags = request_flags::signaled;
};
using send_with_immediate = send_with_immediate_of<data_entry>;
using send_with_immediate_list = send_with_immediate_of<data_list>;
using send_with_immediate_inline = send_with_immediate_of<inline_data>;

/// A send that also invalidates a key of the receiver: of a memory region or a memory window.
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

/// A datagram, for queues of that service: one packet with at most the path's MTU of data.
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
  Data data{};  ///< where the device stores the data
  request_flags flags = request_flags::signaled;
};
using rdma_read = rdma_read_of<data_entry>;
using rdma_read_list = rdma_read_of<data_list>;

/// A sequence of requests for sq::post_many(): writes or reads of one length between one local
/// region and one region of the peer. The requests differ only in their wr_id and in two offsets.
/// The constructor converts the common part to the byte order of the ring once. post_many() gives
/// the flags; those of `like` are ignored.
template <class Request>
class stream {
  static_assert(std::is_same_v<Request, rdma_write> || std::is_same_v<Request, rdma_read>);

 public:
  struct place {
    std::uint64_t wr_id = 0;
    std::uint64_t here = 0;   ///< bytes added to the local address
    std::uint64_t there = 0;  ///< bytes added to the peer's address
  };
  struct request {
    static constexpr auto opcode = Request::opcode;
    static constexpr auto completes_as = Request::completes_as;
    std::uint64_t wr_id;
    remote_memory_in_ring remote;
    data_entry_in_ring data;
  };

  /// `like` has both addresses, the keys and the length. `places` has an element for each request
  /// and outlives the call of post_many().
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

/// A compare and swap of 8 bytes. It is atomic with respect to other atomics of the peer's device.
/// `data` is one entry of 8 bytes, where the device stores the previous value.
struct compare_and_swap {
  static constexpr auto opcode = layouts::wqe_opcode::atomic_cs;
  static constexpr auto completes_as = work_opcode::compare_and_swap;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;  ///< the new value if the previous one equals `compare`
  std::uint64_t compare = 0;
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

/// A fetch and add of 8 bytes. It is atomic, and returns the previous value, like compare_and_swap.
struct fetch_and_add {
  static constexpr auto opcode = layouts::wqe_opcode::atomic_fa;
  static constexpr auto completes_as = work_opcode::fetch_and_add;
  std::uint64_t wr_id = 0;
  remote_memory remote{};
  std::uint64_t operand = 0;  ///< the addend
  data_entry data{};
  request_flags flags = request_flags::signaled;
};

/// Does nothing and completes.
struct nop {
  static constexpr auto opcode = layouts::wqe_opcode::nop;
  static constexpr auto completes_as = work_opcode::nop;
  std::uint64_t wr_id = 0;
  request_flags flags = request_flags::signaled;
};

/// The bit of an opcode in a set of opcodes. The datagram form of an opcode has a bit of its own,
/// because its WQE has another shape.
constexpr std::uint64_t opcode_bit(layouts::wqe_opcode o) {
  return std::uint64_t{1} << static_cast<unsigned>(o);
}
constexpr std::uint64_t datagram_opcode_bit(layouts::wqe_opcode o) {
  return opcode_bit(o) << 32;
}
/// The bit of an opcode's form for an extended reliable connection (XRC), which names a shared
/// receive queue. No queue has both XRC bits and datagram bits. The datagram bits in use lie
/// between the XRC bits in use.
inline constexpr unsigned first_xrc_bit = 39;
constexpr std::uint64_t xrc_opcode_bit(layouts::wqe_opcode o) {
  return opcode_bit(o) << first_xrc_bit;
}
/// The bit of an opcode's form for raw Ethernet. The bits of the two opcodes that have this form
/// lie where no other request has a bit.
constexpr std::uint64_t frame_opcode_bit(layouts::wqe_opcode o) {
  return opcode_bit(o) << 19;
}
/// The bit of a send whose headers the driver has prepared. No queue with this bit has XRC bits.
inline constexpr std::uint64_t prepared_bit = std::uint64_t{1} << 63;
/// The bit of a request type in a set of opcodes.
template <class Request>
constexpr std::uint64_t request_bit() {
  if constexpr (requires(Request r) { r.packet_headers; }) return prepared_bit;
  else if constexpr (requires(Request r) { r.frame; }) return frame_opcode_bit(Request::opcode);
  else if constexpr (requires(Request r) { r.remote_srqn; }) return xrc_opcode_bit(Request::opcode);
  else if constexpr (requires(Request r) { r.to; }) return datagram_opcode_bit(Request::opcode);
  else return opcode_bit(Request::opcode);
}

}  // namespace freehca::queues
