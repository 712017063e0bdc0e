// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::ibverbs {

/// The place of an instruction of this process, for messages. With debug information it is
/// "setup_buffers (my_test.c:12)". With a symbol alone it is "setup_buffers+0x41 (my_test)",
/// otherwise "my_test+0x1141". `return_address` is the address behind a call, as
/// __builtin_return_address() returns it. Any thread can call it. libdw is loaded for the first
/// call. Without libdw there are dynamic symbols alone.
std::string place_of(const void* return_address);

/// Called around fork(): the child must not inherit the lock of another thread.
void lock_places();
void unlock_places();

}  // namespace freehca::ibverbs
