// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What firmware reports of Ethernet ports, and what it takes for them.
#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_port.hpp>

#include "basis/capabilities.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::image;
using layouts::opcode;

namespace {

using reported = image<layouts::query_dev_cap>;

options with_ethernet() {
  options how = test_options();
  how.link[1] = link_layer::ethernet;
  return how;
}

reported report_of(const options& how) {
  test_host host;
  device hca{host, how};
  test_driver driver{host, hca};
  reported r;
  EXPECT_TRUE(driver.start_firmware());
  EXPECT_EQ(driver.query(opcode::query_dev_cap, r).status, command_status::ok);
  return r;
}

using l = layouts::query_dev_cap;

template <auto... Flags>
bool flags(const reported& r) {
  const std::uint64_t all = (static_cast<std::uint64_t>(Flags) | ...);
  return (r.get<&l::flags>() & all) == all;
}
template <auto Field, auto... Flags>
bool bits_in(const reported& r) {
  const std::uint64_t all = (static_cast<std::uint64_t>(Flags) | ...);
  return (r.get<Field>() & all) == all;
}

using f = layouts::dev_cap_flag;
using f2 = layouts::dev_cap_ext_2_flag;
using f3 = layouts::dev_cap_ext_3_flag;
using b = layouts::bmme_flag;

enum generation : unsigned { all_variants, third, pro_alone };

struct reported_capability {
  const char* name;
  capability what;
  generation since;
  bool (*there)(const reported&);
};
void PrintTo(const reported_capability& c, std::ostream* to) {
  *to << c.name;
}

const reported_capability rows[] = {
    {"two_link_layers", capability::two_link_layers, all_variants,
     flags<f::dual_port_different_protocol>},
    {"rss", capability::receive_side_scaling, all_variants,
     [](const reported& r) {
       return flags<f::udp_rss, f::rss_ip_fragments>(r) && r.get<&l::rss_toeplitz>() &&
              r.get<&l::rss_xor>() && r.get<&l::log_max_rss_tbl_sz>() == 7;
     }},
    {"interface_counters", capability::interface_counters, all_variants,
     [](const reported& r) { return flags<f::counters>(r) && r.get<&l::max_counters>() == 128; }},
    {"fcs_keep", capability::keeps_fcs, all_variants, flags<f::fcs_keep>},
    {"ignore_fcs", capability::ignores_fcs, third, bits_in<&l::bmme_flags, b::ignore_fcs>},
    {"unicast_loopback", capability::unicast_loopback, all_variants, flags<f::uc_loopback>},
    {"loopback_source_check", capability::loopback_source_check, third,
     bits_in<&l::ext_2_flags, f2::update_qp, f2::update_qp_src_check_lb, f2::lb_src_check>},
    {"config_dev", capability::device_configuration, third, bits_in<&l::bmme_flags, b::config_dev>},
    {"link_modes", capability::link_modes, third,
     [](const reported& r) -> bool { return r.get<&l::eth_protocol_control>(); }},
    {"port_beacon", capability::port_beacon, third,
     [](const reported& r) -> bool { return r.get<&l::port_beacon>(); }},
    {"vxlan", capability::vxlan, pro_alone, bits_in<&l::ext_3_flags, f3::vxlan_offloads>},
    {"wake_on_lan", capability::wake_on_lan, all_variants,
     [](const reported& r) {
       return flags<f::wake_on_lan_port2>(r) && !flags<f::wake_on_lan_port1>(r);
     }},
    {"roce", capability::roce, all_variants, flags<f::roce>},
    {"roce_v2", capability::roce_v2, pro_alone, bits_in<&l::bmme_flags, b::roce_v1_v2>},
    {"port_remap", capability::port_remap, third, bits_in<&l::bmme_flags, b::port_remap>},
    {"ets", capability::traffic_classes, third, bits_in<&l::ext_3_flags, f3::ets_cfg>},
    {"qcn", capability::congestion_notification, third,
     [](const reported& r) -> bool { return r.get<&l::qcn>(); }},
};

using ethernet_capabilities = ::testing::TestWithParam<reported_capability>;

}  // namespace

