// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Management datagrams, by libibmad/fields.c, include/rdma/ib_smi.h, ib_pma.h and sa_query.c;
// values of a real ConnectX-3 where the captures have them.
#include <gtest/gtest.h>

#include <freehca/layouts/forwarding.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/module_info.hpp>
#include <freehca/layouts/notice.hpp>
#include <freehca/layouts/pma.hpp>
#include <freehca/layouts/sa.hpp>
#include <freehca/layouts/smp.hpp>

#include "hex_bytes.hpp"

using namespace freehca::layouts;

TEST(mad, directed_route_header) {
  image<dr_smp> p;
  p.set<&dr_smp::base_version>(mad_base_version)
      .set<&dr_smp::mgmt_class>(mad_class::subnet_directed_route)
      .set<&dr_smp::class_version>(1)
      .set<&dr_smp::method>(mad_method::get_resp)
      .set<&dr_smp::direction>(true)
      .set<&dr_smp::status>(mad_status::unsupported_method_attribute)
      .set<&dr_smp::hop_pointer>(1)
      .set<&dr_smp::hop_count>(2)
      .set<&dr_smp::tid>(0x0102030405060708)
      .set<&dr_smp::attribute_id>(static_cast<std::uint16_t>(smp_attribute::port_info))
      .set<&dr_smp::attribute_modifier>(1)
      .set<&dr_smp::mkey>(0x1112131415161718)
      .set<&dr_smp::dr_slid>(0xffff)
      .set<&dr_smp::dr_dlid>(0xfffe);
  EXPECT_EQ(hex_bytes::hex(p).substr(0, 80),
            "01810181 800c0102 01020304 05060708 00150000 00000001 11121314 15161718 fffffffe");
  EXPECT_TRUE(p.reserved_clear());
}

TEST(mad, subnet_administration_header) {
  image<sa_mad> p;
  p.set<&sa_mad::mgmt_class>(mad_class::subnet_admin)
      .set<&sa_mad::class_version>(sa_class_version)
      .set<&sa_mad::method>(mad_method::get_table_resp)
      .set<&rmpp_rows::version>(rmpp_version)
      .set<&rmpp_rows::type>(rmpp_type::data)
      .set<&rmpp_rows::response_time>(rmpp_no_response_time)
      .set<&rmpp_rows::flags>(rmpp_flag::active | rmpp_flag::first | rmpp_flag::last)
      .set<&rmpp_rows::segment_number>(1)
      .set<&rmpp_rows::payload_length>(0x54)
      .set<&sa_mad::attribute_offset>(attribute_offset_of(path_record::bytes))
      .set<&sa_mad::component_mask>(path_component::dgid | path_component::sgid | path_component::numb_path);
  EXPECT_EQ(hex_bytes::hex(p).substr(0, 9), "00030292 ");
  EXPECT_EQ(hex_bytes::hex(p).substr(54, 72),
            "0101ff00 00000001 00000054 00000000 00000000 00080000 00000000 0000100c ");
}

// Offsets and widths by ib_switch_info_t (OpenSM's ib_types.h) and libibmad's IB_SW_* rows.
TEST(mad, switch_info) {
  image<switch_info> i;
  i.set<&switch_info::linear_fdb_cap>(0xc000)
      .set<&switch_info::random_fdb_cap>(0x0102)
      .set<&switch_info::multicast_fdb_cap>(0x1000)
      .set<&switch_info::linear_fdb_top>(0x0304)
      .set<&switch_info::default_port>(0x05)
      .set<&switch_info::default_multicast_primary>(0x06)
      .set<&switch_info::default_multicast_other>(0x07)
      .set<&switch_info::life_time>(18)
      .set<&switch_info::port_state_change>(true)
      .set<&switch_info::lids_per_port>(0x0809)
      .set<&switch_info::partition_enforcement_cap>(0x0020)
      .set<&switch_info::inbound_enforcement_cap>(true)
      .set<&switch_info::outbound_enforcement_cap>(true)
      .set<&switch_info::enhanced_port_0>(true)
      .set<&switch_info::multicast_fdb_top>(0xc00f);
  EXPECT_EQ(hex_bytes::hex(i), "c0000102 10000304 05060794 08090020 c800c00f");
}

