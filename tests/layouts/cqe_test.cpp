// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Golden bytes by the masks of include/linux/mlx4/cq.h and providers/mlx4/mlx4dv.h; the error
// entry's last byte is one that real cards were seen to write.
#include <gtest/gtest.h>

#include <freehca/layouts/cqe.hpp>
#include <freehca/layouts/doorbell.hpp>

#include "hex_bytes.hpp"

using namespace freehca::layouts;

TEST(cqe, datagram_receive) {
  const auto c = hex_bytes::bytes<cqe>("00000048 00000003 83000001 2000000c 00000000 00000128 00070000 00000081");
  EXPECT_EQ(c.get<&cqe::qpn>(), 0x48u);
  EXPECT_EQ(c.get<&cqe::immediate>(), 3u);
  EXPECT_TRUE(c.get<&cqe::grh>());
  EXPECT_EQ(c.get<&cqe::my_lid_path>(), 3u);
  EXPECT_EQ(c.get<&cqe::remote_qpn>(), 1u);
  EXPECT_EQ(c.get<&cqe::sl>(), 2u);
  EXPECT_EQ(c.get<&cqe::slid>(), 12u);
  EXPECT_EQ(c.get<&cqe::byte_count>(), 296u);
  EXPECT_EQ(c.get<&cqe::wqe_index>(), 7u);
  EXPECT_TRUE(c.get<&cqe::owner>());
  EXPECT_FALSE(c.get<&cqe::is_send>());
  EXPECT_EQ(static_cast<cqe_opcode>(c.get<&cqe::opcode>()), cqe_opcode::recv_send);
  EXPECT_TRUE(c.reserved_clear());
}

TEST(cqe, checksum_status_bits) {
  image<cqe> c;
  c.set<&cqe::ip_ok>(true).set<&cqe::tcp>(true).set<&cqe::ipv4>(true).set<&cqe::l4_csum_ok>(true);
  // IPOK 1 << 12, TCP 1 << 10, IPV4 1 << 6 of the upper half; L4_CSUM 1 << 2 of the last byte
  EXPECT_EQ(hex_bytes::hex(c).substr(36, 8), "14400004");
  // rdma-core's 32-bit names for the same bits
  EXPECT_EQ(load_be<std::uint32_t>(c.data() + 0x10) & (1u << 2 | 1u << 22 | 1u << 28), 1u << 2 | 1u << 22 | 1u << 28);
}

TEST(cqe, error_entry) {
  image<cqe_error> e;
  e.set<&cqe_error::qpn>(0x41)
      .set<&cqe_error::wqe_index>(5)
      .set<&cqe_error::syndrome>(cqe_syndrome::remote_access)
      .set<&cqe_error::vendor_syndrome>(vendor_syndrome::remote_access)
      .set<&cqe_error::is_send>(true)
      .set<&cqe_error::opcode>(cqe_opcode::error);
  EXPECT_EQ(hex_bytes::hex(e), "00000041 00000000 00000000 00000000 00000000 00000000 00058813 0000005e");
}

TEST(cqe, timestamp_and_source_mac_forms) {
  const auto t = hex_bytes::bytes<cqe_timestamp>("00000000 00000000 00000000 01234567 00000000 00000000 00000000 0089ab81");
  EXPECT_EQ(t.get<&cqe_timestamp::timestamp_47_16>() << 16 | t.get<&cqe_timestamp::timestamp_15_0>(), 0x0123456789abu);
  const auto s = hex_bytes::bytes<cqe_smac>("20000000 00000000 00000000 60640002 c9112233 00000000 00000000 00000001");
  EXPECT_TRUE(s.get<&cqe_smac::cvlan_present>());
  EXPECT_EQ(s.get<&cqe_smac::vid>(), 100u);
  EXPECT_EQ(s.get<&cqe_smac::sl>() >> 1, 3u);
  EXPECT_EQ(load_be<std::uint16_t>(s.bytes_of<&cqe_smac::smac>()), 0x0002u);
  EXPECT_EQ(load_be<std::uint32_t>(s.bytes_of<&cqe_smac::smac>() + 2), 0xc9112233u);
}

TEST(cqe, owner_byte_is_the_last) {
  image<cqe> c;
  c.set<&cqe::owner>(true).set<&cqe::is_send>(true).set<&cqe::opcode>(0x0a);
  EXPECT_EQ(c.data()[cqe_owner_byte], std::byte{0xca});
}

TEST(doorbell, words) {
  image<send_doorbell> s;
  s.set<&send_doorbell::qpn>(0x000041);
  EXPECT_EQ(hex_bytes::hex(s), "00004100");
  EXPECT_EQ(send_doorbell_word(0x41), load_be<std::uint32_t>(s.data()));
  image<cq_doorbell> c;
  // sn << 28 | REQ_NOT 2 << 24 | cqn, then the consumer index
  c.set<&cq_doorbell::cmd_sn>(3).set<&cq_doorbell::cmd>(cq_arm::next).set<&cq_doorbell::cqn>(0x84);
  c.set<&cq_doorbell::ci>(0x10);
  EXPECT_EQ(hex_bytes::hex(c), "32000084 00000010");
  EXPECT_EQ(cq_arm_word(3, cq_arm::next, 0x84), 0x32000084u);
  image<cq_doorbell_record> r;
  r.set<&cq_doorbell_record::update_ci>(0xffffff).set<&cq_doorbell_record::cmd>(cq_arm::solicited);
  r.set<&cq_doorbell_record::arm_ci>(0x11);
  EXPECT_EQ(hex_bytes::hex(r), "00ffffff 01000011");
  image<rq_doorbell_record> q;
  q.set<&rq_doorbell_record::wqe_counter>(0xfffe);
  EXPECT_EQ(hex_bytes::hex(q), "0000fffe");
}
