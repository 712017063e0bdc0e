// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A port from INIT_PORT to Active, managed by the built-in subnet manager while the firmware
// answers for QP0.
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/set_port.hpp>

#include "ports_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

class ports_bring_up : public ports_fixture {};

TEST_F(ports_bring_up, a_port_is_down_before_init_port) {
  const auto i = info();
  EXPECT_EQ(i.get<&port_info::state>(), layouts::port_state::down);
  EXPECT_EQ(i.get<&port_info::lid>(), 0u);
  EXPECT_EQ(i.get<&port_info::gid_prefix>(), default_subnet_prefix);
  image<layouts::query_port> q;
  ASSERT_EQ(driver->query(opcode::query_port, q, 1).status, status::ok);
  EXPECT_FALSE(q.get<&layouts::query_port::link_up>());
  EXPECT_EQ(q.get<&layouts::query_port::supported_port_type>(), port_type::ib);
  EXPECT_EQ(q.get<&layouts::query_port::log_max_gid>(), 7u);
}

TEST_F(ports_bring_up, the_manager_brings_it_to_active) {
  bring_to_active();
  const auto i = info();
  EXPECT_EQ(i.get<&port_info::physical_state>(), port_physical_state::link_up);
  EXPECT_EQ(i.get<&port_info::lid>(), 2u);
  EXPECT_EQ(i.get<&port_info::master_sm_lid>(), 1u);
  EXPECT_EQ(i.get<&port_info::subnet_timeout>(), 18u);
  EXPECT_EQ(i.get<&port_info::neighbor_mtu>(), ib_mtu::mtu_4096);
  EXPECT_EQ(i.get<&port_info::link_width_active>(), link_width::x4);
  EXPECT_EQ(i.get<&port_info::link_speed_ext_active>(), link_speed_ext::fdr);
  EXPECT_FALSE(i.get<&port_info::client_reregister>());
  image<layouts::query_port> q;
  ASSERT_EQ(driver->query(opcode::query_port, q, 1).status, status::ok);
  EXPECT_TRUE(q.get<&layouts::query_port::link_up>());
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(ports_bring_up, the_host_is_told) {
  bring_to_active();
  const auto all = events();
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(all[0].get<&eqe::event_type>(), event_type::port_management_change);
  ASSERT_EQ(all[0].get<&eqe::event_sub_type>(),
            static_cast<unsigned>(port_management_subtype::port_info));
  const auto change = as_table<eqe_port_info_change>(all[0]);
  EXPECT_EQ(change.get<&eqe_port_info_change::port>(), 1u);
  EXPECT_EQ(change.get<&eqe_port_info_change::port_lid>(), 2u);
  EXPECT_EQ(change.get<&eqe_port_info_change::mstr_sm_lid>(), 1u);
  EXPECT_EQ(change.get<&eqe_port_info_change::changed_attr>(),
            static_cast<unsigned>(port_info_change::lid) |
                static_cast<unsigned>(port_info_change::master_sm_lid) |
                static_cast<unsigned>(port_info_change::client_reregister));
  EXPECT_EQ(all[1].get<&eqe::event_type>(), event_type::port_change);
  EXPECT_EQ(all[1].get<&eqe::event_sub_type>(), static_cast<unsigned>(port_change_subtype::active));
  EXPECT_EQ(as_table<eqe_port_change>(all[1]).get<&eqe_port_change::port>(), 1u);
}

TEST_F(ports_bring_up, both_ports) {
  bring_to_active(1);
  bring_to_active(2);
  EXPECT_EQ(info(2).get<&port_info::local_port_num>(), 2u);
  EXPECT_EQ(init_port(3), status::bad_index);
  EXPECT_EQ(init_port(0), status::bad_index);
}

TEST_F(ports_bring_up, without_a_manager_it_polls) {
  options how = test_options();
  how.subnet_manager = false;
  start(how);
  ASSERT_EQ(init_port(), status::ok);
  host->advance(10 * second);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::down);
  EXPECT_EQ(info().get<&port_info::physical_state>(), port_physical_state::polling);
  EXPECT_TRUE(events().empty());
}

TEST_F(ports_bring_up, the_manager_leaves_the_clock_alone_when_it_is_done) {
  bring_to_active();
  EXPECT_TRUE(host->idle());
}

TEST_F(ports_bring_up, closing_takes_the_link_down) {
  bring_to_active();
  events();
  ASSERT_EQ(close_port(), status::ok);
  const auto i = info();
  EXPECT_EQ(i.get<&port_info::state>(), layouts::port_state::down);
  EXPECT_EQ(i.get<&port_info::lid>(), 2u);  // stays
  const auto all = events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].get<&eqe::event_type>(), event_type::port_change);
  EXPECT_EQ(all[0].get<&eqe::event_sub_type>(), static_cast<unsigned>(port_change_subtype::down));
  EXPECT_EQ(close_port(), status::ok);  // as Linux does
  host->advance(10 * second);
  EXPECT_TRUE(events().empty());
  bring_to_active();
}

