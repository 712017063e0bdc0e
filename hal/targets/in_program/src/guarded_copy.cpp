// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "guarded_copy.hpp"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace freehca::in_program {

namespace {

sigjmp_buf fault;
std::atomic<bool> copying{false};
pthread_t copying_thread;
struct sigaction before_segv, before_bus;

void on_fault(int number, siginfo_t* what, void* context) {
  if (copying.load(std::memory_order_relaxed) && pthread_equal(copying_thread, pthread_self()) != 0)
    siglongjmp(fault, 1);
  const struct sigaction& before = number == SIGBUS ? before_bus : before_segv;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, what, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(number);
  // The access is repeated when this returns, and ends the process.
  signal(number, SIG_DFL);
}

void install(int number, struct sigaction& before) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
  before = now;
  now.sa_sigaction = on_fault;
  // A fault in the handler of the program's, and the one behind a siglongjmp, are not blocked.
  now.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&now.sa_mask);
  sigaction(number, &now, nullptr);
}

/// A fault that its thread blocks ends the process. Threads that block all signals, as the helper
/// does, copy too.
void unblock_faults() {
  thread_local bool unblocked = false;
  if (unblocked) return;
  unblocked = true;
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigaddset(&faults, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

template <class Word>
void copy_word(void* to, const void* from) {
  *static_cast<volatile Word*>(to) = *static_cast<const volatile Word*>(from);
}

void copy(void* to, const void* from, std::size_t bytes) {
  const auto places = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
  if (bytes == 8 && places % 8 == 0) return copy_word<std::uint64_t>(to, from);
  if (bytes == 4 && places % 4 == 0) return copy_word<std::uint32_t>(to, from);
  std::memcpy(to, from, bytes);
}

}  // namespace

void install_guard() {
  install(SIGSEGV, before_segv);
  install(SIGBUS, before_bus);
}

bool guarded_copy(void* to, const void* from, std::size_t bytes) noexcept {
  unblock_faults();
  copying_thread = pthread_self();
  if (sigsetjmp(fault, 0) != 0) {
    copying.store(false, std::memory_order_relaxed);
    return false;
  }
  copying.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace freehca::in_program
