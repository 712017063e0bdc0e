// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstdint>

#include "frames/frame.hpp"

namespace freehca::model {

/// Puts a VLAN tag behind the source MAC, in front of one that is there: priority, DEI and VID are
/// `tag`, its EtherType is `type`. Nothing for what is too short to have addresses.
void insert_tag(frame& f, std::uint16_t type, std::uint16_t tag);

}  // namespace freehca::model
