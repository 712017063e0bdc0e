// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace freehca::fuzz {

/// Numbers and bytes, one after the other, made into one number that is another when any of them
/// is.
class digest {
 public:
  void add(std::uint64_t number) {
    // The finaliser of a common hash of 64 bits (MurmurHash3), over what was so far.
    value_ ^= number;
    value_ ^= value_ >> 33;
    value_ *= 0xff51afd7ed558ccdu;
    value_ ^= value_ >> 33;
    value_ *= 0xc4ceb9fe1a85ec53u;
    value_ ^= value_ >> 33;
    value_ += 0x9e3779b97f4a7c15u;
  }
  /// Zeros cost little.
  void add(const std::byte* bytes, std::size_t count) {
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, count - at < sizeof word ? count - at : sizeof word);
      if (word != 0) add(at), add(word);
    }
  }
  void add(std::string_view text) {
    add(reinterpret_cast<const std::byte*>(text.data()), text.size());
    add(text.size());
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace freehca::fuzz
