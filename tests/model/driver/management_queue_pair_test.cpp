// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// QP0 and QP1 of two hosts on a cable: a subnet agent asks the other by a directed route, general
// management datagrams go both ways, and what management queue pairs refuse.
#include <cstring>
#include <optional>

#include <freehca/firmware_cmds/port_settings.hpp>
#include <freehca/hca/kinds/management_queue_pair.hpp>
#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/mad.hpp>
#include <freehca/layouts/smp.hpp>

#include "cabled_hosts.hpp"
#include "counts.hpp"

namespace freehca::testing {
namespace {

using layouts::image;
using layouts::qp0_smi;
using layouts::qp1_gsi;
using layouts::qp_state;
using layouts::smp_attribute;

/// The special queue pairs of a host, one of them on port 1, and a buffer.
template <class Rig>
struct agent_of {
  explicit agent_of(Rig& of, bool has_special = true) : rig(of) {
    domain = rig.objects.template create<protection_domain>().value();
    create_completion_queue cq;
    cq.start(rig.objects, {.entries = 31});
    EXPECT_TRUE(rig.await(cq).ok());
    completions = cq.made();
    buffer.emplace(rig, domain, 0x1000, 24, memory_access{.local_write = true});
    if (!has_special) return;
    create_special_queue_pairs op;
    op.start(rig.objects, {});
    const status s = rig.await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    special = op.made();
  }
  ~agent_of() {
    if (pair) {
      EXPECT_TRUE(destroy(pair).ok());
    }
    if (special) {
      EXPECT_TRUE(destroy(special).ok());
    }
    EXPECT_TRUE(destroy(completions).ok());
    buffer.reset();
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
  }
  template <class K>
  status destroy(handle<K> which) {
    destroy_object<K> op;
    op.start(rig.objects, which);
    return rig.await(op);
  }
  management_queue_pair_attributes attributes(std::uint32_t qp) const {
    return {{.pd = domain,
             .send_cq = completions,
             .receive_cq = completions,
             .sends = 4,
             .receives = 4},
            special,
            qp};
  }
  status create(management_qp_handle& made, const management_queue_pair_attributes& a) {
    create_management_queue_pair op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    if (s.ok()) made = op.made();
    return s;
  }
  status move(qp_state to) {
    modify_management_queue_pair op;
    op.start(rig.objects, pair, to);
    return rig.await(op);
  }
  void make_ready() {
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts}) {
      const status s = move(to);
      ASSERT_TRUE(s.ok()) << static_cast<unsigned>(to) << ": " << words(s);
    }
  }
  void open(std::uint32_t qp) {
    const status s = create(pair, attributes(qp));
    ASSERT_TRUE(s.ok()) << words(s);
    make_ready();
  }
  queues::qp_rings& rings() { return rig.objects.find(pair)->rings; }
  void receive(std::uint32_t length = queues::grh_bytes + layouts::mad_bytes) {
    const queues::data_entry to = buffer->entry(0, length);
    ASSERT_TRUE(rings().receive.post_and_ring({.wr_id = 9, .list = &to, .entries = 1}).ok());
  }
  template <class Mad>
  void put(const image<Mad>& mad) {
    std::memcpy(buffer->at(0x800), mad.data(), layouts::mad_bytes);
  }
  image<layouts::mad> received() {
    return image<layouts::mad>::from_bytes(buffer->at(queues::grh_bytes));
  }
  status send(management_send what) {
    if (what.datagram.lkey == 0) what.datagram = buffer->entry(0x800, layouts::mad_bytes);
    return send_management(rig.objects, pair, what);
  }
  queues::work_completion next() {
    queues::work_completion w;
    w.status = queues::completion_status::unknown_syndrome;
    auto& cq = rig.objects.find(completions)->rings;
    bool found = false;
    EXPECT_TRUE(
        rig.run([&] { return found || (found = cq.poll(&w, 1) == 1); }, clock::seconds(60)));
    return w;
  }

  Rig& rig;
  pd_handle domain;
  cq_handle completions;
  special_qps_handle special;
  management_qp_handle pair;
  std::optional<registered_buffer_of<Rig>> buffer;
};
using agent = agent_of<cabled_host>;
using lone_agent = agent_of<verbs_rig>;

