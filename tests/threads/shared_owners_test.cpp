// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Owners that two threads use, one at a time, under the program's lock.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <freehca/hca/every_kind.hpp>
#include <freehca/hca/objects/verbs.hpp>
#include <freehca/loopback_traffic/scattered_memory.hpp>

#include "../model/driver/words.hpp"
#include "device_on_threads.hpp"
#include "owner_mutex.hpp"

namespace freehca::testing {
namespace {

constexpr unsigned threads = 2;
constexpr verbs_budget kinds = verbs_budget{}
                                   .with<protection_domain>(1)
                                   .with<memory_region>(1)
                                   .with<completion_queue>(150)
                                   .with<queue_pair>(2 * threads);

/// A lock, and the owners that threads enter by it.
struct locked_owners {
  owner_mutex lock;
  std::vector<verbs*> owners;

  /// Polls the owners until `done`, and lets the other thread in between. The caller holds the
  /// lock.
  void wait(const std::function<bool()>& done) {
    for (;;) {
      for (verbs* const o : owners) o->poll();
      if (done()) return;
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      lock.lock();
    }
  }
  /// Runs an operation of `objects` to its end. The caller holds the lock.
  template <class Operation, class... Arguments>
  void run(verbs& objects, Operation&& op, const Arguments&... arguments) {
    op.start(objects, arguments...);
    wait([&op] { return op.done(); });
    EXPECT_TRUE(op.outcome().ok()) << words(op.outcome());
  }
};

class shared_owners : public device_on_threads {
 protected:
  void SetUp() override {
    bring_up(1, control.lock.entry());
    const std::lock_guard held(control.lock);
    ASSERT_TRUE(objects.open(adapter, kinds, of_objects.at(), of_objects.bytes()).ok());
    control.owners.push_back(&objects);
  }
  void TearDown() override {
    const std::lock_guard held(control.lock);
    EXPECT_TRUE(objects.close().ok());
    tear_down();
  }
  /// Opens the event owner, which threads enter by the lock of `by`.
  void open_event_owner(locked_owners& by) {
    event_owner_setup how;
    how.name = "event owner";
    how.entry = by.lock.entry();
    ASSERT_TRUE(
        event_owner.open(adapter, kinds, how, of_event_owner.at(), of_event_owner.bytes()).ok());
    by.owners.push_back(&event_owner);
  }
  /// Two threads start creations of the event owner, and each destroys the operation of the other
  /// at any moment. `meanwhile` runs on the test's thread until both threads have ended.
  void destroy_by_turns(locked_owners& by, const std::function<void()>& meanwhile) {
    constexpr unsigned rounds = 60;
    std::array<std::unique_ptr<create_completion_queue>, threads> started;
    unsigned under_way = 0;
    const auto end = [&](std::unique_ptr<create_completion_queue> op) {
      if (op == nullptr) return;
      if (!op->done()) {
        ++under_way;
        return;
      }
      EXPECT_TRUE(op->outcome().ok()) << words(op->outcome());
      by.run(event_owner, destroy_completion_queue(), op->made());
    };
    const auto use = [&](unsigned self, std::atomic<bool>& ended) {
      const std::lock_guard held(by.lock);
      for (unsigned i = 0; i < rounds; ++i) {
        end(std::move(started[1 - self]));
        end(std::move(started[self]));
        started[self] = std::make_unique<create_completion_queue>();
        started[self]->start(event_owner, {.entries = 15});
        by.wait([polls = i % 7]() mutable { return polls-- == 0; });
      }
      end(std::move(started[self]));
      ended = true;
    };
    std::array<std::atomic<bool>, threads> ended{};
    std::thread one(use, 0u, std::ref(ended[0])), two(use, 1u, std::ref(ended[1]));
    while (!ended[0] || !ended[1]) meanwhile();
    one.join();
    two.join();
    EXPECT_NE(under_way, 0u);
  }

