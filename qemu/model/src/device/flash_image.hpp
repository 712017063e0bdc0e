// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>
#include <vector>

#include <freehca/model/options.hpp>

namespace freehca::model {

/// The firmware image in the adapter's flash, "FS2": it names the adapter (version, device, board,
/// GUIDs, MACs) as the adapter's other parts do, and has no program, no configuration and no
/// expansion ROM. It begins at the start of the flash, and is shorter than a chunk; what follows it
/// is erased.
std::vector<std::byte> make_flash_image(const options& how);

}  // namespace freehca::model
