// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "disturbance.hpp"

#include <sched.h>

namespace freehca::fuzz {

disturbance& disturbance::get() {
  // Never destroyed: its thread does not end.
  static auto& one = *new disturbance;
  return one;
}

disturbance::disturbance() : thread_([this] { run(); }) {
  thread_.detach();
}

void disturbance::begin(std::uint64_t* word, std::uint64_t a, std::uint64_t b) {
  end();
  word_ = word;
  values_[0] = a;
  values_[1] = b;
  wanted_ = true;
  wanted_.notify_one();
  while (!under_way_) sched_yield();
}

void disturbance::end() {
  wanted_ = false;
  while (under_way_) sched_yield();
}

void disturbance::run() {
  for (;;) {
    wanted_.wait(false);
    std::uint64_t* const word = word_;
    const std::uint64_t a = values_[0], b = values_[1];
    under_way_ = true;
    // Both values are there for times that differ, so that a reader does not fall into step.
    for (unsigned turn = 0; wanted_.load(std::memory_order_relaxed); ++turn) {
      __atomic_store_n(word, a, __ATOMIC_RELAXED);
      for (unsigned i = 0; i < turn % 8; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      __atomic_store_n(word, b, __ATOMIC_RELAXED);
      for (unsigned i = 0; i < turn / 8 % 8; ++i)
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    under_way_ = false;
  }
}

}  // namespace freehca::fuzz
