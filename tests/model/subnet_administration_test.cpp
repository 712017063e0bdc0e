// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Subnet administration as its clients use it: one request in, one answer or a table of segments
// out.
#include <cstring>

#include <gtest/gtest.h>

#include <freehca/layouts/notice.hpp>

#include "fabric/subnet_administrator.hpp"
#include "test_host.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

class timer_host final : public environment {
 public:
  bool dma_read(std::uint64_t, void*, std::size_t) override { return false; }
  bool dma_write(std::uint64_t, const void*, std::size_t) override { return false; }
  bool bus_master() override { return false; }
  bool msix_enabled() override { return false; }
  void msix(unsigned) override {}
  void intx(bool) override {}
  std::uint64_t now() override { return clock; }
  void arm_timer(std::uint64_t) override {}
  void wipe_configuration_space() override {}
  void tell(const remark&) override {}
  std::uint64_t clock = 0;
};

}  // namespace

class subnet_administration : public testing::Test {
 protected:
  subnet_administration() {
    const auto describe = [](known_port& p, std::uint64_t guid, unsigned lid) {
      p.node.set<&node_info::node_guid>(guid).set<&node_info::port_guid>(guid + 1);
      p.info.set<&port_info::gid_prefix>(default_subnet_prefix)
          .set<&port_info::lid>(lid)
          .set<&port_info::local_port_num>(1)
          .set<&port_info::neighbor_mtu>(ib_mtu::mtu_4096)
          .set<&port_info::link_speed_active>(link_speed::qdr)
          .set<&port_info::link_speed_ext_active>(link_speed_ext::fdr);
      set_element<&guid_info::guids, std::uint64_t>(p.guids, 0, guid + 1);
    };
    describe(subnet.manager, 0x100, 1);
    describe(subnet.managed, 0x200, 2);
    subnet.manager.info.set<&port_info::capability_mask>(port_capability::sm);
    subnet.managed_known = true;
  }

  static image<sa_mad> query(mad_method method, sa_attribute what, std::uint64_t components = 0) {
    image<sa_mad> m;
    return m.set<&sa_mad::base_version>(1)
        .set<&sa_mad::mgmt_class>(mad_class::subnet_admin)
        .set<&sa_mad::class_version>(sa_class_version)
        .set<&sa_mad::method>(method)
        .set<&sa_mad::tid>(99)
        .set<&sa_mad::attribute_id>(static_cast<unsigned>(what))
        .set<&sa_mad::component_mask>(components);
  }
  template <class R>
  static image<sa_mad> query(mad_method method, sa_attribute what, std::uint64_t components,
                             const image<R>& record) {
    auto m = query(method, what, components);
    set_attribute<&sa_mad::data>(m, record);
    return m;
  }
  void send(const image<sa_mad>& m) {
    mad_packet p;
    p.slid = 2;
    p.dlid = 1;
    p.source_qp = 0x55;
    p.dest_qp = 1;
    p.qkey = gsi_qkey;
    std::memcpy(p.mad.data(), m.data(), p.mad.size());
    administrator.receive(p);
  }
  image<sa_mad> ask(const image<sa_mad>& m) {
    sent.clear();
    send(m);
    if (sent.size() != 1) {
      ADD_FAILURE() << sent.size() << " answers";
      return {};
    }
    EXPECT_EQ(sent[0].dlid, 2);
    EXPECT_EQ(sent[0].dest_qp, 0x55u);
    return at(0);
  }
  image<sa_mad> at(std::size_t n) const { return image<sa_mad>::from_bytes(sent[n].mad.data()); }
  static std::uint64_t of_class(sa_status s) { return static_cast<std::uint64_t>(s) << 8; }

