// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <algorithm>
#include <cstdint>

namespace freehca::packets {

/// A counter with two faces: a 64-bit one that wraps, and a narrow one that stops at its greatest
/// value. Each is set by management by itself (IBTA vol. 1, 16.1.3.5 and 16.1.4.11); the event
/// total stays.
class dual_counter {
 public:
  void add(std::uint64_t n) { total_ += n; }
  std::uint64_t total() const { return total_; }
  std::uint64_t wide() const { return total_ - wide_base_; }
  /// The narrow face of a counter of `bits` bits.
  std::uint64_t narrow(unsigned bits) const {
    return std::min(total_ - narrow_base_, (std::uint64_t{1} << bits) - 1);
  }
  void set_wide(std::uint64_t value) { wide_base_ = total_ - value; }
  void set_narrow(std::uint64_t value) { narrow_base_ = total_ - value; }

  /// The model of the adapter saves and loads its counters by this (qemu/model/src/saving, where
  /// transfer() is).
  template <class Archive>
  void transfer_state(Archive& archive) {
    transfer(archive, total_);
    transfer(archive, wide_base_);
    transfer(archive, narrow_base_);
  }

 private:
  std::uint64_t total_ = 0, wide_base_ = 0, narrow_base_ = 0;
};

}  // namespace freehca::packets
