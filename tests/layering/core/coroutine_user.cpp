// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A user of co_await without a heap: the frame lies in storage of the promise type.
#include <coroutine>

#include <freehca/firmware_cmds/channel.hpp>
#include <freehca/firmware_cmds/nop.hpp>
#include <freehca/firmware_cmds/query.hpp>

namespace freehca {

struct sequence_of_commands {
  struct alignas(void*) promise_type {
    static void* operator new(std::size_t bytes) noexcept {
      alignas(16) static std::byte frame[4096];
      return bytes <= sizeof frame ? frame : nullptr;
    }
    static void operator delete(void*) noexcept {}
    static sequence_of_commands get_return_object_on_allocation_failure() noexcept { return {}; }
    sequence_of_commands get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {}
  };
};

sequence_of_commands ask(channel& ch, status& outcome, std::uint64_t& reserved_lkey);
sequence_of_commands ask(channel& ch, status& outcome, std::uint64_t& reserved_lkey) {
  firmware_command<commands::nop> alive;
  ch.submit(alive);
  outcome = co_await alive;
  if (!outcome.ok()) co_return;
  firmware_command<commands::query_dev_cap> query;
  ch.submit(query);
  outcome = co_await query;
  if (outcome.ok()) reserved_lkey = query.output.get<&layouts::query_dev_cap::reserved_lkey>();
}

}  // namespace freehca
