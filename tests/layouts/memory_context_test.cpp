// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Contexts and tables that live in context memory, against bytes worked out from the structures of
// Linux 6.1 mlx4.h: each piece is a member of such a structure at its offset.
#include <gtest/gtest.h>

#include <freehca/layouts/cmpt.hpp>
#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/flow_rule.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/mtt.hpp>
#include <freehca/layouts/srqc.hpp>

#include "pieces.hpp"

namespace {

using namespace freehca::layouts;
using namespace pieces;

TEST(eqc, members) {
  image<eqc> i;
  i.set<&eqc::status>(eq_status::write_failure).set<&eqc::ec>(true).set<&eqc::oi>(true).set<&eqc::state>(eq_state::armed);
  i.set<&eqc::page_offset>(3).set<&eqc::log_eq_size>(8).set<&eqc::eq_period>(0x12).set<&eqc::eq_max_count>(0x34);
  i.set<&eqc::intr>(5).set<&eqc::log_page_size>(9).set<&eqc::mtt_base_addr>(0x12'3456'7888);
  i.set<&eqc::consumer_counter>(0x111111).set<&eqc::producer_counter>(0x222222);
  EXPECT_TRUE(holds(i, {be32(0x00, 10u << 28 | 1u << 18 | 1u << 17 | 9u << 8), be16(0x0a, 3 << 5), u8(0x0c, 8), u8(0x11, 0x12),
                        u8(0x13, 0x34), u8(0x17, 5), u8(0x18, 9), u8(0x1b, 0x12), be32(0x1c, 0x3456'7888),
                        be32(0x28, 0x111111), be32(0x2c, 0x222222)}));
}

TEST(cqc, members) {
  image<cqc> i;
  i.set<&cqc::status>(cq_status::overflow).set<&cqc::timestamp>(true).set<&cqc::cc>(true).set<&cqc::oi>(true);
  i.set<&cqc::state>(cq_state::armed_solicited).set<&cqc::page_offset>(1).set<&cqc::log_cq_size>(12);
  i.set<&cqc::usr_page>(0x8f).set<&cqc::cq_period>(0x1234).set<&cqc::cq_max_count>(0x5678).set<&cqc::comp_eqn>(0xab);
  i.set<&cqc::log_page_size>(9).set<&cqc::mtt_base_addr>(0xfe'0000'0008).set<&cqc::last_notified_index>(1);
  i.set<&cqc::solicit_producer_index>(2).set<&cqc::consumer_counter>(3).set<&cqc::producer_counter>(4);
  i.set<&cqc::db_rec_addr>(0x1'0000'0ff8);
  EXPECT_TRUE(holds(i, {be32(0x00, 9u << 28 | 1u << 19 | 1u << 18 | 1u << 17 | 6u << 8), be16(0x0a, 1 << 5),
                        be32(0x0c, 12u << 24 | 0x8f), be16(0x10, 0x1234), be16(0x12, 0x5678), u8(0x17, 0xab), u8(0x18, 9),
                        u8(0x1b, 0xfe), be32(0x1c, 8), be32(0x20, 1), be32(0x24, 2), be32(0x28, 3), be32(0x2c, 4),
                        be64(0x38, 0x1'0000'0ff8)}));
}

TEST(srqc, members) {
  image<srqc> i;
  i.set<&srqc::state>(srq_state::software).set<&srqc::log_srq_size>(11).set<&srqc::srqn>(0x41).set<&srqc::log_srq_stride>(2);
  i.set<&srqc::xrcd>(0x1234).set<&srqc::cqn>(0x80).set<&srqc::log_page_size>(6).set<&srqc::mtt_base_addr>(0x01'8000'0010);
  i.set<&srqc::pd>(0x654321).set<&srqc::limit_watermark>(7).set<&srqc::wqe_cnt>(8).set<&srqc::wqe_counter>(9);
  i.set<&srqc::db_rec_addr>(0x1'0000'0ffc);
  EXPECT_TRUE(holds(i, {be32(0x00, 15u << 28 | 11u << 24 | 0x41), u8(0x04, 2), be16(0x06, 0x1234), be32(0x08, 0x80),
                        u8(0x10, 6), u8(0x13, 1), be32(0x14, 0x80000010), be32(0x18, 0x654321), be16(0x1c, 7), be16(0x1e, 8),
                        be16(0x22, 9), be64(0x28, 0x1'0000'0ffc)}));
}

TEST(mpt, region_as_linux_registers_it) {
  image<mpt> i;
  i.set<&mpt::status>(mpt_status::software).set<&mpt::mio>(true).set<&mpt::region>(true);
  i.set<&mpt::local_read>(true).set<&mpt::local_write>(true).set<&mpt::remote_write>(true).set<&mpt::bind_enable>(true);
  i.set<&mpt::mem_key>(0x7f000012).set<&mpt::pd>(0x8001).set<&mpt::enable_invalidate>(true).set<&mpt::remote_invalidate>(true);
  i.set<&mpt::start>(0x7fff12345000).set<&mpt::length>(0x3000).set<&mpt::entity_size>(12);
  i.set<&mpt::mtt_addr>(0x12'3456'7888);
  EXPECT_TRUE(holds(i, {be32(0x00, 0xfu << 28 | 1u << 17 | 1u << 8 | 1u << 10 | 1u << 11 | 1u << 13 | 1u << 15),
                        be32(0x08, 0x7f000012), be32(0x0c, 0x8001u | 3u << 24), be64(0x10, 0x7fff12345000),
                        be64(0x18, 0x3000), be64(0x2c, 0x12'3456'7888), be32(0x38, 12)}));
}

TEST(mpt, fast_registration_window_and_outputs) {
  image<mpt> f;
  f.set<&mpt::status>(mpt_status::free).set<&mpt::physical>(true).set<&mpt::atomic>(true).set<&mpt::remote_read>(true);
  f.set<&mpt::fast_register_enable>(true).set<&mpt::remote_access_enable>(true).set<&mpt::mtt_size>(256).set<&mpt::mtt_rep>(3);
  f.set<&mpt::first_byte_offset>(0x123);
  EXPECT_TRUE(holds(f, {be32(0x00, 3u << 28 | 1u << 9 | 1u << 14 | 1u << 12), be32(0x0c, 1u << 27 | 1u << 28), u8(0x2b, 3),
                        be32(0x34, 256), be32(0x3c, 0x123)}));
  image<mpt> w;
  w.set<&mpt::status>(mpt_status::free).set<&mpt::bqp>(true).set<&mpt::qpn>(0x41).set<&mpt::lkey>(0x1234).set<&mpt::win_cnt>(2);
  EXPECT_TRUE(holds(w, {be32(0x00, 3u << 28), be32(0x04, 1u << 7 | 0x41u << 8), be32(0x20, 0x1234), be32(0x24, 2)}));
}

TEST(mpt, access_bits_are_those_of_the_flags_word) {
  image<mpt> i;
  i.set<&mpt::local_read>(true).set<&mpt::local_write>(true).set<&mpt::remote_read>(true).set<&mpt::remote_write>(true);
  i.set<&mpt::atomic>(true).set<&mpt::bind_enable>(true);
  const auto bit = [](mpt_access a) { return static_cast<std::uint32_t>(a); };
  EXPECT_TRUE(holds(i, {be32(0, bit(mpt_access::local_read) | bit(mpt_access::local_write) | bit(mpt_access::remote_read) |
                                    bit(mpt_access::remote_write) | bit(mpt_access::atomic) | bit(mpt_access::bind_window))}));
}

TEST(mtt, entry_and_write_command) {
  image<mtt> i;
  i.set<&mtt::ptag>(0x1234'5678'9000).set<&mtt::present>(true);
  EXPECT_TRUE(holds(i, {be64(0, 0x1234'5678'9001)}));
  image<write_mtt_header> h;
  h.set<&write_mtt_header::mtt_base_addr>(0x40);
  EXPECT_TRUE(holds(h, {be64(0, 0x40)}));
}

TEST(mcg, head_and_members) {
  image<mcg_header> i;
  i.set<&mcg_header::next_gid_index>(0x123).set<&mcg_header::protocol>(mcg_protocol::ethernet).set<&mcg_header::members_count>(5);
  std::byte gid[16]{};
  gid[0] = std::byte{0xff};
  i.set_bytes<&mcg_header::gid>(gid);
  EXPECT_TRUE(holds(i, {be32(0, 0x123u << 6), be32(4, 1u << 30 | 5), u8(0x10, 0xff)}));
  EXPECT_TRUE(made_of<mcg_header>({u8(4, 1)}).get<&mcg_header::member_remove>());
  image<mcg_member> m;
  m.set<&mcg_member::qpn>(0x48).set<&mcg_member::block_loopback>(true);
  EXPECT_TRUE(holds(m, {be32(0, 0x48u | 1u << 30)}));
}

// What Linux stores for a multicast group under device-managed steering (mcg.c
// mlx4_trans_to_dmfs_attach).
TEST(flow_rule, control_and_headers) {
  using c = flow_rule_control;
  image<c> control;
  control.set<&c::priority>(0x5000).set<&c::allow_loopback>(true).set<&c::port>(2).set<&c::qpn>(0x48);
  EXPECT_TRUE(holds(control, {u8(0, 0x50), u8(3, 1 << 3), u8(7, 2), be32(8, 0x48)}));
  EXPECT_TRUE(holds(image<c>{}.set<&c::type>(flow_rule_type::multicast_default).set<&c::exclusive>(true).set<&c::lifo>(true),
                    {u8(2, 3), u8(3, 1 << 2 | 1)}));

  using l = flow_header_infiniband;
  image<l> link;
  link.set<&l::words>(l::bytes / 4).set<&l::id>(flow_header_id::infiniband).set<&l::qpn>(0x48).set<&l::qpn_mask>(0xffffff);
  std::byte first[16]{}, second[16]{};
  first[0] = second[15] = std::byte{0xff};
  link.set_bytes<&l::dgid>(first).set_bytes<&l::dgid_mask>(second);
  EXPECT_TRUE(holds(link, {u8(0, 12), u8(2, 0xe0), u8(3, 5), be32(8, 0x48), be32(12, 0xffffff), u8(0x10, 0xff), u8(0x2f, 0xff)}));

  using i = flow_header_ipv4;
  EXPECT_TRUE(holds(image<i>{}.set<&i::words>(6).set<&i::id>(flow_header_id::ipv4).set<&i::destination>(1).set<&i::destination_mask>(2)
                        .set<&i::source>(3).set<&i::source_mask>(4),
                    {u8(0, 6), u8(2, 0xe0), u8(3, 2), be32(8, 1), be32(12, 2), be32(16, 3), be32(20, 4)}));
  using p = flow_header_ports;
  EXPECT_TRUE(holds(image<p>{}.set<&p::words>(6).set<&p::id>(flow_header_id::udp).set<&p::destination>(1).set<&p::destination_mask>(2)
                        .set<&p::source>(3).set<&p::source_mask>(4),
                    {u8(0, 6), u8(2, 0xe0), u8(3, 6), u8(0xb, 1), u8(0xf, 2), u8(0x13, 3), u8(0x17, 4)}));
}

TEST(cmpt, parts_follow_each_other) {
  EXPECT_EQ(cmpt_offset(cmpt_type::qp, 0, 64), 0u);
  EXPECT_EQ(cmpt_offset(cmpt_type::srq, 1, 64), (std::uint64_t{1} << 30) + 64);
  EXPECT_EQ(cmpt_offset(cmpt_type::eq, 2, 64), (std::uint64_t{3} << 30) + 128);
  EXPECT_EQ(cmpt_bytes(64), std::uint64_t{1} << 32);
}

}  // namespace
