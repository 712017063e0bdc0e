// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// epoll_pwait2 of a kernel that does not have it.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "old_kernel.hpp"

namespace freehca::testing {
int epoll_pwait2_error = 0;
}

extern "C" int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* time,
                            const sigset_t* signals) {
  if (freehca::testing::epoll_pwait2_error != 0) {
    errno = freehca::testing::epoll_pwait2_error;
    return -1;
  }
  return static_cast<int>(
      syscall(SYS_epoll_pwait2, epoll, events, most, time, signals, std::size_t{_NSIG / 8}));
}
