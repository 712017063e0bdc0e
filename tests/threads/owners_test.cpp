// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Four owners on four threads, the control owner on a fifth, the adapter on a sixth. FREEHCA_SECONDS
// says how long traffic runs.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/in_process/gate.hpp>
#include <freehca/in_process/machine.hpp>
#include <freehca/loopback_traffic/owner_traffic.hpp>

#include "../model/driver/words.hpp"
#include "sleeper.hpp"

namespace freehca::testing {
namespace {

using loopback_traffic::owner_traffic;
using loopback_traffic::scattered_memory;

constexpr unsigned contexts = 4;

class storage {
 public:
  explicit storage(std::size_t bytes) : bytes_(bytes), units_(bytes / sizeof(unit) + 1) {}
  std::byte* at() { return units_.data()->bytes; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct alignas(16) unit {
    std::byte bytes[16];
  };
  std::size_t bytes_;
  std::vector<unit> units_;
};

class owners_on_threads : public ::testing::Test {
 protected:
  struct owner {
    owner_traffic traffic;
    event_verbs objects;
    sleeper bed;
    scattered_memory buffer;
    std::unique_ptr<storage> room;
    std::string name;
    std::thread thread;
  };

  void SetUp() override {
    in_process::let_threads_in();
    budget_.completion_event_queues = contexts;
    budget_.spare_context_blocks = 0;
    machine_ = std::make_unique<in_process::machine>();
    room_ = std::make_unique<storage>(device::storage_bytes(budget_));
    adapter_thread_ = std::thread([this] {
      while (!over_.load(std::memory_order_relaxed)) {
        machine_->step();
        // Its clock is not faster than the other threads', who are waited for by it.
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    device_setup setup{.platform = machine_->platform(),
                       .budget = budget_,
                       .storage = room_->at(),
                       .storage_bytes = room_->bytes(),
                       .wake = sleeper::waker,
                       .wake_context = &bed_};
    ASSERT_TRUE(device_.open(setup).ok());
    operation up;
    device_.bring_up(up);
    ASSERT_TRUE(finish(up).ok());
    for (unsigned i = 0; i < contexts; ++i) open(owners_.emplace_back(), i);
  }

  void TearDown() override {
    for (owner& o : owners_) {
      EXPECT_TRUE(o.objects.close().ok()) << o.name;
      o.buffer.release();
    }
    operation down;
    device_.tear_down(down);
    EXPECT_TRUE(finish(down).ok());
    EXPECT_TRUE(device_.holdings().none());
    device_.close();
    over_ = true;
    adapter_thread_.join();
    for (const std::string& c : machine_->complaints()) ADD_FAILURE() << c;
  }

  void open(owner& o, unsigned which) {
    o.name = "owner " + std::to_string(which);
    const verbs_budget objects = owner_traffic::objects_needed();
    event_owner_setup how;
    how.completion_context = which;
    how.name = o.name.c_str();
    how.wake = sleeper::waker;
    how.wake_context = &o.bed;
    o.room = std::make_unique<storage>(event_verbs::storage_bytes(budget_, objects, how.share));
    ASSERT_TRUE(o.buffer.allocate(machine_->platform(), owner_traffic::buffer_bytes, which).ok());
    const status s = o.objects.open(device_, budget_, objects, how, o.room->at(), o.room->bytes(),
                                    o.traffic.events());
    ASSERT_TRUE(s.ok()) << words(s);
  }

  /// The control owner's thread, once around.
  void turn() {
    if (device_.poll() != 0 || !device_.prepare_to_sleep()) return;
    if (device_.next_deadline() != 0) bed_.sleep(0);
  }
  status finish(operation& op) {
    while (!op.done()) turn();
    return op.outcome();
  }

  void begin() {
    const loopback_traffic::owner_port at{
        .port = 1, .lid = device_.port(1).lid, .mtu = device_.port(1).active_mtu};
    for (owner& o : owners_)
      o.thread = std::thread([this, &o, at] {
        o.traffic.run(o.objects, at, o.buffer, o.bed, stop_);
        running_.fetch_sub(1);
        bed_.wake();
      });
  }
  void end() {
    stop_ = true;
    while (running_.load() != 0) turn();
    for (owner& o : owners_) o.thread.join();
  }
  /// All have moved `more` messages since, or one has failed.
  bool all_moved(const std::vector<std::uint64_t>& since, std::uint64_t more) const {
    for (unsigned i = 0; i < contexts; ++i)
      if (owners_[i].traffic.messages.load() < since[i] + more) return false;
    return true;
  }
  std::vector<std::uint64_t> moved() const {
    std::vector<std::uint64_t> all;
    for (const owner& o : owners_) all.push_back(o.traffic.messages.load());
    return all;
  }
  void run_until_all_moved(std::uint64_t more) {
    const auto since = moved();
    while (!all_moved(since, more) && running_.load() == contexts) turn();
    EXPECT_EQ(running_.load(), contexts) << "somebody has stopped";
  }
  void run_as_long_as_told() {
    const char* const seconds = std::getenv("FREEHCA_SECONDS");
    if (seconds == nullptr) return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(seconds));
    while (std::chrono::steady_clock::now() < until && running_.load() == contexts) turn();
  }
  void expect_all_is_well(unsigned resets) {
    for (const owner& o : owners_) {
      EXPECT_TRUE(o.traffic.outcome.ok()) << o.name << ": " << words(o.traffic.outcome);
      EXPECT_EQ(o.traffic.wrong, "") << o.name;
      EXPECT_EQ(o.traffic.resets, resets) << o.name;
      std::printf("%s: %llu messages, woken %llu times\n", o.name.c_str(),
                  static_cast<unsigned long long>(o.traffic.messages.load()),
                  static_cast<unsigned long long>(o.bed.woken()));
    }
  }

  budget budget_;
  std::unique_ptr<in_process::machine> machine_;
  std::unique_ptr<storage> room_;
  sleeper bed_;
  device device_;
  std::deque<owner> owners_;
  std::thread adapter_thread_;
  std::atomic<bool> over_{false}, stop_{false};
  std::atomic<unsigned> running_{contexts};
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
    operation again;
    device_.recover(again);
    const status s = finish(again);
    ASSERT_TRUE(s.ok()) << words(s);
  }
  run_until_all_moved(50);
  run_as_long_as_told();
  end();
  expect_all_is_well(10);
}

}  // namespace
}  // namespace freehca::testing
