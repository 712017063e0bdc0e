// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Completion queues that get another ring, and moderation of their events.
#include <optional>
#include <string>
#include <vector>

#include "counts.hpp"
#include "owners_rig.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using layouts::qp_state;
using ring_handle = handle<completion_ring>;
using fate = model::command_verdict::fate;

struct resizable_queue_test : ::testing::Test {
  rig_options options() {
    rig_options o = exact();
    o.events.context = this;
    o.events.completion = [](void* self, cq_handle, void*) noexcept {
      ++static_cast<resizable_queue_test*>(self)->told;
    };
    return o;
  }
  resizable_queue_test() {
    before = counts(rig);
    domain = rig.objects.create<protection_domain>().value();
    create_resizable_completion_queue cq;
    cq.start(rig.objects, {.entries = entries});
    EXPECT_TRUE(rig.await(cq).ok());
    queue = cq.made();
    for (qp_handle& q : pair) {
      create_queue_pair qp;
      qp.start(rig.objects,
               {.pd = domain, .send_cq = queue, .receive_cq = queue, .sends = 64, .receives = 64});
      EXPECT_TRUE(rig.await(qp).ok());
      q = qp.made();
    }
    for (const auto to : {qp_state::init, qp_state::rtr, qp_state::rts})
      for (unsigned i = 0; i < 2; ++i) {
        connection_attributes a;
        a.remote_qpn = qpn_of(rig.objects, pair[1 - i]);
        a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
        modify_queue_pair m;
        m.start(rig.objects, pair[i], to, a);
        EXPECT_TRUE(rig.await(m).ok());
      }
  }
  ~resizable_queue_test() override {
    for (const qp_handle q : pair) {
      if (!q) continue;
      destroy_queue_pair qp;
      qp.start(rig.objects, q);
      EXPECT_TRUE(rig.await(qp).ok());
    }
    if (queue) {
      destroy_resizable_completion_queue cq;
      cq.start(rig.objects, queue);
      EXPECT_TRUE(rig.await(cq).ok());
    }
    if (domain) {
      EXPECT_TRUE(rig.objects.destroy(domain).ok());
    }
    EXPECT_EQ(counts(rig), before);
    std::string all;
    for (const std::string& c : rig.machine.complaints()) all += c + "\n";
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << all;
  }
  ring_handle make_ring(std::uint32_t size) {
    create_completion_ring op;
    op.start(rig.objects, {.entries = size});
    const status s = rig.await(op);
    EXPECT_TRUE(s.ok()) << words(s);
    return op.made();
  }
  status drop(ring_handle ring) {
    destroy_completion_ring op;
    op.start(rig.objects, ring);
    return rig.await(op);
  }
  status resize(handle<resizable_completion_queue> q, ring_handle ring) {
    resize_completion_queue op;
    op.start(rig.objects, q, ring);
    return rig.await(op);
  }
  /// The status of a resize to a ring of so many entries, which is destroyed after it.
  status resize_to(std::uint32_t size) {
    const ring_handle ring = make_ring(size);
    const status s = resize(queue, ring);
    EXPECT_TRUE(drop(ring).ok());
    return s;
  }
  queues::cq& cq() { return rig.objects.find(queue)->rings; }
  /// Posts `count` sends to `pair[1]`, each with a receive: two completions.
  void post(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_TRUE(rig.objects.find(pair[1])->rings.receive.post_and_ring({.wr_id = next}).ok());
      ASSERT_TRUE(rig.objects.find(pair[0])
                      ->rings.send.post_and_ring(queues::send_list{.wr_id = next})
                      .ok());
      ++next;
    }
    settle();
  }
  void settle() {
    rig.run([] { return false; }, clock::milliseconds(1));
  }
  /// Takes `count` completions: those of sends and of receives, each in order.
  void take(unsigned count) {
    queues::work_completion w;
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_EQ(cq().poll(&w, 1), 1u) << i << " of " << count;
      ASSERT_TRUE(w.ok());
      EXPECT_EQ(w.wr_id, expected[w.opcode == queues::work_opcode::receive]++);
    }
  }
  void take_all() {
    take(static_cast<unsigned>(2 * next - expected[0] - expected[1]));
    queues::work_completion none;
    EXPECT_EQ(cq().poll(&none, 1), 0u);
  }

  static constexpr std::uint32_t entries = 15;
  unsigned told = 0;
  verbs_rig rig{options()};
  std::vector<std::uint64_t> before;
  pd_handle domain;
  handle<resizable_completion_queue> queue;
  qp_handle pair[2];
  std::uint64_t next = 0, expected[2] = {};
};

