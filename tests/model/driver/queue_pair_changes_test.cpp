// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Transitions that change the attributes of a queue pair, drain it, or bring it back from SQE, and
// what a query reports then.
#include <algorithm>
#include <optional>
#include <vector>

#include "counts.hpp"
#include "rc_pair.hpp"

// Compiled with others of the folder as one source.
namespace freehca::queue_pair_changes_tests {
namespace {

using namespace testing;
namespace optional = layouts::qp_optpar;
using layouts::event_type;
using layouts::path_migration;
using layouts::qp_service;
using layouts::qp_state;
using queues::completion_status;

constexpr memory_access writable{.local_write = true, .remote_read = true, .remote_write = true};

struct queue_pair_changes_test : ::testing::Test {
  rig_options options() {
    rig_options o = exact();
    o.events.context = this;
    o.events.qp = [](void* self, qp_handle, void*, event_type type) noexcept {
      static_cast<queue_pair_changes_test*>(self)->events.push_back(type);
    };
    return o;
  }
  queue_pair_changes_test() { before = counts(rig); }
  ~queue_pair_changes_test() override {
    source.reset();
    target.reset();
    pair.reset();
    EXPECT_EQ(counts(rig), before);
    std::string all;
    for (const std::string& c : rig.machine.complaints()) all += c + "\n";
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << all;
  }
  void make(qp_service service) {
    pair.emplace(rig, queue_pair_attributes{.service = service, .sends = 8, .receives = 8});
    source.emplace(rig, pair->domain, 8192, 0, writable);
    target.emplace(rig, pair->domain, 8192, 0, writable);
  }
  status change(unsigned i, qp_state to, const queue_pair_changes& a = {}) {
    change_queue_pair c;
    c.start(rig.objects, pair->queue[i], to, a);
    return rig.await(c);
  }
  queue_pair_report report(unsigned i) {
    query_queue_pair q;
    q.start(rig.objects, pair->queue[i]);
    EXPECT_TRUE(rig.await(q).ok());
    return report_of(rig.objects, q);
  }
  qp_state state(unsigned i) { return rig.objects.find(pair->queue[i])->qp_state; }
  status write(std::size_t bytes = 8) {
    return pair->send(0).post_and_ring(queues::rdma_write{
        .remote = {target->address(), target->key}, .data = source->entry(0, bytes)});
  }
  void writes_once() {
    ASSERT_TRUE(write().ok());
    const auto w = pair->next(0);
    EXPECT_TRUE(w.ok()) << name_of(w.status);
  }
  bool comes(event_type type) {
    return rig.run([&] { return std::find(events.begin(), events.end(), type) != events.end(); },
                   clock::seconds(1));
  }
  void drain(unsigned i) {
    ASSERT_TRUE(change(i, qp_state::sq_draining, {.drained_event = true}).ok());
    ASSERT_TRUE(comes(event_type::sq_drained));
    ASSERT_EQ(state(i), qp_state::sq_drained);
    events.clear();
  }
  std::uint16_t lid() { return rig.adapter.port(1).lid; }

  std::vector<event_type> events;
  verbs_rig rig{options()};
  std::vector<std::uint64_t> before;
  std::optional<rc_pair> pair;
  std::optional<registered_buffer> source, target;
};

TEST_F(queue_pair_changes_test, from_init_to_init_what_was_given_is_what_rtr_writes) {
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud}) {
    make(service);
    const bool connected = service != qp_service::ud;
    connection_attributes a = pair->attributes(0);
    a.remote_write = false;
    ASSERT_TRUE(pair->move(0, qp_state::init, a).ok());
    queue_pair_changes c{.given = optional::pkey_index | optional::sched_queue |
                                  (connected ? optional::rwe : optional::qkey),
                         .pkey_index = 5,
                         .remote_write = true,
                         .qkey = 77};
    ASSERT_TRUE(change(0, qp_state::init, c).ok());
    EXPECT_EQ(state(0), qp_state::init);
    for (const qp_state next : {qp_state::init, qp_state::rtr}) {
      if (next == qp_state::rtr) {
        ASSERT_TRUE(pair->move(0, next, a).ok());
      }
      const queue_pair_report r = report(0);
      EXPECT_EQ(r.state, next);
      EXPECT_EQ(r.primary.pkey_index, 5u);
      EXPECT_EQ(r.remote_write, connected);
      EXPECT_EQ(r.remote_read, service == qp_service::rc);
      EXPECT_EQ(connected || r.qkey == 77u, true);
    }
    target.reset();
    source.reset();
  }
}

