// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::process_memory {

/// Copies between memory of the adapter and memory of the program, which the program may unmap at
/// any time. Returns false if a page is not there; part of the copy may have been done. One thread
/// at a time.
///
/// The first copy of a thread unblocks SIGSEGV and SIGBUS in it. A thread that blocks them later
/// must not copy.
///
/// A naturally aligned word of 4 or 8 bytes is copied whole.
bool guarded_copy(void* to, const void* from, std::size_t bytes) noexcept;

/// Installs the handlers of SIGSEGV and SIGBUS that guarded_copy() needs. A fault outside of a
/// guarded copy goes to the handler that the program had installed before. May be called again.
void install_guard();

}  // namespace freehca::process_memory
