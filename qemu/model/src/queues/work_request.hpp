// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/wqe.hpp>

#include "basis/rule_book.hpp"
#include "queues/send_opcodes.hpp"
#include "saving/fields.hpp"
#include "tables/data_list.hpp"

namespace freehca::model {

/// Why a work request ends in error: what its completion says.
struct failure {
  layouts::cqe_syndrome syndrome;
  std::uint8_t vendor = 0;

  using saved = saving::fields<saving::any_value(&failure::syndrome), &failure::vendor>;
};

/// The failures that real cards were seen with keep their vendor byte (captures). For the others:
/// no source, chosen: the vendor byte of protection errors at the transmitter wherever memory
/// refused, and 0 where nothing was seen.
namespace failures {
inline constexpr failure local_length{layouts::cqe_syndrome::local_length,
                                      layouts::vendor_syndrome::length_requester};
inline constexpr failure local_qp_operation{layouts::cqe_syndrome::local_qp_op,
                                            layouts::vendor_syndrome::qp_op_requester};
inline constexpr failure local_protection{layouts::cqe_syndrome::local_protection,
                                          layouts::vendor_syndrome::protection_transmit};
inline constexpr failure flush_send{layouts::cqe_syndrome::wr_flush,
                                    layouts::vendor_syndrome::flush_receive};
inline constexpr failure flush_receive{layouts::cqe_syndrome::wr_flush,
                                       layouts::vendor_syndrome::flush_receive};
inline constexpr failure memory_management{layouts::cqe_syndrome::mw_bind, 0};
inline constexpr failure bad_response{layouts::cqe_syndrome::bad_response, 0};
inline constexpr failure remote_invalid_request{layouts::cqe_syndrome::remote_invalid_request,
                                                layouts::vendor_syndrome::remote_invalid_request};
inline constexpr failure remote_access{layouts::cqe_syndrome::remote_access,
                                       layouts::vendor_syndrome::remote_access};
inline constexpr failure remote_operation{layouts::cqe_syndrome::remote_op, 0};
inline constexpr failure retry_exceeded{layouts::cqe_syndrome::transport_retry_exceeded,
                                        layouts::vendor_syndrome::retry_exceeded};
inline constexpr failure rnr_retry_exceeded{layouts::cqe_syndrome::rnr_retry_exceeded,
                                            layouts::vendor_syndrome::rnr_retry_exceeded};
}  // namespace failures

/// What an LSO segment says: the data become frames, or datagrams, of `mss` bytes each, behind this
/// header.
struct large_send {
  std::uint32_t mss = 0;
  std::vector<std::byte> header;

  using saved = saving::fields<&large_send::mss, &large_send::header>;
  const char* broken_invariant() const;
};

/// A WQE of a send queue, taken apart, and how far its execution has come.
struct send_request {
  std::uint16_t index = 0;   ///< the queue's WQE counter at this WQE: what the completion reports
  std::uint16_t blocks = 1;  ///< entries of the queue that it fills
  layouts::wqe_opcode opcode = layouts::wqe_opcode::nop;
  const send_opcode* row = nullptr;  ///< of the opcode; null: no adapter has it
  bool signaled = false, solicited = false, fence = false, strong_order = false,
       force_loopback = false, no_error_completion = false;
  bool ip_checksum = false, l4_checksum = false;  ///< UD: to be put in
  std::uint16_t bytes = 0;                        ///< of the WQE; 0: it made no sense
  std::uint64_t digest = 0;                       ///< of those bytes, as they were fetched
  std::uint64_t turn = 0;                         ///< the turn of work in which they were
  std::uint32_t immediate = 0;    ///< or the R_Key to invalidate, at the peer or here
  std::uint32_t remote_srqn = 0;  ///< XRC
  std::uint32_t rkey = 0;
  std::uint64_t remote_address = 0;
  std::uint64_t swap_add = 0,
                compare = 0;  ///< masked fetch and add: compare is the mask of field boundaries
  std::uint64_t swap_mask = 0, compare_mask = 0;   ///< masked compare and swap
  layouts::image<layouts::wqe_datagram> datagram;  ///< UD
  layouts::image<layouts::wqe_ctrl_mlx> mlx;       ///< MLX
  std::unique_ptr<large_send> large;               ///< LSO
  layouts::image<layouts::wqe_bind> binding;
  layouts::image<layouts::wqe_fast_register> registration;
  data_list data;
  std::optional<failure>
      wrong;  ///< found in the WQE or while sending; completes when all before it have
  std::unique_ptr<rule_book::reason> why;  ///< of `wrong`