  storage of_objects{verbs::storage_bytes(budget, kinds)};
  storage of_event_owner{verbs::event_owner_storage_bytes(kinds)};
  locked_owners control;
  verbs objects, event_owner;
};

/// Two queue pairs of the control owner, connected to each other, that write from one page of a
/// buffer into the next one.
struct connected_pair {
  /// The caller holds the lock of `control`.
  void connect(locked_owners& control, verbs& objects, pd_handle domain, cq_handle cq) {
    for (create_queue_pair& one : pair)
      control.run(objects, one,
                  queue_pair_attributes{
                      .pd = domain, .send_cq = cq, .receive_cq = cq, .sends = 4, .receives = 1});
    const port_attributes& port = objects.adapter().port(1);
    for (unsigned i = 0; i < 2; ++i) {
      connection_attributes a;
      a.remote_write = true;
      a.path_mtu = port.active_mtu;
      a.remote_qpn = qpn_of(objects, pair[1 - i].made());
      a.address = infiniband_path{.dlid = port.lid};
      using layouts::qp_state;
      for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts})
        control.run(objects, modify_queue_pair(), pair[i].made(), to, a);
    }
    send = &objects.find(pair[0].made())->rings.send;
  }
  void destroy(locked_owners& control, verbs& objects) {
    for (create_queue_pair& one : pair) control.run(objects, destroy_queue_pair(), one.made());
  }
  /// Write number `n` of thread `self`, whose pages are 2 * self and 2 * self + 1.
  status post(loopback_traffic::scattered_memory& buffer, std::uint32_t key, unsigned self,
              unsigned n) {
    const std::size_t from = 2 * self * page;
    std::byte sent[bytes];
    std::memset(sent, static_cast<int>(n), bytes);
    buffer.store(from, sent, bytes);
    return send->post_and_ring(queues::rdma_write{
        .wr_id = self, .remote = {from + page, key}, .data = queues::entry_of(from, bytes, key)});
  }
  /// The same write has completed.
  void check(const loopback_traffic::scattered_memory& buffer, unsigned self, unsigned n) {
    std::byte sent[bytes], received[bytes];
    std::memset(sent, static_cast<int>(n), bytes);
    buffer.load((2 * self + 1) * page, received, bytes);
    EXPECT_EQ(std::memcmp(sent, received, bytes), 0) << "thread " << self << ", write " << n;
  }

  static constexpr std::size_t page = loopback_traffic::scattered_memory::page, bytes = 64;
  create_queue_pair pair[2];
  queues::sq* send = nullptr;
};

class shared_queues : public shared_owners {
 protected:
  static constexpr unsigned writes = 200;
  void SetUp() override {
    shared_owners::SetUp();
    ASSERT_TRUE(buffer.allocate(machine->platform(), 2 * threads * connected_pair::page, 1).ok());
    const std::lock_guard held(control.lock);
    domain = objects.create<protection_domain>().value();
    control.run(objects, region,
                memory_region_attributes{.pd = domain,
                                         .pages = buffer.pages(),
                                         .virtual_address = 0,
                                         .access = {.local_write = true, .remote_write = true}});
    key = key_of(objects, region.made());
    for (create_completion_queue& one : cq)
      control.run(objects, one, completion_queue_attributes{.entries = 15});
  }
  void TearDown() override {
    {
      const std::lock_guard held(control.lock);
      for (create_completion_queue& one : cq)
        control.run(objects, destroy_completion_queue(), one.made());
      control.run(objects, destroy_memory_region(), region.made());
      EXPECT_TRUE(objects.destroy(domain).ok());
      buffer.release();
    }
    shared_owners::TearDown();
  }
  /// Calls use(thread, its pair) on each of two threads.
  template <class Use>
  void on_two_threads(Use use) {
    std::thread one([&] { use(0u, pairs[0]); }), two([&] { use(1u, pairs[1]); });
    one.join();
    two.join();
  }

  loopback_traffic::scattered_memory buffer;
  pd_handle domain;
  create_memory_region region;
  std::uint32_t key = 0;
  std::array<create_completion_queue, threads> cq;
  std::array<connected_pair, threads> pairs;
};

