// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Cache maintenance for boards whose devices do not snoop the processor's data cache. On most
// boards the devices snoop it, and these calls compile to nothing. docs/incoherent-dma.md has the
// rules.
#pragma once

#include <cstddef>

#include <freehca/hal/access_flavour.hpp>

namespace freehca {

#ifdef FREEHCA_ACCESS_ROUTED
namespace cache {
enum class use { clean, invalidate };
}  // namespace cache
namespace routed {
/// The routed flavour calls this function at every call of clean() and invalidate(). It is weak:
/// most targets do not define it.
[[gnu::weak]] void passed_cache(cache::use which, const std::byte* at, std::size_t bytes,
                                const char* file, unsigned line) noexcept;
}  // namespace routed
#endif

namespace cache {

#if defined(FREEHCA_ACCESS_ROUTED)
inline constexpr bool is_maintained = true;

inline void tell(use which, const std::byte* at, std::size_t bytes, const char* file,
                 unsigned line) {
  if (&routed::passed_cache != nullptr) routed::passed_cache(which, at, bytes, file, line);
}
[[gnu::always_inline]] inline void clean(const std::byte* at, std::size_t bytes,
                                         const char* file = __builtin_FILE(),
                                         unsigned line = __builtin_LINE()) {
  tell(use::clean, at, bytes, file, line);
}
[[gnu::always_inline]] inline void invalidate(const std::byte* at, std::size_t bytes,
                                              const char* file = __builtin_FILE(),
                                              unsigned line = __builtin_LINE()) {
  tell(use::invalidate, at, bytes, file, line);
}

#elif defined(FREEHCA_INCOHERENT_DMA)
/// True if the driver must clean and invalidate the cache lines of the memory that it shares with
/// the device.
inline constexpr bool is_maintained = true;

/// The port defines both functions. FREEHCA_INCOHERENT_DMA is set for all code that is compiled
/// with the core, or for none. The functions are called by the thread or the interrupt handler of
/// any owner. They accept any address and length, and act on all cache lines that the bytes touch.
/// A line has 64 bytes.
///
/// When clean() returns, the data stored to these bytes is in memory, where the device finds it.
void clean(const std::byte* at, std::size_t bytes) noexcept;
/// Loads after the call return data that was in memory at the time of the call, or later data. The
/// driver has stored nothing to these lines since it cleaned them.
void invalidate(const std::byte* at, std::size_t bytes) noexcept;

#else
inline constexpr bool is_maintained = false;

[[gnu::always_inline]] inline void clean(const std::byte*, std::size_t) {}
[[gnu::always_inline]] inline void invalidate(const std::byte*, std::size_t) {}
#endif

}  // namespace cache
}  // namespace freehca
