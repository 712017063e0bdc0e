// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

namespace freehca::run {

/// Prints this user's fabrics with their members on stdout: a line for each, or one JSON object.
/// Returns the exit status: system_error if the members of a fabric cannot be read, otherwise 0.
int list_fabrics(bool json);

}  // namespace freehca::run
