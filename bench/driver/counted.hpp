// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What the measurements of both drivers share: how instructions are counted in a guest whose clock
// counts them, and how the figures are told.
#pragma once

#include <csignal>
#include <cstdint>
#include <vector>

namespace freehca::bench {

/// Instructions that the guest's processor has executed, and what it slept: QEMU's -icount shift=0
/// has the time stamp counter go on by one for each instruction.
[[gnu::always_inline]] inline std::uint64_t executed() {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return std::uint64_t{high} << 32 | low;
}

/// The compiler knows nothing of the memory.
inline void unknown_memory(const void* at) {
  asm volatile("" : : "r"(at) : "memory");
}

[[noreturn, gnu::cold]] void fail(const char* what);

/// Ends the program where the counter counts something else.
void need_counted_clock();

/// Long enough for the device to carry out what was posted, on a clock that leaps over sleep.
void let_device_work();

double median(std::vector<double> of);

/// Prints one figure as a line of JSON.
void tell(const char* row, double instructions);
/// Before the first figure.
void tell_driver(const char* name);

/// What stands in for idleness, so that none of it is counted: a process that the kernel runs when
/// there is nothing else to run, and that counts its own instructions.
class idler {
 public:
  idler();
  ~idler();
  idler(const idler&) = delete;
  idler& operator=(const idler&) = delete;

  /// Ends the program where the kernel does much while everybody sleeps, or this cannot count.
  void need_idleness() const;

  void go_on() const;
  void rest() const;
  /// Counts on by the instructions of all others, the kernel among them, while this goes on.
  std::uint64_t others() const { return executed() - 2 * *loops_; }

 private:
  volatile std::uint64_t* loops_;
  int process_;
};

inline constexpr unsigned ring = 512;     ///< requests that the queues take
inline constexpr unsigned at_once = 256;  ///< requests of the smaller of two rounds
inline constexpr unsigned repetitions = 15;
inline constexpr unsigned call_rounds = 3;  ///< times that each call into a kernel is measured
inline constexpr unsigned message_bytes = 64;
inline constexpr unsigned region_bytes = 1u << 20;

/// What a round of posts and polls cost.
struct round_cost {
  std::uint64_t post = 0, poll = 0;
};
struct request_cost {
  double post = 0, poll = 0;
};

/// round(n) posts n requests, waits without counting until all have ended, and polls. What twice as
/// many requests cost more, for each request; the median of some rounds, for now and then the
/// kernel's tick falls into one.
template <class Round>
request_cost for_each_request(Round round) {
  for (unsigned i = 0; i < 4; ++i) round(2 * at_once);  // all pages are there, rings went round
  std::vector<double> post, poll;
  for (unsigned i = 0; i < repetitions; ++i) {
    const round_cost once = round(at_once), twice = round(2 * at_once);
    post.push_back(static_cast<double>(twice.post - once.post) / at_once);
    poll.push_back(static_cast<double>(twice.poll - once.poll) / at_once);
  }
  return {median(post), median(poll)};
}

/// The same of calls into the kernel or to the firmware: `make` and `end` are each called n times.
/// `count` returns the instructions so far that count. post: of make; poll: of end.
template <class Make, class End, class Count>
request_cost for_each_call(const idler& idle, unsigned n, Make make, End end, Count count) {
  const auto round = [&](unsigned calls) {
    round_cost c;
    std::uint64_t began = count();
    for (unsigned i = 0; i < calls; ++i) make(i);
    c.post = count() - began;
    began = count();
    for (unsigned i = 0; i < calls; ++i) end(i);
    c.poll = count() - began;
    return c;
  };
  idle.go_on();
  for (unsigned i = 0; i < 2; ++i) round(2 * n);
  std::vector<double> made, ended;
  for (unsigned i = 0; i < repetitions; ++i) {
    const round_cost once = round(n), twice = round(2 * n);
    made.push_back((static_cast<double>(twice.post) - static_cast<double>(once.post)) / n);
    ended.push_back((static_cast<double>(twice.poll) - static_cast<double>(once.poll)) / n);
  }
  idle.rest();
  return {median(made), median(ended)};
}

/// Counts others' instructions. Device time is not counted.
template <class Make, class End>
request_cost for_each_call(const idler& idle, unsigned n, Make make, End end) {
  return for_each_call(idle, n, make, end, [&idle] { return idle.others(); });
}

}  // namespace freehca::bench
