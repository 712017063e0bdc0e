// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <signal.h>

namespace freehca::ibverbs_files {

/// Holds the library's one lock. Signals are blocked meanwhile, because a handler of the program
/// may call an interposed function. The lock is free in a forked child. It covers a few
/// instructions each time, never a call of the facts source, and calls of the system only to close
/// what the library opened.
class lock {
 public:
  lock() noexcept;
  ~lock();
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace freehca::ibverbs_files
