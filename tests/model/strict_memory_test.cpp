// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory that is not what the adapter expects while objects live in it: context memory that is
// taken back, that the bus refuses or that the guest has written over, and host memory that the bus
// refuses.
#include <freehca/layouts/mcg.hpp>

#include "basis/adapter_limits.hpp"
#include "queues/work_request.hpp"
#include "transport_fixture.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using namespace layouts;

namespace {

enum class loss : std::uint8_t { taken_back, refused };

class strict_memory : public transport_fixture {
 protected:
  static constexpr std::uint64_t from = region_start, to = region_start + 0x100000;
  static constexpr std::uint32_t srqn = 100;

  strict_memory()
      : transport_fixture(test_options(), std::make_unique<test_host>(64u << 20)),
        a(make_qp(0x100)),
        b(make_qp(0x141)) {
    to_rts(a, b.number);
    to_rts(b, a.number);
    events(event_type::none);
  }
  /// The bus address of a byte of context memory: the tables were lent in this order, 64 pages
  /// each.
  std::uint64_t bus_address(std::uint64_t va) const {
    const std::uint64_t tables[] = {test_driver::qpc,  test_driver::rdmarc, test_driver::altc,
                                    test_driver::auxc, test_driver::srqc,   test_driver::cqc,
                                    test_driver::eqc,  test_driver::dmpt,   test_driver::mc,
                                    test_driver::mtt};
    for (std::size_t i = 0; i < std::size(tables); ++i)
      if (va >= tables[i] && va - tables[i] < 64 * 4096) return driver->lent[i] + (va - tables[i]);
    __builtin_trap();
  }
  template <class T, auto Field, class V>
  void write_over(std::uint64_t va, V value) {
    auto c = host->load<T>(bus_address(va));
    host->store(bus_address(va), c.template set<Field>(value));
  }
  using counts = std::map<std::string, std::int64_t>;
  /// What one request and its answer count, beside `more`.
  static counts round_trip(const char* request, counts more = {}) {
    for (const char* name :
         {"port1_packets_looped_back", "port1_packets_received", "port1_packets_sent",
          "transport_packets_received", "transport_packets_sent"})
      more[name] += 2;
    if (request != nullptr) ++more[request];
    if (request == nullptr || std::string(request) != "rc_read_requests") ++more["rc_acknowledges"];
    return more;
  }
  static counts written(counts more = {}) {
    return round_trip("rc_write_packets", std::move(more));
  }
  inline static const counts one_way{{"port1_packets_looped_back", 1},
                                     {"port1_packets_received", 1},
                                     {"port1_packets_sent", 1},
                                     {"transport_packets_received", 1},
                                     {"transport_packets_sent", 1}};
  completed done(const test_qp& qp, bool is_send = true) const {
    return {qp.number, is_send, std::nullopt};
  }
  completed failed(const test_qp& qp, failure why, bool is_send = true) const {
    return {qp.number, is_send, why};
  }
  test_send write() { return transfer(wqe_opcode::rdma_write, 8, from, to); }
  test_send message() { return transfer(wqe_opcode::send, 8, from, 0); }
  void refuse(std::uint64_t address) { host->refuse(address, 4096); }
  void use_shared_queue() {
    shared = make_srq(srqn);
    ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, b.number, 2).status, command_status::ok);
    ASSERT_EQ(modify(opcode::rst2init_qp, b.number,
                     first_context(b).set<&qpc::srq>(1u).set<&qpc::srqn>(srqn)),
              command_status::ok);
    ASSERT_EQ(modify(opcode::init2rtr_qp, b.number, ready_context(b, a.number)),
              command_status::ok);
  }
  test_qp a, b;
  test_srq shared;
};

/// Context memory that is lost in one of two ways.
class strict_context_memory : public strict_memory, public testing::WithParamInterface<loss> {
 protected:
  void lose(std::uint64_t va) {
    const std::uint64_t page = va / 4096 * 4096;
    if (GetParam() == loss::refused) refuse(bus_address(page));
    else ASSERT_EQ(driver->command(opcode::unmap_icm, page, 1).status, command_status::ok);
  }
};

}  // namespace

