// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Each attribute that the driver can refuse: the refusal names it, its value and the limit.
#include "counts.hpp"
#include "rc_pair.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <freehca/hca/ethernet/module_query.hpp>
#include <freehca/hca/ethernet/port_type.hpp>
#include <freehca/hca/ethernet/set_ethernet_port.hpp>
#include <freehca/network/interface.hpp>
#include <freehca/texts/names.hpp>

namespace freehca {
namespace {

using namespace testing;
using id = attribute_id;
using layouts::qp_state;

struct refused_attribute_test : ::testing::Test {
  verbs_rig rig{exact()};
  const capabilities& can = rig.adapter.capabilities();
  std::set<id> seen;

  void expect(status s, id what, std::uint64_t value, std::uint64_t limit,
              const refused_attribute& note) {
    seen.insert(what);
    EXPECT_TRUE(s.is(driver_error::bad_argument)) << name_of(what) << ": " << words(s);
    EXPECT_EQ(name_of(note.what), std::string(name_of(what)));
    EXPECT_EQ(note.value, value) << name_of(what);
    EXPECT_EQ(note.limit, limit) << name_of(what);
  }
  void expect(status s, id what, std::uint64_t value, std::uint64_t limit) {
    expect(s, what, value, limit, rig.objects.refused());
  }
  /// Those of multicast groups.
  void refuse_groups();
  /// Those of receive-side scaling and of counters.
  void refuse_receive_side_scaling(verbs_rig& other);
  /// Those of rules of steering.
  void refuse_rules();
  /// Those of management queue pairs.
  void refuse_management();
  /// Those of a network interface.
  void refuse_interfaces();
  /// Those of a port and of paths on Ethernet.
  void refuse_on_ethernet();
  template <class K>
  status outcome(const typename K::attributes& a) {
    create_object<K> op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    if (!s.ok()) return s;
    destroy_object<K> undo;
    undo.start(rig.objects, op.made());
    EXPECT_TRUE(rig.await(undo).ok());
    return s;
  }
};

void refused_attribute_test::refuse_interfaces() {
  network::interface nic;
  const auto up = [&](auto spoil) {
    std::byte memory[4096];
    network::interface_setup s{.receives = 1, .memory = memory, .memory_bytes = sizeof memory};
    spoil(s);
    network::interface_operation op;
    op.up(nic, rig.objects, s);
    return rig.await(op);
  };
  using to = network::interface_setup;
  for (const std::uint32_t rings : {0u, 17u})
    expect(up([=](to& s) { s.receive_rings = rings; }), id::receive_rings, rings,
           rings == 0 ? 1 : network::most_receive_rings);
  expect(up([](to& s) { s.receive_rings = 3; }), id::receive_rings, 3, 3);
  expect(up([](to& s) { s.transmit_rings = 0; }), id::transmit_rings, 0, 1);
  expect(up([](to& s) { s.transmit_rings = 17; }), id::transmit_rings, 17, 16);
  expect(up([](to& s) { s.receives = 0; }), id::receives, 0, 1);
  expect(up([](to& s) { s.sends = 0; }), id::sends, 0, 1);
  expect(up([](to& s) { s.buffer_bytes = 1521; }), id::buffer_bytes, 1521, 1522);
  expect(up([](to& s) { s.headroom = 1000; }), id::buffer_bytes, 2048, 2522);
  expect(up([](to& s) { s.filter.group_entries = 33; }), id::groups, 33, 32);
  const std::uint64_t unicast[] = {0x0002'c900'0001};
  expect(up([&](to& s) { s.filter.groups = unicast, s.filter.group_entries = 1; }),
         id::filter_group, unicast[0], most_mac);
}

void refused_attribute_test::refuse_management() {
  const pd_handle domain = rig.objects.create<protection_domain>().value();
  create_completion_queue cq;
  cq.start(rig.objects, {.entries = 31});
  ASSERT_TRUE(rig.await(cq).ok());
  create_special_queue_pairs numbers;
  numbers.start(rig.objects, {});
  ASSERT_TRUE(rig.await(numbers).ok());
  management_queue_pair_attributes a{
      {.pd = domain, .send_cq = cq.made(), .receive_cq = cq.made(), .sends = 1}, numbers.made(), 2};
  expect(outcome<management_queue_pair>(a), id::special_qp, 2, layouts::qp1_gsi);
  a.qp = layouts::qp0_smi;
  create_management_queue_pair pair;
  pair.start(rig.objects, a);
  ASSERT_TRUE(rig.await(pair).ok());
  management_send what{.remote_qpn = layouts::qp0_smi, .datagram = {0, 255, 0}};
  const auto send = [&] { return send_management(rig.objects, pair.made(), what); };
  expect(send(), id::management_bytes, 255, layouts::mad_bytes);
  what.datagram.length = layouts::mad_bytes;
  what.remote_qpn = 1;
  expect(send(), id::remote_qpn, 1, 0);
  what.remote_qpn = 0;
  what.pkey = 0x8000;
  expect(send(), id::pkey, 0, 1);
  what.pkey = layouts::default_pkey_full;
  what.virtual_lane = 15;
  expect(send(), id::virtual_lane, 15, 14);
  destroy_management_queue_pair no_pair;
  no_pair.start(rig.objects, pair.made());
  EXPECT_TRUE(rig.await(no_pair).ok());
  destroy_special_queue_pairs no_numbers;
  no_numbers.start(rig.objects, numbers.made());
  EXPECT_TRUE(rig.await(no_numbers).ok());
  destroy_completion_queue no_cq;
  no_cq.start(rig.objects, cq.made());
  EXPECT_TRUE(rig.await(no_cq).ok());
  EXPECT_TRUE(rig.objects.destroy(domain).ok());
}

void refused_attribute_test::refuse_on_ethernet() {
  rig_options how = exact();
  how.machine.model.link[0] = model::link_layer::ethernet;
  verbs_rig other(how);
  const auto set = [&](const port_addresses& to) {
    set_port_addresses op;
    op.start(other.adapter, 1, to);
    return other.await(op);
  };
  const refused_attribute& of_port = other.adapter.refused();
  const std::uint64_t mac = 0x0002'c900'0010, group = 0x0100'5e00'0001;
  const std::uint16_t vlan = 5, no_such_vlan = 4095;
  const port_gid v2{gid_of_ipv4(0x0a000001), roce_version::v2}, twice[] = {v2, v2};
  expect(set({.mac_entries = 129}), id::mac_entries, 129, 128, of_port);
  expect(set({.vlan_entries = 127}), id::vlan_entries, 127, 126, of_port);
  const unsigned gids = std::min(other.adapter.port(1).gid_table_length, 128u);
  expect(set({.gid_entries = gids + 1}), id::gid_entries, gids + 1, gids, of_port);
  expect(set({.macs = &group, .mac_entries = 1}), id::port_mac, group, group, of_port);
  expect(set({.vlans = &no_such_vlan, .vlan_entries = 1}), id::port_vlan, 4095, 4094, of_port);
  expect(set({.gids = twice, .gid_entries = 2}), id::port_gid, 1, 1, of_port);
  ASSERT_TRUE(set({&mac, 1, &vlan, 1, &v2, 1}).ok());

  const auto settings = [&](const ethernet_port_settings& to) {
    set_ethernet_port op;
    op.start(other.adapter, 1, to);
    return other.await(op);
  };
  expect(settings({.mtu = 67}), id::ethernet_mtu, 67, 68, of_port);
  expect(settings({.filters_vlans = true, .vlans = &no_such_vlan, .vlan_entries = 1}),
         id::filter_vlan, 4095, 4094, of_port);
  expect(settings({.filters_multicast = true, .groups = &mac, .group_entries = 1}),
         id::filter_group, mac, mac, of_port);
  set_port_type become;
  become.start(other.adapter, 1, layouts::port_type::ib);
  expect(other.await(become), id::port_type, 1, 2, of_port);
  const auto module = [&](const module_part& part) {
    module_query op;
    op.start(other.adapter, 1, part);
    return other.await(op);
  };
  expect(module({.bytes = 49}), id::module_bytes, 49, 48, of_port);
  expect(module({.offset = 256}), id::module_offset, 256, 255, of_port);

  const refused_attribute& of_path = other.objects.refused();
  {
    rc_pair pair(other);
    const auto move = [&](qp_state to, const address_attributes& path) {
      connection_attributes a;
      a.address = path;
      return pair.move(0, to, a);
    };
    const auto type = [](layouts::port_type t) { return static_cast<unsigned>(t); };
    expect(move(qp_state::init, infiniband_path{.dlid = 1}), id::link_layer,
           type(layouts::port_type::ib), type(layouts::port_type::ethernet), of_path);
    const roce_path good{.dmac = mac, .vlan = vlan, .dgid = gid_of_ipv4(0x0a000002)};
    ASSERT_TRUE(move(qp_state::init, good).ok());
    const auto rtr = [&](auto spoil) {
      roce_path path = good;
      spoil(path);
      return move(qp_state::rtr, path);
    };
    using to = roce_path;
    expect(rtr([](to& p) { p.dmac = 0; }), id::dmac, 0, 1, of_path);
    expect(rtr([&](to& p) { p.dmac = group; }), id::dmac, group, group, of_path);
    expect(rtr([](to& p) { p.vlan = 6; }), id::vlan, 6, 6, of_path);
    expect(rtr([](to& p) { p.priority = 8; }), id::priority, 8, 7, of_path);
    expect(rtr([](to& p) { p.mac_index = 1; }), id::mac_index, 1, 1, of_path);
    expect(rtr([](to& p) { p.sgid_index = 1; }), id::sgid_index, 1, 1, of_path);
    expect(rtr([](to& p) { p.dgid = {}; }), id::dgid, 1, 1, of_path);
    EXPECT_TRUE(rtr([](to&) {}).ok());
  }
  refuse_receive_side_scaling(other);
  EXPECT_EQ(other.machine.adapter().complaints(), 0u);
}

void refused_attribute_test::refuse_receive_side_scaling(verbs_rig& other) {
  const refused_attribute& note = other.objects.refused();
  create_receive_queue_range make_range;
  const auto range_of = [&](std::uint32_t count) {
    make_range.restart();
    make_range.start(other.objects, {.count = count});
    return other.await(make_range);
  };
  const auto most = std::uint64_t{1} << other.adapter.capabilities()
                                            .raw.get<&layouts::query_dev_cap::log_max_rss_tbl_sz>();
  expect(range_of(0), id::table_entries, 0, 1, note);
  expect(range_of(3), id::table_entries, 3, 3, note);
  expect(range_of(static_cast<std::uint32_t>(2 * most)), id::table_entries, 2 * most, most, note);
  rc_pair pair(other);
  ASSERT_TRUE(range_of(4).ok());
  const handle<receive_queue_range> range = make_range.made();
  handle<receive_work_queue> queue[4];
  const queue_pair_attributes of_pair = {
      .pd = pair.domain, .send_cq = pair.completion[0], .receive_cq = pair.completion[0]};
  for (handle<receive_work_queue>& q : queue) {
    create_receive_work_queue op;
    op.start(other.objects, {range, of_pair});
    ASSERT_TRUE(other.await(op).ok());
    q = op.made();
  }
  const std::uint8_t key[40] = {};
  const rss_queue_pair_attributes good{
      .queue = of_pair, .table = queue, .count = 4, .key = key, .key_bytes = sizeof key};
  const auto spoilt = [&](auto spoil) {
    rss_queue_pair_attributes a = good;
    spoil(a);
    create_rss_queue_pair op;
    op.start(other.objects, a);
    return other.await(op);
  };
  using to = rss_queue_pair_attributes;
  const std::uint32_t first = qpn_of(other.objects, queue[0]);
  const handle<receive_work_queue> twice[] = {queue[0], queue[0]};
  expect(spoilt([](to& a) { a.count = 0; }), id::table_entries, 0, 1, note);
  expect(spoilt([](to& a) { a.count = 3; }), id::table_entries, 3, 3, note);
  expect(spoilt([](to& a) { a.queue.receives = 1; }), id::receives, 1, 0, note);
  expect(spoilt([](to& a) { a.default_queue = 4; }), id::default_queue, 4, 3, note);
  expect(spoilt([](to& a) { a.key_bytes = 39; }), id::hash_key_bytes, 39, 40, note);
  expect(spoilt([](to& a) { a.key_bytes = 41; }), id::hash_key_bytes, 41, 40, note);
  expect(spoilt([](to& a) { a.key = nullptr; }), id::hash_key_bytes, 0, 40, note);
  expect(spoilt([](to& a) { a.table = nullptr; }), id::table_entries, 0, 1, note);
  for (const std::uint8_t headers :
       {rss_headers::tcp_ipv4, rss_headers::udp_ipv4, rss_headers::tcp_ipv6, rss_headers::udp_ipv6,
        std::uint8_t{rss_headers::ipv6 | rss_headers::tcp_ipv4}, std::uint8_t{1 << 6}})
    expect(spoilt([&](to& a) { a.headers = headers; }), id::hash_headers, headers, headers, note);
  expect(spoilt([&](to& a) { a.table = queue + 1, a.count = 2; }), id::table_order, first + 1,
         first, note);
  expect(spoilt([&](to& a) { a.table = twice, a.count = 2; }), id::table_order, first, first + 1,
         note);
  EXPECT_TRUE(spoilt([](to& a) { a.queue.pd = {}; }).is(driver_error::stale_handle));
  for (const handle<receive_work_queue> q : queue) {
    destroy_receive_work_queue op;
    op.start(other.objects, q);
    EXPECT_TRUE(other.await(op).ok()) << "a refused table does not keep its queues";
  }
  destroy_receive_queue_range gone;
  gone.start(other.objects, range);
  EXPECT_TRUE(other.await(gone).ok());
  packet_counter_query query;
  query.start(other.adapter, 1000);
  const std::uint64_t counters =
      other.adapter.capabilities().raw.get<&layouts::query_dev_cap::max_counters>();
  expect(other.await(query), id::counter, 1000, counters - 1, query.refused);
}

void refused_attribute_test::refuse_groups() {
  rc_pair pair(rig, {.service = layouts::qp_service::ud, .sends = 1, .receives = 1});
  const multicast_table_handle table = rig.objects.create<multicast_table>().value();
  join_group op;
  op.start(rig.objects, {table, pair.queue[0], gid_of(layouts::default_subnet_prefix, 1)});
  expect(rig.await(op), id::multicast_gid, 0xfe, 0xff);
  EXPECT_TRUE(rig.objects.destroy(table).ok());
}

void refused_attribute_test::refuse_rules() {
  rig_options how = exact();
  how.budget.log_mcg_entry_bytes = 10;
  how.by_rules = true;
  verbs_rig other(how);
  rc_pair pair(other, {.service = layouts::qp_service::ud, .sends = 1, .receives = 1});
  const flow_rule_attributes good = group_rule(pair.queue[0], 1, gid{});
  const auto refused = [&](id what, std::uint64_t value, std::uint64_t limit, auto change) {
    flow_rule_attributes a = good;
    change(a);
    create_flow_rule op;
    op.start(other.objects, a);
    expect(other.await(op), what, value, limit, other.objects.refused());
  };
  using rule = flow_rule_attributes;
  using layouts::flow_rule_type;
  refused(id::port, 0, 1, [](rule& a) { a.port = 0; });
  refused(id::port, 3, 2, [](rule& a) { a.port = 3; });
  refused(id::priority, 0x1000, 0xfff, [](rule& a) { a.priority = 0x1000; });
  refused(id::rule_type, 4, 4, [](rule& a) { a.type = flow_rule_type::mirror_receive; });
  refused(id::rule_type, 200, 200, [](rule& a) { a.type = static_cast<flow_rule_type>(200); });
  // Of an InfiniBand port.
  refused(id::rule_type, 1, 1, [](rule& a) { a.type = flow_rule_type::all_default; });
  refused(id::rule_headers, 0, 1, [](rule& a) { a.header_count = 0; });
  refused(id::rule_headers, 4, 3, [](rule& a) { a.header_count = 4; });
  refused(id::rule_header, 0xe002, 0xe002, [](rule& a) { a.headers[0] = ipv4_flow{}; });
  refused(id::rule_header, 0, 0, [](rule& a) { a.header_count = 2; });
  refused(id::rule_header, 0xe006, 0xe006, [](rule& a) {
    a.headers[1] = udp_flow{};
    a.headers[2] = ipv4_flow{};
    a.header_count = 3;
  });
  const auto link = [&](id what, std::uint64_t value, std::uint64_t limit, ethernet_flow to) {
    refused(what, value, limit, [&](rule& a) { a.headers[0] = to; });
  };
  constexpr std::uint64_t beyond = std::uint64_t{1} << 48, group = std::uint64_t{1} << 40;
  link(id::dmac, beyond, beyond - 1, {.destination = beyond});
  link(id::dmac, beyond, beyond - 1, {.destination_mask = beyond});
  link(id::rule_smac, beyond, beyond - 1, {.source = beyond});
  link(id::rule_smac, group, group, {.source = group});
  link(id::vlan, 4095, 4094, {.vlan = 4095, .vlan_mask = 0xfff});
  link(id::vlan, 0x1005, 4094, {.vlan = 5, .vlan_mask = 0x1fff});
  EXPECT_EQ(other.objects.held<flow_rule>(), 0u);
  EXPECT_EQ(other.machine.adapter().complaints(), 0u);
}

TEST_F(refused_attribute_test, each_says_its_value_and_its_limit) {
  const auto before = counts(rig);
  {
    rc_pair pair(rig);
    const pd_handle pd = pair.domain;
    using cq = completion_queue_attributes;
    const std::uint64_t entries = (std::uint64_t{1} << std::min(can.log_most_cqes, 22u)) - 1;
    expect(outcome<completion_queue>(cq{}), id::completion_entries, 0, 1);
    expect(outcome<completion_queue>(cq{.entries = 1u << 30}), id::completion_entries, 1u << 30,
           entries);
    expect(outcome<completion_queue>(cq{.entries = 1, .completion_context = 99}),
           id::completion_context, 99, 99);

    using srq = shared_receive_queue_attributes;
    const unsigned receives = (1u << std::min(can.log_most_srq_wqes, 15u)) - 1;
    expect(outcome<shared_receive_queue>(srq{.pd = pd}), id::receives, 0, 1);
    expect(outcome<shared_receive_queue>(srq{.pd = pd, .receives = 0x8000}), id::receives, 0x8000,
           receives);
    expect(outcome<shared_receive_queue>(srq{.pd = pd, .receives = 1, .scatter = 128}), id::scatter,
           128, 127);
    expect(outcome<shared_receive_queue>(srq{.pd = pd, .receives = 1, .scatter = 127}),
           id::receive_wqe_bytes, 2048, can.most_qp_wqe_bytes_rq);
    create_shared_receive_queue shared;
    shared.start(rig.objects, {.pd = pd, .receives = 7});
    ASSERT_TRUE(rig.await(shared).ok());
    arm_shared_receive_queue arm;
    arm.start(rig.objects, shared.made(), 8);
    expect(rig.await(arm), id::srq_limit, 8, 7);
    destroy_shared_receive_queue gone;
    gone.start(rig.objects, shared.made());
    ASSERT_TRUE(rig.await(gone).ok());

    using fmr = fast_memory_region_attributes;
    expect(outcome<fast_memory_region>(fmr{.pd = pd}), id::fast_pages, 0, 1);
    expect(outcome<fast_memory_region>(fmr{.pd = pd, .most_pages = 512}), id::fast_pages, 512, 511);

    const std::uint64_t page = 0x40000, crooked = page + 512;
    const memory_region_attributes good{.pd = pd,
                                        .pages = page_list(&page, 12, 0, 4096),
                                        .virtual_address = 0x10000,
                                        .access = {.local_write = true}};
    auto region = [&](auto spoil) {
      memory_region_attributes a = good;
      spoil(a);
      return outcome<memory_region>(a);
    };
    using mr = memory_region_attributes;
    expect(region([](mr& a) { a.access = {.remote_write = true}; }), id::remote_rights, 1, 1);
    expect(region([&](mr& a) { a.pages = page_list(&page, 9, 0, 512); }), id::log_page_bytes, 9,
           12);
    expect(region([&](mr& a) { a.pages = page_list(&page, 12, 0, 0); }), id::region_bytes, 0, 1);
    expect(region([](mr& a) { a.virtual_address += 8; }), id::virtual_offset, 8, 0);
    expect(region([&](mr& a) { a.pages = page_list(&crooked, 12, 0, 4096); }), id::page_offset, 512,
           0);
    std::byte memory[64];
    expect(region([&](mr& a) { a.memory = {memory, 64}; }), id::region_bytes, 4096, 0);
    expect(region([&](mr& a) {
             a.memory = {memory, 64};
             a.pages = {};
           }),
           id::virtual_address, 0x10000, 0);

    const queue_pair_attributes fine{
        .pd = pd, .send_cq = pair.completion[0], .receive_cq = pair.completion[0], .sends = 4};
    auto queue = [&](auto spoil) {
      queue_pair_attributes a = fine;
      spoil(a);
      return outcome<queue_pair>(a);
    };
    using qp = queue_pair_attributes;
    const unsigned wqes = 1u << std::min(can.log_most_wqes, 15u);
    expect(queue([&](qp& a) { a.gather = can.most_gather + 1; }), id::gather, can.most_gather + 1,
           can.most_gather);
    expect(queue([](qp& a) { a.scatter = 200; }), id::scatter, 200,
           std::min(can.most_scatter, 128u));
    expect(queue([](qp& a) { a.receives = 1u << 20; }), id::receives, 1u << 20, wqes);
    expect(queue([](qp& a) { a.sends = 1u << 20; }), id::sends, 1u << 20, wqes - 33);
    const status too_long = queue([](qp& a) { a.inline_bytes = 2000; });
    expect(too_long, id::send_wqe_bytes, rig.objects.refused().value,
           std::min<std::uint64_t>(can.most_qp_wqe_bytes_sq, queues::most_wqe_bytes));
    EXPECT_GT(rig.objects.refused().value, 2000u);

    auto move = [&](qp_state to, auto spoil) {
      connection_attributes a = pair.attributes(0);
      spoil(a);
      return pair.move(0, to, a);
    };
    using to = connection_attributes;
    constexpr std::uint64_t size = sizeof(to), psn = 0xffffff;
    expect(move(qp_state::init, [](to& a) { a.bytes = 1; }), id::connection_bytes, 1, size);
    expect(move(qp_state::init, [](to& a) { a.address.infiniband()->port = 0; }), id::port, 0, 1);
    expect(move(qp_state::init, [](to& a) { a.address.infiniband()->port = 3; }), id::port, 3,
           can.ports);
    expect(move(qp_state::init, [](to& a) { a.pkey_index = 128; }), id::pkey_index, 128, 127);
    ASSERT_TRUE(pair.move(0, qp_state::init).ok());
    const auto rtr = [&](auto spoil) { return move(qp_state::rtr, spoil); };
    expect(rtr([](to& a) { a.path_mtu = layouts::ib_mtu{6}; }), id::path_mtu, 6, 5);
    expect(rtr([](to& a) { a.min_rnr_timer = 32; }), id::min_rnr_timer, 32, 31);
    expect(rtr([](to& a) { a.remote_qpn = 1u << 24; }), id::remote_qpn, 1u << 24, psn);
    expect(rtr([](to& a) { a.receive_psn = 1u << 24; }), id::receive_psn, 1u << 24, psn);
    expect(rtr([](to& a) { a.reads_as_responder = 1000; }), id::reads_as_responder, 1000,
           can.most_reads_as_responder);
    expect(rtr([](to& a) { a.address.infiniband()->dlid = 0; }), id::dlid, 0, 1);
    expect(rtr([](to& a) { a.address.infiniband()->dlid = 0xc000; }), id::dlid, 0xc000, 0xbfff);
    expect(rtr([](to& a) { a.address.infiniband()->sl = 16; }), id::sl, 16, 15);
    expect(rtr([](to& a) { a.address.infiniband()->path_bits = 128; }), id::path_bits, 128, 127);
    expect(rtr([](to& a) { a.address.infiniband()->static_rate = 200; }), id::static_rate, 200,
           static_cast<unsigned>(layouts::ib_rate::gbps_100));
    expect(rtr([](to& a) { a.address.infiniband()->sgid_index = 128; }), id::sgid_index, 128, 127);
    expect(rtr([](to& a) { a.address.infiniband()->flow_label = 1u << 20; }), id::flow_label,
           1u << 20, 0xfffff);
    ASSERT_TRUE(pair.move(0, qp_state::rtr).ok());
    const auto rts = [&](auto spoil) { return move(qp_state::rts, spoil); };
    expect(rts([](to& a) { a.send_psn = 1u << 24; }), id::send_psn, 1u << 24, psn);
    expect(rts([](to& a) { a.reads_as_requester = 1000; }), id::reads_as_requester, 1000,
           can.most_reads_as_requester);
    expect(rts([](to& a) { a.retry_count = 8; }), id::retry_count, 8, 7);
    expect(rts([](to& a) { a.rnr_retry = 8; }), id::rnr_retry, 8, 7);
    expect(rts([](to& a) { a.ack_timeout = 32; }), id::ack_timeout, 32, 31);
    expect(rts([](to& a) { a.log_ack_request = 16; }), id::log_ack_request, 16, 15);
    ASSERT_TRUE(pair.move(0, qp_state::rts).ok());

    namespace given = layouts::qp_optpar;
    const auto change = [&](std::uint32_t bits, auto spoil) {
      queue_pair_changes a;
      a.given = bits;
      a.alternate = infiniband_path{.dlid = 1};
      spoil(a);
      change_queue_pair c;
      c.start(rig.objects, pair.queue[0], qp_state::rts, a);
      return rig.await(c);
    };
    using by = queue_pair_changes;
    constexpr std::uint64_t change_size = sizeof(by);
    expect(change(0, [](by& a) { a.bytes = 1; }), id::connection_bytes, 1, change_size);
    expect(change(given::sra_max, [](by&) {}), id::changes, given::sra_max, given::sra_max);
    expect(change(given::pm_state, [](by& a) { a.migration = layouts::path_migration::armed; }),
           id::migration, 0, 3);
    expect(change(given::pm_state, [](by& a) { a.migration = layouts::path_migration{4}; }),
           id::migration, 4, 3);
    expect(change(given::min_rnr_nak, [](by& a) { a.min_rnr_timer = 32; }), id::min_rnr_timer, 32,
           31);
    const auto alternate = [&](auto spoil) { return change(given::alternate_path, spoil); };
    expect(alternate([](by& a) { a.alternate_pkey_index = 128; }), id::alternate_pkey_index, 128,
           127);
    expect(alternate([](by& a) { a.alternate_ack_timeout = 32; }), id::alternate_ack_timeout, 32,
           31);
    expect(alternate([](by& a) { a.alternate.infiniband()->dlid = 0; }), id::dlid, 0, 1);
    expect(alternate([](by& a) { a.alternate.set_port(3); }), id::port, 3, can.ports);
    expect(alternate([](by& a) { a.alternate = roce_path{}; }), id::link_layer, 2, 1);
  }
  refuse_groups();
  refuse_rules();
  refuse_management();
  refuse_interfaces();
  port_operation close;
  close.close(rig.adapter, 3);
  expect(rig.await(close), id::port, 3, can.ports, rig.adapter.refused());
  refuse_on_ethernet();
  for (unsigned i = 1; i <= static_cast<unsigned>(id::groups); ++i)
    EXPECT_EQ(seen.count(static_cast<id>(i)), 1u) << name_of(static_cast<id>(i));
  EXPECT_EQ(counts(rig), before);
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

}  // namespace
}  // namespace freehca
