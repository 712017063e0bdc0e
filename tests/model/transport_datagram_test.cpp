// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Unreliable datagrams, special queue pairs, multicast groups, shared receive queues.
#include <freehca/layouts/headers.hpp>
#include <freehca/layouts/mcg.hpp>

#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;

namespace {

class ud : public transport_fixture {
 protected:
  static constexpr std::uint64_t to = region_start + 0x10000;
  ud() : a(make_qp(0x140, qp_service::ud)), b(make_qp(0x141, qp_service::ud)) {
    to_rts(a, 0);
    to_rts(b, 0);
  }
  test_send datagram(std::uint32_t bytes) {
    test_send s;
    s.address = region_start;
    s.bytes = bytes;
    s.lkey = key;
    s.dqpn = b.number;
    s.qkey = qkey;
    return s;
  }
  /// Sends `s` from `a` after `change` to its datagram segment.
  template <class Change>
  void send_changed(const test_send& s, Change change) {
    const std::size_t at = std::size_t{a.sent % test_qp::entries} * test_qp::stride + 16;
    post_send(a, s);
    auto segment = layouts::image<layouts::wqe_datagram>::from_bytes(driver->bytes_of(a.ring, at));
    change(segment);
    put(a, at, segment);
    ring(a);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  }
  void send_by(unsigned path_bits) {
    send_changed(datagram(20), [&](auto& segment) {
      segment.template set<&layouts::wqe_datagram::my_lid_smac_idx>(path_bits);
    });
  }
  void send_to_group(unsigned path_bits) {
    test_send s = datagram(20);
    s.dqpn = layouts::multicast_qpn;
    s.global = true;
    send_changed(s, [&](auto& segment) {
      segment.template set<&layouts::wqe_datagram::rlid>(0xc001)
          .template set<&layouts::wqe_datagram::my_lid_smac_idx>(path_bits)
          .template set_bytes<&layouts::wqe_datagram::dgid>(mgid);
    });
  }
  /// Of `a`, which does not hear itself, and `b`.
  void make_group() {
    std::memcpy(host->at(driver->input), mgid, sizeof mgid);
    const auto hash = driver->command(opcode::mgid_hash, driver->input);
    ASSERT_EQ(hash.status, command_status::ok);
    const auto index = static_cast<std::uint32_t>(hash.output);
    layouts::image<layouts::mcg_header> head;
    ASSERT_EQ(driver->query(opcode::read_mcg, head, index).status, command_status::ok);
    EXPECT_EQ(head.get<&layouts::mcg_header::members_count>(), 0u)
        << "groups read as empty after INIT_HCA";

    head.set<&layouts::mcg_header::members_count>(2).set_bytes<&layouts::mcg_header::gid>(mgid);
    host->store(driver->input, head);
    for (unsigned i = 0; i < 2; ++i) {
      layouts::image<layouts::mcg_member> m;
      m.set<&layouts::mcg_member::qpn>(i == 0 ? a.number : b.number)
          .set<&layouts::mcg_member::block_loopback>(i == 0);
      std::memcpy(host->at(driver->input + layouts::mcg_header::bytes + i * 4), m.data(), 4);
    }
    ASSERT_EQ(driver->command(opcode::write_mcg, driver->input, index).status, command_status::ok);
  }
  /// The port has 2^`mask_bits` LIDs.
  void set_lids(unsigned mask_bits) {
    set_info(unchanging().set<&layouts::port_info::lmc>(mask_bits));
  }
  static constexpr std::byte mgid[16] = {
      std::byte{0xff}, std::byte{0x12}, std::byte{}, std::byte{}, std::byte{}, std::byte{},
      std::byte{},     std::byte{},     std::byte{}, std::byte{}, std::byte{}, std::byte{},
      std::byte{},     std::byte{},     std::byte{}, std::byte{9}};
  test_qp a, b;
};

}  // namespace