TEST_P(strict_context_memory, of_a_queue_pair) {
  lose(test_driver::qpc + a.number * entry_bytes::qpc);
  watch();
  send(a, write());
  came({{done(a)},
        {},
        written(),
        {"context-stays-mapped", "context-stays-mapped"},
        "QP 0x000100: its context"});
}

TEST_P(strict_context_memory, of_a_completion_queue) {
  lose(test_driver::cqc + cqn * entry_bytes::cqc);
  watch();
  send(a, write());
  came({{},
        {event_type::wq_catastrophic_error},
        written(),
        {"context-stays-mapped"},
        "the context of CQ 200"},
       "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_P(strict_context_memory, of_an_event_queue) {
  lose(test_driver::eqc + eqn * entry_bytes::eqc);
  driver->arm_cq(cq, cq_arm::next);
  watch();
  send(a, write());
  came({{done(a)},
        {},
        written({{"eqes_dropped", 1}, {"completion_events", 1}}),
        {"context-stays-mapped", "cq-reports-to-eq"},
        "the context of EQ 35"});
}

TEST_P(strict_context_memory, of_a_shared_receive_queue) {
  use_shared_queue();
  lose(test_driver::srqc + srqn * entry_bytes::srqc);
  post_shared(shared, to, 64);
  watch();
  send(a, message());
  came({{done(b, false), done(a)},
        {event_type::communication_established},
        round_trip("rc_send_packets")});
}

TEST_P(strict_context_memory, of_a_region) {
  lose(test_driver::dmpt + 300 * entry_bytes::dmpt);
  watch();
  send(a, write());
  came({{failed(a, failures::local_protection)}, {}, {}, {}, "under key 0x"}, "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_P(strict_context_memory, of_the_translations_of_a_region) {
  // A page of entries that are all the region's.
  const std::uint64_t first = (data.mtt + 4095) / 4096 * 4096;
  const std::uint64_t there = from + (first - data.mtt) / mtt::bytes * 4096;
  lose(test_driver::mtt + first);
  watch();
  send(a, transfer(wqe_opcode::rdma_write, 8, from, there));
  came({{failed(a, failures::remote_access)},
        {event_type::wq_access_violation},
        written(),
        {},
        "its translation is not there"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::error);
  EXPECT_EQ(byte_at(there), std::byte{0});
}

TEST_P(strict_context_memory, of_groups) {
  test_qp c = make_qp(0x180, qp_service::ud);
  to_rts(c, 0);
  lose(test_driver::mc);
  test_send s = message();
  s.dqpn = multicast_qpn;
  s.global = true;
  s.qkey = qkey;
  watch();
  send(c, s);
  came({{done(c)}, {}, one_way});
}

/// Read resources, alternate and auxiliary contexts are hardware's own: the model keeps nothing
/// there.
TEST_P(strict_context_memory, that_holds_nothing) {
  for (const std::uint64_t table : {test_driver::rdmarc, test_driver::altc, test_driver::auxc})
    lose(table);
  watch();
  send(a, transfer(wqe_opcode::rdma_read, 8, from, to));
  came({{done(a)}, {}, round_trip("rc_read_requests", {{"rc_read_responses", 1}})});
}

INSTANTIATE_TEST_SUITE_P(every, strict_context_memory,
                         testing::Values(loss::taken_back, loss::refused), [](const auto& p) {
                           return std::string(p.param == loss::refused ? "refused" : "taken_back");
                         });

// Written over by the guest.

TEST_F(strict_memory, a_queue_pairs_context_is_written_back_as_it_was) {
  const std::uint64_t at = test_driver::qpc + a.number * entry_bytes::qpc;
  std::memset(host->at(bus_address(at)), 0xff, entry_bytes::qpc);
  watch();
  send(a, write());
  came({{done(a)}, {}, written()});
  EXPECT_EQ(host->load<qpc>(bus_address(at)).get<&qpc::remote_qpn>(), b.number);
}

TEST_F(strict_memory, a_completion_queue_of_an_impossible_size_takes_nothing) {
  const std::uint64_t at = test_driver::cqc + cqn * entry_bytes::cqc;
  watch();
  write_over<cqc, &cqc::log_cq_size>(at, 31u);
  send(a, write());
  came({{},
        {event_type::wq_catastrophic_error},
        written(),
        {"context-stays-mapped"},
        "the context of CQ 200"},
       "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
}

TEST_F(strict_memory, a_completion_queue_that_lies_elsewhere_fails) {
  const std::uint64_t at = test_driver::cqc + cqn * entry_bytes::cqc;
  watch();
  write_over<cqc, &cqc::mtt_base_addr>(at, 0x400000u);
  send(a, write());
  came({{},
        {event_type::cq_error, event_type::wq_catastrophic_error},
        written(),
        {"cq-reachable"},
        "CQ 200: entry 0 cannot be written"},
       "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
}

TEST_F(strict_memory, a_completion_queue_may_tell_nobody) {
  const std::uint64_t at = test_driver::cqc + cqn * entry_bytes::cqc;
  driver->arm_cq(cq, cq_arm::next);
  watch();
  write_over<cqc, &cqc::comp_eqn>(at, 9u);
  send(a, write());
  came({{done(a)},
        {},
        written({{"eqes_dropped", 1}, {"completion_events", 1}}),
        {"cq-reports-to-eq"},
        "CQ 200 tells its completions to EQ 9"});
}

TEST_F(strict_memory, an_event_queue_of_an_impossible_size_takes_nothing) {
  const std::uint64_t at = test_driver::eqc + eqn * entry_bytes::eqc;
  driver->arm_cq(cq, cq_arm::next);
  watch();
  write_over<eqc, &eqc::log_eq_size>(at, 31u);
  send(a, write());
  came({{done(a)},
        {},
        written({{"eqes_dropped", 1}, {"completion_events", 1}}),
        {"cq-reports-to-eq"},
        "to EQ 35"});
}

TEST_F(strict_memory, an_event_queue_that_lies_elsewhere_fails) {
  const std::uint64_t at = test_driver::eqc + eqn * entry_bytes::eqc;
  driver->arm_cq(cq, cq_arm::next);
  watch();
  write_over<eqc, &eqc::mtt_base_addr>(at, 0x400000u);
  send(a, write());
  came({{done(a)},
        {},
        written({{"eqes_dropped", 1}, {"completion_events", 1}}),
        {"eq-reachable", "cq-reports-to-eq"},
        "an entry of EQ 35"},
       "status \"write failure\"");
  EXPECT_EQ(host->load<eqc>(bus_address(at)).get<&eqc::status>(), eq_status::write_failure);
}

TEST_F(strict_memory, a_shared_receive_queue_goes_by_what_it_was_given) {
  use_shared_queue();
  const std::uint64_t at = test_driver::srqc + srqn * entry_bytes::srqc;
  watch();
  std::memset(host->at(bus_address(at)), 0xff, entry_bytes::srqc);
  post_shared(shared, to, 64);
  send(a, message());
  came({{done(b, false), done(a)},
        {event_type::communication_established},
        round_trip("rc_send_packets")});
}

TEST_F(strict_memory, a_region_of_an_impossible_page_size_opens_nothing) {
  watch();
  write_over<mpt, &mpt::entity_size>(test_driver::dmpt + 300 * entry_bytes::dmpt, 5u);
  send(a, write());
  came({{failed(a, failures::local_protection)}, {}, {}, {}, "under key 0x"}, "the error state");
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, groups_in_a_circle_come_to_an_end) {
  test_qp c = make_qp(0x180, qp_service::ud);
  to_rts(c, 0);
  image<mcg_header> head;
  for (std::uint32_t i = 0; i < 256; ++i)
    host->store(bus_address(test_driver::mc + i * 512),
                head.set<&mcg_header::members_count>(1u).set<&mcg_header::next_gid_index>(
                    i == 7 ? 8u : 7u));
  test_send s = message();
  s.dqpn = multicast_qpn;
  s.global = true;
  s.qkey = qkey;
  watch();
  send(c, s);
  came({{done(c)}, {}, one_way});
}

// Host memory that the bus refuses.

TEST_F(strict_memory, a_refused_send_queue_is_a_catastrophic_error) {
  post_send(a, write());
  refuse(a.ring.pages[0]);
  watch();
  ring(a);
  came(
      {{}, {event_type::wq_catastrophic_error}, {}, {}, "entry 0 of the send queue cannot be read"},
      "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, a_refused_receive_queue_is_a_catastrophic_error) {
  post_receive(b, to, 64, key);
  refuse(b.ring.pages[test_qp::entries * test_qp::stride / 4096]);
  watch();
  send(a, message());
  came({{failed(a, failures::remote_operation)},
        {event_type::wq_catastrophic_error},
        round_trip("rc_send_packets"),
        {"receive-queue"},
        "receive queue cannot be read"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(strict_memory, a_refused_doorbell_record_of_receives_is_a_catastrophic_error) {
  refuse(b.record);
  watch();
  send(a, message());
  came({{failed(a, failures::remote_operation)},
        {event_type::wq_catastrophic_error},
        round_trip("rc_send_packets"),
        {"receive-queue"},
        "doorbell record cannot be read"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(strict_memory, a_refused_shared_queue_is_a_catastrophic_error) {
  use_shared_queue();
  post_shared(shared, to, 64);
  refuse(shared.ring.pages[0]);
  watch();
  send(a, message());
  came({{failed(a, failures::remote_operation)},
        {event_type::communication_established, event_type::srq_catastrophic_error,
         event_type::srq_last_wqe},
        round_trip("rc_send_packets"),
        {"receive-queue"},
        "buffer cannot be read"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(strict_memory, a_refused_doorbell_record_of_a_shared_queue_is_a_catastrophic_error) {
  use_shared_queue();
  refuse(shared.record);
  watch();
  send(a, message());
  came({{failed(a, failures::remote_operation)},
        {event_type::communication_established, event_type::srq_catastrophic_error,
         event_type::srq_last_wqe},
        round_trip("rc_send_packets"),
        {"receive-queue"},
        "doorbell record cannot be read"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(strict_memory, a_refused_completion_entry_fails_the_queue) {
  watch();
  for (const std::uint64_t page : cq.where.pages) refuse(page);
  send(a, write());
  came({{},
        {event_type::cq_error, event_type::wq_catastrophic_error},
        written(),
        {"cq-reachable"},
        "CQ 200: entry 0 cannot be written"},
       "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
}

TEST_F(strict_memory, a_refused_doorbell_record_of_a_full_completion_queue_fails_it) {
  test_driver::queue tiny;
  ASSERT_EQ(driver->make_cq(tiny, 300, eqn, 0).status, command_status::ok);
  test_qp c = make_qp(0x181);
  ASSERT_EQ(modify(opcode::rst2init_qp, c.number, first_context(c).set<&qpc::cqn_send>(300u)),
            command_status::ok);
  ASSERT_EQ(modify(opcode::init2rtr_qp, c.number, ready_context(c, c.number)), command_status::ok);
  ASSERT_EQ(modify(opcode::rtr2rts_qp, c.number, ready_context(c, c.number)), command_status::ok);
  refuse(tiny.doorbell_record);
  looks.emplace(*driver, eq, tiny);
  for (unsigned i = 0; i < 2; ++i) send(c, write());
  came({{done(c)},
        {event_type::cq_error, event_type::wq_catastrophic_error},
        written(written()),
        {"cq-reachable"},
        "CQ 300: its doorbell record"},
       "the error state");
  EXPECT_EQ(state_of(c), qp_state::error);
}

TEST_F(strict_memory, a_refused_event_entry_fails_the_queue) {
  driver->arm_cq(cq, cq_arm::next);
  watch();
  refuse(eq.where.pages[0]);
  send(a, write());
  came({{done(a)},
        {},
        written({{"eqes_dropped", 1}, {"completion_events", 1}}),
        {"eq-reachable", "cq-reports-to-eq"},
        "an entry of EQ 35"});
}

TEST_F(strict_memory, refused_bytes_to_send_are_a_local_protection_error) {
  refuse(data.pages[0]);
  watch();
  send(a, write());
  came({{failed(a, failures::local_protection)}, {}, {}, {}, "the bus refuses it"},
       "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, a_translation_that_is_not_present_is_a_local_protection_error) {
  image<write_mtt_header> head;
  head.set<&write_mtt_header::mtt_base_addr>(data.mtt);
  ASSERT_EQ(driver->command_with(opcode::write_mtt, head, 1).status, command_status::ok);
  watch();
  send(a, write());
  came({{failed(a, failures::local_protection)}, {}, {}, {}, "its translation is not there"},
       "the error state");
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, refused_bytes_of_a_receive_are_a_remote_operation_error) {
  post_receive(b, to, 64, key);
  refuse(data.pages[0x100]);
  watch();
  send(a, message());
  came({{failed(b, failures::local_protection, false), failed(a, failures::remote_operation)},
        {},
        round_trip("rc_send_packets"),
        {},
        "the bus refuses it"},
       "NAK, and the error state at both ends");
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(strict_memory, refused_bytes_that_a_read_brings_are_a_local_protection_error) {
  refuse(data.pages[0]);
  watch();
  send(a, transfer(wqe_opcode::rdma_read, 8, from, to));
  came({{failed(a, failures::local_protection)},
        {},
        round_trip("rc_read_requests", {{"rc_read_responses", 1}}),
        {},
        "the bus refuses it"},
       "the error state");
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, refused_remote_bytes_are_a_remote_access_error) {
  refuse(data.pages[0x100]);
  for (const wqe_opcode what :
       {wqe_opcode::rdma_write, wqe_opcode::rdma_read, wqe_opcode::atomic_fa}) {
    watch();
    send(a, transfer(what, 8, from, to));
    const char* const request = what == wqe_opcode::rdma_write  ? "rc_write_packets"
                                : what == wqe_opcode::rdma_read ? "rc_read_requests"
                                                                : nullptr;
    counts counted = round_trip(request);
    counted["rc_acknowledges"] = 1;
    came({{failed(a, failures::remote_access)},
          {event_type::wq_access_violation},
          counted,
          {},
          "the bus refuses it"},
         "NAK, and the error state at both ends");
    for (test_qp* qp : {&a, &b}) {
      ASSERT_EQ(driver->command(opcode::to_rst_qp, 0, qp->number, 2).status, command_status::ok);
      *qp = make_qp(qp->number);
    }
    to_rts(a, b.number);
    to_rts(b, a.number);
    events(event_type::none);
  }
}

// Doorbells of what is not there.

TEST_F(strict_memory, doorbells_of_what_is_not_there_are_complaints_and_nothing_more) {
  const std::uint64_t page = std::uint64_t{test_driver::uar} * 4096;
  const auto complains_alone = [&](const char* rule, const char* says) {
    SCOPED_TRACE(says);
    came({{}, {}, {}, {rule}, says});
    watch();
  };
  watch();
  const auto send_doorbell = [&](std::uint64_t of, std::uint32_t qpn) {
    hca->write_uar(of + uar::send_doorbell, send_doorbell_word(qpn), 4);
  };
  send_doorbell(page, 0x3f0);
  complains_alone("send-doorbell-state", "send doorbell of QP 0x0003f0");
  post_send(a, write());
  send_doorbell(page + 4096, a.number);
  complains_alone("doorbell-of-own-uar", "send doorbell of QP 0x000100 in UAR page 201");
  const auto cq_doorbell_of = [&](std::uint32_t number, std::uint32_t consumer) {
    image<cq_doorbell> d;
    d.set<&cq_doorbell::cmd>(cq_arm::next)
        .set<&cq_doorbell::cqn>(number)
        .set<&cq_doorbell::ci>(consumer);
    hca->write_uar(page + uar::cq_doorbell, load_be<std::uint64_t>(d.data()), 8);
  };
  cq_doorbell_of(333, 0);
  complains_alone("cq-doorbell-owner", "doorbell of CQ 333");
  cq_doorbell_of(cqn, 5);
  complains_alone("cq-consumer-index", "doorbell of CQ 200: consumer 5");
  hca->write_uar(uar::eq_doorbell_of(33), 0x80000000, 4);
  complains_alone("eq-doorbell-owner", "doorbell of EQ 33");
  hca->write_uar(uar::eq_doorbell_of(eqn), 0x80000500, 4);
  complains_alone("eq-consumer-index", "doorbell of EQ 35: consumer");
  hca->write_uar(page + 0x100, 0, 4);
  complains_alone("uar-place", "0x100");
  hca->write_uar(page + uar::cq_doorbell + 4, 0, 4);
  complains_alone("cq-doorbell-halves", "half");
  // All that was real still works.
  ring(a);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

}  // namespace freehca::model::test
