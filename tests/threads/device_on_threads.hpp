// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/hca/device.hpp>
#include <freehca/in_process/gate.hpp>
#include <freehca/in_process/machine.hpp>

#include "sleeper.hpp"

namespace freehca::testing {

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

/// The adapter on a thread of its own, and a device that is up, on the thread of the test.
class device_on_threads : public ::testing::Test {
 protected:
  void bring_up(unsigned contexts, const entry_check& entry = {}) {
    in_process::let_threads_in();
    budget.completion_event_queues = contexts;
    budget.spare_context_blocks = 0;
    machine = std::make_unique<in_process::machine>();
    room = std::make_unique<storage>(device::storage_bytes(budget));
    adapter_thread = std::thread([this] {
      while (!over.load(std::memory_order_relaxed)) {
        machine->step();
        // Its clock is not faster than the other threads', who are waited for by it.
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    device_setup setup{.platform = machine->platform(),
                       .budget = budget,
                       .storage = room->at(),
                       .storage_bytes = room->bytes(),
                       .wake = sleeper::waker,
                       .wake_context = &bed,
                       .entry = entry};
    ASSERT_TRUE(adapter.open(setup).ok());
    operation up;
    adapter.bring_up(up);
    ASSERT_TRUE(finish(up).ok());
  }
  void tear_down() {
    operation down;
    adapter.tear_down(down);
    EXPECT_TRUE(finish(down).ok());
    EXPECT_TRUE(adapter.holdings().none());
    adapter.close();
    EXPECT_EQ(machine->dma_blocks(), 0u);
    over = true;
    adapter_thread.join();
    for (const std::string& c : machine->complaints()) ADD_FAILURE() << c;
  }

  /// The control owner's thread, once around.
  void turn() {
    if (adapter.poll() != 0 || !adapter.prepare_to_sleep()) return;
    if (adapter.next_deadline() != 0) bed.sleep(0);
  }
  status finish(operation& op) {
    while (!op.done()) turn();
    return op.outcome();
  }

  freehca::budget budget;
  std::unique_ptr<in_process::machine> machine;
  std::unique_ptr<storage> room;
  sleeper bed;
  device adapter;
  std::thread adapter_thread;
  std::atomic<bool> over{false};
};

}  // namespace freehca::testing
