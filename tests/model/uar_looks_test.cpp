// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Doorbells that the adapter is not told of one by one (device::look_at_uar): somebody rang in a
// page, and the memory of the host says for which queues.
#include <random>
#include <set>
#include <string>

#include <freehca/model/c_api.h>

#include "queues/completion_queues.hpp"
#include "transport_fixture.hpp"

namespace freehca::model::test {
namespace {

constexpr std::uint32_t page = test_driver::uar;
constexpr auto rdma_write = static_cast<unsigned>(wqe_opcode::rdma_write);

class uar_looks : public transport_fixture {
 protected:
  uar_looks() : a(make_qp(0x100)), b(make_qp(0x101)) {
    to_rts(a, b.number);
    to_rts(b, a.number);
  }
  void post(test_qp& qp) {
    post_send(qp, transfer(wqe_opcode::rdma_write, 8, region_start, region_start + 4096));
  }
  void look() { hca->look_at_uar(page, true, false); }
  /// An arm request as a driver writes it, without the doorbell behind it.
  void write_arm_request(layouts::cq_arm what) {
    using record = layouts::cq_doorbell_record;
    host->store(cq.doorbell_record, host->load<record>(cq.doorbell_record)
                                        .set<&record::cmd_sn>(cq.arm_sn & 3)
                                        .set<&record::cmd>(what)
                                        .set<&record::arm_ci>(cq.consumer)
                                        .set<&record::update_ci>(cq.consumer));
  }
  void look_at_completions() { hca->look_at_uar(page, false, true); }
  unsigned completion_events() {
    const unsigned found = events(event_type::completion);
    cq.arm_sn = static_cast<std::uint8_t>(cq.arm_sn + found);
    driver->ring_eq(eq, true);
    return found;
  }
  std::set<std::uint32_t> pages() {
    std::set<std::uint32_t> all;
    hca->uar_pages(
        [](const uar_page& p, void* to) { static_cast<decltype(all)*>(to)->insert(p.number); },
        &all);
    return all;
  }
  test_qp a, b;
};

TEST_F(uar_looks, one_look_serves_every_queue_pair_that_has_rung_in_the_page) {
  post(a);
  post(b);
  post(b);
  EXPECT_TRUE(no_completion()) << "before somebody has looked";
  look();
  std::multiset<std::uint64_t> done;
  for (int i = 0; i < 3; ++i) done.insert(completion().get<&layouts::cqe::qpn>());
  EXPECT_EQ(done, (std::multiset<std::uint64_t>{a.number, b.number, b.number}));
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, a_look_that_finds_nothing_does_nothing_however_often_it_comes) {
  for (unsigned i = 0; i < 5; ++i) {
    look();
    look_at_completions();
  }
  EXPECT_TRUE(no_completion());
  post(a);
  // Both before the queue is served.
  look();
  look();
  expect_done(a, true, rdma_write);
  look();
  EXPECT_TRUE(no_completion());
  // By a doorbell that is told of, as before.
  send(a, transfer(wqe_opcode::rdma_write, 8, region_start, region_start + 4096));
  expect_done(a, true, rdma_write);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, two_rounds_of_the_queue_between_looks_and_doorbells_in_turns) {
  for (unsigned i = 0; i < 2 * test_qp::entries; ++i) {
    post(a);
    if (i % 3 == 0) ring(a);
    else look();
    expect_done(a, true, rdma_write);
  }
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, in_another_page_is_none_at_this_one) {
  post(a);
  for (const std::uint32_t other : {0u, page - 1, page + 1, ~0u})
    hca->look_at_uar(other, true, true);
  EXPECT_TRUE(no_completion());
  hca->look_at_uar(page, false, true);
  EXPECT_TRUE(no_completion()) << "nobody rang for a send queue";
  look();
  expect_done(a, true, rdma_write);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, a_queue_of_zeros_is_no_work_though_its_owner_bits_are_hardwares) {
  // As a transmit ring of Linux's is until its first doorbell, and a user's XRC target for ever.
  std::memset(driver->bytes_of(a.ring, 0), 0, 4096);
  std::memset(driver->bytes_of(a.ring, 4096), 0, 4096);
  post(b);
  look();
  expect_done(b, true, rdma_write);
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(state_of(a), qp_state::rts);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, what_is_posted_in_the_error_state_is_flushed) {
  ASSERT_EQ(driver->command(layouts::opcode::to_err_qp, 0, a.number).status, command_status::ok);
  post(a);
  look();
  const auto e = layouts::image<layouts::cqe_error>::from_bytes(completion().data());
  EXPECT_EQ(e.get<&layouts::cqe_error::syndrome>(), cqe_syndrome::wr_flush);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, a_completion_queue_is_armed_by_its_record) {
  driver->ring_eq(eq, true);
  completion_events();
  for (unsigned i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    write_arm_request(layouts::cq_arm::next);
    post(a);
    look();
    expect_done(a, true, rdma_write);
    EXPECT_EQ(completion_events(), 0u) << "not rung yet";
    look_at_completions();
    EXPECT_EQ(completion_events(), 1u) << "what came between poll and arm is told at once";
    look_at_completions();
    EXPECT_EQ(completion_events(), 0u) << "the same request again";
  }
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, an_arm_request_of_before_does_not_end_the_moderation_of_events) {
  layouts::image<layouts::cqc> m;
  m.set<&layouts::cqc::cq_max_count>(4).set<&layouts::cqc::cq_period>(100);
  ASSERT_EQ(driver->command_with(layouts::opcode::modify_cq, m, cqn, 1).status, command_status::ok);
  driver->ring_eq(eq, true);
  completion_events();
  write_arm_request(layouts::cq_arm::next);
  look_at_completions();
  post(a);
  look();
  host->run();
  look_at_completions();
  EXPECT_EQ(completion_events(), 0u);
  host->advance(100'000);
  EXPECT_EQ(completion_events(), 1u);
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, a_load_of_the_same_pages_is_no_change) {
  const std::uint64_t before = hca->uar_page_changes();
  std::string why;
  ASSERT_TRUE(hca->load(hca->save(), why)) << why;
  EXPECT_EQ(hca->uar_page_changes(), before);
}

TEST_F(uar_looks, pages_in_use_are_told_and_when_they_change) {
  constexpr std::uint32_t of_the_eq = eqn / 4;
  EXPECT_EQ(pages(), (std::set<std::uint32_t>{of_the_eq, page}));
  const std::uint64_t before = hca->uar_page_changes();
  test_qp c = make_qp(0x110);
  to_rts(c, c.number);
  EXPECT_EQ(hca->uar_page_changes(), before) << "another one of the same page";
  for (const test_qp* qp : {&a, &b, &c}) {
    ASSERT_EQ(driver->command(layouts::opcode::to_rst_qp, 0, qp->number, 3).status,
              command_status::ok);
  }
  EXPECT_EQ(hca->uar_page_changes(), before) << "the CQ is there";
  ASSERT_EQ(driver->command(layouts::opcode::hw2sw_cq, 0, cqn, 1).status, command_status::ok);
  EXPECT_NE(hca->uar_page_changes(), before);
  EXPECT_EQ(pages(), std::set<std::uint32_t>{of_the_eq});
  hca->reset();
  EXPECT_TRUE(pages().empty());
  hca->look_at_uar(page, true, true);
}

TEST_F(uar_looks, many_queue_pairs_of_a_page_are_looked_at_in_turns_of_bounded_work) {
  constexpr std::uint32_t first = 0x120, many = 700;
  // All have the memory of one queue, as nobody but a hostile driver would.
  test_qp shared = make_qp(first);
  for (std::uint32_t i = 0; i < many; ++i) {
    test_qp one = shared;
    one.number = first + i;
    ASSERT_EQ(modify(layouts::opcode::rst2init_qp, one.number, first_context(one)),
              command_status::ok);
  }
  hca->inside_now().account.forget_greatest();
  post(a);
  post(b);
  for (unsigned i = 0; i < 50; ++i) look();
  std::set<std::uint64_t> done;
  for (int i = 0; i < 2; ++i) done.insert(completion().get<&layouts::cqe::qpn>());
  EXPECT_EQ(done, (std::set<std::uint64_t>{a.number, b.number}));
  EXPECT_LE(hca->inside_now().account.greatest(), options::default_turn_units + work_account::step);
  // One that is not seen in the first slice is no entry without a doorbell.
  test_qp last = make_qp(0x3f0);
  to_rts(last, a.number);
  post(last);
  look();
  ASSERT_EQ(driver->command(layouts::opcode::to_err_qp, 0, last.number).status, command_status::ok);
  host->run();
  EXPECT_EQ(hca->complaints(), 0u);
}

TEST_F(uar_looks, a_reset_in_the_midst_of_looks_does_not_end_those_that_come_later) {
  for (std::uint32_t number = 0x120; number < 0x3c0; ++number) {
    test_qp one = a;
    one.number = number;
    ASSERT_EQ(modify(layouts::opcode::rst2init_qp, number, first_context(one)), command_status::ok);
  }
  look();
  hca->reset();
  EXPECT_TRUE(pages().empty());
  test_driver again(*host, *hca);
  ASSERT_TRUE(again.bring_up());
  ASSERT_EQ(again.make_eq(eq, eqn, 1).status, command_status::ok);
  ASSERT_EQ(again.make_cq(cq, cqn, eqn).status, command_status::ok);
  again.ring_eq(eq, true);
  write_arm_request(layouts::cq_arm::next);
  look_at_completions();
  EXPECT_TRUE(hca->inside_now().cqs->complete(cqn, layouts::image<layouts::cqe>{}, false));
  host->run();
  layouts::image<layouts::eqe> e;
  EXPECT_TRUE(again.next_event(eq, e));
}

TEST_F(uar_looks, a_hostile_driver_writes_over_queues_and_records_meanwhile) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 300; ++round) {
    for (std::size_t at = 0; at < 8192; at += 4)
      if (random() % 8 == 0)
        layouts::store_be(driver->bytes_of(a.ring, at), static_cast<std::uint32_t>(random()));
    layouts::store_be(host->at(cq.doorbell_record) + 4, static_cast<std::uint32_t>(random()));
    hca->look_at_uar(page, random() % 2 != 0, random() % 2 != 0);
    if (round % 3 == 0) host->run();
  }
  hca->reset();
  EXPECT_TRUE(pages().empty());
}

TEST(uar_looks_for_c, are_those_of_the_model) {
  freehca_model_options how;
  freehca_model_default_options(&how);
  std::array<char, 200> why;
  freehca_model_environment e{};
  e.now = [](void*) { return std::uint64_t{0}; };
  e.arm_timer = [](void*, std::uint64_t) {};
  freehca_model* m = freehca_model_create(&e, &how, why.data(), why.size());
  ASSERT_NE(m, nullptr) << why.data();
  freehca_model_look_at_uar(m, 200, true, true);
  unsigned pages = 0;
  freehca_model_uar_pages(
      m, [](void* to, const freehca_model_uar_page*) { ++*static_cast<unsigned*>(to); }, &pages);
  EXPECT_EQ(pages, 0u);
  EXPECT_EQ(freehca_model_uar_page_changes(m), 0u);
  freehca_model_destroy(m);
}

}  // namespace
}  // namespace freehca::model::test
