// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The link codec of InfiniBand alone: the bytes that it wraps packets in, and what it answers of
// the addresses of those that came.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "byte_list.hpp"
#include "link/infiniband_codec.hpp"
#include "link/wire_form.hpp"
#include "test_host.hpp"
#include "test_options.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// LIDs 0x10 to 0x13 on port 1, and one GID.
class one_port final : public port_addresses {
 public:
  std::uint16_t source_lid(unsigned, unsigned path_bits) const override {
    return static_cast<std::uint16_t>(0x10 | (path_bits & 3));
  }
  std::uint16_t base_lid(unsigned) const override { return 0x10; }
  bool own_lid(unsigned port, std::uint16_t lid) const override {
    return port == 1 && lid >= 0x10 && lid <= 0x13;
  }
  bool gid(unsigned, unsigned index, std::byte* to) const override {
    if (index != 2) return false;
    const auto own = bytes_of({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 0, 0, 0, 0, 7});
    std::memcpy(to, own.data(), own.size());
    return true;
  }
};

class infiniband_codec_alone : public ::testing::Test {
 protected:
  infiniband_codec_alone() {
    way.sl = 5;
    way.path_bits = 1;
    way.dlid = 0x204;
    base.set<&bth::opcode>(bth_opcode::ud_send_only)
        .set<&bth::pkey>(0xffff)
        .set<&bth::dest_qp>(0x123)
        .set<&bth::psn>(0x456);
  }
  void go_global() {
    way.global = true;
    way.sgid_index = 2;
    way.traffic_class = 0x12;
    way.flow_label = 0x34567;
    way.hop_limit = 0x40;
    const auto far = bytes_of({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 0, 0, 0, 0, 9});
    std::memcpy(way.dgid.data(), far.data(), far.size());
  }
  /// A datagram of 5 bytes by `way`.
  outgoing_packet datagram() const {
    outgoing_packet out = *codec.wrap(way, base, deth::bytes, 5);
    out.put(0, image<deth>{}.set<&deth::qkey>(0x11223344).set<&deth::source_qp>(0x99));
    std::memset(out.payload_bytes(), 0xab, 5);
    return out;
  }
  /// The same by another LRH.
  packet by(std::uint16_t slid, std::uint16_t dlid) const {
    packet p = datagram().p;
    auto local = image<lrh>::from_bytes(p.bytes.data());
    local.set<&lrh::slid>(slid).set<&lrh::dlid>(dlid);
    std::memcpy(p.bytes.data(), local.data(), lrh::bytes);
    return p;
  }
  image<cqe> completion_for(const packet& p, bool is_datagram) const {
    image<cqe> e;
    const auto v = codec.unwrap(1, p);
    codec.put_addresses(v->ingress, is_datagram, e);
    return e;
  }

  test_host host{1 << 20};
  options how = test_options();
  adapter_clock clock{host};
  rule_book rules{host, clock, how};
  one_port own;
  packet_buffers buffers;
  infiniband_codec codec{rules, own, buffers};
  path way;
  image<bth> base;
};

}  // namespace

TEST_F(infiniband_codec_alone, wraps_a_local_packet) {
  const outgoing_packet out = datagram();
  EXPECT_EQ(out.p.bytes,
            bytes_of({0x00, 0x52, 0x02, 0x04, 0x00, 0x0a, 0x00, 0x11,                    // LRH
                      0x64, 0x30, 0xff, 0xff, 0,    0,    0x01, 0x23, 0, 0, 0x04, 0x56,  // BTH
                      0x11, 0x22, 0x33, 0x44, 0,    0,    0,    0x99,                    // DETH
                      0xab, 0xab, 0xab, 0xab, 0xab, 0,    0,    0}));
  EXPECT_EQ(out.base, 8u);
  EXPECT_EQ(out.extended, 20u);
  EXPECT_EQ(out.payload, 28u);
  EXPECT_EQ(out.opcode(), bth_opcode::ud_send_only);
}

TEST_F(infiniband_codec_alone, wraps_a_global_packet) {
  go_global();
  const outgoing_packet out = datagram();
  EXPECT_EQ(out.p.bytes,
            bytes_of({0x00, 0x53, 0x02, 0x04, 0x00, 0x14, 0x00, 0x11,  // LRH
                      0x61, 0x23, 0x45, 0x67, 0x00, 0x20, 0x1b, 0x40,  // GRH
                      0xfe, 0x80, 0,    0,    0,    0,    0,    0,    0, 2, 0xc9, 0,    0, 0, 0, 7,
                      0xfe, 0x80, 0,    0,    0,    0,    0,    0,    0, 2, 0xc9, 0,    0, 0, 0, 9,
                      0x64, 0x30, 0xff, 0xff, 0,    0,    0x01, 0x23, 0, 0, 0x04, 0x56,  // BTH
                      0x11, 0x22, 0x33, 0x44, 0,    0,    0,    0x99,                    // DETH
                      0xab, 0xab, 0xab, 0xab, 0xab, 0,    0,    0}));
  EXPECT_EQ(out.base, 48u);
}

TEST_F(infiniband_codec_alone, unwraps_what_it_wraps) {
  for (const bool global : {false, true}) {
    if (global) go_global();
    const packet p = datagram().p;
    auto v = codec.unwrap(2, p);
    ASSERT_TRUE(v);
    EXPECT_EQ(v->ingress.port, 2u);
    EXPECT_EQ(v->ingress.codec, &codec);
    EXPECT_EQ(v->ingress.global(), global);
    EXPECT_EQ(v->destination(), 0x123u);
    EXPECT_EQ(v->psn(), 0x456u);
    EXPECT_EQ(v->rest_bytes, deth::bytes + 5);
    EXPECT_EQ(v->take<deth>()->get<&deth::source_qp>(), 0x99u);
    EXPECT_EQ(v->rest_bytes, 5u);
    EXPECT_EQ(*v->rest, std::byte{0xab});
    EXPECT_FALSE(v->take<deth>()) << "it has no room for another";
    if (global) {
      EXPECT_EQ(std::memcmp(v->ingress.dgid(), way.dgid.data(), 16), 0);
    }
  }
}

