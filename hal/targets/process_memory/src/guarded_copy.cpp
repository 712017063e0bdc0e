// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/process_memory/guarded_copy.hpp>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace freehca::process_memory {

namespace {

sigjmp_buf fault;
std::atomic<bool> copying{false};
pthread_t copying_thread;

/// Of one signal: the dispositions that this handler has replaced.
struct replaced {
  struct sigaction first {};  // at the first installation
  struct sigaction last {};   // at the last one; the same unless the program has its own since
};
replaced segv, bus;

/// The fault that is being handed on to a handler of the program's.
const void* handed_on = nullptr;
const void* handed_on_from = nullptr;  // a place on the stack

/// Whether a handler of the program's hands the fault on to its predecessor, which is this handler.
/// It then runs deeper in the stack, with the same context.
bool comes_back(const void* context, const void* here) {
  return context == handed_on && here < handed_on_from;
}

void on_fault(int number, siginfo_t* what, void* context) {
  const bool is_fault = what->si_code > 0;  // else the signal was sent
  if (is_fault && copying.load(std::memory_order_relaxed) &&
      pthread_equal(copying_thread, pthread_self()) != 0)
    siglongjmp(fault, 1);
  const replaced& all = number == SIGBUS ? bus : segv;
  const void* const here = __builtin_frame_address(0);
  const struct sigaction& next = comes_back(context, here) ? all.first : all.last;
  handed_on = context;
  handed_on_from = here;
  if ((next.sa_flags & SA_SIGINFO) != 0) return next.sa_sigaction(number, what, context);
  if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) return next.sa_handler(number);
  if (!is_fault && next.sa_handler == SIG_IGN) return;
  // A fault is repeated when this returns, and ends the process.
  signal(number, SIG_DFL);
  if (!is_fault) raise(number);
}

void install(int number, replaced& before) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
  static bool known[NSIG];
  if (!known[number]) before.first = now;
  known[number] = true;
  before.last = now;
  now.sa_sigaction = on_fault;
  // A fault in the handler of the program's, and the one behind a siglongjmp, are not blocked.
  now.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&now.sa_mask);
  sigaction(number, &now, nullptr);
}

/// A fault that its thread blocks ends the process. Threads that block all signals, as the helper
/// does, copy too.
void unblock_faults() {
  // Found without a call, which each access of the adapter would have to make.
  [[gnu::tls_model("initial-exec")]] static thread_local bool unblocked = false;
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
  install(SIGSEGV, segv);
  install(SIGBUS, bus);
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

}  // namespace freehca::process_memory
