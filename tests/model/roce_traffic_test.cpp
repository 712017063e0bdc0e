// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Queue pairs of two adapters whose Ethernet ports are cabled to each other, by RoCE v1 and v2.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/ethernet_statistics.hpp>
#include <freehca/layouts/set_port.hpp>

#include "cabled_fixture.hpp"
#include "link/link_codec.hpp"
#include "link/roce_wire.hpp"
#include "roce_gids.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr unsigned at_empty = 9;
constexpr unsigned mac_place = 2, vlan_place = 5;
constexpr std::uint16_t vlan = 0x123, entropy = 0xc321;
constexpr std::uint32_t qpn_a = 0x150, qpn_b = 0x160;

gid_bytes gid_of(unsigned station, unsigned index) {
  return gid_of_end(station + 1, index);
}

constexpr std::uint64_t mac_of(unsigned station) {
  return 0x0002'c900'0010 + station;
}

class roce_traffic : public testing::TestWithParam<unsigned> {
 protected:
  roce_traffic() : a(with(0)), b(with(1)) {
    a.host->lay_cable(1, *b.host, 1);
    a.host->on_wire = [this](unsigned, std::vector<std::byte>& bytes) { sent.push_back(bytes); };
    prepare(a, 0);
    prepare(b, 1);
    a.host->advance(second);
    EXPECT_TRUE(a.links().active(1) && b.links().active(1));
  }
  ~roce_traffic() override { a.host->part(); }

  static options with(unsigned number) {
    options how = test_options();
    how.link[0] = link_layer::ethernet;
    how.cable[0] = true;
    how.node_guid += 0x100 * number;
    return how;
  }
  template <class T>
  static void set_table(station& s, set_port_selector selector,
                        const std::vector<std::pair<unsigned, image<T>>>& entries) {
    std::memset(s.host->at(s.driver->input), 0, 4096);
    for (const auto& [index, e] : entries) s.host->store(s.driver->input + index * T::bytes, e);
    ASSERT_EQ(
        s.driver
            ->command(opcode::set_port, s.driver->input, set_port_input_modifier(selector, 1), 1)
            .status,
        command_status::ok);
  }
  static void prepare(station& s, unsigned number) {
    using general = set_port_general;
    using mac = set_port_mac_entry;
    using tag = set_port_vlan_entry;
    using address = set_port_roce_addr_entry;
    set_table<general>(
        s, set_port_selector::general,
        {{0, image<general>{}.set<&general::v_roce_mode>(true).set<&general::roce_mode>(
                 port_roce_mode::v1_and_v2)}});
    set_table<mac>(
        s, set_port_selector::mac_table,
        {{mac_place, image<mac>{}.set<&mac::valid>(true).set<&mac::mac>(mac_of(number))}});
    set_table<tag>(s, set_port_selector::vlan_table,
                   {{vlan_place, image<tag>{}.set<&tag::valid>(true).set<&tag::vlan_id>(vlan)}});
    std::vector<std::pair<unsigned, image<address>>> gids;
    for (const unsigned index : {at_v1, at_v2_ipv6, at_v2_ipv4})
      gids.emplace_back(index, image<address>{}
                                   .set_bytes<&address::gid>(gid_of(number, index).data())
                                   .set<&address::type>(index == at_v2_ipv6)
                                   .set<&address::version>(index == at_v1 ? 0 : 2));
    set_table<address>(s, set_port_selector::roce_addr, gids);
    s.open();
  }

