// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace freehca::model::test {

/// Memory that is all zero, of which only the pages that are touched cost something. From the
/// kernel: for calloc() the address sanitizer marks every page as given out, and again as taken
/// back, which took most of the time of most tests. An access past an end still stops a test.
class zeroed_memory {
 public:
  explicit zeroed_memory(std::size_t bytes) : first_(mapped(bytes)), bytes_(bytes) {}
  zeroed_memory(zeroed_memory&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  zeroed_memory& operator=(zeroed_memory&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~zeroed_memory() {
    if (first_ != nullptr) munmap(first_ - fence, whole(bytes_));
  }
  std::byte* data() { return first_; }
  std::size_t size() const { return bytes_; }
  void clear() { std::memset(first_, 0, bytes_); }

 private:
  static constexpr std::size_t fence = 4096;  ///< bytes in front and behind that stop who touches

  static std::size_t whole(std::size_t bytes) {
    return (bytes + fence - 1) / fence * fence + 2 * fence;
  }
  static std::byte* mapped(std::size_t bytes) {
    void* const at = mmap(nullptr, whole(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) __builtin_trap();
    std::byte* const first = static_cast<std::byte*>(at) + fence;
    const std::size_t inside = whole(bytes) - 2 * fence;
    if (inside != 0 && mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) __builtin_trap();
    return first;
  }

  std::byte* first_;
  std::size_t bytes_;
};

}  // namespace freehca::model::test
