// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Opening a device and its verbs objects fails at each step once: nothing is kept, and the next try
// works.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "failing_platform.hpp"
#include "verbs_rig.hpp"

namespace freehca {
namespace {

using testing::failing_platform;
using testing::platform_function;
using testing::storage;
using testing::words;

struct open_device : ::testing::Test {
  in_process::machine machine;
  failing_platform platform{machine};
  storage bytes{device::storage_bytes({})};
  device adapter;
  device_setup setup;
  open_device() {
    setup.platform = platform.it();
    setup.storage = bytes.at();
    setup.storage_bytes = bytes.bytes();
  }
};

TEST_F(open_device, that_fails_at_any_step_keeps_nothing) {
  platform.work();
  ASSERT_TRUE(adapter.open(setup).ok());
  ASSERT_EQ(platform.calls(platform_function::map_bar), 2u);
  ASSERT_EQ(platform.calls(platform_function::allocate_dma), 1u);
  adapter.close();
  struct strike {
    platform_function function;
    unsigned nth;
  };
  for (const strike at : {strike{platform_function::map_bar, 1},
                          {platform_function::map_bar, 2},
                          {platform_function::allocate_dma, 1}}) {
    SCOPED_TRACE(::testing::Message() << at.function << ", call " << at.nth);
    platform.fail(at.function, at.nth);
    const status s = adapter.open(setup);
    EXPECT_TRUE(s.is(transport_error::refused)) << words(s);
    EXPECT_EQ(s.where(), 7u) << "the platform's own status";
    EXPECT_EQ(adapter.state(), device_state::closed);
    EXPECT_EQ(machine.dma_blocks(), 0u);
    EXPECT_TRUE(adapter.holdings().none());
    platform.work();
    EXPECT_TRUE(adapter.open(setup).ok());
    EXPECT_EQ(machine.dma_blocks(), 1u);
    adapter.close();
    EXPECT_EQ(machine.dma_blocks(), 0u);
  }
}

TEST_F(open_device, on_memory_that_is_not_aligned_as_asked_gives_it_back) {
  for (const std::uint64_t by : {64u, 4096u}) {
    platform.misalignment = by;
    const status s = adapter.open(setup);
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << by;
    EXPECT_EQ(s.where(), static_cast<unsigned>(budget::item::dma)) << by;
    EXPECT_EQ(machine.dma_blocks(), 0u) << by;
  }
  platform.misalignment = 0;
  EXPECT_TRUE(adapter.open(setup).ok());
}

TEST_F(open_device, without_a_table_of_functions_is_refused) {
  const freehca::platform whole = setup.platform;
  setup.platform.operations = nullptr;
  EXPECT_TRUE(adapter.open(setup).is(driver_error::bad_argument));
  setup.platform = {};
  EXPECT_TRUE(adapter.open(setup).is(driver_error::bad_argument));
  EXPECT_EQ(adapter.state(), device_state::closed);
  EXPECT_EQ(machine.dma_blocks(), 0u);
  setup.platform = whole;
  EXPECT_TRUE(adapter.open(setup).ok());
}

/// The log is optional: a record then goes nowhere.
TEST_F(open_device, without_a_log_comes_up_and_down) {
  platform_operations silent = *setup.platform.operations;
  silent.log = nullptr;
  setup.platform.operations = &silent;
  ASSERT_TRUE(adapter.open(setup).ok());
  adapter.platform().log({});
  const auto await = [&](operation& op) {
    return machine.run([&] { return op.done(); },
                       [&] {
                         adapter.poll();
                         return adapter.next_deadline();
                       }) &&
           op.outcome().ok();
  };
  operation up, down;
  adapter.bring_up(up);
  EXPECT_TRUE(await(up));
  adapter.tear_down(down);
  EXPECT_TRUE(await(down));
}

// A port that was compiled with an older table, or with a newer one.
TEST_F(open_device, with_a_platform_table_of_another_size) {
  platform_operations whole = *setup.platform.operations;
  whole.trace = [](void*, const trace_record&) {};
  const std::size_t needed = offsetof(platform_operations, now) + sizeof whole.now;
  struct table {
    std::size_t size;
    bool opens;
  };
  for (const table t :
       {table{sizeof whole + 64, true}, table{sizeof whole, true}, table{needed, true},
        table{needed - sizeof whole.now, false}, table{sizeof whole.bytes, false}}) {
    std::vector<std::byte> room(t.size, std::byte{0xa5});
    std::memcpy(room.data(), &whole, std::min(t.size, sizeof whole));
    const auto told = static_cast<std::uint32_t>(t.size);
    std::memcpy(room.data() + offsetof(platform_operations, bytes), &told, sizeof told);
    setup.platform.operations = reinterpret_cast<const platform_operations*>(room.data());
    const status s = adapter.open(setup);
    EXPECT_TRUE(t.opens ? s.ok() : s.is(driver_error::bad_argument)) << t.size << words(s);
    if (t.opens) {
      EXPECT_EQ(adapter.platform().operations->disarm_interrupts, whole.disarm_interrupts);
      EXPECT_EQ(adapter.platform().operations->trace, t.size == needed ? nullptr : whole.trace);
    }
    adapter.close();
  }
}

struct open_verbs : ::testing::Test {
  testing::verbs_rig rig;
  verbs objects;
  const verbs_budget every = every_kind();
  verbs_budget none = without_requests();
  storage bytes{verbs::storage_bytes({}, none) + 16};

