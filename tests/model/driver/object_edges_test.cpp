// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Values and transitions at the edge of what there is.
#include <freehca/interfaces/every_interface.hpp>

#include "rc_pair.hpp"

namespace freehca {
namespace {

using layouts::qp_state;

class edges : public ::testing::Test {
 protected:
  std::uint64_t sent() { return rig.adapter.commands().statistics().posted; }
  testing::verbs_rig rig;
};

TEST_F(edges, a_queue_pair_in_reset_goes_to_reset_without_a_command) {
  testing::rc_pair pair(rig);
  const std::uint64_t before = sent();
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
  // As Linux has it: from RESET there is no way to ERROR.
  EXPECT_TRUE(pair.move(0, qp_state::error).is(driver_error::bad_state));
  EXPECT_EQ(sent(), before);
  pair.connect();
  EXPECT_TRUE(pair.move(0, qp_state::reset).ok());
  EXPECT_TRUE(pair.move(1, qp_state::error).ok());
  EXPECT_TRUE(pair.move(1, qp_state::reset).ok());
  const std::uint64_t after = sent();
  for (unsigned i = 0; i < 2; ++i) EXPECT_TRUE(pair.move(i, qp_state::reset).ok());
  EXPECT_EQ(sent(), after);
  pair.connect();
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

TEST_F(edges, the_requesters_read_depth_is_rounded_down_and_the_responders_up) {
  const unsigned most = rig.adapter.capabilities().most_reads_as_responder;
  ASSERT_GE(most, 16u);
  for (std::uint32_t depth = 0; depth <= 16; ++depth) {
    testing::rc_pair pair(rig);
    auto a = pair.attributes(0);
    a.reads_as_requester = a.reads_as_responder = depth;
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
      ASSERT_TRUE(pair.move(0, to, a).ok());
    query_queue_pair q;
    q.start(rig.objects, pair.queue[0]);
    ASSERT_TRUE(rig.await(q).ok());
    const std::uint32_t requester = 1u << q.context().get<&layouts::qpc::sra_max>();
    const std::uint32_t responder = 1u << q.context().get<&layouts::qpc::rra_max>();
    if (depth == 0) continue;
    EXPECT_LE(requester, depth);
    EXPECT_GT(2 * requester, depth);
    EXPECT_GE(responder, depth);
    EXPECT_LT(responder, 2 * depth);
  }
}

TEST_F(edges, a_region_may_end_with_the_address_space) {
  testing::rc_pair pair(rig);
  pair.connect();
  const auto pages = rig.machine.memory().allocate_scattered(2);
  const auto make = [&](std::uint64_t address, std::uint32_t offset, std::uint64_t bytes) {
    create_memory_region create;
    create.start(rig.objects, {.pd = pair.domain,
                               .pages = page_list(pages.addresses.data(), 12, offset, bytes),
                               .virtual_address = address,
                               .access = {.local_write = true, .remote_write = true}});
    const status s = rig.await(create);
    return s.ok() ? result<mr_handle>(create.made()) : result<mr_handle>(s);
  };
  const std::uint64_t top = 0;  // 2^64
  const auto whole = make(top - 8192, 0, 8192);
  ASSERT_TRUE(whole.ok());
  for (const std::uint64_t bytes : {std::uint64_t{8193}, std::uint64_t{12288}, top - 1, top - 4096})
    EXPECT_TRUE(make(top - 8192, 0, bytes).error().is(driver_error::bad_argument)) << bytes;
  EXPECT_TRUE(make(top - 100, 4096 - 100, 101).error().is(driver_error::bad_argument));
  const auto last_bytes = make(top - 100, 4096 - 100, 100);
  ASSERT_TRUE(last_bytes.ok());

  // The last byte of it is reached.
  std::memset(pages.memory, 0, 8192);
  pages.memory[0] = std::byte{0x5a};
  const std::uint32_t key = key_of(rig.objects, whole.value());
  ASSERT_TRUE(
      pair.send(0)
          .post_and_ring(queues::rdma_write{.remote = {top - 1, key}, .data = {top - 8192, 1, key}})
          .ok());
  EXPECT_TRUE(pair.next(0).ok());
  EXPECT_EQ(pages.memory[8191], std::byte{0x5a});
  for (const mr_handle h : {whole.value(), last_bytes.value()}) {
    destroy_memory_region d;
    d.start(rig.objects, h);
    EXPECT_TRUE(rig.await(d).ok());
  }
  rig.machine.memory().release(pages);
}

TEST_F(edges, contiguous_memory_of_a_list_of_attributes_may_end_with_the_address_space) {
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  memory_region_interface regions;
  ASSERT_TRUE(query_interface(regions).ok());
  operation_room room;
  // Nothing lies there on this machine: it is asked for, and never used.
  for (const std::uint64_t bytes : {std::uint64_t{0x1000}, std::uint64_t{0x1001}}) {
    const status s = regions.create(rig.objects, room,
                                    {mr::domain(domain), mr::device_address(~std::uint64_t{0xfff}),
                                     mr::bytes(bytes), mr::virtual_address(0x10000)});
    EXPECT_EQ(s.ok(), bytes == 0x1000) << bytes;
    if (!s.ok()) continue;
    EXPECT_TRUE(rig.await(*room.started).ok());
    const mr_handle made = regions.made(room);
    ASSERT_TRUE(regions.destroy(rig.objects, room, made).ok());
    EXPECT_TRUE(rig.await(*room.started).ok());
  }
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

TEST_F(edges, a_room_that_goes_takes_its_operation_along) {
  completion_queue_interface completions;
  ASSERT_TRUE(query_interface(completions).ok());
  const std::uint32_t before = rig.objects.holdings().objects;
  for (unsigned moment = 0; moment < 6; ++moment) {
    auto room = std::make_unique<operation_room>();
    ASSERT_TRUE(completions.create(rig.objects, *room, {cq::entries(31)}).ok());
    unsigned polled = 0;
    rig.run([&] { return room->started->done() || polled++ == moment; });
    const cq_handle made = room->started->done() ? completions.made(*room) : cq_handle{};
    room.reset();
    rig.run([] { return false; }, clock::milliseconds(50));
    if (made) {
      operation_room another;
      ASSERT_TRUE(completions.destroy(rig.objects, another, made).ok());
      EXPECT_TRUE(rig.await(*another.started).ok());
    }
    EXPECT_EQ(rig.objects.holdings().objects, before) << moment;
    EXPECT_EQ(rig.objects.holdings().in_doubt, 0u) << moment;
  }
}

}  // namespace
}  // namespace freehca
