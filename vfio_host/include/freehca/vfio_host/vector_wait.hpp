// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/file.hpp>

namespace freehca::vfio_host {

/// How a thread of its own waits for one interrupt vector: an epoll set with the vector's eventfd,
/// and an eventfd by which others wake it. Nothing is shared with other threads but that, so there
/// is no lock. Made and destroyed on the thread of the control owner, while nobody waits; wait() on
/// one thread at a time; wake() on any.
class vector_wait {
 public:
  using notifier = void (*)(void* context, unsigned vector) noexcept;
  /// Who hears of the vector: what the driver gave to arm_interrupts.
  struct listener {
    notifier notify = nullptr;
    void* context = nullptr;
  };

  /// `event`: the vector's eventfd, which outlives this. `ended` is called when this goes.
  /// trouble::system.
  static outcome<std::unique_ptr<vector_wait>> open(int event, unsigned vector, listener to,
                                                    std::function<void()> ended = {});
  ~vector_wait();
  vector_wait(const vector_wait&) = delete;
  vector_wait& operator=(const vector_wait&) = delete;

  /// Sleeps until an interrupt of the vector, wake(), or `deadline` (nanoseconds of
  /// CLOCK_MONOTONIC; 0: does not sleep), at most a second. Tells the driver of an interrupt, on
  /// this thread.
  void wait(std::uint64_t deadline);
  /// Ends the wait() that is under way, or else the next one.
  void wake() noexcept;
  /// As an inbox has it; `self` is a vector_wait.
  static void wake_it(void* self) noexcept { static_cast<vector_wait*>(self)->wake(); }

 private:
  vector_wait() = default;

  file watched_;  // both of them: an epoll instance
  file woken_;
  unsigned vector_ = 0;
  listener to_;
  std::function<void()> ended_;
};

}  // namespace freehca::vfio_host
