// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "counted.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace freehca::bench {
namespace {

const char* driver_name = "";

}  // namespace

void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

void need_counted_clock() {
  std::vector<double> passed;
  for (unsigned i = 0; i < 5; ++i) {
    std::uint64_t turns = 1000;
    const std::uint64_t began = executed();
    asm volatile("1: dec %0; jnz 1b" : "+r"(turns) : : "cc");
    passed.push_back(static_cast<double>(executed() - began));
  }
  if (median(passed) >= 2000 && median(passed) < 2020) return;
  std::fprintf(stderr, "bench: 2000 instructions last %.0f: boot with -icount shift=0\n",
               median(passed));
  std::exit(EXIT_FAILURE);
}

void let_device_work() {
  timespec t{0, 20'000'000};
  while (nanosleep(&t, &t) != 0) continue;
}

double median(std::vector<double> of) {
  std::ranges::sort(of);
  return of[of.size() / 2];
}

void tell_driver(const char* name) {
  driver_name = name;
}

void tell(const char* row, double instructions) {
  std::printf("{\"driver\": \"%s\", \"row\": \"%s\", \"instructions\": %.1f}\n", driver_name, row,
              instructions);
  std::fflush(stdout);
}

idler::idler() {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("mmap");
  loops_ = static_cast<std::uint64_t*>(page);
  process_ = fork();
  if (process_ < 0) fail("fork");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const sched_param none{};
    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) _exit(EXIT_FAILURE);
    raise(SIGSTOP);
    for (;;) asm volatile("1: incq %0; jmp 1b" : "+m"(*loops_));
  }
  int how = 0;
  if (waitpid(process_, &how, WUNTRACED) != process_ || !WIFSTOPPED(how)) fail("the idle process");
}

void idler::need_idleness() const {
  go_on();
  const std::uint64_t clock = executed(), work = others();
  let_device_work();
  const std::uint64_t passed = executed() - clock, worked = others() - work;
  rest();
  if (worked < passed / 50) return;
  std::fprintf(stderr, "bench: %llu of %llu instructions were not idle while all slept\n",
               static_cast<unsigned long long>(worked), static_cast<unsigned long long>(passed));
  std::exit(EXIT_FAILURE);
}

idler::~idler() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void idler::go_on() const {
  kill(process_, SIGCONT);
}

void idler::rest() const {
  kill(process_, SIGSTOP);
  int how = 0;
  if (waitpid(process_, &how, WUNTRACED) != process_ || !WIFSTOPPED(how)) fail("the idle process");
}

}  // namespace freehca::bench
