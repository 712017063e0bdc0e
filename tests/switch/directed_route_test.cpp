// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Directed routes through a switch (IBTA vol. 1, 14.2.2), hop by hop and there and back.
#include "bench.hpp"

namespace freehca::infiniband_switch::test {
namespace {

using namespace layouts;
using kind = route_step::kind;

image<dr_smp> route(unsigned count, unsigned pointer, bool answer) {
  auto m = directed(mad_method::get, smp_attribute::node_info);
  m.set<&dr_smp::hop_count>(count).set<&dr_smp::hop_pointer>(pointer).set<&dr_smp::direction>(
      answer);
  for (unsigned i = 1; i < 64; ++i) {
    m.data()[dr_smp{}.initial_path.offset + i] = std::byte{3};
    m.data()[dr_smp{}.return_path.offset + i] = std::byte{2};
  }
  return m;
}
unsigned return_hop(const image<dr_smp>& m, unsigned hop) {
  return std::to_integer<unsigned>(m.bytes_of<&dr_smp::return_path>()[hop]);
}
constexpr unsigned four_ports = 4, ingress = 1;
constexpr std::uint16_t own = 10;

route_step arrive(image<dr_smp>& m, route_part came = route_part::directed) {
  return route_arrival(m, ingress, four_ports, own, came);
}

TEST(switch_routes, a_request_under_way) {
  auto m = route(3, 1, false);
  const auto where = arrive(m);
  EXPECT_EQ(kind::forward, where.what);
  EXPECT_EQ(3u, where.port);
  EXPECT_EQ(2u, m.get<&dr_smp::hop_pointer>());
  EXPECT_EQ(ingress, return_hop(m, 1));
}

TEST(switch_routes, a_request_at_its_end) {
  auto m = route(3, 3, false);
  EXPECT_EQ(kind::here, arrive(m).what);
  EXPECT_EQ(4u, m.get<&dr_smp::hop_pointer>());
  EXPECT_EQ(ingress, return_hop(m, 3));
}

TEST(switch_routes, a_request_whose_last_part_is_by_lid) {
  auto m = route(3, 3, false);
  m.set<&dr_smp::dr_dlid>(77);
  const auto where = arrive(m);
  EXPECT_EQ(kind::by_lid, where.what);
  EXPECT_EQ(77, where.lid);
  auto mine = route(3, 3, false);
  mine.set<&dr_smp::dr_dlid>(own);
  EXPECT_EQ(kind::here, arrive(mine).what);
}

TEST(switch_routes, a_request_behind_its_directed_part) {
  auto m = route(3, 4, false);
  EXPECT_EQ(kind::here, arrive(m, route_part::by_lid).what);
  EXPECT_EQ(kind::by_lid,
            [&] {
              m.set<&dr_smp::dr_dlid>(own);
              return route_answer(m, four_ports, 5);
            }()
                .what)
      << "the switch where the directed part ended takes it on";
}

TEST(switch_routes, a_request_before_its_directed_part) {
  auto m = route(2, 0, false);
  m.set<&dr_smp::dr_slid>(5);
  const auto where = arrive(m, route_part::by_lid);
  EXPECT_EQ(kind::forward, where.what);
  EXPECT_EQ(3u, where.port);
  EXPECT_EQ(1u, m.get<&dr_smp::hop_pointer>());
}

TEST(switch_routes, an_answer_under_way) {
  auto m = route(3, 3, true);
  const auto where = arrive(m);
  EXPECT_EQ(kind::forward, where.what);
  EXPECT_EQ(2u, where.port);
  EXPECT_EQ(2u, m.get<&dr_smp::hop_pointer>());
}

TEST(switch_routes, an_answer_that_begins_its_directed_part_here) {
  auto m = route(3, 4, true);
  const auto where = arrive(m, route_part::by_lid);
  EXPECT_EQ(kind::forward, where.what);
  EXPECT_EQ(2u, where.port);
  EXPECT_EQ(3u, m.get<&dr_smp::hop_pointer>());
}

TEST(switch_routes, an_answer_at_the_end_of_its_directed_part) {
  auto m = route(3, 1, true);
  EXPECT_EQ(kind::to_manager, arrive(m).what);
  m.set<&dr_smp::dr_slid>(5);
  const auto where = arrive(m);
  EXPECT_EQ(kind::by_lid, where.what);
  EXPECT_EQ(5, where.lid);
  EXPECT_EQ(0u, m.get<&dr_smp::hop_pointer>());
}

TEST(switch_routes, what_makes_no_sense) {
  const auto refused = [](image<dr_smp> m) {
    EXPECT_EQ(kind::discard, arrive(m).what)
        << m.get<&dr_smp::hop_pointer>() << " of " << m.get<&dr_smp::hop_count>();
  };
  refused(route(3, 0, false));  // who sends it takes the first hop
  refused(route(3, 5, false));  // C14-9, 5
  refused(route(3, 255, false));
  refused(route(64, 1, false));  // a path of 63 hops at most
  refused(route(255, 1, true));
  refused(route(3, 5, true));  // C14-13, 5
  refused(route(3, 255, true));
  for (const unsigned port : {0u, four_ports + 1, 255u}) {
    auto out = route(3, 1, false), back = route(3, 3, true);
    out.data()[dr_smp{}.initial_path.offset + 2] = static_cast<std::byte>(port);
    back.data()[dr_smp{}.return_path.offset + 2] = static_cast<std::byte>(port);
    refused(out);
    refused(back);
  }
}

TEST(switch_routes, every_hop_pointer_stays_within_the_path) {
  for (unsigned count = 0; count < 256; ++count)
    for (unsigned pointer = 0; pointer < 256; ++pointer)
      for (const bool answer : {false, true})
        for (const route_part came : {route_part::directed, route_part::by_lid}) {
          auto m = route(count, pointer, answer);
          const auto where = arrive(m, came);
          if (where.what == kind::forward) {
            EXPECT_GE(where.port, 1u);
            EXPECT_LE(where.port, four_ports);
            EXPECT_LE(m.get<&dr_smp::hop_pointer>(), 63u);
          }
          if (count > 63) {
            EXPECT_EQ(kind::discard, where.what);
          }
        }
}

struct switch_route : bench {
  void SetUp() override {
    link(1);
    link(3);
  }
};

TEST_F(switch_route, there_and_back_in_initialize) {
  give(1, to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, {3})));
  auto there = mad_from(3);
  ASSERT_TRUE(there);
  EXPECT_EQ(permissive_lid, there->slid);
  EXPECT_EQ(permissive_lid, there->dlid);
  auto m = image<dr_smp>::from_bytes(there->mad.data());
  EXPECT_EQ(2u, m.get<&dr_smp::hop_pointer>());
  EXPECT_EQ(1u, return_hop(m, 1));
  // An adapter at port 3 answers: its own hop back is taken already.
  m.set<&dr_smp::direction>(true).set<&dr_smp::method>(mad_method::get_resp);
  give(3, to_qp0(m));
  const auto back = mad_from(1);
  ASSERT_TRUE(back);
  m = image<dr_smp>::from_bytes(back->mad.data());
  EXPECT_EQ(1u, m.get<&dr_smp::hop_pointer>());
  EXPECT_EQ(permissive_lid, back->dlid);
}

