// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace freehca::device_server {

/// Limits for the memory that a client may map in this process.
struct memory_limits {
  /// QEMU's client refuses a server that announces more (check_max_dma() in its
  /// hw/vfio-user/proxy.c). The kernel's VFIO has the same number (dma_entry_limit).
  static constexpr std::size_t most_ranges = 65535;
  /// The part of vm.max_map_count that is left to the allocator, the model's files and libraries.
  static constexpr std::size_t kept_mappings = 1000;
  /// The memory for a range in this process and in the keeper, rounded up.
  static constexpr std::uint64_t bytes_per_range = 512;

  std::size_t ranges = most_ranges;
  std::size_t mappings = 65530 - kept_mappings;  ///< the kernel's default for vm.max_map_count

  /// Ranges: for at most a quarter of the memory that RLIMIT_AS and RLIMIT_DATA allow. Mappings: by
  /// vm.max_map_count.
  static memory_limits of_process();
  static std::size_t ranges_for(std::uint64_t bytes);
  /// `text` is the text of /proc/sys/vm/max_map_count. If it is not a number, the kernel's default
  /// is used.
  static std::size_t mappings_for(const std::string& text);
};

}  // namespace freehca::device_server