TEST_F(queue_pair_changes_test, in_rts_rights_and_timer_change_and_peers_notice) {
  make(qp_service::rc);
  pair->connect();
  writes_once();
  const queue_pair_changes none{.given = optional::rwe | optional::min_rnr_nak, .min_rnr_timer = 3};
  ASSERT_TRUE(change(1, qp_state::rts, none).ok());
  queue_pair_report r = report(1);
  EXPECT_FALSE(r.remote_write);
  EXPECT_TRUE(r.remote_read && r.remote_atomic);
  EXPECT_EQ(r.min_rnr_timer, 3u);
  EXPECT_EQ(r.state, qp_state::rts);
  ASSERT_TRUE(change(1, qp_state::rts).ok()) << "nothing changes";
  ASSERT_TRUE(write().ok());
  EXPECT_EQ(pair->next(0).status, completion_status::remote_invalid_request);
  EXPECT_EQ(state(0), qp_state::error);
  EXPECT_TRUE(change(0, qp_state::rts).is(driver_error::bad_state));
}

TEST_F(queue_pair_changes_test, a_drained_queue_takes_new_attributes_and_goes_on) {
  make(qp_service::rc);
  pair->connect();
  drain(0);
  ASSERT_TRUE(write().ok()) << "requests wait";
  rig.run([] { return false; }, clock::milliseconds(1));
  queues::work_completion w;
  EXPECT_EQ(pair->cq(0).poll(&w, 1), 0u);
  const queue_pair_changes c{
      .given = optional::primary_path | optional::pkey_index | optional::rra_max |
               optional::sra_max | optional::retry_count | optional::rnr_retry |
               optional::ack_timeout | optional::min_rnr_nak,
      .pkey_index = 0,
      .min_rnr_timer = 9,
      .reads_as_responder = 3,
      .reads_as_requester = 3,
      .retry_count = 2,
      .rnr_retry = 1,
      .ack_timeout = 12,
      .path = infiniband_path{.dlid = lid(), .sl = 4, .static_rate = 2},
  };
  ASSERT_TRUE(change(0, qp_state::sq_drained, c).ok());
  EXPECT_EQ(state(0), qp_state::sq_drained);
  const queue_pair_report r = report(0);
  EXPECT_EQ(r.state, qp_state::sq_drained);
  EXPECT_EQ(r.primary.infiniband.sl, 4u);
  EXPECT_EQ(r.primary.infiniband.dlid, lid());
  EXPECT_EQ(r.primary.infiniband.static_rate, 2u);
  EXPECT_EQ(r.primary.infiniband.port, 1u);
  EXPECT_FALSE(r.primary.ethernet);
  EXPECT_EQ(r.primary.ack_timeout, 12u);
  EXPECT_EQ(r.min_rnr_timer, 9u);
  EXPECT_EQ(r.reads_as_responder, 4u);
  EXPECT_EQ(r.reads_as_requester, 2u);
  EXPECT_EQ(r.retry_count, 2u);
  EXPECT_EQ(r.rnr_retry, 1u);
  EXPECT_EQ(r.remote_qpn, qpn_of(rig.objects, pair->queue[1]));
  EXPECT_EQ(r.path_mtu, rig.adapter.port(1).active_mtu);
  ASSERT_TRUE(change(0, qp_state::rts).ok());
  EXPECT_TRUE(pair->next(0).ok()) << "the request that waited";
  writes_once();
  EXPECT_EQ(events, std::vector<event_type>{});
  // No reads as responder: no rights to read.
  drain(0);
  ASSERT_TRUE(
      change(0, qp_state::sq_drained, {.given = optional::rra_max, .reads_as_responder = 0}).ok());
  EXPECT_FALSE(report(0).remote_read);
  ASSERT_TRUE(pair->move(0, qp_state::error).ok()) << "from SQD too";
}

