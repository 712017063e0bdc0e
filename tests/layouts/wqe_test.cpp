// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Golden bytes as Linux (hw/mlx4/qp.c) and libmlx4 (providers/mlx4/qp.c) write them.
#include <gtest/gtest.h>

#include <freehca/layouts/wqe.hpp>

#include "hex_bytes.hpp"

using namespace freehca::layouts;

TEST(wqe, control_segment) {
  image<wqe_ctrl> c;
  c.set<&wqe_ctrl::owner>(true)
      .set<&wqe_ctrl::opcode>(wqe_opcode::rdma_write_imm)
      .set<&wqe_ctrl::fence>(true)
      .set<&wqe_ctrl::ds>(3)
      .set<&wqe_ctrl::cq_update>(wqe_completion::always)
      .set<&wqe_ctrl::solicited>(true)
      .set<&wqe_ctrl::immediate>(0xdeadbeef);
  // owner 1 << 31 | 9; fence 1 << 6 | ds; CQ_UPDATE 3 << 2 | SOLICITED 1 << 1
  EXPECT_EQ(hex_bytes::hex(c), "80000009 00000043 0000000e deadbeef");
  c.set<&wqe_ctrl::strong_order>(true).set<&wqe_ctrl::ip_csum>(true).set<&wqe_ctrl::l4_csum>(true);
  c.set<&wqe_ctrl::remote_srqn>(0x43).set<&wqe_ctrl::ins_cvlan>(true).set<&wqe_ctrl::vlan_tag>(0x2005);
  EXPECT_EQ(hex_bytes::hex(c), "80000009 20054043 000043be deadbeef");
}

TEST(wqe, blueflame_control_segment_names_the_queue_and_the_wqe) {
  image<wqe_ctrl_blueflame> c;
  c.set<&wqe_ctrl_rows::opcode>(wqe_opcode::send)
      .set<&wqe_ctrl_rows::wqe_index>(0x1234)
      .set<&wqe_ctrl_blueflame::qpn>(0x41)
      .set<&wqe_ctrl_rows::ds>(2);
  EXPECT_EQ(hex_bytes::hex(c), "0012340a 00004102 00000000 00000000");
}

TEST(wqe, ownership_is_the_bit_above_the_index) {
  constexpr unsigned log_size = 4;
  for (unsigned n : {0u, 15u, 16u, 31u, 32u}) {
    image<wqe_ctrl> c;
    c.set<&wqe_ctrl::owner>((n >> log_size & 1) != 0);
    EXPECT_EQ(c.get<&wqe_ctrl::owner>(), (n & 16) != 0) << n;
  }
}

TEST(wqe, mlx_control_segment) {
  image<wqe_ctrl_mlx> c;
  c.set<&wqe_ctrl_mlx::opcode>(wqe_opcode::send)
      .set<&wqe_ctrl_mlx::ds>(11)
      .set<&wqe_ctrl_mlx::vl15>(true)
      .set<&wqe_ctrl_mlx::slr>(true)
      .set<&wqe_ctrl_mlx::sl>(2)
      .set<&wqe_ctrl_mlx::cq_update>(wqe_completion::always)
      .set<&wqe_ctrl_mlx::rlid>(0xffff);
  EXPECT_EQ(hex_bytes::hex(c), "0000000a 0000000b 0003020c ffff0000");
}

TEST(wqe, datagram_segment) {
  image<wqe_datagram> d;
  d.set<&wqe_datagram::port>(1)
      .set<&wqe_datagram::pd>(0x12)
      .set<&wqe_datagram::grh>(true)
      .set<&wqe_datagram::my_lid_smac_idx>(3)
      .set<&wqe_datagram::rlid>(0xc001)
      .set<&wqe_datagram::mgid_index>(4)
      .set<&wqe_datagram::static_rate>(7)
      .set<&wqe_datagram::hop_limit>(0x40)
      .set<&wqe_datagram::sl>(5)
      .set<&wqe_datagram::tclass>(0x67)
      .set<&wqe_datagram::flow_label>(0x89abc)
      .set<&wqe_datagram::dqpn>(0xffffff)
      .set<&wqe_datagram::qkey>(0x0b1b)
      .set<&wqe_datagram::vlan>(0xffff)
      .set<&wqe_datagram::dmac>(0x0002c9445566);
  EXPECT_EQ(hex_bytes::hex(d),
            "01000012 0083c001 00040740 56789abc 00000000 00000000 00000000 00000000 00ffffff 00000b1b "
            "ffff0002 c9445566");
  EXPECT_TRUE(d.reserved_clear());
}

