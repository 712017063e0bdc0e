// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>

namespace freehca::wires::shm {

/// How many fork()s lie between the first process and this one. A port whose number differs belongs
/// to an ancestor of this process.
extern std::atomic<unsigned> process_forks;

}  // namespace freehca::wires::shm
