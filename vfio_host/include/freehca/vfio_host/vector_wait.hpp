// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <freehca/vfio_host/failure.hpp>
#include <freehca/vfio_host/file.hpp>

namespace freehca::vfio_host {

/// The wait of a separate thread for one interrupt vector: an epoll set with the vector's eventfd,
/// and an eventfd by which other threads wake it. Threads share only these two, so there is no
/// lock. It is created and destroyed on the thread of the control owner, while no thread waits.
/// wait() runs on one thread at a time, wake() on any thread.
class vector_wait {
 public:
  using notifier = void (*)(void* context, unsigned vector) noexcept;
  /// The receiver of the vector's interrupts, as the driver gave it to arm_interrupts.
  struct listener {
    notifier notify = nullptr;
    void* context = nullptr;
  };

  /// `event` is the vector's eventfd, which must outlive this object. The destructor calls `ended`.
  /// Fails with trouble::system.
  static outcome<std::unique_ptr<vector_wait>> open(int event, unsigned vector, listener to,
                                                    std::function<void()> ended = {});
  ~vector_wait();
  vector_wait(const vector_wait&) = delete;
  vector_wait& operator=(const vector_wait&) = delete;

  /// Sleeps until an interrupt of the vector, until wake(), or until `deadline` (nanoseconds of
  /// CLOCK_MONOTONIC; 0: does not sleep), at most a second. Reports an interrupt to the driver on
  /// this thread.
  void wait(std::uint64_t deadline);
  /// Ends the current wait(); if there is none, the next one.
  void wake() noexcept;
  /// wake() in the form that an inbox calls; `self` is a vector_wait.
  static void wake_it(void* self) noexcept { static_cast<vector_wait*>(self)->wake(); }

 private:
  vector_wait() = default;

  file watched_;  // epoll instance of both eventfds
  file woken_;
  unsigned vector_ = 0;
  listener to_;
  std::function<void()> ended_;
};

}  // namespace freehca::vfio_host
