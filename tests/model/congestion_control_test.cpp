// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// CONGESTION_CTRL, which only an adapter has that is asked for it.
#include <freehca/layouts/congestion_control.hpp>

#include "ethernet_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class congestion_control : public ethernet_fixture {
 protected:
  using p = reaction_point_parameters;

  congestion_control() {
    options how = ethernet_options();
    how.with.add(capability::congestion_notification);
    start_ethernet(how);
  }
  static std::uint32_t of(unsigned priorities, unsigned number = 1, unsigned algorithm = 0) {
    return algorithm << 16 | priorities << 8 | number;
  }
  status set(const image<p>& in, std::uint32_t modifier) {
    return driver
        ->command_with(opcode::congestion_ctrl, in, modifier,
                       static_cast<unsigned>(congestion_ctrl_modifier::set_params))
        .status;
  }
  image<p> told(unsigned priority) {
    image<p> out;
    EXPECT_EQ(driver->query(opcode::congestion_ctrl, out, of(1u << priority)).status, status::ok);
    return out;
  }
};

using not_asked_for_congestion_control = congestion_control;

}  // namespace

TEST_F(congestion_control, keeps_what_each_priority_is_told) {
  using m = reaction_point_parameters;
  // As en_dcb_nl.c mlx4_en_dcbnl_ieee_setqcn has it.
  image<p> in;
  store_be<std::uint32_t>(in.data(), 0xc0000000);
  store_be<std::uint32_t>(in.data() + 4, 0xffc00000);
  in.set<&m::rpg_enable>(true).set<&m::cn_tag>(true).set<&m::rppp_max_rps>(3);
  in.set<&m::rpg_gd>(9).set<&m::rpg_min_rate>(77).set<&m::rpg_time_reset>(30);
  ASSERT_EQ(set(in, of(1u << 5)), status::ok);
  const auto changed = told(5);
  EXPECT_TRUE(changed.get<&m::rpg_enable>());
  EXPECT_TRUE(changed.get<&m::cn_tag>());
  EXPECT_EQ(changed.get<&m::rppp_max_rps>(), 3u);
  EXPECT_EQ(changed.get<&m::rpg_gd>(), 9u);
  EXPECT_EQ(changed.get<&m::rpg_min_rate>(), 77u);
  EXPECT_EQ(changed.get<&m::rpg_time_reset>(), 30u);
  EXPECT_EQ(changed.get<&m::rpg_threshold>(), 0u);
  EXPECT_FALSE(changed.get<&m::modify_rpg_gd>());
  const auto other = told(4);
  EXPECT_FALSE(other.get<&m::rpg_enable>());
  EXPECT_EQ(other.get<&m::rppp_max_rps>(), 1u);
  EXPECT_EQ(other.get<&m::rpg_threshold>(), 5u);
}

TEST_F(congestion_control, changes_what_its_bit_names_and_nothing_else) {
  using m = reaction_point_parameters;
  const auto in =
      image<m>{}.set<&m::modify_rpg_ai_rate>(true).set<&m::rpg_ai_rate>(8).set<&m::rpg_gd>(3);
  ASSERT_EQ(set(in, of(0x81)), status::ok);
  for (const unsigned priority : {0u, 7u}) {
    EXPECT_EQ(told(priority).get<&m::rpg_ai_rate>(), 8u);
    EXPECT_EQ(told(priority).get<&m::rpg_gd>(), 7u);
  }
  EXPECT_EQ(told(1).get<&m::rpg_ai_rate>(), 5u);
}

TEST_F(congestion_control, counts_nothing_for_no_notification_is_obeyed) {
  using s = reaction_point_statistics;
  open();
  frame cnm = frame_to(port().mac());
  store_be<std::uint16_t>(&cnm.bytes[12], 0x22e7);
  EXPECT_TRUE(passes(cnm));
  image<s> out;
  ASSERT_EQ(driver->query(opcode::congestion_ctrl, out, of(1), 1).status, status::ok);
  EXPECT_EQ(out.get<&s::rppp_created_rps>(), 0u);
  EXPECT_EQ(out.get<&s::cnms_handled_successfully>(), 0u);
  EXPECT_EQ(out.get<&s::rppp_rp_centiseconds>(), 0u);
}

TEST_F(congestion_control, asks_one_priority_of_an_ethernet_port_by_the_one_algorithm) {
  image<p> out;
  const auto asked = [&](std::uint32_t modifier) {
    return driver->query(opcode::congestion_ctrl, out, modifier).status;
  };
  EXPECT_EQ(asked(of(1)), status::ok);
  EXPECT_EQ(asked(of(0)), status::bad_parameter);
  EXPECT_EQ(asked(of(3)), status::bad_parameter);
  EXPECT_EQ(asked(of(1, 2)), status::bad_operation);
  EXPECT_EQ(asked(of(1, 3)), status::bad_index);
  EXPECT_EQ(asked(of(1, 1, 1)), status::bad_operation);
  EXPECT_EQ(set({}, of(0)), status::bad_parameter);
}

TEST_F(not_asked_for_congestion_control, is_a_bad_operation) {
  start_ethernet(ethernet_options());
  image<p> out;
  EXPECT_EQ(driver->query(opcode::congestion_ctrl, out, of(1)).status, status::bad_operation);
}

}  // namespace freehca::model::test
