// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Automatic path migration: both paths of a queue pair lead to the port itself; one that is to fail
// leads to a LID that nobody has.
#include <freehca/layouts/query_dev_cap.hpp>

#include "peer_fixture.hpp"
#include "whole_answer.hpp"

namespace freehca::model::test {

using layouts::alternate_path;
using layouts::opcode;
using layouts::path_migration;
using layouts::primary_path;
using layouts::qpc;
namespace optional = layouts::qp_optpar;

namespace {

class path_migrations : public transport_fixture {
 protected:
  static constexpr std::uint16_t nobody = 0x77;
  static constexpr std::uint8_t alternate_sl = 5;

  path_migrations() : a(make_qp(0x100)), b(make_qp(0x101)) { connect(a, b); }

  layouts::image<qpc> with_alternate(const test_qp& qp, std::uint32_t remote,
                                     std::uint16_t alternate_lid) {
    auto c = ready_context(qp, remote);
    c.set<&qpc::retry_count>(1);
    c.set<&alternate_path::rlid>(alternate_lid)
        .set<&alternate_path::sched_queue>(layouts::sched_queue_ib(1, alternate_sl))
        .set<&alternate_path::ack_timeout>(15);
    return c;
  }
  void connect_one(const test_qp& qp, std::uint32_t remote, std::uint16_t alternate_lid) {
    const auto c = with_alternate(qp, remote, alternate_lid);
    ASSERT_EQ(modify(opcode::rst2init_qp, qp.number, first_context(qp)), command_status::ok);
    ASSERT_EQ(modify(opcode::init2rtr_qp, qp.number, c, optional::alternate_path),
              command_status::ok);
    ASSERT_EQ(modify(opcode::rtr2rts_qp, qp.number, c), command_status::ok);
  }
  void connect(const test_qp& one, const test_qp& other) {
    connect_one(one, other.number, links().base_lid(1));
    connect_one(other, one.number, links().base_lid(1));
    events(event_type::none);
  }
  command_status ask(const test_qp& qp, path_migration wanted, opcode by = opcode::rts2rts_qp) {
    layouts::image<qpc> c;
    c.set<&qpc::pm_state>(wanted);
    return modify(by, qp.number, c, optional::pm_state);
  }
  path_migration migration(const test_qp& qp) { return context_of(qp).get<&qpc::pm_state>(); }
  void transfer_once() {
    send(a, transfer(wqe_opcode::rdma_write, 8, region_start, region_start + 0x100000));
    expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  }
  void arm() {
    for (const test_qp* qp : {&a, &b})
      ASSERT_EQ(ask(*qp, path_migration::rearm), command_status::ok);
    transfer_once();
    ASSERT_EQ(migration(a), path_migration::armed);
    ASSERT_EQ(migration(b), path_migration::armed);
    events(event_type::none);
  }
  /// From now on `a`'s primary path leads nowhere.
  void lose_primary_path() {
    ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, a.number).status, command_status::ok);
    auto c = with_alternate(a, b.number, 0);
    c.set<&primary_path::rlid>(nobody);
    ASSERT_EQ(modify(opcode::sqd2sqd_qp, a.number, c, optional::primary_path), command_status::ok);
    ASSERT_EQ(modify(opcode::sqd2rts_qp, a.number, c), command_status::ok);
  }
  /// What comes of one write of `a` that `b` drops, since it comes by a path that `b` has not.
  static wanted_answer dropped_by_path(std::vector<event_type> told) {
    return {{},
            std::move(told),
            {{"port1_packets_looped_back", 1},
             {"port1_packets_received", 1},
             {"port1_packets_sent", 1},
             {"rc_write_packets", 1},
             {"send_requests_held", 1},
             {"transport_packets_dropped", 1},
             {"transport_packets_received", 1},
             {"transport_packets_sent", 1}},
            {},
            "it does not come by the queue pair's path: source LID 0x2"};
  }
  void wait_for_completion() {
    send(a, transfer(wqe_opcode::rdma_write, 3000, region_start, region_start + 0x100000));
    wait_for_retries();
  }
  void wait_for_retries() {
    const std::uint64_t before = driver->counter_named("transport_timeouts");
    for (unsigned i = 0; i < 100 && driver->counter_named("transport_timeouts") < before + 2; ++i)
      host->advance(100'000'000);
    host->advance(1'000'000'000);
  }
  test_qp a, b;
};

}  // namespace