TEST_F(ud, datagrams_arrive_behind_forty_bytes_for_the_grh) {
  for (const std::uint32_t bytes : {0u, 1u, 63u, 1000u, 1024u}) {
    fill(region_start, bytes, bytes);
    post_receive(b, to, 40 + bytes, key);
    send(a, datagram(bytes));
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
    const auto e = completion();
    EXPECT_EQ(e.get<&layouts::cqe::opcode>(), static_cast<unsigned>(cqe_opcode::recv_send));
    EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 40 + bytes);
    EXPECT_EQ(e.get<&layouts::cqe::remote_qpn>(), a.number);
    EXPECT_EQ(e.get<&layouts::cqe::slid>(), links().base_lid(1));
    EXPECT_EQ(e.get<&layouts::cqe::sl>(), 3u);
    EXPECT_FALSE(e.get<&layouts::cqe::grh>());
    expect_pattern(to + 40, bytes, bytes);
  }
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(ud, a_global_datagram_brings_its_grh) {
  post_receive(b, to, 140, key);
  auto s = datagram(100);
  s.global = true;
  send(a, s);
  completion();
  EXPECT_TRUE(completion().get<&layouts::cqe::grh>());
  std::byte raw[40];
  for (std::size_t i = 0; i < sizeof raw; ++i) raw[i] = byte_at(to + i);
  const auto grh = layouts::image<layouts::grh>::from_bytes(raw);
  EXPECT_EQ(grh.get<&layouts::grh::ip_version>(), 6u);
  EXPECT_EQ(grh.get<&layouts::grh::flow_label>(), 0x12345u);
  EXPECT_EQ(grh.get<&layouts::grh::payload_length>(), 12 + 8 + 100 + 4u);
}

TEST_F(ud, a_wrong_qkey_and_a_missing_receive_are_dropped_in_silence) {
  auto s = datagram(10);
  s.qkey = 1;
  post_receive(b, to, 100, key);
  send(a, s);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_TRUE(no_completion());
  send(a, datagram(1));
  completion();
  completion();
  send(a, datagram(1));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(driver->counter_named("datagrams_without_receive"), 1u);
}

TEST_F(ud, a_datagram_may_fill_the_ports_mtu) {
  test_qp c = make_qp(0x142, qp_service::ud);
  to_rts(c, ready_context(c, 0).set<&layouts::qpc::mtu>(layouts::ib_mtu::mtu_4096));
  for (const bool global : {false, true})
    for (const wqe_opcode opcode : {wqe_opcode::send, wqe_opcode::send_imm}) {
      post_receive(b, to, 40 + 4096, key);
      test_send s = datagram(4096);
      s.global = global;
      s.opcode = opcode;
      send(c, s);
      expect_done(c, true, static_cast<unsigned>(opcode));
      EXPECT_EQ(completion().get<&layouts::cqe::byte_count>(), 40u + 4096u);
    }
}

