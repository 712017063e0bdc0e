// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// iPXE on the model, as Debian ships it, recorded by make.sh: what it wrote is compared with what
// its ibstat and ifstat printed, and with what its sources fix (drivers/infiniband/hermon.c and
// hermon.h, the same lines in 2019 and 2025).
#include <cstring>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include <freehca/layouts/cqc.hpp>
#include <freehca/layouts/eqc.hpp>
#include <freehca/layouts/init_hca.hpp>
#include <freehca/layouts/mcg.hpp>
#include <freehca/layouts/mpt.hpp>
#include <freehca/layouts/wqe.hpp>

#include "fixture.hpp"

namespace freehca {
namespace {

using namespace layouts;
using namespace testing;

constexpr std::uint32_t global_pd = 0x123456;     // hermon.h HERMON_GLOBAL_PD
constexpr std::uint32_t key_prefix = 0x77000000;  // hermon.h HERMON_MKEY_PREFIX
constexpr std::uint32_t gsi_qkey = 0x80010000;    // IBTA: the Q_Key of QP1; iPXE's IB_QKEY_GSI
constexpr std::uint32_t everybody = 0xffffff;     // IBTA: the queue pair number of multicast
constexpr unsigned grh_bytes = 40, mad_bytes = 256;
// RFC 4391, section 4: the broadcast group of IPoIB, of a link's scope and the default P_Key.
constexpr std::uint8_t broadcast[16] = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0,    0,
                                        0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff};

/// A line of ibstat: "QPN 0x40 send 0/4 recv 2/2 SMI".
struct queue_pair {
  std::uint32_t qpn;
  unsigned send, receive;
  std::string owner;
  /// As the adapter's subjects name it: hermon.h HERMON_QPN_RANDOM_MASK is out of the table's
  /// range.
  std::uint32_t index() const { return qpn & ~0xfff000u; }
};

class ipxe_recording : public ::testing::TestWithParam<const char*> {
 protected:
  const fixture& of = fixture::named(GetParam());

  std::vector<queue_pair> shown() const {
    std::vector<queue_pair> all;
    const std::regex form("QPN 0x([0-9a-f]+) send \\d+/(\\d+) recv \\d+/(\\d+) (\\S+)");
    const std::string& text = of.printed();
    for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i)
      all.push_back({static_cast<std::uint32_t>(std::stoul((*i)[1], nullptr, 16)),
                     static_cast<unsigned>(std::stoul((*i)[2])),
                     static_cast<unsigned>(std::stoul((*i)[3])), (*i)[4]});
    return all;
  }
  queue_pair of_owner(const std::string& owner) const {
    for (const queue_pair& q : shown())
      if (q.owner == owner) return q;
    ADD_FAILURE() << "ibstat shows no queue pair of " << owner;
    return {};
  }
  /// A figure of the last ifstat: "TX:4".
  unsigned figure(const std::string& name) const {
    std::smatch found;
    const std::string& text = of.printed();
    const std::string last = text.substr(text.rfind("[Link:"));
    const bool there = std::regex_search(last, found, std::regex(" " + name + ":(\\d+)"));
    EXPECT_TRUE(there) << name;
    return there ? static_cast<unsigned>(std::stoul(found[1])) : 0;
  }
};

