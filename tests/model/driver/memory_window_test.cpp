// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory windows of both types: bound, used, unbound, invalidated and destroyed. Each access is
// checked byte by byte.
#include <freehca/queues/memory_requests.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

// Compiled with others of the folder as one source.
namespace freehca::memory_window_tests {
namespace {

using namespace testing;
using queues::bind_window;
using queues::completion_status;
using queues::local_invalidate;
using queues::rdma_read;
using queues::rdma_write;
using queues::send_with_invalidate;
using queues::window_binding;
using queues::window_rights;
using queues::window_type;
using queues::work_completion;
using queues::work_opcode;

constexpr std::size_t bytes = 2 * 4096, offset = 300, length = 5000;
constexpr auto all_rights =
    window_rights::remote_read | window_rights::remote_write | window_rights::remote_atomic;
constexpr memory_access bindable{.local_write = true, .bind_windows = true};

std::byte pattern(unsigned round, std::size_t i) {
  return static_cast<std::byte>(round * 101 + i * 7 + (i >> 8));
}

/// Side 1 of a pair binds windows to `region`. Side 0 reads and writes through the windows.
struct memory_window_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig};
  registered_buffer region{rig, pair.domain, bytes, 100, bindable};
  registered_buffer source{rig, pair.domain, bytes, 0, {.local_write = true}};
  mw_handle one, two;
  unsigned round = 0;

  memory_window_test() {
    pair.connect();
    EXPECT_TRUE(create(one, {.pd = pair.domain}).ok());
    EXPECT_TRUE(create(two, {.pd = pair.domain, .type = window_type::two}).ok());
  }
  ~memory_window_test() override {
    EXPECT_TRUE(destroy(one).ok());
    EXPECT_TRUE(destroy(two).ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }

  status create(mw_handle& to, const memory_window_attributes& a) {
    create_memory_window op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  status destroy(mw_handle h) {
    destroy_memory_window op;
    op.start(rig.objects, h);
    return rig.await(op);
  }
  memory_window& window(mw_handle h) { return *rig.objects.find(h); }

  /// Binds a part in the middle of the region.
  window_binding binding(mw_handle h, window_rights rights = all_rights) {
    return {.key = window(h).next_key(),
            .region = region.key,
            .address = region.address() + offset,
            .length = length,
            .rights = rights,
            .type = h == two ? window_type::two : window_type::one};
  }
  template <class Request>
  work_completion done(unsigned side, const Request& r) {
    EXPECT_TRUE(testing::post_and_ring(pair.send(side), r).ok());
    return pair.next(side);
  }
  void expect_bound(const window_binding& b, unsigned side = 1) {
    const work_completion w = done(side, bind_window{.wr_id = 77, .memory = b});
    ASSERT_TRUE(w.ok()) << name_of(w.status);
    EXPECT_EQ(w.opcode, work_opcode::bind_window);
    EXPECT_EQ(w.wr_id, 77u);
  }
  void expect_refused(const window_binding& b) {
    EXPECT_EQ(done(1, bind_window{.memory = b}).status, completion_status::window_bind);
    reconnect();
  }
  /// Writes and reads the whole window by the key. The region does not change outside the window.
  void expect_open(std::uint32_t key, unsigned side = 0) {
    ++round;
    region.fill(std::byte{0xa5});
    for (std::size_t i = 0; i < length; ++i) *source.at(i) = pattern(round, i);
    const queues::remote_memory at{region.address() + offset, key};
    ASSERT_TRUE(done(side, rdma_write{.remote = at, .data = source.entry(0, length)}).ok());
    for (std::size_t i = 0; i < bytes; ++i) {
      const bool inside = i >= offset && i < offset + length;
      ASSERT_EQ(*region.at(i), inside ? pattern(round, i - offset) : std::byte{0xa5}) << i;
    }
    source.fill(std::byte{0});
    ASSERT_TRUE(done(side, rdma_read{.remote = at, .data = source.entry(0, length)}).ok());
    for (std::size_t i = 0; i < length; ++i) ASSERT_EQ(*source.at(i), pattern(round, i)) << i;
  }
  /// A write of 64 bytes by the key is refused. The queue pairs are then connected again.
  void expect_closed(std::uint32_t key, std::size_t at = offset, unsigned side = 0) {
    region.fill(std::byte{0x5a});
    EXPECT_EQ(
        done(side, rdma_write{.remote = {region.address() + at, key}, .data = source.entry(0, 64)})
            .status,
        completion_status::remote_access);
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(*region.at(i), std::byte{0x5a}) << i;
    reconnect();
  }
  void reconnect() {
    for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(pair.move(i, layouts::qp_state::reset).ok());
    pair.connect();
  }
};

TEST_F(memory_window_test, type_1_is_bound_bound_again_and_unbound) {
  const std::uint32_t unbound = key_of(rig.objects, one);
  expect_closed(unbound);
  const window_binding first = binding(one);
  EXPECT_EQ(first.key >> 8, unbound >> 8);
  EXPECT_NE(first.key, unbound);
  expect_bound(first);
  expect_open(first.key);
  expect_closed(first.key, offset - 1);
  expect_closed(first.key, offset + length - 63);

  const window_binding second = binding(one);
  expect_bound(second);
  EXPECT_EQ(key_of(rig.objects, one), second.key);
  expect_open(second.key);
  expect_closed(first.key);

  expect_bound({.key = window(one).next_key()});
  expect_closed(second.key);
  expect_closed(key_of(rig.objects, one));
}

TEST_F(memory_window_test, type_2_is_bound_and_invalidated) {
  const window_binding first = binding(two);
  expect_bound(first);
  expect_open(first.key);
  // Bound windows are not bound again.
  expect_refused(binding(two));
  const work_completion w = done(1, local_invalidate{.wr_id = 5, .memory = {first.key}});
  ASSERT_TRUE(w.ok()) << name_of(w.status);
  EXPECT_EQ(w.opcode, work_opcode::local_invalidate);
  expect_closed(first.key);
  const window_binding second = binding(two);
  expect_bound(second);
  expect_open(second.key);
  expect_closed(first.key);
}

TEST_F(memory_window_test, the_peer_may_invalidate_type_2_with_a_message) {
  const window_binding b = binding(two);
  expect_bound(b);
  expect_open(b.key);
  const auto into = source.entry(64, 64);
  ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 4, .list = &into, .entries = 1}).ok());
  ASSERT_TRUE(
      done(0, send_with_invalidate{.data = source.entry(0, 64), .invalidated = b.key}).ok());
  const work_completion received = pair.next(1);
  ASSERT_TRUE(received.ok()) << name_of(received.status);
  EXPECT_TRUE(received.has_invalidated());
  EXPECT_EQ(received.immediate(), b.key);
  expect_closed(b.key);
}