TEST_F(infiniband_codec_alone, a_packet_that_is_cut_off_is_none_and_it_says_why) {
  go_global();
  const packet whole = datagram().p;
  for (std::size_t bytes = 0; bytes < whole.bytes.size(); ++bytes) {
    packet p = whole;
    p.bytes.resize(bytes);
    EXPECT_FALSE(codec.unwrap(1, p)) << bytes;
    EXPECT_NE(codec.why_not(p), "") << bytes;
  }
}

TEST_F(infiniband_codec_alone, knows_what_the_port_has_sent_itself) {
  const packet here = by(0x13, 0x10), there = by(0x14, 0x10);
  EXPECT_TRUE(codec.from_own_port(codec.unwrap(1, here)->ingress));
  EXPECT_FALSE(codec.from_own_port(codec.unwrap(2, here)->ingress));
  EXPECT_FALSE(codec.from_own_port(codec.unwrap(1, there)->ingress));
}

TEST_F(infiniband_codec_alone, compares_a_packet_with_a_path) {
  const packet p = by(0x204, 0x10), stray = by(0x205, 0x10);
  EXPECT_TRUE(codec.by_local_route(codec.unwrap(1, p)->ingress, way));
  EXPECT_FALSE(codec.by_local_route(codec.unwrap(1, stray)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "source LID 0x205, port 1; wanted: LID 0x204, port 1");
  EXPECT_FALSE(codec.by_local_route(codec.unwrap(2, p)->ingress, way));
  EXPECT_EQ(codec.sender(codec.unwrap(1, stray)->ingress), "LID 0x205");

  EXPECT_TRUE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  go_global();
  EXPECT_FALSE(codec.by_global_route(codec.unwrap(1, p)->ingress, way));
  rules.take_reason();
  // The far end's: the two GIDs change places.
  packet answer = datagram().p;
  std::byte* const gids = answer.bytes.data() + lrh::bytes + grh{}.sgid.offset;
  EXPECT_FALSE(codec.by_global_route(codec.unwrap(1, answer)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "GRH destination GID; wanted: that of index 2");
  std::swap_ranges(gids, gids + 16, gids + 16);
  EXPECT_TRUE(codec.by_global_route(codec.unwrap(1, answer)->ingress, way));
  gids[15] ^= std::byte{1};
  EXPECT_FALSE(codec.by_global_route(codec.unwrap(1, answer)->ingress, way));
  EXPECT_EQ(rules.take_reason().text, "GRH source GID; wanted: that of the path");
}

TEST_F(infiniband_codec_alone, a_completion_tells_the_sender_and_a_datagrams_path_bits) {
  image<cqe> e = completion_for(by(0x204, 0x12), true);
  EXPECT_EQ(e.get<&cqe::slid>(), 0x204u);
  EXPECT_EQ(e.get<&cqe::sl>(), 5u);
  EXPECT_EQ(e.get<&cqe::my_lid_path>(), 2u);
  EXPECT_FALSE(e.get<&cqe::grh>());
  EXPECT_EQ(completion_for(by(0x204, 0x12), false).get<&cqe::my_lid_path>(), 0u);
  EXPECT_EQ(completion_for(by(0x204, 0xc001), true).get<&cqe::my_lid_path>(), 0u);
  go_global();
  EXPECT_TRUE(completion_for(by(0x204, 0x12), true).get<&cqe::grh>());
}

TEST_F(infiniband_codec_alone, finishes_what_software_prepared) {
  prepared_send send;
  send.control.set<&wqe_ctrl_mlx::rlid>(way.dlid).set<&wqe_ctrl_mlx::sl>(way.sl);
  // With path bits in place of the source LID, and room for the ICRC.
  const auto prepared = [&] {
    outgoing_packet out;
    out.p = by(2, way.dlid);
    out.p.bytes.resize(out.p.bytes.size() + icrc_bytes);
    return out;
  };
  outgoing_packet out = prepared();
  ASSERT_EQ(codec.finish(send, out), prepared_verdict::good);
  EXPECT_EQ(out.p.bytes, by(0x12, way.dlid).bytes);
  EXPECT_EQ(out.base, 8u);
  EXPECT_EQ(out.opcode(), bth_opcode::ud_send_only);

  send.control.set<&wqe_ctrl_mlx::slr>(true).set<&wqe_ctrl_mlx::icrc>(true);
  out = prepared();
  EXPECT_EQ(codec.finish(send, out), prepared_verdict::wrong_icrc);
  EXPECT_EQ(out.p.bytes, by(2, way.dlid).bytes) << "slr: the source LID is software's";
  const auto on_wire = to_wire(out.p);
  out.p.bytes.assign(on_wire.begin(), on_wire.end() - vcrc_bytes);
  EXPECT_EQ(codec.finish(send, out), prepared_verdict::good);

  out.p.bytes.resize(20);
  EXPECT_EQ(codec.finish(send, out), prepared_verdict::no_packet);
  EXPECT_EQ(out.p.bytes.size(), 16u) << "without the word of the ICRC";
}

}  // namespace freehca::model::test
