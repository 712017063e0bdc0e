// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Packets at a port: directed routes, loopback, who answers, traps; against a peer that keeps what
// it gets.
#include <freehca/layouts/notice.hpp>
#include <freehca/layouts/pma.hpp>
#include <freehca/layouts/set_port.hpp>

#include "basis/adapter.hpp"
#include "hand_made_packets.hpp"
#include "ports/ports.hpp"
#include "ports_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

struct recording_peer final : link_peer {
  void receive(const packet& p) override {
    if (const auto m = decode(p)) got.push_back(*m);
  }
  void link_changed(bool up_now) override { up = up_now; }
  std::vector<mad_packet> got;
  bool up = false;
};

class ports_wire : public ports_fixture {
 protected:
  ports_wire() {
    options how = test_options();
    how.subnet_manager = false;
    start(how);
    hca->inside().links->connect(1, &peer);
  }
  ~ports_wire() override { hca->inside().links->connect(1, nullptr); }
  ports& links() { return *hca->inside_now().links; }

  void up() {
    ASSERT_EQ(init_port(), status::ok);
    host->advance(second);
    ASSERT_TRUE(peer.up);
  }
  /// Sets LIDs 4..5 and the state, as a manager does, by directed routes.
  void manage(layouts::port_state state) {
    auto wanted = info()
                      .set<&port_info::lid>(4)
                      .set<&port_info::lmc>(1)
                      .set<&port_info::master_sm_lid>(1)
                      .set<&port_info::state>(state)
                      .set<&port_info::physical_state>(port_physical_state::no_change);
    EXPECT_EQ(set_across(wanted).get<&dr_smp::status>(), mad_status::success);
  }
  image<dr_smp> set_across(const image<port_info>& wanted) {
    auto m = directed(mad_method::set, smp_attribute::port_info);
    set_attribute<&dr_smp::data>(m, wanted);
    return exchange(m);
  }
  void bounce() {
    set_across(info()
                   .set<&port_info::state>(layouts::port_state::down)
                   .set<&port_info::physical_state>(port_physical_state::no_change));
    host->advance(200'000'000);
  }
  void activate() {
    up();
    manage(layouts::port_state::armed);
    manage(layouts::port_state::active);
    peer.got.clear();
    events();
  }

  void send(const mad_packet& p) {
    links().receive_from_link(1, encode(p));
    host->run();
  }
  image<dr_smp> exchange(const image<dr_smp>& m) {
    const auto before = peer.got.size();
    send(to_qp0(m));
    if (peer.got.size() != before + 1) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    return image<dr_smp>::from_bytes(peer.got.back().mad.data());
  }

  recording_peer peer;
};

TEST_F(ports_wire, packets_survive_encoding) {
  mad_packet m;
  m.slid = 3;
  m.dlid = 4;
  m.virtual_lane = 15;
  m.service_level = 2;
  m.source_qp = 0x123456;
  m.dest_qp = 1;
  m.qkey = gsi_qkey;
  m.pkey = 0x8001;
  m.psn = 9;
  m.mad[255] = std::byte{0x5a};
  m.grh.emplace();
  const packet p = encode(m);
  EXPECT_EQ(p.bytes.size(), 8u + 40 + 12 + 8 + 256);
  const auto back = decode(p);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->slid, 3);
  EXPECT_EQ(back->dlid, 4);
  EXPECT_EQ(back->source_qp, 0x123456u);
  EXPECT_EQ(back->qkey, gsi_qkey);
  EXPECT_EQ(back->pkey, 0x8001);
  EXPECT_EQ(back->mad, m.mad);
  ASSERT_TRUE(back->grh);
  EXPECT_EQ(back->grh->get<&grh::payload_length>(), 12u + 8 + 256 + 4);
  packet cut = p;
  cut.bytes.pop_back();
  EXPECT_FALSE(decode(cut));
  EXPECT_FALSE(summarise(packet{}));
}

TEST_F(ports_wire, a_directed_route_ends_here_and_returns) {
  up();
  const auto a = exchange(directed(mad_method::get, smp_attribute::node_info));
  EXPECT_EQ(a.get<&dr_smp::method>(), mad_method::get_resp);
  EXPECT_TRUE(a.get<&dr_smp::direction>());
  EXPECT_EQ(a.get<&dr_smp::hop_pointer>(), 1u);
  EXPECT_EQ(std::to_integer<unsigned>(a.bytes_of<&dr_smp::return_path>()[1]), 1u);
  EXPECT_EQ(a.get<&dr_smp::tid>(), 77u);
  EXPECT_EQ(peer.got.back().dlid, permissive_lid);
  EXPECT_EQ(peer.got.back().slid, permissive_lid);
  EXPECT_EQ(peer.got.back().virtual_lane, 15);
}