image<layouts::dr_smp> node_info_by_directed_route() {
  using l = layouts::dr_smp;
  image<l> m;
  m.set<&l::base_version>(layouts::mad_base_version)
      .set<&l::mgmt_class>(layouts::mad_class::subnet_directed_route)
      .set<&l::class_version>(1u)
      .set<&l::method>(layouts::mad_method::get)
      .set<&l::tid>(0x1234u)
      .set<&l::attribute_id>(static_cast<unsigned>(smp_attribute::node_info))
      .set<&l::hop_count>(1u)
      .set<&l::hop_pointer>(1u)
      .set<&l::dr_slid>(layouts::permissive_lid)
      .set<&l::dr_dlid>(layouts::permissive_lid);
  m.data()[l{}.initial_path.offset + 1] = std::byte{1};
  return m;
}

image<layouts::mad> a_question() {
  using l = layouts::mad;
  return image<l>()
      .set<&l::base_version>(layouts::mad_base_version)
      .set<&l::mgmt_class>(layouts::mad_class::subnet_admin)
      .set<&l::class_version>(2u)
      .set<&l::method>(layouts::mad_method::get)
      .set<&l::tid>(0x77u);
}

const management_send by_directed_route{.wr_id = 5,
                                        .address = infiniband_path{.dlid = layouts::permissive_lid},
                                        .remote_qpn = qp0_smi,
                                        .qkey = 0};

struct infiniband_management : ::testing::Test {
  infiniband_management() { hosts.bring_up(); }
  ~infiniband_management() override { hosts.tear_down(); }
  cabled_hosts hosts{verbs_events{}, verbs_events{}};
};

TEST_F(infiniband_management, a_directed_route_reaches_the_other_agent_and_returns) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp0_smi);
  b.open(qp0_smi);
  a.receive();
  b.receive();
  a.put(node_info_by_directed_route());
  const status s = a.send(by_directed_route);
  ASSERT_TRUE(s.ok()) << words(s);
  EXPECT_TRUE(a.next().ok());
  const queues::work_completion asked = b.next();
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked.byte_count, queues::grh_bytes + layouts::mad_bytes);
  EXPECT_EQ(asked.source_qpn(), qp0_smi);
  EXPECT_EQ(asked.slid(), layouts::permissive_lid);
  EXPECT_FALSE(asked.has_grh());

  // The host hands the datagram to the agent of the firmware, and sends the answer.
  firmware_command<commands::mad_ifc_received<>> local{std::uint32_t{1}, std::uint32_t{1},
                                                       std::uint32_t{asked.slid()}};
  local.input = b.received();
  hosts[1].adapter.commands().submit(local);
  ASSERT_TRUE(hosts[1].await(local).ok());
  using l = layouts::dr_smp;
  auto answer = image<l>::from_bytes(local.output.data());
  EXPECT_EQ(answer.get<&l::method>(), layouts::mad_method::get_resp);
  answer.set<&l::direction>(true).set<&l::hop_pointer>(1u);
  b.put(answer);
  ASSERT_TRUE(b.send(by_directed_route).ok());
  EXPECT_TRUE(b.next().ok());
  ASSERT_TRUE(a.next().ok());
  const auto got = image<layouts::smp>::from_bytes(a.received().data());
  EXPECT_EQ(got.get<&layouts::smp::tid>(), 0x1234u);
  const auto info = layouts::attribute<&layouts::smp::data, layouts::node_info>(got);
  EXPECT_EQ(info.get<&layouts::node_info::port_guid>(), hosts[1].adapter.port(1).guid);
}

TEST_F(infiniband_management, general_datagrams_go_with_and_without_a_grh) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp1_gsi);
  b.open(qp1_gsi);
  a.put(a_question());
  for (const bool global : {false, true}) {
    b.receive();
    infiniband_path to{.dlid = hosts[1].lid(), .sl = 3, .global = global, .hop_limit = 9};
    const port_attributes &from = hosts[0].adapter.port(1), &at = hosts[1].adapter.port(1);
    to.dgid = gid_of(at.subnet_prefix, at.guid);
    const status s =
        a.send({.address = to, .source = gid_of(from.subnet_prefix, from.guid), .solicited = true});
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_TRUE(a.next().ok());
    const queues::work_completion got = b.next();
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got.source_qpn(), qp1_gsi);
    EXPECT_EQ(got.slid(), hosts[0].lid());
    EXPECT_EQ(got.sl(), 3u);
    EXPECT_EQ(got.pkey_index(), 0u);
    EXPECT_EQ(got.has_grh(), global);
    EXPECT_EQ(b.received().get<&layouts::mad::tid>(), 0x77u);
    if (!global) continue;
    const auto header = image<layouts::grh>::from_bytes(b.buffer->at(0));
    EXPECT_EQ(header.get<&layouts::grh::hop_limit>(), 9u);
    EXPECT_EQ(std::memcmp(header.bytes_of<&layouts::grh::dgid>(), to.dgid.raw, 16), 0);
  }
}