  /// Asks for a table as a receiver with windows of `window` segments does.
  std::vector<std::byte> table(const image<sa_mad>& m, unsigned window,
                               unsigned* segments = nullptr) {
    sent.clear();
    send(m);
    std::vector<std::byte> all;
    std::uint64_t expected = 1, length = 0;
    for (std::size_t n = 0; n < sent.size(); ++n) {
      const auto s = at(n);
      EXPECT_EQ(s.get<&sa_mad::type>(), rmpp_type::data);
      EXPECT_EQ(s.get<&sa_mad::segment_number>(), expected++);
      const auto flags = s.get<&sa_mad::flags>();
      if ((flags & rmpp_flag::first) != 0) length = s.get<&sa_mad::payload_length>();
      all.insert(all.end(), s.bytes_of<&sa_mad::data>(), s.bytes_of<&sa_mad::data>() + 200);
      if ((flags & rmpp_flag::last) != 0) {
        const std::size_t last = s.get<&sa_mad::payload_length>() - 20;
        all.resize((expected - 2) * 200 + last);
        EXPECT_EQ(length, all.size() + (expected - 1) * 20);
        if (segments != nullptr) *segments = static_cast<unsigned>(expected - 1);
      }
      acknowledge(s.get<&sa_mad::segment_number>(), s.get<&sa_mad::segment_number>() + window);
    }
    return all;
  }
  void acknowledge(std::uint64_t segment, std::uint64_t window_last) {
    send(query(mad_method::get_table, sa_attribute::node_record)
             .set<&sa_mad::version>(rmpp_version)
             .set<&sa_mad::type>(rmpp_type::ack)
             .set<&sa_mad::flags>(rmpp_flag::active)
             .set<&sa_mad::segment_number>(segment)
             .set<&sa_mad::payload_length>(window_last));
  }
  void advance(std::uint64_t ns) {
    for (const std::uint64_t until = host.clock + ns; host.clock < until;
         host.clock += second / 100) {
      account.begin_call();
      work.run_due();
    }
  }

  timer_host host;
  work_account account;
  adapter_clock clock{host};
  scheduler work{host, clock, account};
  subnet_topology subnet;
  std::vector<mad_packet> sent;
  subnet_administrator administrator{work, "test", subnet,
                                     [this](const mad_packet& m) { sent.push_back(m); }};
};

TEST_F(subnet_administration, a_path_between_two_ports) {
  const auto sgid = subnet.managed.gid(), dgid = subnet.manager.gid();
  const auto wanted = image<path_record>{}
                          .set_bytes<&path_record::sgid>(sgid.data())
                          .set_bytes<&path_record::dgid>(dgid.data())
                          .set<&path_record::numb_path>(1)
                          .set<&path_record::pkey>(0xffff);
  constexpr std::uint64_t components = path_component::sgid | path_component::dgid |
                                       path_component::numb_path | path_component::pkey;
  const auto a = ask(query(mad_method::get, sa_attribute::path_record, components, wanted));
  ASSERT_EQ(a.get<&sa_mad::status>(), 0u);
  EXPECT_EQ(a.get<&sa_mad::method>(), mad_method::get_resp);
  EXPECT_EQ(a.get<&sa_mad::tid>(), 99u);
  const auto r = attribute<&sa_mad::data, path_record>(a);
  EXPECT_EQ(r.get<&path_record::slid>(), 2u);
  EXPECT_EQ(r.get<&path_record::dlid>(), 1u);
  EXPECT_EQ(r.get<&path_record::mtu>(), ib_mtu::mtu_4096);
  EXPECT_EQ(r.get<&path_record::rate>(), ib_rate::gbps_56);
  EXPECT_EQ(r.get<&path_record::packet_life>(), 18u);
  EXPECT_TRUE(r.get<&path_record::reversible>());

  auto other = wanted;
  other.set<&path_record::pkey>(0x8001);
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::path_record, components, other))
                .get<&sa_mad::status>(),
            of_class(sa_status::no_records));
  other = wanted;
  other.set<&path_record::mtu_selector>(sa_selector::greater_than)
      .set<&path_record::mtu>(ib_mtu::mtu_4096);
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::path_record,
                      components | path_component::mtu | path_component::mtu_selector, other))
                .get<&sa_mad::status>(),
            of_class(sa_status::no_records));
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::path_record)).get<&sa_mad::status>(),
            of_class(sa_status::too_many_records));
}