TEST_F(ports_wire, bad_routes_are_dropped) {
  up();
  send(to_qp0(directed(mad_method::get, smp_attribute::node_info).set<&dr_smp::hop_pointer>(0)));
  send(to_qp0(directed(mad_method::get, smp_attribute::node_info)
                  .set<&dr_smp::hop_count>(64)
                  .set<&dr_smp::hop_pointer>(64)));
  send(to_qp0(directed(mad_method::get, smp_attribute::node_info).set<&dr_smp::direction>(true)));
  send(to_qp0(directed(mad_method::get, smp_attribute::node_info).set<&dr_smp::dr_dlid>(4)));
  send(to_qp0(directed(mad_method::get_resp, smp_attribute::node_info)));
  EXPECT_TRUE(peer.got.empty());
}

TEST_F(ports_wire, states_follow_each_other) {
  up();
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::initialize);
  EXPECT_FALSE(links().active(1));
  manage(layouts::port_state::armed);
  EXPECT_FALSE(links().active(1));
  manage(layouts::port_state::active);
  EXPECT_TRUE(links().active(1));
  EXPECT_EQ(links().base_lid(1), 4);
  EXPECT_EQ(links().mtu_bytes(1), 4096u);
}

TEST_F(ports_wire, a_lid_routed_packet_is_answered_to_its_source) {
  activate();
  send(to_qp0(request(mad_method::get, smp_attribute::node_info), 9, 5));  // the port's second LID
  ASSERT_EQ(peer.got.size(), 1u);
  EXPECT_EQ(peer.got[0].dlid, 9);
  EXPECT_EQ(peer.got[0].slid, 4);
  send(to_qp0(request(mad_method::get, smp_attribute::node_info), 9, 6));  // somebody else's
  EXPECT_EQ(peer.got.size(), 1u);
}

TEST_F(ports_wire, own_lids_and_zero_hops_stay_inside) {
  activate();
  const auto looped = driver->counter_named("port1_packets_looped_back");
  links().transmit(1, encode(to_qp0(request(mad_method::get, smp_attribute::node_info), 4, 5)));
  host->run();
  EXPECT_EQ(driver->counter_named("port1_packets_looped_back"),
            looped + 2);  // there, and the answer
  links().transmit(1, encode(to_qp0(directed(mad_method::get, smp_attribute::node_info)
                                        .set<&dr_smp::hop_count>(0)
                                        .set<&dr_smp::hop_pointer>(0))));
  host->run();
  EXPECT_EQ(driver->counter_named("port1_packets_looped_back"), looped + 4);
  EXPECT_TRUE(peer.got.empty());
  links().transmit(1, encode(to_qp0(request(mad_method::get, smp_attribute::node_info), 4, 9)));
  host->run();
  EXPECT_EQ(peer.got.size(), 1u);
}

TEST_F(ports_wire, nothing_but_management_leaves_a_port_that_is_not_active) {
  up();
  manage(layouts::port_state::armed);
  peer.got.clear();
  mad_packet data;
  data.slid = 4;
  data.dlid = 9;
  data.dest_qp = 0x100;
  links().transmit(1, encode(data));
  host->run();
  EXPECT_TRUE(peer.got.empty());
  manage(layouts::port_state::active);
  peer.got.clear();
  links().transmit(1, encode(data));
  host->run();
  EXPECT_EQ(peer.got.size(), 1u);
}

TEST_F(ports_wire, the_firmware_counts_for_those_who_ask_by_qp1) {
  activate();
  image<pma_mad> m;
  m.set<&pma_mad::base_version>(1)
      .set<&pma_mad::mgmt_class>(mad_class::performance)
      .set<&pma_mad::class_version>(1)
      .set<&pma_mad::method>(mad_method::get)
      .set<&pma_mad::attribute_id>(static_cast<unsigned>(pma_attribute::class_port_info));
  mad_packet p = to_qp0(m, 9, 4);
  p.dest_qp = qp1_gsi;
  p.source_qp = 0x400;
  p.qkey = gsi_qkey;
  send(p);
  ASSERT_EQ(peer.got.size(), 1u);
  EXPECT_EQ(peer.got[0].dest_qp, 0x400u);
  EXPECT_EQ(peer.got[0].source_qp, qp1_gsi);
  EXPECT_EQ(peer.got[0].dlid, 9);
  p.qkey = 1;
  send(p);
  EXPECT_EQ(info().get<&port_info::qkey_violations>(), 1u);
}

