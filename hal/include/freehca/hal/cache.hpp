// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// For boards whose devices do not look into the processor's data cache. Where they do, as on most,
// these calls compile to nothing. docs/incoherent-dma.md has the rules.
#pragma once

#include <cstddef>

#include <freehca/hal/access_flavour.hpp>

namespace freehca {

#ifdef FREEHCA_ACCESS_ROUTED
namespace cache {
enum class use { clean, invalidate };
}  // namespace cache
namespace routed {
/// The routed flavour tells the target that wants to know. Weak: most define none.
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
/// Does the processor have to say what it and the device exchange?
inline constexpr bool is_maintained = true;

/// The port defines both (FREEHCA_INCOHERENT_DMA is set for everything that is compiled with the
/// core, or for nothing). From any thread or interrupt handler that owns something of the device.
/// They take any address and length, and act on all lines that these touch; lines have 64 bytes.
///
/// When clean() returns, what was stored to these bytes is in memory, where the device finds it.
void clean(const std::byte* at, std::size_t bytes) noexcept;
/// Loads behind it find what was in memory when it was called, or later. The driver has stored
/// nothing to these lines since it cleaned them.
void invalidate(const std::byte* at, std::size_t bytes) noexcept;

#else
inline constexpr bool is_maintained = false;

[[gnu::always_inline]] inline void clean(const std::byte*, std::size_t) {}
[[gnu::always_inline]] inline void invalidate(const std::byte*, std::size_t) {}
#endif

}  // namespace cache
}  // namespace freehca
