// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests of several threads to one that sleeps whenever it can: none is lost, none overtakes
// another of its thread, and what was written before it crossed is there.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/hal/crossing.hpp>

#include "sleeper.hpp"

namespace freehca::testing {
namespace {

constexpr unsigned askers = 4, requests_each = 20'000;

struct asker;
struct request : crossing {
  asker* from = nullptr;
  unsigned number = 0;  // written by who asks, read by who is asked, and the other way round
  bool at_home = true;
};
struct asker {
  inbox mail;
  sleeper bed;
  std::array<request, 8> under_way;
  unsigned answered = 0;
  unsigned last = 0;  // seen by who is asked
};

struct asked {
  inbox mail;
  sleeper bed;
};

void serve(asked& self, const std::atomic<bool>& stop) {
  while (!stop.load(std::memory_order_relaxed))
    if (self.mail.take() == 0 && self.mail.prepare_to_sleep()) self.bed.sleep(0);
}

void ask(asker& self, asked& whom) {
  unsigned sent = 0;
  const auto send = [&](request& r) {
    r.from = &self;
    r.number = ++sent;
    r.at_home = false;
    r.arrive = [](crossing& c) noexcept {
      auto& arrived = static_cast<request&>(c);
      EXPECT_EQ(arrived.number, ++arrived.from->last) << "in the order of asking";
      arrived.number += 1'000'000;
      arrived.arrive = [](crossing& back) noexcept {
        auto& home = static_cast<request&>(back);
        EXPECT_GT(home.number, 1'000'000u) << "what was answered is there";
        ++home.from->answered;
        home.at_home = true;
      };
      arrived.from->mail.put(arrived);
    };
    whom.mail.put(r);
  };
  while (self.answered < requests_each) {
    for (request& r : self.under_way)
      if (r.at_home && sent < requests_each) send(r);
    if (self.mail.take() == 0 && self.mail.prepare_to_sleep()) self.bed.sleep(0);
  }
}

TEST(crossing, of_many_threads_to_one_that_sleeps) {
  asked control;
  control.mail.open(sleeper::waker, &control.bed);
  std::vector<asker> all(askers);
  for (asker& a : all) a.mail.open(sleeper::waker, &a.bed);
  std::atomic<bool> stop{false};
  std::thread served([&] { serve(control, stop); });
  std::vector<std::thread> threads;
  threads.reserve(askers);
  for (asker& a : all) threads.emplace_back([&] { ask(a, control); });
  for (std::thread& t : threads) t.join();
  stop.store(true);
  control.bed.wake();
  served.join();
  for (const asker& a : all) EXPECT_EQ(a.answered, requests_each);
}

}  // namespace
}  // namespace freehca::testing
