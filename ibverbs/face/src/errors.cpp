// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "errors.hpp"

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <set>

#include <freehca/hal/text.hpp>

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
  std::fprintf(stderr, "freehca: %s\n", words(s).c_str());
  return s.who() == origin::firmware ? EINVAL : EIO;
}

int refuse(const char* name) {
  static std::mutex lock;
  static std::set<const char*> written;
  const std::lock_guard held(lock);
  if (written.insert(name).second) std::fprintf(stderr, "freehca: %s is not supported\n", name);
  return EOPNOTSUPP;
}

}  // namespace freehca::ibverbs
