// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// When an event queue asks for an interrupt: once it is empty, and not for each event on the way
// there.
#include <cstring>

#include <freehca/firmware_cmds/nop.hpp>

#include "device_rig.hpp"

namespace freehca::testing {
namespace {

struct event_queue : ::testing::Test {
  device_rig rig;
  void SetUp() override {
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  }
  void TearDown() override { EXPECT_TRUE(rig.tear_down().ok()) << rig.failure(); }
  std::uint64_t doorbells() const { return rig.machine.counter("doorbells"); }
};

TEST_F(event_queue, is_armed_by_the_first_look_that_finds_nothing) {
  event_context& queue = rig.adapter.asynchronous_context();
  firmware_command<commands::nop> n;
  rig.adapter.commands().submit(n);
  rig.adapter.poll();
  EXPECT_FALSE(queue.due());
  const std::uint64_t messages = rig.machine.messages(), before = doorbells();
  rig.machine.advance(1'000'000);
  EXPECT_EQ(rig.machine.messages(), messages + 1);
  EXPECT_TRUE(queue.due());

  EXPECT_EQ(queue.poll(), 1u);
  EXPECT_EQ(doorbells(), before) << "more may come while this one is looked at";
  EXPECT_TRUE(queue.due());
  EXPECT_EQ(rig.adapter.next_deadline(), 0u) << "nobody else says that it is to be polled";

  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_EQ(doorbells(), before + 1);
  EXPECT_FALSE(queue.due());
  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_EQ(doorbells(), before + 1) << "once is enough";
  EXPECT_TRUE(rig.await(n).ok());
}

TEST_F(event_queue, misses_nothing_that_comes_before_it_is_armed) {
  event_context& queue = rig.adapter.asynchronous_context();
  firmware_command<commands::nop> first, second;
  rig.adapter.commands().submit(first);
  rig.adapter.poll();
  rig.machine.advance(1'000'000);
  ASSERT_EQ(queue.poll(), 1u);
  const std::uint64_t messages = rig.machine.messages();
  rig.adapter.commands().submit(second);
  rig.adapter.commands().poll();
  rig.machine.advance(1'000'000);
  EXPECT_EQ(rig.machine.messages(), messages) << "nobody asked for an interrupt";
  EXPECT_EQ(queue.poll(), 1u);
  EXPECT_TRUE(rig.await(first).ok());
  EXPECT_TRUE(rig.await(second).ok());
}

/// A device that writes the next event as soon as one is taken.
class tireless_device {
 public:
  /// Knows the place and the owner bit of the last event that the adapter wrote.
  tireless_device(device_rig& rig, std::uint64_t last_event, unsigned log_entries)
      : entry_bytes_(rig.adapter.capabilities().eqe_bytes), entries_(1u << log_entries) {
    const std::uint64_t ring = last_event & ~std::uint64_t{4095};
    memory_ = rig.machine.memory().find(ring, std::size_t{entry_bytes_} << log_entries);
    at_ = static_cast<unsigned>((last_event - ring) / entry_bytes_);
    owner_ = layouts::image<layouts::eqe>::from_bytes(entry()).get<&layouts::eqe::owner>();
  }
  void write_one() {
    if (++at_ == entries_) {
      at_ = 0;
      owner_ = !owner_;
    }
    layouts::image<layouts::eqe> e;
    e.set<&layouts::eqe::event_type>(layouts::event_type::sq_drained)
        .set<&layouts::eqe::owner>(owner_);
    std::memcpy(entry(), e.data(), layouts::eqe::bytes);
  }
  unsigned taken = 0;

 private:
  std::byte* entry() const {
    return memory_ + std::size_t{at_} * entry_bytes_ +
           layouts::eqe_offset_in_entry(entry_bytes_ == 64);
  }
  std::byte* memory_;
  unsigned entry_bytes_, entries_, at_;
  bool owner_;
};

TEST(tireless_events, end_a_poll_after_as_many_as_the_ring_has_places) {
  constexpr unsigned log_entries = 5, most = 1000;
  budget small;
  small.log_asynchronous_eq_entries = log_entries;
  device_rig rig({}, small);
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  std::uint64_t last_event = 0;
  rig.machine.on_adapter_write = [&](std::uint64_t address, std::size_t bytes) {
    // The word with the owner bit goes last, by itself.
    if (bytes == 8) last_event = address;
  };
  firmware_command<commands::nop> n;
  rig.adapter.commands().submit(n);
  EXPECT_TRUE(rig.await(n).ok());
  rig.machine.on_adapter_write = {};
  ASSERT_NE(last_event, 0u);
  tireless_device device(rig, last_event, log_entries);
  event_sinks sinks;
  sinks.context = &device;
  sinks.qp = [](void* self, std::uint32_t, layouts::event_type) noexcept {
    auto& d = *static_cast<tireless_device*>(self);
    if (++d.taken < most) d.write_one();
  };
  rig.adapter.set_sinks(sinks);
  device.write_one();
  event_context& queue = rig.adapter.asynchronous_context();
  EXPECT_EQ(queue.poll(), 1u << log_entries);
  EXPECT_TRUE(queue.due()) << "there is more, and no interrupt tells of it";
  while (queue.poll() != 0) {
  }
  EXPECT_EQ(device.taken, most);
  rig.adapter.set_sinks({});
  static_cast<void>(rig.tear_down());
}

}  // namespace
}  // namespace freehca::testing
