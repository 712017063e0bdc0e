// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/hca/health.hpp>

#include <freehca/hal/clock.hpp>

namespace freehca {

bool health::find_buffer(const mmio_region& bar, std::uint64_t at, std::uint64_t words) {
  const bool readable = at % 4 == 0 && words > 0 && at < bar.bytes && words <= (bar.bytes - at) / 4;
  first_word_ = readable ? bar.part(static_cast<std::size_t>(at), 4) : mmio_region();
  return readable;
}

bool health::failed(std::uint64_t now, std::uint64_t interval) {
  if (now < next_look_) return false;
  next_look_ = clock::after(now, interval);
  return first_word_.bytes != 0 && mmio::read_32(first_word_, 0) != 0;
}

}  // namespace freehca
