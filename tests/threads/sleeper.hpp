// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include <freehca/loopback_traffic/owner_traffic.hpp>

namespace freehca::testing {

/// A thread sleeps here, and others wake it. The adapter's time is not the host's: a deadline comes
/// when the thread that plays the adapter has got there, and is looked for every millisecond.
class sleeper final : public loopback_traffic::owner_sleep {
 public:
  ~sleeper() override { close(event_); }
  void sleep(std::uint64_t) override {
    pollfd what{event_, POLLIN, 0};
    if (::poll(&what, 1, 1) != 1) return;
    std::uint64_t count = 0;
    woken_ += ::read(event_, &count, sizeof count) == sizeof count;
  }
  void wake() noexcept {
    const std::uint64_t one = 1;
    if (::write(event_, &one, sizeof one) != sizeof one) __builtin_trap();
  }
  static void waker(void* self) noexcept { static_cast<sleeper*>(self)->wake(); }
  std::uint64_t woken() const { return woken_; }

 private:
  const int event_ = eventfd(0, EFD_CLOEXEC);
  std::uint64_t woken_ = 0;
};

}  // namespace freehca::testing
