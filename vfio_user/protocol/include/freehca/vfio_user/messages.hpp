// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The messages of vfio-user. Source: QEMU's docs/interop/vfio-user.rst; where it differs from
// version 0.9.1 of the same page in libvfio-user, both. Numbers are in the byte order of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace freehca::vfio_user {

enum class command : std::uint16_t {
  version = 1,
  dma_map = 2,
  dma_unmap = 3,
  device_get_info = 4,
  device_get_region_info = 5,
  device_get_region_io_fds = 6,
  device_get_irq_info = 7,
  device_set_irqs = 8,
  region_read = 9,
  region_write = 10,
  dma_read = 11,   ///< from the server
  dma_write = 12,  ///< from the server
  device_reset = 13,
  dirty_pages = 14,
  region_write_multi = 15,
};

/// The beginning of every message.
struct header {
  std::uint16_t id;
  std::uint16_t command;
  std::uint32_t bytes;  ///< size of the message, including this header
  std::uint32_t flags;
  std::uint32_t error;  ///< errno of a reply that has flag_error
};
static_assert(sizeof(header) == 16 && offsetof(header, command) == 2 &&
              offsetof(header, bytes) == 4 && offsetof(header, flags) == 8 &&
              offsetof(header, error) == 12);
inline constexpr std::uint32_t type_mask = 0xf, type_command = 0, type_reply = 1;
inline constexpr std::uint32_t flag_no_reply = 1u << 4, flag_error = 1u << 5;

/// Followed by a JSON text that ends with NUL, or by nothing.
struct version {
  std::uint16_t major;
  std::uint16_t minor;
};
static_assert(sizeof(version) == 4 && offsetof(version, minor) == 2);

struct dma_map {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint64_t offset;  ///< in the file that comes with the message
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(dma_map) == 32 && offsetof(dma_map, flags) == 4 &&
              offsetof(dma_map, offset) == 8 && offsetof(dma_map, address) == 16 &&
              offsetof(dma_map, size) == 24);
inline constexpr std::uint32_t dma_readable = 1u << 0, dma_writeable = 1u << 1;

/// The reply has the same contents.
struct dma_unmap {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint64_t address;
  std::uint64_t size;
};
static_assert(sizeof(dma_unmap) == 24 && offsetof(dma_unmap, flags) == 4 &&
              offsetof(dma_unmap, address) == 8 && offsetof(dma_unmap, size) == 16);
/// Bits of version 0.9.1 that QEMU's page does not have.
inline constexpr std::uint32_t dma_unmap_dirty_bitmap = 1u << 0, dma_unmap_all = 1u << 1;

struct device_info {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t num_regions;
  std::uint32_t num_irqs;
};
static_assert(sizeof(device_info) == 16 && offsetof(device_info, flags) == 4 &&
              offsetof(device_info, num_regions) == 8 && offsetof(device_info, num_irqs) == 12);
inline constexpr std::uint32_t device_can_reset = 1u << 0, device_is_pci = 1u << 1;

struct region_info {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t cap_offset;
  std::uint64_t size;
  std::uint64_t offset;
};
static_assert(sizeof(region_info) == 32 && offsetof(region_info, flags) == 4 &&
              offsetof(region_info, index) == 8 && offsetof(region_info, cap_offset) == 12 &&
              offsetof(region_info, size) == 16 && offsetof(region_info, offset) == 24);
inline constexpr std::uint32_t region_readable = 1u << 0, region_writeable = 1u << 1,
                               region_mappable = 1u << 2, region_has_capabilities = 1u << 3;

/// A capability of a region, at cap_offset of the structure above: the parts that may be mapped of
/// the file that comes with the reply. Followed by that many areas.
struct sparse_mappable {
  std::uint16_t id;
  std::uint16_t version;
  std::uint32_t next;  ///< the place of the next capability; 0: there is none
  std::uint32_t areas;
  std::uint32_t reserved;
};
struct mappable_area {
  std::uint64_t offset;  ///< in the region
  std::uint64_t size;
};
static_assert(sizeof(sparse_mappable) == 16 && offsetof(sparse_mappable, version) == 2 &&
              offsetof(sparse_mappable, next) == 4 && offsetof(sparse_mappable, areas) == 8);
