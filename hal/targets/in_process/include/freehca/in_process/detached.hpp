// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <coroutine>
#include <exception>

namespace freehca::in_process {

/// A coroutine that starts at once and that no other coroutine awaits. It reports its end itself.
/// Its frame is on the heap, so only hosted programs use it. An exception that leaves it
/// terminates the program.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

}  // namespace freehca::in_process
