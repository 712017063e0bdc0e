// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::testing {

/// The error that epoll_pwait2 ends with in this program; 0: it works.
extern int epoll_pwait2_error;

/// What epoll was last asked for, and what came of it.
struct epoll_sleep {
  std::int64_t nanoseconds = -1;
  int events = -1;
};
extern epoll_sleep last_epoll_sleep;

/// As long as it is there, this program's kernel has no epoll_pwait2.
struct old_kernel {
  explicit old_kernel(int error) { epoll_pwait2_error = error; }
  ~old_kernel() { epoll_pwait2_error = 0; }
  old_kernel(const old_kernel&) = delete;
  old_kernel& operator=(const old_kernel&) = delete;
};

}  // namespace freehca::testing