TEST(wqe, data_and_inline_segments) {
  image<wqe_data> d;
  d.set<&wqe_data::byte_count>(0x1000).set<&wqe_data::lkey>(0x8102).set<&wqe_data::address>(0x7f0012345678);
  EXPECT_EQ(hex_bytes::hex(d), "00001000 00008102 00007f00 12345678");
  image<wqe_inline> i;
  i.set<&wqe_inline::inline_data>(true).set<&wqe_inline::byte_count>(60);
  EXPECT_EQ(hex_bytes::hex(i), "8000003c");
  image<wqe_data> end;
  end.set<&wqe_data::lkey>(invalid_lkey);
  EXPECT_EQ(hex_bytes::hex(end), "00000000 00000100 00000000 00000000");
}

TEST(wqe, one_sided_segments) {
  image<wqe_remote_address> r;
  r.set<&wqe_remote_address::remote_address>(0x0102030405060708).set<&wqe_remote_address::rkey>(0x99);
  EXPECT_EQ(hex_bytes::hex(r), "01020304 05060708 00000099 00000000");
  image<wqe_masked_atomic> a;
  a.set<&wqe_masked_atomic::swap_add>(1).set<&wqe_masked_atomic::compare>(2);
  a.set<&wqe_masked_atomic::swap_add_mask>(3).set<&wqe_masked_atomic::compare_mask>(4);
  EXPECT_EQ(hex_bytes::hex(a), "00000000 00000001 00000000 00000002 00000000 00000003 00000000 00000004");
}

TEST(wqe, memory_segments) {
  image<wqe_fast_register> f;
  // local read 1 << 27, local write 1 << 28, remote read 1 << 29; page_size ilog2(4096)
  f.set<&wqe_fast_register::local_read>(true)
      .set<&wqe_fast_register::local_write>(true)
      .set<&wqe_fast_register::remote_read>(true)
      .set<&wqe_fast_register::mem_key>(0x8103)
      .set<&wqe_fast_register::page_list>(0x12345640)
      .set<&wqe_fast_register::start_address>(0x7f0000001000)
      .set<&wqe_fast_register::length>(0x4000)
      .set<&wqe_fast_register::log_page_size>(12);
  EXPECT_EQ(hex_bytes::hex(f),
            "38000000 00008103 00000000 12345640 00007f00 00001000 00000000 00004000 00000000 0000000c "
            "00000000 00000000");
  image<wqe_local_invalidate> l;
  l.set<&wqe_local_invalidate::mem_key>(0x8103);
  EXPECT_EQ(hex_bytes::hex(l), "00000000 00000000 00008103 00000000 00000000 00000000 00000000 00000000");
  image<wqe_bind> b;
  b.set<&wqe_bind::remote_write>(true).set<&wqe_bind::type_2>(true).set<&wqe_bind::new_rkey>(0x200);
  b.set<&wqe_bind::lkey>(0x100).set<&wqe_bind::address>(0x1000).set<&wqe_bind::length>(0x20);
  EXPECT_EQ(hex_bytes::hex(b), "40000000 80000000 00000200 00000100 00000000 00001000 00000000 00000020");
}

TEST(wqe, lso_and_shared_receive) {
  image<wqe_lso> s;
  s.set<&wqe_lso::mss>(1460).set<&wqe_lso::header_size>(54);
  EXPECT_EQ(hex_bytes::hex(s), "05b40036");
  image<wqe_srq_next> n;
  n.set<&wqe_srq_next::next_wqe_index>(0x102);
  EXPECT_EQ(hex_bytes::hex(n), "00000102 00000000 00000000 00000000");
}
