// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Memory that is not what the adapter expects while objects live in it: context memory that is taken back, that the
// bus refuses or that the guest has written over, and host memory that the bus refuses.
#include <freehca/layouts/mcg.hpp>

#include "adapter_limits.hpp"
#include "transport_fixture.hpp"
#include "work_request.hpp"

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
  /// The bus address of a byte of context memory: the tables were lent in this order, 64 pages each.
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
  test_send write() { return transfer(wqe_opcode::rdma_write, 8, from, to); }
  test_send message() { return transfer(wqe_opcode::send, 8, from, 0); }
  void expect_written() {
    send(a, write());
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  }
  void refuse(std::uint64_t address) { host->refuse(address, 4096); }
  void expect_requester(const failure& why) { expect_error(a, true, why.syndrome, why.vendor); }
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
  const std::uint64_t before = hca->complaints();
  expect_written();
  EXPECT_GT(hca->complaints(), before);
}

TEST_P(strict_context_memory, of_a_completion_queue) {
  lose(test_driver::cqc + cqn * entry_bytes::cqc);
  const std::uint64_t before = hca->complaints();
  send(a, write());
  EXPECT_TRUE(no_completion());
  EXPECT_GT(hca->complaints(), before);
  EXPECT_EQ(state_of(a), qp_state::error);
}

TEST_P(strict_context_memory, of_an_event_queue) {
  lose(test_driver::eqc + eqn * entry_bytes::eqc);
  const std::uint64_t before = driver->counter_named("eqes_dropped");
  driver->arm_cq(cq, cq_arm::next);
  expect_written();
  EXPECT_EQ(driver->counter_named("eqes_dropped"), before + 1);
}

TEST_P(strict_context_memory, of_a_shared_receive_queue) {
  use_shared_queue();
  lose(test_driver::srqc + srqn * entry_bytes::srqc);
  post_shared(shared, to, 64);
  send(a, message());
  host->run();
  expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::send));
}

TEST_P(strict_context_memory, of_a_region) {
  lose(test_driver::dmpt + 300 * entry_bytes::dmpt);
  send(a, write());
  expect_requester(failures::local_protection);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_P(strict_context_memory, of_the_translations_of_a_region) {
  // A page of entries that are all the region's.
  const std::uint64_t first = (data.mtt + 4095) / 4096 * 4096;
  const std::uint64_t there = from + (first - data.mtt) / mtt::bytes * 4096;
  lose(test_driver::mtt + first);
  send(a, transfer(wqe_opcode::rdma_write, 8, from, there));
  expect_requester(failures::remote_access);
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
  send(c, s);
  expect_done(c, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_TRUE(no_completion());
}

/// Read resources, alternate and auxiliary contexts are hardware's own: the model keeps nothing there.
TEST_P(strict_context_memory, that_holds_nothing) {
  for (const std::uint64_t table : {test_driver::rdmarc, test_driver::altc, test_driver::auxc})
    lose(table);
  send(a, transfer(wqe_opcode::rdma_read, 8, from, to));
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_read));
}

INSTANTIATE_TEST_SUITE_P(every, strict_context_memory,
                         testing::Values(loss::taken_back, loss::refused), [](const auto& p) {
                           return std::string(p.param == loss::refused ? "refused" : "taken_back");
                         });

// Written over by the guest.

TEST_F(strict_memory, a_queue_pairs_context_is_written_back_as_it_was) {
  const std::uint64_t at = test_driver::qpc + a.number * entry_bytes::qpc;
  std::memset(host->at(bus_address(at)), 0xff, entry_bytes::qpc);
  expect_written();
  EXPECT_EQ(host->load<qpc>(bus_address(at)).get<&qpc::remote_qpn>(), b.number);
}

TEST_F(strict_memory, a_completion_queue_of_an_impossible_size_takes_nothing) {
  const std::uint64_t at = test_driver::cqc + cqn * entry_bytes::cqc;
  write_over<cqc, &cqc::log_cq_size>(at, 31u);
  send(a, write());
  EXPECT_TRUE(no_completion());
  EXPECT_GT(hca->complaints(), 0u);
}

