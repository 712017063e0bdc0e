// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

namespace freehca::closed_process {

// A sanitizer starts a thread that traces the others, reads /proc and starts a symbolizer. All of
// this happens when the process may be in its last moment.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FREEHCA_CLOSED_BY_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FREEHCA_CLOSED_BY_SANITIZER
#endif
#ifdef FREEHCA_CLOSED_BY_SANITIZER
inline constexpr bool built_with_sanitizer = true;
#undef FREEHCA_CLOSED_BY_SANITIZER
#else
inline constexpr bool built_with_sanitizer = false;
#endif

}  // namespace freehca::closed_process
