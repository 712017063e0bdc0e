// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// timer_lateness SECONDS: wakes up every millisecond, and prints by how many microseconds it was
// late: the median, the 99th in a hundred, and the greatest.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

namespace {

constexpr std::int64_t second = 1'000'000'000, period = 1'000'000;

std::int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * second + t.tv_nsec;
}

void sleep_until(std::int64_t time) {
  const timespec t{time / second, time % second};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) continue;
}

}  // namespace

int main(int count, char** words) {
  const long seconds = count == 2 ? std::strtol(words[1], nullptr, 10) : 0;
  if (seconds < 1 || seconds > 3600) {
    std::fprintf(stderr, "timer_lateness SECONDS: from 1 to 3600\n");
    return 2;
  }
  // Before all others of the guest, so that what is late is not the guest's scheduler.
  const sched_param first{50};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    std::perror("timer_lateness: this needs root");
    return 1;
  }
  std::vector<std::int64_t> late;
  late.reserve(static_cast<std::size_t>(seconds) * (second / period));
  std::int64_t due = now() + period;
  for (const std::int64_t end = due + seconds * second; due < end; due += period) {
    sleep_until(due);
    const std::int64_t came = now();
    late.push_back(came - due);
    // One that came so late that the next is past counts once.
    while (due + period < came) due += period;
  }
  std::sort(late.begin(), late.end());
  const auto at = [&late](std::size_t hundredths) {
    return late[std::min(late.size() - 1, late.size() * hundredths / 100)] / 1000;
  };
  std::printf("%lld %lld %lld\n", static_cast<long long>(at(50)), static_cast<long long>(at(99)),
              static_cast<long long>(late.back() / 1000));
  return 0;
}
