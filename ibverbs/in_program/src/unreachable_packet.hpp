// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <span>

namespace freehca::ibverbs {

/// Explains that no port of the fabric is the destination of a unicast packet, or of a frame.
void explain_unreachable(std::span<const std::byte> packet, bool is_frame);

}  // namespace freehca::ibverbs