TEST_F(resizable_queue_test, keeps_its_completions_in_larger_and_smaller_rings) {
  // Different fill levels and places in the ring, of a ring that was passed several times.
  std::uint32_t size = entries;
  for (unsigned round = 0; round < 40; ++round) {
    const unsigned waiting = round % 4;
    post(waiting);
    const std::uint32_t to = round % 3 == 0 ? 63 : round % 3 == 1 ? 7 : 15;
    const status s = resize_to(to);
    ASSERT_TRUE(s.ok()) << round << ": " << words(s);
    size = to;
    EXPECT_EQ(cq().entries(), size + 1);
    EXPECT_EQ(cq().unpolled(), 2 * waiting);
    take_all();
    post(1 + round % 3);
    take_all();
  }
  EXPECT_EQ(cq().dropped(), 0u);
  query_queue_pair q;
  q.start(rig.objects, pair[0]);
  EXPECT_TRUE(rig.await(q).ok());
}

TEST_F(resizable_queue_test, may_be_polled_while_it_is_resized) {
  post(3);
  const ring_handle ring = make_ring(31);
  resize_completion_queue op;
  op.start(rig.objects, queue, ring);
  EXPECT_TRUE(rig.objects.find(queue)->next != nullptr);
  destroy_completion_ring early;
  early.start(rig.objects, ring);
  EXPECT_TRUE(rig.await(early).is(driver_error::busy)) << "it is used";
  EXPECT_TRUE(rig.await(op).ok());
  take_all();
  // The entry of the resize was polled before the answer came.
  const ring_handle smaller = make_ring(7);
  rig.machine.adapter().judge_commands([](layouts::opcode code, std::uint32_t) {
    return model::command_verdict{.what = code == layouts::opcode::modify_cq ? fate::lose_answer
                                                                             : fate::run};
  });
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  EXPECT_TRUE(resize(queue, smaller).is(transport_error::timeout));
  rig.machine.adapter().judge_commands({});
  EXPECT_TRUE(drop(smaller).is(driver_error::busy)) << "the device may use it";
  post(2);
  queues::work_completion w;
  EXPECT_EQ(cq().poll(&w, 1), 0u) << "they are in the new ring";
  // Only a reset settles the doubt.
  rig.adapter.close();
  rig.objects.poll();
  EXPECT_TRUE(rig.objects.holdings().none());
  before = counts(rig);
  domain = {};
  queue = {};
  pair[0] = pair[1] = {};
}

TEST_F(resizable_queue_test, goes_on_in_its_new_ring_when_a_late_answer_comes) {
  post(2);
  const ring_handle ring = make_ring(31);
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  rig.machine.adapter().judge_commands(
      [](layouts::opcode, std::uint32_t) { return model::command_verdict{.what = fate::hold}; });
  EXPECT_TRUE(resize(queue, ring).is(transport_error::timeout));
  EXPECT_TRUE(resize(queue, ring).is(driver_error::busy));
  EXPECT_TRUE(rig.objects.find(queue)->in_doubt());
  take(4);
  post(1);
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run([&] { return rig.objects.holdings().in_doubt == 0; }, clock::seconds(1)));
  EXPECT_EQ(cq().entries(), 32u);
  take_all();
  post(4);
  take_all();
  EXPECT_TRUE(drop(ring).ok());
}

TEST_F(resizable_queue_test, stays_as_it_is_if_the_resize_is_refused) {
  post(3);
  const ring_handle small = make_ring(3);
  EXPECT_TRUE(resize(queue, small).is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::completion_entries);
  EXPECT_EQ(rig.objects.refused().value, 4u);
  EXPECT_EQ(rig.objects.refused().limit, 7u);
  EXPECT_TRUE(resize(queue, {small.index, small.generation + 1}).is(driver_error::stale_handle));
  EXPECT_TRUE(resize({queue.index, queue.generation + 1}, small).is(driver_error::stale_handle));
  EXPECT_TRUE(resize({pair[0].index, pair[0].generation}, small).is(driver_error::stale_handle));
  EXPECT_TRUE(resize(queue, {queue.index, queue.generation}).is(driver_error::stale_handle));
  EXPECT_TRUE(drop(small).ok());
  rig.machine.adapter().judge_commands([](layouts::opcode code, std::uint32_t) {
    return model::command_verdict{
        .what = code == layouts::opcode::modify_cq ? fate::refuse : fate::run,
        .status = layouts::command_status::internal_error};
  });
  EXPECT_FALSE(resize_to(31).ok());
  rig.machine.adapter().judge_commands({});
  EXPECT_EQ(cq().entries(), entries + 1);
  take_all();
  const unsigned log_most = std::min(rig.adapter.capabilities().log_most_cqes, 22u);
  for (const std::uint32_t bad : {0u, 1u << log_most}) {
    create_completion_ring op;
    op.start(rig.objects, {.entries = bad});
    EXPECT_TRUE(rig.await(op).is(driver_error::bad_argument));
    EXPECT_EQ(rig.objects.refused().what, attribute_id::completion_entries);
  }
  // The rings may go back and forth.
  const ring_handle other = make_ring(1);
  ASSERT_TRUE(resize(queue, other).ok());
  EXPECT_EQ(cq().entries(), 2u);
  ASSERT_TRUE(resize(queue, other).ok());
  EXPECT_EQ(cq().entries(), entries + 1);
  post(3);
  take_all();
  EXPECT_TRUE(drop(other).ok());
}

