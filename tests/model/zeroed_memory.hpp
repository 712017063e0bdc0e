// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace freehca::model::test {

/// Memory that is all zero, of which only the pages that are touched cost something.
class zeroed_memory {
 public:
  explicit zeroed_memory(std::size_t bytes)
      : first_(static_cast<std::byte*>(std::calloc(bytes, 1))), bytes_(bytes) {
    if (first_ == nullptr) __builtin_trap();
  }
  zeroed_memory(zeroed_memory&& other) noexcept
      : first_(std::move(other.first_)), bytes_(std::exchange(other.bytes_, 0)) {}
  zeroed_memory& operator=(zeroed_memory&& other) noexcept {
    first_ = std::move(other.first_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  std::byte* data() { return first_.get(); }
  std::size_t size() const { return bytes_; }
  void clear() { std::memset(first_.get(), 0, bytes_); }

 private:
  struct freed {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], freed> first_;
  std::size_t bytes_;
};

}  // namespace freehca::model::test
