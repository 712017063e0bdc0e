// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <functional>

namespace freehca::fuzz {

/// Starts a child process. It calls begin(), waits until this process has ended, however that
/// happens, calls at_end() and ends. Returns when begin() has returned true; traps if it returned
/// false. Called before this process starts threads.
void start_surviving_child(const std::function<bool()>& begin, const std::function<void()>& at_end);

}  // namespace freehca::fuzz
