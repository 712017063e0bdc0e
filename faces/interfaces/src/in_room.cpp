// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "in_room.hpp"

namespace freehca::interfaces {

namespace {

/// Like destroy_object<K>, for any K.
class destruction : public object_operation {
 public:
  void start(verbs& owner, device_object* object) { start_destruction(owner, object); }
};

}  // namespace

status usable(const verbs& in, const operation_room& room) {
  if (!in.is_open()) return driver_error::bad_state;
  if (room.started != nullptr && !room.started->done()) return driver_error::busy;
  return {};
}

status destroy_in_room(verbs& in, operation_room& room, device_object* object) {
  FREEHCA_TRY(usable(in, room));
  place<destruction>(room, nullptr).start(in, object);
  return {};
}

}  // namespace freehca::interfaces
