// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Regions that are registered and invalidated by work requests: every byte that goes through their
// keys is looked at.
#include <freehca/queues/memory_requests.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using queues::completion_status;
using queues::fast_register;
using queues::local_invalidate;
using queues::rdma_read;
using queues::rdma_write;
using queues::registration;
using queues::registration_rights;
using queues::send_with_invalidate;
using queues::work_completion;
using queues::work_opcode;

constexpr std::uint64_t start = 0x5500'0000'0000 + 300;
constexpr std::size_t bytes = 3 * 4096 - 600;  // in four pages, none of the outer ones whole
constexpr auto all_rights = registration_rights::local_write | registration_rights::remote_read |
                            registration_rights::remote_write | registration_rights::remote_atomic;

std::byte pattern(unsigned round, std::size_t i) {
  return static_cast<std::byte>(round * 101 + i * 7 + (i >> 8));
}

/// Side 1 of a pair registers; side 0 reads and writes what is registered.
struct fast_memory_region_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig};
  in_process::host_memory_map::scattered_pages memory[2]{
      rig.machine.memory().allocate_scattered(4), rig.machine.memory().allocate_scattered(4)};
  dma_region list = rig.machine.memory().allocate(queues::page_list_bytes(4), 64);
  registered_buffer source{rig,
                           pair.domain,
                           bytes,
                           100,
                           {.local_write = true, .remote_read = true, .remote_write = true}};
  handle<fast_memory_region> fast;
  unsigned round = 0;

  fast_memory_region_test() {
    pair.connect();
    EXPECT_TRUE(create(fast, {.pd = pair.domain, .most_pages = 4}).ok());
  }
  ~fast_memory_region_test() override {
    EXPECT_TRUE(destroy(fast).ok());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
    for (const auto& pages : memory) rig.machine.memory().release(pages);
    rig.machine.memory().release(list);
  }

  status create(handle<fast_memory_region>& to, const fast_memory_region_attributes& a) {
    create_fast_memory_region op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  status destroy(mr_handle h) {
    destroy_memory_region op;
    op.start(rig.objects, h);
    return rig.await(op);
  }
  fast_memory_region& region() { return *rig.objects.find(fast); }

  /// Of the pages of memory[which].
  registration over(unsigned which, registration_rights rights = all_rights) {
    EXPECT_TRUE(
        queues::write_page_list(list, {memory[which].addresses.data(), 12, 300, bytes}).ok());
    return {region().next_key(), list.device_address, start, bytes, 12, rights};
  }
  template <class Request>
  work_completion done(unsigned side, const Request& r) {
    EXPECT_TRUE(testing::post_and_ring(pair.send(side), r).ok());
    return pair.next(side);
  }
  void expect_registered(const registration& r) {
    const work_completion w = done(1, fast_register{.wr_id = 77, .memory = r});
    ASSERT_TRUE(w.ok()) << name_of(w.status);
    EXPECT_EQ(w.opcode, work_opcode::fast_register);
    EXPECT_EQ(w.wr_id, 77u);
  }
  void expect_invalidated(std::uint32_t key) {
    const work_completion w = done(1, local_invalidate{.wr_id = 78, .memory = {key}});
    ASSERT_TRUE(w.ok()) << name_of(w.status);
    EXPECT_EQ(w.opcode, work_opcode::local_invalidate);
    EXPECT_EQ(w.wr_id, 78u);
  }
  /// Writes through the key, and reads it back.
  void expect_open(unsigned which, std::uint32_t key) {
    ++round;
    std::memset(memory[which].memory, 0xa5, 4 * 4096);
    for (std::size_t i = 0; i < bytes; ++i) *source.at(i) = pattern(round, i);
    ASSERT_TRUE(done(0, rdma_write{.remote = {start, key}, .data = source.entry(0, bytes)}).ok());
    for (std::size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(memory[which].memory[300 + i], pattern(round, i)) << i;
    for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(memory[which].memory[i], std::byte{0xa5}) << i;
    for (std::size_t i = 300 + bytes; i < 4 * 4096; ++i)
      ASSERT_EQ(memory[which].memory[i], std::byte{0xa5}) << i;
    source.fill(std::byte{0});
    ASSERT_TRUE(done(0, rdma_read{.remote = {start, key}, .data = source.entry(0, bytes)}).ok());
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(*source.at(i), pattern(round, i)) << i;
  }
  /// Nothing arrives by the key; the pair begins anew.
  void expect_closed(unsigned which, std::uint32_t key) {
    std::memset(memory[which].memory, 0x5a, 4 * 4096);
    EXPECT_EQ(done(0, rdma_write{.remote = {start, key}, .data = source.entry(0, 64)}).status,
              completion_status::remote_access);
    for (std::size_t i = 0; i < 4 * 4096; ++i)
      ASSERT_EQ(memory[which].memory[i], std::byte{0x5a}) << i;
    reconnect();
  }
  void reconnect() {
    for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(pair.move(i, layouts::qp_state::reset).ok());
    pair.connect();
  }
};

TEST_F(fast_memory_region_test, is_registered_used_invalidated_and_registered_anew) {
  const std::uint32_t unregistered = region().key;
  expect_closed(0, unregistered);
  const registration first = over(0);
  EXPECT_EQ(first.key >> 8, unregistered >> 8);
  EXPECT_NE(first.key, unregistered);
  expect_registered(first);
  expect_open(0, first.key);

  expect_invalidated(first.key);
  expect_closed(0, first.key);

  const registration second = over(1);
  EXPECT_EQ(second.key >> 8, first.key >> 8);
  EXPECT_NE(second.key, first.key);
  EXPECT_EQ(key_of(rig.objects, fast), second.key);
  expect_registered(second);
  expect_open(1, second.key);
  expect_closed(1, first.key);
  expect_open(1, second.key);
}

TEST_F(fast_memory_region_test, requests_behind_its_registration_may_use_it_at_once) {
  const registration r = over(0);
  for (std::size_t i = 0; i < bytes; ++i) memory[0].memory[300 + i] = pattern(9, i);
  queues::sq& send = pair.send(1);
  ASSERT_TRUE(send.post(fast_register{.memory = r, .flags = {}}).ok());
  ASSERT_TRUE(send.post(rdma_write{.remote = {source.address(), source.key},
                                   .data = {start, static_cast<std::uint32_t>(bytes), r.key},
                                   .flags = {}})
                  .ok());
  ASSERT_TRUE(send.post(local_invalidate{.wr_id = 3, .memory = {r.key}}).ok());
  send.ring();
  const work_completion w = pair.next(1);
  ASSERT_TRUE(w.ok()) << name_of(w.status);
  EXPECT_EQ(w.wr_id, 3u);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(*source.at(i), pattern(9, i)) << i;
  EXPECT_EQ(done(1, queues::send{.data = {start, 64, r.key}}).status,
            completion_status::local_protection);
}

TEST_F(fast_memory_region_test, the_peer_may_invalidate_it_with_a_message) {
  const registration r = over(0);
  expect_registered(r);
  expect_open(0, r.key);
  const auto into = source.entry(64, 64);
  for (std::size_t i = 0; i < 64; ++i) *source.at(i) = pattern(5, i);
  ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 4, .list = &into, .entries = 1}).ok());
  const work_completion sent =
      done(0, send_with_invalidate{.data = source.entry(0, 64), .invalidated = r.key});
  ASSERT_TRUE(sent.ok()) << name_of(sent.status);
  EXPECT_EQ(sent.opcode, work_opcode::send);
  const work_completion received = pair.next(1);
  ASSERT_TRUE(received.ok()) << name_of(received.status);
  EXPECT_TRUE(received.has_invalidated());
  EXPECT_EQ(received.immediate(), r.key);
  for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(*source.at(64 + i), pattern(5, i)) << i;
  expect_closed(0, r.key);
}

