// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// The requester and what its peer may answer: nothing that was not sent is acknowledged, and what
// is told twice counts once.
#include "peer_fixture.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

constexpr std::uint32_t mtu = 1024;
/// Packets that a requester sends before it waits for an acknowledgement (send_engine.cpp, window).
constexpr std::uint32_t window = 128;
/// Reads and atomics outstanding: ready_context() has sra_max 2.
constexpr std::uint32_t reads_at_once = 4;

image<aeth> acknowledgement(aeth_type type, unsigned value) {
  return image<aeth>{}.set<&aeth::type>(type).set<&aeth::value>(value);
}

class requester_of_a_peer : public peer_fixture {
 protected:
  requester_of_a_peer()
      : peer_fixture(qp_service::rc), sent_before(counted("port1_packets_sent")) {}

  void request(wqe_opcode what, std::uint32_t bytes = 8) {
    transport_fixture::send(b, transfer(what, bytes, region_start, to));
    host->run();
  }
  crafted at(std::uint32_t n, crafted c) const {
    return c.in_base<&bth::psn>(psn_add(first_psn, n));
  }
  /// Answers that name the PSN of packet `n`.
  crafted acknowledge(std::uint32_t n) {
    return at(n, of(op::acknowledge).add(acknowledgement(aeth_type::ack, aeth_credits_invalid)));
  }
  crafted nak(std::uint32_t n, nak_code code) {
    return at(
        n, of(op::acknowledge).add(acknowledgement(aeth_type::nak, static_cast<unsigned>(code))));
  }
  crafted not_ready(std::uint32_t n) {
    return at(n, of(op::acknowledge).add(acknowledgement(aeth_type::rnr_nak, 12)));
  }
  crafted read_response(std::uint32_t n) {
    return at(n, of(op::rdma_read_response_only).add(acknowledgement(aeth_type::ack, 31)))
        .payload(8);
  }
  crafted atomic_response(std::uint32_t n) {
    return at(n, of(op::atomic_acknowledge).add(acknowledgement(aeth_type::ack, 31)))
        .add(image<atomic_ack_eth>{});
  }
  std::vector<crafted> answers_at(std::uint32_t n) {
    return {acknowledge(n),
            not_ready(n),
            nak(n, nak_code::psn_sequence_error),
            nak(n, nak_code::invalid_request),
            nak(n, nak_code::remote_access_error),
            nak(n, nak_code::remote_operational_error),
            read_response(n),
            atomic_response(n)};
  }
  std::uint64_t counted(const char* name) const { return driver->counter_named(name); }
  std::uint64_t left() const { return counted("port1_packets_sent") - sent_before; }
  /// Each of the answers that name packet `n` is dropped and counted, and nothing else changes.
  void expect_dropped(std::uint32_t n) {
    for (const crafted& ghost : answers_at(n)) {
      watch();
      deliver(ghost);
      came({{},
            {},
            {{"port1_packets_received", 1},
             {"transport_packets_received", 1},
             {"transport_packets_dropped", 1},
             {"transport_unsent_answered", 1}},
            {},
            "which was not sent"});
      EXPECT_EQ(state_of(b), qp_state::rts);
    }
  }
  std::uint64_t sent_before;
  void reset() {
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, b.number, 2).status, command_status::ok);
    b = make_qp(number);
  }
};

}  // namespace

TEST_F(requester_of_a_peer, an_answer_to_packets_not_sent_yet_completes_nothing) {
  fill(region_start, 1u << 20, 7);
  request(wqe_opcode::rdma_write, 1u << 20);
  EXPECT_EQ(left(), window);
  expect_dropped(window);
  expect_dropped(1023);
  expect_dropped(1024);
  // The peer's true acknowledgement of the last packet sent lets the rest go.
  for (std::uint32_t sent = window; sent <= 1024; sent += window) {
    EXPECT_EQ(left(), sent);
    EXPECT_TRUE(no_completion());
    deliver(acknowledge(sent - 1));
  }
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  EXPECT_EQ(left(), 1024u);
}

TEST_F(requester_of_a_peer, an_answer_to_a_read_or_atomic_not_asked_yet_is_dropped) {
  for (const wqe_opcode what : {wqe_opcode::rdma_read, wqe_opcode::atomic_fa}) {
    SCOPED_TRACE(name_of(what));
    for (unsigned i = 0; i <= reads_at_once; ++i) request(what);
    const bool reads = what == wqe_opcode::rdma_read;
    expect_dropped(reads_at_once);
    EXPECT_EQ(counted("transport_retries"), 0u);
    for (unsigned i = 0; i <= reads_at_once; ++i) {
      deliver(reads ? read_response(i) : atomic_response(i));
      expect_done(b, true, static_cast<unsigned>(what));
    }
    reset();
    connect();
  }
}

TEST_F(requester_of_a_peer, every_packet_of_a_read_that_was_asked_may_be_answered) {
  request(wqe_opcode::rdma_read, 3 * mtu);
  deliver(at(0, of(op::rdma_read_response_first).add(acknowledgement(aeth_type::ack, 31)))
              .payload(mtu));
  deliver(at(1, of(op::rdma_read_response_middle)).payload(mtu));
  deliver(
      at(2, of(op::rdma_read_response_last).add(acknowledgement(aeth_type::ack, 31))).payload(mtu));
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_read));
  EXPECT_EQ(counted("transport_unsent_answered"), 0u);
}

