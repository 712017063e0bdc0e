// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Regions that are registered again with another domain, other rights or other memory. The key
// that is replaced gives no access any more. A replacement that fails changes nothing.
#include <memory>

#include <freehca/hca/kinds/replace_memory_region.hpp>
#include <freehca/queues/memory_requests.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

// Compiled with others of the folder as one source.
namespace freehca::replace_memory_region_tests {
namespace {

using namespace testing;
using queues::completion_status;

constexpr std::uint64_t region_address = 0x5500'0000'0000;
constexpr memory_access writable{.local_write = true, .remote_write = true};

/// Side 0 of a pair writes to a region of side 1.
struct replace_memory_region_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig};
  in_process::host_memory_map::scattered_pages memory[2]{
      rig.machine.memory().allocate_scattered(2), rig.machine.memory().allocate_scattered(40)};
  registered_buffer source{rig, pair.domain, 4096, 0, {.local_write = true}};
  mr_handle region;

  replace_memory_region_test() {
    pair.connect();
    source.fill(std::byte{0x77});
    create_memory_region op;
    op.start(rig.objects, over(0));
    EXPECT_TRUE(rig.await(op).ok());
    region = op.made();
  }
  ~replace_memory_region_test() override {
    if (region) {
      EXPECT_TRUE(destroy().ok());
    }
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    for (const auto& pages : memory) rig.machine.memory().release(pages);
  }
  memory_region_attributes over(unsigned which, const memory_access& access = writable) {
    const auto& pages = memory[which].addresses;
    return {.pd = pair.domain,
            .pages = page_list(pages.data(), 12, 0, pages.size() * 4096),
            .virtual_address = region_address,
            .access = access};
  }
  status destroy() {
    destroy_memory_region op;
    op.start(rig.objects, region);
    return rig.await(op);
  }
  status replace(const memory_region_attributes& to) { return replace(region, to); }
  status replace(mr_handle which, const memory_region_attributes& to) {
    replace_memory_region op;
    op.start(rig.objects, which, to);
    return rig.await(op);
  }
  std::uint32_t key() { return key_of(rig.objects, region); }

  completion_status write(std::uint32_t rkey) {
    const queues::rdma_write r{.remote = {region_address + 100, rkey}, .data = source.entry(0, 64)};
    EXPECT_TRUE(pair.send(0).post_and_ring(r).ok());
    return pair.next(0).status;
  }
  /// A write by the key of the region reaches memory[which] and no other memory.
  void expect_open(unsigned which) {
    for (const auto& pages : memory) std::memset(pages.memory, 0, pages.addresses.size() * 4096);
    ASSERT_EQ(write(key()), completion_status::ok);
    for (unsigned m = 0; m < 2; ++m)
      for (std::size_t i = 0; i < 4096; ++i)
        ASSERT_EQ(memory[m].memory[i] == std::byte{0x77}, m == which && i >= 100 && i < 164) << i;
  }
  void expect_closed(std::uint32_t rkey) {
    EXPECT_EQ(write(rkey), completion_status::remote_access);
    for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(pair.move(i, layouts::qp_state::reset).ok());
    pair.connect();
  }
};

TEST_F(replace_memory_region_test, changes_the_memory_and_the_number_of_pages) {
  const auto before = counts(rig);
  for (const unsigned which : {1u, 0u, 1u, 0u}) {
    const std::uint32_t old_key = key();
    const status s = replace(over(which));
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_NE(key(), old_key);
    expect_open(which);
    expect_closed(old_key);
  }
  EXPECT_EQ(counts(rig), before);
}

TEST_F(replace_memory_region_test, changes_the_rights) {
  ASSERT_TRUE(replace(over(0, {.local_write = true})).ok());
  expect_closed(key());
  ASSERT_TRUE(replace(over(0)).ok());
  expect_open(0);
}

TEST_F(replace_memory_region_test, changes_the_domain) {
  const auto made = rig.objects.create<protection_domain>();
  ASSERT_TRUE(made.ok());
  memory_region_attributes to = over(0);
  to.pd = made.value();
  ASSERT_TRUE(replace(to).ok());
  expect_closed(key());
  EXPECT_TRUE(rig.objects.destroy(made.value()).is(driver_error::busy));
  ASSERT_TRUE(replace(over(0)).ok());
  EXPECT_TRUE(rig.objects.destroy(made.value()).ok());
  expect_open(0);
}

TEST_F(replace_memory_region_test, bad_attributes_change_nothing) {
  const auto before = counts(rig);
  const std::uint32_t old_key = key();
  EXPECT_TRUE(replace(over(1, {.remote_write = true})).is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::remote_rights);
  memory_region_attributes to = over(1);
  to.virtual_address += 1;
  EXPECT_TRUE(replace(to).is(driver_error::bad_argument));
  to.pd = {};
  EXPECT_TRUE(replace(to).is(driver_error::stale_handle));
  EXPECT_EQ(key(), old_key);
  EXPECT_EQ(counts(rig), before);
  expect_open(0);
}

