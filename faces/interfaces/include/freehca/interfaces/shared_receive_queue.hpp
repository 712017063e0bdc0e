// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/interfaces/common_attributes.hpp>
#include <freehca/interfaces/interface.hpp>

namespace freehca {

/// The attributes of shared receive queues.
namespace srq {
using common::cookie;
using common::domain;    ///< required
using common::receives;  ///< required
using common::scatter;
}  // namespace srq

/// Shared receive queues. Each call with a room returns whether it has started an operation.
/// Errors: driver_error::bad_state (the verbs object is not open), ::busy (the operation in the
/// room is not done), and for an attribute list the errors of read(). After an error, no operation
/// is under way in the room because of the call. Otherwise `started` of the room completes inside
/// verbs::poll(), with the outcomes of object_operation. All calls are made on the owner thread of
/// the verbs object.
struct shared_receive_queue_interface {
  static constexpr const char* name = "shared_receive_queue";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(shared_receive_queue_interface),
                      sizeof(shared_receive_queue_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// Returns the handle of the object that the last create() in the room has created. Valid once
  /// that operation is done with the outcome ok, until the room is used again. Otherwise returns
  /// the default handle.
  srq_handle (*made)(const operation_room& room) = nullptr;
  /// The operation fails with driver_error::busy while a queue pair refers to the queue. Posted
  /// receives are dropped without a completion.
  status (*destroy)(verbs& in, operation_room& room, srq_handle which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(shared_receive_queue_interface) == 32 &&
                                     offsetof(shared_receive_queue_interface, create) == 8 &&
                                     offsetof(shared_receive_queue_interface, made) == 16 &&
                                     offsetof(shared_receive_queue_interface, destroy) == 24));

extern const offered_interface shared_receive_queue_offered;

}  // namespace freehca
