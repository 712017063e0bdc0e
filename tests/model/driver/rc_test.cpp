// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Reliable connections on the modelled adapter: every byte and every guard is looked at.
#include <freehca/work_requests/send_request.hpp>

#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using layouts::qp_state;
using queues::completion_status;
using queues::work_completion;
using queues::work_opcode;
using work_requests::send_opcode;

constexpr memory_access everything{
    .local_write = true, .remote_read = true, .remote_write = true, .remote_atomic = true};
constexpr std::size_t largest = 1 << 20;
constexpr std::byte guard{0xa5};

std::byte pattern(std::uint64_t message, std::size_t i) {
  return static_cast<std::byte>((message * 0x9e3779b97f4a7c15 >> 32) + i * 131 + (i >> 8));
}

struct rc_test : ::testing::Test {
  verbs_rig rig;
  rc_pair pair{rig};
  registered_buffer source{rig, pair.domain, largest, 100, everything};
  registered_buffer target{rig, pair.domain, largest, 1234, everything};
  std::uint64_t message = 0;

  rc_test() { pair.connect(); }
  ~rc_test() override { EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << complaints(); }
  std::string complaints() {
    std::string all;
    for (const std::string& c : rig.machine.complaints()) all += c + "\n";
    return all;
  }

  /// A request with one entry that names the target's memory.
  work_requests::send_request at_target(send_opcode what, const queues::data_entry& list) {
    return {.list = &list,
            .entries = 1,
            .opcode = what,
            .rkey = target.key,
            .remote_address = target.address()};
  }
  std::vector<std::size_t> sizes() {
    const std::size_t mtu = layouts::mtu_bytes(rig.adapter.port(1).active_mtu);
    return {0, 1, 63, 64, 65, mtu - 1, mtu, mtu + 1, 65536, largest};
  }
  void prepare(registered_buffer& from, std::size_t size) {
    ++message;
    source.fill(guard);
    target.fill(guard);
    for (std::size_t i = 0; i < size; ++i) *from.at(i) = pattern(message, i);
  }
  void expect_arrived(registered_buffer& to, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      ASSERT_EQ(*to.at(i), pattern(message, i)) << "byte " << i << " of " << size;
    EXPECT_TRUE(to.untouched_but(0, size, guard)) << size;
  }
};

TEST_F(rc_test, sends_of_all_sizes_arrive_whole_and_alone) {
  for (const std::size_t size : sizes()) {
    prepare(source, size);
    const auto from = source.entry(0, size), to = target.entry(0, size);
    ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 7, .list = &to, .entries = 1}).ok());
    ASSERT_TRUE(
        work_requests::post_and_ring(pair.send(0), {.wr_id = message, .list = &from, .entries = 1})
            .ok());
    const work_completion sent = pair.next(0), received = pair.next(1);
    ASSERT_TRUE(sent.ok()) << name_of(sent.status);
    ASSERT_TRUE(received.ok()) << name_of(received.status);
    EXPECT_EQ(sent.wr_id, message);
    EXPECT_EQ(sent.opcode, work_opcode::send);
    EXPECT_EQ(received.wr_id, 7u);
    EXPECT_EQ(received.byte_count, size);
    EXPECT_EQ(received.qpn(), qpn_of(rig.objects, pair.queue[1]));
    expect_arrived(target, size);
  }
}

TEST_F(rc_test, writes_of_all_sizes_arrive_whole_and_alone) {
  for (const std::size_t size : sizes()) {
    prepare(source, size);
    const auto from = source.entry(0, size);
    ASSERT_TRUE(
        work_requests::post_and_ring(pair.send(0), at_target(send_opcode::rdma_write, from)).ok());
    const work_completion done = pair.next(0);
    ASSERT_TRUE(done.ok()) << name_of(done.status) << " " << size;
    expect_arrived(target, size);
  }
}

