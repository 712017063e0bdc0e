// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <optional>

#include <freehca/layouts/ethernet.hpp>

#include "frames/frame.hpp"

namespace freehca::model {

/// Puts a tag behind the source MAC, in front of one that is there. False: the frame has no whole
/// addresses, and stays.
bool insert_tag(frame& f, const layouts::image<layouts::vlan_tag>& tag);

/// Takes the outer tag, of either kind, out of the frame. Nothing: there is none, and the frame
/// stays.
std::optional<layouts::image<layouts::vlan_tag>> take_tag(frame& f);

}  // namespace freehca::model