TEST_F(fast_memory_region_test, gives_the_rights_of_its_registration_and_no_others) {
  const registration r = over(0, registration_rights::remote_read);
  expect_registered(r);
  EXPECT_TRUE(done(0, rdma_read{.remote = {start, r.key}, .data = source.entry(0, 64)}).ok());
  expect_closed(0, r.key);  // it may not be written
}

TEST_F(fast_memory_region_test, the_same_with_opcodes_of_run_time) {
  const registration r = over(0);
  ASSERT_TRUE(
      done(1, work_requests::send_request{.opcode = work_requests::send_opcode::fast_register,
                                          .memory = &r})
          .ok());
  expect_open(0, r.key);
  ASSERT_TRUE(
      done(1, work_requests::send_request{.opcode = work_requests::send_opcode::local_invalidate,
                                          .rkey = r.key})
          .ok());
  expect_closed(0, r.key);
}

TEST_F(fast_memory_region_test, a_registration_that_the_device_refuses_leaves_it_free) {
  registration r = over(0);
  r.length = 5 * 4096;  // more pages than there is room for
  EXPECT_EQ(done(1, fast_register{.memory = r}).status, completion_status::window_bind);
  reconnect();
  r.length = bytes;
  expect_registered(r);
  expect_open(0, r.key);
  // Not free any more.
  EXPECT_EQ(done(1, fast_register{.memory = r}).status, completion_status::window_bind);
}

