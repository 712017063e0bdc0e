// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

#include <freehca/hal/status.hpp>

namespace freehca::ibverbs {

/// The status in English.
std::string words(status s);
/// The errno that libibverbs has for such an outcome; 0 for ok. A failure of the adapter, or a
/// refusal by its firmware, is also written to standard error, since errno has no room for it.
int errno_of(status s);
/// Writes once for each name that the function is not supported. Returns EOPNOTSUPP.
int refuse(const char* name);

}  // namespace freehca::ibverbs
