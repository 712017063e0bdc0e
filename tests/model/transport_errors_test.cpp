// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What goes wrong on a connection: each wrong ends in the completion and the event that hardware
// gives.
#include "tables/memory_regions.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {

using layouts::opcode;

namespace {

constexpr unsigned flush_vendor = layouts::vendor_syndrome::flush_receive;

class rc_errors : public transport_fixture {
 protected:
  rc_errors() : a(make_qp(0x100)), b(make_qp(0x101)) {
    to_rts(a, b.number);
    to_rts(b, a.number);
    events(event_type::none);
  }
  test_send write(std::uint32_t bytes = 8) {
    return transfer(wqe_opcode::rdma_write, bytes, region_start, region_start + 0x100000);
  }
  test_send message(std::uint32_t bytes = 8) {
    test_send s = write(bytes);
    s.opcode = wqe_opcode::send;
    return s;
  }
  /// A request of so many packets, and one that answers.
  static std::map<std::string, std::int64_t> exchanged(const char* request, std::int64_t n = 1) {
    std::map<std::string, std::int64_t> counted{{request, n}, {"rc_acknowledges", 1}};
    for (const char* name :
         {"port1_packets_looped_back", "port1_packets_received", "port1_packets_sent",
          "transport_packets_received", "transport_packets_sent"})
      counted[name] = n + 1;
    return counted;
  }
  void lose_page(std::size_t page);
  test_qp a, b;
};

}  // namespace

TEST_F(rc_errors, a_wrong_remote_key_fails_the_request_and_flushes_both_sides) {
  post_receive(b, region_start, 64, key);
  auto s = write();
  s.rkey = key ^ 0x10;
  post_send(a, s);
  post_send(a, write());
  ring(a);
  expect_error(a, true, cqe_syndrome::remote_access, 0x88);
  expect_error(b, false, cqe_syndrome::wr_flush, flush_vendor);
  expect_error(a, true, cqe_syndrome::wr_flush, flush_vendor);
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::error);
  EXPECT_EQ(events(event_type::wq_access_violation), 1u);
}

TEST_F(rc_errors, a_range_past_the_region_is_a_remote_access_error) {
  auto s = write(64);
  s.remote_address = region_start + region_pages * 4096 - 63;
  send(a, s);
  expect_error(a, true, cqe_syndrome::remote_access, 0x88);
}

/// Takes the translation of one page of the region away.
void rc_errors::lose_page(std::size_t page) {
  layouts::image<layouts::write_mtt_header> head;
  head.set<&layouts::write_mtt_header::mtt_base_addr>(data.mtt + page * layouts::mtt::bytes);
  ASSERT_EQ(driver->command_with(opcode::write_mtt, head, 1).status, command_status::ok);
}

TEST_F(rc_errors, a_write_goes_as_far_as_its_packets_find_pages) {
  fill(region_start, 5 * 4096, 3);
  lose_page(0x100 + 3);
  watch();
  send(a, write(5 * 4096));
  auto counted = exchanged("rc_write_packets", 20);
  counted["transport_packets_dropped"] = 7;  // they come to a queue pair in the error state
  came({{{a.number, true, failures::remote_access}},
        {event_type::wq_access_violation},
        counted,
        {},
        "its translation is not there"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(b), qp_state::error);
  expect_pattern(region_start + 0x100000, 3 * 4096, 3);
  for (std::size_t i = 3 * 4096; i < 5 * 4096; ++i)
    ASSERT_EQ(byte_at(region_start + 0x100000 + i), std::byte{0}) << i;
}

TEST_F(rc_errors, a_read_is_answered_as_far_as_its_packets_find_pages) {
  fill(region_start + 0x100000, 5 * 4096, 4);
  lose_page(0x100 + 3);
  test_send s = write(5 * 4096);
  s.opcode = wqe_opcode::rdma_read;
  watch();
  send(a, s);
  auto counted = exchanged("rc_read_requests", 13);
  counted["rc_read_requests"] = 1;
  counted["rc_read_responses"] = 12;
  came({{{a.number, true, failures::remote_access}},
        {event_type::wq_access_violation},
        counted,
        {},
        "its translation is not there"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(b), qp_state::error);
  expect_pattern(region_start, 3 * 4096, 4);
}

TEST_F(rc_errors, the_first_packet_costs_as_much_as_its_bytes_however_long_the_message) {
  // One run of the sender, then one of the receiver, by single packets of 1024 bytes.
  const auto reads_until_first_byte = [&](std::uint32_t bytes) {
    byte_at(region_start + 0x100000) = std::byte{0};
    byte_at(region_start) = std::byte{0x77};
    hca->inside_now().regions->forget_entries();
    const std::uint64_t before = host->bytes_read;
    send(a, write(bytes));
    while (byte_at(region_start + 0x100000) == std::byte{0}) hca->on_timer();
    const std::uint64_t cost = host->bytes_read - before;
    host->run();
    completion();
    return cost;
  };
  // The turn in which the first arrives is over before either message is.
  EXPECT_EQ(reads_until_first_byte(512u << 10), reads_until_first_byte(2u << 20));
}

TEST_F(rc_errors, no_message_is_longer_than_the_longest_whatever_the_context_says) {
  // 2 GiB less one byte in packets of 256 bytes would be half of all sequence numbers.
  test_qp c = make_qp(0x110), d = make_qp(0x111);
  layouts::image<layouts::qpc> ready = ready_context(c, d.number);
  ready.set<&layouts::qpc::mtu>(layouts::ib_mtu::mtu_256).set<&layouts::qpc::msg_max>(31);
  to_rts(c, ready);
  to_rts(d, c.number);
  for (const std::uint32_t bytes : {0x7fffffffu, 0x40000001u}) {
    send(c, write(bytes));
    expect_error(c, true, cqe_syndrome::local_length, layouts::vendor_syndrome::length_requester);
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, c.number, 2).status, command_status::ok);
    c.sent = 0;
    to_rts(c, ready);
  }
}