TEST_P(ethernet_capabilities, are_reported_with_an_ethernet_port_alone) {
  const reported_capability& row = GetParam();
  for (const variant kind : {variant::connectx2, variant::connectx3, variant::connectx3_pro}) {
    options how = with_ethernet();
    how.kind = kind;
    EXPECT_EQ(row.there(report_of(how)), !off_unless_asked(row.what) && offers(how, row.what));
    how.with.add(capability::roce);
    how.with.add(row.what);
    const bool has = row.since == all_variants || kind == variant::connectx3_pro ||
                     (row.since == third && kind == variant::connectx3);
    EXPECT_EQ(row.there(report_of(how)), has);
    options lacks = how;
    lacks.without.add(row.what);
    EXPECT_FALSE(row.there(report_of(lacks)));
    how.link[1] = link_layer::infiniband;
    EXPECT_FALSE(row.there(report_of(how)));
  }
}

INSTANTIATE_TEST_SUITE_P(every, ethernet_capabilities, ::testing::ValuesIn(rows),
                         [](const auto& of) { return std::string(of.param.name); });

namespace {

struct ethernet_firmware : ::testing::Test {
  test_host host;
  options how = with_ethernet();
  std::unique_ptr<device> hca = std::make_unique<device>(host, how);
  std::unique_ptr<test_driver> driver = std::make_unique<test_driver>(host, *hca);

  void begin(const options& other) {
    hca = std::make_unique<device>(host, other);
    driver = std::make_unique<test_driver>(host, *hca);
  }
  const hca_profile& profile() { return hca->inside().profile; }
};

}  // namespace

TEST_F(ethernet_firmware, one_port_is_not_of_two_kinds) {
  how.ports = 1;
  how.link[0] = link_layer::ethernet;
  EXPECT_FALSE(flags<f::dual_port_different_protocol>(report_of(how)));
  EXPECT_TRUE(flags<f::fcs_keep>(report_of(how)));
  // A second port that is not there is of no kind.
  how.link[0] = link_layer::infiniband;
  EXPECT_FALSE(flags<f::fcs_keep>(report_of(how)));
}

TEST_F(ethernet_firmware, init_hca_takes_what_ethernet_ports_want_and_query_hca_gives_it_back) {
  using p = layouts::init_hca;
  ASSERT_TRUE(driver->start_firmware() && driver->read_capabilities() &&
              driver->prepare_context_memory());
  auto in = driver->profile();
  in.set<&p::counters>(true).set<&p::rss_ip_fragments>(true);
  in.set<&p::dmfs_eth_bits>(6).set<&p::dmfs_eth_num_addrs>(8);
  ASSERT_EQ(driver->command_with(opcode::init_hca, in).status, command_status::ok);
  EXPECT_TRUE(profile().hash_ip_fragments);
  EXPECT_TRUE(profile().unicast_entries);
  EXPECT_FALSE(profile().device_managed_steering);
  image<p> out;
  ASSERT_EQ(driver->query(opcode::query_hca, out).status, command_status::ok);
  EXPECT_EQ(out.set<&p::hca_core_clock>(0), in);
  ASSERT_EQ(driver->command(opcode::close_hca).status, command_status::ok);
  in.set<&p::rss_ip_fragments>(false).set<&p::uc_steering>(false);
  ASSERT_EQ(driver->command_with(opcode::init_hca, in).status, command_status::ok);
  EXPECT_FALSE(profile().hash_ip_fragments);
  EXPECT_FALSE(profile().unicast_entries);
}

TEST_F(ethernet_firmware, configuration_tells_how_checksums_are_reported) {
  using c = layouts::config_dev;
  ASSERT_TRUE(driver->start_firmware());
  image<c> out;
  ASSERT_EQ(driver->query(opcode::config_dev, out, 0, 1).status, command_status::ok);
  EXPECT_EQ(out.get<&c::rx_checksum_port1>(), 0u);
  EXPECT_EQ(out.get<&c::rx_checksum_port2>(), 3u);
}

