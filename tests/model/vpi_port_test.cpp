// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// A VPI port: what it tells of its types, how SET_PORT changes them, what is gone after that, and
// what it senses of its far end.
#include <array>

#include <freehca/layouts/query_dev_cap.hpp>

#include "vpi_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class vpi : public testing::Test {
 protected:
  using status = command_status;

  void begin(const options& how) {
    hca.reset();
    hca = std::make_unique<station>(how);
    port = std::make_unique<vpi_driver>(vpi_driver{*hca});
    if (!how.cable[0]) hca->close();
  }
  std::unique_ptr<station> hca;
  std::unique_ptr<vpi_driver> port;
};

class vpi_types : public vpi {
 protected:
  static bool told(const options& how, dev_cap_flag flag) {
    station s(how);
    image<query_dev_cap> out;
    EXPECT_EQ(s.driver->query(opcode::query_dev_cap, out).status, status::ok);
    return (out.get<&query_dev_cap::flags>() & static_cast<std::uint64_t>(flag)) != 0;
  }
};

class vpi_settings : public vpi {};

class vpi_sensing : public testing::Test {
 protected:
  void begin(const options& far) {
    near = std::make_unique<station>(with_cabled_vpi(0));
    other = std::make_unique<station>(far);
    near->host->lay_cable(1, *other->host, 1);
    port = std::make_unique<vpi_driver>(vpi_driver{*near});
  }
  ~vpi_sensing() override {
    if (near != nullptr) near->host->part();
  }
  static options far_end_of(link_layer kind) {
    options how = with_cabled_vpi(1, kind);
    how.vpi[0] = false;
    return how;
  }
  void pass(std::uint64_t ns) { near->host->advance(ns); }
  void comes(std::size_t bytes) {
    const std::vector<std::byte> frame(bytes, std::byte{2});
    near->hca->link_receive(1, frame.data(), frame.size());
    near->host->run();
  }
  std::uint64_t foreign() const { return near->counter("port1_foreign_packets"); }

  std::unique_ptr<station> near, other;
  std::unique_ptr<vpi_driver> port;
};

}  // namespace

TEST_F(vpi_types, are_both_and_the_first_is_suggested) {
  for (const link_layer first : {link_layer::infiniband, link_layer::ethernet}) {
    options how = with_vpi(first);
    how.cable[0] = true;
    begin(how);
    for (int times = 0; times < 2; ++times) {
      const auto q = port->asked();
      EXPECT_EQ(q.get<&query_port::supported_port_type>(), port_type::vpi);
      EXPECT_EQ(q.get<&query_port::suggested_type>(), first == link_layer::ethernet);
      EXPECT_FALSE(q.get<&query_port::default_sense>());
      EXPECT_EQ(q.get<&query_port::eth_mtu>(), 9600u);
      EXPECT_EQ(q.get<&query_port::transceiver_type>(), 1u);
      EXPECT_EQ(port->is_ethernet(), (first == link_layer::ethernet) != (times == 1));
      EXPECT_EQ(port->is_ethernet() ? port->to_infiniband() : port->to_ethernet(), status::ok);
    }
    EXPECT_EQ(port->asked(2).get<&query_port::supported_port_type>(), port_type::ib);
  }
}

TEST_F(vpi_types, make_the_adapter_report_what_ethernet_needs_and_that_it_senses) {
  options one = with_vpi();
  one.ports = 1;
  EXPECT_TRUE(told(one, dev_cap_flag::sense_port));
  EXPECT_TRUE(told(with_vpi(), dev_cap_flag::sense_port));
  EXPECT_FALSE(told(test_options(), dev_cap_flag::sense_port));
  one.without = {};
  EXPECT_TRUE(told(one, dev_cap_flag::dual_port_different_protocol));
  EXPECT_TRUE(told(one, dev_cap_flag::roce));
  one.without.add(capability::port_sensing);
  EXPECT_FALSE(told(one, dev_cap_flag::sense_port));
}