TEST_F(infiniband_management, unsignaled_sends_are_retired_and_packets_of_other_keys_are_dropped) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp1_gsi);
  b.open(qp1_gsi);
  a.put(a_question());
  b.receive();
  management_send what{.address = infiniband_path{.dlid = hosts[1].lid()}, .signaled = false};
  for (unsigned i = 0; i < 3; ++i) {
    what.qkey = i == 0 ? 0x1234u : layouts::gsi_qkey;
    what.pkey = i == 1 ? std::uint16_t{0x9234} : layouts::default_pkey_full;
    what.signaled = i == 2;
    ASSERT_TRUE(a.send(what).ok());
  }
  EXPECT_TRUE(a.next().ok());
  EXPECT_EQ(a.rings().send.outstanding(), 0u);
  EXPECT_TRUE(b.next().ok());
  EXPECT_EQ(b.rings().receive.outstanding(), 0u);
}

TEST_F(infiniband_management, a_datagram_takes_the_lane_of_its_caller) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp1_gsi);
  b.open(qp1_gsi);
  a.put(a_question());
  b.receive();
  ASSERT_TRUE(
      a.send({.address = infiniband_path{.dlid = hosts[1].lid(), .sl = 2}, .virtual_lane = 1})
          .ok());
  EXPECT_TRUE(a.next().ok());
  EXPECT_TRUE(b.next().ok());
  // The first headers are behind the control segment and the length of the inline segment.
  const std::byte* const wqe = hosts[0].objects.find(a.pair)->ring.host;
  const auto sent = image<layouts::lrh>::from_bytes(wqe + layouts::wqe_ctrl::bytes + 4);
  EXPECT_EQ(sent.get<&layouts::lrh::virtual_lane>(), 1u);
  EXPECT_EQ(sent.get<&layouts::lrh::service_level>(), 2u);
}

TEST_F(infiniband_management, the_second_queue_pair_of_a_number_leaves_completions_of_the_first) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp1_gsi);
  b.open(qp1_gsi);
  a.put(a_question());
  b.receive();
  ASSERT_TRUE(a.send({.address = infiniband_path{.dlid = hosts[1].lid()}}).ok());
  EXPECT_TRUE(a.next().ok());
  hosts.run([] { return false; }, clock::milliseconds(1));
  management_qp_handle twice;
  EXPECT_TRUE(b.create(twice, b.attributes(qp1_gsi)).is(driver_error::busy));
  EXPECT_TRUE(b.next().ok()) << "the datagram had arrived before";
}

TEST_F(infiniband_management, a_full_queue_and_a_short_receive_are_errors) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp1_gsi);
  b.open(qp1_gsi);
  a.put(a_question());
  b.receive(queues::grh_bytes + layouts::mad_bytes - 1);
  const management_send what{.address = infiniband_path{.dlid = hosts[1].lid()}};
  ASSERT_TRUE(a.send(what).ok());
  EXPECT_TRUE(a.next().ok());
  EXPECT_EQ(b.next().status, queues::completion_status::local_length);
  EXPECT_TRUE(b.move(qp_state::reset).ok());
  b.make_ready();
  const std::uint32_t most = a.rings().send.most_outstanding();
  for (std::uint32_t i = 0; i < most; ++i) {
    management_send quiet = what;
    quiet.signaled = i + 1 == most;
    ASSERT_TRUE(a.send(quiet).ok());
  }
  EXPECT_TRUE(a.send(what).is(driver_error::queue_full));
  EXPECT_TRUE(a.next().ok());
}

