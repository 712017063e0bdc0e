// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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
  };
  std::uint64_t epoch_ = 1;
  std::vector<line> lines_{lines};
};

}  // namespace freehca::model
