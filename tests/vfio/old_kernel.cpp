// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// epoll_pwait2 of a kernel that does not have it, and a record of how the host sleeps.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "old_kernel.hpp"

namespace freehca::testing {
int epoll_pwait2_error = 0;
epoll_sleep last_epoll_sleep;
}  // namespace freehca::testing

extern "C" int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* time,
                            const sigset_t* signals) {
  if (freehca::testing::epoll_pwait2_error != 0) {
    errno = freehca::testing::epoll_pwait2_error;
    return -1;
  }
  const auto count = static_cast<int>(
      syscall(SYS_epoll_pwait2, epoll, events, most, time, signals, std::size_t{_NSIG / 8}));
  freehca::testing::last_epoll_sleep = {time->tv_sec * std::int64_t{1'000'000'000} + time->tv_nsec,
                                        count};
  return count;
}

extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  const auto count = static_cast<int>(
      syscall(SYS_epoll_pwait, epoll, events, most, milliseconds, nullptr, std::size_t{_NSIG / 8}));
  freehca::testing::last_epoll_sleep = {milliseconds * std::int64_t{1'000'000}, count};
  return count;
}
