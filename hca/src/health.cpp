// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/health.hpp>

#include <freehca/hal/clock.hpp>

namespace freehca {

bool health::failed(std::uint64_t now, std::uint64_t interval) {
  if (now < next_look_) return false;
  next_look_ = clock::after(now, interval);
  return buffer_ != nullptr && mmio::read_32({buffer_, 4}, 0) != 0;
}

}  // namespace freehca
