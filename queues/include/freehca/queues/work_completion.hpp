// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/dma.hpp>
#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/word.hpp>

#include <freehca/queues/requests.hpp>

namespace freehca::queues {

struct qp_rings;

enum class completion_status : std::uint8_t {
  ok,
  local_length,
  local_qp_operation,
  local_protection,
  flushed,  ///< the queue pair was in the error state; perhaps executed in part
  window_bind,
  bad_response,
  local_access,
  remote_invalid_request,
  remote_access,
  remote_operation,
  transport_retry_exceeded,
  rnr_retry_exceeded,
  remote_aborted,
  unknown_syndrome,  ///< a syndrome that no source names
  /// The device reported a result that the request cannot have: more bytes than it has room for, or
  /// the opcode of another kind of request. byte_count is 0.
  implausible,
  device_reset,  ///< the device was reset; executed, executed in part, or not executed
};

/// The driver's record of a posted request, 16 bytes. The post writes it. When the request
/// completes, it becomes the first part of the completion.
struct posted_request {
  std::uint64_t wr_id = 0;
  work_opcode opcode = work_opcode::send;
  completion_status status = completion_status::ok;
  /// 0 while the request is outstanding. A completion has its syndromes here. A free slot of a
  /// shared receive queue has the link of the free list here.
  std::uint16_t link = 0;
  /// Bytes of data that a read or an atomic brings back, or that a receive has room for; else 0.
  std::uint32_t bytes = 0;

  /// Marks the slot as that of an outstanding request. The second word is stored whole, because g++
  /// 12 stores its members one by one in a loop.
  [[gnu::always_inline]] void begin(std::uint64_t id, work_opcode o, std::uint32_t n) {
    struct rest {
      work_opcode opcode;
      completion_status status = completion_status::ok;
      std::uint16_t link = 0;
      std::uint32_t bytes;
    };
    wr_id = id;
    const auto word = __builtin_bit_cast(std::uint64_t, rest{.opcode = o, .bytes = n});
    __builtin_memcpy(reinterpret_cast<std::byte*>(this) + sizeof wr_id, &word, sizeof word);
  }
};

/// A completion queue entry that is still in the ring. Its words are in the byte order of memory.
/// The last word is the copy from which the driver has decoded the entry.
struct entry_in_ring {
  static constexpr std::size_t last = layouts::cqe::bytes / 8 - 1;
  const std::byte* at = nullptr;
  std::uint64_t judged = 0;
  std::uint64_t operator[](std::size_t word) const {
    return word == last ? judged : layouts::swap_be(dma::load_be64(at + 8 * word));
  }
};

/// The bytes at the begin of each received datagram, before its data: a GRH, or unused. byte_count
/// includes them (IBTA 11.4.1.2, ibv_post_recv(3)).
inline constexpr std::uint32_t grh_bytes = 40;

/// A completed request. The fields of the completion queue entry are decoded when they are read.
template <class Entry>
struct completion_of {
  std::uint64_t wr_id = 0;
  work_opcode opcode = work_opcode::send;
  completion_status status = completion_status::ok;
  std::uint8_t syndrome = 0;         ///< as in the entry; 0 unless the device reported an error
  std::uint8_t vendor_syndrome = 0;  ///< as in the entry
  std::uint32_t byte_count = 0;      ///< of reads, atomics and receives without an error; else 0
  /// The queue pair that the request was posted to. For a receive of a shared queue, it is the
  /// queue pair that received the message. If the queue pair may have been destroyed since, the
  /// pointer must not be followed.
  const qp_rings* queue = nullptr;
  /// The entry that the device wrote, which get() decodes. If the device wrote no entry
  /// (completion_status::device_reset), it has the number of the queue pair, and zeros. Without
  /// ok(), the functions below that decode the entry are not meaningful, except qpn().
  Entry entry{};

  bool ok() const { return status == completion_status::ok; }
  bool is_receive() const { return opcode >= work_opcode::receive; }
  /// The number of the queue pair.
  std::uint32_t qpn() const { return static_cast<std::uint32_t>(get<&layouts::cqe_rows::qpn>()); }
  void set_qpn(std::uint32_t n) {
    entry[0] = layouts::swap_be(layouts::in_word<&layouts::cqe_rows::qpn>(n));
  }

  /// Field M of the entry. The caller knows which layout the entry has: layouts::cqe, cqe_timestamp
  /// or cqe_error.
  template <auto M>
  std::uint64_t get() const {
    constexpr const layouts::bits& b = layouts::row_of<M>;
    static_assert(b.offset < layouts::cqe::bytes);
    return layouts::from_word<M>(layouts::swap_be(entry[b.offset / 8]));
  }

  /// True if this is a successful receive with immediate data.
  bool has_immediate() const {
    return ok() && (opcode == work_opcode::receive_rdma_with_immediate ||
                    is_receive_of(layouts::cqe_opcode::recv_send_imm));
  }
  /// The immediate data in host order, if has_immediate().
  std::uint32_t immediate() const {
    return static_cast<std::uint32_t>(get<&layouts::cqe_rows::immediate>());
  }
  /// True if this is a successful receive, and the sender has invalidated a local key. The key is
  /// immediate().
  bool has_invalidated() const {
    return ok() && is_receive_of(layouts::cqe_opcode::recv_send_inval);
  }
  /// For receives of datagrams: the QPN of the sender.
  std::uint32_t source_qpn() const {
    return static_cast<std::uint32_t>(get<&layouts::cqe_rows::remote_qpn>());
  }
  std::uint16_t slid() const { return static_cast<std::uint16_t>(get<&layouts::cqe::slid>()); }
  std::uint8_t sl() const { return static_cast<std::uint8_t>(get<&layouts::cqe::sl>()); }
  /// For receives of datagrams: true if the first 40 bytes of the buffer hold a GRH.
  bool has_grh() const { return get<&layouts::cqe_rows::grh>() != 0; }
  /// For receives of QP1: the index of the P_Key that the packet matched.
  unsigned pkey_index() const { return immediate() & 0x7f; }

  bool is_receive_of(layouts::cqe_opcode o) const {
    return opcode == work_opcode::receive &&
           static_cast<layouts::cqe_opcode>(get<&layouts::cqe_rows::opcode>()) == o;
  }
};
/// A completion with a copy of its entry.
using work_completion = completion_of<std::uint64_t[layouts::cqe::bytes / 8]>;
/// A completion whose entry stays in the ring until cq::release().
using completion_view = completion_of<entry_in_ring>;
[[gnu::always_inline]] inline work_completion copy_of(const completion_view& v) {
  work_completion to{v.wr_id,           v.opcode,     v.status, v.syndrome,
                     v.vendor_syndrome, v.byte_count, v.queue};
  for (std::size_t i = 0; i <= entry_in_ring::last; ++i) to.entry[i] = v.entry[i];
  return to;
}
static_assert(sizeof(posted_request) == 16 && sizeof(work_completion) == 56 &&
              offsetof(work_completion, wr_id) == offsetof(posted_request, wr_id) &&
              offsetof(work_completion, byte_count) == offsetof(posted_request, bytes) &&
              offsetof(work_completion, opcode) == offsetof(posted_request, opcode) &&
              offsetof(work_completion, status) == offsetof(posted_request, status) &&
              offsetof(work_completion, syndrome) == offsetof(posted_request, link) &&
              offsetof(work_completion, queue) == sizeof(posted_request) &&
              std::is_trivially_copyable_v<work_completion>);

}  // namespace freehca::queues
