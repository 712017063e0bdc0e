// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Tables of operations that are asked for by name and version: for callers that were compiled apart
// from this library, against an older or a newer one. Who compiles both together has no use for
// them: the kinds of objects themselves say less and check more at compile time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <freehca/hal/attributes.hpp>
#include <freehca/hal/operation.hpp>
#include <freehca/hal/status.hpp>

#include <freehca/hca/objects/handle.hpp>

namespace freehca {

class verbs;

/// Stands in front of every table of operations. What follows are pointers to functions, and
/// nothing else; a newer library appends, and changes none of them.
struct interface_head {
  /// Of the table, this head included. After query_interface(): as much of it as both know, what is
  /// behind is null.
  std::uint32_t bytes = 0;
  /// How much of the table, from its beginning, the caller cannot do without.
  std::uint32_t needed = 0;
};
static_assert(sizeof(interface_head) == 8 && std::is_trivially_copyable_v<interface_head>);

/// A table that a library offers. `operations` points to one of `bytes` bytes.
struct offered_interface {
  const char* name = nullptr;
  std::uint32_t version = 0;
  std::uint32_t bytes = 0;
  const interface_head* operations = nullptr;
};

/// `where` of driver_error::unsupported, when an interface is asked for that is not there. Anything
/// else is the offset in the table of an operation that is needed and missing.
struct interface_lack {
  static constexpr unsigned name = 1;     ///< there is none of the name
  static constexpr unsigned version = 2;  ///< there is, but not of the version
};

/// Fills in the caller's table of `bytes` bytes, whose head says what is needed: what both know is
/// copied, the rest is null. driver_error::unsupported (interface_lack), ::bad_argument (no name,
/// no table, a size without the head or that is no whole number of pointers behind it, more needed
/// than there is). The table is untouched after an error. Any thread may call it, at any time.
status query_interface(const char* name, std::uint32_t version, interface_head* table,
                       std::uint32_t bytes);
/// The same among `count` tables of the caller's choice: a program that names its own list links
/// these alone.
status find_interface(const offered_interface* const* among, std::size_t count, const char* name,
                      std::uint32_t version, interface_head* table, std::uint32_t bytes);
template <std::size_t N>
status find_interface(const offered_interface* const (&among)[N], const char* name,
                      std::uint32_t version, interface_head* table, std::uint32_t bytes) {
  return find_interface(among, N, name, version, table, bytes);
}

/// The same for one of the tables of this folder. It needs all of its operations, unless the caller
/// has put less into head.needed.
template <class Interface>
requires std::same_as<decltype(Interface::head), interface_head> status
query_interface(Interface& table) {
  static_assert(std::is_standard_layout_v<Interface> && sizeof(Interface) <= 0xffff);
  return query_interface(Interface::name, Interface::version, &table.head, sizeof(Interface));
}

/// Memory of the caller's for one operation of an interface at a time: of its verbs object from the
/// call that starts it until the operation is done, when the room may be used again, also from
/// inside the operation's callback. It is where it is until then. Its size is of version 1 of all
/// interfaces: a library whose operations need more has a version 2.
struct alignas(16) operation_room {
  static constexpr std::size_t most_bytes = 1504;

  /// What was started last, for whoever awaits or cancels it; null: nothing was.
  operation* started = nullptr;
  /// What operation::set_deadline() takes, for what is started next.
  std::uint64_t deadline = operation::no_deadline;
  /// The library's: of which kind the object is that `started` makes.
  const void* made = nullptr;
  std::uint64_t reserved = 0;
  std::byte memory[most_bytes];

  operation_room() {}  // leaves `memory` as it is
  /// An operation under way is detached, as one that is destroyed.
  ~operation_room() {
    if (started != nullptr) started->drop();
  }
  operation_room(const operation_room&) = delete;
  operation_room& operator=(const operation_room&) = delete;
};
static_assert(sizeof(void*) != 8 || sizeof(operation_room) == 1536);

}  // namespace freehca