TEST_F(ethernet_firmware, configuration_takes_the_port_of_vxlan) {
  using c = layouts::config_dev;
  ASSERT_TRUE(driver->start_firmware());
  const auto in = image<c>{}.set<&c::u_vxlan_udp_dport>(true).set<&c::vxlan_udp_dport>(4789);
  ASSERT_EQ(driver->command_with(opcode::config_dev, in).status, command_status::ok);
  EXPECT_EQ(profile().vxlan_port, 4789);
  // INIT_HCA leaves it, and a port that is not to change stays.
  ASSERT_TRUE(driver->read_capabilities() && driver->prepare_context_memory());
  ASSERT_EQ(driver->command_with(opcode::init_hca, driver->profile()).status, command_status::ok);
  const auto other = image<c>{}.set<&c::vxlan_udp_dport>(1);
  ASSERT_EQ(driver->command_with(opcode::config_dev, other).status, command_status::ok);
  EXPECT_EQ(profile().vxlan_port, 4789);
  image<c> out;
  ASSERT_EQ(driver->query(opcode::config_dev, out, 0, 1).status, command_status::ok);
  EXPECT_EQ(out.get<&c::vxlan_udp_dport>(), 4789u);
  ASSERT_EQ(driver->command(opcode::close_hca).status, command_status::ok);
  EXPECT_EQ(profile().vxlan_port, 0);
}

TEST_F(ethernet_firmware, configuration_takes_the_port_of_roce_v2) {
  using c = layouts::config_dev;
  const auto in = image<c>{}.set<&c::u_roce_v2_udp_dport>(true).set<&c::roce_v2_udp_dport>(5000);
  options lacks = how;
  lacks.without.add(capability::roce_v2);
  begin(lacks);
  ASSERT_TRUE(driver->start_firmware());
  EXPECT_EQ(driver->command_with(opcode::config_dev, in).status, command_status::bad_parameter);
  begin(how);
  ASSERT_TRUE(driver->start_firmware());
  image<c> out;
  ASSERT_EQ(driver->query(opcode::config_dev, out, 0, 1).status, command_status::ok);
  EXPECT_EQ(out.get<&c::roce_v2_udp_dport>(), 4791u);
  ASSERT_EQ(driver->command_with(opcode::config_dev, in).status, command_status::ok);
  EXPECT_EQ(profile().roce_v2_port, 5000);
}

TEST_F(ethernet_firmware, configuration_switches_the_check_of_ports_where_they_can_be_mapped) {
  using c = layouts::config_dev;
  const auto off =
      image<c>{}.set<&c::u_disable_rx_port_check>(true).set<&c::disable_rx_port_check>(true);
  for (const bool mapped : {false, true}) {
    options has = how;
    if (!mapped) has.without.add(capability::port_remap);
    begin(has);
    ASSERT_TRUE(driver->start_firmware());
    EXPECT_EQ(driver->command_with(opcode::config_dev, off).status,
              mapped ? command_status::ok : command_status::bad_parameter);
    EXPECT_EQ(profile().any_receive_port, mapped);
    image<c> out;
    ASSERT_EQ(driver->query(opcode::config_dev, out, 0, 1).status, command_status::ok);
    EXPECT_EQ(out.get<&c::disable_rx_port_check>(), mapped);
  }
  ASSERT_EQ(
      driver->command_with(opcode::config_dev, image<c>{}.set<&c::u_disable_rx_port_check>(true))
          .status,
      command_status::ok);
  EXPECT_FALSE(profile().any_receive_port);
}

TEST_F(ethernet_firmware, one_port_alone_is_not_mapped) {
  options one = how;
  one.ports = 1;
  one.link[0] = link_layer::ethernet;
  EXPECT_FALSE((bits_in<&l::bmme_flags, b::port_remap>(report_of(one))));
}

namespace {

struct ethernet_link_modes : ethernet_firmware {
  using p = layouts::ptys;
  using h = layouts::access_reg;
  using mode = layouts::ethernet_link_mode;
  static constexpr auto gigabit = static_cast<std::uint32_t>(mode::sgmii_1000base_cx),
                        copper = static_cast<std::uint32_t>(mode::cr_10gbase),
                        fibre = static_cast<std::uint32_t>(mode::sr_10gbase);

