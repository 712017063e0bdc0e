// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/interfaces/common_attributes.hpp>
#include <freehca/interfaces/interface.hpp>

namespace freehca {

/// The attributes of memory regions. The memory is given in one of three ways: by the addresses of
/// its pages, by its device address if it is contiguous for the device, or by a pointer of the
/// program.
namespace mr {
using common::domain;  ///< required
/// One device address for each page, aligned to the page. The caller keeps the array until the
/// operation is done.
inline constexpr attribute_name<0x0201, const std::uint64_t*> page_addresses;
/// The device address of the first byte.
inline constexpr attribute_name<0x0202, std::uint64_t> device_address;
/// Required: the size of the region. The memory must exist until the region is destroyed.
inline constexpr attribute_name<0x0203, std::uint64_t> bytes;
/// The offset of the region in its first page. Used with `page_addresses`. Default: 0.
inline constexpr attribute_name<0x0204, std::uint32_t> first_offset;
/// log2 of the page size in bytes. Default: 12.
inline constexpr attribute_name<0x0205, std::uint32_t> log_page_bytes;
/// The address of the first byte in data entries (memory_region_attributes).
inline constexpr attribute_name<0x0206, std::uint64_t> virtual_address;
// The permitted accesses. Default: false. Local reads are always permitted.
inline constexpr attribute_name<0x0207, bool> local_write;
inline constexpr attribute_name<0x0208, bool> remote_read;
inline constexpr attribute_name<0x0209, bool> remote_write;   ///< needs local_write
inline constexpr attribute_name<0x020a, bool> remote_atomic;  ///< needs local_write
/// Memory of the program (memory_region_attributes::memory). Excludes `virtual_address`.
inline constexpr attribute_name<0x020b, std::byte*> memory;
}  // namespace mr

/// Memory regions. Each call with a room returns whether it has started an operation. Errors:
/// driver_error::bad_state (the verbs object is not open), ::busy (the operation in the room is not
/// done), and for an attribute list the errors of read(). After an error, no operation is under way
/// in the room because of the call. Otherwise `started` of the room completes inside verbs::poll(),
/// with the outcomes of object_operation. All calls are made on the owner thread of the verbs
/// object.
struct memory_region_interface {
  static constexpr const char* name = "memory_region";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(memory_region_interface), sizeof(memory_region_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// Returns the handle of the object that the last create() in the room has created. Valid once
  /// that operation is done with the outcome ok, until the room is used again. Otherwise returns
  /// the default handle.
  mr_handle (*made)(const operation_room& room) = nullptr;
  /// The keys of the region are invalid once the operation is done with the outcome ok.
  status (*destroy)(verbs& in, operation_room& room, mr_handle which) = nullptr;
  /// Returns the local and remote key, which are one number, or 0 for a stale handle.
  std::uint32_t (*key)(const verbs& in, mr_handle which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(memory_region_interface) == 40 &&
                                     offsetof(memory_region_interface, create) == 8 &&
                                     offsetof(memory_region_interface, made) == 16 &&
                                     offsetof(memory_region_interface, destroy) == 24 &&
                                     offsetof(memory_region_interface, key) == 32));

extern const offered_interface memory_region_offered;

}  // namespace freehca
