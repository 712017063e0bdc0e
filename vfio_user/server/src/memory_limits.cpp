// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "memory_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace freehca::device_server {

std::size_t memory_limits::ranges_for(std::uint64_t bytes) {
  return static_cast<std::size_t>(
      std::clamp<std::uint64_t>(bytes / 4 / bytes_per_range, 1, most_ranges));
}

std::size_t memory_limits::mappings_for(const std::string& text) {
  std::size_t count = 0;
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (why != std::errc()) return memory_limits{}.mappings;
  return count > kept_mappings ? count - kept_mappings : 1;
}

memory_limits memory_limits::of_process() {
  memory_limits found;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    // RLIM_INFINITY is the greatest value of the type.
    if (getrlimit(resource, &limit) == 0)
      found.ranges = std::min(found.ranges, ranges_for(limit.rlim_cur));
  }
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::string text;
  file >> text;
  found.mappings = mappings_for(text);
  return found;
}

}  // namespace freehca::device_server
