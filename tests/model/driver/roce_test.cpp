// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// RC, UC and UD by RoCE v1 and v2 between two hosts, and paths that an Ethernet port does not have.
#include <vector>

#include <freehca/layouts/ethernet.hpp>
#include <freehca/layouts/headers.hpp>

#include "cabled_end.hpp"

namespace freehca {
namespace {

using namespace testing;
using end = cabled_end;
using id = attribute_id;
using layouts::primary_path;
using layouts::qp_service;
using layouts::qp_state;
using layouts::qpc;

// The places of the GIDs in the tables of both hosts. The place behind them is empty.
enum : std::uint8_t { at_v1, at_v2_ipv6, at_v2_ipv4, at_none };
// The VLAN has place 1 in the list, so index 3 in the table of the device.
constexpr std::uint16_t vlan = 0x123, vlans[] = {no_vlan, vlan};
constexpr unsigned vlan_index = 3;
constexpr std::uint32_t qkey = cabled_end::qkey;

constexpr std::uint64_t mac_of(unsigned host) {
  return 0x0002'c900'0010 + host;
}
gid gid_at(unsigned host, unsigned index) {
  return index == at_v2_ipv4 ? gid_of_ipv4(0x0a000001 + host) : gid_of_mac(mac_of(host));
}
roce_path path_to(unsigned host, std::uint8_t index) {
  return {.dmac = mac_of(host),
          .sgid_index = index,
          .mac_index = 1,
          .hop_limit = 33,
          .traffic_class = 0x28,
          .dgid = gid_at(host, index)};
}

class roce_hosts {
 public:
  roce_hosts() {
    auto before = std::move(hosts[0].machine.on_link_send);
    hosts[0].machine.on_link_send = [this, before = std::move(before)](
                                        unsigned port, const std::byte* from, std::size_t count) {
      frames.emplace_back(from, from + count);
      return before(port, from, count);
    };
    hosts.bring_up();
    for (unsigned h = 0; h < 2; ++h) {
      // The first MAC is an address of the port that nothing here uses.
      const std::uint64_t macs[] = {mac_of(h) + 0x1000, mac_of(h)};
      const port_gid gids[] = {{gid_at(h, at_v1), roce_version::v1},
                               {gid_at(h, at_v2_ipv6), roce_version::v2},
                               {gid_at(h, at_v2_ipv4), roce_version::v2}};
      set_port_addresses set;
      set.start(hosts[h].adapter, 1, {macs, 2, vlans, 2, gids, 3});
      const status s = hosts[h].await(set);
      EXPECT_TRUE(s.ok()) << words(s);
    }
  }
  ~roce_hosts() { hosts.tear_down(); }

  cabled_hosts hosts{{}, {}, model::link_layer::ethernet};
  std::vector<std::vector<std::byte>> frames;  // that host 0 sent
};

/// Checks the frame from the destination MAC to the destination UDP port.
void expect_frame(const std::vector<std::byte>& f, unsigned index, bool tagged, std::uint64_t dmac,
                  std::uint64_t smac) {
  using namespace layouts;
  ASSERT_GE(f.size(), 62u);
  const auto word = [&](std::size_t at) { return load_be<std::uint16_t>(f.data() + at); };
  const auto addresses = image<ethernet_address_numbers>::from_bytes(f.data());
  EXPECT_EQ(addresses.get<&ethernet_address_numbers::destination>(), dmac);
  EXPECT_EQ(addresses.get<&ethernet_address_numbers::source>(), smac);
  std::size_t at = ethernet_addresses::bytes;
  if (tagged) {
    EXPECT_EQ(word(at), ethertype::vlan);
    EXPECT_EQ(word(at + 2), 5u << 13 | vlan);
    at += vlan_tag::bytes;
  }
  EXPECT_EQ(word(at), index == at_v1        ? ethertype::roce_v1
                      : index == at_v2_ipv4 ? ethertype::ipv4
                                            : ethertype::ipv6);
  at += ether_type_bytes;
  if (index == at_v2_ipv4) {
    const auto ip = image<ipv4_header>::from_bytes(f.data() + at);
    EXPECT_EQ(ip.get<&ipv4_header::source>(), 0x0a000001u);
    EXPECT_EQ(ip.get<&ipv4_header::destination>(), 0x0a000002u);
    EXPECT_EQ(ip.get<&ipv4_header::ttl>(), 33u);
    EXPECT_EQ(ip.get<&ipv4_header::tos>(), 0x28u);
    at += ipv4_header::bytes;
  } else {
    const auto g = image<grh>::from_bytes(f.data() + at);
    EXPECT_EQ(g.get<&grh::hop_limit>(), 33u);
    EXPECT_EQ(g.get<&grh::traffic_class>(), 0x28u);
    EXPECT_EQ(std::memcmp(g.bytes_of<&grh::sgid>(), gid_at(0, index).raw, 16), 0);
    EXPECT_EQ(std::memcmp(g.bytes_of<&grh::dgid>(), gid_at(1, index).raw, 16), 0);
    at += grh::bytes;
  }
  if (index == at_v1) return;
  EXPECT_EQ(word(at + 2), roce_v2_udp_port);
}

struct roce : ::testing::TestWithParam<std::uint8_t> {
  const std::uint8_t index = GetParam();
  roce_hosts both;
  cabled_hosts& hosts = both.hosts;