TEST_F(subnet_administration, tables_come_in_segments) {
  unsigned segments = 0;
  const auto bytes = table(query(mad_method::get_table, sa_attribute::path_record), 1, &segments);
  EXPECT_EQ(bytes.size(), 4 * 64u);
  EXPECT_EQ(segments, 2u);
  EXPECT_EQ(table(query(mad_method::get_table, sa_attribute::node_record), 64).size(), 2 * 112u);
  EXPECT_EQ(at(0).get<&sa_mad::attribute_offset>(), 14u);
  EXPECT_EQ(table(query(mad_method::get_table, sa_attribute::service_record), 64).size(), 0u);
  advance(10 * second);
  const auto before = sent.size();
  advance(10 * second);
  EXPECT_EQ(sent.size(), before);
}

TEST_F(subnet_administration, what_is_not_acknowledged_is_sent_again_and_given_up) {
  send(query(mad_method::get_table, sa_attribute::path_record));
  EXPECT_EQ(sent.size(), 1u);
  advance(20 * second);
  EXPECT_EQ(sent.size(), 5u);
  for (const auto& p : sent)
    EXPECT_EQ(image<sa_mad>::from_bytes(p.mad.data()).get<&sa_mad::segment_number>(), 1u);
}

TEST_F(subnet_administration, an_abort_ends_a_table) {
  send(query(mad_method::get_table, sa_attribute::path_record));
  send(query(mad_method::get_table, sa_attribute::path_record)
           .set<&sa_mad::type>(rmpp_type::abort)
           .set<&sa_mad::flags>(rmpp_flag::active));
  advance(20 * second);
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(subnet_administration, records_of_ports) {
  const auto by_lid = image<port_info_record>{}.set<&port_info_record::endport_lid>(2);
  const auto a = ask(
      query(mad_method::get, sa_attribute::port_info_record, record_component::port_lid, by_lid));
  EXPECT_EQ(a.get<&sa_mad::status>(), 0u);
  EXPECT_EQ((attribute<&sa_mad::data, port_info_record>(a).get<&port_record_info::lid>()), 2u);
  // As saquery asks for managers: those with a bit of the capability mask.
  const auto managers =
      image<port_info_record>{}.set<&port_record_info::capability_mask>(port_capability::sm);
  const auto m = query(mad_method::get_table, sa_attribute::port_info_record,
                       record_component::port_capability_mask, managers)
                     .set<&sa_mad::attribute_modifier>(1u << 31);
  EXPECT_EQ(table(m, 1).size(), 72u);
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::sm_info_record)).get<&sa_mad::status>(), 0u);
}

TEST_F(subnet_administration, ipoib_joins_its_broadcast_group) {
  auto r = image<mcmember_record>{};
  const auto mgid = make_gid(0xff12401bffff0000, 0xffffffff);
  const auto port = subnet.managed.gid();
  r.set_bytes<&mcmember_record::mgid>(mgid.data())
      .set_bytes<&mcmember_record::port_gid>(port.data())
      .set<&mcmember_record::pkey>(0xffff)
      .set<&mcmember_record::join_state>(join_state::full_member);
  constexpr std::uint64_t components = mcmember_component::mgid | mcmember_component::port_gid |
                                       mcmember_component::pkey | mcmember_component::join_state;
  const auto a = ask(query(mad_method::set, sa_attribute::mcmember_record, components, r));
  ASSERT_EQ(a.get<&sa_mad::status>(), 0u);
  EXPECT_EQ(a.get<&sa_mad::method>(), mad_method::get_resp);
  const auto joined = attribute<&sa_mad::data, mcmember_record>(a);
  EXPECT_EQ(joined.get<&mcmember_record::mlid>(), 0xc000u);
  EXPECT_EQ(joined.get<&mcmember_record::qkey>(), 0x0b1bu);
  EXPECT_EQ(joined.get<&mcmember_record::mtu>(), ib_mtu::mtu_2048);
  EXPECT_EQ(joined.get<&mcmember_record::join_state>(), join_state::full_member);

  auto left = ask(query(mad_method::delete_record, sa_attribute::mcmember_record, components, r));
  EXPECT_EQ(left.get<&sa_mad::status>(), 0u);
  EXPECT_EQ(left.get<&sa_mad::method>(), mad_method::delete_record_resp);
  left = ask(query(mad_method::delete_record, sa_attribute::mcmember_record, components, r));
  EXPECT_EQ(left.get<&sa_mad::status>(), of_class(sa_status::request_invalid));
  r.set<&mcmember_record::pkey>(0x8005);
  EXPECT_EQ(ask(query(mad_method::set, sa_attribute::mcmember_record, components, r))
                .get<&sa_mad::status>(),
            of_class(sa_status::request_invalid));
}