TEST(mad, node_info_of_a_real_card) {
  image<node_info> n;
  n.set<&node_info::base_version>(1)
      .set<&node_info::class_version>(1)
      .set<&node_info::type>(node_type::channel_adapter)
      .set<&node_info::num_ports>(2)
      .set<&node_info::system_image_guid>(0x0002c90300336fe3)
      .set<&node_info::node_guid>(0x0002c90300336fe0)
      .set<&node_info::port_guid>(0x0002c90300336fe1)
      .set<&node_info::partition_cap>(128)
      .set<&node_info::device_id>(0x1003)
      .set<&node_info::local_port_num>(1)
      .set<&node_info::vendor_id>(0x0002c9);
  EXPECT_EQ(hex_bytes::hex(n),
            "01010102 0002c903 00336fe3 0002c903 00336fe0 0002c903 00336fe1 00801003 00000000 010002c9");
  image<node_record> r;
  r.set<&node_record::lid>(5).set<&node_record::node_guid>(0x0002c90300336fe0);
  EXPECT_EQ(hex_bytes::hex(r).substr(0, 44), "00050000 00000000 00000000 00000000 0002c903");
}

TEST(mad, port_info) {
  image<port_info> p;
  p.set<&port_info::gid_prefix>(default_subnet_prefix)
      .set<&port_info::lid>(0x11)
      .set<&port_info::master_sm_lid>(1)
      .set<&port_info::capability_mask>(0x02514868)
      .set<&port_info::local_port_num>(1)
      .set<&port_info::link_width_enabled>(3)
      .set<&port_info::link_width_supported>(3)
      .set<&port_info::link_width_active>(link_width::x4)
      .set<&port_info::link_speed_supported>(7)
      .set<&port_info::state>(port_state::active)
      .set<&port_info::physical_state>(port_physical_state::link_up)
      .set<&port_info::link_down_default>(2)
      .set<&port_info::link_speed_active>(link_speed::qdr)
      .set<&port_info::link_speed_enabled>(7)
      .set<&port_info::neighbor_mtu>(ib_mtu::mtu_4096)
      .set<&port_info::vl_cap>(vl_code::vl0_7)
      .set<&port_info::mtu_cap>(ib_mtu::mtu_4096)
      .set<&port_info::operational_vls>(vl_code::vl0_7)
      .set<&port_info::guid_cap>(128)
      .set<&port_info::client_reregister>(true)
      .set<&port_info::subnet_timeout>(18)
      .set<&port_info::resp_time>(16)
      .set<&port_info::link_speed_ext_active>(link_speed_ext::fdr)
      .set<&port_info::link_speed_ext_supported>(1)
      .set<&port_info::link_speed_ext_enabled>(1);
  EXPECT_EQ(hex_bytes::hex(p),
            "00000000 00000000 fe800000 00000000 00110001 02514868 00000000 01030302 74520047 50400000 "
            "00050040 00000000 00008092 10000000 00000000 00001101");
  image<smp> m;
  set_attribute<&smp::data>(m, p);
  EXPECT_EQ((attribute<&smp::data, port_info>(m)), p);
  EXPECT_EQ(m.data()[64 + 32], std::byte{0x74});
}

TEST(mad, tables_of_words) {
  image<pkey_table> p;
  set_element<&pkey_table::pkeys, std::uint16_t>(p, 0, default_pkey_full);
  set_element<&pkey_table::pkeys, std::uint16_t>(p, 31, 0x8001);
  EXPECT_EQ(hex_bytes::hex(p).substr(0, 9), "ffff0000 ");
  EXPECT_EQ((element<&pkey_table::pkeys, std::uint16_t>(p, 31)), 0x8001u);
  image<guid_info> g;
  set_element<&guid_info::guids, std::uint64_t>(g, 7, 0x0002c90300336fe1);
  EXPECT_EQ(load_be<std::uint64_t>(g.data() + 56), 0x0002c90300336fe1u);
  EXPECT_EQ(vl_of_sl(0x0123456789abcdef, 0), 0u);
  EXPECT_EQ(vl_of_sl(0x0123456789abcdef, 15), 15u);
  EXPECT_EQ(vl_of_sl(0x0123456701234567, 9), 1u);
}

