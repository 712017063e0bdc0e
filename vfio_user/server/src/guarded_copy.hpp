// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <cstddef>

namespace freehca::device_server {

/// Installs a handler for SIGBUS, because a client may shorten a file whose pages are mapped here.
void guard_copies();

/// Copies bytes. Returns false if a page does not exist any more. Four or eight bytes at an aligned
/// address in `shared` are copied by one access, because the client may access them at the same
/// time.
bool copy_from_shared(void* to, const void* shared, std::size_t bytes);
bool copy_to_shared(void* shared, const void* from, std::size_t bytes);

}  // namespace freehca::device_server