  /// It ends in error: with what the rule book was last told as its reason.
  void blame(failure f, rule_book& rules) {
    wrong = f;
    why = std::make_unique<rule_book::reason>(rules.take_reason());
  }

  std::size_t copied = 0;  ///< fast registration: bytes of its page list
  bool started = false;    ///< has its packet sequence numbers
  bool asked = false;      ///< reads and atomics: has been sent once at least
  bool done = false;       ///< acknowledged, or needs no acknowledgement
  std::uint32_t first_psn = 0;
  std::uint32_t psns = 1;  ///< packets of the message; for reads, of the response
  std::uint32_t next_packet =
      0;  ///< packets sent since it was (last) begun (reads and atomics: 0 or 1)
  std::uint32_t responses = 0;   ///< reads: response packets received
  std::uint32_t asked_from = 0;  ///< reads: how many those were when it was (last) asked

  send_effect effect() const { return row == nullptr ? send_effect::nothing : row->effect; }
  /// The same control segment on raw Ethernet.
  layouts::image<layouts::wqe_ctrl_ethernet> ethernet() const {
    return layouts::image<layouts::wqe_ctrl_ethernet>::from_bytes(mlx.data());
  }
  bool is_read() const { return effect() == send_effect::read; }
  bool is_atomic() const { return effect() == send_effect::atomic; }
  /// Is the answer more than an acknowledgement?
  bool expects_response() const { return is_read() || is_atomic(); }
  /// Does it stay within the adapter?
  bool is_local() const { return row != nullptr && row->is_local(); }
  bool manages_memory() const { return effect() == send_effect::manages_memory; }
  std::uint32_t packets() const { return expects_response() ? 1 : psns; }
  /// Of LSO: how many frames, or datagrams, it becomes.
  std::uint32_t segments() const {
    const std::uint64_t n = (data.size() + large->mss - 1) / large->mss;
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, n));
  }

  using saved =
      saving::fields<&send_request::index, &send_request::blocks,
                     saving::up_to(&send_request::opcode, layouts::wqe_opcode::config_cmd),
                     &send_request::signaled, &send_request::solicited, &send_request::fence,
                     &send_request::strong_order, &send_request::force_loopback,
                     &send_request::no_error_completion, &send_request::ip_checksum,
                     &send_request::l4_checksum, &send_request::bytes, &send_request::digest,
                     &send_request::turn, &send_request::immediate, &send_request::remote_srqn,
                     &send_request::rkey, &send_request::remote_address, &send_request::swap_add,
                     &send_request::compare, &send_request::swap_mask, &send_request::compare_mask,
                     &send_request::datagram, &send_request::mlx, &send_request::large,
                     &send_request::binding, &send_request::registration, &send_request::data,
                     &send_request::wrong, &send_request::why, &send_request::copied,
                     &send_request::started, &send_request::asked, &send_request::done,
                     &send_request::first_psn, &send_request::psns, &send_request::next_packet,
                     &send_request::responses, &send_request::asked_from>;
  static constexpr saving::unsaved_member unsaved[] = {{"row", "the row of the opcode"}};
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer_members(archive, *this);
    if constexpr (Archive::loads) row = send_opcode_of(opcode);
  }
  const char* broken_invariant() const;
};

/// A WQE of a receive queue or a shared receive queue, taken.
struct receive_request {
  std::uint16_t index = 0;  ///< what the completion reports
  bool shared = false;
  std::uint32_t srqn = 0;
  data_list data;
  data_owner owner;  ///< the queue pair's domain, or the shared queue's

  using saved =
      saving::fields<&receive_request::index, &receive_request::shared, &receive_request::srqn,
                     &receive_request::data, &receive_request::owner>;
  const char* broken_invariant() const;
};

}  // namespace freehca::model