  void SetUp() override { ASSERT_TRUE(driver->bring_up()); }

  /// The status in the head of the answer; `r` becomes the register.
  layouts::access_reg_status access(layouts::access_reg_method method, image<p>& r,
                                    unsigned id = 0x5004) {
    image<h> head;
    head.set<&h::operation_tlv_type>(1).set<&h::operation_tlv_words>(4);
    head.set<&h::register_class>(1).set<&h::method>(method);
    head.set<&h::register_id>(static_cast<layouts::access_reg_id>(id));
    head.set<&h::register_tlv_type>(3).set<&h::register_tlv_words>(p::bytes / 4 + 1);
    host.store(driver->input, head);
    host.store(driver->input + h::bytes, r);
    EXPECT_EQ(driver->command(opcode::access_reg, driver->input, 0, 0, driver->output).status,
              command_status::ok);
    const auto answer = host.load<h>(driver->output);
    EXPECT_EQ(static_cast<unsigned>(answer.get<&h::register_id>()), id);
    r = host.load<p>(driver->output + h::bytes);
    return answer.get<&h::status>();
  }
  static image<p> of_port(unsigned port) {
    return image<p>{}.set<&p::local_port>(port).set<&p::proto_mask>(4);
  }
  layouts::ethernet_speed speed() {
    image<layouts::query_port> out;
    EXPECT_EQ(driver->query(opcode::query_port, out, 2).status, command_status::ok);
    return out.get<&layouts::query_port::eth_link_speed>();
  }
};

using status_of_register = layouts::access_reg_status;
using method = layouts::access_reg_method;

}  // namespace

TEST_F(ethernet_link_modes, are_those_of_a_captured_card) {
  auto r = of_port(2);
  ASSERT_EQ(access(method::query, r), status_of_register::ok);
  EXPECT_EQ(r.get<&p::local_port>(), 2u);
  EXPECT_EQ(r.get<&p::eth_proto_cap>(), gigabit | copper | fibre);
  EXPECT_EQ(r.get<&p::eth_proto_admin>(), gigabit | copper | fibre);
  EXPECT_EQ(r.get<&p::eth_proto_oper>(), 0u);  // no link
  EXPECT_EQ(speed(), layouts::ethernet_speed::xfi_10g);
}

TEST_F(ethernet_link_modes, are_chosen_by_the_driver) {
  auto r = of_port(2).set<&p::eth_proto_admin>(gigabit | 1u << 26);
  ASSERT_EQ(access(method::write, r), status_of_register::ok);
  EXPECT_EQ(r.get<&p::eth_proto_admin>(), gigabit);  // the port has no 10GBASE-T
  EXPECT_EQ(speed(), layouts::ethernet_speed::gigabit);
  r = of_port(2);
  ASSERT_EQ(access(method::query, r), status_of_register::ok);
  EXPECT_EQ(r.get<&p::eth_proto_admin>(), gigabit);
  r = of_port(2).set<&p::eth_proto_admin>(1u << 26);
  EXPECT_EQ(access(method::write, r), status_of_register::bad_parameter);
  EXPECT_EQ(speed(), layouts::ethernet_speed::gigabit);
  r = of_port(2).set<&p::eth_proto_admin>(fibre);
  EXPECT_EQ(access(method::write, r), status_of_register::ok);
  EXPECT_EQ(speed(), layouts::ethernet_speed::xfi_10g);
}

TEST_F(ethernet_link_modes, of_what_is_not_there_have_a_status_in_the_head) {
  for (const unsigned port : {0u, 1u, 3u}) {
    auto r = of_port(port);
    EXPECT_EQ(access(method::query, r), status_of_register::bad_parameter) << port;
  }
  auto r = of_port(2).set<&p::proto_mask>(1);
  EXPECT_EQ(access(method::query, r), status_of_register::bad_parameter);
  r = of_port(2);
  EXPECT_EQ(access(static_cast<method>(3), r), status_of_register::method_not_supported);
  r = of_port(2);
  EXPECT_EQ(access(method::query, r, 0x5003), status_of_register::register_not_supported);
}

