// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Masked atomics between two queue pairs: what is changed, what is not, and what comes back.
#include <freehca/queues/masked_atomics.hpp>
#include <freehca/work_requests/send_request.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using queues::masked_compare_and_swap;
using queues::masked_fetch_and_add;
using queues::work_completion;
using queues::work_opcode;
using work_requests::send_opcode;

constexpr std::byte guard{0xa5};

struct masked_atomics_test : ::testing::Test {
  verbs_rig rig{exact()};
  rc_pair pair{rig, {.sends = 16, .receives = 1, .masked_atomics = true}};
  registered_buffer mine{rig, pair.domain, 64, 0, {.local_write = true}};
  registered_buffer theirs{
      rig, pair.domain, 64, 0, {.local_write = true, .remote_read = true, .remote_atomic = true}};
  queues::remote_memory there{theirs.address(8), theirs.key};
  queues::data_entry answer = mine.entry(16, 8);

  masked_atomics_test() { pair.connect(); }
  ~masked_atomics_test() override { EXPECT_EQ(rig.machine.adapter().complaints(), 0u); }

  void set(std::uint64_t value) {
    mine.fill(guard);
    theirs.fill(guard);
    std::memcpy(theirs.at(8), &value, 8);
  }
  template <class Request>
  void expect(const Request& r, work_opcode what, std::uint64_t before, std::uint64_t after) {
    ASSERT_TRUE(testing::post_and_ring(pair.send(0), r).ok());
    const work_completion w = pair.next(0);
    ASSERT_TRUE(w.ok()) << name_of(w.status);
    EXPECT_EQ(w.opcode, what);
    EXPECT_EQ(w.byte_count, 8u);
    EXPECT_EQ(w.wr_id, r.wr_id);
    std::uint64_t brought = 0, there_now = 0;
    std::memcpy(&brought, mine.at(16), 8);
    std::memcpy(&there_now, theirs.at(8), 8);
    EXPECT_EQ(brought, before);
    EXPECT_EQ(there_now, after);
    EXPECT_TRUE(mine.untouched_but(16, 8, guard));
    EXPECT_TRUE(theirs.untouched_but(8, 8, guard));
  }
};

TEST_F(masked_atomics_test, a_swap_compares_and_changes_the_bits_of_its_masks) {
  // More than once round the ring: the last segment begins a block of its own.
  for (std::uint64_t n = 0; n < 2 * pair.send(0).most_outstanding(); ++n) {
    const std::uint64_t before = 0x1122'3344'0000'0000 | n;
    set(before);
    masked_compare_and_swap r{.wr_id = n,
                              .remote = there,
                              .operand = 0xaabb'ccdd'eeff'0011,
                              .compare = 0xffff'3344'ffff'ffff,
                              .operand_mask = 0xff00'0000'00ff'0000,
                              .compare_mask = 0x0000'ffff'0000'0000,
                              .data = answer};
    expect(r, work_opcode::masked_compare_and_swap, before, 0xaa22'3344'00ff'0000 | n);
    set(before);
    r.compare ^= std::uint64_t{1} << 40;
    expect(r, work_opcode::masked_compare_and_swap, before, before);
  }
}

TEST_F(masked_atomics_test, an_addition_carries_nothing_out_of_its_fields) {
  set(0x00ff'ffff'0000'ffff);
  expect(masked_fetch_and_add{.wr_id = 5,
                              .remote = there,
                              .operand = 0x0001'0001'0001'0001,
                              .boundaries = 0x8000'8000'8000'8000,
                              .data = answer},
         work_opcode::masked_fetch_and_add, 0x00ff'ffff'0000'ffff, 0x0100'0000'0001'0000);
}

TEST_F(masked_atomics_test, the_same_with_opcodes_of_run_time) {
  set(0x0123'4567'89ab'cdef);
  expect(work_requests::send_request{.wr_id = 1,
                                     .list = &answer,
                                     .entries = 1,
                                     .opcode = send_opcode::masked_compare_and_swap,
                                     .rkey = theirs.key,
                                     .remote_address = theirs.address(8),
                                     .swap_or_add = 0x42,
                                     .compare = 0xef,
                                     .swap_or_add_mask = 0xfff,
                                     .compare_mask = 0xff},
         work_opcode::masked_compare_and_swap, 0x0123'4567'89ab'cdef, 0x0123'4567'89ab'c042);
  expect(work_requests::send_request{.wr_id = 2,
                                     .list = &answer,
                                     .entries = 1,
                                     .opcode = send_opcode::masked_fetch_and_add,
                                     .rkey = theirs.key,
                                     .remote_address = theirs.address(8),
                                     .swap_or_add = 0xffc0,
                                     .swap_or_add_mask = 0x8000},
         work_opcode::masked_fetch_and_add, 0x0123'4567'89ab'c042, 0x0123'4567'89ab'c002);
}

TEST_F(masked_atomics_test, only_of_queues_that_were_made_for_them) {
  rc_pair plain(rig);
  plain.connect();
  EXPECT_TRUE(plain.send(0).post(masked_compare_and_swap{}).is(driver_error::unsupported));
  EXPECT_TRUE(plain.send(0).post(masked_fetch_and_add{}).is(driver_error::unsupported));
  EXPECT_TRUE(work_requests::post(plain.send(0), {.opcode = send_opcode::masked_fetch_and_add})
                  .is(driver_error::unsupported));
  EXPECT_TRUE(pair.send(0)
                  .post(masked_fetch_and_add{.remote = there, .data = mine.entry(16, 4)})
                  .is(driver_error::bad_argument));
  create_queue_pair op;
  op.start(rig.objects, {.pd = pair.domain,
                         .send_cq = pair.completion[0],
                         .receive_cq = pair.completion[0],
                         .service = layouts::qp_service::uc,
                         .sends = 1,
                         .masked_atomics = true});
  EXPECT_TRUE(rig.await(op).is(driver_error::unsupported)) << "no answers, no atomics";
}

}  // namespace
}  // namespace freehca