TEST_F(rc_test, writes_with_immediate_also_complete_a_receive) {
  for (const std::size_t size : sizes()) {
    prepare(source, size);
    const auto from = source.entry(0, size);
    ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = 9}).ok());
    work_requests::send_request write = at_target(send_opcode::rdma_write_with_immediate, from);
    write.immediate = 0x12345678;
    ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), write).ok());
    ASSERT_TRUE(pair.next(0).ok());
    const work_completion received = pair.next(1);
    ASSERT_TRUE(received.ok()) << name_of(received.status);
    EXPECT_EQ(received.opcode, work_opcode::receive_rdma_with_immediate);
    EXPECT_TRUE(received.has_immediate());
    EXPECT_EQ(received.immediate(), 0x12345678u);
    EXPECT_EQ(received.byte_count, size);
    expect_arrived(target, size);
  }
}

TEST_F(rc_test, reads_of_all_sizes_arrive_whole_and_alone) {
  for (const std::size_t size : sizes()) {
    prepare(target, size);
    const auto into = source.entry(0, size);
    ASSERT_TRUE(
        work_requests::post_and_ring(pair.send(0), at_target(send_opcode::rdma_read, into)).ok());
    const work_completion done = pair.next(0);
    ASSERT_TRUE(done.ok()) << name_of(done.status) << " " << size;
    EXPECT_EQ(done.opcode, work_opcode::rdma_read);
    EXPECT_EQ(done.byte_count, size);
    expect_arrived(source, size);
  }
}

TEST_F(rc_test, inline_data_needs_no_region) {
  for (const std::uint32_t size : {0u, 1u, 27u, 28u, 29u, 44u, 63u, 64u, 65u, 88u, 89u, 400u}) {
    prepare(source, 0);
    std::vector<std::byte> payload(size + 1);
    for (std::size_t i = 0; i < size; ++i) payload[i] = pattern(message, i);
    const auto to = target.entry(0, size);
    ASSERT_TRUE(pair.receive(1).post_and_ring({.list = &to, .entries = 1}).ok());
    ASSERT_TRUE(work_requests::post_and_ring(
                    pair.send(0), {.inline_bytes = payload.data(), .inline_length = size})
                    .ok());
    ASSERT_TRUE(pair.next(0).ok()) << size;
    EXPECT_EQ(pair.next(1).byte_count, size);
    expect_arrived(target, size);
  }
}

TEST_F(rc_test, lists_are_gathered_and_scattered) {
  prepare(source, 6000);
  const queues::data_entry from[] = {source.entry(0, 1), source.entry(1, 4095),
                                     source.entry(4096, 1000), source.entry(5096, 904)};
  const queues::data_entry to[] = {target.entry(0, 3000), target.entry(3000, 2000),
                                   target.entry(5000, 500), target.entry(5500, 500)};
  ASSERT_TRUE(pair.receive(1).post_and_ring({.list = to, .entries = 4}).ok());
  ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {.list = from, .entries = 4}).ok());
  ASSERT_TRUE(pair.next(0).ok());
  EXPECT_EQ(pair.next(1).byte_count, 6000u);
  expect_arrived(target, 6000);
}

TEST_F(rc_test, rings_go_round_many_times_with_unsignaled_sends) {
  const auto to = target.entry(0, 64);
  std::uint64_t received = 0;
  work_completion w[16];
  const std::uint64_t rounds = 4 * pair.send(0).most_outstanding();
  for (std::uint64_t n = 0; n < rounds; ++n) {
    ASSERT_TRUE(pair.receive(1).post_and_ring({.wr_id = n, .list = &to, .entries = 1}).ok());
    std::byte payload[8];
    for (std::size_t i = 0; i < 8; ++i) payload[i] = pattern(n, i);
    ASSERT_TRUE(
        work_requests::post_and_ring(
            pair.send(0),
            {.wr_id = n, .inline_bytes = payload, .inline_length = 8, .signaled = n % 8 == 7})
            .ok());
    const work_completion r = pair.next(1);
    ASSERT_TRUE(r.ok()) << name_of(r.status);
    ASSERT_EQ(r.wr_id, n);
    for (std::size_t i = 0; i < 8; ++i) ASSERT_EQ(*target.at(i), pattern(n, i));
    ++received;
    if (n % 8 == 7) {
      ASSERT_EQ(pair.next(0).wr_id, n);
    }
  }
  EXPECT_EQ(pair.cq(0).poll(w, 16), 0u);
  EXPECT_EQ(received, rounds);
}

