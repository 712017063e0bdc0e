// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Requests that are wrong in one field of one header. After a packet that is dropped the next good
// one is taken as if there had been none.
#include "peer_fixture.hpp"
#include "queues/explanations.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

/// What the packet must bring about.
struct outcome_of_packet {
  /// malformed: it gets as far as the transport, which can make nothing of it; left_to_firmware:
  /// not even there.
  enum class kind : std::uint8_t {
    dropped,
    malformed,
    refused_by_port,
    left_to_firmware,
    taken,
    nak
  } what;
  nak_code code{};
  event_type event = event_type::none;
};
constexpr outcome_of_packet dropped{outcome_of_packet::kind::dropped};
constexpr outcome_of_packet refused_by_port{outcome_of_packet::kind::refused_by_port};
constexpr outcome_of_packet malformed{outcome_of_packet::kind::malformed};
constexpr outcome_of_packet left_to_firmware{outcome_of_packet::kind::left_to_firmware};
constexpr outcome_of_packet taken{outcome_of_packet::kind::taken};
constexpr outcome_of_packet invalid{outcome_of_packet::kind::nak, nak_code::invalid_request,
                                    event_type::wq_invalid_request_error};
constexpr outcome_of_packet no_access{outcome_of_packet::kind::nak, nak_code::remote_access_error,
                                      event_type::wq_access_violation};
/// The length of the packet, or an atomic off its alignment.
constexpr outcome_of_packet bad_size{outcome_of_packet::kind::nak, nak_code::invalid_request,
                                     event_type::wq_access_violation};
constexpr outcome_of_packet cannot{outcome_of_packet::kind::nak,
                                   nak_code::remote_operational_error};

