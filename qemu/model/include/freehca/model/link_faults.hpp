// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

/// What a bad cable does to the packets that a port sends; link packets pass. Rates are packets in
/// a million, 0 to 1,000,000, each drawn by itself in this order. The same seed and the same
/// packets give the same faults. Frames of Ethernet are packets here; a damaged one has an FCS that
/// is right, as behind a switch.
struct link_faults {
  static constexpr std::uint32_t always = 1'000'000;
  std::uint32_t loss = 0;
  std::uint32_t corruption =
      0;  ///< one bit flips; of half of such packets, as drawn, the VCRC is right again, as
          ///< behind a switch, and the ICRC tells
  std::uint32_t duplication = 0;  ///< comes twice
  std::uint32_t reordering =
      0;  ///< comes after the packet that follows it, or after 0.1 ms when none does; that
          ///< one is not held back itself
  std::uint64_t seed = 1;
};

}  // namespace freehca::model
