// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Four owners on four threads, the control owner on a fifth, the adapter on a sixth.
// FREEHCA_SECONDS says how long traffic runs.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <freehca/loopback_traffic/owner_traffic.hpp>

#include "../model/driver/words.hpp"
#include "device_on_threads.hpp"
#include "owner_mutex.hpp"

namespace freehca::testing {
namespace {

using loopback_traffic::owner_traffic;
using loopback_traffic::scattered_memory;

constexpr unsigned contexts = 4;

class owners_on_threads : public device_on_threads {
 protected:
  struct owner {
    owner_mutex lock;
    owner_traffic traffic;
    verbs objects;
    sleeper bed;
    scattered_memory buffer;
    std::unique_ptr<storage> room;
    std::string name;
    std::thread thread;
  };

  void SetUp() override {
    bring_up(contexts);
    without_owners = adapter.holdings();
    for (unsigned i = 0; i < contexts; ++i) open(owners.emplace_back(), i);
  }

  void TearDown() override {
    for (owner& o : owners) {
      const std::lock_guard held(o.lock);
      EXPECT_TRUE(o.objects.close().ok()) << o.name;
      o.buffer.release();
    }
    const device_holdings left = adapter.holdings();
    EXPECT_EQ(left.numbers, without_owners.numbers);
    EXPECT_EQ(left.pages, without_owners.pages);
    EXPECT_EQ(left.mappings, without_owners.mappings);
    EXPECT_EQ(left.doorbells, without_owners.doorbells);
    EXPECT_EQ(left.in_doubt(), 0u);
    tear_down();
  }

  void open(owner& o, unsigned which) {
    o.name = "owner " + std::to_string(which);
    const verbs_budget objects = owner_traffic::objects_needed();
    event_owner_setup how;
    how.completion_context = which;
    how.name = o.name.c_str();
    how.wake = sleeper::waker;
    how.wake_context = &o.bed;
    how.entry = o.lock.entry();
    o.room = std::make_unique<storage>(verbs::event_owner_storage_bytes(objects));
    ASSERT_TRUE(o.buffer.allocate(machine->platform(), owner_traffic::buffer_bytes, which).ok());
    const status s =
        o.objects.open(adapter, objects, how, o.room->at(), o.room->bytes(), o.traffic.events());
    ASSERT_TRUE(s.ok()) << words(s);
  }

  void begin() {
    const loopback_traffic::owner_port at{
        .port = 1, .lid = adapter.port(1).lid, .mtu = adapter.port(1).active_mtu};
    for (owner& o : owners)
      o.thread = std::thread([this, &o, at] {
        const std::lock_guard held(o.lock);
        o.traffic.run(o.objects, at, o.buffer, o.bed, stop);
        running.fetch_sub(1);
        bed.wake();
      });
  }
  void end() {
    stop = true;
    while (running.load() != 0) turn();
    for (owner& o : owners) o.thread.join();
  }
  /// All have moved `more` messages since, or one has failed.
  bool all_moved(const std::vector<std::uint64_t>& since, std::uint64_t more) const {
    for (unsigned i = 0; i < contexts; ++i)
      if (owners[i].traffic.messages.load() < since[i] + more) return false;
    return true;
  }
  std::vector<std::uint64_t> moved() const {
    std::vector<std::uint64_t> all;
    for (const owner& o : owners) all.push_back(o.traffic.messages.load());
    return all;
  }
  void run_until_all_moved(std::uint64_t more) {
    const auto since = moved();
    while (!all_moved(since, more) && running.load() == contexts) turn();
    EXPECT_EQ(running.load(), contexts) << "somebody has stopped";
  }
  /// One of so many parts of the time.
  void run_as_long_as_told(int parts = 1) {
    const char* const seconds = std::getenv("FREEHCA_SECONDS");
    if (seconds == nullptr) return;
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(std::atoi(seconds) * 1000 / parts);
    while (std::chrono::steady_clock::now() < until && running.load() == contexts) turn();
  }
  void expect_all_is_well(unsigned resets) {
    std::uint64_t queries_ended = 0;
    for (const owner& o : owners) {
      EXPECT_TRUE(o.traffic.outcome.ok()) << o.name << ": " << words(o.traffic.outcome);
      EXPECT_EQ(o.traffic.wrong, "") << o.name;
      EXPECT_EQ(o.traffic.resets, resets) << o.name;
      // Each reset ends at least the receive that nothing completes.
      EXPECT_GE(o.traffic.requests_ended, resets) << o.name;
      EXPECT_EQ(o.traffic.requests_ended != 0, resets != 0) << o.name;
      queries_ended += o.traffic.queries_ended;
      std::printf("%s: %llu messages, woken %llu times, resets ended %llu requests, %llu queries\n",
                  o.name.c_str(), static_cast<unsigned long long>(o.traffic.messages.load()),
                  static_cast<unsigned long long>(o.bed.woken()),
                  static_cast<unsigned long long>(o.traffic.requests_ended),
                  static_cast<unsigned long long>(o.traffic.queries_ended));
    }
    // Most resets find a query of an owner under way.
    EXPECT_EQ(queries_ended != 0, resets != 0);
  }

  device_holdings without_owners;
  std::deque<owner> owners;
  std::atomic<bool> stop{false};
  std::atomic<unsigned> running{contexts};
};

TEST_F(owners_on_threads, move_verified_data) {
  begin();
  run_until_all_moved(200);
  run_as_long_as_told();
  end();
  expect_all_is_well(0);
}

TEST_F(owners_on_threads, move_verified_data_while_the_device_is_reset_ten_times) {
  begin();
  for (unsigned i = 0; i < 10; ++i) {
    run_until_all_moved(50);
    run_as_long_as_told(10);
    operation again;
    adapter.recover(again);
    const status s = finish(again);
    ASSERT_TRUE(s.ok()) << words(s);
  }
  run_until_all_moved(50);
  end();
  expect_all_is_well(10);
}

#ifndef NDEBUG
TEST_F(owners_on_threads, that_are_used_without_their_lock_trap_in_debug_builds_and_are_named) {
  // What dies is a process of its own, not a copy of this one amid its threads.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  owner& o = owners[2];
  EXPECT_DEATH(o.objects.poll(), "called but not entered: owner 2");
  EXPECT_DEATH(static_cast<void>(o.objects.create<protection_domain>()), "owner 2");
}
#endif

}  // namespace
}  // namespace freehca::testing