TEST_F(vpi_types, are_to_be_sensed_by_themselves_when_that_is_asked_for) {
  options how = with_vpi();
  how.with.add(capability::default_sense);
  begin(how);
  EXPECT_TRUE(port->asked().get<&query_port::default_sense>());
  EXPECT_FALSE(port->asked(2).get<&query_port::default_sense>());
  how.without.add(capability::port_sensing);
  begin(how);
  EXPECT_FALSE(port->asked().get<&query_port::default_sense>());
}

TEST_F(vpi_types, change_by_the_form_of_set_port_back_and_forth) {
  begin(with_cabled_vpi(0));
  const auto filter = [&] {
    return hca->driver->command(opcode::set_vlan_fltr, hca->driver->input, 1).status;
  };
  for (int times = 0; times < 10; ++times) {
    EXPECT_TRUE(port->is_infiniband());
    EXPECT_EQ(hca->info().get<&port_info::lid>(), 0u);
    EXPECT_EQ(filter(), status::bad_operation);
    ASSERT_EQ(port->to_ethernet(), status::ok);
    EXPECT_TRUE(port->is_ethernet());
    EXPECT_EQ(filter(), status::ok);
    ASSERT_EQ(port->to_ethernet(), status::ok);
    EXPECT_TRUE(port->is_ethernet());
    ASSERT_EQ(port->to_infiniband(), status::ok);
  }
  EXPECT_EQ(hca->hca->complaints(), 0u);
}

TEST_F(vpi_types, change_by_every_form_of_ethernet_but_the_beacon) {
  begin(with_cabled_vpi(0));
  using mac = set_port_mac_entry;
  const auto entry = image<mac>{}.set<&mac::valid>(true).set<&mac::mac>(0x0002'c900'0001);
  EXPECT_EQ(hca->driver
                ->command_with(opcode::set_port, image<set_port_beacon>{}, 1,
                               static_cast<unsigned>(set_port_modifier::beacon))
                .status,
            status::bad_operation);
  EXPECT_TRUE(port->is_infiniband());
  EXPECT_EQ(port->ethernet(set_port_selector::mac_table, entry), status::ok);
  ASSERT_TRUE(port->is_ethernet());
  EXPECT_TRUE(hca->links().ethernet(1)->mac_index(0x0002'c900'0001));
}

TEST_F(vpi_types, stay_where_the_form_is_refused) {
  begin(with_cabled_vpi(0));
  using g = set_port_general;
  const auto wrong = image<g>{}.set<&g::v_mtu>(true).set<&g::mtu>(63);
  EXPECT_EQ(port->ethernet(set_port_selector::general, wrong), status::bad_parameter);
  EXPECT_TRUE(port->is_infiniband());
  ASSERT_EQ(port->to_ethernet(), status::ok);
  using ib = set_port_ib;
  const auto lanes = image<ib>{}.set<&ib::mvc>(true).set<&ib::vl_cap>(3);
  EXPECT_EQ(hca->driver->command_with(opcode::set_port, lanes, 1).status, status::bad_parameter);
  EXPECT_TRUE(port->is_ethernet());
}

TEST_F(vpi_types, stay_while_the_port_is_open) {
  begin(with_cabled_vpi(0));
  hca->open();
  EXPECT_EQ(port->to_infiniband(), status::ok);
  EXPECT_EQ(port->to_ethernet(), status::bad_resource_state);
  EXPECT_TRUE(port->is_infiniband());
  hca->close();
  ASSERT_EQ(port->to_ethernet(), status::ok);
  hca->open();
  EXPECT_EQ(port->to_infiniband(), status::bad_resource_state);
  EXPECT_TRUE(port->is_ethernet());
}

