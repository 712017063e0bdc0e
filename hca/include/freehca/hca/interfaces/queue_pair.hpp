// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>

#include <freehca/hca/interfaces/common_attributes.hpp>
#include <freehca/hca/interfaces/interface.hpp>
#include <freehca/hca/interfaces/path_attributes.hpp>

namespace freehca {

/// Attributes of queue pairs: for create() the first group; for modify() the others and those of
/// `path`, all of which may be given to each transition (connection_attributes has what they are
/// unless told).
namespace qp {
using common::cookie;
using common::domain;    ///< required
using common::receives;  ///< 0 with `shared`
using common::scatter;
inline constexpr attribute_name<0x0401, cq_handle> send_cq;            ///< required
inline constexpr attribute_name<0x0402, cq_handle> receive_cq;         ///< required
inline constexpr attribute_name<0x0403, layouts::qp_service> service;  ///< rc unless told
/// Requests outstanding at the same time, at least; 0 unless told.
inline constexpr attribute_name<0x0404, std::uint32_t> sends;
/// Where receives come from; a queue of its own unless told.
inline constexpr attribute_name<0x0405, srq_handle> shared;
inline constexpr attribute_name<0x0406, std::uint32_t> gather;  ///< of one request, 1 unless told
inline constexpr attribute_name<0x0407, std::uint32_t> inline_bytes;
inline constexpr attribute_name<0x0408, bool> masked_atomics;  ///< false unless told

// INIT
inline constexpr attribute_name<0x0601, std::uint16_t> pkey_index;
inline constexpr attribute_name<0x0602, bool> remote_read;
inline constexpr attribute_name<0x0603, bool> remote_write;
inline constexpr attribute_name<0x0604, bool> remote_atomic;
inline constexpr attribute_name<0x0605, std::uint32_t> qkey;
// RTR
inline constexpr attribute_name<0x0606, layouts::ib_mtu> path_mtu;
inline constexpr attribute_name<0x0607, std::uint8_t> min_rnr_timer;
inline constexpr attribute_name<0x0608, std::uint32_t> remote_qpn;
inline constexpr attribute_name<0x0609, std::uint32_t> receive_psn;
inline constexpr attribute_name<0x060a, std::uint32_t> reads_as_responder;
// RTS
inline constexpr attribute_name<0x060b, std::uint32_t> send_psn;
inline constexpr attribute_name<0x060c, std::uint32_t> reads_as_requester;
inline constexpr attribute_name<0x060d, std::uint8_t> retry_count;
inline constexpr attribute_name<0x060e, std::uint8_t> rnr_retry;
inline constexpr attribute_name<0x060f, std::uint8_t> ack_timeout;
inline constexpr attribute_name<0x0610, std::uint8_t> log_ack_request;
}  // namespace qp

/// Queue pairs. A call that takes a room says whether it started an operation:
/// driver_error::bad_state (the verbs object is not open), ::busy (the room's operation is not
/// done), and of a list what read() returns. After an error there is nothing to wait for; else
/// `started` of the room completes, from verbs::poll(), with the outcomes of object_operation. The
/// owner thread of the verbs object calls.
struct queue_pair_interface {
  static constexpr const char* name = "queue_pair";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(queue_pair_interface), sizeof(queue_pair_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// The handle of what create() started in the room has made, once that is done and ok and until
  /// the room is used again; the default handle otherwise.
  qp_handle (*made)(const operation_room& room) = nullptr;
  /// Completions that nobody has polled are dropped.
  status (*destroy)(verbs& in, operation_room& room, qp_handle which) = nullptr;
  /// Its QPN; 0 for a stale handle.
  std::uint32_t (*number)(const verbs& in, qp_handle which) = nullptr;
  /// Moves it to INIT, RTR, RTS, ERROR or RESET. All attributes are read, and those that the
  /// transition has no use for are ignored. Ends with driver_error::bad_state: no such transition
  /// from where it is.
  status (*modify)(verbs& in, operation_room& room, qp_handle which, layouts::qp_state to,
                   const attribute_list& attributes) = nullptr;
};
static_assert(sizeof(void*) != 8 ||
              (sizeof(queue_pair_interface) == 48 && offsetof(queue_pair_interface, create) == 8 &&
               offsetof(queue_pair_interface, made) == 16 &&
               offsetof(queue_pair_interface, destroy) == 24 &&
               offsetof(queue_pair_interface, number) == 32 &&
               offsetof(queue_pair_interface, modify) == 40));

extern const offered_interface queue_pair_offered;

}  // namespace freehca
