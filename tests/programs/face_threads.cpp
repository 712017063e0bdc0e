// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "face.hpp"

namespace programs {

namespace {

void threads_have_queue_pairs_of_their_own(std::uint64_t seed) {
  opened_device device;
  constexpr unsigned threads = 2, writes = 500;
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&device, seed, t] {
      loop pairs(device, seed + t);
      std::uint64_t own = seed + t;
      for (unsigned i = 0; i < writes; ++i) {
        pairs.from.bytes[next_random(own) % loop::bytes] ^= 0x55;
        pairs.write("a write of thread " + std::to_string(t));
      }
      pairs.from.expected = pairs.from.bytes;
    });
  for (std::thread& t : running) t.join();
}

void threads_make_and_destroy(std::uint64_t seed) {
  opened_device device;
  constexpr unsigned threads = 3, rounds = 40;
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&device, seed, t] {
      for (unsigned i = 0; i < rounds; ++i)
        loop(device, seed + t * rounds + i).write("a write of thread " + std::to_string(t));
    });
  for (std::thread& t : running) t.join();
}

struct posting {
  loop& pairs;
  std::atomic<bool> started{false}, cancelled{false};
  unsigned completions = 0;
};

/// Posts when its cancellation is pending: the first cancellation point inside a function of the
/// face would end it there.
void* post_when_cancelled(void* argument) {
  auto& work = *static_cast<posting*>(argument);
  endpoint& pair = work.pairs.a;
  work.started = true;
  while (!work.cancelled) continue;
  for (unsigned i = 0; i < 10; ++i) {
    require(ibv_req_notify_cq(pair.send_cq, 0) == 0, "ibv_req_notify_cq");
    require(pair.post(work.pairs.write_request(i)) == 0, "ibv_post_send");
    ibv_wc done{};
    while (ibv_poll_cq(pair.send_cq, 1, &done) == 0) continue;
    if (done.status == IBV_WC_SUCCESS) ++work.completions;
  }
  pthread_testcancel();
  return nullptr;
}

void posting_threads_may_be_cancelled(std::uint64_t seed) {
  opened_device device;
  ibv_comp_channel* const channel = ibv_create_comp_channel(device.context);
  require(channel != nullptr, "ibv_create_comp_channel");
  fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  for (unsigned i = 0; i < 20; ++i) {
    loop pairs(device, seed + i, {.channel = channel});
    posting work{pairs};
    pthread_t thread;
    require(pthread_create(&thread, nullptr, post_when_cancelled, &work) == 0, "pthread_create");
    wait_until([&] { return work.started.load(); }, "the start of a thread");
    pthread_cancel(thread);
    work.cancelled = true;
    void* result = nullptr;
    require(pthread_join(thread, &result) == 0, "pthread_join");
    expect(result == PTHREAD_CANCELED, "the thread was cancelled");
    expect_equal(work.completions, 10, "writes before the cancellation");
    loop(device, seed).write("a write after the cancellation");
    ibv_cq* of = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(channel, &of, &context) == 0) ibv_ack_cq_events(of, 1);
  }
  expect_equal(ibv_destroy_comp_channel(channel), 0, "ibv_destroy_comp_channel");
}

/// The main thread ends the process while others use the device.
void exit_while_threads_work(std::uint64_t seed) {
  std::uint64_t random = seed;
  for (unsigned i = 0; i < 10; ++i) {
    const long delay = static_cast<long>(next_random(random) % 3'000'000);
    const pid_t child = fork_child([&] {
      auto* const device = new opened_device;
      std::atomic<unsigned> writes{0};
      for (unsigned t = 0; t < 2; ++t)
        std::thread([device, seed, t, &writes] {
          auto* const pairs = new loop(*device, seed + t);
          for (;;) {
            static_cast<void>(pairs->a.post(pairs->write_request(1)));
            ibv_wc done[4];
            static_cast<void>(ibv_poll_cq(pairs->a.send_cq, 4, done));
            ++writes;
          }
        }).detach();
      wait_until([&] { return writes > 20; }, "writes");
      const timespec pause{0, delay};
      nanosleep(&pause, nullptr);
      std::exit(0);
    });
    expect_equal(end_of_child(child), 0, "the end of a process whose threads work");
  }
}

/// A thread that holds a lock of the face when the process forks does not exist in the child.
void forks_while_threads_work(std::uint64_t seed) {
  opened_device device;
  std::atomic<bool> ended{false};
  std::vector<std::thread> running;
  for (unsigned t = 0; t < 2; ++t)
    running.emplace_back([&device, &ended, seed, t] {
      while (!ended) {
        loop pairs(device, seed + t);
        for (unsigned i = 0; i < 20; ++i) pairs.write("a write of the parent");
      }
    });
  for (unsigned i = 0; i < 20; ++i) {
    const pid_t child = fork_child([&device, seed] {
      expect_equal(ibv_dealloc_pd(device.pd), 0, "ibv_dealloc_pd of a dead object");
      expect_equal(ibv_close_device(device.context), 0, "ibv_close_device of a dead object");
      opened_device own;
      loop(own, seed).write("a write of the child");
    });
    expect_equal(end_of_child(child), 0, "the end of the child");
  }
  ended = true;
  for (std::thread& t : running) t.join();
}

loop* pairs_of_handler = nullptr;

/// A handler that calls exit() interrupts a thread that holds the locks of the face.
void exit_in_a_handler(std::uint64_t seed) {
  std::uint64_t random = seed;
  for (unsigned i = 0; i < 4; ++i) {
    const auto delay = static_cast<long>(1'000'000 + next_random(random) % 3'000'000);
    const pid_t child = fork_child([seed, delay] {
      auto* const device = new opened_device;
      pairs_of_handler = new loop(*device, seed);
      struct sigaction how {};
      how.sa_handler = [](int) { std::exit(0); };
      sigaction(SIGALRM, &how, nullptr);
      itimerval timer{};
      timer.it_value.tv_usec = delay / 1000;
      setitimer(ITIMER_REAL, &timer, nullptr);
      for (;;) {
        static_cast<void>(pairs_of_handler->a.post(pairs_of_handler->write_request(1)));
        ibv_wc done[4];
        static_cast<void>(ibv_poll_cq(pairs_of_handler->a.send_cq, 4, done));
      }
    });
    expect_equal(end_of_child(child), 0, "the end of a process by a handler");
  }
  opened_device device;
  loop(device, seed).write("a write afterwards");
}

}  // namespace

std::vector<test> thread_tests() {
  return {{"threads_have_queue_pairs_of_their_own", threads_have_queue_pairs_of_their_own},
          {"threads_make_and_destroy", threads_make_and_destroy},
          {"posting_threads_may_be_cancelled", posting_threads_may_be_cancelled},
          {"exit_while_threads_work", exit_while_threads_work},
          {"exit_in_a_handler", exit_in_a_handler},
          {"forks_while_threads_work", forks_while_threads_work}};
}

}  // namespace programs