TEST_F(ud, the_ports_mtu_counts_where_the_queue_pairs_is_larger) {
  test_qp c = make_qp(0x142, qp_service::ud);
  to_rts(c, ready_context(c, 0).set<&layouts::qpc::mtu>(layouts::ib_mtu::mtu_4096));
  set_info(unchanging().set<&layouts::port_info::neighbor_mtu>(layouts::ib_mtu::mtu_2048));
  post_receive(b, to, 40 + 4096, key);
  send(c, datagram(2048));
  expect_done(c, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_EQ(completion().get<&layouts::cqe::byte_count>(), 40u + 2048u);
  send(c, datagram(2049));
  expect_error(c, true, cqe_syndrome::local_length, 0x69);
  EXPECT_EQ(state_of(c), qp_state::sq_error);
}

TEST_F(ud, a_datagram_beyond_the_mtu_stops_the_send_queue_until_it_is_set_going) {
  send(a, datagram(1025));
  expect_error(a, true, cqe_syndrome::local_length, 0x69);
  EXPECT_EQ(state_of(a), qp_state::sq_error);
  send(a, datagram(1));
  expect_error(a, true, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
  ASSERT_EQ(modify(opcode::sqerr2rts_qp, a.number, ready_context(a, 0)), command_status::ok);
  post_receive(b, to, 100, key);
  send(a, datagram(1));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
}

TEST_F(ud, multicast_reaches_every_member_and_no_other) {
  make_group();
  post_receive(a, to, 100, key);
  post_receive(b, to + 4096, 100, key);
  send_to_group(0);
  const auto e = completion();
  EXPECT_EQ(e.get<&layouts::cqe::qpn>(), b.number);
  EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 60u);
  EXPECT_TRUE(no_completion());
}

TEST_F(ud, multicast_of_any_path_does_not_come_back_where_that_is_blocked) {
  make_group();
  set_lids(1);
  post_receive(a, to, 100, key);
  for (const unsigned bits : {0u, 1u, 3u}) {
    post_receive(b, to + 4096, 100, key);
    send_to_group(bits);
    expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
    EXPECT_TRUE(no_completion()) << bits;
  }
}

TEST_F(ud, path_bits_count_as_far_as_the_port_has_lids) {
  for (const unsigned mask_bits : {0u, 1u}) {
    set_lids(mask_bits);
    for (const unsigned bits : {0u, 1u, 2u, 3u, 0x7fu}) {
      post_receive(b, to, 100, key);
      send_by(bits);
      EXPECT_EQ(completion().get<&layouts::cqe::slid>(), links().base_lid(1) + (bits & mask_bits));
    }
  }
}

namespace {

class special : public ud {
 protected:
  static constexpr std::uint32_t base = 0x180;
  special() : gsi(make_qp(base + 2, qp_service::mlx)) {
    EXPECT_EQ(driver->command(opcode::conf_special_qp, 0, base).status, command_status::ok);
    auto context = first_context(gsi);
    context.set<&layouts::qpc::qkey>(layouts::gsi_qkey);
    EXPECT_EQ(modify(opcode::rst2init_qp, gsi.number, context), command_status::ok);
    EXPECT_EQ(modify(opcode::init2rtr_qp, gsi.number, ready_context(gsi, 0)), command_status::ok);
    EXPECT_EQ(modify(opcode::rtr2rts_qp, gsi.number, ready_context(gsi, 0)), command_status::ok);
  }
  test_qp gsi;
};

}  // namespace

TEST_F(special, a_general_management_packet_reaches_qp1_with_its_pkey_index) {
  post_receive(gsi, to, 40 + 256, key);
  // A Q_Key with its top bit set can only come from the sender's context.
  auto context = ready_context(a, 0);
  context.set<&layouts::qpc::qkey>(layouts::gsi_qkey);
  ASSERT_EQ(modify(opcode::rts2rts_qp, a.number, context, layouts::qp_optpar::qkey),
            command_status::ok);
  auto s = datagram(256);
  s.dqpn = 1;
  s.qkey = layouts::gsi_qkey;
  send(a, s);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  const auto e = completion();
  EXPECT_EQ(e.get<&layouts::cqe::qpn>(), gsi.number);
  EXPECT_EQ(e.get<&layouts::cqe::immediate>() & 0x7f, 0u);
  EXPECT_EQ(e.get<&layouts::cqe::byte_count>(), 296u);
}

TEST_F(special, an_mlx_send_leaves_with_the_headers_that_software_made) {
  // LRH, BTH, DETH inline, 256 bytes of payload, 4 bytes for the ICRC: as Linux builds them.
  layouts::image<layouts::lrh> lrh;
  lrh.set<&layouts::lrh::service_level>(2).set<&layouts::lrh::lnh>(
      layouts::link_next_header::iba_local);
  lrh.set<&layouts::lrh::dlid>(links().base_lid(1))
      .set<&layouts::lrh::packet_length>((8 + 12 + 8 + 256 + 4) / 4);
  layouts::image<layouts::bth> bth;
  bth.set<&layouts::bth::opcode>(layouts::bth_opcode::ud_send_only)
      .set<&layouts::bth::pkey>(0xffff);
  bth.set<&layouts::bth::dest_qp>(b.number);
  layouts::image<layouts::deth> deth;
  deth.set<&layouts::deth::qkey>(qkey).set<&layouts::deth::source_qp>(1);
  fill(region_start, 256, 3);

  std::vector<std::byte> headers(28);
  std::memcpy(headers.data(), lrh.data(), 8);
  std::memcpy(headers.data() + 8, bth.data(), 12);
  std::memcpy(headers.data() + 20, deth.data(), 8);
  const auto inline_head = [](std::uint32_t n) {
    return layouts::image<layouts::wqe_inline>{}
        .set<&layouts::wqe_inline::inline_data>(true)
        .set<&layouts::wqe_inline::byte_count>(n);
  };
  put(gsi, 16, inline_head(28));
  std::memcpy(driver->bytes_of(gsi.ring, 20), headers.data(), headers.size());
  put(gsi, 48, data_segment(region_start, 256, key));
  put(gsi, 64, inline_head(4));
  layouts::image<layouts::wqe_ctrl_mlx> control;
  control.set<&layouts::wqe_ctrl_mlx::opcode>(wqe_opcode::send)
      .set<&layouts::wqe_ctrl_mlx::ds>(5)
      .set<&layouts::wqe_ctrl_mlx::sl>(2);
  control.set<&layouts::wqe_ctrl_mlx::cq_update>(layouts::wqe_completion::always)
      .set<&layouts::wqe_ctrl_mlx::rlid>(links().base_lid(1));
  put(gsi, 0, control);
  post_receive(b, to, 296, key);
  ring(gsi);
  expect_done(gsi, true, static_cast<unsigned>(wqe_opcode::send));
  const auto e = completion();
  EXPECT_EQ(e.get<&layouts::cqe::qpn>(), b.number);
  EXPECT_EQ(e.get<&layouts::cqe::remote_qpn>(), 1u);
  EXPECT_EQ(e.get<&layouts::cqe::slid>(), links().base_lid(1))
      << "the port's LID is added to the path bits";
  EXPECT_EQ(e.get<&layouts::cqe::sl>(), 2u);
  expect_pattern(to + 40, 256, 3);
}

namespace {

class srq : public transport_fixture {
 protected:
  static constexpr std::uint32_t number = 70;
  srq() : a(make_qp(0x150)), b(make_qp(0x151)), shared(make_srq(number)) { connect_shared(); }
  /// From a to b, which takes its receives from the shared queue.
  void connect_shared() {
    auto first = first_context(b);
    first.set<&layouts::qpc::srq>(1)
        .set<&layouts::qpc::srqn>(number)
        .set<&layouts::qpc::log_rq_size>(0xf)
        .set<&layouts::qpc::log_rq_stride>(4);
    EXPECT_EQ(modify(opcode::rst2init_qp, b.number, first), command_status::ok);
    EXPECT_EQ(modify(opcode::init2rtr_qp, b.number, ready_context(b, a.number)),
              command_status::ok);
    EXPECT_EQ(modify(opcode::rtr2rts_qp, b.number, ready_context(b, a.number)), command_status::ok);
    to_rts(a, b.number);
    events(event_type::none);
  }
  void post(std::uint64_t address, std::uint32_t bytes) { post_shared(shared, address, bytes); }
  test_send message(std::uint32_t bytes) {
    test_send s;
    s.address = region_start;
    s.bytes = bytes;
    s.lkey = key;
    return s;
  }
  test_qp a, b;
  test_srq shared;
};

}  // namespace

TEST_F(srq, receives_come_from_the_shared_queue_and_are_named_by_index) {
  for (unsigned round = 0; round < 20; ++round) {
    post(region_start + 0x10000, 100);
    send(a, message(50));
    const auto e = completion();
    EXPECT_EQ(e.get<&layouts::cqe::qpn>(), b.number);
    EXPECT_EQ(e.get<&layouts::cqe::wqe_index>(), round % 16);
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
  }
}

TEST_F(srq, the_limit_event_comes_once_when_the_queue_runs_low) {
  for (unsigned i = 0; i < 4; ++i) post(region_start + 0x10000, 100);
  ASSERT_EQ(driver->command(opcode::arm_srq, 3, number).status, command_status::ok);
  layouts::image<layouts::srqc> c;
  ASSERT_EQ(driver->query(opcode::query_srq, c, number).status, command_status::ok);
  EXPECT_EQ(c.get<&layouts::srqc::limit_watermark>(), 3u);
  send(a, message(1));
  EXPECT_EQ(events(event_type::srq_limit), 0u);
  send(a, message(1));
  EXPECT_EQ(events(event_type::srq_limit), 1u);
  send(a, message(1));
  EXPECT_EQ(events(event_type::srq_limit), 0u);
  ASSERT_EQ(driver->query(opcode::query_srq, c, number).status, command_status::ok);
  EXPECT_EQ(c.get<&layouts::srqc::limit_watermark>(), 0u);
}

TEST_F(srq, an_erring_queue_pair_tells_that_its_last_receive_is_done) {
  post(region_start, 10);
  ASSERT_EQ(driver->command(opcode::to_err_qp, 0, b.number).status, command_status::ok);
  EXPECT_EQ(events(event_type::srq_last_wqe), 1u);
  EXPECT_TRUE(no_completion()) << "receives of a shared queue are not flushed";
}

TEST_F(srq, the_queue_cannot_be_taken_back_while_queue_pairs_use_it) {
  EXPECT_EQ(driver->command(opcode::hw2sw_srq, 0, number, 1).status, command_status::resource_busy);
  ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, b.number, 2).status, command_status::ok);
  EXPECT_EQ(driver->command(opcode::hw2sw_srq, 0, number, 1).status, command_status::ok);
  EXPECT_EQ(driver->command(opcode::hw2sw_srq, 0, number, 1).status,
            command_status::bad_resource_state);
}

