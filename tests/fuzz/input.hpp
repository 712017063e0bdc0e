// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehca::fuzz {

/// The bytes that a fuzzer tries, read from the front; zeros behind the end.
class input {
 public:
  input(const std::uint8_t* data, std::size_t bytes) : at_(data), left_(bytes) {}

  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  std::uint32_t word() {
    std::uint32_t w = 0;
    for (unsigned i = 0; i < 4; ++i) w = w << 8 | byte();
    return w;
  }
  /// The next bytes, at most as many as are left.
  input take(std::size_t bytes) {
    const input taken(at_, bytes < left_ ? bytes : left_);
    at_ += taken.left_;
    left_ -= taken.left_;
    return taken;
  }
  /// A number of all that is left, which tells inputs apart.
  std::uint32_t mark() const {
    // FNV-1a, over 32 bits.
    std::uint32_t sum = 0x811c9dc5;
    for (std::size_t i = 0; i < left_; ++i) sum = (sum ^ at_[i]) * 0x01000193;
    return sum ^ sum >> 16;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

}  // namespace freehca::fuzz
