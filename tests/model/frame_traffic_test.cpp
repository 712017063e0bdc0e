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

// UDP over IPv4 with right checksums, and TCP segments: computed by a script of their own
// (RFC 1071).
const frame_bytes udp_frame = from_hex(
    "0002c9f0ca01 525400000702 0800"
    "4500002c00010000401154be0a0009020a000901"
    "1f900035001881b6 000102030405060708090a0b0c0d0e0f");
const frame_bytes tcp_ethernet = from_hex("525400000702 0002c9f0ca01 0800");

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

TEST_F(frames, a_queue_pair_that_forces_its_priority_has_it_in_the_tag) {
  test_qp other = make_qp(0x190, qp_service::mlx);
  to_ready(other.number,
           frame_context(other).set<&primary_path::feup>(true).set<&primary_path::sched_queue>(
               sched_queue_ethernet(1, 5)));
  image<wqe_ctrl_ethernet> c;
  c.set<&wqe_ctrl_ethernet::ins_cvlan>(true).set<&wqe_ctrl_ethernet::vlan_tag>(0x7007);
  const frame_bytes f = plain(peer_mac, mac, 64), tag = from_hex("8100b007");
  send_frame(other, f, c);
  frame_bytes tagged = f;
  tagged.insert(tagged.begin() + 12, tag.begin(), tag.end());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0], tagged);
  // A tag that is part of the data stays.
  const frame_bytes own_tag = from_hex("81006007");
  frame_bytes tagged_before = f;
  tagged_before.insert(tagged_before.begin() + 12, own_tag.begin(), own_tag.end());
  send_frame(other, tagged_before);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1], tagged_before);
}

TEST_F(frames, a_frame_arrives_in_the_next_receive_with_its_length) {
  const frame_bytes f = plain(mac, peer_mac, 200);
  const image<cqe> e = received(f);
  EXPECT_EQ(e.get<&cqe::byte_count>(), 200u);
  EXPECT_EQ(read(receive_at, 200), f);
  EXPECT_FALSE(e.get<&cqe::ipv4>());
  EXPECT_EQ(e.get<&cqe::checksum>(), 0u);
}

TEST_F(frames, the_completion_says_that_checksums_are_right) {
  const image<cqe> e = received(udp_frame);
  EXPECT_TRUE(e.get<&cqe::ipv4>());
  EXPECT_TRUE(e.get<&cqe::udp>());
  EXPECT_FALSE(e.get<&cqe::tcp>());
  EXPECT_TRUE(e.get<&cqe::ip_ok>());
  EXPECT_TRUE(e.get<&cqe::l4_csum_ok>());
  EXPECT_EQ(e.get<&cqe::checksum>(), 0xffffu);
}

TEST_F(frames, the_completion_says_that_checksums_are_wrong) {
  frame_bytes f = udp_frame;
  f.back() ^= std::byte{1};
  image<cqe> e = received(f);
  EXPECT_TRUE(e.get<&cqe::ip_ok>());
  EXPECT_FALSE(e.get<&cqe::l4_csum_ok>());
  EXPECT_NE(e.get<&cqe::checksum>(), 0xffffu);
  f = udp_frame;
  f[24] ^= std::byte{1};
  e = received(f);
  EXPECT_FALSE(e.get<&cqe::ip_ok>());
}

TEST_F(frames, checksums_are_put_in_where_the_send_asks_for_them) {
  frame_bytes f = udp_frame;
  f[24] = f[25] = f[40] = f[41] = std::byte{0x55};
  image<wqe_ctrl_ethernet> c;
  c.set<&wqe_ctrl_ethernet::ip_csum>(true).set<&wqe_ctrl_ethernet::l4_csum>(true);
  send_frame(qp, f, c);
  ASSERT_EQ(sent.size(), 1u);
  frame_bytes whole = udp_frame;
  whole.resize(std::max<std::size_t>(60, whole.size()));
  EXPECT_EQ(sent[0], whole);
}