TEST_F(memory_window_test, type_1_serves_each_queue_pair_of_the_domain_and_type_2_only_its_own) {
  const window_binding all = binding(one), own = binding(two);
  expect_bound(all);
  expect_bound(own);
  expect_open(all.key, 0);
  expect_open(all.key, 1);
  expect_open(own.key, 0);
  expect_closed(own.key, offset, 1);
}

TEST_F(memory_window_test, gives_the_rights_of_its_binding_and_no_others) {
  const window_binding b = binding(one, window_rights::remote_read);
  expect_bound(b);
  const queues::remote_memory at{b.address, b.key};
  EXPECT_TRUE(done(0, rdma_read{.remote = at, .data = source.entry(0, 64)}).ok());
  expect_closed(b.key);
}

TEST_F(memory_window_test, needs_a_region_that_permits_it_and_holds_it) {
  registered_buffer closed{rig, pair.domain, bytes, 0, {.local_write = true}};
  registered_buffer constant{rig, pair.domain, bytes, 0, {.bind_windows = true}};
  window_binding b = binding(one);
  b.region = closed.key;
  b.address = closed.address();
  expect_refused(b);
  b = binding(one);
  b.region = constant.key;
  b.address = constant.address();
  expect_refused(b);  // no windows that write without local writes
  b = binding(one);
  b.length = bytes;
  expect_refused(b);
  b = binding(one);
  b.address -= offset + 1;
  expect_refused(b);
  b = binding(one);
  b.type = window_type::two;
  expect_refused(b);  // the window is of type 1
  b = binding(one);
  b.region = 0x12345600;
  expect_refused(b);
  const window_binding good = binding(one);
  expect_bound(good);
  expect_open(good.key);
}

TEST_F(memory_window_test, a_region_is_not_destroyed_while_a_window_is_bound_to_it) {
  registered_buffer other{rig, pair.domain, bytes, 0, bindable};
  for (const mw_handle h : {one, two}) {
    window_binding b = binding(h);
    b.region = other.key;
    b.address = other.address();
    expect_bound(b);
  }
  destroy_memory_region bound;
  bound.start(rig.objects, other.region);
  const status refused = rig.await(bound);
  EXPECT_TRUE(refused.is(layouts::command_status::region_bound)) << words(refused);
  EXPECT_NE(rig.objects.find(other.region), nullptr);
  expect_bound({.key = window(one).next_key()});
  ASSERT_TRUE(done(1, local_invalidate{.memory = {key_of(rig.objects, two)}}).ok());
  // The destructor of `other` destroys the region.
}

TEST_F(memory_window_test, a_bound_window_may_be_destroyed) {
  for (mw_handle* h : {&one, &two}) {
    const window_type type = *h == two ? window_type::two : window_type::one;
    const window_binding b = binding(*h);
    expect_bound(b);
    ASSERT_TRUE(destroy(*h).ok());
    expect_closed(b.key);
    ASSERT_TRUE(create(*h, {.pd = pair.domain, .type = type}).ok());
    EXPECT_NE(key_of(rig.objects, *h), b.key);
  }
}

TEST_F(memory_window_test, the_same_with_opcodes_of_run_time) {
  const window_binding b = binding(two);
  using work_requests::send_opcode;
  using work_requests::send_request;
  ASSERT_TRUE(done(1, send_request{.opcode = send_opcode::bind_window, .binding = &b}).ok());
  expect_open(b.key);
  ASSERT_TRUE(done(1, send_request{.opcode = send_opcode::local_invalidate, .rkey = b.key}).ok());
  expect_closed(b.key);
}