TEST_F(path_migrations, all_cards_report_it) {
  using cap = layouts::query_dev_cap;
  for (const variant kind : {variant::connectx3_pro, variant::connectx3, variant::connectx2}) {
    options how = test_options();
    how.kind = kind;
    start(how);
    layouts::image<cap> c;
    ASSERT_EQ(driver->query(opcode::query_dev_cap, c).status, command_status::ok);
    EXPECT_NE(c.get<&cap::flags>() &
                  static_cast<std::uint64_t>(layouts::dev_cap_flag::automatic_path_migration),
              0u);
  }
}

TEST_F(path_migrations, both_ends_are_armed_when_each_has_heard_the_other_ask) {
  EXPECT_EQ(migration(a), path_migration::migrated);
  ASSERT_EQ(ask(a, path_migration::rearm), command_status::ok);
  transfer_once();
  EXPECT_EQ(migration(a), path_migration::rearm) << "the peer has not asked";
  ASSERT_EQ(ask(b, path_migration::rearm), command_status::ok);
  EXPECT_EQ(migration(b), path_migration::rearm);
  transfer_once();
  EXPECT_EQ(migration(a), path_migration::armed);
  EXPECT_EQ(migration(b), path_migration::armed);
  EXPECT_EQ(events(event_type::path_migrated), 0u);
}

TEST_F(path_migrations, an_answer_by_the_new_path_to_what_was_not_sent_completes_nothing) {
  arm();
  lose_primary_path();
  // More packets than are sent before the first is acknowledged.
  constexpr std::uint32_t packets = 200;
  send(a, transfer(wqe_opcode::rdma_write, packets * 1024, region_start, region_start + 0x100000));
  host->run();
  const auto unacknowledged =
      static_cast<std::uint32_t>(context_of(a).get<&qpc::last_acked_psn>()) + 1;
  crafted ghost;
  ghost.link.set<&layouts::lrh::lnh>(layouts::link_next_header::iba_local)
      .set<&layouts::lrh::service_level>(alternate_sl)
      .set<&layouts::lrh::dlid>(links().base_lid(1))
      .set<&layouts::lrh::slid>(links().base_lid(1));
  ghost.base
      .set<&layouts::bth::opcode>(
          layouts::make_bth_opcode(layouts::bth_transport::rc, op::acknowledge))
      .set<&layouts::bth::migrated>(true)
      .set<&layouts::bth::pkey>(0xffff)
      .set<&layouts::bth::dest_qp>(a.number)
      .set<&layouts::bth::psn>(psn_add(unacknowledged, packets - 1));
  ghost.add(layouts::image<layouts::aeth>{}.set<&layouts::aeth::value>(31));
  links().receive_from_link(1, ghost.build());
  EXPECT_TRUE(no_completion());
  EXPECT_EQ(driver->counter_named("transport_unsent_answered"), 1u);
  EXPECT_EQ(migration(a), path_migration::migrated) << "its path is right, its PSN is not";
  wait_for_retries();
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
}

