// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <deque>
#include <memory>

#include "channel_fixture.hpp"

namespace freehca::testing {
namespace {

class order : public channel_test {
 protected:
  order() { use_events(4); }

  /// A command with its number as input modifier.
  struct numbered : command {
    explicit numbered(std::uint32_t n, lane l = lane::bulk, object_key key = {},
                      bool barrier = false) {
      request.opcode = layouts::opcode::nop;
      request.input_modifier = n;
      request.lane = l;
      request.key = key;
      request.barrier = barrier;
    }
  };
  std::vector<std::uint64_t> posted() const {
    std::vector<std::uint64_t> seen;
    for (const posted_command& p : device.posted) seen.push_back(p.get<&hcr::in_modifier>());
    return seen;
  }
  using numbers = std::vector<std::uint64_t>;
};

TEST_F(order, lanes_in_their_order_and_first_come_first_served_within) {
  numbered a(1), b(2), c(3, lane::teardown), d(4, lane::management), e(5, lane::management);
  for (numbered* x : {&a, &b, &c, &d, &e}) commands.submit(*x);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{4, 5, 3, 1}));
  complete(0);
  commands.poll();
  EXPECT_EQ(posted().back(), 2u);
  finish();
}

TEST_F(order, commands_on_one_object_never_overlap_others_pass) {
  const object_key cq{object_kind::cq, 7}, qp{object_kind::qp, 7};
  numbered a(1, lane::bulk, cq), b(2, lane::bulk, cq), c(3, lane::bulk, qp), d(4);
  for (numbered* x : {&a, &b, &c, &d}) commands.submit(*x);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 3, 4}));
  complete(1);
  commands.poll();
  EXPECT_EQ(posted().size(), 3u);
  complete(0);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 3, 4, 2}));
  finish();
}

TEST_F(order, commands_on_one_object_keep_their_order_across_lanes) {
  const object_key qp{object_kind::qp, 9};
  numbered create(1, lane::bulk, qp), destroy(2, lane::teardown, qp);
  commands.submit(create);
  commands.submit(destroy);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1}));
  complete(0);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 2}));
  finish();
}

TEST_F(order, nothing_overlaps_a_barrier_and_nothing_starves_it) {
  numbered a(1), wall(2, lane::bulk, {}, true), b(3), urgent(4, lane::management);
  commands.submit(a);
  commands.submit(wall);
  commands.submit(b);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1}));
  commands.submit(urgent);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1})) << "a barrier that waits holds back even management";
  complete(0);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 2}));
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 2}));
  complete(1);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 2, 4, 3}));
  finish();
}

TEST_F(order, a_barrier_that_is_destroyed_lets_the_others_go_at_once) {
  numbered a(1), b(3);
  auto wall = std::make_unique<numbered>(2, lane::bulk, object_key{}, true);
  commands.submit(a);
  commands.submit(*wall);
  commands.submit(b);
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1}));
  EXPECT_NE(commands.next_deadline(), 0u) << "all wait for the first";
  wall.reset();
  EXPECT_EQ(commands.next_deadline(), 0u) << "a command can be posted";
  commands.poll();
  EXPECT_EQ(posted(), (numbers{1, 3}));
  finish();
}

// Each passes its line on at another time: the search for its place begins at both ends.
TEST_F(order, commands_that_waited_for_objects_keep_their_age_among_others) {
  const auto on = [](std::uint32_t n) { return object_key{object_kind::qp, n}; };
  std::deque<numbered> first, second;
  for (std::uint32_t n = 0; n < 4; ++n) commands.submit(first.emplace_back(n, lane::bulk, on(n)));
  commands.poll();
  for (std::uint32_t n = 0; n < 8; ++n)
    commands.submit(second.emplace_back(10 + n, lane::bulk, on(n)));
  // 14 to 17 are ready. The others become ready in this order.
  for (const std::size_t answered : {2u, 0u, 3u, 1u}) complete(answered);
  while (posted().size() < 12) {
    commands.poll();
    for (std::size_t i = 4; i < posted().size(); ++i) complete(i);
  }
  EXPECT_EQ(posted(), (numbers{0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 16, 17}));
  finish();
}

TEST_F(order, a_barrier_that_is_cancelled_lets_the_others_go) {
  numbered a(1), wall(2, lane::bulk, {}, true), b(3);
  for (numbered* x : {&a, &wall, &b}) commands.submit(*x);
  commands.poll();
  wall.cancel();
  commands.poll();
  EXPECT_TRUE(wall.outcome().is(driver_error::cancelled));
  EXPECT_EQ(posted(), (numbers{1, 3}));
  finish();
}

TEST_F(order, init_hca_and_port_commands_are_barriers_and_teardown_goes_ahead) {
  EXPECT_TRUE(firmware_command<commands::init_hca>().request.barrier);
  EXPECT_TRUE(firmware_command<commands::close_hca>().request.barrier);
  EXPECT_EQ(firmware_command<commands::hw2sw_cq>(1u).request.lane, lane::teardown);
  EXPECT_EQ(firmware_command<commands::nop>().request.lane, lane::management);
}

}  // namespace
}  // namespace freehca::testing
