// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <cstdint>

#include "frames/frame.hpp"

namespace freehca::model {

/// Which segment of a large send a frame is.
struct segment_place {
  std::uint32_t index = 0;
  bool last = false;
  std::uint64_t payload_before = 0;  ///< bytes of the segments before it
};

/// Makes a segment of `f`, which is the header of a large send and the segment's payload: lengths,
/// IPv4's identification, TCP's sequence number and flags become those of its place; with VXLAN in
/// the inner headers, and in the outer ones what depends on the length. Checksums are left.
void make_segment(frame& f, const segment_place& place, std::uint16_t vxlan_port);

}  // namespace freehca::model
