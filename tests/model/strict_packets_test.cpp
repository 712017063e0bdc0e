// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that are wrong in one field of one header. After a packet that is dropped the next good one is taken as if
// there had been none.
#include "peer_fixture.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// What the packet must bring about.
struct outcome_of_packet {
  enum class kind : std::uint8_t { dropped, refused_by_port, ignored, taken, nak } what;
  nak_code code{};
  event_type event = event_type::none;
};
constexpr outcome_of_packet dropped{outcome_of_packet::kind::dropped};
constexpr outcome_of_packet refused_by_port{outcome_of_packet::kind::refused_by_port};
constexpr outcome_of_packet ignored{outcome_of_packet::kind::ignored};
constexpr outcome_of_packet taken{outcome_of_packet::kind::taken};
constexpr outcome_of_packet invalid{outcome_of_packet::kind::nak, nak_code::invalid_request,
                                    event_type::wq_invalid_request_error};
constexpr outcome_of_packet no_access{outcome_of_packet::kind::nak, nak_code::remote_access_error,
                                      event_type::wq_access_violation};
constexpr outcome_of_packet cannot{outcome_of_packet::kind::nak,
                                   nak_code::remote_operational_error};

struct wrong_packet {
  const char* name;
  qp_service service;
  crafted (*make)(peer_fixture&);
  outcome_of_packet comes;
};
void PrintTo(const wrong_packet& w, std::ostream* to) {
  *to << w.name;
}

using t = peer_fixture;
constexpr auto rc = qp_service::rc, uc = qp_service::uc, ud = qp_service::ud, xrc = qp_service::xrc;

crafted shortened(crafted c, std::size_t bytes) {
  c.rest.resize(c.rest.size() - bytes);
  return c;
}

