// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "saving/fields.hpp"

namespace freehca::model {

class icm;

/// What the adapter keeps of the translation and protection tables: MPTs, and MTTs under the key
/// that they were read for. All of it goes with each command and each work request that changes an
/// entry, so that what SYNC_TPT and HW2SW promise holds; a driver that rewrites entries without one
/// gives them a new key (illumos hermon_fmr.c, Linux 5.7 mlx4/mr.c mlx4_map_phys_fmr). Bus
/// addresses are kept, never what an IOMMU makes of them.
class tpt_cache {
 public:
  /// Reads `bytes` bytes of context memory at `at`, as icm::read does. `key` is that of a region,
  /// or 0 for MPTs and for MTTs of queues.
  bool read(icm& from, std::uint32_t key, std::uint64_t at, void* to, std::size_t bytes);
  void forget() { ++epoch_; }

 private:
  static constexpr std::size_t line_bytes = 64, lines = 512;
  struct line {
    std::uint64_t at = 0, epoch = 0;
    std::uint32_t key = 0;
    std::array<std::byte, line_bytes> bytes;

    static constexpr saving::unsaved_member unsaved[] = {
        {"at", "kept_line has it"},
        {"epoch", "kept_line is of the epoch at hand"},
        {"key", "kept_line has it"},
        {"bytes", "kept_line has them"}};
  };
  /// A line of the epoch, as a stream has it.
  struct kept_line {
    std::uint64_t at = 0;
    std::uint32_t key = 0;
    std::array<std::byte, line_bytes> bytes{};

    using saved = saving::fields<&kept_line::at, &kept_line::key, &kept_line::bytes>;
  };
  /// Where the line of that key at `at` is kept.
  static std::size_t place_of(std::uint32_t key, std::uint64_t at) {
    return (at / line_bytes + key) % lines;
  }

  std::uint64_t epoch_ = 1;
  std::vector<line> lines_{lines};

 public:
  static constexpr saving::unsaved_member unsaved[] = {
      {"epoch_", "it is compared with the epochs of the lines alone"},
      {"lines_", "transfer_state() saves those of the epoch"}};
  /// The cache is saved: what it holds decides which accesses read the tables again, and what they
  /// cost.
  template <class Archive>
  void transfer_state(Archive& archive) {
    std::vector<kept_line> kept;
    for (const line& l : lines_)
      if (l.epoch == epoch_) kept.push_back({l.at, l.key, l.bytes});
    transfer(archive, kept);
    if constexpr (Archive::loads) {
      lines_.assign(lines, {});
      epoch_ = 1;
      for (const kept_line& k : kept) {
        line& l = lines_[place_of(k.key, k.at)];
        l.at = k.at;
        l.key = k.key;
        l.epoch = epoch_;
        l.bytes = k.bytes;
      }
    }
  }
};

}  // namespace freehca::model