TEST_F(requester_of_a_peer, an_answer_from_an_earlier_life_of_the_number_is_dropped) {
  constexpr std::uint32_t packets = window + 72;
  request(wqe_opcode::rdma_write, packets * mtu);
  deliver(acknowledge(window - 1));
  reset();
  connect();
  request(wqe_opcode::rdma_write, packets * mtu);
  // The new life begins by the same PSN, and has sent less than the earlier one.
  expect_dropped(packets - 1);
  deliver(acknowledge(window - 1));
  deliver(acknowledge(packets - 1));
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(requester_of_a_peer, what_was_sent_before_a_retry_may_still_be_acknowledged) {
  request(wqe_opcode::rdma_write, window * mtu);
  EXPECT_EQ(left(), window);
  deliver(not_ready(0));  // all is to be sent again, later
  EXPECT_EQ(left(), window);
  deliver(acknowledge(window - 1));
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  EXPECT_EQ(counted("transport_unsent_answered"), 0u);
}

TEST_F(requester_of_a_peer, a_sequence_nak_that_comes_twice_takes_one_retry) {
  request(wqe_opcode::rdma_write);
  for (unsigned i = 0; i < 20; ++i) deliver(nak(0, nak_code::psn_sequence_error));
  EXPECT_EQ(counted("transport_sequence_naks"), 20u);
  EXPECT_EQ(counted("transport_retries"), 1u);
  EXPECT_EQ(left(), 2u);
  EXPECT_EQ(context_of(b).get<&qpc::cur_retry_count>(), 6u) << "of 7";
  deliver(acknowledge(0));
  expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(requester_of_a_peer, a_sequence_nak_behind_progress_takes_another_retry) {
  request(wqe_opcode::rdma_write, 3 * mtu);
  for (std::uint32_t n = 0; n < 3; ++n) {
    deliver(nak(n, nak_code::psn_sequence_error));
    EXPECT_EQ(counted("transport_retries"), n + 1);
    EXPECT_EQ(context_of(b).get<&qpc::cur_retry_count>(), 6u) << "progress gave the others back";
  }
  EXPECT_EQ(left(), 3u + 3 + 2 + 1);
}

TEST_F(requester_of_a_peer, a_sequence_nak_behind_a_timeout_takes_another_retry) {
  request(wqe_opcode::rdma_write);
  deliver(nak(0, nak_code::psn_sequence_error));
  for (unsigned i = 0; i < 1000 && counted("transport_timeouts") == 0; ++i)
    host->advance(1'000'000);
  EXPECT_EQ(counted("transport_retries"), 2u);
  deliver(nak(0, nak_code::psn_sequence_error));
  EXPECT_EQ(counted("transport_retries"), 3u);
}

TEST_F(requester_of_a_peer, an_rnr_nak_that_comes_twice_takes_one_rnr_retry) {
  reset();
  auto ready = ready_context(b, peer);
  ready.set<&primary_path::rlid>(far_lid).set<&qpc::rnr_retry>(2);
  to_rts(b, ready);
  request(wqe_opcode::rdma_write);
  for (unsigned round = 1; round <= 2; ++round) {
    for (unsigned i = 0; i < 20; ++i) deliver(not_ready(0));
    EXPECT_EQ(counted("transport_rnr_waits"), round);
    EXPECT_EQ(context_of(b).get<&qpc::cur_rnr_retry>(), 2 - round);
    EXPECT_EQ(left(), round) << "it waits";
    host->advance(rnr_timer_us(12) * 1000);
    EXPECT_EQ(left(), round + 1);
  }
  EXPECT_TRUE(no_completion());
  deliver(not_ready(0));
  expect_error(b, true, cqe_syndrome::rnr_retry_exceeded, vendor_syndrome::rnr_retry_exceeded);
}

TEST_F(requester_of_a_peer, progress_gives_rnr_retries_back) {
  reset();
  auto ready = ready_context(b, peer);
  ready.set<&primary_path::rlid>(far_lid).set<&qpc::rnr_retry>(1);
  to_rts(b, ready);
  for (std::uint32_t n = 0; n < 5; ++n) {
    request(wqe_opcode::rdma_write);
    deliver(not_ready(n));
    EXPECT_EQ(context_of(b).get<&qpc::cur_rnr_retry>(), 0u);
    host->advance(rnr_timer_us(12) * 1000);
    deliver(acknowledge(n));
    expect_done(b, true, static_cast<unsigned>(wqe_opcode::rdma_write));
    EXPECT_EQ(context_of(b).get<&qpc::cur_rnr_retry>(), 1u);
  }
  EXPECT_EQ(counted("transport_rnr_waits"), 5u);
}

TEST_F(requester_of_a_peer, retries_that_naks_do_not_use_up_end_by_the_timer) {
  // A peer that has no receive may tell of the gap behind each RNR NAK too. Those are no reason to
  // give up: rnr_retry is 7, for ever.
  request(wqe_opcode::rdma_write, 2 * mtu);
  for (unsigned round = 0; round < 20; ++round) {
    deliver(not_ready(0));
    deliver(nak(0, nak_code::psn_sequence_error));
    host->advance(rnr_timer_us(12) * 1000);
  }
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(counted("transport_retries"), 1u);
  host->advance(10 * second);  // now the peer is silent
  expect_error(b, true, cqe_syndrome::transport_retry_exceeded, vendor_syndrome::retry_exceeded);
}

}  // namespace freehca::model::test