TEST_F(path_migrations, retries_that_are_over_move_both_ends_and_the_request_succeeds) {
  arm();
  lose_primary_path();
  fill(region_start, 3000, 3);
  wait_for_completion();
  expect_done(a, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  expect_pattern(region_start + 0x100000, 3000, 3);
  for (const test_qp* qp : {&a, &b}) {
    const auto c = context_of(*qp);
    EXPECT_EQ(c.get<&qpc::pm_state>(), path_migration::migrated);
    EXPECT_EQ(c.get<&primary_path::rlid>(), links().base_lid(1));
    EXPECT_EQ(c.get<&primary_path::ack_timeout>(), 15u);
    EXPECT_EQ(c.get<&primary_path::sched_queue>(), layouts::sched_queue_ib(1, alternate_sl));
    EXPECT_EQ(c.get<&qpc::state>(), qp_state::rts);
  }
  EXPECT_EQ(events(event_type::path_migrated), 2u);
  transfer_once();
}

TEST_F(path_migrations, without_being_armed_the_same_loss_is_the_end) {
  lose_primary_path();
  wait_for_completion();
  expect_error(a, true, cqe_syndrome::transport_retry_exceeded,
               layouts::vendor_syndrome::retry_exceeded);
  EXPECT_EQ(events(event_type::path_migrated), 0u);
}

TEST_F(path_migrations, the_alternate_path_may_be_lost_too) {
  arm();
  auto c = with_alternate(a, b.number, nobody);
  ASSERT_EQ(modify(opcode::rts2rts_qp, a.number, c, optional::alternate_path), command_status::ok);
  lose_primary_path();
  wait_for_completion();
  host->advance(2'000'000'000);
  expect_error(a, true, cqe_syndrome::transport_retry_exceeded,
               layouts::vendor_syndrome::retry_exceeded);
  EXPECT_EQ(events(event_type::path_migrated), 1u);
}

TEST_F(path_migrations, a_driver_that_asks_moves_its_own_end_and_the_next_packet_the_other) {
  arm();
  ASSERT_EQ(ask(a, path_migration::migrated), command_status::ok);
  EXPECT_EQ(migration(a), path_migration::migrated);
  EXPECT_EQ(context_of(a).get<&primary_path::sched_queue>(),
            layouts::sched_queue_ib(1, alternate_sl));
  EXPECT_EQ(migration(b), path_migration::armed);
  transfer_once();
  EXPECT_EQ(migration(b), path_migration::migrated);
  EXPECT_EQ(events(event_type::path_migrated), 2u);
  arm();  // and again
}

TEST_F(path_migrations, a_request_by_another_path_than_the_alternate_is_dropped_and_told_once) {
  arm();
  const auto c = with_alternate(b, a.number, nobody);
  ASSERT_EQ(modify(opcode::rts2rts_qp, b.number, c, optional::alternate_path), command_status::ok);
  ASSERT_EQ(ask(a, path_migration::migrated), command_status::ok);
  events(event_type::none);
  watch();
  send(a, transfer(wqe_opcode::rdma_write, 8, region_start, region_start + 0x100000));
  came(dropped_by_path({event_type::path_migration_failed}), "the event once");
  wait_for_retries();
  EXPECT_EQ(events(event_type::path_migration_failed), 0u);
  EXPECT_EQ(migration(b), path_migration::armed);
  EXPECT_EQ(state_of(b), qp_state::rts);
  expect_error(a, true, cqe_syndrome::transport_retry_exceeded,
               layouts::vendor_syndrome::retry_exceeded);
}

TEST_F(path_migrations, unreliable_connections_move_when_the_peer_does) {
  test_qp c = make_qp(0x110, qp_service::uc), d = make_qp(0x111, qp_service::uc);
  connect(c, d);
  for (const test_qp* qp : {&c, &d}) ASSERT_EQ(ask(*qp, path_migration::rearm), command_status::ok);
  const auto write = [&](test_qp& from) {
    send(from, transfer(wqe_opcode::rdma_write, 8, region_start, region_start + 0x100000));
    expect_done(from, true, static_cast<unsigned>(wqe_opcode::rdma_write));
  };
  write(c);
  write(d);
  ASSERT_EQ(migration(c), path_migration::armed);
  ASSERT_EQ(migration(d), path_migration::armed);
  ASSERT_EQ(ask(c, path_migration::migrated), command_status::ok);
  write(c);
  EXPECT_EQ(migration(d), path_migration::migrated);
  EXPECT_EQ(events(event_type::path_migrated), 2u);
}

TEST_F(path_migrations, what_a_driver_may_not_ask_for) {
  EXPECT_EQ(ask(a, path_migration::armed), command_status::bad_parameter);
  EXPECT_EQ(ask(a, static_cast<path_migration>(2)), command_status::bad_parameter);
  EXPECT_EQ(ask(a, path_migration::migrated), command_status::ok);
  EXPECT_EQ(ask(a, path_migration::rearm), command_status::ok);
  EXPECT_EQ(ask(a, path_migration::migrated), command_status::bad_parameter);
  EXPECT_EQ(migration(a), path_migration::rearm);
  arm();
  EXPECT_EQ(ask(a, path_migration::rearm), command_status::bad_parameter);
  EXPECT_EQ(migration(a), path_migration::armed);
  ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, b.number).status, command_status::ok);
  EXPECT_EQ(ask(b, path_migration::migrated, opcode::sqd2sqd_qp), command_status::ok);
  EXPECT_EQ(ask(b, path_migration::rearm, opcode::sqd2sqd_qp), command_status::bad_parameter);
  EXPECT_EQ(ask(b, path_migration::rearm, opcode::sqd2rts_qp), command_status::ok);
}