TEST_F(infiniband_management, without_the_object_the_agents_of_the_firmware_answer_again) {
  agent a(hosts[0]);
  a.open(qp0_smi);
  a.put(node_info_by_directed_route());
  for (unsigned i = 0; i < 2; ++i) {
    {
      // A host with special queue pairs, but no queue pair: nobody answers.
      agent b(hosts[1]);
      ASSERT_TRUE(a.send(by_directed_route).ok());
      EXPECT_TRUE(a.next().ok());
      hosts.run([] { return false; }, clock::milliseconds(1));
    }
    a.receive();
    ASSERT_TRUE(a.send(by_directed_route).ok());
    EXPECT_TRUE(a.next().ok());
    EXPECT_TRUE(a.next().ok());
    EXPECT_EQ(a.received().get<&layouts::mad::method>(), layouts::mad_method::get_resp);
  }
}

struct roce_management : ::testing::Test {
  roce_management() {
    hosts.bring_up();
    for (unsigned h = 0; h < 2; ++h) {
      const std::uint64_t macs[] = {mac(h)};
      const std::uint16_t vlans[] = {0x123};
      const port_gid gids[] = {{address(h, 0), roce_version::v1},
                               {address(h, 1), roce_version::v2},
                               {address(h, 2), roce_version::v2}};
      set_port_addresses set;
      set.start(hosts[h].adapter, 1, {macs, 1, vlans, 1, gids, 3});
      EXPECT_TRUE(hosts[h].await(set).ok());
    }
  }
  ~roce_management() override { hosts.tear_down(); }
  static std::uint64_t mac(unsigned host) { return 0x0002'c900'0010 + host; }
  static gid address(unsigned host, unsigned i) {
    return i == 2 ? gid_of_ipv4(0x0a000001 + host) : gid_of_mac(mac(host));
  }
  static management_send to_other(std::uint8_t i) {
    return {.address = roce_path{.dmac = mac(1), .sgid_index = i, .dgid = address(1, i)},
            .source = address(0, i),
            .smac = mac(0)};
  }
  cabled_hosts hosts{{}, {}, model::link_layer::ethernet};
};

TEST_F(roce_management, datagrams_go_with_and_without_a_vlan) {
  agent a(hosts[0]), b(hosts[1]);
  a.open(qp1_gsi);
  b.open(qp1_gsi);
  a.put(a_question());
  for (const bool tagged : {false, true}) {
    b.receive();
    management_send what = to_other(0);
    if (tagged) what.address.roce()->vlan = 0x123, what.address.roce()->priority = 5;
    const status s = a.send(what);
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_TRUE(a.next().ok());
    const queues::work_completion got = b.next();
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got.source_qpn(), qp1_gsi);
    EXPECT_TRUE(got.has_grh());
    EXPECT_EQ(b.received().get<&layouts::mad::tid>(), 0x77u);
  }
}

TEST_F(roce_management, version_2_is_refused) {
  agent a(hosts[0]);
  a.open(qp1_gsi);
  for (const std::uint8_t i : {std::uint8_t{1}, std::uint8_t{2}})
    EXPECT_TRUE(a.send(to_other(i)).is(driver_error::unsupported)) << unsigned{i};
  EXPECT_EQ(a.rings().send.posted(), 0u);
}

TEST_F(roce_management, has_no_qp0_and_refuses_addresses_that_do_not_fit) {
  agent a(hosts[0]);
  management_qp_handle none;
  EXPECT_TRUE(a.create(none, a.attributes(qp0_smi)).is(driver_error::bad_argument));
  EXPECT_EQ(hosts[0].objects.refused().what, attribute_id::special_qp);
  a.open(qp1_gsi);
  const auto refused = [&](const management_send& what) {
    EXPECT_TRUE(a.send(what).is(driver_error::bad_argument));
    return hosts[0].objects.refused().what;
  };
  management_send what = to_other(0);
  what.smac = 0;
  EXPECT_EQ(refused(what), attribute_id::port_mac);
  what = to_other(0);
  what.source = {};
  EXPECT_EQ(refused(what), attribute_id::port_gid);
  what = to_other(3);
  what.address.roce()->dgid = address(1, 0);
  EXPECT_EQ(refused(what), attribute_id::sgid_index);
  what = to_other(0);
  what.address = infiniband_path{.dlid = 2};
  EXPECT_EQ(refused(what), attribute_id::link_layer);
}

