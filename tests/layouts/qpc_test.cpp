// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The words below are those that Linux's mlx4_ib writes for the attributes named (hw/mlx4/qp.c),
// computed by hand from its shifts and masks.
#include <array>

#include <gtest/gtest.h>

#include <freehca/layouts/qpc.hpp>
#include <freehca/layouts/wqe.hpp>

#include "hex_bytes.hpp"

using namespace freehca::layouts;

namespace {

constexpr std::array<std::byte, 16> gid = [] {
  std::array<std::byte, 16> g{};
  g[0] = std::byte{0xfe}, g[1] = std::byte{0x80}, g[15] = std::byte{0x99};
  return g;
}();

image<qpc> rtr_context() {
  image<qpc> c;
  c.set<&qpc::state>(qp_state::rtr)
      .set<&qpc::service>(qp_service::rc)
      .set<&qpc::pm_state>(path_migration::migrated)
      .set<&qpc::pd>(0x12)
      .set<&qpc::mtu>(ib_mtu::mtu_2048)
      .set<&qpc::msg_max>(30)
      .set<&qpc::log_rq_size>(6)
      .set<&qpc::log_rq_stride>(1)
      .set<&qpc::log_sq_size>(7)
      .set<&qpc::log_sq_stride>(2)
      .set<&qpc::reserved_lkey>(true)
      .set<&qpc::usr_page>(0x80)
      .set<&qpc::local_qpn>(0x41)
      .set<&qpc::remote_qpn>(0xabcd);
  c.set<&primary_path::pkey_index>(5)
      .set<&primary_path::counter_index>(0xff)
      .set<&primary_path::grh>(true)
      .set<&primary_path::my_lid_smac_idx>(1)
      .set<&primary_path::rlid>(7)
      .set<&primary_path::ack_timeout>(14)
      .set<&primary_path::mgid_index>(2)
      .set<&primary_path::static_rate>(8)
      .set<&primary_path::hop_limit>(64)
      .set<&primary_path::tclass>(0x12)
      .set<&primary_path::flow_label>(0x34567)
      .set_bytes<&primary_path::rgid>(gid.data())
      .set<&primary_path::sched_queue>(sched_queue_ib(2, 3));
  c.set<&qpc::ack_req_freq>(8)
      .set<&qpc::sra_max>(4)
      .set<&qpc::retry_count>(7)
      .set<&qpc::rnr_retry>(7)
      .set<&qpc::fre>(true)
      .set<&qpc::next_send_psn>(0x10203)
      .set<&qpc::cqn_send>(0x84)
      .set<&qpc::rra_max>(4)
      .set<&qpc::rre>(true)
      .set<&qpc::rwe>(true)
      .set<&qpc::rae>(true)
      .set<&qpc::ric>(true)
      .set<&qpc::min_rnr_nak>(12)
      .set<&qpc::next_rcv_psn>(0x123456)
      .set<&qpc::xrcd>(0x17)
      .set<&qpc::cqn_recv>(0x85)
      .set<&qpc::db_rec_addr>(0x123456040)
      .set<&qpc::qkey>(0x80010000)
      .set<&qpc::srq>(true)
      .set<&qpc::srqn>(0x43)
      .set<&qpc::mtt_base>(0x1234567890)
      .set<&qpc::log_page_size>(1);
  return c;
}

constexpr const char* rtr_bytes =
    "20001800 00000012 9e313a10 00000080 00000041 0000abcd"                  // flags .. remote QPN
    "00000005 ff810007 70020840 01234567 fe800000 00000000 00000000 00000099"  // primary path
    "cf000000 00000000 00000000"
    "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"  // alternate path
    "00000000 00000000 00000000"
    "8087e800 00000000 00010203 00000084 00000000 00000000 00000000 00000000"  // params1 .. SSN
    "0080e010 0c123456 00000017 00000085 00000001 23456040 80010000 01000043"  // params2 .. SRQN
    "00000000 00000000 00000000 00000000 00000000 00000000 01000012 34567890";

TEST(qpc, context_as_linux_writes_it) {
  const image<qpc> expected = hex_bytes::bytes<qpc>(rtr_bytes);
  EXPECT_EQ(hex_bytes::hex(rtr_context()), hex_bytes::hex(expected));
  EXPECT_TRUE(expected.reserved_clear());
  EXPECT_EQ(expected.get<&qpc::state>(), qp_state::rtr);
  EXPECT_EQ(expected.get<&qpc::mtt_base>(), 0x1234567890u);
  EXPECT_EQ(expected.get<&qpc::log_page_size>(), 1u);
  EXPECT_EQ(expected.get<&primary_path::flow_label>(), 0x34567u);
  EXPECT_EQ(sched_queue_port(0xcf), 2u);
  EXPECT_EQ(sched_queue_sl(0xcf), 3u);
}

TEST(qpc, mailbox_is_the_mask_and_the_context_from_byte_8) {
  image<qp_mailbox> m;
  m.set<&qp_mailbox::opt_param_mask>(qp_optpar::rre | qp_optpar::rwe | qp_optpar::rae | qp_optpar::min_rnr_nak);
  m.set_bytes<&qp_mailbox::context>(rtr_context().data());
  EXPECT_EQ(hex_bytes::hex(m).substr(0, 26), "0000004e 00000000 20001800");
  EXPECT_EQ(context_of(m), rtr_context());
}

TEST(qpc, the_two_paths_are_two_uses_of_one_table) {
  image<address_path> p;
  p.set<&address_path::rlid>(0x1234)
      .set<&address_path::link_type>(path_link::ethernet)
      .set<&address_path::cv>(true)
      .set<&address_path::feup>(true)
      .set<&address_path::fvl>(true)
      .set<&address_path::vlan_index>(3)
      .set<&address_path::dmac>(0x0002c9112233)
      .set<&address_path::sched_queue>(sched_queue_ethernet(1, 5));
  // path->fl = 1 << 6, feup = 1 << 6 | 1 << 3, ackto = 1 (hw/mlx4/qp.c, _mlx4_set_path)
  EXPECT_EQ(hex_bytes::hex(p),
            "40000000 00001234 01000000 00000000 00000000 00000000 00000000 00000000 ab034800 00000002 c9112233");
  image<qpc> c;
  set_path<alternate_path>(c, p);
  EXPECT_EQ(c.get<&alternate_path::dmac>(), 0x0002c9112233u);
  EXPECT_EQ(c.get<&primary_path::dmac>(), 0u);
  EXPECT_EQ(path_of<alternate_path>(c), p);
}

// The driver writes the path of a queue pair as an address vector.
template <auto Path, auto Vector>
constexpr bool same_place = row_of<Path>.offset == row_of<Vector>.offset &&
                            row_of<Path>.hi == row_of<Vector>.hi &&
                            row_of<Path>.lo == row_of<Vector>.lo;
TEST(qpc, an_address_vector_has_the_fields_of_a_path_at_the_same_places) {
  using path = address_path;
  using vector = address_vector;
  static_assert(same_place<&path::force_loopback, &vector::force_loopback>);
  static_assert(same_place<&path::grh, &vector::grh>);
  static_assert(same_place<&path::my_lid_smac_idx, &vector::my_lid_smac_idx>);
  static_assert(same_place<&path::rlid, &vector::rlid>);
  static_assert(same_place<&path::mgid_index, &vector::mgid_index>);
  static_assert(same_place<&path::static_rate, &vector::static_rate>);
  static_assert(same_place<&path::hop_limit, &vector::hop_limit>);
  static_assert(same_place<&path::tclass, &vector::tclass>);
  static_assert(same_place<&path::flow_label, &vector::flow_label>);
  static_assert(same_place<&path::rgid, &vector::dgid>);
  EXPECT_EQ((row_of<&primary_path::force_loopback>.offset), 0x18u);
}

TEST(qpc, reserved_bits_are_known) {
  image<qpc> c;
  c.data()[0x04] = std::byte{1};  // above the PD number
  EXPECT_EQ(c.first_reserved_set(), 0x04u);
  image<qpc> d;
  d.data()[0xd0] = std::byte{1};
  EXPECT_FALSE(d.reserved_clear());
}

TEST(qpc, ethernet_transmit_queue_as_linux_writes_it) {
  // mlx4_en_fill_qp_context: 7 << 16, mtu_msgmax 0xff, ackto 1, sched_queue 0x83 | port - 1 << 6,
  // VSD
  image<qpc> c;
  c.set<&qpc::service>(qp_service::mlx)
      .set<&qpc::mtu>(ib_mtu::raw_ethernet)
      .set<&qpc::msg_max>(31)
      .set<&qpc::log_sq_size>(9)
      .set<&qpc::log_sq_stride>(2)
      .set<&primary_path::link_type>(path_link::ethernet)
      .set<&primary_path::sched_queue>(sched_queue_ethernet(2, 0))
      .set<&qpc::fpp>(true)
      .set<&qpc::vsd>(true);
  EXPECT_EQ(hex_bytes::hex(c).substr(0, 26), "00070000 00000000 ff004a00");
  EXPECT_EQ(c, (hex_bytes::bytes<qpc>("00070000 00000000 ff004a00 00000000 00000000 00000000 00000000 00000000 01000000"
                                   "00000000 00000000 00000000 00000000 00000000 c3000000"
                                   "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
                                   "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
                                   "00000000 00000000 00000000 00000008 00000000 00000000 00000000 00000000 00000000"
                                   "00000000 00000000 00000000 00000000 00000000 00000000 40000000")));
}

TEST(qpc, rss_parameters) {
  // hw/mlx4/qp.c, fill_qp_rss_context: 4 << 24 | base, Toeplitz, IPv4 and TCP over IPv4
  image<rss_context> r;
  r.set<&rss_context::log_size>(4)
      .set<&rss_context::base_qpn>(0x100)
      .set<&rss_context::default_qpn>(0x100)
      .set<&rss_context::hash>(rss_hash::toeplitz)
      .set<&rss_context::ipv4>(true)
      .set<&rss_context::tcp_ipv4>(true);
  EXPECT_EQ(hex_bytes::hex(r).substr(0, 26), "04000100 00000100 00000130");
  EXPECT_EQ(rss_context_offset + rss_context::bytes, 0x74u);
}

}  // namespace
