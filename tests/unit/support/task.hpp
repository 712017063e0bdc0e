// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdlib>

namespace freehca::testing {

/// A coroutine whose frame comes from the heap, by operators that the promise brings itself.
struct task {
  struct promise_type {
    static void* operator new(std::size_t bytes) noexcept { return std::malloc(bytes); }
    static void operator delete(void* frame) noexcept { std::free(frame); }
    static task get_return_object_on_allocation_failure() noexcept { return {}; }
    task get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {}
  };
};

}  // namespace freehca::testing
