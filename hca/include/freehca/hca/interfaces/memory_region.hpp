// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hca/interfaces/common_attributes.hpp>
#include <freehca/hca/interfaces/interface.hpp>

namespace freehca {

/// Attributes of memory regions. One of three gives the memory: the addresses of its pages, its own
/// device address where it is contiguous for the device, or a pointer of the program.
namespace mr {
using common::domain;  ///< required
/// One device address for each page, aligned to the page. The array is the caller's, and stays
/// until the operation is done.
inline constexpr attribute_name<0x0201, const std::uint64_t*> page_addresses;
/// Of the first byte.
inline constexpr attribute_name<0x0202, std::uint64_t> device_address;
/// Required: of the region. The memory stays until the region is destroyed.
inline constexpr attribute_name<0x0203, std::uint64_t> bytes;
/// Of the region in its first page, with `page_addresses`; 0 unless told.
inline constexpr attribute_name<0x0204, std::uint32_t> first_offset;
/// log2 of the bytes of a page, 12 unless told.
inline constexpr attribute_name<0x0205, std::uint32_t> log_page_bytes;
/// How data entries count addresses: of the first byte (memory_region_attributes).
inline constexpr attribute_name<0x0206, std::uint64_t> virtual_address;
// What it may be used for, besides being read locally: false unless told.
inline constexpr attribute_name<0x0207, bool> local_write;
inline constexpr attribute_name<0x0208, bool> remote_read;
inline constexpr attribute_name<0x0209, bool> remote_write;   ///< needs local_write
inline constexpr attribute_name<0x020a, bool> remote_atomic;  ///< needs local_write
/// Memory of the program, without `virtual_address` (memory_region_attributes::memory).
inline constexpr attribute_name<0x020b, std::byte*> memory;
}  // namespace mr

/// Memory that the device may use. A call that takes a room says whether it started an operation:
/// driver_error::bad_state (the verbs object is not open), ::busy (the room's operation is not
/// done), and of a list what read() returns. After an error there is nothing to wait for; else
/// `started` of the room completes, from verbs::poll(), with the outcomes of object_operation. The
/// owner thread of the verbs object calls.
struct memory_region_interface {
  static constexpr const char* name = "memory_region";
  static constexpr std::uint32_t version = 1;

  interface_head head{sizeof(memory_region_interface), sizeof(memory_region_interface)};

  status (*create)(verbs& in, operation_room& room, const attribute_list& attributes) = nullptr;
  /// The handle of what create() started in the room has made, once that is done and ok and until
  /// the room is used again; the default handle otherwise.
  mr_handle (*made)(const operation_room& room) = nullptr;
  /// Its keys are dead once this is done and ok.
  status (*destroy)(verbs& in, operation_room& room, mr_handle which) = nullptr;
  /// The local and remote key, which is one number; 0 for a stale handle.
  std::uint32_t (*key)(const verbs& in, mr_handle which) = nullptr;
};
static_assert(sizeof(void*) != 8 || (sizeof(memory_region_interface) == 40 &&
                                     offsetof(memory_region_interface, create) == 8 &&
                                     offsetof(memory_region_interface, made) == 16 &&
                                     offsetof(memory_region_interface, destroy) == 24 &&
                                     offsetof(memory_region_interface, key) == 32));

extern const offered_interface memory_region_offered;

}  // namespace freehca