TEST(mad, path_and_multicast_records) {
  image<path_record> p;
  p.set<&path_record::dlid>(7)
      .set<&path_record::slid>(8)
      .set<&path_record::flow_label>(0x12345)
      .set<&path_record::hop_limit>(0x40)
      .set<&path_record::tclass>(0x67)
      .set<&path_record::reversible>(true)
      .set<&path_record::numb_path>(1)
      .set<&path_record::pkey>(0xffff)
      .set<&path_record::sl>(3)
      .set<&path_record::mtu_selector>(sa_selector::exactly)
      .set<&path_record::mtu>(ib_mtu::mtu_2048)
      .set<&path_record::rate_selector>(sa_selector::exactly)
      .set<&path_record::rate>(ib_rate::gbps_56)
      .set<&path_record::packet_life_selector>(sa_selector::exactly)
      .set<&path_record::packet_life>(18);
  EXPECT_EQ(hex_bytes::hex(p).substr(90), "00070008 01234540 6781ffff 0003848c 92000000 00000000");
  image<mcmember_record> m;
  m.set<&mcmember_record::qkey>(0xb1b)
      .set<&mcmember_record::mlid>(0xc003)
      .set<&mcmember_record::mtu_selector>(sa_selector::exactly)
      .set<&mcmember_record::mtu>(ib_mtu::mtu_2048)
      .set<&mcmember_record::pkey>(0xffff)
      .set<&mcmember_record::rate_selector>(sa_selector::exactly)
      .set<&mcmember_record::rate>(ib_rate::gbps_10)
      .set<&mcmember_record::sl>(1)
      .set<&mcmember_record::scope>(static_cast<std::uint64_t>(mcast_scope::link_local))
      .set<&mcmember_record::join_state>(join_state::full_member);
  EXPECT_EQ(hex_bytes::hex(m).substr(72), "00000b1b c0038400 ffff8300 10000000 21000000");
}

TEST(mad, counters) {
  const auto c = hex_bytes::bytes<port_counters>(
      "00010000 00020304 00050006 00070008 090a0bcd 0000000e 0000000f 00000010 00000011 00000012 00000013");
  EXPECT_EQ(c.get<&port_counters::port_select>(), 1u);
  EXPECT_EQ(c.get<&port_counters::symbol_error>(), 2u);
  EXPECT_EQ(c.get<&port_counters::link_downed>(), 4u);
  EXPECT_EQ(c.get<&port_counters::rcv_errors>(), 5u);
  EXPECT_EQ(c.get<&port_counters::xmit_discards>(), 8u);
  EXPECT_EQ(c.get<&port_counters::rcv_constraint>(), 10u);
  EXPECT_EQ(c.get<&port_counters::local_link_integrity>(), 12u);
  EXPECT_EQ(c.get<&port_counters::buffer_overrun>(), 13u);
  EXPECT_EQ(c.get<&port_counters::vl15_dropped>(), 14u);
  EXPECT_EQ(c.get<&port_counters::xmit_wait>(), 0x13u);
  EXPECT_EQ(port_counters_ext{}.multicast_rcv_packets.offset, 64u);
}

TEST(mad, notices) {
  image<notice_local_changes> n;
  n.set<&notice_rows::is_generic>(true)
      .set<&notice_rows::type>(notice_type::informational)
      .set<&notice_rows::producer_type>(node_type::channel_adapter)
      .set<&notice_rows::number>(trap::local_changes)
      .set<&notice_rows::issuer_lid>(5)
      .set<&notice_local_changes::lid>(5)
      .set<&notice_local_changes::other_changes>(true)
      .set<&notice_local_changes::capability_mask>(0x02514868)
      .set<&notice_local_changes::node_description_changed>(true);
  EXPECT_EQ(hex_bytes::hex(n).substr(0, 53), "84000001 00900005 00000000 00050001 02514868 00010000");
  image<inform_info> i;
  i.set<&inform_info::lid_range_begin>(0xffff)
      .set<&inform_info::is_generic>(1)
      .set<&inform_info::subscribe>(1)
      .set<&inform_info::type>(0xffff)
      .set<&inform_info::trap_number>(64)
      .set<&inform_info::qpn>(1)
      .set<&inform_info::resp_time>(19)
      .set<&inform_info::producer_type>(4);
  EXPECT_EQ(hex_bytes::hex(i).substr(36), "ffff0000 00000101 ffff0040 00000113 00000004");
}

// As Linux fills it in (mlx4/port.c struct mlx4_cable_info).
TEST(mad, what_is_read_of_a_module) {
  image<module_info> m;
  m.set<&module_info::i2c_address>(sfp_diagnostics_address)
      .set<&module_info::page>(3)
      .set<&module_info::address>(0x60)
      .set<&module_info::size>(48);
  EXPECT_EQ(hex_bytes::hex(m).substr(0, 36), "51030060 00000030 00000000 00000000 ");
  EXPECT_EQ(module_info{}.data.offset, 16u);
  EXPECT_EQ(module_status(module_error::not_connected), 0x031cu);
}