struct lone_management : ::testing::Test {
  ~lone_management() override {
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
  }
  verbs_rig rig{exact()};
};

TEST_F(lone_management, sends_with_wrong_values_are_refused) {
  lone_agent a(rig);
  const auto refused = [&](const management_send& what) {
    EXPECT_TRUE(a.send(what).is(driver_error::bad_argument));
    return rig.objects.refused().what;
  };
  const management_send right{.address = infiniband_path{.dlid = 1}};
  for (const std::uint32_t qp : {qp1_gsi, qp0_smi}) {
    a.open(qp);
    management_send what = right;
    what.address.set_port(2);
    EXPECT_EQ(refused(what), attribute_id::port);
    for (const std::uint32_t length : {1u, 255u, 257u, 4096u}) {
      what = right;
      what.datagram = a.buffer->entry(0, length);
      EXPECT_EQ(refused(what), attribute_id::management_bytes) << length;
    }
    what = right;
    what.remote_qpn = qp == qp0_smi ? qp1_gsi : qp0_smi;
    EXPECT_EQ(refused(what), attribute_id::remote_qpn);
    what.remote_qpn = 0x1000000;
    EXPECT_EQ(refused(what), attribute_id::remote_qpn);
    what.remote_qpn = qp;
    what.pkey = 0x8000;
    EXPECT_EQ(refused(what), attribute_id::pkey);
    what.pkey = layouts::default_pkey_full;
    what.virtual_lane = 15;
    EXPECT_EQ(refused(what), attribute_id::virtual_lane);
    what = right;
    what.remote_qpn = qp;
    what.address = infiniband_path{};
    EXPECT_EQ(refused(what), attribute_id::dlid);
    what.address = infiniband_path{.dlid = layouts::permissive_lid};
    if (qp == qp1_gsi) {
      EXPECT_EQ(refused(what), attribute_id::dlid);
    }
    // Other requests are not those of a management queue pair.
    EXPECT_TRUE(a.rings().send.post(queues::send{}).is(driver_error::unsupported));
    EXPECT_TRUE(a.rings().send.post(queues::nop{}).is(driver_error::unsupported));
    EXPECT_EQ(a.rings().send.posted(), 0u);
    EXPECT_TRUE(a.destroy(a.pair).ok());
    EXPECT_TRUE(a.send(right).is(driver_error::stale_handle));
    a.pair = {};
  }
}