TEST_F(rc_test, atomics_change_the_other_side_and_bring_the_old_value) {
  prepare(source, 0);
  target.fill(std::byte{0});
  std::uint64_t value = 40;
  std::byte* at = target.at(6);  // 1234 + 6 = 1240, a multiple of 8
  std::memcpy(at, &value, 8);
  const auto into = source.entry(0, 8);
  ASSERT_TRUE(rig.adapter.capabilities().has(layouts::dev_cap_flag::atomic));
  ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), {.list = &into,
                                                          .entries = 1,
                                                          .opcode = send_opcode::fetch_and_add,
                                                          .rkey = target.key,
                                                          .remote_address = target.address(6),
                                                          .swap_or_add = 2})
                  .ok());
  const work_completion done = pair.next(0);
  ASSERT_TRUE(done.ok()) << name_of(done.status);
  EXPECT_EQ(done.opcode, work_opcode::fetch_and_add);
  EXPECT_EQ(done.byte_count, 8u);
  std::memcpy(&value, at, 8);
  EXPECT_EQ(value, 42u);
}

TEST_F(rc_test, a_wrong_key_fails_both_ways_and_the_pair_works_again_after_reset) {
  prepare(source, 64);
  const auto from = source.entry(0, 64);
  work_requests::send_request write = at_target(send_opcode::rdma_write, from);
  write.wr_id = 1;
  write.rkey ^= 1;
  ASSERT_TRUE(work_requests::post(pair.send(0), write).ok());
  ASSERT_TRUE(
      work_requests::post_and_ring(pair.send(0), {.wr_id = 2, .list = &from, .entries = 1}).ok());
  work_completion w = pair.next(0);
  EXPECT_EQ(w.wr_id, 1u);
  EXPECT_EQ(w.status, completion_status::remote_access);
  EXPECT_EQ(w.opcode, work_opcode::rdma_write);
  EXPECT_NE(w.syndrome, 0);
  w = pair.next(0);
  EXPECT_EQ(w.wr_id, 2u);
  EXPECT_EQ(w.status, completion_status::flushed);
  EXPECT_TRUE(target.untouched_but(0, 0, guard));

  query_queue_pair query;
  query.start(rig.objects, pair.queue[0]);
  ASSERT_TRUE(rig.await(query).ok());
  EXPECT_EQ(query.context().get<&layouts::qpc::state>(), qp_state::error);
  EXPECT_EQ(rig.objects.find(pair.queue[0])->qp_state, qp_state::error);

  for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(pair.move(i, qp_state::reset).ok());
  EXPECT_TRUE(work_requests::post(pair.send(0), {}).is(driver_error::bad_state));
  pair.connect();
  prepare(source, 64);
  write.wr_id = 3;
  write.rkey = target.key;
  ASSERT_TRUE(work_requests::post_and_ring(pair.send(0), write).ok());
  EXPECT_EQ(pair.next(0).wr_id, 3u);
  expect_arrived(target, 64);
}

TEST_F(rc_test, a_wrong_local_key_is_the_senders_fault) {
  queues::data_entry from = source.entry(0, 64);
  from.lkey ^= 1;
  ASSERT_TRUE(
      work_requests::post_and_ring(pair.send(0), at_target(send_opcode::rdma_write, from)).ok());
  EXPECT_EQ(pair.next(0).status, completion_status::local_protection);
}

