// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/mmio.hpp>

namespace freehca {

/// Looks now and then at the device's error buffer, whose first word is nonzero after an internal
/// error; a device that is gone reads as all ones (Linux 6.1 catas.c).
class health {
 public:
  /// QUERY_FW puts the buffer there, in `bar` or in no region that is known (no bytes). False: it
  /// cannot be read.
  bool find_buffer(const mmio_region& bar, std::uint64_t at, std::uint64_t words);
  /// A look is due at once.
  void look_soon() { next_look_ = 0; }
  /// Looks, if that is due: true when the device has failed.
  bool failed(std::uint64_t now, std::uint64_t interval);
  std::uint64_t next_look() const { return next_look_; }

 private:
  mmio_region first_word_;  // empty: none that can be read
  std::uint64_t next_look_ = 0;
};

}  // namespace freehca