const wrong_packet wrongs[] = {
    // local route header
    {"LRH_next_header_raw", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::lnh>(link_next_header::raw);
       return c;
     },
     refused_by_port},
    {"LRH_next_header_ip", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::lnh>(link_next_header::ip_non_iba);
       return c;
     },
     refused_by_port},
    {"LRH_length_above_the_packet", rc,
     [](t& p) {
       auto c = p.write(8);
       c.words_more = 1;
       return c;
     },
     dropped},
    {"LRH_length_below_the_packet", rc,
     [](t& p) {
       auto c = p.write(8);
       c.words_more = -1;
       return c;
     },
     dropped},
    {"LRH_destination_of_another_port", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::dlid>(0x77);
       return c;
     },
     refused_by_port},
    {"LRH_source_of_another_port", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::slid>(t::far_lid + 1);
       return c;
     },
     dropped},
    {"LRH_source_of_another_port_UC", uc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::slid>(t::far_lid + 1);
       return c;
     },
     dropped},
    {"LRH_service_level_of_another_path", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::service_level>(9);
       return c;
     },
     taken},
    // global route header
    {"GRH_where_the_path_has_none", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::lnh>(link_next_header::iba_global);
       c.route = image<grh>{}
                     .set<&grh::ip_version>(grh_ip_version)
                     .set<&grh::next_header>(grh_next_header_bth);
       return c;
     },
     dropped},
    {"GRH_missing_where_the_path_has_one", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route.reset();
       c.link.set<&lrh::lnh>(link_next_header::iba_local);
       return c;
     },
     dropped},
    {"GRH_version", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->set<&grh::ip_version>(4);
       return c;
     },
     dropped},
    {"GRH_next_header", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->set<&grh::next_header>(0x11);
       return c;
     },
     dropped},
    {"GRH_source", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->data()[grh{}.sgid.offset + 15] ^= std::byte{1};
       return c;
     },
     dropped},
    {"GRH_destination", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->data()[grh{}.dgid.offset + 15] ^= std::byte{1};
       return c;
     },
     dropped},
    {"GRH_subnet_prefix_of_the_source", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->data()[grh{}.sgid.offset + 1] ^= std::byte{1};
       return c;
     },
     dropped},
    {"GRH_payload_length", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->set<&grh::payload_length>(3);
       return c;
     },
     taken},
    // base transport header
    {"BTH_version", rc, [](t& p) { return p.write(8).in_base<&bth::version>(1); }, dropped},
    {"BTH_opcode_of_another_service", rc,
     [](t& p) {
       return p.write(8).in_base<&bth::opcode>(
           make_bth_opcode(bth_transport::uc, op::rdma_write_only));
     },
     dropped},
    {"BTH_opcode_reserved", rc,
     [](t& p) {
       return p.write(8).in_base<&bth::opcode>(
           make_bth_opcode(bth_transport::rc, static_cast<op>(0x1f)));
     },
     invalid},
    {"BTH_opcode_reserved_UC", uc,
     [](t& p) {
       return p.write(8).in_base<&bth::opcode>(
           make_bth_opcode(bth_transport::uc, static_cast<op>(0x1f)));
     },
     ignored},
    {"BTH_read_over_UC", uc, [](t& p) { return p.of(op::rdma_read_request).add(p.range(8)); },
     ignored},
    {"BTH_P_Key_of_another_partition", rc,
     [](t& p) { return p.write(8).in_base<&bth::pkey>(0x8123); }, dropped},
    {"BTH_P_Key_of_another_partition_UD", ud,
     [](t& p) { return p.send(8).in_base<&bth::pkey>(0x8123); }, dropped},
    {"BTH_destination_that_does_not_exist", rc,
     [](t& p) { return p.write(8).in_base<&bth::dest_qp>(0x3f0); }, dropped},
    {"BTH_destination_0", rc, [](t& p) { return p.write(8).in_base<&bth::dest_qp>(0); }, ignored},
    {"BTH_destination_group_without_GRH", ud,
     [](t& p) { return p.send(8).in_base<&bth::dest_qp>(multicast_qpn); }, dropped},
    {"BTH_pad_longer_than_the_packet", rc,
     [](t& p) {
       auto c = shortened(p.of(op::send_only), 0);
       c.pad = 3;
       return c;
     },
     dropped},
    {"BTH_PSN_ahead",
     rc,
     [](t& p) { return p.write(8).in_base<&bth::psn>(psn_add(t::first_psn, 2)); },
     {outcome_of_packet::kind::nak, nak_code::psn_sequence_error}},
    {"BTH_middle_without_first", rc, [](t& p) { return p.of(op::rdma_write_middle).payload(1024); },
     invalid},
    {"BTH_last_without_first", rc, [](t& p) { return p.of(op::send_last).payload(8); }, invalid},
    {"BTH_first_within_a_message", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::send_first).payload(1024);
     },
     invalid},
    {"BTH_first_within_a_message_UC", uc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.write(8);
     },
     taken},
    {"BTH_middle_of_another_kind", rc,
     [](t& p) {
       p.before(p.of(op::rdma_write_first).add(p.range(2048)).payload(1024));
       return p.of(op::send_middle).payload(1024);
     },
     invalid},
    {"BTH_read_within_a_message", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::rdma_read_request).add(p.range(8));
     },
     invalid},
    {"BTH_opcode_no_datagram", ud, [](t& p) { return p.of(op::send_first).payload(8); }, dropped},
    // RDMA extended transport header
    {"RETH_cut_short", rc,
     [](t& p) { return shortened(p.of(op::rdma_write_only).add(p.range(0)), 4); }, invalid},
    {"RETH_cut_short_in_a_read", rc,
     [](t& p) { return shortened(p.of(op::rdma_read_request).add(p.range(8)), 4); }, invalid},
    {"RETH_R_Key", rc,
     [](t& p) {
       return p.of(op::rdma_write_only).add(p.range(8).set<&reth::rkey>(0x12345678)).payload(8);
     },
     no_access},
    {"RETH_R_Key_in_a_read", rc,
     [](t& p) { return p.of(op::rdma_read_request).add(p.range(8).set<&reth::rkey>(1)); },
     no_access},
    {"RETH_address_below_the_region", rc,
     [](t& p) {
       return p.of(op::rdma_write_only)
           .add(p.range(8).set<&reth::virtual_address>(t::to - 0x20004))
           .payload(8);
     },
     no_access},
    {"RETH_address_around_the_end", rc,
     [](t& p) {
       return p.of(op::rdma_write_only)
           .add(p.range(8).set<&reth::virtual_address>(~std::uint64_t{3}))
           .payload(8);
     },
     no_access},
    {"RETH_length_above_the_longest_message", rc,
     [](t& p) {
       return p.of(op::rdma_write_first)
           .add(p.range(8).set<&reth::dma_length>(0x40000001))
           .payload(1024);
     },
     no_access},
    {"RETH_length_above_the_payload", rc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(12)).payload(8); }, invalid},
    {"RETH_length_below_the_payload", rc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(4)).payload(8); }, invalid},
    {"RETH_length_below_the_payload_UC", uc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(4)).payload(8); }, ignored},
    {"RETH_R_Key_UC", uc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(8).set<&reth::rkey>(1)).payload(8); },
     ignored},
    // atomic extended transport header
    {"AtomicETH_cut_short", rc,
     [](t& p) { return shortened(p.of(op::fetch_add).add(p.operands()), 4); }, invalid},
    {"AtomicETH_address_off_its_alignment", rc,
     [](t& p) {
       return p.of(op::fetch_add).add(p.operands().set<&atomic_eth::virtual_address>(t::to + 4));
     },
     invalid},
    {"AtomicETH_R_Key", rc,
     [](t& p) { return p.of(op::compare_swap).add(p.operands().set<&atomic_eth::rkey>(1)); },
     no_access},
    {"AtomicETH_within_a_message", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::fetch_add).add(p.operands());
     },
     invalid},
    // datagram extended transport header
    {"DETH_cut_short", ud, [](t& p) { return shortened(p.send(0), 4); }, dropped},
    {"DETH_Q_Key", ud,
     [](t& p) {
       auto c = p.send(8);
       c.rest[0] ^= std::byte{1};
       return c;
     },
     dropped},
    // XRC extended transport header
    {"XRCETH_cut_short", xrc, [](t& p) { return shortened(p.send(0), 4); }, dropped},
    {"XRCETH_queue_that_does_not_exist", xrc,
     [](t& p) {
       auto c = p.send(8);
       c.rest[3] ^= std::byte{1};
       return c;
     },
     cannot},
    {"XRCETH_queue_that_does_not_exist_in_a_write", xrc,
     [](t& p) {
       auto c = p.write(8);
       c.rest[3] ^= std::byte{1};
       return c;
     },
     no_access},
    // immediate data, R_Key to invalidate
    {"ImmDt_cut_short", rc, [](t& p) { return p.of(op::send_only_imm); }, invalid},
    {"ImmDt_cut_short_UD", ud, [](t& p) { return p.of(op::send_only_imm); }, dropped},
    {"IETH_cut_short", rc, [](t& p) { return p.of(op::send_only_invalidate); }, invalid},
    // payload
    {"payload_of_a_first_packet_below_the_MTU", rc,
     [](t& p) { return p.of(op::send_first).payload(1020); }, invalid},
    {"payload_of_a_last_packet_empty", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::send_last);
     },
     invalid},
    {"payload_above_the_MTU", rc, [](t& p) { return p.send(1028); }, invalid},
    {"payload_above_the_ports_MTU_UD", ud, [](t& p) { return p.send(4100); }, dropped},
    {"payload_above_the_ports_MTU_UD_with_immediate", ud,
     [](t& p) { return p.of(op::send_only_imm).add(image<immdt>{}).payload(4100); }, dropped},
};

}  // namespace