TEST_F(strict_memory, a_completion_queue_that_lies_elsewhere_fails) {
  const std::uint64_t at = test_driver::cqc + cqn * entry_bytes::cqc;
  write_over<cqc, &cqc::mtt_base_addr>(at, 0x400000u);
  send(a, write());
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(events(event_type::cq_error), 1u);
}

TEST_F(strict_memory, a_completion_queue_may_tell_nobody) {
  const std::uint64_t at = test_driver::cqc + cqn * entry_bytes::cqc;
  driver->arm_cq(cq, cq_arm::next);
  write_over<cqc, &cqc::comp_eqn>(at, 9u);
  expect_written();
  EXPECT_EQ(events(event_type::completion), 0u);
  EXPECT_GT(hca->complaints(), 0u);
}

TEST_F(strict_memory, an_event_queue_of_an_impossible_size_takes_nothing) {
  const std::uint64_t at = test_driver::eqc + eqn * entry_bytes::eqc;
  write_over<eqc, &eqc::log_eq_size>(at, 31u);
  driver->arm_cq(cq, cq_arm::next);
  expect_written();
  EXPECT_EQ(events(event_type::completion), 0u);
}

TEST_F(strict_memory, an_event_queue_that_lies_elsewhere_fails) {
  const std::uint64_t at = test_driver::eqc + eqn * entry_bytes::eqc;
  write_over<eqc, &eqc::mtt_base_addr>(at, 0x400000u);
  driver->arm_cq(cq, cq_arm::next);
  expect_written();
  EXPECT_EQ(events(event_type::completion), 0u);
  EXPECT_EQ(host->load<eqc>(bus_address(at)).get<&eqc::status>(), eq_status::write_failure);
}

TEST_F(strict_memory, a_shared_receive_queue_goes_by_what_it_was_given) {
  use_shared_queue();
  const std::uint64_t at = test_driver::srqc + srqn * entry_bytes::srqc;
  std::memset(host->at(bus_address(at)), 0xff, entry_bytes::srqc);
  post_shared(shared, to, 64);
  send(a, message());
  host->run();
  expect_done(b, false, static_cast<unsigned>(cqe_opcode::recv_send));
}

TEST_F(strict_memory, a_region_of_an_impossible_page_size_opens_nothing) {
  write_over<mpt, &mpt::entity_size>(test_driver::dmpt + 300 * entry_bytes::dmpt, 5u);
  send(a, write());
  expect_requester(failures::local_protection);
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
  send(c, s);
  expect_done(c, true, static_cast<unsigned>(wqe_opcode::send));
  EXPECT_TRUE(no_completion());
}

// Host memory that the bus refuses.

TEST_F(strict_memory, a_refused_send_queue_is_a_catastrophic_error) {
  post_send(a, write());
  refuse(a.ring.pages[0]);
  ring(a);
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 1u);
  EXPECT_EQ(state_of(a), qp_state::error);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, a_refused_receive_queue_is_a_catastrophic_error) {
  post_receive(b, to, 64, key);
  refuse(b.ring.pages[test_qp::entries * test_qp::stride / 4096]);
  send(a, message());
  expect_requester(failures::remote_operation);
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 1u);
  EXPECT_EQ(state_of(b), qp_state::error);
}

TEST_F(strict_memory, a_refused_doorbell_record_of_receives_is_a_catastrophic_error) {
  refuse(b.record);
  send(a, message());
  expect_requester(failures::remote_operation);
  EXPECT_EQ(events(event_type::wq_catastrophic_error), 1u);
}

TEST_F(strict_memory, a_refused_shared_queue_is_a_catastrophic_error) {
  use_shared_queue();
  post_shared(shared, to, 64);
  refuse(shared.ring.pages[0]);
  send(a, message());
  expect_requester(failures::remote_operation);
  EXPECT_EQ(events(event_type::srq_catastrophic_error), 1u);
}

TEST_F(strict_memory, a_refused_doorbell_record_of_a_shared_queue_is_a_catastrophic_error) {
  use_shared_queue();
  refuse(shared.record);
  send(a, message());
  expect_requester(failures::remote_operation);
  EXPECT_EQ(events(event_type::srq_catastrophic_error), 1u);
}