TEST_F(ethernet_firmware, wake_on_lan_is_kept_by_port) {
  using layouts::wake_on_lan;
  constexpr std::uint32_t port_1 = 5u << 28 | 1 << 8, port_2 = 5u << 28 | 2 << 8;
  const auto asked = image<wake_on_lan>{}
                         .set<&wake_on_lan::modify>(true)
                         .set<&wake_on_lan::enabled>(true)
                         .set<&wake_on_lan::magic_packet>(true);
  const auto told =
      image<wake_on_lan>{}.set<&wake_on_lan::enabled>(true).set<&wake_on_lan::magic_packet>(true);
  const auto word = [](const image<wake_on_lan>& m) {
    return layouts::load_be<std::uint64_t>(m.data());
  };
  ASSERT_TRUE(driver->start_firmware());
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, word(asked), port_2, 1).status,
            command_status::bad_operation);
  how.with.add(capability::wake_on_lan);
  begin(how);
  ASSERT_TRUE(driver->start_firmware());
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, word(told), port_2, 1).status,
            command_status::ok);  // nothing is to change
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, 0, port_2, 3).output, 0u);
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, word(asked), port_2, 1).status,
            command_status::ok);
  driver->write(layouts::bar0::reset, 1);
  ASSERT_TRUE(driver->start_firmware());
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, 0, port_2, 3).output, word(told));
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, 0, port_1, 3).output, 0u);
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, 0, 5u << 28 | 3 << 8, 3).status,
            command_status::bad_index);
  EXPECT_EQ(driver->command(opcode::mod_stat_cfg, 0, 2 << 8, 3).status,
            command_status::bad_operation);
}

namespace {

struct ethernet_updates : transport_fixture {
  using u = layouts::update_qp_mailbox;
  using q = layouts::qpc;
  using path = layouts::primary_path;

  ethernet_updates() : transport_fixture(with_ethernet()) {}

  command_status update(std::uint32_t qpn, std::uint64_t qp_mask, std::uint64_t path_mask,
                        const image<q>& to) {
    image<u> m;
    m.set<&u::qp_mask>(qp_mask).set<&u::primary_path_mask>(path_mask);
    m.set_bytes<&u::context>(to.data());
    return driver->command_with(opcode::update_qp, m, qpn).status;
  }
};

}  // namespace

TEST_F(ethernet_updates, change_what_the_masks_name_and_nothing_else) {
  using namespace layouts::update_path;
  const test_qp a = make_qp(0x150);
  image<q> to;
  to.set<&path::src_check_mc_lb>(true).set<&path::counter_index>(9).set<&q::vsd>(true);
  EXPECT_EQ(update(a.number, 0, src_check_mc_lb, to), command_status::bad_qp_state);
  ASSERT_EQ(modify(opcode::rst2init_qp, a.number, first_context(a)), command_status::ok);
  const image<q> before = context_of(a);
  ASSERT_EQ(update(a.number, 0, 0, to), command_status::ok);
  EXPECT_EQ(context_of(a), before);
  ASSERT_EQ(update(a.number, 0, src_check_mc_lb, to), command_status::ok);
  EXPECT_TRUE(context_of(a).get<&path::src_check_mc_lb>());
  EXPECT_EQ(context_of(a).get<&path::counter_index>(), 0u);
  ASSERT_EQ(update(a.number, layouts::update_qp::vsd, counter_index, to), command_status::ok);
  EXPECT_EQ(context_of(a).get<&path::counter_index>(), 9u);
  EXPECT_TRUE(context_of(a).get<&q::vsd>());
  ASSERT_EQ(update(a.number, 0, src_check_mc_lb, image<q>{}), command_status::ok);
  EXPECT_FALSE(context_of(a).get<&path::src_check_mc_lb>());
  EXPECT_EQ(update(a.number, 0, fsm, to), command_status::bad_parameter);
  EXPECT_EQ(state_of(a), qp_state::init);
}

}  // namespace freehca::model::test