  /// A context as Linux makes it, by the GID at `index`, to station `far`.
  static image<qpc> context(station& s, const test_qp& qp, std::uint32_t remote, unsigned index,
                            unsigned far, bool tagged = false) {
    image<qpc> c = s.ready_context(qp, remote);
    c.set<&primary_path::sched_queue>(sched_queue_ethernet(1, 6))
        .set<&primary_path::rlid>(0)
        .set<&primary_path::grh>(true)
        .set<&primary_path::my_lid_smac_idx>(mac_place)
        .set<&primary_path::link_type>(path_link::ethernet)
        .set<&primary_path::mgid_index>(index)
        .set<&primary_path::hop_limit>(64)
        .set_bytes<&primary_path::rgid>(gid_of(far, index).data())
        .set<&primary_path::dmac>(mac_of(far));
    c.set<&qpc::roce>(index == at_v1 ? roce_mode::v1 : roce_mode::v2)
        .set<&qpc::roce_entropy>(entropy);
    if (tagged)
      c.set<&primary_path::feup>(true)
          .set<&primary_path::fvl>(true)
          .set<&primary_path::cv>(true)
          .set<&primary_path::vlan_index>(vlan_place);
    return c;
  }
  /// Sends a datagram of `bytes` bytes to `dqpn` by the GID at `index`.
  static void send_datagram(station& s, test_qp& qp, std::uint32_t dqpn, unsigned index,
                            const gid_bytes& to, std::uint64_t dmac, int tag = -1,
                            bool force_loopback = false) {
    test_send d;
    d.address = transport_region;
    d.bytes = 100;
    d.lkey = s.key;
    d.dqpn = dqpn;
    d.qkey = station::qkey;
    const std::size_t at = std::size_t{qp.sent % test_qp::entries} * test_qp::stride + 16;
    s.post_send(qp, d);
    auto segment = image<wqe_datagram>::from_bytes(s.driver->bytes_of(qp.ring, at));
    segment.set<&wqe_datagram::mgid_index>(index)
        .set<&wqe_datagram::rlid>(0)
        .set<&wqe_datagram::hop_limit>(64)
        .set<&wqe_datagram::force_loopback>(force_loopback)
        .set_bytes<&wqe_datagram::dgid>(to.data())
        .set<&wqe_datagram::dmac>(dmac)
        .set<&wqe_datagram::vlan_present>(tag >= 0)
        .set<&wqe_datagram::vlan>(static_cast<std::uint64_t>(tag >= 0 ? tag : 0xffff));
    s.put(qp, at, segment);
    s.ring(qp);
  }
  test_qp datagram_qp(station& s, std::uint32_t number) {
    test_qp qp = s.make_qp(number, qp_service::ud);
    s.to_rts(qp, context(s, qp, 0, 0, 0));
    return qp;
  }
  static std::uint16_t word(const std::vector<std::byte>& frame, std::size_t at) {
    return load_be<std::uint16_t>(frame.data() + at);
  }
  static std::uint16_t type_of(unsigned index) {
    return index == at_v1        ? ethertype::roce_v1
           : index == at_v2_ipv4 ? ethertype::ipv4
                                 : ethertype::ipv6;
  }

  static constexpr std::uint64_t transport_region = station::region_start;
  station a, b;
  std::vector<std::vector<std::byte>> sent;  ///< by a's cable
};

}  // namespace

TEST_P(roce_traffic, a_reliable_connection_sends_writes_and_reads) {
  const unsigned index = GetParam();
  for (const bool tagged : {false, true}) {
    sent.clear();
    test_qp qa = a.make_qp(qpn_a + tagged), qb = b.make_qp(qpn_b + tagged);
    a.to_rts(qa, context(a, qa, qb.number, index, 1, tagged));
    b.to_rts(qb, context(b, qb, qa.number, index, 0, tagged));
    const std::uint64_t here = station::region_start, there = here + 0x10000;
    a.fill(here, 3000, 5);
    b.post_receive(qb, there, 4096, b.key);
    a.send(qa, a.transfer(wqe_opcode::send, 3000, here, 0));
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
    b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
    b.expect_pattern(there, 3000, 5);
    a.send(qa, a.transfer(wqe_opcode::rdma_write, 2001, here, there + 0x8000));
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    b.expect_pattern(there + 0x8000, 2001, 5);
    b.fill(there, 2500, 9);
    a.send(qa, a.transfer(wqe_opcode::rdma_read, 2500, here + 0x20000, there));
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::rdma_read));
    a.expect_pattern(here + 0x20000, 2500, 9);

    ASSERT_FALSE(sent.empty());
    const auto& f = sent[0];
    const std::size_t type_at = tagged ? 16 : 12;
    EXPECT_EQ(word(f, type_at), type_of(index));
    if (tagged) {
      EXPECT_EQ(word(f, 12), ethertype::vlan);
      EXPECT_EQ(word(f, 14), 6u << 13 | vlan);
    }
    if (index != at_v1) {
      const std::size_t udp = type_at + 2 + (index == at_v2_ipv4 ? 20 : 40);
      EXPECT_EQ(word(f, udp), entropy);
      EXPECT_EQ(word(f, udp + 2), roce_v2_udp_port);
    }
    packet p;
    std::string why;
    EXPECT_EQ(from_frame(f, p, why), roce_arrival::good) << why;
  }
}

