// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The thread that runs the adapter of a program whose own threads sleep, or look at memory alone.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <freehca/in_program/adapter.hpp>

#include "machine_time.hpp"

namespace freehca::in_program {

namespace {

/// For so long after a call of work_while_polling() the caller is expected to call again.
constexpr std::uint64_t polled_lately = 200'000;
/// A packet that waits shows that the caller does not, if the program has run for so long since the
/// last call. (A program that polls may have lost its processor to another one.)
constexpr std::uint64_t ran_without_poll = 20'000;
/// The helper then runs each packet for so long.
constexpr std::uint64_t expectation_off = 20'000'000;
constexpr std::uint64_t nap = 100'000, longest_sleep = 1'000'000'000;
/// How much earlier than the helper's next look a timer has to be to wake it.
constexpr std::uint64_t timer_margin = 50'000;
/// Between two looks for work without a sleep. Waking a thread costs a sender more than this.
constexpr std::uint64_t looks_again_for = 20'000;
/// A helper that spins takes a processor from a program that polls or from its peer, unless there
/// are more than these.
constexpr int few_processors = 2;

/// Linux's `struct sched_attr`, of the first version.
struct scheduling {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};
static_assert(sizeof(scheduling) == 48);

/// Asks for short slices. Linux (6.12 and later) then has the thread preempt one of the program
/// that looks at memory alone, instead of letting that thread's slice of milliseconds end first.
/// Older kernels ignore it.
void ask_for_short_slices() {
  constexpr std::uint64_t slice = 100'000;  // nanoseconds, the least that Linux has
  scheduling how{};
  if (syscall(SYS_sched_getattr, 0, &how, sizeof how, 0) != 0 || how.policy != SCHED_OTHER) return;
  how.size = sizeof how;
  how.runtime = slice;
  syscall(SYS_sched_setattr, 0, &how, 0);
}

/// How many processors the calling thread may run on.
int processors() {
  cpu_set_t usable;
  return sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
}

}  // namespace

void adapter::start_helper(std::function<void()> serve) {
  serve_ = std::move(serve);
  ending_ = false;
  // The thread inherits the mask. A handler of the program's must not run on it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  helper_ = std::thread([this] { help(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void adapter::stop_helper() {
  if (!helper_.joinable()) return;
  ending_ = true;
  if (how_.link != nullptr) how_.link->wake();
  helper_.join();
}

void adapter::wake_helper_for_timer() {
  const std::uint64_t wakes_at = helper_wakes_at_.load(), deadline = timer_.load();
  if (wakes_at == 0 || deadline + timer_margin >= wakes_at || deadline == never) return;
  helper_wakes_at_.store(0);
  how_.link->wake();
}

void adapter::help() {
  const bool may_spin = processors() > few_processors;
  prctl(PR_SET_TIMERSLACK, 1000UL);
  ask_for_short_slices();
  std::uint64_t last_work = 0;
  while (!ending_.load(std::memory_order_relaxed)) {
    const bool any = work_as_helper();
    if (interrupted_.load(std::memory_order_acquire)) serve_();
    const std::uint64_t now = machine_time();
    if (any) last_work = now;
    if (!may_spin || now - last_work >= looks_again_for) rest();
  }
}

/// Waits for the adapter's lock. A helper that only tried would spin where packets wait, and would
/// keep the thread that holds the lock from its processor.
bool adapter::work_as_helper() {
  const std::lock_guard held(running_);
  return run_due(machine_time());
}

/// Sleeps until there is something to do, or until a thread that polls should have done it.
void adapter::rest() {
  const std::uint64_t now = machine_time();
  const std::uint64_t polled = last_poll_.load(std::memory_order_relaxed);
  if (now >= polls_missed_until_ && polled + polled_lately > now) {
    const std::uint64_t ran = processor_time();
    const timespec pause{0, static_cast<long>(nap)};
    nanosleep(&pause, nullptr);
    if (how_.link != nullptr && last_poll_.load(std::memory_order_relaxed) == polled &&
        processor_time() - ran >= ran_without_poll && how_.link->pending())
      polls_missed_until_ = machine_time() + expectation_off;
    return;
  }
  const std::uint64_t timer = timer_.load(std::memory_order_relaxed);
  const std::uint64_t time_now = time() - lag_.load(std::memory_order_relaxed);
  if (timer <= time_now) return;
  const std::uint64_t most = std::min(timer - time_now, longest_sleep);
  if (how_.link != nullptr) {
    helper_wakes_at_.store(time_now + most);
    if (timer_.load() < time_now + most) return helper_wakes_at_.store(0);  // armed meanwhile
    how_.link->sleep(most);
    return helper_wakes_at_.store(0);
  }
  const timespec pause{0, static_cast<long>(std::min(most, nap))};
  nanosleep(&pause, nullptr);
}

}  // namespace freehca::in_program
