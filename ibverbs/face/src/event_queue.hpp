// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>

#include "uncancellable.hpp"

namespace freehca::ibverbs {

/// Events that a program waits for on a descriptor, which it may also poll, make non-blocking, or
/// put into an epoll set. The descriptor is readable while there are events. Any thread.
template <class Event>
class event_queue {
 public:
  event_queue() : descriptor_(eventfd(0, EFD_CLOEXEC)) {}
  ~event_queue() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  event_queue(const event_queue&) = delete;
  event_queue& operator=(const event_queue&) = delete;

  /// -1: the system had no descriptor left.
  int descriptor() const { return descriptor_; }

  void push(const Event& event) {
    const uncancellable stays;
    const std::lock_guard held(lock_);
    events_.push_back(event);
    if (events_.size() == 1) make_readable();
  }

  /// Takes the oldest event; waits for one if the descriptor blocks. Calls taken(event) before
  /// another thread can drop it. Returns 0, or an errno (EINTR, EAGAIN).
  template <class Taken>
  int take(const Taken& taken) {
    for (;;) {
      std::uint64_t token;
      if (read(descriptor_, &token, sizeof token) != sizeof token) return errno;
      const uncancellable stays;
      const std::lock_guard held(lock_);
      if (events_.empty()) continue;  // dropped meanwhile
      taken(events_.front());
      events_.pop_front();
      // There may be a token of an event that was dropped while this thread had the token before.
      if (events_.empty()) make_unreadable();
      else make_readable();
      return 0;
    }
  }

  /// Drops the events for which the condition holds.
  template <class Condition>
  void drop(const Condition& condition) {
    const uncancellable stays;
    const std::lock_guard held(lock_);
    const bool any = !events_.empty();
    std::erase_if(events_, condition);
    if (!any || !events_.empty()) return;
    make_unreadable();
  }

 private:
  // Both are cancellation points.
  void make_unreadable() {
    std::uint64_t token;
    const iovec place{&token, sizeof token};
    static_cast<void>(preadv2(descriptor_, &place, 1, -1, RWF_NOWAIT));
  }
  void make_readable() {
    const std::uint64_t token = 1;
    static_cast<void>(!write(descriptor_, &token, sizeof token));
  }

  int descriptor_;
  std::mutex lock_;
  std::deque<Event> events_;
};

}  // namespace freehca::ibverbs
