// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <freehca/firmware_cmds/command.hpp>
#include <freehca/hal/status.hpp>
#include <freehca/layouts/eqe.hpp>

#include <freehca/hca/context_layout.hpp>
#include <freehca/hca/numbers.hpp>

namespace freehca {

class verbs;
struct object_record;
struct device_object;
struct queue_object;

/// An event of the device about one object.
struct object_event {
  enum class family : std::uint8_t {
    completion,  ///< the armed completion queue has a completion
    cq_error,    ///< an error of a completion queue; `syndrome` is the reason
    state,       ///< an event of a queue pair or an SRQ; `type` is the event type
  };
  family what = family::completion;
  layouts::event_type type{};
  layouts::cq_error_syndrome syndrome{};
};

/// The constants of a kind: its static member `facts`.
struct kind_facts {
  const char* name = nullptr;
  /// `where` of driver_error::no_resource if all objects of the kind in the budget are taken, and
  /// of driver_error::unsupported if the budget does not name the kind. The value does not occur in
  /// budget::item and verbs_budget::item.
  std::uint8_t item = 0;
  /// The number space of the kind. Null if objects of the kind have no number.
  number_allocator number_spaces::*numbers = nullptr;
  /// The tables of context memory in which an object has entries. Valid if the device knows the
  /// objects of the kind.
  context_group group{};
  /// Builds the command that destroys the object with this number. Null if no command creates the
  /// objects of the kind.
  command_request (*destroying)(std::uint32_t number) = nullptr;
};

/// The constants of a kind that stands in for another one, or is made like it.
consteval kind_facts facts_like(kind_facts other, const char* name, std::uint8_t item) {
  other.name = name;
  other.item = item;
  return other;
}

/// A tag of a kind. Each kind has one tag, and tags are compared by their addresses. A tag does not
/// refer to the functions of its kind. A lookup by handle, which compares tags, therefore links no
/// kind of which the program creates no object.
struct kind_identity {
  /// The kind that this kind can stand in for. Null only for `void`.
  const kind_identity* base = nullptr;
};
template <class K>
inline constexpr kind_identity identity_of{&identity_of<typename K::stands_in_for>};
template <>
inline constexpr kind_identity identity_of<void>{};

/// The table through which `verbs` uses the objects of a kind. `verbs` itself does not name any
/// kind. Each kind has one constant, kind_of<K>. It is made from K::facts and from the member
/// functions of K. If K does not have a function, the pointer to that function is null.
struct kind {
  kind_facts facts;
  const kind_identity* identity = nullptr;
  bool is_device_object = false;  ///< derives from device_object
  bool has_rings = false;         ///< derives from queue_object
  std::uint32_t bytes = 0;        ///< size of an object in its slab, a multiple of 16
  object_record& (*construct)(std::byte* at) = nullptr;
  void (*destruct)(object_record& object) = nullptr;
  /// K::strip(verbs&) gives back the resources that only this kind has. It may be called more than
  /// once. Each kind with rings has it, and closes the rings.
  void (*strip)(verbs& in, object_record& object) = nullptr;
  /// K::suspend() stops posts to the object. It is called before the object is destroyed and when
  /// the device is reset. K::resume() permits posts again. It is called when the object is live for
  /// the first time, when its destruction was refused or cancelled, and when a late answer has
  /// settled a change.
  void (*suspend)(object_record& object) = nullptr;
  void (*resume)(object_record& object) = nullptr;
  /// K::settle_change(bool done) is called when the late answer to a change arrives. `done` is true
  /// if the firmware made the change.
  void (*settle_change)(object_record& object, bool done) = nullptr;
  /// K::notice(verbs&, const object_event&) handles an event of the device.
  void (*notice)(verbs& in, object_record& object, const object_event& event) = nullptr;
  /// K::poll(verbs&) is called inside each verbs::poll() for each live object. It returns the
  /// number of items that it handled.
  unsigned (*poll)(verbs& in, object_record& object) = nullptr;
  /// K::due() returns true if K::poll() has work that no interrupt reports. A kind with poll() has
  /// due() too.
  bool (*due)(const object_record& object) = nullptr;
  /// Both are called after the device was reset. K::hand_over(verbs&) reports the completions that
  /// are in the ring of the object. K::end_requests(verbs&, status) then reports the requests that
  /// are left.
  void (*hand_over)(verbs& in, object_record& object) = nullptr;
  void (*end_requests)(verbs& in, object_record& object, status why) = nullptr;
};

/// Builds the command that destroys an object. `Family` is a command without a mailbox.
template <class Family>
inline constexpr auto taking_back = [](std::uint32_t number) {
  command_request r;
  r.opcode = Family::code;
  Family::aim(r, number);
  return r;
};

template <class K>
consteval kind described();

template <class K>
inline constexpr kind kind_of = described<K>();

template <class K>
consteval kind described() {
  static_assert(alignof(K) <= 16 && std::derived_from<K, object_record>);
  kind k;
  k.facts = K::facts;
  k.identity = &identity_of<K>;
  k.is_device_object = std::derived_from<K, device_object>;
  k.has_rings = std::derived_from<K, queue_object>;
  k.bytes = (sizeof(K) + 15) / 16 * 16;
  k.construct = [](std::byte* at) -> object_record& { return *::new (static_cast<void*>(at)) K; };
  k.destruct = [](object_record& o) { static_cast<K&>(o).~K(); };
  if constexpr (requires(K & o, verbs & v) { o.strip(v); })
    k.strip = [](verbs& v, object_record& o) { static_cast<K&>(o).strip(v); };
  if constexpr (requires(K & o) { o.suspend(); })
    k.suspend = [](object_record& o) { static_cast<K&>(o).suspend(); };
  if constexpr (requires(K & o) { o.resume(); })
    k.resume = [](object_record& o) { static_cast<K&>(o).resume(); };
  if constexpr (requires(K & o) { o.settle_change(true); })
    k.settle_change = [](object_record& o, bool done) { static_cast<K&>(o).settle_change(done); };
  if constexpr (requires(K & o, verbs & v, const object_event& e) { o.notice(v, e); })
    k.notice = [](verbs& v, object_record& o, const object_event& e) {
      static_cast<K&>(o).notice(v, e);
    };
  if constexpr (requires(K & o, verbs & v) { o.poll(v); }) {
    k.poll = [](verbs& v, object_record& o) { return static_cast<K&>(o).poll(v); };
    k.due = [](const object_record& o) { return static_cast<const K&>(o).due(); };
  }
  if constexpr (requires(K & o, verbs & v) { o.hand_over(v); })
    k.hand_over = [](verbs& v, object_record& o) { static_cast<K&>(o).hand_over(v); };
  if constexpr (requires(K & o, verbs & v, status s) { o.end_requests(v, s); })
    k.end_requests = [](verbs& v, object_record& o, status s) {
      static_cast<K&>(o).end_requests(v, s);
    };
  return k;
}

}  // namespace freehca
