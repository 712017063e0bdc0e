// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::device_server {

/// Catches SIGBUS from here on: a client may cut the file short whose pages are mapped here.
void guard_copies();

/// Copies; false when a page on the way was not there any more. Four bytes, or eight, at an address
/// in `shared` that is a multiple of that go as one access: the client may look at them meanwhile.
bool copy_from_shared(void* to, const void* shared, std::size_t bytes);
bool copy_to_shared(void* shared, const void* from, std::size_t bytes);

}  // namespace freehca::device_server