TEST_F(frames, a_large_send_becomes_segments) {
  const frame_bytes header = tcp_ethernet + from_hex(
                                                "4500000000074000400600000a0009010a000902"
                                                "12340050000003e800000001509903e800000000");
  frame_send s;
  s.bytes = 30;
  s.mss = 12;
  s.header = header;
  for (unsigned i = 0; i < 30; ++i) byte_at(region_start + i) = static_cast<std::byte>(100 + i);
  s.control.set<&wqe_ctrl_ethernet::ip_csum>(true).set<&wqe_ctrl_ethernet::l4_csum>(true);
  post_frame(qp, s);
  ASSERT_EQ(sent.size(), 3u);
  const frame_bytes wanted[] = {tcp_ethernet + from_hex("4500003400074000400614bb0a0009010a000902"
                                                        "12340050000003e800000001509003e8f6720000"
                                                        "6465666768696a6b6c6d6e6f"),
                                tcp_ethernet + from_hex("4500003400084000400614ba0a0009010a000902"
                                                        "12340050000003f400000001501003e8ae9e0000"
                                                        "707172737475767778797a7b"),
                                tcp_ethernet + from_hex("4500002e00094000400614bf0a0009010a000902"
                                                        "123400500000040000000001501903e8f3d70000"
                                                        "7c7d7e7f8081")};
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(sent[i], wanted[i]) << i;
  expect_done(qp, true, static_cast<unsigned>(wqe_opcode::lso));
  EXPECT_TRUE(no_completion());
}

TEST_F(frames, a_frame_with_its_destination_in_the_request_also_comes_back) {
  image<wqe_ctrl_ethernet> c;
  c.set<&wqe_ctrl_ethernet::dmac_47_32>(mac >> 32).set<&wqe_ctrl_ethernet::dmac_31_0>(mac &
                                                                                      0xffffffff);
  const frame_bytes f = plain(mac, peer_mac, 64);
  send_frame(qp, f, c);
  EXPECT_EQ(sent.size(), 1u);
  expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
  expect_done(qp, false, 1);
  EXPECT_EQ(read(receive_at, 64), f);
}

