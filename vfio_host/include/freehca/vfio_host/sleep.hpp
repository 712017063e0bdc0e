// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Sleep of the hosts on Linux: by epoll, until a deadline in nanoseconds.
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

/// Nanoseconds to sleep until `deadline`, or 0 if it has passed. At most a second: an idle driver
/// polls once a second, so that a lost interrupt does not stop it.
inline std::uint64_t time_to_sleep(std::uint64_t deadline) {
  const std::uint64_t now = monotonic_now();
  return deadline <= now ? 0 : std::min<std::uint64_t>(deadline - now, 1'000'000'000);
}

/// epoll_wait() until `deadline`, at most a second. The first call does not sleep: an event that
/// has come already needs neither the clock nor a timer of the kernel. Kernels before 5.11 have no
/// epoll_pwait2 (ENOSYS), and filters of system calls that do not know it answer EPERM. In these
/// cases the time is rounded up to milliseconds, so that no caller returns before its deadline.
inline int wait_for_events(int epoll, epoll_event* events, int most, std::uint64_t deadline) {
  const int ready = epoll_wait(epoll, events, most, 0);
  if (ready != 0 || deadline == 0) return ready;
  const std::uint64_t sleep = time_to_sleep(deadline);
  const timespec time{static_cast<time_t>(sleep / 1'000'000'000),
                      static_cast<long>(sleep % 1'000'000'000)};
  const int count = epoll_pwait2(epoll, events, most, &time, nullptr);
  if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
  return epoll_wait(epoll, events, most, static_cast<int>((sleep + 999'999) / 1'000'000));
}

/// Makes an eventfd readable. The write only fails if the eventfd's counter is full, and then it is
/// readable already.
inline void ring(int event) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

}  // namespace freehca::vfio_host
