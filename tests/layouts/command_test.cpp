// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The command interface against bytes worked out from Linux 6.1 mlx4: each piece is a store that
// the driver makes, with the offset its own constants give.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include <freehca/layouts/access_reg.hpp>
#include <freehca/layouts/command_status.hpp>
#include <freehca/layouts/config_dev.hpp>
#include <freehca/layouts/congestion_control.hpp>
#include <freehca/layouts/eq_doorbell.hpp>
#include <freehca/layouts/hcr.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/init_port.hpp>
#include <freehca/layouts/mad_ifc.hpp>
#include <freehca/layouts/map.hpp>
#include <freehca/layouts/mod_stat_cfg.hpp>
#include <freehca/layouts/opcode.hpp>
#include <freehca/layouts/query_adapter.hpp>
#include <freehca/layouts/query_dev_cap.hpp>
#include <freehca/layouts/query_func_cap.hpp>
#include <freehca/layouts/query_fw.hpp>
#include <freehca/layouts/query_port.hpp>
#include <freehca/layouts/register_map.hpp>
#include <freehca/layouts/set_node.hpp>
#include <freehca/layouts/set_port.hpp>

#include "pieces.hpp"

namespace {

using namespace freehca::layouts;
using namespace pieces;

TEST(opcode, names_are_told_for_exactly_the_known_codes) {
  std::set<std::string> names;
  unsigned known = 0;
  for (unsigned v = 0; v < 0x10000; ++v) {
    const std::string name = name_of(static_cast<opcode>(v));
    if (name == "unknown opcode") continue;
    ++known;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_LE(v, 0xfffu) << name << " does not fit the register";
  }
  EXPECT_EQ(known, 98u);  // of 99 names: ACCESS_DDR and ACCESS_MEM are the same code
  EXPECT_STREQ(name_of(opcode::to_rst_qp), "2RST_QP");
  EXPECT_STREQ(name_of(opcode::query_fw), "QUERY_FW");
}

TEST(command_status, values_and_names) {
  unsigned known = 0;
  for (unsigned v = 0; v < 0x100; ++v) known += std::string(name_of(static_cast<command_status>(v))) != "unknown status";
  EXPECT_EQ(known, 19u);
  EXPECT_EQ(static_cast<int>(command_status::bad_size), 0x40);
  EXPECT_EQ(static_cast<int>(command_status::lam_not_present), 0x22);
}

TEST(hcr, words_as_mlx4_cmd_post_writes_them) {
  const std::uint64_t in = 0x1122334455667788, out = 0x99aabbccddeeff00;
  image<hcr> i;
  i.set<&hcr::in_param>(in).set<&hcr::in_modifier>(0xcafe0102).set<&hcr::out_param>(out).set<&hcr::token>(0xbeef);
  i.set<&hcr::go>(true).set<&hcr::t>(true).set<&hcr::e>(true);
  i.set<&hcr::opcode_modifier>(2).set<&hcr::opcode>(opcode::mad_ifc);
  EXPECT_TRUE(holds(i, {be64(0, in), be32(8, 0xcafe0102), be64(0xc, out), be32(0x14, 0xbeefu << 16),
                        be32(0x18, 1u << 23 | 1u << 21 | 1u << 22 | 2u << 12 | 0x24)}));
}

TEST(hcr, status_is_the_first_byte_of_the_last_word) {
  EXPECT_EQ(made_of<hcr>({u8(0x18, 0x06)}).get<&hcr::status>(), command_status::resource_busy);
  EXPECT_EQ(bar0::hcr + hcr::bytes, bar0::ownership);
  EXPECT_EQ(bar0::hcr_status, 0x80698u);
}

TEST(register_map, doorbells_of_event_queues) {
  EXPECT_EQ(uar::eq_doorbell_of(0), 0x800u);
  EXPECT_EQ(uar::eq_doorbell_of(3), 0x818u);
  EXPECT_EQ(uar::eq_doorbell_of(4), 0x1800u);
  EXPECT_EQ(uar::eq_doorbell_of(511), 127u * 0x1000 + 0x818);
  EXPECT_EQ(uar::blueflame_page_of(1, 2), 0x401000u);  // the cards with 8 MB: 4 MB of UARs
}

TEST(eq_doorbell, word) {
  image<eq_doorbell> i;
  i.set<&eq_doorbell::arm>(true).set<&eq_doorbell::consumer_counter>(0x123456);
  EXPECT_TRUE(holds(i, {be32(0, 0x80123456)}));
  EXPECT_EQ(eq_doorbell_word(0x1123456, true), 0x80123456u);
}

TEST(query_fw, fields_as_linux_reads_them) {
  const auto i = made_of<query_fw>(
      {be64(0x00, 0x0abc'0002'1388'002aull), u8(0x09, 3), be16(0x0a, 3), u8(0x0f, 7), be64(0x20, 0xf0000), u8(0x28, 1 << 6),
       be64(0x30, 0x1f000), be32(0x38, 0x10), u8(0x3c, 2 << 6), be64(0x40, 0x8000), u8(0x48, 1 << 6),
       be64(0x50, 0x1234567), u8(0x58, 0)});
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_EQ(i.get<&query_fw::fw_pages>(), 0xabcu);
  EXPECT_EQ(i.get<&query_fw::fw_rev_major>(), 2u);
  EXPECT_EQ(i.get<&query_fw::fw_rev_minor>(), 42u);
  EXPECT_EQ(i.get<&query_fw::fw_rev_subminor>(), 5000u);
  EXPECT_EQ(i.get<&query_fw::ppf_id>(), 3u);
  EXPECT_EQ(i.get<&query_fw::cmd_interface_rev>(), 3u);
  EXPECT_EQ(i.get<&query_fw::log_max_outstanding_cmd>(), 7u);
  EXPECT_EQ(i.get<&query_fw::clr_int_base>(), 0xf0000u);
  EXPECT_EQ(i.get<&query_fw::clr_int_bar>(), 1u);
  EXPECT_EQ(i.get<&query_fw::error_buf_offset>(), 0x1f000u);
  EXPECT_EQ(i.get<&query_fw::error_buf_size>(), 0x10u);
  EXPECT_EQ(i.get<&query_fw::error_buf_bar>(), 2u);
  EXPECT_EQ(i.get<&query_fw::comm_base>(), 0x8000u);
  EXPECT_EQ(i.get<&query_fw::comm_bar>(), 1u);
  EXPECT_EQ(i.get<&query_fw::clock_offset>(), 0x1234567u);
}

TEST(query_adapter, pin_and_board_identifier) {
  const auto i = made_of<query_adapter>({u8(0x10, 0x1f), be32(0x20 + 0xd0, 0x4d545f30), be16(0x1e, 0x15b3)});
  EXPECT_EQ(i.get<&query_adapter::inta_pin>(), 0x1fu);
  EXPECT_EQ(i.get<&query_adapter::vsd_vendor_id>(), 0x15b3u);
  EXPECT_EQ(std::to_integer<char>(i.bytes_of<&query_adapter::psid>()[0]), 'M');
  EXPECT_TRUE(i.reserved_clear());
}

TEST(map_entry, as_mlx4_map_cmd_writes_it) {
  image<map_entry> i;
  i.set<&map_entry::va>(0x12345000).set<&map_entry::pa>(0x1'2344'0000).set<&map_entry::log2size>(6);
  EXPECT_TRUE(holds(i, {be64(0, 0x12345000), be64(8, 0x1'2344'0000 | (18 - 12))}));
  EXPECT_EQ(map_entries_per_mailbox, 256u);
}

TEST(query_dev_cap, bytes_as_linux_reads_them) {
  const auto i = made_of<query_dev_cap>({
      u8(0x10, 14), u8(0x11, 15), u8(0x12, 6), u8(0x13, 19), u8(0x14, 6 << 4), u8(0x15, 16), u8(0x19, 22), u8(0x1a, 7),
      u8(0x1b, 16), u8(0x1d, 0x3e), u8(0x1e, 3), u8(0x1f, 9), u8(0x20, 4 << 4), u8(0x21, 40), u8(0x22, 8),
      be16(0x26, 0x123), u8(0x29, 7), u8(0x2b, 4), u8(0x2d, 17), u8(0x2e, 0x20 | 0x10 | 7), u8(0x2f, 0x2d), u8(0x33, 1),
      u8(0x34, 0x80), u8(0x35, 15), u8(0x36, 0x53), u8(0x37, 0x82), u8(0x38, 30), u8(0x3b, 7), be16(0x3c, 0xabcd),
      u8(0x3e, 0x80), u8(0x3f, 5), be32(0x40, 1u << 29), be32(0x44, 1u << 6), u8(0x48, 8 << 4), u8(0x49, 2), u8(0x4b, 9),
      u8(0x4c, 0x80), u8(0x4d, 9), u8(0x4e, 3), u8(0x4f, 10), u8(0x51, 61), be16(0x52, 1008), u8(0x55, 32),
      be16(0x56, 512), u8(0x5c, 1 << 2), u8(0x5d, 1), u8(0x61, 8), u8(0x62, 1), u8(0x63, 13), u8(0x64, 4 << 4), u8(0x65, 15),
      u8(0x66, 2 << 4), u8(0x67, 16), be32(0x68, 128), u8(0x70, 0x10), u8(0x74, 0x80), u8(0x76, 0x80 | 0x20 | 3),
      u8(0x77, 244), u8(0x78, 1 << 5), u8(0x7a, 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7), u8(0x7b, 1)});
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_EQ(i.get<&query_dev_cap::log_max_srq_sz>(), 14u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_qp_sz>(), 15u);
  EXPECT_EQ(i.get<&query_dev_cap::log_rsvd_qps>(), 6u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_qps>(), 19u);
  EXPECT_EQ(i.get<&query_dev_cap::log_rsvd_srqs>(), 6u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_srqs>(), 16u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_cq_sz>(), 22u);
  EXPECT_EQ(i.get<&query_dev_cap::log_rsvd_cqs>(), 7u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_cqs>(), 16u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_mpts>(), 0x3eu);
  EXPECT_EQ(i.get<&query_dev_cap::log_rsvd_eqs>(), 3u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_eqs>(), 9u);
  EXPECT_EQ(i.get<&query_dev_cap::log_rsvd_mtts>(), 4u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_mrw_sz>(), 40u);
  EXPECT_EQ(i.get<&query_dev_cap::log_rsvd_mrws>(), 8u);
  EXPECT_EQ(i.get<&query_dev_cap::num_sys_eqs>(), 0x123u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_ra_req_qp>(), 7u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_ra_res_qp>(), 4u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_gso_sz>(), 17u);
  EXPECT_TRUE(i.get<&query_dev_cap::rss_xor>());
  EXPECT_TRUE(i.get<&query_dev_cap::rss_toeplitz>());
  EXPECT_EQ(i.get<&query_dev_cap::log_max_rss_tbl_sz>(), 7u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_ra_res_global>(), 0x2du);
  EXPECT_TRUE(i.get<&query_dev_cap::resize_srq>());
  EXPECT_TRUE(i.get<&query_dev_cap::port_beacon>());
  EXPECT_EQ(i.get<&query_dev_cap::local_ca_ack_delay>(), 15u);
  EXPECT_EQ(i.get<&query_dev_cap::max_mtu_rev2>(), 5u);
  EXPECT_EQ(i.get<&query_dev_cap::max_port_width_rev2>(), 3u);
  EXPECT_EQ(i.get<&query_dev_cap::max_vl_rev2>(), 8u);
  EXPECT_EQ(i.get<&query_dev_cap::num_ports>(), 2u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_msg_sz>(), 30u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_gid>(), 7u);
  EXPECT_EQ(i.get<&query_dev_cap::stat_rate_support>(), 0xabcdu);
  EXPECT_TRUE(i.get<&query_dev_cap::cq_timestamp>());
  EXPECT_EQ(i.get<&query_dev_cap::log_max_pkey>(), 5u);
  EXPECT_EQ(i.get<&query_dev_cap::flags>(),
            static_cast<std::uint64_t>(dev_cap_flag::eqe_64b) | static_cast<std::uint64_t>(dev_cap_flag::srq));
  EXPECT_EQ(i.get<&query_dev_cap::num_rsvd_uars>(), 8u);
  EXPECT_EQ(i.get<&query_dev_cap::uar_sz>(), 2u);
  EXPECT_EQ(i.get<&query_dev_cap::log_page_sz>(), 9u);
  EXPECT_TRUE(i.get<&query_dev_cap::bf>());
  EXPECT_EQ(i.get<&query_dev_cap::log_bf_reg_sz>(), 9u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_bf_regs_per_page>(), 3u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_bf_pages>(), 10u);
  EXPECT_EQ(i.get<&query_dev_cap::max_sg_sq>(), 61u);
  EXPECT_EQ(i.get<&query_dev_cap::max_desc_sz_sq>(), 1008u);
  EXPECT_EQ(i.get<&query_dev_cap::max_sg_rq>(), 32u);
  EXPECT_EQ(i.get<&query_dev_cap::max_desc_sz_rq>(), 512u);
  EXPECT_TRUE(i.get<&query_dev_cap::user_mac_en>());
  EXPECT_TRUE(i.get<&query_dev_cap::svlan_by_qp>());
  EXPECT_EQ(i.get<&query_dev_cap::log_max_qp_mcg>(), 8u);
  EXPECT_EQ(i.get<&query_dev_cap::num_rsvd_mcgs>(), 1u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_mcgs>(), 13u);
  EXPECT_EQ(i.get<&query_dev_cap::num_rsvd_pds>(), 4u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_pds>(), 15u);
  EXPECT_EQ(i.get<&query_dev_cap::num_rsvd_xrcds>(), 2u);
  EXPECT_EQ(i.get<&query_dev_cap::log_max_xrcds>(), 16u);
  EXPECT_EQ(i.get<&query_dev_cap::max_counters>(), 128u);
  EXPECT_EQ(i.get<&query_dev_cap::ext_2_flags>(), static_cast<std::uint32_t>(dev_cap_ext_2_flag::flow_statistics));
  EXPECT_TRUE(i.get<&query_dev_cap::dmfs_ipoib>());
  EXPECT_TRUE(i.get<&query_dev_cap::dmfs>());
  EXPECT_TRUE(i.get<&query_dev_cap::dmfs_sniffer>());
  EXPECT_EQ(i.get<&query_dev_cap::dmfs_log_max_uc_range>(), 3u);
  EXPECT_EQ(i.get<&query_dev_cap::dmfs_max_qp_per_entry>(), 244u);
  EXPECT_TRUE(i.get<&query_dev_cap::sl2vl_event>());
  EXPECT_TRUE(i.get<&query_dev_cap::qos_vpp>());
  EXPECT_TRUE(i.get<&query_dev_cap::eth_protocol_control>());
  EXPECT_TRUE(i.get<&query_dev_cap::cqe_stride>());
  EXPECT_TRUE(i.get<&query_dev_cap::eqe_stride>());
  EXPECT_TRUE(i.get<&query_dev_cap::qcn>());
}

TEST(query_dev_cap, entry_sizes_and_extensions) {
  const auto i = made_of<query_dev_cap>(
      {be16(0x80, 32), be16(0x82, 256), be16(0x84, 1), be16(0x86, 64), be16(0x88, 65), be16(0x8a, 128), be16(0x8c, 129),
       be16(0x8e, 66), be16(0x90, 8), be16(0x92, 130), u8(0x94, 0x20 | 1 << 2), u8(0x96, 0x80 | 0x40), be32(0x98, 0x800),
       be32(0x9c, 1u << 0 | 1u << 7 | 1u << 8 | 1u << 17), u8(0x9d, 1 << 6), u8(0x9e, 1 << 3 | 1 << 5),
       be64(0xa0, 0x1000000000), be32(0xa8, 0x654321), be32(0xac, 0x123456), be32(0xb0, 1), u8(0xc1, 0x80), be16(0xcc, 128),
       be16(0xd0, 3 << 14 | 0x9ab), be16(0xd2, 1 << 14 | 0xcde), be32(0xe4, 0x7ff00)});
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_EQ(i.get<&query_dev_cap::rdmarc_entry_sz>(), 32u);
  EXPECT_EQ(i.get<&query_dev_cap::qpc_entry_sz>(), 256u);
  EXPECT_EQ(i.get<&query_dev_cap::aux_entry_sz>(), 1u);
  EXPECT_EQ(i.get<&query_dev_cap::altc_entry_sz>(), 64u);
  EXPECT_EQ(i.get<&query_dev_cap::eqc_entry_sz>(), 65u);
  EXPECT_EQ(i.get<&query_dev_cap::cqc_entry_sz>(), 128u);
  EXPECT_EQ(i.get<&query_dev_cap::srq_entry_sz>(), 129u);
  EXPECT_EQ(i.get<&query_dev_cap::c_mpt_entry_sz>(), 66u);
  EXPECT_EQ(i.get<&query_dev_cap::mtt_entry_sz>(), 8u);
  EXPECT_EQ(i.get<&query_dev_cap::d_mpt_entry_sz>(), 130u);
  EXPECT_EQ(i.get<&query_dev_cap::bmme_flags>(),
            static_cast<std::uint32_t>(bmme_flag::config_dev) | static_cast<std::uint32_t>(bmme_flag::ignore_fcs) |
                static_cast<std::uint32_t>(bmme_flag::phv_enable) | static_cast<std::uint32_t>(bmme_flag::skip_outer_vlan));
  EXPECT_EQ(i.get<&query_dev_cap::reserved_lkey>(), 0x800u);
  const auto ext3 = [](auto... f) { return (0u | ... | static_cast<std::uint32_t>(f)); };
  using x3 = dev_cap_ext_3_flag;
  EXPECT_EQ(i.get<&query_dev_cap::ext_3_flags>(),
            ext3(x3::eth_backplane_autoneg, x3::recoverable_error_event, x3::driver_version_to_fw, x3::diag_per_port,
                 x3::reassign_mac, x3::vxlan_offloads, x3::ets_cfg));
  EXPECT_EQ(i.get<&query_dev_cap::max_icm_sz>(), 0x1000000000u);
  EXPECT_EQ(i.get<&query_dev_cap::dmfs_high_rate_qpn_base>(), 0x654321u);
  EXPECT_EQ(i.get<&query_dev_cap::dmfs_high_rate_qpn_range>(), 0x123456u);
  EXPECT_TRUE(i.get<&query_dev_cap::mad_demux>());
  EXPECT_TRUE(i.get<&query_dev_cap::map_clock_to_user>());
  EXPECT_EQ(i.get<&query_dev_cap::qp_rate_limit_num>(), 128u);
  EXPECT_EQ(i.get<&query_dev_cap::qp_rate_limit_max_unit>(), 3u);
  EXPECT_EQ(i.get<&query_dev_cap::qp_rate_limit_max_val>(), 0x9abu);
  EXPECT_EQ(i.get<&query_dev_cap::qp_rate_limit_min_unit>(), 1u);
  EXPECT_EQ(i.get<&query_dev_cap::qp_rate_limit_min_val>(), 0xcdeu);
  EXPECT_EQ(i.get<&query_dev_cap::health_buffer_addr>(), 0x7ff00u);
}

TEST(query_port, bytes_as_linux_reads_them) {
  const auto i = made_of<query_port>({u8(0x00, 0x80 | 0x20 | 0x10 | 0x08 | 3), u8(0x01, 5), be16(0x02, 9600), u8(0x06, 3),
                                      u8(0x07, 7 << 4 | 6), u8(0x0a, 7 << 4 | 5), u8(0x0b, 2 << 4 | 8), be16(0x0c, 128),
                                      be16(0x0e, 17), be64(0x10, 0xf45214017895), be32(0x18, 0xab0002c9), be16(0x1c, 850),
                                      be64(0x20, 0x1122334455667788)});
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_TRUE(i.get<&query_port::link_up>());
  EXPECT_TRUE(i.get<&query_port::dmfs_optimized_state>());
  EXPECT_TRUE(i.get<&query_port::default_sense>());
  EXPECT_TRUE(i.get<&query_port::suggested_type>());
  EXPECT_EQ(i.get<&query_port::supported_port_type>(), port_type::vpi);
  EXPECT_EQ(i.get<&query_port::ib_mtu>(), 5u);
  EXPECT_EQ(i.get<&query_port::eth_mtu>(), 9600u);
  EXPECT_EQ(i.get<&query_port::ib_port_width>(), 3u);
  EXPECT_EQ(i.get<&query_port::log_max_gid>(), 7u);
  EXPECT_EQ(i.get<&query_port::log_max_pkey>(), 6u);
  EXPECT_EQ(i.get<&query_port::log_max_vlan>(), 7u);
  EXPECT_EQ(i.get<&query_port::log_max_mac>(), 5u);
  EXPECT_EQ(i.get<&query_port::max_tc_eth>(), 2u);
  EXPECT_EQ(i.get<&query_port::max_vl>(), 8u);
  EXPECT_EQ(i.get<&query_port::cur_max_pkey>(), 128u);
  EXPECT_EQ(i.get<&query_port::cur_max_gid>(), 17u);
  EXPECT_EQ(i.get<&query_port::mac>(), 0xf45214017895u);
  EXPECT_EQ(i.get<&query_port::transceiver_type>(), 0xabu);
  EXPECT_EQ(i.get<&query_port::vendor_oui>(), 0x2c9u);
  EXPECT_EQ(i.get<&query_port::wavelength>(), 850u);
  EXPECT_EQ(i.get<&query_port::transceiver_code>(), 0x1122334455667788u);
  EXPECT_EQ(made_of<sense_port>({be64(0, 2)}).get<&sense_port::port_type>(), port_type::ethernet);
}

TEST(init_hca, stores_as_linux_makes_them) {
  image<init_hca> i;
  i.set<&init_hca::version>(init_hca_version);
  i.set<&init_hca::log_cacheline_sz_minus_4>(2).set<&init_hca::cacheline_sz_valid>(true);
  i.set<&init_hca::ud_av_port_check>(true).set<&init_hca::host_is_big_endian>(true).set<&init_hca::qos>(true);
  i.set<&init_hca::checksum_enable>(true).set<&init_hca::counters>(true).set<&init_hca::dmfs>(true);
  i.set<&init_hca::rss_ip_fragments>(true).set<&init_hca::recoverable_error_event>(true);
  i.set<&init_hca::qpc_base>(0x1'0000'0000).set<&init_hca::log_num_qps>(19);
  i.set<&init_hca::srqc_base>(0x2'0000'0000).set<&init_hca::log_num_srqs>(16);
  i.set<&init_hca::cqc_base>(0x3'0000'0000).set<&init_hca::log_num_cqs>(17);
  i.set<&init_hca::eqe_64b>(true).set<&init_hca::cqe_64b>(true);
  i.set<&init_hca::eqe_stride>(2).set<&init_hca::cqe_stride>(1);
  i.set<&init_hca::altc_base>(0x4'0000'0000).set<&init_hca::auxc_base>(0x5'0000'0000);
  i.set<&init_hca::eqc_base>(0x6'0000'0000).set<&init_hca::log_num_eqs>(9).set<&init_hca::num_sys_eqs>(0x321);
  i.set<&init_hca::rdmarc_base>(0x7'0000'0000).set<&init_hca::log_rd_per_qp>(4);
  i.set<&init_hca::mc_base>(0x8'0000'0000).set<&init_hca::log_mc_entry_sz>(10).set<&init_hca::log_mc_hash_sz>(12);
  i.set<&init_hca::log_mc_table_sz>(13).set<&init_hca::uc_steering>(true);
  i.set<&init_hca::dmpt_base>(0x9'0000'0000).set<&init_hca::mw_enable>(true).set<&init_hca::log_mpt_sz>(19);
  i.set<&init_hca::mtt_base>(0xa'0000'0000).set<&init_hca::cmpt_base>(0xb'0000'0000);
  i.set<&init_hca::uar_page_sz>(1).set<&init_hca::log_max_uars>(10);
  i.set<&init_hca::dmfs_base>(0xc'0000'0000).set<&init_hca::dmfs_log_entry_sz>(7).set<&init_hca::dmfs_log_table_sz>(17);
  i.set<&init_hca::dmfs_a0>(dmfs_a0_mode::disabled).set<&init_hca::dmfs_eth_bits>(6).set<&init_hca::dmfs_eth_num_addrs>(8);
  i.set<&init_hca::dmfs_ib_bits>(6).set<&init_hca::dmfs_ib_num_addrs>(8);
  std::byte text[64]{};
  std::memcpy(text, "Linux,", 6);
  i.set_bytes<&init_hca::driver_version>(text);
  constexpr std::size_t qpc = 0x20, mcast = 0xc0, tpt = 0xf0, uar_area = 0x120, fs = 0x1d0;
  EXPECT_TRUE(holds(i, {u8(0, 2), u8(0x0e, (6 - 4) << 5 | 1 << 4),
                        be32(0x14, 1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 6 | 1u << 13),
                        be32(0x18, 1u << 31),
                        be64(qpc + 0x10, 0x1'0000'0000), u8(qpc + 0x17, 19),
                        be64(qpc + 0x28, 0x2'0000'0000), u8(qpc + 0x2f, 16),
                        be64(qpc + 0x30, 0x3'0000'0000), u8(qpc + 0x37, 17),
                        be32(qpc + 0x38, 1u << 29 | 1u << 30), u8(qpc + 0x3b, 2 << 4 | 1),
                        be64(qpc + 0x40, 0x4'0000'0000), be64(qpc + 0x50, 0x5'0000'0000),
                        be64(qpc + 0x60, 0x6'0000'0000), u8(qpc + 0x67, 9), be16(qpc + 0x6a, 0x321),
                        be64(qpc + 0x70, 0x7'0000'0000), u8(qpc + 0x77, 4),
                        be64(mcast, 0x8'0000'0000), u8(mcast + 0x13, 10), u8(mcast + 0x17, 12), u8(mcast + 0x18, 1 << 3),
                        u8(mcast + 0x1b, 13),
                        be64(tpt, 0x9'0000'0000), u8(tpt + 0x08, 1 << 7), u8(tpt + 0x0b, 19),
                        be64(tpt + 0x10, 0xa'0000'0000), be64(tpt + 0x18, 0xb'0000'0000),
                        u8(uar_area + 0x0a, 10), u8(uar_area + 0x0b, 1), {0x140, {'L', 'i', 'n', 'u', 'x', ','}},
                        be64(fs, 0xc'0000'0000), u8(fs + 0x13, 7), u8(fs + 0x18, 3 << 6), u8(fs + 0x1b, 17),
                        u8(fs + 0x21, 6), be16(fs + 0x22, 8), u8(fs + 0x25, 6), be16(fs + 0x26, 8)}));
}

TEST(init_hca, what_query_hca_adds) {
  const auto i = made_of<init_hca>({be32(0x04, 5), be16(0x0c, 427), u8(0x0e, 0x2)});
  EXPECT_EQ(i.get<&init_hca::global_caps>(), 5u);
  EXPECT_EQ(i.get<&init_hca::hca_core_clock>(), 427u);
  EXPECT_TRUE(i.get<&init_hca::phv_check_en>());
}

TEST(mod_stat_cfg, page_size_and_guid) {
  image<mod_stat_cfg> i;
  i.set<&mod_stat_cfg::log_pg_sz_m>(true).set<&mod_stat_cfg::log_pg_sz>(3);
  EXPECT_TRUE(holds(i, {u8(2, 1), u8(3, 3)}));
  const auto q = made_of<mod_stat_cfg>({be32(0x14, 0xf4521403), be32(0x1c, 0x0001b8a1)});
  EXPECT_EQ(q.get<&mod_stat_cfg::guid_hi>() << 32 | q.get<&mod_stat_cfg::guid_lo>(), 0xf45214030001b8a1u);
  image<mod_stat_cfg_input_modifier> m;
  m.set<&mod_stat_cfg_input_modifier::setup_mode>(5).set<&mod_stat_cfg_input_modifier::port>(2);
  EXPECT_TRUE(holds(m, {be32(0, 5u << 28 | 2u << 8)}));
}

TEST(init_port, old_form) {
  image<init_port> i;
  i.set<&init_port::vl_cap>(4).set<&init_port::port_width_cap>(3).set<&init_port::mtu>(2048);
  i.set<&init_port::max_gid>(128).set<&init_port::max_pkey>(64).set<&init_port::sig>(true).set<&init_port::ng>(true);
  i.set<&init_port::g0>(true).set<&init_port::guid0>(1).set<&init_port::node_guid>(2).set<&init_port::system_image_guid>(3);
  EXPECT_TRUE(holds(i, {be32(0, 7u << 16 | 3u << 8 | 4u << 4), be16(4, 2048), be16(6, 128), be16(0xa, 64), be64(0x10, 1),
                        be64(0x18, 2), be64(0x20, 3)}));
}

TEST(set_port, infiniband_form) {
  image<set_port_ib> i;
  i.set<&set_port_ib::mmc>(true).set<&set_port_ib::mvc>(true).set<&set_port_ib::mp>(true).set<&set_port_ib::rqk>(true);
  i.set<&set_port_ib::mtu_cap>(5).set<&set_port_ib::vl_cap>(8).set<&set_port_ib::capability_mask>(0x02514868);
  i.set<&set_port_ib::max_pkey>(128);
  EXPECT_TRUE(holds(i, {be32(0, 1u << 22 | 1u << 21 | 1u << 20 | 5u << 12 | 8u << 4), u8(3, 1), be32(4, 0x02514868),
                        be16(20 * 2, 128)}));
  image<set_port_ib_rev2> old;
  old.set<&set_port_ib_rev2::rqk>(true).set<&set_port_ib_rev2::capability_mask>(7);
  EXPECT_TRUE(holds(old, {u8(0, 1 << 6), be32(2 * 4, 7)}));
}

TEST(set_port, general_form) {
  image<set_port_general> i;
  i.set<&set_port_general::v_mtu>(true).set<&set_port_general::v_pprx>(true).set<&set_port_general::v_pptx>(true);
  i.set<&set_port_general::v_roce_mode>(true).set<&set_port_general::roce_mode>(port_roce_mode::v1_and_v2);
  i.set<&set_port_general::v_ignore_fcs>(true).set<&set_port_general::ignore_fcs>(true).set<&set_port_general::mtu>(1522);
  i.set<&set_port_general::pptx>(true).set<&set_port_general::pfctx>(0x18).set<&set_port_general::pprx>(true);
  i.set<&set_port_general::pfcrx>(0x81).set<&set_port_general::v_phv>(true).set<&set_port_general::phv_en>(true);
  i.set<&set_port_general::v_user_mtu>(true).set<&set_port_general::user_mtu>(1500);
  EXPECT_TRUE(holds(i, {u8(2, 0x02 | 0x10 | 0x20), u8(3, 0x07 | 0x10), u8(4, 2 << 4 | 1), be16(6, 1522), u8(8, 0x80),
                        u8(9, 0x18), u8(0xc, 0x80), u8(0xd, 0x81), u8(0x14, 0x80), be16(0x1a, 1500)}));
}

TEST(set_port, other_ethernet_forms) {
  image<set_port_rqp_calc> r;
  r.set<&set_port_rqp_calc::base_qpn>(0x240).set<&set_port_rqp_calc::n_mac>(7).set<&set_port_rqp_calc::promisc>(true);
  r.set<&set_port_rqp_calc::promisc_qpn>(0x241).set<&set_port_rqp_calc::mcast_mode>(mcast_mode::standard);
  r.set<&set_port_rqp_calc::mcast_qpn>(0x242).set<&set_port_rqp_calc::vlan_miss>(1).set<&set_port_rqp_calc::no_vlan>(2);
  EXPECT_TRUE(holds(r, {be32(0, 0x240), u8(5, 7), u8(0xd, 2), u8(0xf, 1), be32(0x14, 1u << 31 | 0x241),
                        be32(0x18, 2u << 30 | 0x242)}));
  image<set_port_mac_entry> m;
  m.set<&set_port_mac_entry::valid>(true).set<&set_port_mac_entry::mac>(0xf45214017895);
  EXPECT_TRUE(holds(m, {be64(0, 1ull << 63 | 0xf45214017895)}));
  image<set_port_vlan_entry> v;
  v.set<&set_port_vlan_entry::valid>(true).set<&set_port_vlan_entry::vlan_id>(0xabc);
  EXPECT_TRUE(holds(v, {be32(0, 1u << 31 | 0xabc)}));
  image<set_port_roce_addr_entry> a;
  a.set<&set_port_roce_addr_entry::type>(1).set<&set_port_roce_addr_entry::version>(2);
  EXPECT_TRUE(holds(a, {u8(0x1a, 1), u8(0x1b, 2)}));
  image<set_port_prio2tc> p;
  p.set<&set_port_prio2tc::prio0>(1).set<&set_port_prio2tc::prio1>(2).set<&set_port_prio2tc::prio7>(3);
  EXPECT_TRUE(holds(p, {u8(0, 1 << 4 | 2), u8(3, 3)}));
  image<set_port_scheduler_entry> s;
  s.set<&set_port_scheduler_entry::pg>(1).set<&set_port_scheduler_entry::bw_percentage>(50);
  s.set<&set_port_scheduler_entry::max_bw_units>(bandwidth_unit::gbps_1).set<&set_port_scheduler_entry::max_bw_value>(255);
  EXPECT_TRUE(holds(s, {be16(0, 1), be16(2, 50), be16(4, 4), be16(6, 255)}));
  image<set_port_vxlan> x;
  x.set<&set_port_vxlan::modify_enable>(true).set<&set_port_vxlan::modify_steering>(true).set<&set_port_vxlan::enable>(true);
  x.set<&set_port_vxlan::steering>(5);
  EXPECT_TRUE(holds(x, {u8(4, 0xc0), u8(6, 0x80), u8(7, 5)}));
  EXPECT_EQ(set_port_input_modifier(set_port_selector::gid_table, 2), 0x502u);
}

TEST(mad_ifc, extended_info_as_linux_fills_it) {
  image<mad_ifc_extended_info> i;
  i.set<&mad_ifc_extended_info::my_qpn>(1).set<&mad_ifc_extended_info::rqpn>(0x123456).set<&mad_ifc_extended_info::sl>(9);
  i.set<&mad_ifc_extended_info::g>(true).set<&mad_ifc_extended_info::ml_path>(0x35);
  i.set<&mad_ifc_extended_info::pkey_index>(0x77);
  std::byte grh[40]{};
  grh[0] = std::byte{0x60};
  i.set_bytes<&mad_ifc_extended_info::grh>(grh);
  EXPECT_TRUE(holds(i, {be32(0, 1), be32(8, 0x123456), u8(0xc, 9 << 4), u8(0xd, 0x80 | 0x35), be16(0x12, 0x77),
                        u8(0x40, 0x60)}));
  image<mad_ifc_input_modifier> m;
  m.set<&mad_ifc_input_modifier::port>(1).set<&mad_ifc_input_modifier::slid>(0x1234);
  EXPECT_TRUE(holds(m, {be32(0, 1u | 0x1234u << 16)}));
  EXPECT_EQ(special_qp(0x40, 0, 1), 0x40u);
  EXPECT_EQ(special_qp(0x40, 1, 2), 0x43u);
}

TEST(mad_demux, masks) {
  const auto i = made_of<mad_demux>({be32(0x10, 1), be32(0x20, 2), be32(0x40, 3), be32(0x70, 4)});
  EXPECT_EQ(i.get<&mad_demux::set_attr_mask>(), 1u);
  EXPECT_EQ(i.get<&mad_demux::getresp_attr_mask>(), 2u);
  EXPECT_EQ(i.get<&mad_demux::trap_attr_mask>(), 3u);
  EXPECT_EQ(i.get<&mad_demux::trap_repress_attr_mask>(), 4u);
  EXPECT_TRUE(i.reserved_clear());
}

TEST(query_func_cap, bytes_as_linux_writes_them) {
  const auto i = made_of<query_func_cap>({u8(0, 0x80 | 0x40 | 0x10 | 0x08 | 0x04), u8(1, 2), be32(4, 7), be32(0x10, 1),
                                          be32(0x2c, 8), be32(0x50, 0x20000), be32(0x68, 0x2000), be32(0x6c, 3u << 30)});
  EXPECT_TRUE(i.reserved_clear());
  EXPECT_TRUE(i.get<&query_func_cap::ethernet>() && i.get<&query_func_cap::rdma>() && i.get<&query_func_cap::quotas>());
  EXPECT_TRUE(i.get<&query_func_cap::reserved_lkey_valid>() && i.get<&query_func_cap::valid_mailbox>());
  EXPECT_EQ(i.get<&query_func_cap::num_ports>(), 2u);
  EXPECT_EQ(i.get<&query_func_cap::qp_quota>(), 0x20000u);
  EXPECT_EQ(i.get<&query_func_cap::mcg_quota>(), 0x2000u);
  const auto p = made_of<query_func_cap_port>({u8(3, 1), be32(4, 0xffff0001), u8(8, 0x40 | 0x20), u8(0xc, 0x10 | 0x08),
                                               be32(0x10, 1), be32(0x14, 2), be32(0x18, 3), be32(0x1c, 4), be64(0x28, 5)});
  EXPECT_TRUE(p.reserved_clear());
  EXPECT_EQ(p.get<&query_func_cap_port::physical_port>(), 1u);
  EXPECT_TRUE(p.get<&query_func_cap_port::phv>() && p.get<&query_func_cap_port::vlan_offload_disable>());
  EXPECT_TRUE(p.get<&query_func_cap_port::nic_info>() && p.get<&query_func_cap_port::qp0_enabled>());
  EXPECT_EQ(p.get<&query_func_cap_port::qp1_proxy>(), 4u);
  EXPECT_EQ(p.get<&query_func_cap_port::phys_port_id>(), 5u);
  const auto f = made_of<query_func>({u8(0, 4), u8(1, 0x12), u8(3, 1), be16(4, 8), be16(6, 128), u8(0xb, 2)});
  EXPECT_EQ(f.get<&query_func::device>(), 2u);
  EXPECT_EQ(f.get<&query_func::function>(), 2u);
  EXPECT_EQ(f.get<&query_func::rsvd_eqs>(), 8u);
  EXPECT_EQ(f.get<&query_func::max_eq>(), 128u);
  EXPECT_EQ(f.get<&query_func::rsvd_uars>(), 2u);
}

TEST(small_mailboxes, config_dev_op_req_node_and_port_map) {
  image<config_dev> c;
  c.set<&config_dev::u_vxlan_udp_dport>(true).set<&config_dev::u_roce_v2_udp_dport>(true);
  c.set<&config_dev::u_disable_rx_port_check>(true).set<&config_dev::disable_rx_port_check>(true);
  c.set<&config_dev::vxlan_udp_dport>(4789).set<&config_dev::roce_v2_udp_dport>(4791);
  c.set<&config_dev::rx_checksum_port1>(2).set<&config_dev::rx_checksum_port2>(3);
  EXPECT_TRUE(holds(c, {be32(0, 1u << 0 | 1u << 3 | 1u << 18), be16(0x10, 4789), be16(0x16, 4791), be32(0x18, 1u << 15),
                        u8(0x83, 3 << 4 | 2)}));
  const auto o = made_of<get_op_req>({be32(8, 1), be16(0x14, 0x55), be16(0x1a, 0x26)});
  EXPECT_EQ(o.get<&get_op_req::token>(), 0x55u);
  EXPECT_EQ(o.get<&get_op_req::type>(), 0x26u);
  image<virt_port_map> v;
  v.set<&virt_port_map::v_port1>(2).set<&virt_port_map::v_port2>(1);
  EXPECT_TRUE(holds(v, {be32(0, 2), be32(4, 1)}));
  static_assert(set_node::bytes == 64);
}

// en_dcb_nl.c mlx4_en_dcbnl_ieee_setqcn, struct mlx4_congestion_control_mb_prio_802_1_qau_params.
TEST(congestion_control, modifier_parameters_and_statistics) {
  using m = congestion_control_modifier;
  image<m> asked;
  asked.set<&m::port>(2).set<&m::priorities>(1u << 5);
  EXPECT_TRUE(holds(asked, {be32(0, 2 | (1u << 5) << 8 | 0u << 16)}));
  using p = reaction_point_parameters;
  image<p> all;
  all.set<&p::modify_rpg_enable>(true).set<&p::modify_cn_tag>(true);
  all.set<&p::modify_rppp_max_rps>(true).set<&p::modify_rpg_time_reset>(true).set<&p::modify_rpg_byte_reset>(true);
  all.set<&p::modify_rpg_threshold>(true).set<&p::modify_rpg_max_rate>(true).set<&p::modify_rpg_ai_rate>(true);
  all.set<&p::modify_rpg_hai_rate>(true).set<&p::modify_rpg_gd>(true).set<&p::modify_rpg_min_dec_fac>(true);
  all.set<&p::modify_rpg_min_rate>(true);
  EXPECT_TRUE(holds(all, {be32(0, 0xc0000000), be32(4, 0xffc00000)}));
  image<p> told;
  told.set<&p::rpg_enable>(true).set<&p::cn_tag>(true).set<&p::rppp_max_rps>(1).set<&p::rpg_time_reset>(2);
  told.set<&p::rpg_byte_reset>(3).set<&p::rpg_threshold>(4).set<&p::rpg_max_rate>(5).set<&p::rpg_ai_rate>(6);
  told.set<&p::rpg_hai_rate>(7).set<&p::rpg_gd>(8).set<&p::rpg_min_dec_fac>(9).set<&p::rpg_min_rate>(10);
  told.set<&p::max_time_rise>(11).set<&p::max_byte_rise>(12).set<&p::max_qdelta>(13).set<&p::min_qoffset>(14);
  told.set<&p::gd_coefficient>(15).set<&p::cp_sample_base>(16);
  EXPECT_TRUE(holds(told, {be32(0x0c, 3u << 30), be32(0x10, 1), be32(0x14, 2), be32(0x18, 3), be32(0x1c, 4),
                           be32(0x20, 5), be32(0x24, 6), be32(0x28, 7), be32(0x2c, 8), be32(0x30, 9), be32(0x34, 10),
                           be32(0x38, 11), be32(0x3c, 12), be32(0x40, 13), be32(0x44, 14), be32(0x48, 15),
                           be32(0x60, 16)}));
  static_assert(p::bytes == 4 * (19 + 5 + 1 + 39));
  using s = reaction_point_statistics;
  image<s> counted;
  counted.set<&s::rppp_rp_centiseconds>(1).set<&s::ignored_cnm>(2).set<&s::rppp_created_rps>(3);
  counted.set<&s::estimated_total_rate>(4).set<&s::max_active_limiter>(5).set<&s::dropped_cnms_busy_fw>(6);
  counted.set<&s::cnms_handled_successfully>(7).set<&s::min_total_limiters_rate>(8);
  counted.set<&s::max_total_limiters_rate>(9);
  EXPECT_TRUE(holds(counted, {be64(0, 1), be32(0x0c, 2), be32(0x10, 3), be32(0x14, 4), be32(0x18, 5), be32(0x1c, 6),
                              be32(0x24, 7), be32(0x28, 8), be32(0x2c, 9)}));
  static_assert(s::bytes == 8 + 4 * 14);
}

TEST(access_reg, head_and_port_register) {
  image<access_reg> a;
  a.set<&access_reg::operation_tlv_type>(1).set<&access_reg::operation_tlv_words>(4).set<&access_reg::register_class>(1);
  a.set<&access_reg::register_id>(access_reg_id::ptys).set<&access_reg::method>(access_reg_method::query);
  a.set<&access_reg::register_tlv_type>(3).set<&access_reg::register_tlv_words>(ptys::bytes / 4 + 1);
  EXPECT_TRUE(holds(a, {be16(0, 1 << 11 | 4), be16(4, 0x5004), u8(6, 1), u8(7, 1), be16(0x10, (52 / 4 + 1) | 3 << 12)}));
  image<ptys> p;
  p.set<&ptys::local_port>(1).set<&ptys::proto_mask>(4).set<&ptys::eth_proto_cap>(0x1000);
  p.set<&ptys::eth_proto_admin>(0x2000).set<&ptys::eth_proto_oper>(0x4000).set<&ptys::eth_proto_lp_adv>(0x8000);
  p.set<&ptys::ib_width_cap>(1).set<&ptys::ib_speed_cap>(2);
  EXPECT_TRUE(holds(p, {u8(1, 1), u8(3, 4), be32(0xc, 0x1000), be16(0x10, 1), be16(0x12, 2), be32(0x18, 0x2000),
                        be32(0x24, 0x4000), be32(0x30, 0x8000)}));
}

}  // namespace