TEST_F(srq, a_link_out_of_the_queue_is_a_catastrophic_error) {
  post(region_start, 10);
  layouts::image<layouts::wqe_srq_next> next;
  next.set<&layouts::wqe_srq_next::next_wqe_index>(999);
  std::memcpy(driver->bytes_of(shared.ring, 0), next.data(), next.size());
  watch();
  send(a, message(1));
  came({{{a.number, true, failures::remote_operation}},
        {event_type::srq_catastrophic_error, event_type::srq_last_wqe},
        {{"port1_packets_looped_back", 2},
         {"port1_packets_received", 2},
         {"port1_packets_sent", 2},
         {"rc_acknowledges", 1},
         {"rc_send_packets", 1},
         {"transport_packets_received", 2},
         {"transport_packets_sent", 2}},
        {"receive-chain"},
        "entry 0 links to 999"},
       "NAK, and the error state at both ends");
}

TEST_F(srq, a_queue_pair_that_comes_to_a_broken_one_is_told_which) {
  post(region_start, 10);
  layouts::image<layouts::wqe_srq_next> next;
  next.set<&layouts::wqe_srq_next::next_wqe_index>(999);
  std::memcpy(driver->bytes_of(shared.ring, 0), next.data(), next.size());
  send(a, message(1));
  host->run();
  for (test_qp* qp : {&a, &b}) {
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, qp->number, 2).status, command_status::ok);
    *qp = make_qp(qp->number);
  }
  layouts::image<layouts::cqe> e;
  while (driver->next_completion(cq, e)) driver->tell_consumer(cq);
  connect_shared();
  host->remarks.clear();
  send(a, message(1));
  host->run();
  const auto says = [](const remark& r) {
    return r.text.find("SRQ 0x000046 is broken") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(host->remarks.begin(), host->remarks.end(), says));
}

}  // namespace freehca::model::test