TEST_F(vpi_types, of_a_port_that_is_open_change_by_default_and_it_is_closed) {
  options how = with_vpi();
  how.strict = false;
  hca = std::make_unique<station>(how);
  port = std::make_unique<vpi_driver>(vpi_driver{*hca});
  ASSERT_TRUE(hca->links().active(1));
  EXPECT_EQ(port->to_ethernet(), status::ok);
  EXPECT_EQ(hca->hca->complaints(), 1u);
  ASSERT_TRUE(port->is_ethernet());
  EXPECT_FALSE(hca->links().ethernet(1)->is_open());
}

TEST_F(vpi_types, stay_while_a_queue_pair_is_bound_to_the_link) {
  begin(with_vpi());
  const test_qp bound = hca->make_qp(0x110), datagrams = hca->make_qp(0x111, qp_service::ud);
  hca->to_rts(datagrams, hca->ready_context(datagrams, 0));
  ASSERT_EQ(port->to_ethernet(), status::ok);
  ASSERT_EQ(port->to_infiniband(), status::ok);
  hca->to_rts(bound, hca->ready_context(bound, bound.number));
  EXPECT_EQ(port->to_ethernet(), status::bad_resource_state);
  ASSERT_EQ(hca->driver->command(opcode::to_rst_qp, 0, bound.number, 3).status, status::ok);
  EXPECT_EQ(port->to_ethernet(), status::ok);
}

TEST_F(vpi_types, change_while_a_queue_pair_has_no_path_yet) {
  begin(with_vpi());
  const test_qp waiting = hca->make_qp(0x110);
  ASSERT_EQ(hca->modify(opcode::rst2init_qp, waiting.number, hca->first_context(waiting)),
            status::ok);
  EXPECT_EQ(port->to_ethernet(), status::ok);
  EXPECT_EQ(port->to_infiniband(), status::ok);
  const auto ready = hca->ready_context(waiting, waiting.number);
  ASSERT_EQ(hca->modify(opcode::init2rtr_qp, waiting.number, ready), status::ok);
  EXPECT_EQ(port->to_ethernet(), status::bad_resource_state);
}

TEST_F(vpi_types, by_default_change_and_what_was_bound_is_in_error) {
  options how = with_vpi();
  how.strict = false;
  begin(how);
  test_qp bound = hca->make_qp(0x110);
  const test_qp elsewhere = hca->make_qp(0x111), datagrams = hca->make_qp(0x112, qp_service::ud);
  hca->to_rts(bound, hca->ready_context(bound, bound.number));
  hca->to_rts(datagrams, hca->ready_context(datagrams, 0));
  hca->to_rts(elsewhere, hca->ready_context(elsewhere, elsewhere.number)
                             .set<&primary_path::sched_queue>(sched_queue_ib(2, 0)));
  hca->post_receive(bound, station::region_start, 100, hca->key);
  EXPECT_EQ(port->to_ethernet(), status::ok);
  EXPECT_EQ(hca->hca->complaints(), 1u);
  hca->host->run();
  EXPECT_EQ(hca->state_of(bound), qp_state::error);
  EXPECT_EQ(hca->state_of(elsewhere), qp_state::rts);
  EXPECT_EQ(hca->state_of(datagrams), qp_state::rts);
  const auto flushed = image<cqe_error>::from_bytes(hca->completion().data());
  EXPECT_EQ(flushed.get<&cqe_error::syndrome>(), cqe_syndrome::wr_flush);
  hca->no_completion();
}

TEST_F(vpi_types, go_back_to_the_first_by_a_reset_and_by_close_hca) {
  begin(with_cabled_vpi(0, link_layer::ethernet));
  ASSERT_EQ(port->to_infiniband(), status::ok);
  ASSERT_EQ(hca->driver->command(opcode::close_hca, 0).status, status::ok);
  EXPECT_TRUE(port->is_ethernet());
  begin(with_cabled_vpi(0));
  ASSERT_EQ(port->to_ethernet(), status::ok);
  hca->hca->reset();
  EXPECT_TRUE(port->is_infiniband());
}

