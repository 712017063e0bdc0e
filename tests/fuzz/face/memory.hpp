// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "../input.hpp"

namespace freehca::fuzz {

/// The memory that the program registers, in the middle of addresses where nothing is mapped. So an
/// access behind the end of a message cannot hit the fuzzer itself.
class program_memory {
 public:
  /// Made at the first use.
  static program_memory& get();

  static constexpr std::size_t open_bytes = 32 << 10, area_bytes = 4 << 10;
  /// Every region and every request may use it.
  std::byte* open() const { return base_; }
  /// Of a domain that has no queue pair.
  std::byte* vault() const { return base_ + open_bytes + area_bytes; }
  /// Of a region that the device may only read.
  std::byte* read_only() const { return base_ + open_bytes + 3 * area_bytes; }
  /// Of a region that was deregistered.
  std::byte* stale() const { return base_ + open_bytes + 5 * area_bytes; }
  /// Of a region that is smaller than its page.
  std::byte* narrow() const { return base_ + open_bytes + 6 * area_bytes + 1024; }
  static constexpr std::size_t narrow_bytes = 64;

  /// Before an input.
  void renew();
  /// After an input: only open and narrow memory have changed, and nothing of the vault and of the
  /// stale region stands in open memory.
  void check_untouched() const;

  /// An address for a request or a region: somewhere in the areas, not mapped, of the kernel, or
  /// no canonical one.
  std::uint64_t address(input& from) const;
  /// Whether nothing is mapped there, nor will be.
  bool is_unmapped(std::uint64_t at, std::uint64_t bytes) const;
  /// A place in open memory with at least `bytes` behind it.
  std::byte* open_place(input& from, std::size_t bytes) const;

 private:
  program_memory();
  std::byte* base_;
};

}  // namespace freehca::fuzz
