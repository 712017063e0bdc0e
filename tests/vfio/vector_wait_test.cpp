// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A thread waits for a vector; the test is the kernel that signals it.
#include <freehca/vfio_host/vector_wait.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/vfio_host/vfio_device.hpp>

#include "old_kernel.hpp"

namespace freehca::vfio_host {
namespace {

using freehca::testing::last_epoll_sleep;

constexpr std::uint64_t millisecond = 1'000'000;

class vector_wait_test : public ::testing::Test {
 protected:
  struct heard {
    std::vector<unsigned> vectors;
    std::vector<std::thread::id> threads;
  };

  vector_wait_test() : event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    auto opened =
        vector_wait::open(event.get(), 3,
                          {[](void* to, unsigned vector) noexcept {
                             static_cast<heard*>(to)->vectors.push_back(vector);
                             static_cast<heard*>(to)->threads.push_back(std::this_thread::get_id());
                           },
                           &told},
                          [this] { ended = true; });
    EXPECT_TRUE(opened);
    wait = std::move(*opened);
  }
  void interrupt() {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(event.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }
  /// How long it slept, in nanoseconds.
  std::uint64_t sleep(std::uint64_t most) {
    const std::uint64_t began = vfio_device::clock();
    wait->wait(began + most);
    return vfio_device::clock() - began;
  }

  file event;
  heard told;
  bool ended = false;
  std::unique_ptr<vector_wait> wait;
};

TEST_F(vector_wait_test, sleeps_until_the_deadline_when_nothing_comes) {
  EXPECT_GE(sleep(20 * millisecond), 20 * millisecond);
  EXPECT_EQ(last_epoll_sleep.events, 0);
  wait->wait(0);
  EXPECT_EQ(last_epoll_sleep.nanoseconds, 0) << "it does not sleep";
  EXPECT_TRUE(told.vectors.empty());
}

TEST_F(vector_wait_test, tells_the_driver_of_each_interrupt_once_on_the_thread_that_waits) {
  std::thread owner([this] {
    wait->wait(vfio_device::clock() + 900 * millisecond);
    wait->wait(0);
  });
  const std::thread::id who = owner.get_id();
  interrupt();
  owner.join();
  EXPECT_EQ(told.vectors, std::vector<unsigned>{3});
  EXPECT_EQ(told.threads, std::vector<std::thread::id>{who});
  interrupt();
  wait->wait(0);
  EXPECT_EQ(told.vectors.size(), 2u) << "and of the next one";
}

TEST_F(vector_wait_test, is_woken_by_others) {
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    wait->wake();
  });
  sleep(900 * millisecond);
  EXPECT_EQ(last_epoll_sleep.events, 1) << "the wake ended it, not its deadline";
  other.join();
  EXPECT_TRUE(told.vectors.empty()) << "that is no interrupt";
  EXPECT_GE(sleep(20 * millisecond), 20 * millisecond) << "and by each wake once";
}

TEST_F(vector_wait_test, a_wake_before_the_wait_ends_that) {
  wait->wake();
  sleep(900 * millisecond);
  EXPECT_EQ(last_epoll_sleep.events, 1) << "the wake ended it, not its deadline";
}

TEST_F(vector_wait_test, hears_of_an_interrupt_that_came_before_it_was_made) {
  interrupt();
  auto second = vector_wait::open(event.get(), 5,
                                  {[](void* to, unsigned vector) noexcept {
                                     static_cast<heard*>(to)->vectors.push_back(vector);
                                   },
                                   &told});
  ASSERT_TRUE(second);
  (*second)->wait(0);
  EXPECT_EQ(told.vectors, std::vector<unsigned>{5});
}

TEST_F(vector_wait_test, gives_the_vector_back_when_it_goes) {
  EXPECT_FALSE(ended);
  wait.reset();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace freehca::vfio_host
