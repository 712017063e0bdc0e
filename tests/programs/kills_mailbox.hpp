// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <cstdint>

namespace programs {

constexpr unsigned places = 4;

/// A queue pair of a process. `life` counts the processes that have had the place, from 1.
struct pair_name {
  std::uint16_t life = 0, lid = 0;
  std::uint32_t qpn = 0;
  bool operator==(const pair_name&) const = default;
};

/// What the process at each place says of its queue pair towards each other place.
struct published {
  pair_name own;    // life 0: nothing yet
  pair_name bound;  // the queue pair that it is connected with; life 0: none yet
};

/// A file that the processes map. A process may be killed between any two stores.
class mailbox {
 public:
  explicit mailbox(const char* path);
  void publish(unsigned place, unsigned towards, const published& what);
  published look(unsigned place, unsigned towards) const;

 private:
  struct cell {
    std::atomic<std::uint64_t> own, bound;
  };
  cell (*cells_)[places];
};

}  // namespace programs
