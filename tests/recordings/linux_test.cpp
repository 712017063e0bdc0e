// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Linux 6.1 on the model, recorded by make.sh. What Linux wrote is decoded by the layout tables and
// compared with what the tools in the guest printed of themselves, and with what their sources fix:
// the tables' authors had no hand in either.
#include <optional>
#include <regex>

#include <gtest/gtest.h>

#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/wqe.hpp>

#include "fixture.hpp"

namespace freehca {
namespace {

using namespace layouts;
using namespace testing;
using recording::placed;

const fixture& linux_61() {
  return fixture::named("linux");
}
const std::string& printed() {
  return linux_61().printed();
}
const std::vector<found>& everything() {
  return linux_61().all();
}

template <class T>
std::vector<image<T>> given(opcode command, std::uint32_t number, const char* name) {
  return linux_61().given<T>(command, name, number);
}
template <class T>
std::vector<image<T>> posted(const char* what, std::uint32_t qpn, const char* name) {
  return linux_61().posted<T>(what, qpn, name);
}
std::vector<image<cqe>> completed(std::uint32_t qpn, bool send) {
  return linux_61().completed(qpn, send);
}

/// One side of a test program, as it printed itself.
struct side {
  std::uint32_t lid, qpn, psn, rkey = 0;
  std::uint64_t address = 0;
};
std::vector<side> sides(const std::string& program) {
  const std::string& text = printed();
  std::vector<side> all;
  const std::regex form(
      program +
      " (?:server|client): +local address: +LID 0x([0-9a-f]+),? QPN 0x([0-9a-f]+),? PSN "
      "0x([0-9a-f]+)(?: RKey 0x([0-9a-f]+) VAddr 0x([0-9a-f]+))?");
  for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i) {
    const auto n = [&](std::size_t g) { return std::stoull((*i)[g].str(), nullptr, 16); };
    const auto word = [&](std::size_t g) { return static_cast<std::uint32_t>(n(g)); };
    side s{word(1), word(2), word(3)};
    if ((*i)[4].matched) s.rkey = word(4), s.address = n(5);
    all.push_back(s);
  }
  EXPECT_EQ(all.size(), 2u) << program << " printed no addresses";
  all.resize(2);
  return all;
}

// rdma-core libibverbs/examples/rc_pingpong.c: MTU 1024, min_rnr_timer 12, timeout 14, both retries
// 7; -s 300 -n 5.
TEST(linux_recording, queue_pairs_of_rc_pingpong_have_what_it_printed) {
  const std::vector<side> s = sides("rc_pingpong");
  for (unsigned i = 0; i < 2; ++i) {
    const side &own = s[i], &other = s[1 - i];
    const auto rtr = given<qpc>(opcode::init2rtr_qp, own.qpn, "qpc");
    ASSERT_EQ(rtr.size(), 1u);
    EXPECT_EQ(rtr[0].get<&qpc::remote_qpn>(), other.qpn);
    EXPECT_EQ(rtr[0].get<&qpc::next_rcv_psn>(), other.psn);
    EXPECT_EQ(rtr[0].get<&primary_path::rlid>(), other.lid);
    EXPECT_EQ(rtr[0].get<&qpc::min_rnr_nak>(), 12u);
    EXPECT_EQ(mtu_bytes(rtr[0].get<&qpc::mtu>()), 1024u);
    EXPECT_EQ(sched_queue_port(static_cast<unsigned>(rtr[0].get<&primary_path::sched_queue>())),
              1u);
    const auto rts = given<qpc>(opcode::rtr2rts_qp, own.qpn, "qpc");
    ASSERT_EQ(rts.size(), 1u);
    EXPECT_EQ(rts[0].get<&qpc::next_send_psn>(), own.psn);
    EXPECT_EQ(rts[0].get<&qpc::retry_count>(), 7u);
    EXPECT_EQ(rts[0].get<&qpc::rnr_retry>(), 7u);
    EXPECT_EQ(rts[0].get<&primary_path::ack_timeout>(), 14u);
    const auto init = given<qpc>(opcode::rst2init_qp, own.qpn, "qpc");
    ASSERT_EQ(init.size(), 1u);
    EXPECT_EQ(init[0].get<&qpc::service>(), qp_service::rc);
  }
}

TEST(linux_recording, messages_of_rc_pingpong_have_its_length_and_number) {
  for (const side& s : sides("rc_pingpong")) {
    const auto sent = posted<wqe_data>("send_wqe", s.qpn, "wqe_data");
    ASSERT_EQ(sent.size(), 5u);
    for (const auto& d : sent) EXPECT_EQ(d.get<&wqe_data::byte_count>(), 300u);
    for (const auto& c : posted<wqe_ctrl>("send_wqe", s.qpn, "wqe_ctrl"))
      EXPECT_EQ(c.get<&wqe_ctrl::opcode>(), wqe_opcode::send);
    const auto received = completed(s.qpn, false);
    ASSERT_EQ(received.size(), 5u);
    for (const auto& e : received) EXPECT_EQ(e.get<&cqe::byte_count>(), 300u);
    EXPECT_EQ(completed(s.qpn, true).size(), 5u);
    // The receive goes to memory of the same key that the send comes from (one buffer, one region).
    for (const auto& d : posted<wqe_data>("receive_wqe", s.qpn, "wqe_data"))
      if (d.get<&wqe_data::byte_count>() != 0) {
        EXPECT_EQ(d.get<&wqe_data::byte_count>(), 300u);
        EXPECT_EQ(d.get<&wqe_data::lkey>(), sent[0].get<&wqe_data::lkey>());
        EXPECT_EQ(d.get<&wqe_data::address>(), sent[0].get<&wqe_data::address>());
      }
  }
}

// rdma-core libibverbs/examples/ud_pingpong.c: Q_Key 0x11111111; the receive has 40 bytes of GRH
// more; -s 200 -n 3.
TEST(linux_recording, datagrams_of_ud_pingpong_go_where_it_printed) {
  const std::vector<side> s = sides("ud_pingpong");
  for (unsigned i = 0; i < 2; ++i) {
    const side &own = s[i], &other = s[1 - i];
    const auto init = given<qpc>(opcode::rst2init_qp, own.qpn, "qpc");
    ASSERT_EQ(init.size(), 1u);
    EXPECT_EQ(init[0].get<&qpc::service>(), qp_service::ud);
    EXPECT_EQ(init[0].get<&qpc::qkey>(), 0x11111111u);
    const auto rts = given<qpc>(opcode::rtr2rts_qp, own.qpn, "qpc");
    ASSERT_EQ(rts.size(), 1u);
    EXPECT_EQ(rts[0].get<&qpc::next_send_psn>(), own.psn);
    const auto to = posted<wqe_datagram>("send_wqe", own.qpn, "wqe_datagram");
    ASSERT_EQ(to.size(), 3u);
    for (const auto& d : to) {
      EXPECT_EQ(d.get<&wqe_datagram::dqpn>(), other.qpn);
      EXPECT_EQ(d.get<&wqe_datagram::qkey>(), 0x11111111u);
      EXPECT_EQ(d.get<&wqe_datagram::rlid>(), other.lid);
      EXPECT_EQ(d.get<&wqe_datagram::port>(), 1u);
    }
    for (const auto& d : posted<wqe_data>("send_wqe", own.qpn, "wqe_data"))
      EXPECT_EQ(d.get<&wqe_data::byte_count>(), 200u);
    const auto received = completed(own.qpn, false);
    ASSERT_EQ(received.size(), 3u);
    for (const auto& e : received) {
      EXPECT_EQ(e.get<&cqe::byte_count>(), 240u);
      EXPECT_EQ(e.get<&cqe::remote_qpn>(), other.qpn);
      EXPECT_EQ(e.get<&cqe::slid>(), other.lid);
    }
  }
}

/// The last region that was made with this key, which stands in its entry as Linux 6.1 turns it
/// (drivers/net/ethernet/mellanox/mlx4/mr.c key_to_hw_index).
std::optional<image<mpt>> region_of(std::uint32_t key) {
  std::optional<image<mpt>> last;
  for (const found& f : everything()) {
    if (f.command == nullptr || f.command->opcode != opcode::sw2hw_mpt || f.parts.empty()) continue;
    const auto m = image<mpt>::from_bytes(f.bytes.data());
    if (m.get<&mpt::mem_key>() == (key << 24 | key >> 8)) last = m;
  }
  return last;
}

// ib_write_bw -s 700 -n 5; the MTU is the port's active one (perftest's default), which it printed.
TEST(linux_recording, writes_of_ib_write_bw_name_the_key_and_address_that_it_printed) {
  const std::vector<side> s = sides("write_bw");
  const side &server = s[0], &client = s[1];
  const auto remote = posted<wqe_remote_address>("send_wqe", client.qpn, "wqe_remote_address");
  ASSERT_EQ(remote.size(), 5u);
  // The next write goes behind the last, rounded up to a cache line (perftest
  // src/perftest_resources.h INC).
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(remote[i].get<&wqe_remote_address::rkey>(), server.rkey);
    EXPECT_EQ(remote[i].get<&wqe_remote_address::remote_address>(), server.address + i * 704);
  }
  for (const auto& c : posted<wqe_ctrl>("send_wqe", client.qpn, "wqe_ctrl"))
    EXPECT_EQ(c.get<&wqe_ctrl::opcode>(), wqe_opcode::rdma_write);
  for (const auto& d : posted<wqe_data>("send_wqe", client.qpn, "wqe_data"))
    EXPECT_EQ(d.get<&wqe_data::byte_count>(), 700u);
  EXPECT_NE(printed().find("Mtu             : 2048[B]"), std::string::npos);
  for (const side& one : s) {
    const auto rtr = given<qpc>(opcode::init2rtr_qp, one.qpn, "qpc");
    ASSERT_EQ(rtr.size(), 1u);
    EXPECT_EQ(mtu_bytes(rtr[0].get<&qpc::mtu>()), 2048u);
    const std::optional<image<mpt>> region = region_of(one.rkey);
    ASSERT_TRUE(region) << "no region of that key";
    const auto& m = *region;
    EXPECT_LE(m.get<&mpt::start>(), one.address);
    EXPECT_GE(m.get<&mpt::start>() + m.get<&mpt::length>(), one.address + 700);
    EXPECT_TRUE(m.get<&mpt::remote_write>()) << "the peer may write";
  }
}

// Linux 6.1 include/rdma/ib_mad.h IB_QP1_QKEY (core/mad.c gives it to QP1); Q_Key 0xb1b is IPoIB's:
// the broadcast group's in the fabric, which Linux takes over (ulp/ipoib/ipoib_multicast.c
// ipoib_mcast_join_finish).
TEST(linux_recording, well_known_queue_keys_stand_where_linux_puts_them) {
  std::map<std::uint64_t, unsigned> keys;
  for (const found& f : everything())
    if (f.command != nullptr && f.where->what == "input_mailbox")
      for (const placed& p : f.parts)
        if (std::string(p.what.name) == "qpc")
          ++keys[image<qpc>::from_bytes(f.bytes.data() + p.offset).get<&qpc::qkey>()];
  EXPECT_GE(keys[0x80010000], 2u) << "QP1 of two ports";
  EXPECT_GE(keys[0xb1b], 1u) << "IPoIB";
}

}  // namespace
}  // namespace freehca
