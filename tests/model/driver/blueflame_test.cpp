// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that are copied to a BlueFlame register. The strict model complains of a copy that is
// not whole, that differs from the ring, or that comes to the same half again.
#include <freehca/queues/blueflame.hpp>

#include "device_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using queues::blueflame;
using queues::rdma_write;
using queues::rdma_write_inline;
using queues::rdma_write_list;
using queues::work_completion;

constexpr std::size_t bytes = 4096;
constexpr std::byte guard{0xa5};

struct blueflame_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig, {.sends = 16, .receives = 1, .gather = 20, .inline_bytes = 300}};
  registered_buffer source{rig, pair.domain, bytes, 100, {}};
  registered_buffer target{
      rig, pair.domain, bytes, 1234, {.local_write = true, .remote_write = true}};
  blueflame by;

  blueflame_test() {
    pair.connect();
    EXPECT_TRUE(by.open(of_page(0)).ok());
  }
  ~blueflame_test() override {
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u)
        << (rig.machine.complaints().empty() ? "" : rig.machine.complaints().front());
  }

  mmio_region of_page(unsigned i) {
    return rig.adapter.uar().blueflame_register(i, rig.adapter.capabilities().log_blueflame_bytes);
  }
  std::uint64_t pushed() { return rig.machine.counter("blueflame_writes"); }
  std::uint64_t rung() { return rig.machine.counter("doorbells"); }
  void fill(unsigned round) {
    target.fill(guard);
    for (std::size_t i = 0; i < bytes; ++i)
      *source.at(i) = static_cast<std::byte>(round * 37 + i * 11 + (i >> 8));
  }
  void expect_written(std::size_t length) {
    const work_completion w = pair.next(0);
    ASSERT_TRUE(w.ok()) << name_of(w.status);
    EXPECT_EQ(std::memcmp(target.at(0), source.at(0), length), 0);
    EXPECT_TRUE(target.untouched_but(0, length, guard));
  }
};

TEST_F(blueflame_test, a_small_request_takes_no_doorbell) {
  // More than twice round the ring.
  const std::uint64_t rounds = 3 * pair.send(0).most_outstanding() + 200;
  for (unsigned n = 0; n < rounds; ++n) {
    fill(n);
    const std::uint64_t before = pushed(), doorbells = rung();
    ASSERT_TRUE(pair.send(0)
                    .post_and_push(by, rdma_write{.wr_id = n,
                                                  .remote = {target.address(), target.key},
                                                  .data = source.entry(0, 64)})
                    .ok());
    ASSERT_EQ(pushed(), before + 8) << "words of eight bytes";
    ASSERT_EQ(rung(), doorbells);
    expect_written(64);
  }
}

TEST_F(blueflame_test, inline_data_of_all_lengths_go_by_it_while_they_fit) {
  bool by_doorbell = false;
  for (std::uint32_t length = 0; length <= 300; ++length) {
    fill(length);
    const std::uint64_t before = pushed(), doorbells = rung();
    ASSERT_TRUE(pair.send(0)
                    .post_and_push(by, rdma_write_inline{.remote = {target.address(), target.key},
                                                         .data = {source.at(0), length}})
                    .ok());
    const bool fits = queues::wqe_end_of_inline(queues::rdma_header_bytes, length) <= 256;
    EXPECT_EQ(pushed() != before, fits) << length;
    EXPECT_EQ(rung() != doorbells, !fits) << length;
    by_doorbell |= !fits;
    expect_written(length);
  }
  EXPECT_TRUE(by_doorbell);
}

TEST_F(blueflame_test, it_and_doorbells_may_take_turns) {
  queues::data_entry list[20];
  for (unsigned n = 0; n < 20; ++n) list[n] = source.entry(n * 8, 8);
  for (unsigned n = 0; n < 100; ++n) {
    fill(n);
    const queues::remote_memory there{target.address(), target.key};
    if (n % 3 == 0) {
      // Longer than half a register.
      ASSERT_TRUE(pair.send(0)
                      .post_and_push(by, rdma_write_list{.remote = there, .data = {list, 20}})
                      .ok());
      expect_written(160);
    } else if (n % 3 == 1) {
      ASSERT_TRUE(pair.send(0)
                      .post_and_push(by, rdma_write{.remote = there, .data = source.entry(0, 9)})
                      .ok());
      expect_written(9);
    } else {
      ASSERT_TRUE(pair.send(0)
                      .post_and_ring(rdma_write{.remote = there, .data = source.entry(0, 99)})
                      .ok());
      expect_written(99);
    }
  }
}

TEST_F(blueflame_test, two_queues_may_share_a_register) {
  for (unsigned n = 0; n < 20; ++n)
    for (unsigned side = 0; side < 2; ++side) {
      ASSERT_TRUE(pair.send(side).post_and_push(by, queues::nop{.wr_id = n}).ok());
      const queues::work_completion done = pair.next(side);
      EXPECT_TRUE(done.ok());
      EXPECT_EQ(done.wr_id, n);
    }
}

TEST_F(blueflame_test, a_request_of_no_bytes_and_a_refused_one) {
  fill(1);
  ASSERT_TRUE(pair.send(0)
                  .post_and_push(by, rdma_write{.remote = {target.address(), target.key},
                                                .data = source.entry(0, 0)})
                  .ok());
  expect_written(0);
  const std::uint64_t before = pushed(), doorbells = rung();
  EXPECT_TRUE(pair.send(0)
                  .post_and_push(by, queues::fetch_and_add{.data = source.entry(0, 4)})
                  .is(driver_error::bad_argument));
  EXPECT_EQ(pushed(), before);
  EXPECT_EQ(rung(), doorbells);
}

TEST_F(blueflame_test, one_that_is_not_open_leaves_all_to_the_doorbell) {
  blueflame closed;
  fill(3);
  const std::uint64_t before = pushed();
  ASSERT_TRUE(pair.send(0)
                  .post_and_push(closed, rdma_write{.remote = {target.address(), target.key},
                                                    .data = source.entry(0, 64)})
                  .ok());
  EXPECT_EQ(pushed(), before);
  expect_written(64);
}

TEST_F(blueflame_test, registers_fill_their_page) {
  unsigned there = 0;
  while (of_page(there).bytes != 0) ++there;
  EXPECT_EQ(there, 8u);
  EXPECT_TRUE(blueflame{}.open(mmio_region{}).is(driver_error::bad_argument));
  EXPECT_TRUE(blueflame{}.open({of_page(0).base, 64}).is(driver_error::bad_argument));
  EXPECT_TRUE(blueflame{}.open({of_page(0).base, 192}).is(driver_error::bad_argument));
}

TEST(blueflame_pages_test, are_none_where_the_device_or_the_platform_has_none) {
  in_process::machine_options without;
  without.model.without.add(model::capability::blueflame);
  for (const bool of_platform : {false, true}) {
    device_rig rig(of_platform ? in_process::machine_options{} : without);
    platform_operations port = *rig.setup.platform.operations;
    if (of_platform) port.combines_writes = false;
    rig.setup.platform.operations = &port;
    ASSERT_TRUE(rig.adapter.open(rig.setup).ok());
    ASSERT_TRUE(rig.bring_up().ok());
    EXPECT_EQ(rig.adapter.uar().blueflame.bytes, 0u) << of_platform;
    EXPECT_EQ(rig.adapter.uar().blueflame_register(0, 9).bytes, 0u);
    EXPECT_TRUE(rig.tear_down().ok());
    rig.adapter.close();
  }
}

}  // namespace
}  // namespace freehca
