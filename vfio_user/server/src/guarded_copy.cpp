// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "guarded_copy.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace freehca::device_server {
namespace {

// Only one thread of the server accesses the client's memory.
sigjmp_buf before_the_copy;
volatile std::sig_atomic_t copying = 0;

// If the fault is not in a copy, restore the default action. The fault then recurs and ends the
// process.
void bus_error(int number) {
  if (copying != 0) siglongjmp(before_the_copy, 1);
  signal(number, SIG_DFL);
}

template <class Copy>
bool guarded(const Copy& copy) {
  // The signal mask is not saved (the handler is SA_NODEFER), which saves two system calls.
  if (sigsetjmp(before_the_copy, 0) != 0) {
    copying = 0;
    return false;
  }
  copying = 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying = 0;
  return true;
}

bool is_multiple(const void* address, std::size_t of) {
  return reinterpret_cast<std::uintptr_t>(address) % of == 0;
}

template <class Word>
void load(void* to, const void* shared) {
  const Word value = __atomic_load_n(static_cast<const Word*>(shared), __ATOMIC_ACQUIRE);
  std::memcpy(to, &value, sizeof value);
}

template <class Word>
void store(void* shared, const void* from) {
  Word value;
  std::memcpy(&value, from, sizeof value);
  __atomic_store_n(static_cast<Word*>(shared), value, __ATOMIC_RELEASE);
}

}  // namespace

void guard_copies() {
  struct sigaction action {};
  action.sa_handler = bus_error;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGBUS, &action, nullptr);
}

bool copy_from_shared(void* to, const void* shared, std::size_t bytes) {
  return guarded([&] {
    if (bytes == 4 && is_multiple(shared, 4)) load<std::uint32_t>(to, shared);
    else if (bytes == 8 && is_multiple(shared, 8)) load<std::uint64_t>(to, shared);
    else std::memcpy(to, shared, bytes);
  });
}

bool copy_to_shared(void* shared, const void* from, std::size_t bytes) {
  return guarded([&] {
    if (bytes == 4 && is_multiple(shared, 4)) {
      store<std::uint32_t>(shared, from);
    } else if (bytes == 8 && is_multiple(shared, 8)) {
      store<std::uint64_t>(shared, from);
    } else {
      // Earlier writes become visible before this one.
      __atomic_thread_fence(__ATOMIC_RELEASE);
      std::memcpy(shared, from, bytes);
    }
  });
}

}  // namespace freehca::device_server