TEST_F(ports_wire, a_trap_is_repeated_until_it_is_repressed) {
  activate();
  links().count_pkey_violation(1);
  host->run();
  ASSERT_EQ(peer.got.size(), 1u);
  const auto t = image<smp>::from_bytes(peer.got[0].mad.data());
  EXPECT_EQ(t.get<&smp::method>(), mad_method::trap);
  EXPECT_EQ((attribute<&smp::data, notice>(t).get<&notice::number>()), trap::bad_pkey);
  EXPECT_EQ(peer.got[0].dlid, 1);
  EXPECT_EQ(info().get<&port_info::pkey_violations>(), 1u);
  host->advance(1'100'000'000);
  ASSERT_EQ(peer.got.size(), 2u);
  EXPECT_EQ(image<smp>::from_bytes(peer.got[1].mad.data()).get<&smp::tid>(), t.get<&smp::tid>());
  send(to_qp0(image<smp>{t}.set<&smp::method>(mad_method::trap_repress), 1, 4));
  host->advance(10 * second);
  EXPECT_EQ(peer.got.size(), 2u);
  EXPECT_TRUE(host->idle());
}

TEST_F(ports_wire, a_set_that_takes_the_link_down_is_answered_first) {
  activate();
  auto wanted = info()
                    .set<&port_info::state>(layouts::port_state::no_change)
                    .set<&port_info::physical_state>(port_physical_state::disabled);
  const auto a = attribute<&dr_smp::data, port_info>(set_across(wanted));
  EXPECT_EQ(a.get<&port_info::state>(), layouts::port_state::active);  // captures, 4.4
  EXPECT_EQ(a.get<&port_info::physical_state>(), port_physical_state::link_up);
  host->advance(5 * second);
  EXPECT_FALSE(peer.up);
  EXPECT_EQ(info().get<&port_info::physical_state>(), port_physical_state::disabled);
  const auto all = events();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].get<&eqe::event_sub_type>(), static_cast<unsigned>(port_change_subtype::down));
}

TEST_F(ports_wire, a_narrowed_port_keeps_its_width_until_it_goes_down) {
  activate();
  set_across(info()
                 .set<&port_info::state>(layouts::port_state::no_change)
                 .set<&port_info::physical_state>(port_physical_state::no_change)
                 .set<&port_info::link_width_enabled>(static_cast<unsigned>(link_width::x1)));
  EXPECT_EQ(info().get<&port_info::link_width_active>(), link_width::x4);  // captures, 4.4
  bounce();
  EXPECT_EQ(info().get<&port_info::link_width_active>(), link_width::x1);
  host->advance(second);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::initialize);
  EXPECT_EQ(info().get<&port_info::link_width_active>(), link_width::x1);
}

TEST_F(ports_wire, a_bounced_link_trains_again) {
  activate();
  bounce();
  EXPECT_FALSE(peer.up);
  host->advance(second);
  EXPECT_TRUE(peer.up);
  EXPECT_EQ(info().get<&port_info::state>(), layouts::port_state::initialize);
  EXPECT_EQ(info().get<&port_info::lid>(), 4u);
}

TEST_F(ports_wire, tables_for_the_transport) {
  image<pkey_table> keys;
  set_element<&pkey_table::pkeys, std::uint16_t>(keys, 0, 0x7fff);
  set_element<&pkey_table::pkeys, std::uint16_t>(keys, 1, 0x8003);
  ASSERT_EQ(set(smp_attribute::pkey_table, keys), mad_status::success);
  EXPECT_EQ(links().pkey(1, 1), 0x8003);
  EXPECT_EQ(links().pkey(1, 128), 0);
  EXPECT_EQ(links().pkey_entries(1), 128u);
  EXPECT_TRUE(links().pkey_matches(1, 0xffff));
  EXPECT_FALSE(links().pkey_matches(1, 0x7fff));  // two limited members
  EXPECT_TRUE(links().pkey_matches(1, 0x0003));
  EXPECT_FALSE(links().pkey_matches(1, 0x8000));
  EXPECT_FALSE(links().pkey_matches(1, 0x8004));
  std::byte gid[16];
  ASSERT_TRUE(links().gid(1, 0, gid));
  EXPECT_EQ(load_be<std::uint64_t>(gid), default_subnet_prefix);
  EXPECT_EQ(load_be<std::uint64_t>(gid + 8), options{}.node_guid + 1);
  EXPECT_FALSE(links().gid(1, 128, gid));
  EXPECT_FALSE(links().gid(3, 0, gid));
  EXPECT_EQ(links().base_lid(0), 0);
}

TEST_F(ports_wire, demultiplexing_is_what_was_configured) {
  const auto config = image<mad_demux>{}.set<&mad_demux::get_attr_mask>(1u << 0x15);
  EXPECT_EQ(driver->command_with(opcode::mad_demux, config, mad_demux_subnet_management).status,
            status::ok);
  image<mad_demux> read;
  ASSERT_EQ(driver->query(opcode::mad_demux, read, mad_demux_subnet_management, 1).status,
            status::ok);
  EXPECT_TRUE(read == config);
  // Not in secure-host mode: nothing is restricted.
  ASSERT_EQ(driver->query(opcode::mad_demux, read, mad_demux_subnet_management, 2).status,
            status::ok);
  EXPECT_TRUE(read == image<mad_demux>{});
  EXPECT_EQ(driver->command_with(opcode::mad_demux, config, 4).status, status::bad_parameter);
  EXPECT_EQ(driver->command(opcode::mad_demux, driver->input, 1, 3, driver->output).status,
            status::bad_operation);
  image<mad_demux> reserved;
  reserved.data()[4] = std::byte{1};
  EXPECT_EQ(driver->command_with(opcode::mad_demux, reserved, 1).status, status::bad_parameter);
}

}  // namespace freehca::model::test