struct wrong_packet {
  const char* name;
  const char* says;  ///< in the explanation: the field and its value
  qp_service service;
  crafted (*make)(peer_fixture&);
  outcome_of_packet comes;
  /// Beside the packet that came and the one that answers.
  std::map<std::string, std::int64_t> counted{};
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

/// A trap, and what the subnet manager and its port have to say about it: six packets each way.
using counts = std::map<std::string, std::int64_t>;
const counts bad_pkey{
    {"PortInfo1 pkey_violations", 1}, {"port1_packets_received", 6}, {"port1_packets_sent", 6}};
const counts bad_qkey{
    {"PortInfo1 qkey_violations", 1}, {"port1_packets_received", 6}, {"port1_packets_sent", 6}};

const wrong_packet wrongs[] = {
    // local route header
    {"LRH_next_header_raw", "LRH next header 0", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::lnh>(link_next_header::raw);
       return c;
     },
     refused_by_port},
    {"LRH_next_header_ip", "LRH next header 1", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::lnh>(link_next_header::ip_non_iba);
       return c;
     },
     refused_by_port},
    {"LRH_length_above_the_packet", "LRH length of 13 words", rc,
     [](t& p) {
       auto c = p.write(8);
       c.words_more = 1;
       return c;
     },
     malformed},
    {"LRH_length_below_the_packet", "LRH length of 11 words", rc,
     [](t& p) {
       auto c = p.write(8);
       c.words_more = -1;
       return c;
     },
     malformed},
    {"LRH_destination_of_another_port", "to LID 0x77", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::dlid>(0x77);
       return c;
     },
     refused_by_port},
    {"LRH_source_of_another_port", "source LID 0x56", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::slid>(t::far_lid + 1);
       return c;
     },
     dropped},
    {"LRH_source_of_another_port_UC", "source LID 0x56", uc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::slid>(t::far_lid + 1);
       return c;
     },
     dropped},
    {"LRH_service_level_of_another_path", nullptr, rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::service_level>(9);
       return c;
     },
     taken},
    // global route header
    {"GRH_where_the_path_has_none", "a GRH; wanted: none", rc,
     [](t& p) {
       auto c = p.write(8);
       c.link.set<&lrh::lnh>(link_next_header::iba_global);
       c.route = image<grh>{}
                     .set<&grh::ip_version>(grh_ip_version)
                     .set<&grh::next_header>(grh_next_header_bth);
       return c;
     },
     dropped},
    {"GRH_missing_where_the_path_has_one", "no GRH; wanted: one", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route.reset();
       c.link.set<&lrh::lnh>(link_next_header::iba_local);
       return c;
     },
     dropped},
    {"GRH_version", "GRH version 4", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->set<&grh::ip_version>(4);
       return c;
     },
     malformed},
    {"GRH_next_header", "GRH next header 0x11", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->set<&grh::next_header>(0x11);
       return c;
     },
     malformed},
    {"GRH_source", "GRH source GID", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->data()[grh{}.sgid.offset + 15] ^= std::byte{1};
       return c;
     },
     dropped},
    {"GRH_destination", "GRH destination GID", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->data()[grh{}.dgid.offset + 15] ^= std::byte{1};
       return c;
     },
     dropped},
    {"GRH_subnet_prefix_of_the_source", "GRH source GID", rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->data()[grh{}.sgid.offset + 1] ^= std::byte{1};
       return c;
     },
     dropped},
    {"GRH_payload_length", nullptr, rc,
     [](t& p) {
       p.go_global();
       auto c = p.write(8);
       c.route->set<&grh::payload_length>(3);
       return c;
     },
     taken},
    // base transport header
    {"BTH_version", "transport header version 1", rc,
     [](t& p) { return p.write(8).in_base<&bth::version>(1); }, dropped},
    {"BTH_opcode_of_another_service", "opcode 0x2a", rc,
     [](t& p) {
       return p.write(8).in_base<&bth::opcode>(
           make_bth_opcode(bth_transport::uc, op::rdma_write_only));
     },
     dropped},
    {"BTH_opcode_reserved", "operation 0x1f", rc,
     [](t& p) {
       return p.write(8).in_base<&bth::opcode>(
           make_bth_opcode(bth_transport::rc, static_cast<op>(0x1f)));
     },
     invalid},
    {"BTH_opcode_reserved_UC", "operation 0x1f", uc,
     [](t& p) {
       return p.write(8).in_base<&bth::opcode>(
           make_bth_opcode(bth_transport::uc, static_cast<op>(0x1f)));
     },
     dropped},
    {"BTH_read_over_UC", "a read over an unreliable connection", uc,
     [](t& p) { return p.of(op::rdma_read_request).add(p.range(8)); }, dropped},
    {"BTH_P_Key_of_another_partition", "P_Key 0x8123", rc,
     [](t& p) { return p.write(8).in_base<&bth::pkey>(0x8123); }, dropped, bad_pkey},
    {"BTH_P_Key_of_another_partition_UD", "P_Key 0x8123", ud,
     [](t& p) { return p.send(8).in_base<&bth::pkey>(0x8123); }, dropped, bad_pkey},
    {"BTH_destination_that_does_not_exist", "to QP 0x0003f0", rc,
     [](t& p) { return p.write(8).in_base<&bth::dest_qp>(0x3f0); }, dropped},
    {"BTH_destination_0", "QP 0x000000", rc,
     [](t& p) { return p.write(8).in_base<&bth::dest_qp>(0); }, left_to_firmware},
    {"BTH_destination_group_without_GRH", "without a GRH", ud,
     [](t& p) { return p.send(8).in_base<&bth::dest_qp>(multicast_qpn); }, dropped},
    {"BTH_pad_longer_than_the_packet", "BTH pad count", rc,
     [](t& p) {
       auto c = shortened(p.of(op::send_only), 0);
       c.pad = 3;
       return c;
     },
     malformed},
    {"BTH_PSN_ahead",
     "PSN 0xfffff2",
     rc,
     [](t& p) { return p.write(8).in_base<&bth::psn>(psn_add(t::first_psn, 2)); },
     {outcome_of_packet::kind::nak, nak_code::psn_sequence_error},
     {{"transport_out_of_sequence", 1},
      {"transport_out_of_sequence_port1", 1},
      {"DIAG_RPRT rq_num_oos", 1}}},
    {"BTH_middle_without_first", "operation 0x7 ", rc,
     [](t& p) { return p.of(op::rdma_write_middle).payload(1024); }, invalid},
    {"BTH_last_without_first", "operation 0x2 ", rc,
     [](t& p) { return p.of(op::send_last).payload(8); }, invalid},
    {"BTH_first_within_a_message", "operation 0x0 while a send", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::send_first).payload(1024);
     },
     invalid},
    {"BTH_first_within_a_message_UC", nullptr, uc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.write(8);
     },
     taken},
    {"BTH_middle_of_another_kind", "operation 0x1 while a write", rc,
     [](t& p) {
       p.before(p.of(op::rdma_write_first).add(p.range(2048)).payload(1024));
       return p.of(op::send_middle).payload(1024);
     },
     invalid},
    {"BTH_read_within_a_message", "a read while a message", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::rdma_read_request).add(p.range(8));
     },
     invalid},
    {"BTH_opcode_no_datagram", "opcode 0x60", ud,
     [](t& p) { return p.of(op::send_first).payload(8); }, dropped},
    // RDMA extended transport header
    {"RETH_cut_short", "end of its RETH", rc,
     [](t& p) { return shortened(p.of(op::rdma_write_only).add(p.range(0)), 4); }, bad_size},
    {"RETH_cut_short_in_a_read", "end of its RETH", rc,
     [](t& p) { return shortened(p.of(op::rdma_read_request).add(p.range(8)), 4); }, bad_size},
    {"RETH_R_Key", "under key 0x12345678", rc,
     [](t& p) {
       return p.of(op::rdma_write_only).add(p.range(8).set<&reth::rkey>(0x12345678)).payload(8);
     },
     no_access},
    {"RETH_R_Key_in_a_read", "under key 0x1:", rc,
     [](t& p) { return p.of(op::rdma_read_request).add(p.range(8).set<&reth::rkey>(1)); },
     no_access},
    {"RETH_address_below_the_region", "at 0x6ffffffffffc", rc,
     [](t& p) {
       return p.of(op::rdma_write_only)
           .add(p.range(8).set<&reth::virtual_address>(t::to - 0x20004))
           .payload(8);
     },
     no_access},
    {"RETH_address_around_the_end", "at 0xfffffffffffffffc", rc,
     [](t& p) {
       return p.of(op::rdma_write_only)
           .add(p.range(8).set<&reth::virtual_address>(~std::uint64_t{3}))
           .payload(8);
     },
     no_access},
    {"RETH_length_above_the_longest_message", "RETH length of 1073741825 bytes", rc,
     [](t& p) {
       return p.of(op::rdma_write_first)
           .add(p.range(8).set<&reth::dma_length>(0x40000001))
           .payload(1024);
     },
     bad_size},
    {"RETH_length_above_the_payload", "8 bytes of payload, 12 of", rc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(12)).payload(8); }, bad_size},
    {"RETH_length_below_the_payload", "8 bytes of payload, 4 of", rc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(4)).payload(8); }, bad_size},
    {"RETH_length_below_the_payload_UC", "8 bytes of payload, 4 of", uc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(4)).payload(8); }, dropped},
    {"RETH_R_Key_UC", "under key 0x1:", uc,
     [](t& p) { return p.of(op::rdma_write_only).add(p.range(8).set<&reth::rkey>(1)).payload(8); },
     dropped},
    // atomic extended transport header
    {"AtomicETH_cut_short", "end of its AtomicETH", rc,
     [](t& p) { return shortened(p.of(op::fetch_add).add(p.operands()), 4); }, bad_size},
    {"AtomicETH_address_off_its_alignment", "at 0x700000020004", rc,
     [](t& p) {
       return p.of(op::fetch_add).add(p.operands().set<&atomic_eth::virtual_address>(t::to + 4));
     },
     bad_size},
    {"AtomicETH_R_Key", "under key 0x1:", rc,
     [](t& p) { return p.of(op::compare_swap).add(p.operands().set<&atomic_eth::rkey>(1)); },
     no_access},
    {"AtomicETH_within_a_message", "an atomic while a message", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::fetch_add).add(p.operands());
     },
     invalid},
    // datagram extended transport header
    {"DETH_cut_short", "end of its DETH", ud, [](t& p) { return shortened(p.send(0), 4); },
     dropped},
    {"DETH_Q_Key", "Q_Key 0x10111111", ud,
     [](t& p) {
       auto c = p.send(8);
       c.rest[0] ^= std::byte{1};
       return c;
     },
     dropped, bad_qkey},
    // XRC extended transport header
    {"XRCETH_cut_short", "end of its XRCETH", xrc, [](t& p) { return shortened(p.send(0), 4); },
     dropped},
    {"XRCETH_queue_that_does_not_exist", "SRQ 0x000046", xrc,
     [](t& p) {
       auto c = p.send(8);
       c.rest[3] ^= std::byte{1};
       return c;
     },
     cannot},
    {"XRCETH_queue_that_does_not_exist_in_a_write", "SRQ 0x000046", xrc,
     [](t& p) {
       auto c = p.write(8);
       c.rest[3] ^= std::byte{1};
       return c;
     },
     no_access},
    // immediate data, R_Key to invalidate
    {"ImmDt_cut_short", "end of its ImmDt", rc, [](t& p) { return p.of(op::send_only_imm); },
     bad_size},
    {"ImmDt_cut_short_UD", "end of its ImmDt", ud, [](t& p) { return p.of(op::send_only_imm); },
     dropped},
    {"IETH_cut_short", "end of its IETH", rc, [](t& p) { return p.of(op::send_only_invalidate); },
     bad_size},
    // payload
    {"payload_of_a_first_packet_below_the_MTU", "1020 bytes of payload", rc,
     [](t& p) { return p.of(op::send_first).payload(1020); }, bad_size},
    {"payload_of_a_last_packet_empty", ": 0 bytes of payload", rc,
     [](t& p) {
       p.before(p.of(op::send_first).payload(1024));
       return p.of(op::send_last);
     },
     bad_size},
    {"payload_above_the_MTU", "1028 bytes of payload", rc, [](t& p) { return p.send(1028); },
     bad_size},
    {"payload_above_the_ports_MTU_UD", "4100 bytes of payload", ud,
     [](t& p) { return p.send(4100); }, dropped},
    {"payload_above_the_ports_MTU_UD_with_immediate", "4100 bytes of payload", ud,
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
  const bool reliable = b.service == qp_service::rc || b.service == qp_service::xrc;
  const bool shared_queue = b.service == qp_service::xrc;
  const bool nak = w.comes.what == kind::nak;
  const bool ends = nak && w.comes.code != nak_code::psn_sequence_error;
  const bool answered = nak || (w.comes.what == kind::taken && reliable);
  byte_at(to) = std::byte{0x11};
  watch();
  deliver(wrong);
  const whole_answer came = looks->look();

  wanted_answer wanted;
  wanted.says = w.says;
  wanted.counted = w.counted;
  if (w.comes.what == kind::refused_by_port) {
    ++wanted.counted["PortCounters1 rcv_errors"];
  } else {
    ++wanted.counted["port1_packets_received"];
    if (w.comes.what != kind::malformed && w.comes.what != kind::left_to_firmware)
      ++wanted.counted["transport_packets_received"];
  }
  if (w.comes.what == kind::dropped || w.comes.what == kind::malformed)
    ++wanted.counted["transport_packets_dropped"];
  if (answered) {
    for (const char* name : {"port1_packets_sent", "transport_packets_sent"})
      ++wanted.counted[name];
    if (!shared_queue) ++wanted.counted["rc_acknowledges"];
  }
  if (ends) {
    if (w.comes.event != event_type::none) wanted.events.push_back(w.comes.event);
    // What is left in a shared queue is for others.
    for (unsigned i = 0; !shared_queue && i < receives; ++i)
      wanted.completions.push_back({b.number, false, failures::flush_receive});
  }
  std::string more;
  if (answered) {
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].operation, op::acknowledge);
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), nak ? aeth_type::nak : aeth_type::ack);
    more = "acknowledged";
    if (nak) {
      EXPECT_EQ(answers[0].header.get<&aeth::value>(), static_cast<unsigned>(w.comes.code));
      more = std::string("\"") + name_of(w.comes.code) + "\"" + (ends ? "; the error state" : "");
    }
  } else {
    EXPECT_TRUE(answers.empty());
    more = w.comes.what == kind::taken              ? "taken"
           : w.comes.what == kind::left_to_firmware ? "dropped by the firmware's agent"
                                                    : "dropped";
  }
  EXPECT_EQ(state_of(b), ends ? qp_state::error : qp_state::rts);
  EXPECT_EQ(byte_at(to), w.comes.what == kind::taken ? std::byte{0x5a} : std::byte{0x11});
  expect(wanted, came, more);
  if (nak || w.comes.what == kind::taken) return;

  // The same queue pair takes a good one.
  if (!reliable) psn = psn_add(psn, 1);
  deliver(b.service == qp_service::ud ? send(8) : write(8));
  if (reliable) {
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].header.get<&aeth::type>(), aeth_type::ack);
  }
  EXPECT_EQ(byte_at(b.service == qp_service::ud ? to + grh::bytes : to), std::byte{0x5a});
}

INSTANTIATE_TEST_SUITE_P(every, strict_packets, testing::ValuesIn(wrongs),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace freehca::model::test