  /// Sends 3000 bytes to a receive and writes 2001 from a to b, as both services can.
  void send_and_write(end& a, end& b) {
    a.pattern(3000, 5);
    b.receive(0, 4096);
    ASSERT_TRUE(a.send().post_and_ring(queues::send{.data = a.buffer->entry(0, 3000)}).ok());
    EXPECT_TRUE(a.next().ok());
    const queues::work_completion got = b.next();
    ASSERT_TRUE(got.ok()) << name_of(got.status);
    EXPECT_EQ(got.byte_count, 3000u);
    EXPECT_EQ(std::memcmp(b.buffer->at(0), a.buffer->at(0), 3000), 0);
    ASSERT_TRUE(
        a.send()
            .post_and_ring(queues::rdma_write{.remote = {b.buffer->address(0x4000), b.buffer->key},
                                              .data = a.buffer->entry(0, 2001)})
            .ok());
    EXPECT_TRUE(a.next().ok());
    EXPECT_TRUE(
        hosts.run([&] { return std::memcmp(b.buffer->at(0x4000), a.buffer->at(0), 2001) == 0; },
                  clock::milliseconds(10)));
  }
};

TEST_P(roce, connections_send_and_write_with_and_without_a_vlan) {
  for (const qp_service service : {qp_service::rc, qp_service::uc}) {
    for (const bool tagged : {false, true}) {
      end a(hosts[0], service), b(hosts[1], service);
      roce_path to_b = path_to(1, index), to_a = path_to(0, index);
      if (tagged) {
        to_a.vlan = to_b.vlan = vlan;
        to_a.priority = to_b.priority = 5;
      }
      both.frames.clear();
      a.connect(to_b, b.number());
      b.connect(to_a, a.number());
      send_and_write(a, b);
      ASSERT_FALSE(both.frames.empty());
      expect_frame(both.frames[0], index, tagged, mac_of(1), mac_of(0));
      if (index != at_v1) {
        const std::size_t udp = 14u + 4u * tagged + (index == at_v2_ipv4 ? 20u : 40u);
        EXPECT_EQ(layouts::load_be<std::uint16_t>(both.frames[0].data() + udp),
                  0xc000u | (a.number() & 0x3fffu));
      }

      query_queue_pair q;
      q.start(hosts[0].objects, a.pair);
      ASSERT_TRUE(hosts[0].await(q).ok());
      const auto c = q.context();
      EXPECT_EQ(c.get<&primary_path::link_type>(), layouts::path_link::ethernet);
      EXPECT_TRUE(c.get<&primary_path::grh>());
      EXPECT_EQ(c.get<&primary_path::my_lid_smac_idx>(), 1u);
      EXPECT_EQ(c.get<&primary_path::rlid>(), 0u);
      EXPECT_EQ(c.get<&primary_path::mgid_index>(), index);
      EXPECT_EQ(c.get<&primary_path::dmac>(), mac_of(1));
      EXPECT_EQ(c.get<&primary_path::sched_queue>(),
                layouts::sched_queue_ethernet(1, tagged ? 5 : 0));
      EXPECT_EQ(c.get<&primary_path::fvl>(), tagged);
      EXPECT_EQ(c.get<&primary_path::cv>(), tagged);
      EXPECT_TRUE(c.get<&primary_path::feup>());
      EXPECT_EQ(c.get<&primary_path::vlan_index>(), tagged ? vlan_index : 0);
      const queue_pair_report report = report_of(hosts[0].objects, q);
      EXPECT_TRUE(report.primary.ethernet);
      const roce_path& found = report.primary.roce;
      EXPECT_EQ(found.port, 1u);
      EXPECT_EQ(found.dmac, mac_of(1));
      EXPECT_EQ(found.vlan, tagged ? vlan : no_vlan);
      EXPECT_EQ(found.priority, tagged ? 5u : 0u);
      EXPECT_EQ(found.sgid_index, index);
      EXPECT_EQ(found.mac_index, 1u);
      EXPECT_EQ(found.hop_limit, 33u);
      EXPECT_EQ(found.traffic_class, 0x28u);
      EXPECT_EQ(found.dgid, gid_at(1, index));
      EXPECT_EQ(c.get<&qpc::roce>(),
                index == at_v1 ? layouts::roce_mode::v1 : layouts::roce_mode::v2);
    }
  }
}

TEST_P(roce, a_reliable_connection_reads) {
  end a(hosts[0], qp_service::rc), b(hosts[1], qp_service::rc);
  a.connect(path_to(1, index), b.number());
  b.connect(path_to(0, index), a.number());
  b.pattern(2500, 9);
  ASSERT_TRUE(a.send()
                  .post_and_ring(queues::rdma_read{.remote = {b.buffer->address(), b.buffer->key},
                                                   .data = a.buffer->entry(0x1000, 2500)})
                  .ok());
  EXPECT_TRUE(a.next().ok());
  EXPECT_EQ(std::memcmp(a.buffer->at(0x1000), b.buffer->at(0), 2500), 0);
}

TEST_P(roce, datagrams_name_their_path) {
  end a(hosts[0], qp_service::ud), b(hosts[1], qp_service::ud);
  a.connect(roce_path{.mac_index = 1}, 0);
  b.connect(roce_path{.mac_index = 1}, 0);
  for (const bool tagged : {false, true}) {
    roce_path way = path_to(1, index);
    if (tagged) way.vlan = vlan, way.priority = 5;
    const auto made = hosts[0].objects.create<address_handle>({.pd = a.domain, .address = way});
    ASSERT_TRUE(made.ok()) << words(made.error());
    const queues::address& at = hosts[0].objects.find(made.value())->address;
    using rows = layouts::address_vector_rows;
    EXPECT_EQ(at.vector.get<&rows::port>(), 1u);
    EXPECT_EQ(at.vector.get<&rows::rlid>(), 0u);
    EXPECT_EQ(at.vector.get<&rows::mgid_index>(), index);
    EXPECT_EQ(at.vector.get<&rows::vlan_present>(), tagged);
    EXPECT_EQ(at.vector.get<&rows::sl>(), tagged ? 10u : 0u);
    EXPECT_EQ(at.vlan_and_mac, (tagged ? 5ull << 13 | vlan : 0xffffull) << 48 | mac_of(1));
    both.frames.clear();
    a.pattern(100, 3);
    b.receive(0, 512);
    ASSERT_TRUE(a.send()
                    .post_and_ring(queues::send_datagram{.to = {&at, b.number(), qkey},
                                                         .data = a.buffer->entry(0, 100)})
                    .ok());
    EXPECT_TRUE(a.next().ok());
    const queues::work_completion got = b.next();
    ASSERT_TRUE(got.ok()) << name_of(got.status);
    EXPECT_EQ(got.byte_count, queues::grh_bytes + 100);
    EXPECT_TRUE(got.has_grh());
    EXPECT_EQ(got.source_qpn(), a.number());
    EXPECT_EQ(std::memcmp(b.buffer->at(queues::grh_bytes), a.buffer->at(0), 100), 0);
    // The IPv4 header is in the last 20 of the 40 bytes.
    EXPECT_EQ(std::to_integer<unsigned>(*b.buffer->at(index == at_v2_ipv4 ? 20 : 0)) >> 4,
              index == at_v2_ipv4 ? 4u : 6u);
    ASSERT_FALSE(both.frames.empty());
    expect_frame(both.frames[0], index, tagged, mac_of(1), mac_of(0));
    EXPECT_TRUE(hosts[0].objects.destroy(made.value()).ok());
  }
}

/// The GID and the MAC of a group, of the form that packets to it have.
gid group_gid(unsigned index) {
  if (index == at_v2_ipv4) return gid_of_ipv4(0xe0010203);
  gid g;
  g.raw[0] = 0xff;
  g.raw[1] = 0x0e;
  g.raw[15] = 9;
  return g;
}
std::uint64_t group_mac(unsigned index) {
  return index == at_v2_ipv4 ? 0x0100'5e01'0203 : 0x3333'0000'0009;
}

TEST_P(roce, datagrams_reach_the_members_of_a_group) {
  end a(hosts[0], qp_service::ud), b(hosts[1], qp_service::ud), c(hosts[1], qp_service::ud);
  for (end* const e : {&a, &b, &c}) e->connect(roce_path{.sgid_index = index, .mac_index = 1}, 0);
  auto& objects = hosts[1].objects;
  const multicast_table_handle table = objects.create<multicast_table>().value();
  join_group join;
  join.start(objects, {table, b.pair, group_gid(index)});
  ASSERT_TRUE(hosts[1].await(join).ok());
  roce_path way = path_to(1, index);
  way.dmac = group_mac(index);
  way.dgid = group_gid(index);
  const auto made = hosts[0].objects.create<address_handle>({.pd = a.domain, .address = way});
  ASSERT_TRUE(made.ok()) << words(made.error());
  const auto send = [&] {
    const queues::address& at = hosts[0].objects.find(made.value())->address;
    ASSERT_TRUE(a.send()
                    .post_and_ring(queues::send_datagram{.to = {&at, 0xffffff, qkey},
                                                         .data = a.buffer->entry(0, 100)})
                    .ok());
    EXPECT_TRUE(a.next().ok());
  };
  a.pattern(100, 4);
  b.receive(0, 512);
  c.receive(0, 512);
  send();
  const queues::work_completion got = b.next();
  ASSERT_TRUE(got.ok()) << name_of(got.status);
  EXPECT_EQ(got.byte_count, queues::grh_bytes + 100);
  EXPECT_EQ(std::memcmp(b.buffer->at(queues::grh_bytes), a.buffer->at(0), 100), 0);
  leave_group leave;
  leave.start(objects, join.made());
  ASSERT_TRUE(hosts[1].await(leave).ok());
  b.receive(0, 512);
  send();
  hosts[1].run([] { return false; }, clock::milliseconds(1));
  for (end* const e : {&b, &c}) {
    queues::work_completion none;
    EXPECT_EQ(objects.find(e->completion)->rings.poll(&none, 1), 0u);
  }
  EXPECT_TRUE(objects.destroy(table).ok());
  EXPECT_TRUE(hosts[0].objects.destroy(made.value()).ok());
}

INSTANTIATE_TEST_SUITE_P(by, roce, ::testing::Values(at_v1, at_v2_ipv6, at_v2_ipv4),
                         [](const auto& p) {
                           return p.param == at_v1        ? "v1"
                                  : p.param == at_v2_ipv6 ? "v2_ipv6"
                                                          : "v2_ipv4";
                         });

TEST(roce_refusals, paths_that_the_port_does_not_have) {
  roce_hosts both;
  cabled_host& host = both.hosts[0];
  end rc(host, qp_service::rc);
  end ud(host, qp_service::ud);
  const roce_path good = path_to(1, at_v2_ipv4);
  const std::uint64_t before = host.adapter.commands().statistics().posted;
  const auto expect = [&](end& which, qp_state to, const address_attributes& path, id what) {
    const status s = which.move(to, which.attributes(path, 5));
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << name_of(what) << ": " << words(s);
    EXPECT_EQ(host.objects.refused().what, what) << name_of(host.objects.refused().what);
  };
  expect(rc, qp_state::init, infiniband_path{.dlid = 1}, id::link_layer);
  expect(ud, qp_state::init, {}, id::link_layer);
  expect(rc, qp_state::init, roce_path{.port = 3}, id::port);
  EXPECT_EQ(host.adapter.commands().statistics().posted, before) << "a command was sent";
  for (end* const e : {&rc, &ud}) ASSERT_TRUE(e->move(qp_state::init, e->attributes(good, 5)).ok());

  const std::uint64_t in_init = host.adapter.commands().statistics().posted;
  const auto spoilt = [&](auto spoil) {
    roce_path p = good;
    spoil(p);
    return p;
  };
  struct {
    roce_path path;
    id what;
    bool of_datagrams;  // an address handle is refused too
  } const wrong[] = {
      {spoilt([](roce_path& p) { p.sgid_index = at_none; }), id::sgid_index, true},
      {spoilt([](roce_path& p) { p.sgid_index = 255; }), id::sgid_index, true},
      {spoilt([](roce_path& p) { p.vlan = 7; }), id::vlan, true},
      {spoilt([](roce_path& p) { p.vlan = 0xfffe; }), id::vlan, true},
      {spoilt([](roce_path& p) { p.priority = 8; }), id::priority, true},
      {spoilt([](roce_path& p) { p.dmac = 0; }), id::dmac, true},
      {spoilt([](roce_path& p) { p.dmac = std::uint64_t{1} << 48; }), id::dmac, true},
      {spoilt([](roce_path& p) {
         p.dmac = 0x0100'5e00'0001;
         p.dgid = gid_of_ipv4(0xe0000001);
       }),
       id::dmac, false},
      {spoilt([](roce_path& p) { p.dgid = {}; }), id::dgid, true},
      {spoilt([](roce_path& p) { p.dgid = gid_of_mac(1); }), id::dgid, true},
      {spoilt([](roce_path& p) { p.dgid = gid_of_ipv4(0xe0000001); }), id::dgid, true},
      {spoilt([](roce_path& p) { p.sgid_index = at_v2_ipv6; }), id::dgid, true},
      {spoilt([](roce_path& p) { p.flow_label = 1u << 20; }), id::flow_label, true},
      {spoilt([](roce_path& p) { p.static_rate = 200; }), id::static_rate, true},
      {spoilt([](roce_path& p) { p.mac_index = 2; }), id::mac_index, false},
  };
  for (const auto& w : wrong) {
    expect(rc, qp_state::rtr, w.path, w.what);
    const auto made = host.objects.create<address_handle>({.pd = ud.domain, .address = w.path});
    EXPECT_EQ(made.ok(), !w.of_datagrams) << name_of(w.what);
    if (made.ok()) {
      EXPECT_TRUE(host.objects.destroy(made.value()).ok());
    } else {
      EXPECT_EQ(host.objects.refused().what, w.what);
    }
  }
  // The MAC of a group with the GID of one host.
  EXPECT_FALSE(host.objects
                   .create<address_handle>({.pd = ud.domain, .address = spoilt([](roce_path& p) {
                                                               p.dmac = 0x0100'5e00'0001;
                                                             })})
                   .ok());
  EXPECT_EQ(host.objects.refused().what, id::dgid);
  expect(ud, qp_state::rtr, roce_path{.mac_index = 2}, id::mac_index);
  EXPECT_EQ(host.adapter.commands().statistics().posted, in_init) << "a command was sent";
  EXPECT_TRUE(rc.move(qp_state::rtr, rc.attributes(good, 5)).ok());
}

TEST(roce_refusals, a_multicast_address_has_a_multicast_lid) {
  roce_hosts both;
  end ud(both.hosts[0], qp_service::ud);
  roce_path way = path_to(1, at_v2_ipv4);
  way.dmac = 0x0100'5e00'0001;
  way.dgid = gid_of_ipv4(0xe0000001);
  auto& objects = both.hosts[0].objects;
  const auto made = objects.create<address_handle>({.pd = ud.domain, .address = way});
  ASSERT_TRUE(made.ok()) << words(made.error());
  EXPECT_EQ(objects.find(made.value())->address.vector.get<&layouts::address_vector::rlid>(),
            0xc000u);
  EXPECT_TRUE(objects.destroy(made.value()).ok());
}

TEST(roce_refusals, an_infiniband_port_has_no_roce) {
  verbs_rig rig(exact());
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  const std::uint64_t before = rig.adapter.commands().statistics().posted;
  const auto made = rig.objects.create<address_handle>(
      {.pd = domain, .address = roce_path{.dmac = mac_of(0), .dgid = gid_of_mac(1)}});
  ASSERT_FALSE(made.ok());
  EXPECT_TRUE(made.error().is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, id::link_layer);
  EXPECT_EQ(rig.objects.refused().value, static_cast<unsigned>(layouts::port_type::ethernet));
  EXPECT_EQ(rig.objects.refused().limit, static_cast<unsigned>(layouts::port_type::ib));
  EXPECT_EQ(rig.adapter.commands().statistics().posted, before);
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

}  // namespace
}  // namespace freehca