TEST_F(ports_bring_up, an_open_port_is_not_opened_again) {
  ASSERT_EQ(init_port(), status::ok);
  EXPECT_EQ(init_port(), status::bad_resource_state);
}

TEST_F(ports_bring_up, reset_forgets) {
  bring_to_active();
  hca->reset();
  driver = std::make_unique<test_driver>(*host, *hca);
  eq = {};
  ASSERT_TRUE(driver->bring_up());
  EXPECT_EQ(info().get<&port_info::lid>(), 0u);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::down);
  bring_to_active();
}

TEST_F(ports_bring_up, sensing_finds_infiniband_where_a_peer_is) {
  EXPECT_EQ(driver->command(opcode::sense_port, 0, 1).output, static_cast<unsigned>(port_type::ib));
  EXPECT_EQ(driver->command(opcode::sense_port, 0, 3).status, status::bad_index);
  options how = test_options();
  how.subnet_manager = false;
  start(how);
  EXPECT_EQ(driver->command(opcode::sense_port, 0, 1).output,
            static_cast<unsigned>(port_type::none));
}

TEST_F(ports_bring_up, the_other_port_may_be_ethernet) {
  options how = test_options();
  how.link[1] = link_layer::ethernet;
  start(how);
  image<layouts::query_port> q;
  ASSERT_EQ(driver->query(opcode::query_port, q, 2).status, status::ok);
  EXPECT_EQ(q.get<&layouts::query_port::supported_port_type>(), port_type::ethernet);
  EXPECT_EQ(q.get<&layouts::query_port::mac>(), how.mac + 1);
  const image<set_port_ib> nothing{};
  EXPECT_EQ(driver->command_with(opcode::set_port, nothing, 2).status, status::bad_operation);
  EXPECT_EQ(driver->command_with(opcode::set_port, nothing, 1, 1).status, status::bad_operation);
  bring_to_active(1);
}

TEST_F(ports_bring_up, a_single_port_adapter_has_no_second_port) {
  options how = test_options();
  how.ports = 1;
  start(how);
  EXPECT_EQ(init_port(2), status::bad_index);
  EXPECT_EQ(get<node_info>(smp_attribute::node_info).get<&node_info::num_ports>(), 1u);
  bring_to_active();
}

/// The host has special QPs, and no receive buffer on them.
class ports_with_silent_host : public ports_fixture {
 protected:
  ports_with_silent_host() {
    EXPECT_EQ(driver->command(opcode::conf_special_qp, 0, special_base).status, status::ok);
  }
  static constexpr std::uint32_t special_base = 64;
};

TEST_F(ports_with_silent_host, the_manager_asks_on_and_stops_with_the_link) {
  ASSERT_EQ(init_port(), status::ok);
  host->advance(second);
  const auto received = driver->counter_named("port1_packets_received");
  EXPECT_GE(received, 2u);
  host->advance(10 * second);
  EXPECT_GT(driver->counter_named("port1_packets_received"), received + 10);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::initialize);
  EXPECT_EQ(driver->counter_named("port1_packets_sent"), 0u);
  ASSERT_EQ(close_port(), status::ok);
  EXPECT_TRUE(host->idle());
}

TEST_F(ports_with_silent_host, the_firmware_answers_what_mad_demux_leaves_to_it) {
  const auto config = image<mad_demux>{}
                          .set<&mad_demux::get_attr_mask>(0xffffffff)
                          .set<&mad_demux::set_attr_mask>(0xffffffff);
  ASSERT_EQ(driver->command_with(opcode::mad_demux, config, mad_demux_subnet_management).status,
            status::ok);
  bring_to_active();
}

class set_port : public ports_fixture {
 protected:
  /// As Linux starts a port: MTU 4096, `vls` virtual lanes, the capability mask that it has read.
  image<set_port_ib> limits(unsigned vls, ib_mtu mtu = ib_mtu::mtu_4096) {
    return image<set_port_ib>{}
        .set<&set_port_ib::mmc>(true)
        .set<&set_port_ib::mvc>(true)
        .set<&set_port_ib::mtu_cap>(static_cast<unsigned>(mtu))
        .set<&set_port_ib::vl_cap>(vls)
        .set<&set_port_ib::capability_mask>(info().get<&port_info::capability_mask>());
  }
  status set(const image<set_port_ib>& in, std::uint32_t port = 1) {
    return driver->command_with(opcode::set_port, in, port).status;
  }
};

