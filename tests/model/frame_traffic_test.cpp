// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Raw Ethernet queue pairs: frames out of send queues, frames into receive queues.
#include "frame_fixture.hpp"

namespace freehca::model::test {
namespace {

using namespace layouts;

constexpr std::uint64_t receive_at = 0x7000'0010'0000;

struct frames : frame_fixture {
  frames() : qp(make_frame_qp(0x180)) {
    steer_to(qp.number, qp.number);
    for (unsigned i = 0; i < 8; ++i) post_receive(qp, receive_at + i * 0x3000, 0x3000, key);
  }
  image<cqe> received(const frame_bytes& f) {
    arrive(f);
    const image<cqe> e = completion();
    EXPECT_FALSE(e.get<&cqe::is_send>());
    EXPECT_EQ(e.get<&cqe::opcode>(), 1u);
    EXPECT_EQ(e.get<&cqe::qpn>(), qp.number);
    return e;
  }
  test_qp qp;
};

// An IPv4 header with a right checksum (RFC 1071's sum), UDP behind it: made by scapy.
const frame_bytes udp_frame = from_hex(
    "0002c9f0ca01 525400000702 0800"
    "4500002c000100004011 62bf 0a000902 0a000901"
    "1f9000350018 6f3a 000102030405060708090a0b0c0d0e0f");

TEST_F(frames, a_frame_leaves_as_it_was_posted_and_the_send_completes) {
  const frame_bytes f = plain(peer_mac, mac, 100);
  send_frame(qp, f);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], f);
  expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
}

TEST_F(frames, a_short_frame_is_padded_with_zeros_to_sixty_bytes) {
  const frame_bytes f = plain(peer_mac, mac, 17);
  send_frame(qp, f);
  ASSERT_EQ(sent.size(), 1u);
  frame_bytes padded = f;
  padded.resize(60);
  EXPECT_EQ(sent[0], padded);
}

TEST_F(frames, what_the_port_does_not_hold_is_dropped_and_the_send_completes) {
  send_frame(qp, plain(peer_mac, mac, 20000));
  EXPECT_TRUE(sent.empty());
  expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
}

TEST_F(frames, a_vlan_tag_is_put_behind_the_source_address) {
  image<wqe_ctrl_ethernet> c;
  c.set<&wqe_ctrl_ethernet::ins_cvlan>(true).set<&wqe_ctrl_ethernet::vlan_tag>(0x6005);
  const frame_bytes f = plain(peer_mac, mac, 64);
  send_frame(qp, f, c);
  ASSERT_EQ(sent.size(), 1u);
  frame_bytes tagged = f;
  const frame_bytes tag = from_hex("81006005");
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  EXPECT_EQ(sent[0], tagged);
}

TEST_F(frames, a_frame_arrives_in_the_next_receive_with_its_length) {
  const frame_bytes f = plain(mac, peer_mac, 200);
  const image<cqe> e = received(f);
  EXPECT_EQ(e.get<&cqe::byte_count>(), 200u);
  EXPECT_EQ(read(receive_at, 200), f);
  EXPECT_FALSE(e.get<&cqe::ipv4>());
  EXPECT_EQ(e.get<&cqe::checksum>(), 0u);
}

TEST_F(frames, a_frame_for_somebody_else_does_not_arrive) {
  arrive(plain(0x020000000001, peer_mac));
  EXPECT_TRUE(no_completion());
}

TEST_F(frames, the_tag_is_taken_out_and_told_by_the_completion) {
  frame_bytes f = plain(mac, peer_mac, 100);
  const frame_bytes untagged = f, tag = from_hex("8100b005");
  f.insert(f.begin() + 12, tag.begin(), tag.end());
  std::memset(host->at(driver->input), 0xff, 4096);
  ASSERT_EQ(driver->command(opcode::set_vlan_fltr, driver->input, 1).status, command_status::ok);
  const image<cqe> e = received(f);
  EXPECT_TRUE(e.get<&cqe::cvlan_present>());
  EXPECT_EQ(e.get<&cqe::sl>(), 0xbu);
  EXPECT_EQ(e.get<&cqe::vid>(), 5u);
  EXPECT_EQ(e.get<&cqe::byte_count>(), 100u);
  EXPECT_EQ(read(receive_at, 100), untagged);
}

TEST_F(frames, a_frame_that_is_longer_than_its_receive_ends_that_receive_alone) {
  test_qp other = make_frame_qp(0x190);
  steer_to(other.number, other.number);
  post_receive(other, receive_at, 64, key);
  post_receive(other, receive_at + 0x1000, 0x1000, key);
  arrive(plain(mac, peer_mac, 65));
  expect_error(other, false, cqe_syndrome::local_length, vendor_syndrome::length_requester);
  arrive(plain(mac, peer_mac, 65));
  expect_done(other, false, 1);
  EXPECT_EQ(state_of(other), qp_state::rts);
}

TEST_F(frames, without_a_receive_a_frame_is_dropped_and_the_queue_pair_lives) {
  test_qp other = make_frame_qp(0x190);
  steer_to(other.number, other.number);
  arrive(plain(mac, peer_mac));
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 0u);
  post_receive(other, receive_at, 0x1000, key);
  arrive(plain(mac, peer_mac));
  expect_done(other, false, 1);
}

TEST_F(frames, the_fcs_is_put_behind_the_frame_where_the_context_asks_for_it) {
  test_qp other = make_qp(0x190, qp_service::mlx);
  to_ready(other.number, frame_context(other).set<&qpc::scatter_fcs>(true));
  steer_to(other.number, other.number);
  post_receive(other, receive_at, 0x1000, key);
  // By Python's zlib.crc32.
  frame_bytes f = plain(mac, peer_mac, 60);
  std::fill(f.begin() + 14, f.end(), std::byte{0});
  arrive(f);
  const image<cqe> e = completion();
  EXPECT_EQ(e.get<&cqe::byte_count>(), 64u);
  EXPECT_EQ(read(receive_at + 60, 4), from_hex("671e96d6"));
}

TEST_F(frames, a_transmit_ring_reads_no_doorbell_record_for_receives) {
  test_qp other = make_qp(0x190, qp_service::mlx);
  image<qpc> c = frame_context(other);
  c.set<&qpc::log_rq_size>(0).set<&qpc::log_rq_stride>(0).set<&qpc::db_rec_addr>(0xdeadbeef000);
  to_ready(other.number, c);
  ASSERT_EQ(driver->command(opcode::to_err_qp, 0, other.number).status, command_status::ok);
  host->advance(10'000'000'000);
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 0u);
  EXPECT_TRUE(host->complaints.empty());
}

TEST_F(frames, a_queue_of_two_to_the_n_entries_holds_as_many_completions) {
  test_driver::queue small;
  ASSERT_EQ(driver->make_cq(small, 210, eqn, 3).status, command_status::ok);
  test_qp other = make_qp(0x190, qp_service::mlx);
  to_ready(other.number, frame_context(other).set<&qpc::cqn_recv>(210));
  steer_to(other.number, other.number);
  for (unsigned i = 0; i < 8; ++i) post_receive(other, receive_at + i * 0x1000, 0x1000, key);
  for (unsigned i = 0; i < 8; ++i) arrive(plain(mac, peer_mac));
  image<cqe> e;
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(driver->next_completion(small, e));
  EXPECT_TRUE(host->complaints.empty());
}

}  // namespace
}  // namespace freehca::model::test
