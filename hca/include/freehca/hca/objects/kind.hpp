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

/// What the device told of an object.
struct object_event {
  enum class family : std::uint8_t {
    completion,  ///< what was armed has something
    cq_error,    ///< `syndrome` says what
    state,       ///< `type` says what
  };
  family what = family::completion;
  layouts::event_type type{};
  layouts::cq_error_syndrome syndrome{};
};

/// What a kind of object says of itself, as its member `facts`.
struct kind_facts {
  const char* name = nullptr;
  /// `where` of driver_error::no_resource when the budget of such objects is used up. Does not
  /// overlap with budget::item and verbs_budget::item.
  std::uint8_t item = 0;
  /// The number space that its numbers come from; null: it has no number.
  number_allocator number_spaces::*numbers = nullptr;
  /// Of an object that the device knows: the tables of context memory that it has entries in.
  context_group group{};
  /// The command that takes such an object back; null: the driver alone knows it.
  command_request (*destroying)(std::uint32_t number) = nullptr;
};

/// Names a kind by its address, without its functions: a program that looks for a handle does not
/// link a kind of which it creates no object.
struct kind_identity {
  const kind_identity* base = nullptr;  ///< of the kind that it can stand in for
};
template <class K>
inline constexpr kind_identity identity_of{&identity_of<typename K::stands_in_for>};
template <>
inline constexpr kind_identity identity_of<void>{};

/// A kind of objects as `verbs` sees it, which names none: what differs between kinds is here. One
/// constant for each kind, kind_of<K>, made from K's facts and from the functions that K has. A
/// null function: the kind has nothing to do there.
struct kind {
  kind_facts facts;
  const kind_identity* identity = nullptr;
  bool is_device_object = false;  ///< derives from device_object
  bool has_rings = false;         ///< derives from queue_object
  std::uint32_t bytes = 0;        ///< of an object in its slab, a multiple of 16
  object_record& (*construct)(std::byte* at) = nullptr;
  void (*destruct)(object_record& object) = nullptr;
  /// Gives back what no other kind has: K::strip(verbs&). It may be called again.
  void (*strip)(verbs& in, object_record& object) = nullptr;
  /// The object goes, or the device was reset, and nothing more is posted: K::suspend(). It is
  /// there from now on, or is there after all because its destruction was refused or cancelled:
  /// K::resume().
  void (*suspend)(object_record& object) = nullptr;
  void (*resume)(object_record& object) = nullptr;
  /// A change was in doubt, and its late answer came: K::settle_change(bool done).
  void (*settle_change)(object_record& object, bool done) = nullptr;
  /// K::notice(verbs&, const object_event&).
  void (*notice)(verbs& in, object_record& object, const object_event& event) = nullptr;
  /// At each verbs::poll(): K::poll(verbs&), the number of things that were done.
  unsigned (*poll)(verbs& in, object_record& object) = nullptr;
  /// Has that something to do, of which no interrupt tells? K::due().
  bool (*due)(const object_record& object) = nullptr;
  /// The device was reset: K::hand_over(verbs&) tells of completions that stand in its ring, and
  /// then K::end_requests(verbs&, status) of the requests that are left.
  void (*hand_over)(verbs& in, object_record& object) = nullptr;
  void (*end_requests)(verbs& in, object_record& object, status why) = nullptr;
};

/// The command that takes an object back, of a family that has no mailbox.
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
  if constexpr (requires(K & o, verbs & v) { o.poll(v); })
    k.poll = [](verbs& v, object_record& o) { return static_cast<K&>(o).poll(v); };
  if constexpr (requires(const K& o) { o.due(); })
    k.due = [](const object_record& o) { return static_cast<const K&>(o).due(); };
  if constexpr (requires(K & o, verbs & v) { o.hand_over(v); })
    k.hand_over = [](verbs& v, object_record& o) { static_cast<K&>(o).hand_over(v); };
  if constexpr (requires(K & o, verbs & v, status s) { o.end_requests(v, s); })
    k.end_requests = [](verbs& v, object_record& o, status s) {
      static_cast<K&>(o).end_requests(v, s);
    };
  return k;
}

}  // namespace freehca