TEST_F(subnet_administration, groups_come_and_go) {
  namespace mc = mcmember_component;
  const auto mgid = make_gid(0xff12a01b00000000, 0x1234);
  const auto port = subnet.managed.gid();
  auto r = image<mcmember_record>{};
  r.set_bytes<&mcmember_record::mgid>(mgid.data())
      .set_bytes<&mcmember_record::port_gid>(port.data())
      .set<&mcmember_record::qkey>(5)
      .set<&mcmember_record::pkey>(0xffff)
      .set<&mcmember_record::join_state>(join_state::full_member);
  constexpr std::uint64_t join = mc::mgid | mc::port_gid | mc::join_state;
  constexpr std::uint64_t create =
      join | mc::qkey | mc::pkey | mc::sl | mc::flow_label | mc::tclass;
  EXPECT_EQ(
      ask(query(mad_method::set, sa_attribute::mcmember_record, join, r)).get<&sa_mad::status>(),
      of_class(sa_status::insufficient_components));
  const auto a = ask(query(mad_method::set, sa_attribute::mcmember_record, create, r));
  ASSERT_EQ(a.get<&sa_mad::status>(), 0u);
  const auto made = attribute<&sa_mad::data, mcmember_record>(a);
  EXPECT_EQ(made.get<&mcmember_record::mlid>(), 0xc001u);
  EXPECT_EQ(made.get<&mcmember_record::mtu>(), ib_mtu::mtu_4096);
  EXPECT_EQ(made.get<&mcmember_record::rate>(), ib_rate::gbps_56);
  EXPECT_EQ(made.get<&mcmember_record::scope>(), 2u);
  EXPECT_EQ(table(query(mad_method::get_table, sa_attribute::mcmember_record), 1).size(), 2 * 56u);
  EXPECT_EQ(ask(query(mad_method::delete_record, sa_attribute::mcmember_record, join, r))
                .get<&sa_mad::status>(),
            0u);
  EXPECT_EQ(table(query(mad_method::get_table, sa_attribute::mcmember_record), 1).size(), 56u);
  const auto stranger = make_gid(default_subnet_prefix, 0x999);
  r.set_bytes<&mcmember_record::port_gid>(stranger.data());
  EXPECT_EQ(
      ask(query(mad_method::set, sa_attribute::mcmember_record, create, r)).get<&sa_mad::status>(),
      of_class(sa_status::invalid_gid));
}

TEST_F(subnet_administration, services_have_leases) {
  auto r = image<service_record>{}
               .set<&service_record::service_id>(7)
               .set<&service_record::service_pkey>(0xffff)
               .set<&service_record::service_lease>(5);
  EXPECT_EQ(ask(query(mad_method::set, sa_attribute::service_record, 0, r)).get<&sa_mad::status>(),
            0u);
  const auto find =
      query(mad_method::get, sa_attribute::service_record, record_component::service_id, r);
  EXPECT_EQ(ask(find).get<&sa_mad::status>(), 0u);
  host.clock += 6 * second;
  EXPECT_EQ(ask(find).get<&sa_mad::status>(), of_class(sa_status::no_records));
}

