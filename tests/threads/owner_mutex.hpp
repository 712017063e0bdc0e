// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

#include <freehca/hal/reactor.hpp>

namespace freehca::testing {

/// A program's lock for an owner. It knows which thread holds it.
class owner_mutex {
 public:
  void lock() {
    mutex_.lock();
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  void unlock() {
    holder_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  entry_check entry() {
    const auto entered = [](void* self) noexcept {
      const auto& holder = static_cast<owner_mutex*>(self)->holder_;
      return holder.load(std::memory_order_relaxed) == std::this_thread::get_id();
    };
    return {entered, this};
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_{};
};

}  // namespace freehca::testing