TEST_F(replace_memory_region_test, needs_a_plain_region_that_exists) {
  EXPECT_TRUE(replace({}, over(1)).is(driver_error::stale_handle));
  create_fast_memory_region fast;
  fast.start(rig.objects, {.pd = pair.domain, .most_pages = 4});
  ASSERT_TRUE(rig.await(fast).ok());
  EXPECT_TRUE(replace(fast.made(), over(1)).is(driver_error::unsupported));
  destroy_fast_memory_region undo;
  undo.start(rig.objects, fast.made());
  EXPECT_TRUE(rig.await(undo).ok());
  const mr_handle gone = region;
  ASSERT_TRUE(destroy().ok());
  region = {};
  EXPECT_TRUE(replace(gone, over(1)).is(driver_error::stale_handle));
}

TEST_F(replace_memory_region_test, a_region_with_a_bound_window_stays_as_it_was) {
  ASSERT_TRUE(replace(over(0, {.local_write = true, .bind_windows = true})).ok());
  create_memory_window window;
  window.start(rig.objects, {.pd = pair.domain});
  ASSERT_TRUE(rig.await(window).ok());
  const queues::window_binding b{.key = rig.objects.find(window.made())->next_key(),
                                 .region = key(),
                                 .address = region_address,
                                 .length = 4096,
                                 .rights = queues::window_rights::remote_write};
  ASSERT_TRUE(pair.send(1).post_and_ring(queues::bind_window{.memory = b}).ok());
  ASSERT_TRUE(pair.next(1).ok());
  const auto before = counts(rig);
  const std::uint32_t old_key = key();
  const status s = replace(over(1));
  EXPECT_TRUE(s.is(layouts::command_status::region_bound)) << words(s);
  EXPECT_EQ(key(), old_key);
  EXPECT_EQ(counts(rig), before);
  EXPECT_EQ(write(b.key), completion_status::ok);
  destroy_memory_window undo;
  undo.start(rig.objects, window.made());
  ASSERT_TRUE(rig.await(undo).ok());
  ASSERT_TRUE(replace(over(1)).ok());
  expect_open(1);
}

TEST_F(replace_memory_region_test, a_region_that_is_destroyed_meanwhile_leaves_nothing) {
  replace_memory_region op;
  op.start(rig.objects, region, over(1));
  EXPECT_TRUE(destroy().ok());
  region = {};
  const status s = rig.await(op);
  EXPECT_TRUE(s.is(driver_error::stale_handle) || s.is(driver_error::busy)) << words(s);
  EXPECT_EQ(rig.objects.held<memory_region>(), 1u) << "only the source";
}

/// The operation ends at each moment of its life: cancelled, and dropped. Nothing is left but the
/// region, which is the old one or the new one.
TEST(replaced_region_test, ends_early_at_each_moment) {
  for (const bool dropped : {false, true}) {
    rig_options how = exact();
    how.machine.model.faults.command_latency_ns = 20'000;
    verbs_rig rig(how);
    const auto domain = rig.objects.create<protection_domain>().value();
    const auto pages = rig.machine.memory().allocate_scattered(2);
    const memory_region_attributes to{.pd = domain,
                                      .pages = page_list(pages.addresses.data(), 12, 0, 2 * 4096)};
    create_memory_region create;
    create.start(rig.objects, to);
    ASSERT_TRUE(rig.await(create).ok());
    const auto before = counts(rig);
    bool done = false;
    unsigned moment = 0;
    for (; moment < 500 && !done; ++moment) {
      auto op = std::make_unique<replace_memory_region>();
      op->start(rig.objects, create.made(), to);
      if (moment != 0) rig.run([&] { return op->done(); }, moment * clock::microseconds(3));
      done = op->done();
      if (!done && !dropped) {
        op->cancel();
        EXPECT_FALSE(rig.await(*op).ok()) << moment;
      }
      op.reset();
      rig.run([] { return false; }, clock::milliseconds(100));
      ASSERT_EQ(counts(rig), before) << moment;
      ASSERT_NE(key_of(rig.objects, create.made()), 0u) << moment;
    }
    EXPECT_TRUE(done);
    EXPECT_GT(moment, 2u);
    destroy_memory_region destroy;
    destroy.start(rig.objects, create.made());
    EXPECT_TRUE(rig.await(destroy).ok());
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    rig.machine.memory().release(pages);
  }
}

}  // namespace
}  // namespace freehca::replace_memory_region_tests