TEST_F(rc_errors, a_wrong_local_key_is_a_local_protection_error_after_what_was_before) {
  post_send(a, write());
  auto s = write();
  s.lkey = 0x12345600;
  post_send(a, s);
  ring(a);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  expect_error(a, true, cqe_syndrome::local_protection, 0x57);
  EXPECT_EQ(state_of(a), qp_state::error);
}

TEST_F(rc_errors, what_is_wrong_behind_a_request_that_failed_is_flushed) {
  auto refused = write();
  refused.rkey = 0x12345600;
  post_send(a, refused);
  post_send(a, write(0x7fffffff));
  ring(a);
  expect_error(a, true, cqe_syndrome::remote_access, 0x88);
  expect_error(a, true, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
  EXPECT_TRUE(no_completion());
}

TEST_F(rc_errors, a_packet_longer_than_the_links_mtu_is_discarded) {
  set_info(unchanging().set<&layouts::port_info::neighbor_mtu>(layouts::ib_mtu::mtu_512));
  send(a, write(512));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  byte_at(region_start + 0x100000) = std::byte{0};
  const auto sent = driver->counter_named("port1_packets_sent");
  send(a, write(1024));  // one packet, by what the queue pair was told
  host->advance(10'000'000'000);
  expect_error(a, true, cqe_syndrome::transport_retry_exceeded, 0x81);
  EXPECT_EQ(driver->counter_named("port1_packets_sent"), sent);
  EXPECT_EQ(byte_at(region_start + 0x100000), std::byte{0});
}

TEST_F(rc_errors, a_receive_that_is_too_short_fails_on_both_sides) {
  post_receive(b, region_start, 100, key);
  watch();
  send(a, message(101));
  came({{{b.number, false, failures::local_length},
         {a.number, true, failures::remote_invalid_request}},
        {},
        exchanged("rc_send_packets"),
        {},
        "at most the 100 of the receive"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(rc_errors, a_receive_under_a_wrong_key_is_a_remote_operation_error) {
  post_receive(b, region_start, 100, 0x77777777);
  watch();
  send(a, message(10));
  came({{{b.number, false, failures::local_protection},
         {a.number, true, failures::remote_operation}},
        {},
        exchanged("rc_send_packets"),
        {},
        "under key 0x77777777"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(rc_errors, retries_end_in_an_error_when_nobody_answers) {
  test_qp c = make_qp(0x120);
  auto context = ready_context(c, 0x3f0);  // no such queue pair
  context.set<&layouts::qpc::retry_count>(3);
  to_rts(c, context);
  send(c, write());
  EXPECT_TRUE(no_completion());
  host->advance(4096ull * (1u << 14) * 10);
  expect_error(c, true, cqe_syndrome::transport_retry_exceeded, 0x81);
  EXPECT_EQ(driver->counter_named("transport_retries"), 3u);
}

TEST_F(rc_errors, receiver_not_ready_ends_in_an_error_when_its_retries_do) {
  test_qp c = make_qp(0x120), d = make_qp(0x121);
  auto context = ready_context(c, d.number);
  context.set<&layouts::qpc::rnr_retry>(2);
  to_rts(c, context);
  to_rts(d, c.number);
  send(c, message());
  host->advance(100'000'000);
  expect_error(c, true, cqe_syndrome::rnr_retry_exceeded, 0x87);
  EXPECT_EQ(driver->counter_named("transport_rnr_waits"), 2u);
}

TEST_F(rc_errors, messages_beyond_the_limit_are_refused_before_a_packet_leaves) {
  auto s = write();
  s.bytes = (1u << 30) + 1;
  send(a, s);
  expect_error(a, true, cqe_syndrome::local_length, 0x69);
}

TEST_F(rc_errors, an_opcode_that_the_service_does_not_have_is_an_operation_error) {
  auto s = write();
  s.opcode = wqe_opcode::lso;
  send(a, s);
  expect_error(a, true, cqe_syndrome::local_qp_op, 0x6f);
}

TEST_F(rc_errors, remote_rights_of_the_queue_pair_are_checked) {
  test_qp c = make_qp(0x120), d = make_qp(0x121);
  auto first = first_context(d);
  first.set<&layouts::qpc::rwe>(0);
  ASSERT_EQ(modify(opcode::rst2init_qp, d.number, first), command_status::ok);
  ASSERT_EQ(modify(opcode::init2rtr_qp, d.number, ready_context(d, c.number)), command_status::ok);
  to_rts(c, d.number);
  send(c, write());
  expect_error(c, true, cqe_syndrome::remote_invalid_request, 0x8a);
}

TEST_F(rc_errors, an_atomic_off_its_alignment_is_a_remote_invalid_request) {
  auto s = transfer(wqe_opcode::atomic_fa, 8, region_start, region_start + 4);
  send(a, s);
  expect_error(a, true, cqe_syndrome::remote_invalid_request, 0x8a);
  EXPECT_EQ(events(event_type::wq_access_violation), 1u);
}

TEST_F(rc_errors, the_error_command_flushes_sends_and_receives_in_order) {
  for (unsigned i = 0; i < 3; ++i) post_receive(b, region_start, 64, key);
  for (unsigned i = 0; i < 2; ++i) post_send(b, message());  // there is no receive for these
  ring(b);
  host->run();
  post_send(b, message());  // nor a doorbell for this
  ASSERT_EQ(driver->command(opcode::to_err_qp, 0, b.number).status, command_status::ok);
  for (unsigned i = 0; i < 2; ++i) expect_error(b, true, cqe_syndrome::wr_flush, flush_vendor);
  for (unsigned i = 0; i < 3; ++i) expect_error(b, false, cqe_syndrome::wr_flush, flush_vendor);
  EXPECT_TRUE(no_completion());
}

TEST_F(rc_errors, work_posted_in_the_error_state_is_flushed_too) {
  ASSERT_EQ(driver->command(opcode::to_err_qp, 0, b.number).status, command_status::ok);
  send(b, write());
  expect_error(b, true, cqe_syndrome::wr_flush, flush_vendor);
  post_receive(b, region_start, 64, key);
  host->advance(50'000'000);
  expect_error(b, false, cqe_syndrome::wr_flush, flush_vendor);
}

TEST_F(rc_errors, a_reset_queue_pair_says_nothing_more) {
  for (unsigned i = 0; i < 20; ++i) post_send(a, write(4096));
  ring(a);
  ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, a.number, 2).status, command_status::ok);
  layouts::image<layouts::cqe> e;
  while (driver->next_completion(cq, e)) {
  }
  host->advance(1'000'000'000);
  EXPECT_TRUE(no_completion());
  // and can be used again
  for (std::uint32_t i = 0; i < test_qp::entries; ++i) {
    layouts::image<layouts::wqe_ctrl> empty;
    empty.set<&layouts::wqe_ctrl::owner>(true);
    put(a, i * test_qp::stride, empty);
  }
  a.sent = 0;
  ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, b.number, 2).status, command_status::ok);
  b.sent = b.received = 0;
  host->store(b.record, layouts::image<layouts::rq_doorbell_record>{});
  to_rts(a, b.number);
  to_rts(b, a.number);
  send(a, write());
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(rc_errors, a_receive_count_past_the_ring_is_a_catastrophic_error) {
  layouts::image<layouts::rq_doorbell_record> r;
  r.set<&layouts::rq_doorbell_record::wqe_counter>(test_qp::entries + 1);
  host->store(b.record, r);
  watch();
  send(a, message());
  came({{{a.number, true, failures::remote_operation}},
        {event_type::wq_catastrophic_error},
        exchanged("rc_send_packets"),
        {"receive-record"},
        "its doorbell record counts 65 receives"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(rc_errors, a_drained_send_queue_says_so_and_goes_on) {
  for (unsigned i = 0; i < 3; ++i) post_send(a, write(8192));
  ring(a);
  ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, a.number | 1u << 31).status, command_status::ok);
  host->advance(1'000'000);
  EXPECT_EQ(events(event_type::sq_drained), 1u);
  EXPECT_EQ(state_of(a), qp_state::sq_drained);
  ASSERT_EQ(modify(opcode::sqd2rts_qp, a.number, ready_context(a, b.number)), command_status::ok);
  ring(a);
  for (unsigned i = 0; i < 3; ++i)
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(rc_errors, a_request_that_fails_while_its_queue_drains_ends_the_queue_pair) {
  test_qp c = make_qp(0x120);
  to_rts(c, ready_context(c, 0x3f0));  // nobody answers
  post_send(c, write());
  post_send(c, write(0x7fffffff));
  ring(c);
  ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, c.number | 1u << 31).status, command_status::ok);
  host->advance(10'000'000'000);
  expect_error(c, true, cqe_syndrome::transport_retry_exceeded, 0x81);
  expect_error(c, true, cqe_syndrome::wr_flush, layouts::vendor_syndrome::flush_receive);
  EXPECT_EQ(state_of(c), qp_state::error);
  EXPECT_EQ(events(event_type::sq_drained), 0u);
}

TEST_F(rc_errors, a_wrong_request_in_a_drained_queue_fails_when_the_queue_goes_on) {
  ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, a.number).status, command_status::ok);
  send(a, write(0x7fffffff));
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(state_of(a), qp_state::sq_drained);
  ASSERT_EQ(modify(opcode::sqd2rts_qp, a.number, ready_context(a, b.number)), command_status::ok);
  ring(a);
  expect_error(a, true, cqe_syndrome::local_length, layouts::vendor_syndrome::length_requester);
}

TEST_F(rc_errors, transitions_from_the_wrong_state_are_refused) {
  test_qp c = make_qp(0x130);
  EXPECT_EQ(modify(opcode::init2rtr_qp, c.number, ready_context(c, 1)),
            command_status::bad_qp_state);
  EXPECT_EQ(modify(opcode::rst2init_qp, a.number, first_context(a)), command_status::bad_qp_state);
  EXPECT_EQ(modify(opcode::rtr2rts_qp, a.number, ready_context(a, 1)),
            command_status::bad_qp_state);
  EXPECT_EQ(modify(opcode::sqd2rts_qp, a.number, ready_context(a, 1)),
            command_status::bad_qp_state);
  auto context = first_context(c);
  context.set<&layouts::qpc::cqn_send>(499);
  EXPECT_EQ(modify(opcode::rst2init_qp, c.number, context), command_status::bad_resource_state);
  context = first_context(c);
  context.set<&layouts::qpc::service>(qp_service::rd);
  EXPECT_EQ(modify(opcode::rst2init_qp, c.number, context), command_status::bad_parameter);
}

TEST_F(rc_errors, optional_fields_change_only_when_chosen) {
  auto context = ready_context(a, b.number);
  context.set<&layouts::qpc::qkey>(0x4242)
      .set<&layouts::qpc::rae>(0)
      .set<&layouts::qpc::min_rnr_nak>(3);
  ASSERT_EQ(modify(opcode::rts2rts_qp, a.number, context, layouts::qp_optpar::qkey),
            command_status::ok);
  const auto now = context_of(a);
  EXPECT_EQ(now.get<&layouts::qpc::qkey>(), 0x4242u);
  EXPECT_EQ(now.get<&layouts::qpc::rae>(), 1u);
  EXPECT_EQ(now.get<&layouts::qpc::min_rnr_nak>(), 12u);
}

}  // namespace freehca::model::test