static_assert(sizeof(mappable_area) == 16 && offsetof(mappable_area, size) == 8);
inline constexpr std::uint16_t sparse_mappable_id = 1, sparse_mappable_version = 1;

/// Numbers of a PCI function's regions, as in the kernel's VFIO.
inline constexpr std::uint32_t bar0_region = 0, bar2_region = 2, configuration_region = 7,
                               pci_regions = 9;

struct irq_info {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t count;
};
static_assert(sizeof(irq_info) == 16 && offsetof(irq_info, flags) == 4 &&
              offsetof(irq_info, index) == 8 && offsetof(irq_info, count) == 12);
inline constexpr std::uint32_t irq_eventfd = 1u << 0, irq_maskable = 1u << 1,
                               irq_automasked = 1u << 2, irq_noresize = 1u << 3;
inline constexpr std::uint32_t intx_irq = 0, msi_irq = 1, msix_irq = 2, error_irq = 3, pci_irqs = 5;

/// Followed by `count` bytes with irq_set_bool, and by nothing with the other flags.
struct irq_set {
  std::uint32_t argsz;
  std::uint32_t flags;
  std::uint32_t index;
  std::uint32_t start;
  std::uint32_t count;
};
static_assert(sizeof(irq_set) == 20 && offsetof(irq_set, flags) == 4 &&
              offsetof(irq_set, index) == 8 && offsetof(irq_set, start) == 12 &&
              offsetof(irq_set, count) == 16);
inline constexpr std::uint32_t irq_set_none = 1u << 0, irq_set_bool = 1u << 1,
                               irq_set_eventfd = 1u << 2, irq_set_mask = 1u << 3,
                               irq_set_unmask = 1u << 4, irq_set_trigger = 1u << 5;

/// region_read and region_write, and the beginning of both replies.
struct region_access {
  std::uint64_t offset;
  std::uint32_t region;
  std::uint32_t count;
};
static_assert(sizeof(region_access) == 16 && offsetof(region_access, region) == 8 &&
              offsetof(region_access, count) == 12);

/// region_write_multi: followed by this many of the structure below. The reply has the same number.
struct several_writes {
  std::uint64_t count;
};
struct one_write {
  static constexpr std::size_t greatest = 8;
  region_access where;  ///< its count is the number of bytes to write
  std::byte data[greatest];
};
static_assert(sizeof(several_writes) == 8 && sizeof(one_write) == 24 &&
              offsetof(one_write, data) == 16);
/// The greatest number of writes in one message, as in QEMU's client (its hw/vfio-user/protocol.h).
inline constexpr std::uint64_t greatest_several_writes = 200;

/// dma_read and dma_write, and the beginning of both replies. In version 0.9.1 the reply to
/// dma_write has only the first 12 bytes.
struct dma_access {
  std::uint64_t address;
  std::uint64_t count;
};
static_assert(sizeof(dma_access) == 16 && offsetof(dma_access, count) == 8);

/// The structure at the beginning of a message's body; nothing if the body is shorter.
template <class T>
std::optional<T> beginning(std::span<const std::byte> body) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (body.size() < sizeof(T)) return std::nullopt;
  T found;
  std::memcpy(&found, body.data(), sizeof(T));
  return found;
}

/// The structure that is a message's body; nothing if the body has another size.
template <class T>
std::optional<T> whole(std::span<const std::byte> body) {
  return body.size() == sizeof(T) ? beginning<T>(body) : std::nullopt;
}

template <class T>
std::span<const std::byte> bytes_of(const T& structure) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span(&structure, 1));
}

}  // namespace freehca::vfio_user
