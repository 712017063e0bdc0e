// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Every order of events in the life of operations of several steps: object_world.hpp.
#include <algorithm>
#include <iostream>

#include "object_world.hpp"

namespace freehca {
namespace {

using namespace testing;

std::shared_ptr<object_operation> makes_cq(object_world& w) {
  return w.create_cq();
}

const scenario scenarios[] = {
    {"two completion queues and a region",
     10,
     38400,
     true,
     false,
     [](object_world&) {},
     {makes_cq, makes_cq, [](object_world& w) { return w.create_mr(); }}},
    {"two completion queues and a neighbour that goes",
     9,
     41300,
     true,
     false,
     [](object_world& w) { w.must(w.create_cq()); },
     {makes_cq, makes_cq, [](object_world& w) { return w.destroy_cq(0); }}},
    {"a queue pair that comes and one that goes and a completion queue",
     9,
     33600,
     false,
     false,
     [](object_world& w) {
       w.must(w.create_cq());
       w.must(w.create_qp());
       w.must(w.move_qp(0, qp_state::init));
     },
     {[](object_world& w) { return w.create_qp(); },
      [](object_world& w) { return w.destroy_qp(0); }, makes_cq}},
    {"a change and a completion queue from end to end",
     13,
     22200,
     false,
     false,
     [](object_world& w) {
       w.must(w.create_cq());
       w.must(w.create_qp());
     },
     {[](object_world& w) { return w.move_qp(0, qp_state::init); }, makes_cq}},
    {"two completion queues and a reset",
     11,
     3300,
     true,
     true,
     [](object_world&) {},
     {makes_cq, makes_cq}},
};

class object_orders : public ::testing::TestWithParam<scenario> {};

TEST_P(object_orders, end_each_operation_once_and_leave_nothing) {
  object_world world;
  choices way;
  std::uint64_t orders = 0;
  do {
    world.play(GetParam(), way);
    ++orders;
    ASSERT_TRUE(world.wrong.empty()) << world.said();
    ASSERT_TRUE(way.repeats) << world.said();
  } while (way.next());
  std::cout << orders << " orders of";
  for (unsigned k = 0; k < 7; ++k) {
    std::cout << (k == 0 ? " " : ", ") << world.by_kind[k] << " "
              << name_of(static_cast<happening>(k));
    if (GetParam().resets || k != static_cast<unsigned>(happening::reset)) {
      EXPECT_GT(world.by_kind[k], 0u) << name_of(static_cast<happening>(k));
    }
  }
  std::cout << "; " << world.in_doubt << " looks with a command in doubt, " << world.resets
            << " resets\n";
  EXPECT_GE(orders, GetParam().least);
  EXPECT_GT(world.in_doubt, 0u);
  EXPECT_EQ(world.rig.machine.adapter().complaints(), 0u);
}

INSTANTIATE_TEST_SUITE_P(small_scope, object_orders, ::testing::ValuesIn(scenarios),
                         [](const auto& of) {
                           std::string name = of.param.name;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == ' ' || c == ','; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace freehca