TEST_P(ipxe_recording, queue_pairs_have_the_shape_that_ibstat_prints) {
  const std::vector<queue_pair> all = shown();
  ASSERT_EQ(all.size(), 3u) << "SMI, GSI and net0";
  for (const queue_pair& q : all) {
    const auto init = of.given<qpc>(opcode::rst2init_qp, "qpc", q.qpn);
    ASSERT_EQ(init.size(), 1u) << q.owner;
    EXPECT_EQ(init[0].get<&qpc::service>(), q.owner == "net0" ? qp_service::ud : qp_service::mlx);
    EXPECT_EQ(1u << init[0].get<&qpc::log_rq_size>(), q.receive);
    // The send ring has room for the entries asked for, one, and what the adapter may read ahead:
    // 2048 bytes.
    const std::uint64_t stride = std::uint64_t{wqe_unit} << init[0].get<&qpc::log_sq_stride>();
    const std::uint64_t least = q.send + 1 + 2048 / stride;
    EXPECT_GE(1u << init[0].get<&qpc::log_sq_size>(), least);
    EXPECT_LT(1u << init[0].get<&qpc::log_sq_size>(), 2 * least);
    EXPECT_EQ(init[0].get<&qpc::pd>(), global_pd);
    // hermon.c hermon_modify_qp.
    const auto rtr = of.given<qpc>(opcode::init2rtr_qp, "qpc", q.qpn);
    ASSERT_EQ(rtr.size(), 1u);
    EXPECT_EQ(mtu_bytes(rtr[0].get<&qpc::mtu>()), 2048u);
    EXPECT_EQ(rtr[0].get<&qpc::msg_max>(), 31u);
    const auto rts = of.given<qpc>(opcode::rtr2rts_qp, "qpc", q.qpn);
    ASSERT_EQ(rts.size(), 1u);
    EXPECT_EQ(rts[0].get<&primary_path::ack_timeout>(), 14u);
    EXPECT_EQ(rts[0].get<&qpc::retry_count>(), 7u);
    EXPECT_EQ(rts[0].get<&qpc::rnr_retry>(), 7u);
  }
}

// Queue keys come by RTS2RTS_QP: IBTA's of QP0 and QP1, and of the broadcast group.
TEST_P(ipxe_recording, queue_keys_are_those_of_the_services) {
  const auto key = [&](const char* owner) {
    const auto given = of.given<qpc>(opcode::rts2rts_qp, "qpc", of_owner(owner).qpn);
    return given.empty() ? ~std::uint64_t{0} : given.back().get<&qpc::qkey>();
  };
  EXPECT_EQ(key("SMI"), 0u);
  EXPECT_EQ(key("GSI"), gsi_qkey);
  const queue_pair net = of_owner("net0");
  for (const auto& d : of.posted<wqe_datagram>("send_wqe", net.index(), "wqe_datagram"))
    EXPECT_EQ(d.get<&wqe_datagram::qkey>(), key("net0"));
}

TEST_P(ipxe_recording, the_one_region_is_all_of_memory_with_the_key_of_the_source) {
  const auto regions = of.given<mpt>(opcode::sw2hw_mpt, "mpt");
  ASSERT_EQ(regions.size(), 2u) << "one for each time that it came up";
  for (const auto& m : regions) {
    EXPECT_EQ(m.get<&mpt::mem_key>() & 0xff000000, key_prefix);
    EXPECT_EQ(m.get<&mpt::pd>(), global_pd);
    EXPECT_TRUE(m.get<&mpt::physical>() && m.get<&mpt::region>() && m.get<&mpt::len64>());
    EXPECT_TRUE(m.get<&mpt::local_read>() && m.get<&mpt::local_write>());
    EXPECT_TRUE(m.get<&mpt::remote_read>() && m.get<&mpt::remote_write>());
    EXPECT_TRUE(m.get<&mpt::atomic>());
  }
  const auto lkey = key_of_mpt(static_cast<std::uint32_t>(regions.back().get<&mpt::mem_key>()));
  const auto sent = of.posted<wqe_data>("send_wqe", of_owner("net0").index(), "wqe_data");
  ASSERT_FALSE(sent.empty());
  for (const auto& d : sent) EXPECT_EQ(d.get<&wqe_data::lkey>(), lkey);
}

