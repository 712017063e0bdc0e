// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include <freehca/hal/access_flavour.hpp>
#include <freehca/hal/assert.hpp>
#include <freehca/hal/regions.hpp>
#include <freehca/layouts/bit_operations.hpp>

namespace freehca {

#if defined(FREEHCA_ACCESS_ROUTED) || defined(FREEHCA_ACCESS_REGISTERS_ROUTED)
/// Each register access is a call of the target. Values are in host order; the bus is big-endian.
namespace routed {
std::uint32_t mmio_read_32(const std::byte* at) noexcept;
void mmio_write_32(std::byte* at, std::uint32_t value) noexcept;
void mmio_write_64(std::byte* at, std::uint64_t value) noexcept;
/// A recorder (vfio_host/recorder) defines these functions and receives each access. They are weak:
/// without a recorder they are not defined. heard_mmio_read() is called after the read.
/// hears_mmio_write() is called before the write.
[[gnu::weak]] void heard_mmio_read(const std::byte* at, std::uint32_t value) noexcept;
[[gnu::weak]] void hears_mmio_write(const std::byte* at, std::uint64_t value,
                                    unsigned bytes) noexcept;
}  // namespace routed
#endif

/// Register access. Registers of this device are big-endian and accept no access narrower than 32
/// bits (Linux 6.1 mlx4 cmd.c). Each call is one bus access. The compiler does not reorder it
/// against other mmio calls. The barriers of barrier.hpp order register accesses against memory
/// accesses.
namespace mmio {

[[gnu::always_inline]] inline std::uint32_t read_32(const mmio_region& region, std::size_t offset) {
  FREEHCA_ASSERT(offset % 4 == 0 && offset + 4 <= region.bytes);
#if defined(FREEHCA_ACCESS_ROUTED) || defined(FREEHCA_ACCESS_REGISTERS_ROUTED)
  const std::uint32_t value = routed::mmio_read_32(region.base + offset);
  if (&routed::heard_mmio_read != nullptr) routed::heard_mmio_read(region.base + offset, value);
  return value;
#else
  return layouts::swap_be(
      *static_cast<const volatile std::uint32_t*>(static_cast<const void*>(region.base + offset)));
#endif
}

[[gnu::always_inline]] inline void write_32(const mmio_region& region, std::size_t offset,
                                            std::uint32_t value) {
  FREEHCA_ASSERT(offset % 4 == 0 && offset + 4 <= region.bytes);
#if defined(FREEHCA_ACCESS_ROUTED) || defined(FREEHCA_ACCESS_REGISTERS_ROUTED)
  if (&routed::hears_mmio_write != nullptr)
    routed::hears_mmio_write(region.base + offset, value, 4);
  routed::mmio_write_32(region.base + offset, value);
#else
  *static_cast<volatile std::uint32_t*>(static_cast<void*>(region.base + offset)) =
      layouts::swap_be(value);
#endif
}

/// Makes one 64-bit store, on machines that have one. Doorbells of two words rely on it.
[[gnu::always_inline]] inline void write_64(const mmio_region& region, std::size_t offset,
                                            std::uint64_t value) {
  FREEHCA_ASSERT(offset % 8 == 0 && offset + 8 <= region.bytes);
#if defined(FREEHCA_ACCESS_ROUTED) || defined(FREEHCA_ACCESS_REGISTERS_ROUTED)
  if (&routed::hears_mmio_write != nullptr)
    routed::hears_mmio_write(region.base + offset, value, 8);
  routed::mmio_write_64(region.base + offset, value);
#else
  static_assert(sizeof(void*) == 8, "a 32-bit machine needs a locked pair of stores here");
  *static_cast<volatile std::uint64_t*>(static_cast<void*>(region.base + offset)) =
      layouts::swap_be(value);
#endif
}

}  // namespace mmio
}  // namespace freehca