TEST_F(lone_management, the_numbers_exist_once_and_are_used_once) {
  const auto before = counts(rig);
  {
    lone_agent a(rig);
    const std::uint32_t base = rig.objects.find(a.special)->number;
    EXPECT_EQ(base % 8, 0u);
    create_special_queue_pairs again;
    again.start(rig.objects, {});
    EXPECT_TRUE(rig.await(again).is(driver_error::no_resource)) << "the budget has one";
    ASSERT_TRUE(a.create(a.pair, a.attributes(qp1_gsi)).ok());
    EXPECT_EQ(qpn_of(rig.objects, a.pair), base + 2);
    management_qp_handle twice, second;
    EXPECT_TRUE(a.create(twice, a.attributes(qp1_gsi)).is(driver_error::busy));
    auto other = a.attributes(qp0_smi);
    other.port = 2;
    ASSERT_TRUE(a.create(second, other).ok());
    EXPECT_EQ(qpn_of(rig.objects, second), base + 1);
    EXPECT_TRUE(a.destroy(a.special).is(driver_error::busy));
    EXPECT_TRUE(a.destroy(a.completions).is(driver_error::busy));
    EXPECT_TRUE(a.destroy(second).ok());
    for (unsigned i = 0; i < 2; ++i) {
      a.make_ready();
      EXPECT_TRUE(a.move(qp_state::error).ok());
      EXPECT_TRUE(a.move(qp_state::reset).ok());
    }
    EXPECT_TRUE(a.move(qp_state::rtr).is(driver_error::bad_state));
    EXPECT_TRUE(a.send({.address = infiniband_path{.dlid = 1}}).is(driver_error::bad_state));
    EXPECT_TRUE(a.destroy(a.pair).ok());
    EXPECT_TRUE(a.move(qp_state::init).is(driver_error::stale_handle));
    ASSERT_TRUE(a.create(a.pair, a.attributes(qp1_gsi)).ok());
  }
  EXPECT_EQ(counts(rig), before);
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

TEST_F(lone_management, wrong_attributes_are_refused_without_a_trace) {
  lone_agent a(rig);
  const auto before = counts(rig);
  management_qp_handle none;
  auto what = a.attributes(qp1_gsi);
  what.special = {};
  EXPECT_TRUE(a.create(none, what).is(driver_error::stale_handle));
  what = a.attributes(2);
  EXPECT_TRUE(a.create(none, what).is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::special_qp);
  for (const unsigned port : {0u, 3u}) {
    what = a.attributes(qp1_gsi);
    what.port = port;
    EXPECT_TRUE(a.create(none, what).is(driver_error::bad_argument));
    EXPECT_EQ(rig.objects.refused().what, attribute_id::port);
  }
  what = a.attributes(qp1_gsi);
  what.pd = {};
  EXPECT_TRUE(a.create(none, what).is(driver_error::stale_handle));
  what = a.attributes(qp1_gsi);
  what.sends = 0x8001;
  EXPECT_TRUE(a.create(none, what).is(driver_error::bad_argument));
  EXPECT_EQ(counts(rig), before);
}

TEST_F(lone_management, a_refused_or_silent_command_leaves_nothing) {
  const auto before = counts(rig);
  using fate = model::command_verdict::fate;
  for (const bool silent : {false, true}) {
    lone_agent a(rig, false);
    const auto with_domain = counts(rig);
    rig.machine.adapter().judge_commands(
        [silent](layouts::opcode code, std::uint32_t) -> model::command_verdict {
          if (code != layouts::opcode::conf_special_qp) return {};
          if (silent) return {.what = fate::hold};
          return {.what = fate::refuse, .status = layouts::command_status::bad_parameter};
        });
    create_special_queue_pairs op;
    op.start(rig.objects, {});
    EXPECT_FALSE(rig.await(op).ok());
    rig.machine.adapter().judge_commands({});
    EXPECT_EQ(rig.objects.holdings().in_doubt, silent ? 1u : 0u);
    if (!silent) {
      EXPECT_EQ(counts(rig), with_domain);
      continue;
    }
    rig.machine.adapter().release_held_commands();
    EXPECT_TRUE(
        rig.run([&] { return rig.objects.held<special_queue_pairs>() == 0; }, clock::seconds(1)));
    EXPECT_EQ(rig.objects.holdings().in_doubt, 0u);
  }
  EXPECT_EQ(counts(rig), before);
}

TEST_F(lone_management, a_reset_of_the_device_ends_its_requests) {
  {
    lone_agent a(rig);
    a.open(qp1_gsi);
    a.receive();
    operation again;
    rig.adapter.recover(again);
    ASSERT_TRUE(rig.await(again).ok());
    EXPECT_TRUE(a.send({}).is(driver_error::stale_handle));
    EXPECT_TRUE(rig.objects.holdings().none());
    a.pair = {};
    a.special = {};
    a.buffer->region = {};
    a.domain = rig.objects.create<protection_domain>().value();
    create_completion_queue cq;
    cq.start(rig.objects, {.entries = 31});
    ASSERT_TRUE(rig.await(cq).ok());
    a.completions = cq.made();
    create_special_queue_pairs op;
    op.start(rig.objects, {});
    ASSERT_TRUE(rig.await(op).ok());
    a.special = op.made();
    a.open(qp1_gsi);
  }
  EXPECT_TRUE(rig.objects.holdings().none());
}

TEST(management_queue_pairs, have_their_numbers_once_whatever_the_budget_is) {
  rig_options how;
  how.objects = every_kind().with<special_queue_pairs>(2);
  verbs_rig rig(how);
  lone_agent a(rig);
  create_special_queue_pairs again;
  again.start(rig.objects, {});
  EXPECT_TRUE(rig.await(again).is(driver_error::busy));
  EXPECT_EQ(rig.objects.held<special_queue_pairs>(), 1u);
}

TEST(management_queue_pairs, are_not_linked_into_a_budget_without_them) {
  rig_options how;
  how.objects = verbs_budget{}.with<protection_domain>(1);
  verbs_rig rig(how);
  create_special_queue_pairs op;
  op.start(rig.objects, {});
  EXPECT_TRUE(rig.await(op).is(driver_error::unsupported));
}

}  // namespace
}  // namespace freehca::testing
