// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <freehca/hca/interfaces/common_attributes.hpp>
#include <freehca/hca/interfaces/interface.hpp>

namespace freehca {

/// Attributes of shared receive queues.
namespace srq {
using common::cookie;
using common::domain;    ///< required
using common::receives;  ///< required
using common::scatter;
}  // namespace srq

/// Receives that several queue pairs take from. A call that takes a room says whether it started
/// an operation: driver_error::bad_state (the verbs object is not open), ::busy (the room's
/// operation is not done), and of a list what read() returns. After an error there is nothing to
/// wait for; else `started` of the room completes, from verbs::poll(), with the outcomes of
/// object_operation. The owner thread of the verbs object calls.
struct shared_receive_queue_interface {
  static constexpr const char* name = "shared_receive_queue";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(shared_receive_queue_interface),
                      sizeof(shared_receive_queue_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// The handle of what create() started in the room has made, once that is done and ok and until
  /// the room is used again; the default handle otherwise.
  srq_handle (*made)(const operation_room& room) = nullptr;
  /// Ends with driver_error::busy while queue pairs take from it. Receives that are posted are
  /// forgotten.
  status (*destroy)(verbs& in, operation_room& room, srq_handle which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(shared_receive_queue_interface) == 32 &&
                                     offsetof(shared_receive_queue_interface, create) == 8 &&
                                     offsetof(shared_receive_queue_interface, made) == 16 &&
                                     offsetof(shared_receive_queue_interface, destroy) == 24));

extern const offered_interface shared_receive_queue_offered;

}  // namespace freehca
