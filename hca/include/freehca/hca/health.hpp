// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include <freehca/hal/mmio.hpp>

namespace freehca {

/// Checks the error buffer of the device at intervals. The first word of the buffer is nonzero
/// after an internal error. If the device is gone, the word reads as all ones (Linux 6.1 catas.c).
class health {
 public:
  /// Sets the error buffer, as QUERY_FW reports it. Null: the buffer cannot be read.
  void set_buffer(std::byte* buffer) { buffer_ = buffer; }
  /// Makes the next check due at once.
  void look_soon() { next_look_ = 0; }
  /// Checks the buffer if a check is due. Returns true if the device has failed.
  bool failed(std::uint64_t now, std::uint64_t interval);
  std::uint64_t next_look() const { return next_look_; }

 private:
  std::byte* buffer_ = nullptr;
  std::uint64_t next_look_ = 0;
};

}  // namespace freehca
