// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/layouts/ib_types.hpp>
#include <freehca/layouts/qpc.hpp>

#include <freehca/interfaces/common_attributes.hpp>
#include <freehca/interfaces/interface.hpp>
#include <freehca/interfaces/path_attributes.hpp>

namespace freehca {

/// The attributes of queue pairs. create() takes the first group. modify() takes the other groups
/// and the attributes of `path`. All of them may be given to each transition. The defaults of the
/// attributes of modify() are in connection_attributes.
namespace qp {
using common::cookie;
using common::domain;    ///< required
using common::receives;  ///< 0 with `shared`
using common::scatter;
inline constexpr attribute_name<0x0401, cq_handle> send_cq;            ///< required
inline constexpr attribute_name<0x0402, cq_handle> receive_cq;         ///< required
inline constexpr attribute_name<0x0403, layouts::qp_service> service;  ///< default: rc
/// Send requests outstanding at the same time, at least. Default: 0.
inline constexpr attribute_name<0x0404, std::uint32_t> sends;
/// The SRQ. Default: the queue pair has its own receive queue.
inline constexpr attribute_name<0x0405, srq_handle> shared;
inline constexpr attribute_name<0x0406, std::uint32_t> gather;  ///< of one request; default: 1
inline constexpr attribute_name<0x0407, std::uint32_t> inline_bytes;
inline constexpr attribute_name<0x0408, bool> masked_atomics;  ///< default: false

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

/// Queue pairs. Each call with a room returns whether it has started an operation. Errors:
/// driver_error::bad_state (the verbs object is not open), ::busy (the operation in the room is not
/// done), and for an attribute list the errors of read(). After an error, no operation is under way
/// in the room because of the call. Otherwise `started` of the room completes inside verbs::poll(),
/// with the outcomes of object_operation. All calls are made on the owner thread of the verbs
/// object.
struct queue_pair_interface {
  static constexpr const char* name = "queue_pair";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(queue_pair_interface), sizeof(queue_pair_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// Returns the handle of the object that the last create() in the room has created. Valid once
  /// that operation is done with the outcome ok, until the room is used again. Otherwise returns
  /// the default handle.
  qp_handle (*made)(const operation_room& room) = nullptr;
  /// Completions that were not polled are dropped.
  status (*destroy)(verbs& in, operation_room& room, qp_handle which) = nullptr;
  /// Returns the QPN, or 0 for a stale handle.
  std::uint32_t (*number)(const verbs& in, qp_handle which) = nullptr;
  /// Moves the queue pair to INIT, RTR, RTS, ERROR or RESET. All attributes in the list are read. A
  /// transition ignores the attributes that it does not use. The operation fails with
  /// driver_error::bad_state if there is no such transition from the present state.
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