TEST_F(rc_test, the_error_state_flushes_what_is_posted) {
  const auto to = target.entry(0, 64);
  for (std::uint64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(pair.receive(0).post_and_ring({.wr_id = i, .list = &to, .entries = 1}).ok());
  ASSERT_TRUE(pair.move(0, qp_state::error).ok());
  for (std::uint64_t i = 0; i < 3; ++i) {
    const work_completion w = pair.next(0);
    EXPECT_EQ(w.wr_id, i);
    EXPECT_EQ(w.status, completion_status::flushed);
  }
}

/// A queue pair that was not destroyed after all works on, and can be destroyed later.
struct not_destroyed : rc_test {
  using fate = model::command_verdict::fate;
  status destroy(const std::function<void(destroy_queue_pair&)>& meanwhile = {}) {
    destroy_queue_pair op;
    op.start(rig.objects, pair.queue[0]);
    EXPECT_TRUE(work_requests::post(pair.send(0), {}).is(driver_error::bad_state));
    if (meanwhile) meanwhile(op);
    return rig.await(op);
  }
  void let_resets_be(fate what) {
    rig.machine.adapter().judge_commands([what](layouts::opcode code, std::uint32_t) {
      return model::command_verdict{code == layouts::opcode::to_rst_qp ? what : fate::run,
                                    layouts::command_status::bad_system_state};
    });
  }
  void expect_working() {
    prepare(source, 4000);
    const auto from = source.entry(0, 4000), to = target.entry(0, 4000);
    ASSERT_TRUE(pair.receive(0).post_and_ring({.wr_id = 7, .list = &to, .entries = 1}).ok());
    ASSERT_TRUE(
        work_requests::post_and_ring(pair.send(1), {.wr_id = 8, .list = &from, .entries = 1}).ok());
    EXPECT_TRUE(pair.next(0).ok() && pair.next(1).ok());
    expect_arrived(target, 4000);
    ASSERT_TRUE(
        work_requests::post_and_ring(pair.send(0), at_target(send_opcode::rdma_write, from)).ok());
    EXPECT_TRUE(pair.next(0).ok());
  }
};

TEST_F(not_destroyed, because_the_firmware_refused) {
  let_resets_be(fate::refuse);
  EXPECT_TRUE(destroy().is(layouts::command_status::bad_system_state));
  rig.machine.adapter().judge_commands({});
  expect_working();
}

TEST_F(not_destroyed, because_it_was_cancelled) {
  EXPECT_TRUE(destroy([](destroy_queue_pair& op) { op.cancel(); }).is(driver_error::cancelled));
  expect_working();
}

TEST_F(not_destroyed, because_the_firmware_refused_late) {
  let_resets_be(fate::hold_and_refuse);
  EXPECT_TRUE(destroy().is(transport_error::timeout));
  EXPECT_EQ(rig.objects.holdings().in_doubt, 1u);
  EXPECT_TRUE(work_requests::post(pair.send(0), {}).is(driver_error::bad_state))
      << "it may be gone";
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  ASSERT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, clock::seconds(1)));
  expect_working();
}

TEST_F(rc_test, completions_of_a_destroyed_pair_are_gone) {
  ASSERT_TRUE(pair.receive(0).post_and_ring({.wr_id = 1}).ok());
  ASSERT_TRUE(pair.move(0, qp_state::error).ok());
  rig.run([&] { return pair.cq(0).pending(); });
  destroy_queue_pair destroy;
  destroy.start(rig.objects, pair.queue[0]);
  ASSERT_TRUE(rig.await(destroy).ok());
  EXPECT_EQ(rig.objects.find(pair.queue[0]), nullptr) << "a stale handle";
  pair.queue[0] = {};
  work_completion w;
  EXPECT_EQ(pair.cq(0).poll(&w, 1), 0u);
  EXPECT_EQ(pair.cq(0).dropped(), 0u);
}

}  // namespace
}  // namespace freehca
