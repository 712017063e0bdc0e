// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// How the hosts of Linux sleep: by epoll, until a deadline in nanoseconds.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace freehca::vfio_host {

/// Nanoseconds of CLOCK_MONOTONIC.
inline std::uint64_t monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

/// Nanoseconds to sleep until `deadline`; 0: not at all. At most a second: an idle driver looks
/// once a second, so that a lost interrupt does not stop it.
inline std::uint64_t time_to_sleep(std::uint64_t deadline) {
  const std::uint64_t now = deadline == 0 ? 0 : monotonic_now();
  return deadline <= now ? 0 : std::min<std::uint64_t>(deadline - now, 1'000'000'000);
}

/// epoll_wait() until `deadline`, at most a second. Kernels before 5.11 have no epoll_pwait2
/// (ENOSYS), and filters of system calls that do not know it answer EPERM: then the time is rounded
/// up to milliseconds, so that no caller comes back before its deadline.
inline int wait_for_events(int epoll, epoll_event* heard, int most, std::uint64_t deadline) {
  const std::uint64_t sleep = time_to_sleep(deadline);
  const timespec time{static_cast<time_t>(sleep / 1'000'000'000),
                      static_cast<long>(sleep % 1'000'000'000)};
  const int count = epoll_pwait2(epoll, heard, most, &time, nullptr);
  if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
  return epoll_wait(epoll, heard, most, static_cast<int>((sleep + 999'999) / 1'000'000));
}

/// Makes an eventfd readable again. Its count would have to run full before that fails.
inline void ring(int event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

}  // namespace freehca::vfio_host