TEST_F(queue_pair_changes_test, a_query_tells_that_a_queue_has_drained) {
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud}) {
    make(service);
    pair->connect();
    ASSERT_TRUE(change(0, qp_state::sq_draining).ok());
    EXPECT_EQ(state(0), qp_state::sq_draining);
    EXPECT_TRUE(change(0, qp_state::rts).is(driver_error::bad_state)) << "not known yet";
    rig.run([] { return false; }, clock::milliseconds(1));
    EXPECT_EQ(report(0).state, qp_state::sq_drained);
    EXPECT_EQ(state(0), qp_state::sq_drained);
    EXPECT_TRUE(events.empty());
    ASSERT_TRUE(change(0, qp_state::rts).ok());
    EXPECT_EQ(report(0).state, qp_state::rts);
    target.reset();
    source.reset();
  }
}

TEST_F(queue_pair_changes_test, a_datagram_queue_pair_sends_again_after_an_error) {
  make(qp_service::ud);
  pair->connect();
  const auto made = rig.objects.create<address_handle>(
      {.pd = pair->domain, .address = infiniband_path{.dlid = lid()}});
  ASSERT_TRUE(made.ok());
  const auto send = [&](std::uint32_t key) {
    queues::data_entry data = source->entry(0, 8);
    data.lkey = key;
    ASSERT_TRUE(pair->send(0)
                    .post_and_ring(queues::send_datagram{
                        .to = {&rig.objects.find(made.value())->address,
                               qpn_of(rig.objects, pair->queue[1]), rc_pair::qkey + 1},
                        .data = data})
                    .ok());
  };
  send(source->key ^ 1);
  EXPECT_EQ(pair->next(0).status, completion_status::local_protection);
  ASSERT_EQ(state(0), qp_state::sq_error);
  EXPECT_TRUE(
      pair->send(0)
          .post(queues::send_datagram{.to = {&rig.objects.find(made.value())->address, 1, 0},
                                      .data = source->entry(0, 8)})
          .is(driver_error::bad_state));
  ASSERT_TRUE(change(0, qp_state::rts, {.given = optional::qkey, .qkey = rc_pair::qkey + 1}).ok());
  EXPECT_EQ(state(0), qp_state::rts);
  EXPECT_EQ(report(0).qkey, rc_pair::qkey + 1);
  send(source->key);
  EXPECT_TRUE(pair->next(0).ok());
  // The other side gets the new Q_Key by a change in RTS.
  ASSERT_TRUE(change(1, qp_state::rts, {.given = optional::qkey, .qkey = rc_pair::qkey + 1}).ok());
  const queues::data_entry to = target->entry(0, 512);
  ASSERT_TRUE(pair->receive(1).post_and_ring({.list = &to, .entries = 1}).ok());
  send(source->key);
  EXPECT_TRUE(pair->next(0).ok());
  EXPECT_TRUE(pair->next(1).ok());
  EXPECT_TRUE(rig.objects.destroy(made.value()).ok());
}

TEST_F(queue_pair_changes_test, a_connection_migrates_to_its_alternate_path) {
  make(qp_service::rc);
  pair->connect();
  for (unsigned i = 0; i < 2; ++i) {
    const queue_pair_changes c{.given = optional::alternate_path | optional::pm_state,
                               .migration = path_migration::rearm,
                               .alternate = infiniband_path{.dlid = lid(), .sl = 5},
                               .alternate_pkey_index = 0,
                               .alternate_ack_timeout = 11};
    const status s = change(i, qp_state::rts, c);
    ASSERT_TRUE(s.ok()) << words(s);
    EXPECT_EQ(report(i).migration, path_migration::rearm);
  }
  queue_pair_report r = report(0);
  EXPECT_EQ(r.alternate.infiniband.sl, 5u);
  EXPECT_EQ(r.alternate.infiniband.dlid, lid());
  EXPECT_EQ(r.alternate.ack_timeout, 11u);
  EXPECT_EQ(r.primary.infiniband.sl, 0u);
  writes_once();
  EXPECT_EQ(report(0).migration, path_migration::armed);
  EXPECT_EQ(report(1).migration, path_migration::armed);
  // The program may ask for it.
  ASSERT_TRUE(change(0, qp_state::rts, {.given = optional::pm_state}).ok());
  EXPECT_TRUE(comes(event_type::path_migrated));
  r = report(0);
  EXPECT_EQ(r.migration, path_migration::migrated);
  EXPECT_EQ(r.primary.infiniband.sl, 5u);
  EXPECT_EQ(r.primary.ack_timeout, 11u);
  events.clear();
  writes_once();
  EXPECT_TRUE(comes(event_type::path_migrated)) << "the peer follows";
  EXPECT_EQ(report(1).primary.infiniband.sl, 5u);
  // And again.
  const queue_pair_changes c{.given = optional::alternate_path | optional::pm_state,
                             .migration = path_migration::rearm,
                             .alternate = infiniband_path{.dlid = lid(), .sl = 1}};
  for (unsigned i = 0; i < 2; ++i) ASSERT_TRUE(change(i, qp_state::rts, c).ok());
  writes_once();
  EXPECT_EQ(report(0).migration, path_migration::armed);
}