TEST_F(vpi_settings, of_ethernet_are_gone_when_it_comes_back) {
  begin(with_cabled_vpi(0));
  using mac = set_port_mac_entry;
  using address = set_port_roce_addr_entry;
  const std::array<std::byte, 16> gid{std::byte{0xfe}, std::byte{0x80}};
  ASSERT_EQ(port->ethernet(set_port_selector::mac_table,
                           image<mac>{}.set<&mac::valid>(true).set<&mac::mac>(0x2c9), 3),
            status::ok);
  ASSERT_EQ(port->ethernet(set_port_selector::roce_addr,
                           image<address>{}.set_bytes<&address::gid>(gid.data()), 2),
            status::ok);
  ASSERT_EQ(hca->driver->command(opcode::set_mcast_fltr, 0, 1, 2).status, status::ok);
  const ethernet_port* p = hca->links().ethernet(1);
  EXPECT_TRUE(p->mac_at(3) && p->gid(2) && p->filter().filters_multicast);
  ASSERT_EQ(port->to_infiniband(), status::ok);
  EXPECT_FALSE(hca->links().mac_at(1, 3));
  EXPECT_FALSE(hca->links().gid_at(1, 2));
  ASSERT_EQ(port->to_ethernet(), status::ok);
  p = hca->links().ethernet(1);
  EXPECT_FALSE(p->mac_at(3) || p->gid(2) || p->filter().filters_multicast);
}

TEST_F(vpi_settings, of_infiniband_are_gone_when_it_comes_back) {
  begin(with_vpi());
  using ib = set_port_ib;
  const auto guid = [this] { return hca->links().infiniband(1)->managed().guids[0]; };
  const auto at_first = guid();
  const auto told = image<ib>{}
                        .set<&ib::g0>(true)
                        .set<&ib::guid0>(0x1234)
                        .set<&ib::mp>(true)
                        .set<&ib::max_pkey>(4)
                        .set<&ib::capability_mask>(1u << 16);
  ASSERT_EQ(hca->driver->command_with(opcode::set_port, told, 1).status, status::ok);
  EXPECT_EQ(guid(), 0x1234u);
  EXPECT_EQ(hca->links().pkey_entries(1), 4u);
  EXPECT_EQ(hca->info().get<&port_info::lid>(), options::default_lid);
  ASSERT_EQ(port->to_ethernet(), status::ok);
  EXPECT_EQ(hca->links().base_lid(1), 0u);
  ASSERT_EQ(port->to_infiniband(), status::ok);
  EXPECT_EQ(guid(), at_first);
  EXPECT_EQ(hca->links().pkey_entries(1), 128u);
  EXPECT_EQ(hca->info().get<&port_info::lid>(), 0u);
  EXPECT_EQ(hca->info().get<&port_info::capability_mask>() & 1u << 16, 0u);
}

TEST_F(vpi_settings, let_the_built_in_manager_go_and_come_with_infiniband) {
  begin(with_vpi());
  for (int times = 0; times < 10; ++times) {
    ASSERT_EQ(port->to_infiniband(), status::ok);
    hca->open();
    hca->host->advance(second);
    ASSERT_TRUE(hca->links().active(1));
    EXPECT_EQ(hca->links().base_lid(1), options::default_lid);
    EXPECT_EQ(port->sensed(), port_type::ib);
    hca->close();
    ASSERT_EQ(port->to_ethernet(), status::ok);
    hca->open();
    hca->host->advance(second);
    EXPECT_FALSE(port->asked().get<&query_port::link_up>());
    EXPECT_EQ(port->sensed(), port_type::ib);
    hca->close();
  }
  hca->hca->plug_cable(1, false);
  EXPECT_EQ(port->sensed(), port_type::none);
  hca->hca->plug_cable(1, true);
  EXPECT_EQ(port->sensed(), port_type::ib);
}

