// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <string>

namespace freehca::ibverbs {

/// Return addresses of a call of the program, from the inside to the outside. The first one is that
/// of the exported function. Null: there are no more.
struct program_place {
  static constexpr unsigned most = 4;
  const void* at[most] = {};

  explicit operator bool() const { return at[0] != nullptr; }
};

/// `caller` is what __builtin_return_address(0) is in the exported function from which this is
/// called.
program_place unwind_to(const void* caller);

/// The place for messages. With debug information it is "setup_buffers (my_test.c:12), by main
/// (my_test.c:40)". With a symbol alone it is "setup_buffers+0x41 (my_test)", otherwise
/// "my_test+0x1141". Functions of libibverbs' header are left out. Any thread can call it. libdw is
/// loaded for the first call. Without libdw there are dynamic symbols alone.
std::string place_of(const program_place& at);
/// The name of its innermost function, or the whole place.
std::string function_at(const program_place& at);

/// Called around fork(): the child must not inherit the lock of another thread.
void lock_places();
void unlock_places();

}  // namespace freehca::ibverbs
