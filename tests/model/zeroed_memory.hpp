// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

namespace freehca::model::test {

/// Memory that is all zero, of which only the pages that are touched cost something. Where it comes
/// from is the program's choice: the tests link zeroed_memory.cpp, the fuzzer its own.
class zeroed_memory {
 public:
  explicit zeroed_memory(std::size_t bytes) : first_(take(bytes)), bytes_(bytes) {}
  zeroed_memory(zeroed_memory&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  zeroed_memory& operator=(zeroed_memory&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~zeroed_memory() {
    if (first_ != nullptr) give_back(first_, bytes_);
  }
  std::byte* data() { return first_; }
  std::size_t size() const { return bytes_; }
  void clear() { std::memset(first_, 0, bytes_); }

 private:
  static std::byte* take(std::size_t bytes);
  static void give_back(std::byte* first, std::size_t bytes);

  std::byte* first_;
  std::size_t bytes_;
};

}  // namespace freehca::model::test
