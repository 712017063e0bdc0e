// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hca/interfaces/common_attributes.hpp>
#include <freehca/hca/interfaces/interface.hpp>

namespace freehca {

/// Attributes of completion queues.
namespace cq {
using common::cookie;
/// Required: at least that many completions fit.
inline constexpr attribute_name<0x0101, std::uint32_t> entries;
/// Whose event queue tells of it (device::completion_context()); 0 unless told.
inline constexpr attribute_name<0x0102, std::uint32_t> completion_context;
}  // namespace cq

/// Where requests complete. A call that takes a room says whether it started an operation:
/// driver_error::bad_state (the verbs object is not open), ::busy (the room's operation is not
/// done), and of a list what read() returns. After an error there is nothing to wait for; else
/// `started` of the room completes, from verbs::poll(), with the outcomes of object_operation. The
/// owner thread of the verbs object calls.
struct completion_queue_interface {
  static constexpr const char* name = "completion_queue";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(completion_queue_interface), sizeof(completion_queue_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// The handle of what create() started in the room has made, once that is done and ok and until
  /// the room is used again; the default handle otherwise.
  cq_handle (*made)(const operation_room& room) = nullptr;
  /// Ends with driver_error::busy while queue pairs complete to it.
  status (*destroy)(verbs& in, operation_room& room, cq_handle which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(completion_queue_interface) == 32 &&
                                     offsetof(completion_queue_interface, create) == 8 &&
                                     offsetof(completion_queue_interface, made) == 16 &&
                                     offsetof(completion_queue_interface, destroy) == 24));

extern const offered_interface completion_queue_offered;

}  // namespace freehca