TEST_F(resizable_queue_test, an_armed_queue_reports_after_a_resize) {
  cq().arm();
  EXPECT_TRUE(resize_to(63).ok());
  told = 0;
  cq().arm();
  post(1);
  EXPECT_EQ(told, 1u);
  take_all();
}

TEST_F(resizable_queue_test, moderation_reports_several_completions_by_one_event) {
  const auto moderate = [&](std::uint16_t completions, std::uint16_t microseconds) {
    moderate_completion_queue op;
    op.start(rig.objects, queue, completions, microseconds);
    return rig.await(op);
  };
  ASSERT_TRUE(moderate(4, 0xffff).ok());
  cq().arm();
  post(1);
  EXPECT_EQ(told, 0u) << "two completions";
  post(1);
  EXPECT_EQ(told, 1u) << "four";
  take_all();
  cq().arm();
  post(1);
  EXPECT_EQ(told, 1u);
  rig.run([] { return false; }, clock::milliseconds(100));
  EXPECT_EQ(told, 2u) << "the time is over";
  take_all();
  ASSERT_TRUE(moderate(0, 0).ok());
  cq().arm();
  post(1);
  EXPECT_EQ(told, 3u);
  take_all();
  moderate_completion_queue stale;
  stale.start(rig.objects, cq_handle{queue.index, queue.generation + 1}, 1, 1);
  EXPECT_TRUE(rig.await(stale).is(driver_error::stale_handle));
}

/// Each step crosses to the control owner and back.
TEST(resizable_queue_of_an_owner, is_resized_and_leaves_nothing) {
  owners_rig rig(2);
  rig.open_all();
  owners_rig::owner& o = rig.owners[1];
  {
    rc_pair_of<owners_rig::owner> pair(o);
    create_resizable_completion_queue cq;
    cq.start(o.objects, {.entries = 7});
    ASSERT_TRUE(o.await(cq).ok());
    for (const std::uint32_t entries : {63u, 3u, 4095u}) {
      create_completion_ring ring;
      ring.start(o.objects, {.entries = entries});
      ASSERT_TRUE(o.await(ring).ok());
      resize_completion_queue resize;
      resize.start(o.objects, cq.made(), ring.made());
      ASSERT_TRUE(o.await(resize).ok());
      EXPECT_EQ(o.objects.find(cq.made())->rings.entries(), entries + 1);
      destroy_completion_ring gone;
      gone.start(o.objects, ring.made());
      EXPECT_TRUE(o.await(gone).ok());
    }
    moderate_completion_queue moderate;
    moderate.start(o.objects, cq.made(), 2, 2);
    EXPECT_TRUE(o.await(moderate).ok());
    destroy_resizable_completion_queue gone;
    gone.start(o.objects, cq.made());
    EXPECT_TRUE(o.await(gone).ok());
    pair.connect();
    change_queue_pair drain;
    drain.start(o.objects, pair.queue[0], qp_state::sq_draining, {.drained_event = true});
    EXPECT_TRUE(o.await(drain).ok());
    EXPECT_TRUE(o.run([&] { return !o.qp_events.empty(); }, clock::seconds(1)));
    EXPECT_EQ(o.objects.find(pair.queue[0])->qp_state, qp_state::sq_drained);
    change_queue_pair resume;
    resume.start(o.objects, pair.queue[0], qp_state::rts);
    EXPECT_TRUE(o.await(resume).ok());
  }
}

}  // namespace
}  // namespace freehca
