// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// When an event queue asks for an interrupt: once it is empty, and not for each event on the way
// there.
#include <cstring>

#include <freehca/firmware_cmds/nop.hpp>

#include "device_rig.hpp"
#include "rc_pair.hpp"

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

TEST_F(event_queue, of_commands_is_armed_by_the_third_look_that_finds_nothing) {
  event_context& queue = rig.adapter.asynchronous_context();
  firmware_command<commands::nop> n;
  rig.adapter.commands().submit(n);
  for (unsigned look = 0; look < 3; ++look) rig.adapter.poll();
  EXPECT_FALSE(queue.due());
  const std::uint64_t messages = rig.machine.messages(), before = doorbells();
  rig.machine.advance(1'000'000);
  EXPECT_EQ(rig.machine.messages(), messages + 1);
  EXPECT_TRUE(queue.due());

  EXPECT_EQ(queue.poll(), 1u);
  EXPECT_EQ(doorbells(), before) << "more may come while this one is looked at";
  EXPECT_TRUE(queue.due());
  EXPECT_EQ(rig.adapter.next_deadline(), 0u) << "nobody else says that it is to be polled";

  for (unsigned look = 0; look < 2; ++look) {
    EXPECT_EQ(queue.poll(), 0u);
    EXPECT_EQ(doorbells(), before) << "the next command may have a fast answer";
    EXPECT_TRUE(queue.due());
  }
  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_EQ(doorbells(), before + 1);
  EXPECT_FALSE(queue.due());
  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_EQ(doorbells(), before + 1) << "once is enough";
  EXPECT_TRUE(rig.await(n).ok());
}

TEST_F(event_queue, of_commands_needs_no_interrupt_for_a_fast_answer) {
  firmware_command<commands::nop> first, second;
  rig.adapter.commands().submit(first);
  ASSERT_TRUE(rig.await(first).ok());
  const std::uint64_t messages = rig.machine.messages();
  rig.adapter.commands().submit(second);
  for (unsigned look = 0; look < 2; ++look) rig.adapter.poll();
  rig.machine.advance(1'000'000);
  rig.adapter.poll();
  EXPECT_TRUE(second.done());
  EXPECT_EQ(rig.machine.messages(), messages);
}

TEST(event_queue_of_completions, is_armed_by_the_first_look_that_finds_nothing) {
  verbs_rig rig;
  event_context& queue = rig.adapter.completion_context(0);
  ASSERT_EQ(queue.poll(), 0u);
  rc_pair pair(rig);
  pair.connect();
  rig.objects.find(pair.completion[0])->rings.arm();
  ASSERT_TRUE(testing::post_and_ring(pair.send(0), queues::rdma_write{}).ok());
  rig.machine.advance(1'000'000);
  EXPECT_EQ(queue.poll(), 1u);
  EXPECT_TRUE(queue.due());
  EXPECT_EQ(queue.poll(), 0u);
  EXPECT_FALSE(queue.due());
  EXPECT_TRUE(pair.next(0).ok());
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
  template <class Rig>
  tireless_device(Rig& rig, std::uint64_t last_event, unsigned log_entries)
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
    auto of_queue = layouts::image<layouts::eqe_qp>::from_bytes(e.data());
    of_queue.set<&layouts::eqe_qp::qpn>(qpn);
    std::memcpy(entry(), of_queue.data(), layouts::eqe::bytes);
  }
  std::uint32_t qpn = 0;
  unsigned taken = 0, most = 1000;

 private:
  std::byte* entry() const {
    return memory_ + std::size_t{at_} * entry_bytes_ +
           layouts::eqe_offset_in_entry(entry_bytes_ == 64);
  }
  std::byte* memory_;
  unsigned entry_bytes_, entries_, at_;
  bool owner_;
};

constexpr unsigned log_entries = 5;

budget few_places() {
  budget small;
  small.log_asynchronous_eq_entries = log_entries;
  return small;
}

/// Runs a command. Returns the address of the last word of its completion event.
template <class Rig>
std::uint64_t event_of_a_command(Rig& rig) {
  std::uint64_t last_event = 0;
  rig.machine.on_adapter_write = [&](std::uint64_t address, std::size_t bytes) {
    // The word with the owner bit goes last, by itself.
    if (bytes == 8) last_event = address;
  };
  firmware_command<commands::nop> n;
  rig.adapter.commands().submit(n);
  EXPECT_TRUE(rig.await(n).ok());
  rig.machine.on_adapter_write = {};
  EXPECT_NE(last_event, 0u);
  return last_event;
}

TEST(tireless_events, end_a_poll_after_as_many_as_the_ring_has_places) {
  device_rig rig({}, few_places());
  ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
  ASSERT_TRUE(rig.bring_up().ok()) << rig.failure();
  tireless_device device(rig, event_of_a_command(rig), log_entries);
  event_sinks sinks;
  sinks.context = &device;
  sinks.qp = [](void* self, std::uint32_t, layouts::event_type) noexcept {
    auto& d = *static_cast<tireless_device*>(self);
    if (++d.taken < d.most) d.write_one();
  };
  rig.adapter.set_sinks(sinks);
  device.write_one();
  event_context& queue = rig.adapter.asynchronous_context();
  EXPECT_EQ(queue.poll(), 1u << log_entries);
  EXPECT_TRUE(queue.due()) << "there is more, and no interrupt tells of it";
  while (queue.poll() != 0) {
  }
  EXPECT_EQ(device.taken, device.most);
  rig.adapter.set_sinks({});
  static_cast<void>(rig.tear_down());
}

TEST(tireless_events, end_a_poll_of_all_after_its_turns) {
  constexpr unsigned turns = 3;
  tireless_device* device = nullptr;
  rig_options how;
  how.budget = few_places();
  how.events.context = &device;
  how.events.qp = [](void* context, qp_handle, void*, layouts::event_type) noexcept {
    tireless_device& d = **static_cast<tireless_device**>(context);
    if (++d.taken < d.most) d.write_one();
  };
  verbs_rig rig(how);
  rc_pair pair(rig);
  tireless_device made(rig, event_of_a_command(rig), log_entries);
  device = &made;
  made.qpn = qpn_of(rig.objects, pair.queue[0]);
  made.write_one();
  rig.objects.poll_all(turns);
  EXPECT_EQ(made.taken, turns << log_entries);
  EXPECT_EQ(rig.objects.next_deadline(), 0u) << "there is more, and no interrupt tells of it";
  rig.objects.poll_all(made.most);
  EXPECT_EQ(made.taken, made.most);
  EXPECT_NE(rig.objects.next_deadline(), 0u);
  pair.abandon();
  operation again;
  rig.adapter.recover(again);
  EXPECT_TRUE(rig.await(again).ok());
}

TEST(events_that_are_due, are_delivered_by_one_call_which_arms_the_queue) {
  verbs_rig rig;
  firmware_command<commands::nop> n;
  rig.adapter.commands().submit(n);
  rig.objects.poll();
  rig.machine.advance(1'000'000);
  EXPECT_EQ(rig.objects.next_deadline(), 0u);
  rig.objects.poll_all(1000);
  EXPECT_TRUE(n.done());
  EXPECT_FALSE(rig.adapter.asynchronous_context().due());
  EXPECT_NE(rig.objects.next_deadline(), 0u);
}

}  // namespace
}  // namespace freehca::testing
