// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "frames/frame.hpp"

namespace freehca::model {

/// The FCS of an Ethernet frame over all that is before it, as it stands on the link (IEEE 802.3,
/// 3.2.9).
std::array<std::byte, fcs_bytes> frame_check_sequence(std::span<const std::byte> frame);

}  // namespace freehca::model