TEST_F(queue_pair_changes_test, a_path_that_is_lost_is_left) {
  make(qp_service::rc);
  pair->connect();
  for (unsigned i = 0; i < 2; ++i)
    ASSERT_TRUE(change(i, qp_state::rts,
                       {.given = optional::alternate_path | optional::pm_state,
                        .migration = path_migration::rearm,
                        .alternate = infiniband_path{.dlid = lid(), .sl = 5}})
                    .ok());
  writes_once();
  drain(0);
  constexpr std::uint16_t nobody = 0x77;
  ASSERT_TRUE(change(0, qp_state::sq_drained,
                     {.given = optional::primary_path, .path = infiniband_path{.dlid = nobody}})
                  .ok());
  ASSERT_TRUE(change(0, qp_state::rts).ok());
  ASSERT_TRUE(write().ok());
  EXPECT_TRUE(pair->next(0).ok());
  EXPECT_TRUE(comes(event_type::path_migrated));
  EXPECT_EQ(report(0).primary.infiniband.sl, 5u);
  EXPECT_EQ(state(0), qp_state::rts);
}

TEST_F(queue_pair_changes_test, only_changes_that_exist) {
  make(qp_service::rc);
  const std::vector<qp_state> states{
      qp_state::reset,    qp_state::init,        qp_state::rtr,
      qp_state::rts,      qp_state::sq_draining, qp_state::sq_drained,
      qp_state::sq_error, qp_state::error,       qp_state::suspended};
  const auto refused_but = [&](std::initializer_list<qp_state> good) {
    for (const qp_state to : states) {
      if (std::find(good.begin(), good.end(), to) != good.end()) continue;
      EXPECT_TRUE(change(0, to).is(driver_error::bad_state)) << static_cast<unsigned>(to);
    }
  };
  refused_but({});
  ASSERT_TRUE(pair->move(0, qp_state::init).ok());
  refused_but({qp_state::init});
  ASSERT_TRUE(pair->move(0, qp_state::rtr).ok());
  refused_but({});
  ASSERT_TRUE(pair->move(0, qp_state::rts).ok());
  refused_but({qp_state::rts, qp_state::sq_draining});
  ASSERT_TRUE(change(0, qp_state::sq_draining, {.drained_event = true}).ok());
  ASSERT_TRUE(comes(event_type::sq_drained));
  refused_but({qp_state::sq_drained, qp_state::rts});
  ASSERT_TRUE(pair->move(0, qp_state::error).ok());
  refused_but({});
  const qp_handle stale{pair->queue[0].index, pair->queue[0].generation + 1};
  change_queue_pair c, other;
  c.start(rig.objects, stale, qp_state::rts);
  EXPECT_TRUE(rig.await(c).is(driver_error::stale_handle));
  other.start(rig.objects, {pair->completion[0].index, pair->completion[0].generation},
              qp_state::rts);
  EXPECT_TRUE(rig.await(other).is(driver_error::stale_handle)) << "it names a completion queue";
}