TEST_F(switch_route, it_may_lead_back_to_where_it_came_from) {
  give(1, to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, {1})));
  EXPECT_TRUE(mad_from(1));
}

TEST_F(switch_route, a_port_that_is_down_drops_it) {
  give(1, to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, {2})));
  EXPECT_TRUE(around.sent[2].empty());
  EXPECT_EQ(1u, counts(2).xmit_discards.total());
  give(1, to_qp0(directed(mad_method::get, smp_attribute::node_info, 0, {9})));
  EXPECT_EQ(1u, counts(1).rcv_errors.total());
}

TEST_F(switch_route, an_answer_for_a_manager_that_is_not_here_is_dropped) {
  auto m = directed(mad_method::get_resp, smp_attribute::node_info);
  give(1, to_qp0(m.set<&dr_smp::direction>(true)));
  EXPECT_TRUE(around.sent[1].empty());
}

TEST_F(switch_route, parts_by_lid_before_and_behind) {
  manage({2});
  // Behind: the directed part ends here, and the table leads on.
  auto m = directed(mad_method::get, smp_attribute::node_info);
  give(1, to_qp0(m.set<&dr_smp::dr_dlid>(2)));
  auto there = mad_from(2);
  ASSERT_TRUE(there);
  EXPECT_EQ(2, there->dlid);
  EXPECT_EQ(10, there->slid);
  auto answer = image<dr_smp>::from_bytes(there->mad.data());
  answer.set<&dr_smp::direction>(true).set<&dr_smp::method>(mad_method::get_resp);
  give(2, to_qp0(answer, 2, 10));
  auto back = mad_from(1);
  ASSERT_TRUE(back);
  EXPECT_EQ(permissive_lid, back->dlid);
  EXPECT_EQ(1u, image<dr_smp>::from_bytes(back->mad.data()).get<&dr_smp::hop_pointer>());
  // Before: it comes by the switch's LID, and goes back by the requester's.
  m = directed(mad_method::get, smp_attribute::node_info);
  m.set<&dr_smp::hop_pointer>(0).set<&dr_smp::dr_slid>(1);
  m.data()[dr_smp{}.initial_path.offset + 1] = std::byte{2};
  give(1, to_qp0(m, 1, 10));
  there = mad_from(2);
  ASSERT_TRUE(there);
  answer = image<dr_smp>::from_bytes(there->mad.data());
  EXPECT_EQ(1u, answer.get<&dr_smp::hop_pointer>());
  answer.set<&dr_smp::direction>(true).set<&dr_smp::method>(mad_method::get_resp);
  give(2, to_qp0(answer));
  back = mad_from(1);
  ASSERT_TRUE(back);
  EXPECT_EQ(1, back->dlid);
  EXPECT_EQ(10, back->slid);
}

}  // namespace
}  // namespace freehca::infiniband_switch::test