  /// The device's events have one taker at a time.
  void SetUp() override { ASSERT_TRUE(rig.objects.close().ok()); }

  static verbs_budget without_requests() {
    verbs_budget b = every_kind();
    b.requests = 0;
    return b;
  }
};

TEST_F(open_verbs, is_refused_while_another_takes_the_events_of_the_device) {
  storage enough(verbs::storage_bytes({}, every)), more(verbs::storage_bytes({}, every));
  ASSERT_TRUE(objects.open(rig.adapter, every, enough.at(), enough.bytes()).ok());
  verbs second;
  EXPECT_TRUE(second.open(rig.adapter, every, more.at(), more.bytes()).is(driver_error::busy));
  ASSERT_TRUE(objects.close().ok());
  ASSERT_TRUE(second.open(rig.adapter, every, more.at(), more.bytes()).ok());
  EXPECT_TRUE(second.close().ok());
}

/// Objects that are left are the adapter's, and so is what they stand on.
TEST_F(open_verbs, may_go_with_objects_and_the_device_is_torn_down_and_closed) {
  storage room(verbs::storage_bytes({}, every));
  {
    verbs left;
    ASSERT_TRUE(left.open(rig.adapter, every, room.at(), room.bytes()).ok());
    create_completion_queue queue;
    queue.start(left, {.entries = 15});
    ASSERT_TRUE(rig.run([&] {
      left.poll();
      return queue.done();
    }));
    ASSERT_TRUE(queue.outcome().ok());
  }
  operation down;
  rig.adapter.tear_down(down);
  ASSERT_TRUE(rig.run([&] { return down.done(); }));
  EXPECT_TRUE(down.outcome().ok()) << words(down.outcome());
  rig.adapter.close();
}

TEST_F(open_verbs, that_fails_keeps_nothing) {
  // Of two places 16 bytes apart at least one leaves less than a unit of requests.
  unsigned failed = 0;
  for (const std::size_t skip : {std::size_t{0}, std::size_t{16}}) {
    const status s = objects.open(rig.adapter, none, bytes.at() + skip, bytes.bytes() - skip);
    if (s.ok()) {
      EXPECT_TRUE(objects.close().ok());
      continue;
    }
    ++failed;
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << words(s);
    EXPECT_EQ(s.where(), static_cast<unsigned>(verbs_budget::item::requests));
    EXPECT_FALSE(objects.is_open());
    EXPECT_TRUE(objects.holdings().none());
    // The handles that the first objects of an open one would have name nothing: no object is in
    // the storage, which is the caller's again.
    EXPECT_TRUE(objects.destroy(pd_handle{0, 1}).is(driver_error::stale_handle));
    EXPECT_EQ(objects.find(cq_handle{0, 1}), nullptr);
    EXPECT_EQ(objects.find(qp_handle{0, 1}), nullptr);
    EXPECT_EQ(key_of(objects, mr_handle{0, 1}), 0u);
  }
  EXPECT_GT(failed, 0u);

  const status small =
      objects.open(rig.adapter, every, bytes.at(), verbs::storage_bytes({}, every) - 1);
  EXPECT_TRUE(small.is(driver_error::no_memory));
  EXPECT_EQ(small.where(), static_cast<unsigned>(verbs_budget::item::storage));
  storage enough(verbs::storage_bytes({}, every));
  EXPECT_TRUE(objects.open(rig.adapter, every, enough.at(), enough.bytes()).ok());
  const auto domain = objects.create<protection_domain>();
  ASSERT_TRUE(domain.ok());
  EXPECT_TRUE(objects.destroy(domain.value()).ok());
  EXPECT_TRUE(objects.close().ok());
}

TEST_F(open_verbs, that_go_with_objects_in_them_hear_of_no_event_any_more) {
  ASSERT_TRUE(rig.objects.close().ok());
  alignas(verbs) std::byte place[sizeof(verbs)];
  auto* const mine = new (place) verbs;
  storage room{verbs::storage_bytes({}, every)};
  ASSERT_TRUE(mine->open(rig.adapter, every, room.at(), room.bytes()).ok());
  ASSERT_TRUE(mine->create<protection_domain>().ok());
  mine->~verbs();
  std::memset(place, 0xff, sizeof place);  // whoever is called there falls
  rig.adapter.mark_as_lost();
  rig.run([] { return false; }, clock::milliseconds(1));
  EXPECT_EQ(rig.adapter.state(), device_state::failed);
}

}  // namespace
}  // namespace freehca
