// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace freehca::fuzz {

/// A second thread that changes a word of shared memory back and forth between two values. It finds
/// code that reads a word twice and takes both readings for the same.
class disturbance {
 public:
  /// Made at the first use; its thread lives as long as the process.
  static disturbance& get();

  /// Returns when the thread has begun.
  void begin(std::uint64_t* word, std::uint64_t a, std::uint64_t b);
  /// Returns when the thread has stopped. Nothing happens if it has not begun.
  void end();

 private:
  disturbance();
  void run();

  std::atomic<std::uint64_t*> word_{nullptr};
  std::atomic<std::uint64_t> values_[2] = {};
  std::atomic<bool> wanted_{false}, under_way_{false};
  std::thread thread_;
};

}  // namespace freehca::fuzz