TEST_F(set_port, takes_what_linux_asks_for) {
  EXPECT_EQ(info().get<&port_info::capability_mask>(), 0x02504868u);  // captures, 4.2
  ASSERT_EQ(set(limits(8)), status::ok);
  EXPECT_EQ(info().get<&port_info::vl_cap>(), vl_code::vl0_7);
  ASSERT_EQ(set(limits(2, ib_mtu::mtu_2048)), status::ok);
  EXPECT_EQ(info().get<&port_info::vl_cap>(), vl_code::vl0_1);
  EXPECT_EQ(info().get<&port_info::mtu_cap>(), ib_mtu::mtu_2048);
  bring_to_active();
  EXPECT_EQ(info().get<&port_info::neighbor_mtu>(), ib_mtu::mtu_2048);
}

TEST_F(set_port, refuses_what_no_port_can_have) {
  EXPECT_EQ(set(limits(3)), status::bad_parameter);
  EXPECT_EQ(set(limits(15)), status::exceeds_limits);
  EXPECT_EQ(set(limits(8, static_cast<ib_mtu>(6))), status::bad_parameter);
  EXPECT_EQ(set(limits(8), 3), status::bad_index);
  EXPECT_EQ(set(image<set_port_ib>{}.set<&set_port_ib::mp>(true).set<&set_port_ib::max_pkey>(129)),
            status::exceeds_limits);
  image<set_port_ib> reserved;
  reserved.data()[0x30] = std::byte{1};
  EXPECT_EQ(set(reserved), status::bad_parameter);
  EXPECT_EQ(driver->command_with(opcode::set_port, image<set_port_ib>{}, 1, 1).status,
            status::bad_operation);
}

TEST_F(set_port, connectx2_has_no_buffers_for_eight_lanes_of_4096_bytes) {
  options how = test_options();
  how.kind = variant::connectx2;
  start(how);
  EXPECT_EQ(set(limits(8)), status::bad_size);  // captures, 8
  EXPECT_EQ(set(limits(4)), status::ok);
  EXPECT_EQ(set(limits(8, ib_mtu::mtu_2048)), status::ok);
  EXPECT_EQ(info().get<&port_info::capability_mask>(), 0x02500868u);
}

TEST_F(set_port, the_host_owns_three_capabilities) {
  auto in = image<set_port_ib>{}.set<&set_port_ib::capability_mask>(
      port_capability::communication_management | port_capability::sm |
      port_capability::device_management | port_capability::led_info);
  ASSERT_EQ(set(in), status::ok);
  EXPECT_EQ(info().get<&port_info::capability_mask>(), 0x02504868u | 1u << 16 | 1u << 1 | 1u << 19);
  ASSERT_EQ(set(in.set<&set_port_ib::capability_mask>(0)), status::ok);
  EXPECT_EQ(info().get<&port_info::capability_mask>(), 0x02504868u);
}

TEST_F(set_port, an_open_port_keeps_its_shape) {
  ASSERT_EQ(init_port(), status::ok);
  EXPECT_EQ(set(limits(8)), status::bad_resource_state);
  EXPECT_EQ(set(image<set_port_ib>{}.set<&set_port_ib::rqk>(true)), status::ok);
}

TEST_F(set_port, a_slower_link) {
  ASSERT_EQ(
      set(image<set_port_ib>{}.set<&set_port_ib::lss>(true).set<&set_port_ib::link_speed_supported>(
          1)),
      status::ok);  // iPXE's
  bring_to_active();
  EXPECT_EQ(info().get<&port_info::link_speed_active>(), link_speed::sdr);
  EXPECT_EQ(info().get<&port_info::link_speed_ext_active>(), link_speed_ext::none);
}

TEST_F(set_port, smaller_tables) {
  ASSERT_EQ(set(image<set_port_ib>{}
                    .set<&set_port_ib::mp>(true)
                    .set<&set_port_ib::max_pkey>(1)
                    .set<&set_port_ib::mg>(true)
                    .set<&set_port_ib::max_gid>(1)),
            status::ok);  // iPXE's
  EXPECT_EQ(info().get<&port_info::guid_cap>(), 1u);
  auto m = request(mad_method::get, smp_attribute::pkey_table, 1);
  ASSERT_EQ(mad_ifc(m), status::ok);
  EXPECT_EQ(m.get<&smp::status>(), mad_status::invalid_attribute_value);
}

TEST_F(set_port, a_changed_capability_reaches_the_manager) {
  bring_to_active();
  const auto sent = driver->counter_named("port1_packets_sent");
  ASSERT_EQ(set(image<set_port_ib>{}.set<&set_port_ib::capability_mask>(
                port_capability::communication_management)),
            status::ok);
  host->advance(5 * second);
  // The trap, and the answers to the sweep that follows; the trap is not repeated.
  EXPECT_EQ(driver->counter_named("port1_packets_sent"), sent + 6);
  EXPECT_TRUE(host->idle());
}

}  // namespace freehca::model::test
