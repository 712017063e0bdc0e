// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

namespace freehca::model {

/// Queue pair numbers have 24 bits.
inline constexpr std::uint32_t qpn_mask = 0xffffff;

}  // namespace freehca::model