TEST_F(path_migrations, only_what_comes_by_the_path_arms) {
  // To `b` the packets of `a` come from nobody's LID, then with nobody's P_Key.
  ASSERT_EQ(ask(b, path_migration::rearm), command_status::ok);
  const auto turn = [&](std::uint16_t lid, unsigned pkey) {
    ASSERT_EQ(driver->command(opcode::rts2sqd_qp, 0, b.number).status, command_status::ok);
    auto c = with_alternate(b, a.number, 0);
    c.set<&primary_path::rlid>(lid).set<&primary_path::pkey_index>(pkey);
    ASSERT_EQ(
        modify(opcode::sqd2sqd_qp, b.number, c, optional::primary_path | optional::pkey_index),
        command_status::ok);
    ASSERT_EQ(modify(opcode::sqd2rts_qp, b.number, c), command_status::ok);
  };
  const auto next = [&] {
    send(a, transfer(wqe_opcode::rdma_write, 8, region_start, region_start + 0x100000));
    host->run();
    return migration(b);
  };
  ASSERT_EQ(ask(a, path_migration::rearm), command_status::ok);
  turn(nobody, 0);
  events(event_type::none);
  watch();
  EXPECT_EQ(next(), path_migration::rearm);
  came(dropped_by_path({}), "it does not arm");
  turn(links().base_lid(1), 1);
  EXPECT_EQ(next(), path_migration::rearm);
  turn(links().base_lid(1), 0);
  EXPECT_EQ(next(), path_migration::armed);
  EXPECT_EQ(migration(a), path_migration::armed);
}

TEST_F(path_migrations, an_alternate_path_by_a_port_that_the_card_has_not) {
  options one_port;
  one_port.ports = 1;
  start(one_port);
  a = make_qp(0x100);
  b = make_qp(0x101);
  connect(a, b);
  auto c = with_alternate(a, b.number, links().base_lid(1));
  c.set<&alternate_path::sched_queue>(layouts::sched_queue_ib(2, 0));
  EXPECT_EQ(modify(opcode::rts2rts_qp, a.number, c, optional::alternate_path),
            command_status::bad_parameter);
  EXPECT_EQ(state_of(a), qp_state::rts);
  // Nor does it come in by RST2INIT_QP, which has no options.
  const test_qp d = make_qp(0x102);
  auto first = first_context(d);
  first.set<&alternate_path::sched_queue>(layouts::sched_queue_ib(2, 0));
  EXPECT_EQ(modify(opcode::rst2init_qp, d.number, first), command_status::bad_parameter);
  first = first_context(d);
  first.set<&primary_path::sched_queue>(layouts::sched_queue_ib(2, 0));
  EXPECT_EQ(modify(opcode::rst2init_qp, d.number, first), command_status::bad_parameter);
  EXPECT_EQ(driver->counter_named("queue_pairs"), 2u);
  EXPECT_EQ(modify(opcode::rst2init_qp, d.number, first_context(d)), command_status::ok);
}

}  // namespace freehca::model::test