TEST_P(roce_traffic, a_datagram_brings_its_header_and_the_completion_its_sender) {
  const unsigned index = GetParam();
  test_qp qa = datagram_qp(a, qpn_a), qb = datagram_qp(b, qpn_b);
  const std::uint64_t here = station::region_start, there = here + 0x10000;
  a.fill(here, 100, 3);
  for (const int tag : {-1, 0xa123}) {
    std::memset(&b.byte_at(there), 0xee, 40);
    b.post_receive(qb, there, 1000, b.key);
    send_datagram(a, qa, qb.number, index, gid_of(1, index), mac_of(1), tag);
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
    const auto e = image<cqe_smac>::from_bytes(b.completion().data());
    EXPECT_EQ(e.get<&cqe_smac::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
    EXPECT_EQ(e.get<&cqe_smac::byte_count>(), 140u);
    EXPECT_EQ(e.get<&cqe_smac::remote_qpn>(), qa.number);
    EXPECT_TRUE(e.get<&cqe_smac::grh>());
    EXPECT_EQ(load_be<std::uint32_t>(e.bytes_of<&cqe_smac::smac>() + 2), mac_of(0) & 0xffffffff);
    EXPECT_EQ(e.get<&cqe_smac::cvlan_present>(), tag >= 0);
    EXPECT_EQ(e.get<&cqe_smac::vid>(), tag >= 0 ? 0x123u : 0u);
    EXPECT_EQ(e.get<&cqe_smac::sl>(), tag >= 0 ? 0xau : 0u);
    b.expect_pattern(there + 40, 100, 3);
    const unsigned first = std::to_integer<unsigned>(b.byte_at(there));
    const unsigned ip = std::to_integer<unsigned>(b.byte_at(there + 20));
    if (index == at_v2_ipv4) {
      EXPECT_EQ(first, 0u);
      EXPECT_EQ(ip, 0x45u);
    } else {
      EXPECT_EQ(first >> 4, 6u);
    }
  }
}

// The source MAC stands in the rows of the status.
TEST_P(roce_traffic, a_datagram_that_looks_like_ipoibs_has_its_sender_in_the_completion) {
  const unsigned index = GetParam();
  test_qp qa = datagram_qp(a, qpn_a), qb = datagram_qp(b, qpn_b);
  for (unsigned i = 0; i < 100; ++i) a.byte_at(station::region_start + i) = std::byte{};
  const auto packet = {0x08, 0x00, 0x00, 0x00, 0x45, 0x00, 0x00, 0x60};
  std::size_t at = 0;
  for (const int value : packet)
    a.byte_at(station::region_start + at++) = static_cast<std::byte>(value);
  b.post_receive(qb, station::region_start, 1000, b.key);
  send_datagram(a, qa, qb.number, index, gid_of(1, index), mac_of(1));
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  const auto e = image<cqe_smac>::from_bytes(b.completion().data());
  EXPECT_EQ(load_be<std::uint16_t>(e.bytes_of<&cqe_smac::smac>()), mac_of(0) >> 32);
  EXPECT_EQ(load_be<std::uint32_t>(e.bytes_of<&cqe_smac::smac>() + 2), mac_of(0) & 0xffffffff);
  EXPECT_EQ(e.get<&cqe_smac::checksum>(), 0u);
}

TEST_P(roce_traffic, a_group_has_members_here_and_there) {
  const unsigned index = GetParam();
  test_qp qa = datagram_qp(a, qpn_a), near = datagram_qp(a, qpn_a + 1), far = datagram_qp(b, qpn_b);
  std::byte mgid[16]{};
  if (index == at_v2_ipv4) {
    mgid[10] = mgid[11] = std::byte{0xff};
    mgid[12] = std::byte{0xe1};
  } else {
    mgid[0] = std::byte{0xff};
    mgid[1] = std::byte{0x0e};
  }
  mgid[15] = std::byte{7};
  a.join(mgid, near.number);
  b.join(mgid, far.number);
  gid_bytes to;
  std::copy_n(mgid, 16, to.begin());
  // With the bit that libmlx4 sets, too.
  for (const bool forced : {false, true}) {
    a.post_receive(near, station::region_start + 0x10000, 1000, a.key);
    b.post_receive(far, station::region_start + 0x10000, 1000, b.key);
    send_datagram(a, qa, multicast_qpn, index, to, 0x0100'5e00'0007, -1, forced);
    a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
    a.expect_done(near, false, static_cast<unsigned>(cqe_opcode::recv_send));
    b.expect_done(far, false, static_cast<unsigned>(cqe_opcode::recv_send));
  }
}

TEST_P(roce_traffic, a_packet_to_the_own_mac_does_not_leave) {
  const unsigned index = GetParam();
  test_qp one = a.make_qp(qpn_a), two = a.make_qp(qpn_a + 1);
  a.to_rts(one, context(a, one, two.number, index, 0));
  a.to_rts(two, context(a, two, one.number, index, 0));
  a.send(one, a.transfer(wqe_opcode::rdma_write, 2000, station::region_start,
                         station::region_start + 0x10000));
  a.expect_done(one, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  EXPECT_TRUE(sent.empty());
}

// Its receives are for frames: a peer that knows the number must not write into them past steering.
TEST_P(roce_traffic, a_datagram_for_a_queue_pair_of_frames_is_dropped) {
  const unsigned index = GetParam();
  test_qp qa = datagram_qp(a, qpn_a), raw = b.make_qp(qpn_b, qp_service::mlx);
  image<qpc> c = b.first_context(raw);
  c.set<&qpc::pm_state>(path_migration::armed)
      .set<&primary_path::sched_queue>(sched_queue_ethernet(1, 0))
      .set<&primary_path::link_type>(path_link::ethernet)
      .set<&primary_path::counter_index>(0xff)
      .set<&qpc::mtu>(static_cast<ib_mtu>(7))
      .set<&qpc::msg_max>(31);
  for (const opcode o : {opcode::rst2init_qp, opcode::init2rtr_qp, opcode::rtr2rts_qp})
    ASSERT_EQ(b.modify(o, raw.number, c), command_status::ok);
  b.post_receive(raw, station::region_start + 0x10000, 4096, b.key);
  const std::uint64_t dropped = b.counter("transport_packets_dropped");
  send_datagram(a, qa, raw.number, index, gid_of(1, index), mac_of(1));
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  b.no_completion();
  EXPECT_EQ(b.counter("transport_packets_dropped"), dropped + 1);
}

INSTANTIATE_TEST_SUITE_P(versions, roce_traffic, testing::Values(at_v1, at_v2_ipv6, at_v2_ipv4));

using roce_refusals = roce_traffic;

TEST_P(roce_refusals, a_request_by_an_empty_entry_is_a_local_qp_operation_error) {
  test_qp qa = a.make_qp(qpn_a);
  auto c = context(a, qa, qpn_b, at_v1, 1);
  if (GetParam() == 0) c.set<&primary_path::mgid_index>(at_empty);
  if (GetParam() == 1) c.set<&primary_path::my_lid_smac_idx>(at_empty);
  if (GetParam() == 2) c.set<&primary_path::fvl>(true).set<&primary_path::vlan_index>(at_empty);
  a.to_rts(qa, c);
  a.send(qa, a.transfer(wqe_opcode::send, 10, station::region_start, 0));
  const auto e = image<cqe_error>::from_bytes(a.completion().data());
  EXPECT_EQ(e.get<&cqe_error::syndrome>(), cqe_syndrome::local_qp_op);
  EXPECT_TRUE(sent.empty());
}

INSTANTIATE_TEST_SUITE_P(entries, roce_refusals, testing::Values(0u, 1u, 2u));

TEST_F(roce_traffic, a_frame_with_a_wrong_icrc_is_dropped_and_counted_and_sent_again) {
  test_qp qa = a.make_qp(qpn_a), qb = b.make_qp(qpn_b);
  a.to_rts(qa, context(a, qa, qb.number, at_v2_ipv4, 1));
  b.to_rts(qb, context(b, qb, qa.number, at_v2_ipv4, 0));
  unsigned damaged = 0;
  a.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) {
    if (damaged++ == 0) bytes[50] ^= std::byte{1};
  };
  b.post_receive(qb, station::region_start, 1000, b.key);
  a.send(qa, a.transfer(wqe_opcode::send, 100, station::region_start, 0));
  a.host->advance(second);
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
  EXPECT_EQ(damaged, 2u);
  image<ethernet_statistics> counted;
  ASSERT_EQ(b.driver->query(opcode::dump_eth_stats, counted, 1).status, command_status::ok);
  EXPECT_EQ(counted.get<&ethernet_statistics::rx_dropped>(), 1u);
}

TEST_F(roce_traffic, a_group_member_that_shares_the_senders_counter_may_block_loopback) {
  test_qp qa = a.make_qp(qpn_a, qp_service::ud), near = a.make_qp(qpn_a + 1, qp_service::ud),
          other = a.make_qp(qpn_a + 2, qp_service::ud);
  const auto with_counter = [this](const test_qp& qp, unsigned counter) {
    auto c = context(a, qp, 0, 0, 0);
    c.set<&primary_path::counter_index>(counter)
        .set<&primary_path::src_check_mc_lb>(true)
        .set<&primary_path::src_check_counter>(true);
    return c;
  };
  const auto ready = [&](const test_qp& qp, unsigned counter) {
    const auto c = with_counter(qp, counter);
    ASSERT_EQ(a.modify(opcode::rst2init_qp, qp.number, a.first_context(qp)), command_status::ok);
    ASSERT_EQ(a.modify(opcode::init2rtr_qp, qp.number, c, qp_optpar::counter_index),
              command_status::ok);
    ASSERT_EQ(a.modify(opcode::rtr2rts_qp, qp.number, c), command_status::ok);
  };
  ready(qa, 3);
  ready(near, 3);
  ready(other, 4);
  std::byte first[16]{std::byte{0xff}, std::byte{0x0e}};
  first[15] = std::byte{7};
  gid_bytes to;
  std::copy_n(first, 16, to.begin());
  a.join(first, near.number);
  a.post_receive(near, station::region_start + 0x10000, 1000, a.key);
  send_datagram(a, qa, multicast_qpn, at_v1, to, 0x3333'0000'0007);
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_TRUE(a.no_completion());
  first[15] = to[15] = std::byte{8};
  a.join(first, other.number);
  a.post_receive(other, station::region_start + 0x10000, 1000, a.key);
  send_datagram(a, qa, multicast_qpn, at_v1, to, 0x3333'0000'0008);
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  a.expect_done(other, false, static_cast<unsigned>(cqe_opcode::recv_send));
}

TEST_P(roce_traffic, headers_that_software_made_reach_the_other_ports_first_gsi_queue_pair) {
  // A second GSI queue pair sends: one of service MLX with a number of its own.
  constexpr std::uint32_t special = 0x1c0, gsi = special + 2;
  test_qp second_gsi = a.make_qp(qpn_a, qp_service::mlx), qp1 = b.make_qp(gsi, qp_service::mlx);
  ASSERT_EQ(b.driver->command(opcode::conf_special_qp, 0, special).status, command_status::ok);
  a.to_rts(second_gsi, context(a, second_gsi, 0, 0, 0));
  b.to_rts(qp1, context(b, qp1, 0, 0, 0));
  path way;
  way.sgid_index = GetParam();
  way.smac_index = mac_place;
  way.dmac = mac_of(1);
  way.dgid = gid_of(1, GetParam());
  way.hop_limit = 64;
  way.udp_source_port = 0xc000;
  image<bth> base;
  base.set<&bth::opcode>(bth_opcode::ud_send_only).set<&bth::pkey>(0xffff).set<&bth::dest_qp>(1);
  auto made = *a.links().codec(1).wrap(way, base, deth::bytes, 256);
  made.put(0, image<deth>{}.set<&deth::qkey>(station::qkey).set<&deth::source_qp>(qpn_a));
  std::memset(made.payload_bytes(), 0x77, 256);
  made.p.bytes.resize(made.p.bytes.size() + icrc_bytes);
  std::memcpy(&a.byte_at(station::region_start), made.p.bytes.data(), made.p.bytes.size());
  b.post_receive(qp1, station::region_start, 1000, b.key);
  a.send(second_gsi, a.transfer(wqe_opcode::send, static_cast<std::uint32_t>(made.p.bytes.size()),
                                station::region_start, 0));
  a.expect_done(second_gsi, true, static_cast<unsigned>(wqe_opcode::send));
  const auto e = image<cqe_smac>::from_bytes(b.completion().data());
  EXPECT_EQ(e.get<&cqe_smac::qpn>(), gsi);
  EXPECT_EQ(e.get<&cqe_smac::remote_qpn>(), qpn_a);
  EXPECT_EQ(e.get<&cqe_smac::byte_count>(), 296u);
  EXPECT_EQ(e.get<&cqe_smac::immediate>(), 0u) << "the index of its P_Key";
  EXPECT_EQ(b.byte_at(station::region_start + 40), std::byte{0x77});
}

TEST_P(roce_traffic, packets_count_in_the_counters_that_contexts_name) {
  constexpr unsigned counter_a = 3, counter_b = 4;
  std::vector<std::vector<std::byte>> answered;  // by b's cable
  b.host->on_wire = [&](unsigned, std::vector<std::byte>& bytes) { answered.push_back(bytes); };
  test_qp qa = a.make_qp(qpn_a), qb = b.make_qp(qpn_b);
  const auto ready = [](station& s, const test_qp& qp, image<qpc> c, unsigned counter) {
    c.set<&primary_path::counter_index>(counter);
    ASSERT_EQ(s.modify(opcode::rst2init_qp, qp.number, s.first_context(qp)), command_status::ok);
    ASSERT_EQ(s.modify(opcode::init2rtr_qp, qp.number, c, qp_optpar::counter_index),
              command_status::ok);
    ASSERT_EQ(s.modify(opcode::rtr2rts_qp, qp.number, c), command_status::ok);
  };
  ready(a, qa, context(a, qa, qb.number, GetParam(), 1), counter_a);
  ready(b, qb, context(b, qb, qa.number, GetParam(), 0), counter_b);
  b.post_receive(qb, station::region_start, 4096, b.key);
  a.send(qa, a.transfer(wqe_opcode::send, 3000, station::region_start, 0));
  a.expect_done(qa, true, static_cast<unsigned>(wqe_opcode::send));
  b.expect_done(qb, false, static_cast<unsigned>(cqe_opcode::recv_send));
  EXPECT_EQ(sent.size(), 3u);
  EXPECT_FALSE(answered.empty());
  const auto on_the_link = [](const std::vector<std::vector<std::byte>>& all) {
    std::uint64_t bytes = 0;
    for (const auto& f : all) bytes += std::max<std::size_t>(f.size(), 60) + 4;
    return bytes;
  };
  const auto counted = [](station& s, unsigned counter) {
    image<interface_counter> c;
    EXPECT_EQ(s.driver->query(opcode::query_if_stat, c, counter).status, command_status::ok);
    return c;
  };
  using i = interface_counter;
  const auto here = counted(a, counter_a), there = counted(b, counter_b);
  EXPECT_EQ(here.get<&i::tx_frames>(), sent.size());
  EXPECT_EQ(here.get<&i::tx_bytes>(), on_the_link(sent));
  EXPECT_EQ(here.get<&i::rx_frames>(), answered.size());
  EXPECT_EQ(here.get<&i::rx_bytes>(), on_the_link(answered));
  EXPECT_EQ(there.get<&i::rx_frames>(), sent.size());
  EXPECT_EQ(there.get<&i::rx_bytes>(), on_the_link(sent));
  EXPECT_EQ(there.get<&i::tx_frames>(), answered.size());
  EXPECT_EQ(there.get<&i::tx_bytes>(), on_the_link(answered));
  // In no other.
  EXPECT_EQ(counted(a, counter_b).get<&i::tx_frames>(), 0u);
  EXPECT_EQ(counted(a, 0).get<&i::tx_frames>(), 0u);
}

TEST_F(roce_traffic, query_qp_tells_the_remote_number_before_rts) {
  test_qp qa = a.make_qp(qpn_a);
  ASSERT_EQ(a.modify(opcode::rst2init_qp, qa.number, a.first_context(qa)), command_status::ok);
  ASSERT_EQ(a.modify(opcode::init2rtr_qp, qa.number, context(a, qa, qpn_b, at_v1, 1)),
            command_status::ok);
  EXPECT_EQ(a.context_of(qa).get<&qpc::remote_qpn>(), qpn_b);
}

}  // namespace freehca::model::test