TEST_F(vpi_sensing, finds_nothing_where_nobody_spoke) {
  begin(far_end_of(link_layer::infiniband));
  EXPECT_EQ(port->sensed(), port_type::none);
  ASSERT_EQ(port->to_ethernet(), command_status::ok);
  EXPECT_EQ(port->sensed(), port_type::none);
  near->open();
  pass(second);
  EXPECT_TRUE(port->asked().get<&query_port::link_up>());
  EXPECT_EQ(port->sensed(), port_type::ethernet);
}

TEST_F(vpi_sensing, finds_infiniband_while_a_port_trains_there) {
  begin(far_end_of(link_layer::infiniband));
  for (const bool as_ethernet : {true, false}) {
    ASSERT_EQ(as_ethernet ? port->to_ethernet() : port->to_infiniband(), command_status::ok);
    other->open();
    pass(second);
    EXPECT_EQ(port->sensed(), port_type::ib);
    other->close();
    pass(second);
    EXPECT_EQ(port->sensed(), port_type::none);
  }
}

TEST_F(vpi_sensing, finds_ethernet_by_a_frame_and_forgets_it_with_the_cable) {
  begin(far_end_of(link_layer::ethernet));
  comes(13);
  EXPECT_EQ(port->sensed(), port_type::none);
  comes(60);
  EXPECT_EQ(port->sensed(), port_type::ethernet);
  near->hca->plug_cable(1, false);
  comes(60);
  EXPECT_EQ(port->sensed(), port_type::none);
  near->hca->plug_cable(1, true);
  comes(60);
  EXPECT_EQ(port->sensed(), port_type::ethernet);
}

TEST_F(vpi_sensing, ends_when_infiniband_is_not_heard_for_long) {
  begin(far_end_of(link_layer::infiniband));
  ASSERT_EQ(port->to_ethernet(), command_status::ok);
  near->open();
  other->open();
  pass(2 * second);
  EXPECT_EQ(port->sensed(), port_type::ib);
  EXPECT_FALSE(port->asked().get<&query_port::link_up>());
  near->host->part();
  pass(9 * second);
  EXPECT_EQ(port->sensed(), port_type::ib);
  pass(3 * second);
  EXPECT_EQ(port->sensed(), port_type::ethernet);
  EXPECT_TRUE(port->asked().get<&query_port::link_up>());
}

TEST_F(vpi_sensing, takes_the_link_of_ethernet_when_infiniband_begins_and_gives_it_back) {
  begin(far_end_of(link_layer::infiniband));
  ASSERT_EQ(port->to_ethernet(), command_status::ok);
  near->open();
  pass(second);
  ASSERT_TRUE(port->asked().get<&query_port::link_up>());
  for (int times = 0; times < 3; ++times) {
    other->open();
    pass(second);
    EXPECT_FALSE(port->asked().get<&query_port::link_up>());
    other->close();
    pass(second);
    EXPECT_TRUE(port->asked().get<&query_port::link_up>());
  }
}

TEST_F(vpi_sensing, drops_and_counts_frames_while_the_port_is_infiniband) {
  begin(far_end_of(link_layer::ethernet));
  near->open();
  for (const std::size_t bytes : {1u, 5u, 7u, 14u, 60u, 1514u, 9000u}) comes(bytes);
  EXPECT_EQ(foreign(), 7u);
  pass(second);
  EXPECT_NE(near->state(), port_state::initialize);
  EXPECT_EQ(near->counter("port1_malformed_packets"), 0u);
}

TEST_F(vpi_sensing, drops_and_counts_packets_while_the_port_is_ethernet) {
  begin(with_cabled_vpi(1));
  near->open();
  other->open();
  pass(second);
  near->activate(4);
  other->activate(9);
  near->close();
  ASSERT_EQ(port->to_ethernet(), command_status::ok);
  near->open();
  const std::uint64_t before = foreign();
  pass(second);  // the other trains anew
  EXPECT_GT(foreign(), before);
  comes(200);  // what it had sent
  EXPECT_FALSE(port->asked().get<&query_port::link_up>());
  EXPECT_EQ(near->counter("port1_packets_received"), 0u);
}

}  // namespace freehca::model::test
