// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

/// A UAR page in which queues in hardware's hands ring, for who looks there by himself
/// (device::look_at_uar).
struct uar_page {
  std::uint32_t number = 0;
  std::uint64_t doorbells = 0;  ///< where the page begins in BAR2
  std::uint64_t blueflame = 0;  ///< the same of its BlueFlame page; 0: there is none
  std::uint64_t bytes = 0;      ///< of either
};

}  // namespace freehca::model