TEST_F(memory_window_test, what_no_device_could_do_is_not_posted) {
  window_binding wraps = binding(one), empty = binding(two);
  wraps.length = 0 - wraps.address + 1;
  empty.length = 0;
  for (const window_binding& b : {wraps, empty}) {
    EXPECT_TRUE(pair.send(1).post(bind_window{.memory = b}).is(driver_error::bad_argument));
    EXPECT_TRUE(
        work_requests::post(pair.send(1),
                            {.opcode = work_requests::send_opcode::bind_window, .binding = &b})
            .is(driver_error::bad_argument));
  }
  EXPECT_TRUE(work_requests::post(pair.send(1), {.opcode = work_requests::send_opcode::bind_window})
                  .is(driver_error::bad_argument));
  EXPECT_EQ(pair.send(1).outstanding(), 0u);
}

TEST_F(memory_window_test, comes_and_goes_and_leaves_nothing) {
  const auto before = counts(rig);
  mw_handle other;
  for (const window_type type : {window_type::one, window_type::two}) {
    ASSERT_TRUE(create(other, {.pd = pair.domain, .type = type}).ok());
    EXPECT_TRUE(rig.objects.destroy(pair.domain).is(driver_error::busy));
    EXPECT_TRUE(destroy(other).ok());
    EXPECT_EQ(rig.objects.find(other), nullptr);
    EXPECT_EQ(key_of(rig.objects, other), 0u);
    EXPECT_TRUE(destroy(other).is(driver_error::stale_handle));
  }
  EXPECT_TRUE(create(other, {}).is(driver_error::stale_handle));
  EXPECT_EQ(counts(rig), before);
  // A window is no region.
  destroy_memory_region op;
  op.start(rig.objects, mr_handle{one.index, one.generation});
  EXPECT_TRUE(rig.await(op).is(driver_error::stale_handle));
  std::vector<mw_handle> all;
  while (create(other, {.pd = pair.domain}).ok()) all.push_back(other);
  EXPECT_EQ(all.size(), 6u);
  const status none = create(other, {.pd = pair.domain});
  EXPECT_TRUE(none.is(driver_error::no_resource));
  EXPECT_EQ(none.where(), memory_window::facts.item);
  for (const mw_handle h : all) EXPECT_TRUE(destroy(h).ok());
  EXPECT_EQ(counts(rig), before);
}

TEST(memory_windows_test, are_refused_where_the_device_has_none) {
  rig_options how = exact();
  how.machine.model.without.add(model::capability::memory_windows);
  verbs_rig rig(how);
  rc_pair pair(rig);
  pair.connect();
  for (const window_type type : {window_type::one, window_type::two}) {
    create_memory_window op;
    op.start(rig.objects, {.pd = pair.domain, .type = type});
    EXPECT_TRUE(rig.await(op).is(driver_error::unsupported));
  }
  EXPECT_TRUE(pair.send(0).post(bind_window{}).is(driver_error::unsupported));
  EXPECT_TRUE(work_requests::post(pair.send(0), {.opcode = work_requests::send_opcode::bind_window,
                                                 .binding = nullptr})
                  .is(driver_error::unsupported));
  // The right to bind means nothing there.
  const registered_buffer region(rig, pair.domain, bytes, 0, bindable);
  EXPECT_EQ(pair.send(0).outstanding(), 0u);
}

TEST(memory_windows_test, serve_unreliable_connections) {
  verbs_rig rig(exact());
  rc_pair pair(rig, {.service = layouts::qp_service::uc, .sends = 4, .receives = 4});
  pair.connect();
  registered_buffer region{rig, pair.domain, bytes, 0, bindable};
  registered_buffer source{rig, pair.domain, bytes, 0, {.local_write = true}};
  create_memory_window op;
  op.start(rig.objects, {.pd = pair.domain});
  ASSERT_TRUE(rig.await(op).ok());
  const window_binding b{.key = rig.objects.find(op.made())->next_key(),
                         .region = region.key,
                         .address = region.address(),
                         .length = 64,
                         .rights = window_rights::remote_write};
  ASSERT_TRUE(pair.send(1).post_and_ring(bind_window{.memory = b}).ok());
  ASSERT_TRUE(pair.next(1).ok());
  source.fill(std::byte{0x42});
  region.fill(std::byte{0});
  ASSERT_TRUE(
      pair.send(0)
          .post_and_ring(rdma_write{.remote = {b.address, b.key}, .data = source.entry(0, 64)})
          .ok());
  ASSERT_TRUE(pair.next(0).ok());
  EXPECT_TRUE(rig.run([&] { return *region.at(63) == std::byte{0x42}; }, 1'000'000'000));
  destroy_memory_window undo;
  undo.start(rig.objects, op.made());
  EXPECT_TRUE(rig.await(undo).ok());
}

}  // namespace
}  // namespace freehca::memory_window_tests
