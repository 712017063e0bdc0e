// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

namespace planted {
/// Does what short_paths.py refuses: a file of the core beyond those of the flow, and a call by
/// pointer of no known kind.
void file_and_call();
}  // namespace planted