TEST_F(strict_memory, a_refused_completion_entry_fails_the_queue) {
  for (const std::uint64_t page : cq.where.pages) refuse(page);
  send(a, write());
  EXPECT_EQ(events(event_type::cq_error), 1u);
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
  for (unsigned i = 0; i < 2; ++i) send(c, write());
  EXPECT_EQ(events(event_type::cq_error), 1u);
}

TEST_F(strict_memory, a_refused_event_entry_fails_the_queue) {
  refuse(eq.where.pages[0]);
  driver->arm_cq(cq, cq_arm::next);
  const std::uint64_t before = driver->counter_named("eqes_dropped");
  expect_written();
  EXPECT_EQ(driver->counter_named("eqes_dropped"), before + 1);
  EXPECT_GT(hca->complaints(), 0u);
}

TEST_F(strict_memory, refused_bytes_to_send_are_a_local_protection_error) {
  refuse(data.pages[0]);
  send(a, write());
  expect_requester(failures::local_protection);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, refused_bytes_of_a_receive_are_a_remote_operation_error) {
  post_receive(b, to, 64, key);
  refuse(data.pages[0x100]);
  send(a, message());
  expect_error(b, false, cqe_syndrome::local_protection, vendor_syndrome::protection_transmit);
  expect_requester(failures::remote_operation);
}

TEST_F(strict_memory, refused_bytes_that_a_read_brings_are_a_local_protection_error) {
  refuse(data.pages[0]);
  send(a, transfer(wqe_opcode::rdma_read, 8, from, to));
  expect_requester(failures::local_protection);
  EXPECT_EQ(state_of(b), qp_state::rts);
}

TEST_F(strict_memory, refused_remote_bytes_are_a_remote_access_error) {
  refuse(data.pages[0x100]);
  for (const wqe_opcode what :
       {wqe_opcode::rdma_write, wqe_opcode::rdma_read, wqe_opcode::atomic_fa}) {
    send(a, transfer(what, 8, from, to));
    expect_requester(failures::remote_access);
    EXPECT_EQ(events(event_type::wq_access_violation), 1u);
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
  std::uint64_t before = hca->complaints();
  const auto complained = [&] {
    return hca->complaints() - std::exchange(before, hca->complaints());
  };
  const auto send_doorbell = [&](std::uint64_t of, std::uint32_t qpn) {
    hca->write_uar(of + uar::send_doorbell, send_doorbell_word(qpn), 4);
    return complained();
  };
  EXPECT_EQ(send_doorbell(page, 0x3f0), 1u) << "a queue pair that does not exist";
  post_send(a, write());
  EXPECT_EQ(send_doorbell(page + 4096, a.number), 1u) << "of another UAR page";
  EXPECT_TRUE(no_completion());
  const auto cq_doorbell_of = [&](std::uint32_t number, std::uint32_t consumer) {
    image<cq_doorbell> d;
    d.set<&cq_doorbell::cmd>(cq_arm::next)
        .set<&cq_doorbell::cqn>(number)
        .set<&cq_doorbell::ci>(consumer);
    hca->write_uar(page + uar::cq_doorbell, load_be<std::uint64_t>(d.data()), 8);
    return complained();
  };
  EXPECT_EQ(cq_doorbell_of(333, 0), 1u) << "a completion queue that does not exist";
  EXPECT_EQ(cq_doorbell_of(cqn, 5), 1u) << "a consumer that is ahead";
  EXPECT_EQ(events(event_type::completion), 0u);
  before = hca->complaints();
  hca->write_uar(uar::eq_doorbell_of(33), 0x80000000, 4);
  EXPECT_EQ(complained(), 1u) << "an event queue that does not exist";
  hca->write_uar(uar::eq_doorbell_of(eqn), 0x80000500, 4);
  EXPECT_EQ(complained(), 1u) << "a consumer that is ahead";
  hca->write_uar(page + 0x100, 0, 4);
  EXPECT_EQ(complained(), 1u) << "no doorbell stands there";
  hca->write_uar(page + uar::cq_doorbell + 4, 0, 4);
  EXPECT_EQ(complained(), 1u) << "half of a doorbell";
  // All that was real still works.
  ring(a);
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

}  // namespace freehca::model::test