// What net0 sends is DHCP's first message, to everybody; ifstat counts what was sent and what came
// back by the group.
TEST_P(ipxe_recording, datagrams_go_to_the_broadcast_group) {
  const queue_pair net = of_owner("net0");
  const auto to = of.posted<wqe_datagram>("send_wqe", net.index(), "wqe_datagram");
  const auto data = of.posted<wqe_data>("send_wqe", net.index(), "wqe_data");
  ASSERT_EQ(to.size(), figure("TX"));
  ASSERT_EQ(data.size(), to.size()) << "one entry each";
  ASSERT_GT(to.size(), 0u);
  for (const auto& d : to) {
    EXPECT_EQ(d.get<&wqe_datagram::dqpn>(), everybody);
    EXPECT_EQ(d.get<&wqe_datagram::port>(), 1u);
    EXPECT_EQ(d.get<&wqe_datagram::pd>(), global_pd);
    EXPECT_TRUE(d.get<&wqe_datagram::grh>());
    EXPECT_EQ(std::memcmp(d.bytes_of<&wqe_datagram::dgid>(), broadcast, sizeof broadcast), 0);
  }
  const auto came = of.completed(net.qpn, false);
  std::vector<std::uint64_t> lengths;
  for (const auto& e : came)
    if (e.get<&cqe::opcode>() != static_cast<std::uint64_t>(cqe_opcode::error))
      lengths.push_back(e.get<&cqe::byte_count>());
  ASSERT_EQ(lengths.size(), figure("RX"));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    EXPECT_EQ(lengths[i], data[i].get<&wqe_data::byte_count>() + grh_bytes);
}

TEST_P(ipxe_recording, the_group_has_the_queue_pair_that_ibstat_prints) {
  const auto groups = of.given<mcg_header>(opcode::write_mcg, "mcg_header");
  const auto members = of.given<mcg_member>(opcode::write_mcg, "mcg_member");
  // Eight words of members behind each head (hermon.h hermonprm_mcg_entry_st).
  ASSERT_EQ(members.size(), 8 * groups.size());
  unsigned joined = 0, left = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].get<&mcg_header::members_count>() == 0) {
      ++left;
      continue;
    }
    EXPECT_EQ(groups[i].get<&mcg_header::members_count>(), 1u);
    if (std::memcmp(groups[i].bytes_of<&mcg_header::gid>(), broadcast, sizeof broadcast) != 0)
      continue;
    ++joined;
    EXPECT_EQ(members[8 * i].get<&mcg_member::qpn>(), of_owner("net0").qpn);
  }
  EXPECT_GT(joined, 0u);
  EXPECT_EQ(left, groups.size() / 2) << "what was joined is left when the port is closed";
}

// A GRH's place and the packet's (hermon.c hermon_post_recv); of management datagrams both lengths
// are known.
TEST_P(ipxe_recording, receives_begin_with_the_place_of_a_grh) {
  for (const queue_pair& q : shown()) {
    const auto entries = of.posted<wqe_data>("receive_wqe", q.index(), "wqe_data");
    ASSERT_GE(entries.size(), 2u) << q.owner;
    EXPECT_EQ(entries[0].get<&wqe_data::byte_count>(), grh_bytes);
    EXPECT_GE(entries[1].get<&wqe_data::byte_count>(), mad_bytes);
  }
}

// hermon.c hermon_start and hermon_create_eq; ipoib.c IPOIB_NUM_CQES is 16, ib_mi.c IB_MI_NUM_CQES
// 8.
TEST_P(ipxe_recording, the_sizes_are_those_of_the_source) {
  const auto profiles = of.given<init_hca>(opcode::init_hca, "init_hca");
  ASSERT_EQ(profiles.size(), 2u);
  for (const auto& p : profiles) {
    EXPECT_EQ(p.get<&init_hca::version>(), 2u);
    EXPECT_EQ(p.get<&init_hca::log_max_uars>(), 8u);
  }
  for (const auto& e : of.given<eqc>(opcode::sw2hw_eq, "eqc"))
    EXPECT_EQ(e.get<&eqc::log_eq_size>(), 3u);
  const auto queues = of.given<cqc>(opcode::sw2hw_cq, "cqc");
  ASSERT_EQ(queues.size(), 3u) << "SMI, GSI, net0";
  std::multiset<std::uint64_t> sizes;
  for (const auto& c : queues) sizes.insert(std::uint64_t{1} << c.get<&cqc::log_cq_size>());
  EXPECT_EQ(sizes, (std::multiset<std::uint64_t>{8, 8, 16}));
}

INSTANTIATE_TEST_SUITE_P(fixtures, ipxe_recording,
                         ::testing::Values("ipxe_bookworm", "ipxe_trixie"));

}  // namespace
}  // namespace freehca
