// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Tables of operations that a program requests by name and version. They are for callers that were
// compiled separately from this library, against an older or a newer version of it. A program that
// is compiled together with the library does not need them. It uses the kinds of objects
// themselves, which need less code and check more at compile time.
#pragma once

#include <freehca/hal/operation.hpp>
#include <freehca/interfaces/attributes.hpp>

#include <freehca/hca/objects/handle.hpp>

namespace freehca {

class verbs;

/// The head of every table of operations. After the head, the table has pointers to functions and
/// nothing else. A newer library appends pointers and does not change the existing ones.
struct interface_head {
  /// The size of the table with this head. After query_interface(): the size of the part that
  /// caller and library both know. The pointers after that part are null.
  std::uint32_t bytes = 0;
  /// The size of the part of the table, from its beginning, that the caller needs.
  std::uint32_t needed = 0;
};
static_assert(sizeof(interface_head) == 8 && std::is_trivially_copyable_v<interface_head>);

/// A table that a library offers. `operations` points to a table of `bytes` bytes.
struct offered_interface {
  const char* name = nullptr;
  std::uint32_t version = 0;
  std::uint32_t bytes = 0;
  const interface_head* operations = nullptr;
};

/// `where` of driver_error::unsupported if a requested interface does not exist. Any other value is
/// the offset in the table of an operation that is needed and missing.
struct interface_lack {
  static constexpr unsigned name = 1;     ///< no interface has the name
  static constexpr unsigned version = 2;  ///< an interface has the name, but not the version
};

/// Fills in the caller's table of `bytes` bytes. The head of the table has the size that the caller
/// needs. The pointers that caller and library both know are copied; the others are null. Errors:
/// driver_error::unsupported (interface_lack), ::bad_argument (no name, no table, a size smaller
/// than the head, a size after the head that is not a multiple of a pointer's, or a needed size
/// above `bytes`). After an error, the table is unchanged. Any thread may call the function at any
/// time.
status query_interface(const char* name, std::uint32_t version, interface_head* table,
                       std::uint32_t bytes);
/// Like query_interface(), but searches only the `count` interface tables that the caller names.
/// With --gc-sections, the program then links no other interface table.
status find_interface(const offered_interface* const* among, std::size_t count, const char* name,
                      std::uint32_t version, interface_head* table, std::uint32_t bytes);
template <std::size_t N>
status find_interface(const offered_interface* const (&among)[N], const char* name,
                      std::uint32_t version, interface_head* table, std::uint32_t bytes) {
  return find_interface(among, N, name, version, table, bytes);
}

/// The same for a table of this folder. All operations of the table are needed, unless the caller
/// has set a smaller head.needed.
template <class Interface>
status query_interface(Interface& table) {
  static_assert(std::is_same_v<decltype(table.head), interface_head>);
  static_assert(std::is_standard_layout_v<Interface> && sizeof(Interface) <= 0xffff);
  return query_interface(Interface::name, Interface::version, &table.head, sizeof(Interface));
}

/// Memory of the caller for one operation of an interface at a time. The verbs object uses the room
/// from the call that starts the operation until the operation is done. Then the room may be used
/// again, also inside the callback of the operation. The room must not be moved while it is in use.
/// The size of the room belongs to version 1 of all interfaces. If the operations of a library need
/// a larger room, the library has a version 2.
struct alignas(16) operation_room {
  static constexpr std::size_t most_bytes = 1504;

  /// The operation that was started last. The caller awaits or cancels it. Null if none was
  /// started.
  operation* started = nullptr;
  /// The deadline of the operation that is started next, as in operation::set_deadline().
  std::uint64_t deadline = operation::no_deadline;
  /// Used by the library: the kind of the object that `started` creates.
  const void* made = nullptr;
  std::uint64_t reserved = 0;
  std::byte memory[most_bytes];

  operation_room() {}  // leaves `memory` uninitialized
  /// If an operation is under way, it is detached, as if it were destroyed.
  ~operation_room() {
    if (started != nullptr) started->drop();
  }
  operation_room(const operation_room&) = delete;
  operation_room& operator=(const operation_room&) = delete;
};
static_assert(sizeof(void*) != 8 || sizeof(operation_room) == 1536);

}  // namespace freehca