TEST_F(queue_pair_changes_test, each_service_refuses_what_it_does_not_have) {
  constexpr std::uint32_t all = 0xffffffff;
  const auto expect = [&](qp_state to, std::uint32_t permitted) {
    EXPECT_TRUE(change(0, to, {.given = all}).is(driver_error::bad_argument));
    EXPECT_EQ(rig.objects.refused().what, attribute_id::changes);
    EXPECT_EQ(rig.objects.refused().value, all & ~permitted);
    EXPECT_EQ(rig.objects.refused().limit, all & ~permitted);
  };
  const std::uint32_t migrates = optional::alternate_path | optional::pm_state,
                      begins = optional::pkey_index | optional::sched_queue,
                      rights = optional::rre | optional::rwe | optional::rae,
                      path = optional::primary_path | optional::pkey_index;
  make(qp_service::ud);
  ASSERT_TRUE(pair->move(0, qp_state::init).ok());
  expect(qp_state::init, begins | optional::qkey);
  ASSERT_TRUE(pair->move(0, qp_state::rtr).ok());
  ASSERT_TRUE(pair->move(0, qp_state::rts).ok());
  expect(qp_state::rts, optional::qkey);
  expect(qp_state::sq_draining, 0);
  drain(0);
  expect(qp_state::sq_drained, optional::qkey | optional::pkey_index);
  target.reset();
  source.reset();
  make(qp_service::uc);
  pair->connect();
  expect(qp_state::rts, migrates | optional::rwe);
  drain(0);
  expect(qp_state::sq_drained, migrates | optional::rwe | path);
  target.reset();
  source.reset();
  make(qp_service::rc);
  pair->connect();
  expect(qp_state::rts, migrates | rights | optional::min_rnr_nak);
  drain(0);
  expect(qp_state::sq_drained, migrates | rights | optional::min_rnr_nak | path |
                                   optional::sra_max | optional::rra_max | optional::retry_count |
                                   optional::rnr_retry | optional::ack_timeout);
  expect(qp_state::rts, migrates | rights | optional::min_rnr_nak);
}

/// The command is not answered, or refused.
TEST_F(queue_pair_changes_test, a_refused_change_leaves_what_was) {
  make(qp_service::rc);
  ASSERT_TRUE(pair->move(0, qp_state::init).ok());
  rig.machine.adapter().judge_commands(
      [](layouts::opcode, std::uint32_t) -> model::command_verdict {
        return {.what = model::command_verdict::fate::refuse,
                .status = layouts::command_status::internal_error};
      });
  EXPECT_FALSE(change(0, qp_state::init, {.given = optional::pkey_index, .pkey_index = 4}).ok());
  rig.machine.adapter().judge_commands({});
  EXPECT_EQ(state(0), qp_state::init);
  ASSERT_TRUE(pair->move(0, qp_state::rtr).ok());
  EXPECT_EQ(report(0).primary.pkey_index, 0u);
  ASSERT_TRUE(pair->move(0, qp_state::rts).ok());
  EXPECT_EQ(state(0), qp_state::rts);
}

TEST_F(queue_pair_changes_test, a_drained_queue_stays_drained_when_the_answer_comes_late) {
  make(qp_service::rc);
  pair->connect();
  change_queue_pair c;
  c.start(rig.objects, pair->queue[0], qp_state::sq_draining, {.drained_event = true});
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  rig.machine.adapter().judge_commands(
      [](layouts::opcode, std::uint32_t) -> model::command_verdict {
        return {.what = model::command_verdict::fate::hold};
      });
  EXPECT_TRUE(rig.await(c).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, clock::seconds(1)));
  ASSERT_TRUE(comes(event_type::sq_drained));
  EXPECT_EQ(state(0), qp_state::sq_drained);
  EXPECT_TRUE(change(0, qp_state::rts).ok());
  writes_once();
}

TEST_F(queue_pair_changes_test, a_change_in_doubt_is_settled_by_the_late_answer) {
  make(qp_service::rc);
  pair->connect();
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  rig.machine.adapter().judge_commands(
      [](layouts::opcode, std::uint32_t) -> model::command_verdict {
        return {.what = model::command_verdict::fate::hold};
      });
  EXPECT_TRUE(change(0, qp_state::sq_draining).is(transport_error::timeout));
  EXPECT_TRUE(rig.objects.find(pair->queue[0])->in_doubt());
  EXPECT_TRUE(change(0, qp_state::rts).is(driver_error::busy));
  EXPECT_TRUE(write().is(driver_error::bad_state));
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, clock::seconds(1)));
  EXPECT_EQ(state(0), qp_state::sq_draining);
  rig.run([] { return false; }, clock::milliseconds(1));
  EXPECT_EQ(report(0).state, qp_state::sq_drained);
  ASSERT_TRUE(change(0, qp_state::rts).ok());
  writes_once();
}

}  // namespace
}  // namespace freehca::queue_pair_changes_tests
