// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Event queue entries against bytes worked out from struct mlx4_eqe of Linux 6.1 device.h: the
// event's members start at 4, the owner is the last byte.
#include <gtest/gtest.h>

#include <freehca/layouts/eqe.hpp>

#include "pieces.hpp"

namespace {

using namespace freehca::layouts;
using namespace pieces;

constexpr std::size_t event = 4;

TEST(eqe, head_is_part_of_every_table) {
  image<eqe_completion> i;
  i.set<&eqe::event_type>(event_type::completion).set<&eqe_completion::cqn>(0x123456).set<&eqe_completion::owner>(true);
  EXPECT_TRUE(holds(i, {be32(event, 0x123456), u8(0x1f, 0x80)}));
  image<eqe> h;
  h.set<&eqe::event_type>(event_type::port_change).set<&eqe::event_sub_type>(4).set<&eqe::slave_id>(7);
  EXPECT_TRUE(holds(h, {u8(1, 0x09), u8(3, 4), u8(0x1c, 7)}));
}

TEST(eqe, command_completion) {
  image<eqe_command> i;
  i.set<&eqe_command::event_type>(event_type::command_completion).set<&eqe_command::token>(0xbeef);
  i.set<&eqe_command::status>(command_status::bad_parameter).set<&eqe_command::out_param>(0x1122334455667788);
  EXPECT_TRUE(holds(i, {u8(1, 0x0a), be16(event + 2, 0xbeef), u8(event + 11, 3), be64(event + 12, 0x1122334455667788)}));
}

TEST(eqe, queue_events) {
  image<eqe_qp> q;
  q.set<&eqe_qp::event_type>(event_type::wq_access_violation).set<&eqe_qp::qpn>(0x48);
  EXPECT_TRUE(holds(q, {u8(1, 0x11), be32(event, 0x48)}));
  image<eqe_srq> s;
  s.set<&eqe_srq::event_type>(event_type::srq_limit).set<&eqe_srq::srqn>(0x41);
  EXPECT_TRUE(holds(s, {u8(1, 0x14), be32(event, 0x41)}));
  image<eqe_cq_error> c;
  c.set<&eqe_cq_error::event_type>(event_type::cq_error).set<&eqe_cq_error::cqn>(0x84);
  c.set<&eqe_cq_error::syndrome>(cq_error_syndrome::access_violation);
  EXPECT_TRUE(holds(c, {u8(1, 4), be32(event, 0x84), u8(event + 11, 2)}));
}

TEST(eqe, port_events) {
  image<eqe_port_change> p;
  p.set<&eqe_port_change::event_type>(event_type::port_change).set<&eqe_port_change::port>(2);
  EXPECT_TRUE(holds(p, {u8(1, 9), be32(event + 8, 2u << 28)}));

  image<eqe_port_info_change> i;
  i.set<&eqe_port_info_change::port>(1).set<&eqe_port_info_change::mstr_sm_lid>(0x1111);
  i.set<&eqe_port_info_change::port_lid>(0x2222).set<&eqe_port_info_change::changed_attr>(0x1f);
  i.set<&eqe_port_info_change::mstr_sm_sl>(3).set<&eqe_port_info_change::gid_prefix>(0xfe80000000000000);
  EXPECT_TRUE(holds(i, {u8(event + 3, 1), be16(event + 4, 0x1111), be16(event + 6, 0x2222), be32(event + 8, 0x1f),
                        u8(event + 15, 3), be64(event + 16, 0xfe80000000000000)}));

  image<eqe_table_change> t;
  t.set<&eqe_table_change::port>(2).set<&eqe_table_change::block_ptr>(1).set<&eqe_table_change::tbl_entries_mask>(0xff);
  EXPECT_TRUE(holds(t, {u8(event + 3, 2), be32(event + 4, 1), be32(event + 8, 0xff)}));

  image<eqe_sl2vl_change> v;
  const std::byte map[8]{std::byte{0x01}, std::byte{0x23}};
  v.set_bytes<&eqe_sl2vl_change::sl2vl_table>(map);
  EXPECT_TRUE(holds(v, {u8(event + 4, 0x01), u8(event + 5, 0x23)}));
}

TEST(eqe, others) {
  image<eqe_temperature> t;
  t.set<&eqe_temperature::current_temperature>(105).set<&eqe_temperature::warning_threshold>(100);
  EXPECT_TRUE(holds(t, {be16(event, 105), be16(event + 2, 100)}));
  image<eqe_flr> f;
  f.set<&eqe_flr::flr_slave_id>(3);
  EXPECT_TRUE(holds(f, {be32(event, 3)}));
  image<eqe_mac_update> m;
  m.set<&eqe_mac_update::port>(1).set<&eqe_mac_update::mac>(0xf45214017895);
  EXPECT_TRUE(holds(m, {u8(event, 1), be64(event + 4, 0xf45214017895)}));
  image<eqe_cable> c;
  c.set<&eqe_cable::port>(1);
  EXPECT_TRUE(holds(c, {u8(event + 3, 1)}));
  image<eqe_operational_error> o;
  o.set<&eqe_operational_error::error_type>(operational_error::internal_parity).set<&eqe_operational_error::data>(9);
  EXPECT_TRUE(holds(o, {u8(15, 5), be32(16, 9)}));
  image<eqe_gpio> g;
  g.set<&eqe_gpio::gpio_event>(1);
  EXPECT_TRUE(holds(g, {u8(23, 1)}));
  image<eqe_comm_channel> b;
  const std::byte bits_of[16]{std::byte{0x80}};
  b.set_bytes<&eqe_comm_channel::bit_vec>(bits_of);
  EXPECT_TRUE(holds(b, {u8(event + 4, 0x80)}));
}

TEST(eqe, where_the_entry_is_in_a_longer_one) {
  EXPECT_EQ(eqe_offset_in_entry(false), 0u);
  EXPECT_EQ(eqe_offset_in_entry(true), 32u);
}

}  // namespace