TEST_F(shared_queues, move_data_of_two_threads_through_one_completion_queue) {
  std::array<unsigned, threads> posted{}, arrived{};
  unsigned found_for_the_other = 0;
  on_two_threads([&](unsigned self, connected_pair& pair) {
    const std::lock_guard held(control.lock);
    pair.connect(control, objects, domain, cq[0].made());
    for (unsigned n = 1; n <= writes; ++n) {
      ASSERT_TRUE(pair.post(buffer, key, self, n).ok());
      // So that one thread can find both completions.
      posted[self] = n;
      control.wait([&] { return posted[1 - self] >= n; });
      control.wait([&] {
        queues::work_completion done[4];
        const unsigned count = objects.find(cq[0].made())->rings.poll(done, 4);
        for (unsigned i = 0; i < count; ++i) {
          EXPECT_TRUE(done[i].ok());
          ++arrived[done[i].wr_id];
          found_for_the_other += done[i].wr_id != self;
        }
        return arrived[self] == n;
      });
      pair.check(buffer, self, n);
    }
    pair.destroy(control, objects);
  });
  EXPECT_NE(found_for_the_other, 0u) << "both threads use the completion queue";
}

// Nothing orders the two threads: each is inside a queue group of its own.
TEST_F(shared_queues, move_data_of_two_queue_groups_at_the_same_time) {
  std::array<queues::cq*, threads> rings{};
  {
    const std::lock_guard held(control.lock);
    for (unsigned i = 0; i < threads; ++i) {
      pairs[i].connect(control, objects, domain, cq[i].made());
      rings[i] = &objects.find(cq[i].made())->rings;
    }
  }
  on_two_threads([&](unsigned self, connected_pair& pair) {
    for (unsigned n = 1; n <= writes; ++n) {
      ASSERT_TRUE(pair.post(buffer, key, self, n).ok());
      queues::work_completion done;
      while (rings[self]->poll(&done, 1) == 0) std::this_thread::yield();
      EXPECT_TRUE(done.ok());
      EXPECT_EQ(done.wr_id, self);
      pair.check(buffer, self, n);
    }
  });
  const std::lock_guard held(control.lock);
  for (connected_pair& pair : pairs) pair.destroy(control, objects);
}

TEST_F(shared_owners, take_back_operations_that_either_thread_destroys_under_one_lock) {
  {
    const std::lock_guard held(control.lock);
    open_event_owner(control);
  }
  // The two threads alone poll the control owner. One that destroys an operation has entered it.
  destroy_by_turns(control, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  const std::lock_guard held(control.lock);
  control.wait([this] { return event_owner.holdings().none(); });
  EXPECT_TRUE(event_owner.close().ok());
}

TEST_F(shared_owners, take_back_operations_that_either_thread_destroys_under_a_lock_of_their_own) {
  locked_owners own;
  {
    const std::lock_guard first(control.lock);
    const std::lock_guard second(own.lock);
    open_event_owner(own);
  }
  destroy_by_turns(own, [this] {
    {
      const std::lock_guard held(control.lock);
      objects.poll();
    }
    std::this_thread::yield();
  });
  // This thread enters both owners, so it need not wait for another one.
  const std::lock_guard first(control.lock);
  const std::lock_guard second(own.lock);
  {
    create_completion_queue dropped;
    dropped.start(event_owner, {.entries = 15});
  }
  // The other threads have ended, so both locks stay held. locked_owners::wait() would release the
  // first lock and take it again behind the second: the order would be reversed.
  while (!event_owner.holdings().none()) {
    objects.poll();
    event_owner.poll();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  EXPECT_TRUE(event_owner.close().ok());
}

#ifndef NDEBUG
TEST_F(shared_owners, trap_in_debug_builds_a_thread_without_the_lock) {
  // What dies is a process of its own, not a copy of this one amid its threads.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto poll = [this] {
    const std::lock_guard held(control.lock);
    objects.poll();
  };
  std::thread(poll).join();
  poll();
  EXPECT_DEATH(objects.poll(), "called but not entered: control owner");
  EXPECT_DEATH(static_cast<void>(objects.create<protection_domain>()), "control owner");
}
#endif

}  // namespace
}  // namespace freehca::testing