TEST_F(fast_memory_region_test, what_no_device_could_do_is_not_posted) {
  const registration good = over(0);
  std::vector<registration> bad(6, good);
  bad[0].page_list += 8;
  bad[1].length = 0;
  bad[2].length = ~std::uint64_t{0} - start + 2;
  bad[3].log2_page_bytes = 11;
  bad[4].log2_page_bytes = 32;
  bad[5].rights = registration_rights::remote_write;
  for (const registration& r : bad) {
    EXPECT_TRUE(pair.send(1).post(fast_register{.memory = r}).is(driver_error::bad_argument));
    EXPECT_TRUE(
        work_requests::post(pair.send(1),
                            {.opcode = work_requests::send_opcode::fast_register, .memory = &r})
            .is(driver_error::bad_argument));
  }
  EXPECT_TRUE(
      work_requests::post(pair.send(1), {.opcode = work_requests::send_opcode::fast_register})
          .is(driver_error::bad_argument));
  EXPECT_EQ(pair.send(1).outstanding(), 0u);
}

TEST_F(fast_memory_region_test, page_lists_stay_within_their_room) {
  const page_list pages(memory[0].addresses.data(), 12, 0, 4 * 4096);
  dma_region room = list;
  EXPECT_EQ(room.bytes, 64u) << "whole lines";
  room.bytes = 63;
  EXPECT_TRUE(queues::write_page_list(room, pages).is(driver_error::bad_argument));
  EXPECT_TRUE(queues::write_page_list(list.part(8, 56), pages).is(driver_error::bad_argument));
  EXPECT_TRUE(queues::write_page_list({}, pages).is(driver_error::bad_argument));
  const std::uint64_t crooked[] = {0x3000, 0x4800};
  EXPECT_TRUE(queues::write_page_list(list, page_list(crooked, 12, 0, 2 * 4096))
                  .is(driver_error::bad_argument));
  const dma_region large{list.host, 0x1000, 512 * 8};
  EXPECT_TRUE(queues::write_page_list(large, page_list(dma_region{nullptr, 0, 512 * 4096}, 12))
                  .is(driver_error::bad_argument))
      << "more pages than one registration has";
}

TEST_F(fast_memory_region_test, comes_and_goes_and_leaves_nothing) {
  const auto before = counts(rig);
  handle<fast_memory_region> other;
  for (const std::uint32_t pages : {1u, 511u}) {
    const status s = create(other, {.pd = pair.domain, .most_pages = pages});
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_TRUE(rig.objects.destroy(pair.domain).is(driver_error::busy));
    EXPECT_TRUE(destroy(other).ok());
    EXPECT_EQ(rig.objects.find(other), nullptr);
  }
  EXPECT_EQ(counts(rig), before);
  for (const std::uint32_t pages : {0u, 512u})
    EXPECT_TRUE(
        create(other, {.pd = pair.domain, .most_pages = pages}).is(driver_error::bad_argument));
  EXPECT_TRUE(create(other, {.most_pages = 1}).is(driver_error::stale_handle));
  EXPECT_EQ(counts(rig), before);
}

TEST_F(fast_memory_region_test, a_registered_one_may_be_destroyed) {
  const registration r = over(0);
  expect_registered(r);
  ASSERT_TRUE(destroy(fast).ok());
  expect_closed(0, r.key);
  ASSERT_TRUE(create(fast, {.pd = pair.domain, .most_pages = 4}).ok());
  expect_closed(0, r.key);
}

TEST(fast_registration_test, is_refused_where_the_device_has_none) {
  rig_options how = exact();
  how.machine.model.without.add(model::capability::memory_management);
  verbs_rig rig(how);
  rc_pair pair(rig);
  pair.connect();
  create_fast_memory_region op;
  op.start(rig.objects, {.pd = pair.domain, .most_pages = 1});
  EXPECT_TRUE(rig.await(op).is(driver_error::unsupported));
  EXPECT_TRUE(pair.send(0).post(fast_register{}).is(driver_error::unsupported));
  EXPECT_TRUE(pair.send(0).post(local_invalidate{}).is(driver_error::unsupported));
  EXPECT_TRUE(pair.send(0).post(send_with_invalidate{}).is(driver_error::unsupported));
  for (const auto what :
       {work_requests::send_opcode::fast_register, work_requests::send_opcode::local_invalidate,
        work_requests::send_opcode::send_with_invalidate})
    EXPECT_TRUE(work_requests::post(pair.send(0), {.opcode = what}).is(driver_error::unsupported));
  EXPECT_EQ(pair.send(0).outstanding(), 0u);
}

}  // namespace
}  // namespace freehca
