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
  flushed,  ///< not executed: the queue pair was in the error state
  window_bind,
  bad_response,
  local_access,
  remote_invalid_request,
  remote_access,
  remote_operation,
  transport_retry_exceeded,
  rnr_retry_exceeded,
  remote_aborted,
  unknown_syndrome,  ///< an error that no source names
  implausible,   ///< the device reported more bytes than the request has room for; byte_count is 0
  device_reset,  ///< the device was reset before it told: carried out, or in part, or not at all
};

/// The status in words: never null, lives for ever.
const char* name_of(completion_status s);

/// What the driver keeps of a posted request, 16 bytes: the head of its completion, written when it
/// is posted and copied when it completes.
struct posted_request {
  std::uint64_t wr_id = 0;
  work_opcode opcode = work_opcode::send;
  completion_status status = completion_status::ok;
  /// 0 while the request is outstanding, for a completion has its syndromes there; meanwhile a
  /// shared receive queue keeps its list of free entries in it.
  std::uint16_t link = 0;
  /// Of data: those that come back, or that there is room for.
  std::uint32_t bytes = 0;

  /// The slot is that of an outstanding request from now on. Its second word is stored whole:
  /// g++ 12 stores its members one by one in a loop.
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

/// An entry of a completion queue, still where the device wrote it: words as memory has them. The
/// last word is the one that the driver judged the entry by.
struct entry_in_ring {
  static constexpr std::size_t last = layouts::cqe::bytes / 8 - 1;
  const std::byte* at = nullptr;
  std::uint64_t judged = 0;
  std::uint64_t operator[](std::size_t word) const {
    return word == last ? judged : layouts::swap_be(dma::load_be64(at + 8 * word));
  }
};

/// A request that ended. Its fields that come from the device are read from the entry on demand.
template <class Entry>
struct completion_of {
  std::uint64_t wr_id = 0;
  work_opcode opcode = work_opcode::send;
  completion_status status = completion_status::ok;
  std::uint8_t syndrome = 0;         ///< raw; 0 unless the device reported an error
  std::uint8_t vendor_syndrome = 0;  ///< raw
  std::uint32_t byte_count = 0;      ///< of reads, atomics and receives; else 0
  /// The queue pair that the request was posted to; not to be followed when that may have gone
  /// since.
  const qp_rings* queue = nullptr;
  /// The entry as the device wrote it, which get() reads. When the device told of nothing
  /// (completion_status::device_reset) it names the queue pair, and the rest is zero. But for that
  /// number, the functions below that read it mean something only with ok().
  Entry entry{};

  bool ok() const { return status == completion_status::ok; }
  /// The number of that queue pair.
  std::uint32_t qpn() const { return static_cast<std::uint32_t>(get<&layouts::cqe_rows::qpn>()); }
  void set_qpn(std::uint32_t n) {
    entry[0] = layouts::swap_be(layouts::in_word<&layouts::cqe_rows::qpn>(n));
  }

  /// Field M of the entry, whatever it means there: layouts::cqe, cqe_timestamp, cqe_error.
  template <auto M>
  std::uint64_t get() const {
    constexpr const layouts::bits& b = layouts::row_of<M>;
    static_assert(b.offset < layouts::cqe::bytes);
    return layouts::from_word<M>(layouts::swap_be(entry[b.offset / 8]));
  }

  /// Does the receive have immediate data? Never without ok().
  bool has_immediate() const {
    return ok() && (opcode == work_opcode::receive_rdma_with_immediate ||
                    is_receive_of(layouts::cqe_opcode::recv_send_imm));
  }
  /// The immediate data, with has_immediate().
  std::uint32_t immediate() const {
    return static_cast<std::uint32_t>(get<&layouts::cqe_rows::immediate>());
  }
  /// Did the sender invalidate a key of ours? Then immediate() is that key. Never without ok().
  bool has_invalidated() const {
    return ok() && is_receive_of(layouts::cqe_opcode::recv_send_inval);
  }
  /// Receives: who sent.
  std::uint32_t source_qpn() const {
    return static_cast<std::uint32_t>(get<&layouts::cqe_rows::remote_qpn>());
  }
  std::uint16_t slid() const { return static_cast<std::uint16_t>(get<&layouts::cqe::slid>()); }
  std::uint8_t sl() const { return static_cast<std::uint8_t>(get<&layouts::cqe::sl>()); }
  /// Receives of datagrams: the first 40 bytes of the buffer hold a GRH.
  bool has_grh() const { return get<&layouts::cqe_rows::grh>() != 0; }
  /// Receives of QP1: the index of the P_Key that admitted the packet.
  unsigned pkey_index() const { return immediate() & 0x7f; }

  bool is_receive_of(layouts::cqe_opcode o) const {
    return opcode == work_opcode::receive &&
           static_cast<layouts::cqe_opcode>(get<&layouts::cqe_rows::opcode>()) == o;
  }
};
/// A completion that was copied: the caller's own.
using work_completion = completion_of<std::uint64_t[layouts::cqe::bytes / 8]>;
/// A completion whose entry is in the ring until cq::release().
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