class strict_packets : public peer_fixture, public testing::WithParamInterface<wrong_packet> {
 protected:
  strict_packets() : peer_fixture(GetParam().service) {}
};

TEST_P(strict_packets, bring_about) {
  const wrong_packet& w = GetParam();
  using kind = outcome_of_packet::kind;
  const crafted wrong = w.make(*this);
  const bool counts = w.comes.what == kind::dropped;
  const bool answers_all = b.service == qp_service::rc || b.service == qp_service::xrc;
  byte_at(to) = std::byte{0x11};
  const std::uint64_t lost_before = lost(), seen_before = seen();
  deliver(wrong);
  EXPECT_EQ(lost() - lost_before, counts ? 1u : 0u);
  // A bad P_Key or Q_Key brings traps along.
  EXPECT_EQ(seen() == seen_before, w.comes.what == kind::refused_by_port);
  if (w.comes.what == kind::taken) {
    EXPECT_EQ(byte_at(to), std::byte{0x5a});
    return;
  }
  EXPECT_EQ(byte_at(to), std::byte{0x11});
  if (w.comes.what == kind::nak) {
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].operation, op::acknowledge);
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::nak);
    EXPECT_EQ(answers[0].header.get<&aeth::value>(), static_cast<unsigned>(w.comes.code));
    const bool ends = w.comes.code != nak_code::psn_sequence_error;
    EXPECT_EQ(state_of(b), ends ? qp_state::error : qp_state::rts);
    if (w.comes.event != event_type::none) {
      EXPECT_EQ(events(w.comes.event), 1u);
    }
    return;
  }
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(state_of(b), qp_state::rts);
  // The same queue pair takes a good one.
  if (!answers_all) psn = psn_add(psn, 1);
  deliver(b.service == qp_service::ud ? send(8) : write(8));
  if (answers_all) {
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
  }
  EXPECT_EQ(byte_at(b.service == qp_service::ud ? to + grh::bytes : to), std::byte{0x5a});
}

INSTANTIATE_TEST_SUITE_P(every, strict_packets, testing::ValuesIn(wrongs),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace freehca::model::test
