// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "errors.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>

#include <freehca/texts/text.hpp>

#include "uncancellable.hpp"

namespace freehca::ibverbs {

std::string words(status s) {
  char text[200];
  describe(s, text, sizeof text);
  return text;
}

int errno_of(status s) {
  if (s.ok()) return 0;
  if (s.who() == origin::driver) {
    switch (static_cast<driver_error>(s.code())) {
      case driver_error::no_memory:
      case driver_error::no_resource:
      case driver_error::queue_full:
      case driver_error::exceeds_limits:
        return ENOMEM;
      case driver_error::unsupported:
        return EOPNOTSUPP;
      case driver_error::busy:
        return EBUSY;
      case driver_error::cancelled:
        return ECANCELED;
      default:
        return EINVAL;
    }
  }
  // An error of the program, as Linux has it (6.1 cmd.c mlx4_status_to_errno).
  if (s.is(layouts::command_status::region_bound)) return EBUSY;
  if (s.is(layouts::command_status::exceeds_limits)) return ENOMEM;
  std::fprintf(stderr, "freehca: %s\n", words(s).c_str());
  return s.who() == origin::firmware ? EINVAL : EIO;
}

int refuse(const char* name) {
  // Without a lock, which another thread may hold when the process forks.
  static std::atomic<const char*> written[64];
  for (std::atomic<const char*>& place : written) {
    const char* before = nullptr;
    if (place.compare_exchange_strong(before, name)) {
      const uncancellable stays;
      std::fprintf(stderr, "freehca: %s is not supported\n", name);
      break;
    }
    if (before == name) break;
  }
  return EOPNOTSUPP;
}

}  // namespace freehca::ibverbs
