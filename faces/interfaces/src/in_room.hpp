// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The functions that several tables of operations use.
#pragma once

#include <new>

#include <freehca/hca/objects/creation.hpp>
#include <freehca/interfaces/interface.hpp>

namespace freehca::interfaces {

/// Errors: driver_error::bad_state (`in` is not open), ::busy (the operation in the room is not
/// done).
status usable(const verbs& in, const operation_room& room);
/// Destroys an object of any kind that the device knows. The operation itself refuses a null
/// `object` and an object that is in use.
status destroy_in_room(verbs& in, operation_room& room, device_object* object);

/// Constructs an operation in the caller's room, which must be usable. The destructor of the
/// previous operation is not called. That operation has ended, and the leases of its commands are
/// in the object.
template <class Operation>
Operation& place(operation_room& room, const kind* made) {
  static_assert(sizeof(Operation) <= operation_room::most_bytes);
  static_assert(alignof(Operation) <= alignof(operation_room));
  Operation& op = *::new (static_cast<void*>(room.memory)) Operation;
  op.set_deadline(room.deadline);
  room.started = &op;
  room.made = made;
  return op;
}

template <class K>
status create(verbs& in, operation_room& room, const typename K::attributes& attributes) {
  FREEHCA_TRY(usable(in, room));
  place<create_object<K>>(room, &kind_of<K>).start(in, attributes);
  return {};
}
template <class K, const auto& Known>
status create_from(verbs& in, operation_room& room, const attribute_list& list) {
  typename K::attributes attributes;
  FREEHCA_TRY(read(list, Known, attributes));
  return create<K>(in, room, attributes);
}
template <class K>
handle<K> made(const operation_room& room) {
  if (room.started == nullptr || room.made != &kind_of<K>) return {};
  return static_cast<const create_object<K>*>(room.started)->made();
}
template <class K>
status destroy(verbs& in, operation_room& room, handle<K> which) {
  return destroy_in_room(in, room, in.find(which));
}

// For objects that only the driver knows.

template <class K>
status create_now(verbs& in, const typename K::attributes& attributes, handle<K>& to) {
  if (!in.is_open()) return driver_error::bad_state;
  const result<handle<K>> object = in.create<K>(attributes);
  if (!object.ok()) return object.error();
  to = object.value();
  return {};
}
template <class K>
status destroy_now(verbs& in, handle<K> which) {
  if (!in.is_open()) return driver_error::bad_state;
  return in.destroy(which);
}

/// Returns the description of a table that the library offers.
template <class Interface>
constexpr offered_interface offered(const Interface& operations) {
  return {Interface::name, Interface::version, sizeof(Interface), &operations.head};
}

}  // namespace freehca::interfaces
