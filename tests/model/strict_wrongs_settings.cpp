// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What CONFIG_DEV, ACCESS_REG and UPDATE_QP can have wrong, on an adapter with an Ethernet port.
#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/config_dev.hpp>

#include "strict_wrongs.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

command_status with_modifier(strict_world& world, call& c) {
  return world.issue(c.numbered(0xffffffff));
}

void add_config_dev(std::vector<wrong_call>& to) {
  using l = config_dev;
  const auto add = [&to](const char* how, auto wrong) {
    to.push_back({opcode::config_dev, how, wrong});
  };
  add("input_modifier_that_it_has_not", with_modifier);
  add("reserved_bit", [](strict_world& world, call& c) {
    c.mailbox[0x40] = std::byte{1};
    return world.issue(c);
  });
  add("check_of_ports_that_is_not_reported", [](strict_world& world, call& c) {
    world.how.without.add(capability::port_remap);
    world.begin(world.how.strict);
    c.change<&l::u_disable_rx_port_check, l>(true);
    return world.issue(c);
  });
}

void add_virt_port_map(std::vector<wrong_call>& to) {
  using l = virt_port_map;
  const auto add = [&to](const char* how, auto wrong) {
    to.push_back({opcode::virt_port_map, how, wrong});
  };
  add("input_modifier_that_it_has_not", with_modifier);
  add("port_0", mailbox_with<l, &l::v_port1, 0u>);
  add("port_3", mailbox_with<l, &l::v_port2, 3u>);
  add("port_that_is_InfiniBand", mailbox_with<l, &l::v_port1, 2u>);
}

void add_access_reg(std::vector<wrong_call>& to) {
  using h = access_reg;
  const auto add = [&to](const char* how, auto wrong) {
    to.push_back({opcode::access_reg, how, wrong});
  };
  add("input_modifier_that_it_has_not", with_modifier);
  // The head of the answer says what was wrong: ethernet_firmware.*
  add("register_that_there_is_not",
      mailbox_with<h, &h::register_id, static_cast<access_reg_id>(0x5003)>);
}

void add_update_qp(std::vector<wrong_call>& to) {
  using l = update_qp_mailbox;
  const opcode o = opcode::update_qp;
  to.push_back({o, "in_the_reset_state",
                [](strict_world& world, call& c) {
                  EXPECT_EQ(
                      world.driver->command(opcode::to_rst_qp, 0, strict_world::a_qpn, 2).status,
                      command_status::ok);
                  return world.issue(c);
                },
                false});
  to.push_back(
      {o, "rate_that_is_not_reported", mailbox_with<l, &l::qp_mask, update_qp::rate_limit>});
  to.push_back({o, "forced_MAC_that_is_not_reported",
                mailbox_with<l, &l::primary_path_mask, update_path::fsm>});
  to.push_back({o, "alternate_path", mailbox_with<l, &l::alternate_path_mask, update_path::feup>});
}

}  // namespace

void add_settings_wrongs(std::vector<wrong_call>& to) {
  add_config_dev(to);
  add_virt_port_map(to);
  add_access_reg(to);
  add_update_qp(to);
}

}  // namespace freehca::model::test
