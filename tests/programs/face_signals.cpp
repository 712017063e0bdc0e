// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Handlers and masks of the program's own.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "face.hpp"

namespace programs {

namespace {

sigjmp_buf after_fault;
volatile sig_atomic_t faults = 0;
void* volatile fault_address = nullptr;

void on_fault(int, siginfo_t* what, void*) {
  faults = faults + 1;
  fault_address = what->si_addr;
  siglongjmp(after_fault, 1);
}

void cause_fault(char* at) {
  if (sigsetjmp(after_fault, 1) == 0) *const_cast<volatile char*>(at) = 1;
}

/// A protection error of the device's, by memory that is unmapped.
void cause_protection_error(opened_device& device, std::uint64_t seed) {
  constexpr std::size_t bytes = 64 << 20;
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(at != MAP_FAILED, "mmap");
  ibv_mr* const region = ibv_reg_mr(device.pd, at, bytes, 0);
  require(region != nullptr, "ibv_reg_mr");
  loop pairs(device, seed);
  pairs.list = {reinterpret_cast<std::uintptr_t>(at), 100, region->lkey};
  require(munmap(at, bytes) == 0, "munmap");
  require(pairs.a.post(pairs.write_request(1)) == 0, "ibv_post_send");
  expect_equal(pairs.a.sent("a request").status, IBV_WC_LOC_PROT_ERR, "status of a request");
  expect_equal(ibv_dereg_mr(region), 0, "ibv_dereg_mr");
}

void install_handler() {
  struct sigaction how {};
  how.sa_sigaction = on_fault;
  how.sa_flags = SA_SIGINFO;
  require(sigaction(SIGSEGV, &how, nullptr) == 0, "sigaction");
}

void expect_faults_reach_handler(int expected) {
  constexpr std::size_t bytes = 4096;
  void* const at = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(at != MAP_FAILED, "mmap");
  cause_fault(static_cast<char*>(at));
  expect_equal(faults, expected, "faults that have reached the program's handler");
  expect(fault_address == at, "the address of the fault");
  munmap(at, bytes);
}

void faults_reach_a_handler_from_before(std::uint64_t seed) {
  install_handler();
  opened_device device;
  expect_faults_reach_handler(1);
  cause_protection_error(device, seed);
  expect_equal(faults, 1, "faults after a protection error");
  expect_faults_reach_handler(2);
}

/// A program that installs its handler later has replaced the one of the face, until it registers
/// memory the next time.
void handlers_may_come_later(std::uint64_t seed) {
  opened_device device;
  install_handler();
  expect_faults_reach_handler(1);
  cause_protection_error(device, seed);
  expect_equal(faults, 1, "faults after a protection error");
  expect_faults_reach_handler(2);
}

/// A fault of the program that has no handler ends it with the signal.
void faults_without_handler_end_the_program(std::uint64_t seed) {
  const pid_t child = fork_child([&] {
    opened_device device;
    loop(device, seed).write("a write");
    *reinterpret_cast<volatile char*>(std::uintptr_t{8}) = 1;
  });
  expect_equal(end_of_child(child), 1000 + SIGSEGV, "the end of a child with a fault");
  opened_device device;
  loop(device, seed).write("a write of the parent");
}

/// Threads of the program that block all signals run the adapter too.
void blocked_threads_meet_faults(std::uint64_t seed) {
  opened_device device;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([&] {
    cause_protection_error(device, seed);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    expect(sigismember(&now, SIGUSR1) == 1, "a signal that the thread blocks is still blocked");
  }).join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  loop(device, seed).write("a write afterwards");
}

volatile sig_atomic_t handled_by = 0;

std::uint64_t blocked_signals(const std::filesystem::path& task) {
  std::ifstream status(task / "status");
  for (std::string word; status >> word;)
    if (word == "SigBlk:") {
      status >> word;
      return std::stoull(word, nullptr, 16);
    }
  return 0;
}

void threads_of_the_face_block_signals(std::uint64_t seed) {
  opened_device device;
  loop pairs(device, seed);
  struct sigaction how {};
  how.sa_handler = [](int) { handled_by = gettid(); };
  sigaction(SIGUSR1, &how, nullptr);
  sigset_t one, pending;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  unsigned others = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int number = std::stoi(task.path().filename());
    if (number == getpid()) continue;
    ++others;
    const std::uint64_t blocked = blocked_signals(task.path());
    // All but those that cannot be blocked, the C library's own, and faults.
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
                             SIGCHLD, SIGCONT, SIGTSTP, SIGURG, SIGPROF, SIGWINCH, SIGIO, SIGRTMIN})
      expect((blocked >> (signal - 1) & 1) != 0,
             "a thread of the face does not block signal " + std::to_string(signal));
  }
  expect(others > 0, "the face has a thread");
  kill(getpid(), SIGUSR1);
  pairs.write("a write while a signal is pending");
  expect_equal(handled_by, 0, "the thread that has run the handler");
  sigpending(&pending);
  expect(sigismember(&pending, SIGUSR1) == 1, "the signal is pending");
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  expect_equal(handled_by, gettid(), "the thread that has run the handler");
}

}  // namespace

std::vector<test> signal_tests() {
  return {{"faults_reach_a_handler_from_before", faults_reach_a_handler_from_before},
          {"handlers_may_come_later", handlers_may_come_later},
          {"faults_without_handler_end_the_program", faults_without_handler_end_the_program},
          {"blocked_threads_meet_faults", blocked_threads_meet_faults},
          {"threads_of_the_face_block_signals", threads_of_the_face_block_signals}};
}

}  // namespace programs