TEST_F(frames, words_of_another_request_where_the_destination_stands_bring_nothing_back) {
  for (const std::uint64_t stale : {std::uint64_t{0}, std::uint64_t{0x4500'0034}, peer_mac}) {
    image<wqe_ctrl_ethernet> c;
    c.set<&wqe_ctrl_ethernet::dmac_47_32>(stale >> 32)
        .set<&wqe_ctrl_ethernet::dmac_31_0>(stale & 0xffffffff);
    send_frame(qp, plain(mac, peer_mac, 64), c);
    expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
    EXPECT_TRUE(no_completion());
  }
  EXPECT_EQ(sent.size(), 3u);
}

TEST_F(frames, what_is_forced_to_loop_does_not_leave) {
  image<wqe_ctrl_ethernet> c;
  c.set<&wqe_ctrl_ethernet::force_loopback>(true);
  send_frame(qp, plain(mac, peer_mac, 64), c);
  EXPECT_TRUE(sent.empty());
  expect_done(qp, true, static_cast<unsigned>(wqe_opcode::send));
  expect_done(qp, false, 1);
}

/// Four rings that take frames, and one queue pair that spreads frames over them.
class spread_frames : public frames {
 protected:
  spread_frames() : spreader(make_qp(0x1b0, qp_service::mlx)) {
    for (unsigned i = 0; i < 4; ++i) {
      rings[i] = make_frame_qp(0x1a0 + i);
      for (unsigned n = 0; n < 8; ++n) post_receive(rings[i], receive_at + n * 0x1000, 0x1000, key);
    }
    // Microsoft's verification suite for RSS: this key, and the hash of the first of its vectors.
    const frame_bytes hash_key = from_hex(
        "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");
    std::byte key_of_rss[40];
    std::copy(hash_key.begin(), hash_key.end(), key_of_rss);
    rss.set<&rss_context::log_size>(2)
        .set<&rss_context::base_qpn>(0x1a0)
        .set<&rss_context::default_qpn>(0x1a0)
        .set<&rss_context::hash>(rss_hash::toeplitz)
        .set<&rss_context::ipv4>(true)
        .set<&rss_context::tcp_ipv4>(true)
        .set<&rss_context::udp_ipv4>(true)
        .set<&rss_context::base_qpn_udp>(0x1a0)
        .set_bytes<&rss_context::key>(key_of_rss);
  }
  /// Without the parameters of RSS, and without the bit.
  image<qpc> plain_context() {
    return frame_context(spreader)
        .set<&qpc::log_rq_size>(0)
        .set<&qpc::log_rq_stride>(0)
        .set<&qpc::log_sq_size>(0);
  }
  image<qpc> spreading_context() {
    image<qpc> c = plain_context().set<&qpc::rss>(true);
    std::memcpy(c.data() + rss_context_offset, rss.data(), rss_context::bytes);
    return c;
  }
  void expect_spreads() {
    // 66.9.149.187:2794 to 161.142.100.80:1766, TCP: 0x51ccc178.
    arrive(from_hex("0002c9f0ca01 525400000702 0800"
                    "4500002800010000400600004209 95bb a18e6450"
                    "0aea06e6 00000000 00000000 5000 0000 0000 0000") +
           frame_bytes(6));
    const image<cqe> e = completion();
    EXPECT_EQ(e.get<&cqe::immediate>(), 0x51ccc178u);
    EXPECT_EQ(e.get<&cqe::qpn>(), 0x1a0u + (0x51ccc178u & 3));
    arrive(udp_frame);
    const image<cqe> by_udp = completion();
    EXPECT_EQ(by_udp.get<&cqe::qpn>(), 0x1a0u + (by_udp.get<&cqe::immediate>() & 3));
    // What is not IP has no hash, and its own queue pair.
    arrive(plain(mac, peer_mac));
    const image<cqe> other = completion();
    EXPECT_EQ(other.get<&cqe::immediate>(), 0u);
    EXPECT_EQ(other.get<&cqe::qpn>(), 0x1a0u);
  }
  /// The parameters in the context are those that RST2INIT gave.
  void expect_kept() {
    const image<qpc> now = context_of(spreader);
    EXPECT_EQ(std::memcmp(now.data() + rss_context_offset, rss.data(), rss_context::bytes), 0);
  }
  test_qp rings[4], spreader;
  image<rss_context> rss;
};

TEST_F(spread_frames, go_to_the_ring_of_their_hash_which_the_completion_tells) {
  to_ready(spreader.number, spreading_context());
  steer_to(spreader.number, spreader.number);
  expect_spreads();
}

TEST_F(spread_frames, go_by_the_parameters_of_rst2init_whatever_later_mailboxes_have) {
  // hw/mlx4/qp.c __mlx4_ib_modify_qp: the parameters and the bit from RESET to INIT only.
  ASSERT_EQ(modify(opcode::rst2init_qp, spreader.number, spreading_context()), command_status::ok);
  ASSERT_EQ(modify(opcode::init2rtr_qp, spreader.number, plain_context()), command_status::ok);
  expect_kept();
  ASSERT_EQ(modify(opcode::rtr2rts_qp, spreader.number, plain_context()), command_status::ok);
  expect_kept();
  steer_to(spreader.number, spreader.number);
  expect_spreads();
  // Nor does an option reach what stands over its field.
  image<qpc> odd = plain_context();
  std::memset(odd.data() + rss_context_offset, 0, rss_context::bytes);
  constexpr std::uint32_t every_option = ~std::uint32_t{0};
  ASSERT_EQ(modify(opcode::rts2rts_qp, spreader.number, odd, every_option), command_status::ok);
  expect_kept();
  expect_spreads();
}

TEST_F(spread_frames, are_received_again_when_their_queue_pair_has_drained) {
  to_ready(spreader.number, spreading_context());
  steer_to(spreader.number, spreader.number);
  events(event_type::none);
  ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, spreader.number | 1u << 31).status,
            command_status::ok);
  EXPECT_EQ(events(event_type::sq_drained), 1u);
  EXPECT_EQ(state_of(spreader), qp_state::sq_drained);
  ASSERT_EQ(modify(opcode::sqd2rts_qp, spreader.number, spreading_context()), command_status::ok);
  EXPECT_EQ(state_of(spreader), qp_state::rts);
  expect_spreads();
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

TEST_F(frames, a_queue_pair_of_one_receive_receives) {
  test_qp other = make_qp(0x190, qp_service::mlx);
  // As mlx4_ib says it: log 0, and room for one segment.
  to_ready(other.number,
           frame_context(other).set<&qpc::log_rq_size>(0).set<&qpc::log_rq_stride>(0));
  steer_to(other.number, other.number);
  for (unsigned n = 1; n <= 3; ++n) {
    put(other, std::size_t{test_qp::entries} * test_qp::stride,
        data_segment(receive_at, 0x1000, key));
    host->store(other.record, image<rq_doorbell_record>{}.set<&rq_doorbell_record::wqe_counter>(n));
    arrive(plain(mac, peer_mac));
    expect_done(other, false, 1);
    arrive(plain(mac, peer_mac));
    EXPECT_TRUE(no_completion());
  }
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