TEST_F(subnet_administration, the_link_is_told_from_both_ends) {
  const auto all = table(query(mad_method::get_table, sa_attribute::link_record), 1);
  ASSERT_EQ(all.size(), 2 * link_record::bytes);
  for (unsigned i = 0; i < 2; ++i) {
    const auto r = image<link_record>::from_bytes(all.data() + i * link_record::bytes);
    EXPECT_EQ(r.get<&link_record::from_lid>(), 1u + i);
    EXPECT_EQ(r.get<&link_record::from_port>(), 1u);
    EXPECT_EQ(r.get<&link_record::to_port>(), 1u);
    EXPECT_EQ(r.get<&link_record::to_lid>(), 2u - i);
  }
  const auto one =
      ask(query(mad_method::get, sa_attribute::link_record, record_component::link_from_lid,
                image<link_record>{}.set<&link_record::from_lid>(2)));
  EXPECT_EQ((attribute<&sa_mad::data, link_record>(one).get<&link_record::to_lid>()), 1u);
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::link_record, record_component::link_to_port,
                      image<link_record>{}.set<&link_record::to_port>(2)))
                .get<&sa_mad::status>(),
            of_class(sa_status::no_records));
}

TEST_F(subnet_administration, subscriptions_are_kept_told_and_ended) {
  const auto about = [](unsigned trap_number, unsigned subscribe) {
    return query(mad_method::set, sa_attribute::inform_info, 0,
                 image<inform_info>{}
                     .set<&inform_info::trap_number>(trap_number)
                     .set<&inform_info::subscribe>(subscribe));
  };
  EXPECT_EQ(ask(about(64, 0)).get<&sa_mad::status>(), of_class(sa_status::request_invalid));
  EXPECT_EQ(ask(about(64, 1)).get<&sa_mad::status>(), 0u);
  EXPECT_EQ(ask(about(64, 1)).get<&sa_mad::status>(), 0u);  // stays one
  EXPECT_EQ(ask(about(65, 1)).get<&sa_mad::status>(), 0u);
  const auto everything = query(mad_method::get_table, sa_attribute::inform_info_record);
  auto all = table(everything, 1);
  ASSERT_EQ(all.size(), 2 * inform_info_record::bytes);
  const auto second_one =
      image<inform_info_record>::from_bytes(all.data() + inform_info_record::bytes);
  EXPECT_EQ(second_one.get<&inform_info_record::subscriber_enum>(), 1u);
  const auto gid = subnet.managed.gid();
  EXPECT_EQ(std::memcmp(second_one.bytes_of<&inform_info_record::subscriber_gid>(), gid.data(), 16),
            0);
  EXPECT_EQ(image<inform_info>::from_bytes(second_one.bytes_of<&inform_info_record::inform>())
                .get<&inform_info::trap_number>(),
            65u);
  EXPECT_EQ(ask(about(64, 0)).get<&sa_mad::status>(), 0u);
  all = table(everything, 1);
  EXPECT_EQ(all.size(), inform_info_record::bytes);
  administrator.link_changed();
  EXPECT_EQ(table(everything, 1).size(), 0u);
}

TEST_F(subnet_administration, what_it_does_not_know_it_says) {
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::switch_info_record)).get<&sa_mad::status>(),
            mad_status::unsupported_method_attribute);
  EXPECT_EQ(ask(query(mad_method::set, sa_attribute::path_record)).get<&sa_mad::status>(),
            mad_status::unsupported_method_attribute);
  EXPECT_EQ(ask(query(mad_method::get, sa_attribute::path_record).set<&sa_mad::class_version>(1))
                .get<&sa_mad::status>(),
            mad_status::bad_version);
  send(query(mad_method::get_resp, sa_attribute::path_record));
  EXPECT_EQ(sent.size(), 1u);
  const auto c = ask(query(mad_method::get, sa_attribute::class_port_info));
  EXPECT_EQ((attribute<&sa_mad::data, class_port_info>(c).get<&class_port_info::class_version>()),
            2u);
  const auto i = ask(query(mad_method::set, sa_attribute::inform_info, 0,
                           image<inform_info>{}.set<&inform_info::subscribe>(1)));
  EXPECT_EQ(i.get<&sa_mad::status>(), 0u);
}

}  // namespace freehca::model::test
