// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Record locks (fcntl F_SETLK) of single bytes. The kernel gives them to the process, not to the
// descriptor: a child does not inherit them, and they end with the process. They also end when the
// process closes any descriptor of the file.
#pragma once

#include <sys/types.h>

namespace freehca::wires::shm {

/// Locks one byte if no other process has it. Waits for nothing.
bool try_lock(int file, off_t byte);
void unlock(int file, off_t byte);
/// The same as try_lock(), again and again for at most `milliseconds`.
bool lock_within(int file, off_t byte, unsigned milliseconds);
/// Whether another process has a lock on one of these bytes. Locks of this process do not count.
bool locked_by_another(int file, off_t first, off_t bytes);
/// The process that has the lock of this byte, or 0: none, or one of another process-ID namespace.
pid_t lock_owner(int file, off_t byte);

}  // namespace freehca::wires::shm
