// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Extended reliable connections: domains, receive queues, initiators and targets.
#include "counts.hpp"
#include "rc_pair.hpp"

#include <freehca/hca/kinds/queue_pair_changes.hpp>
#include <freehca/queues/masked_atomics.hpp>
#include <freehca/queues/xrc_requests.hpp>

namespace freehca {
namespace {

using namespace testing;
using layouts::qp_state;
using queues::completion_status;
using queues::work_completion;
using queues::work_opcode;
using queues::xrc;

struct xrc_seen {
  unsigned limits = 0, resets = 0;
  std::vector<layouts::event_type> of_pairs;
  std::vector<std::uint64_t> ended;

  static verbs_events events(xrc_seen& to) {
    verbs_events e;
    e.context = &to;
    e.srq = [](void* self, srq_handle, void* cookie, layouts::event_type type) noexcept {
      auto& s = *static_cast<xrc_seen*>(self);
      s.limits += type == layouts::event_type::srq_limit && cookie == self;
    };
    e.qp = [](void* self, qp_handle, void* cookie, layouts::event_type type) noexcept {
      if (cookie == self) static_cast<xrc_seen*>(self)->of_pairs.push_back(type);
    };
    e.request_ended = [](void* self, qp_handle pair, void*, const work_completion& how,
                         status why) noexcept {
      auto& s = *static_cast<xrc_seen*>(self);
      EXPECT_EQ(how.is_receive(), !pair);
      if (!why.ok()) ++s.resets;
      s.ended.push_back(how.wr_id);
    };
    return e;
  }
};

/// An initiator and a target, connected on port 1, and two receive queues of one domain.
struct xrc_connection : ::testing::Test {
  static rig_options how(xrc_seen& told) {
    rig_options o = exact();
    o.events = xrc_seen::events(told);
    return o;
  }

  template <class K>
  status create(handle<K>& to, const typename K::attributes& a) {
    create_object<K> op;
    op.start(rig.objects, a);
    const status s = rig.await(op);
    to = op.made();
    return s;
  }
  template <class K>
  status destroy(handle<K> h) {
    destroy_object<K> op;
    op.start(rig.objects, h);
    return rig.await(op);
  }

  xrc_connection() {
    EXPECT_TRUE(create<xrc_completion_queue>(receives_done, {.entries = 63}).ok());
    EXPECT_TRUE(create<completion_queue>(sends_done, {.entries = 63}).ok());
    for (xrc_srq_handle& q : queue) {
      const status s = create(q, queue_attributes());
      EXPECT_TRUE(s.ok()) << words(s);
    }
    make_pairs();
  }
  ~xrc_connection() override {
    if (rig.objects.find(receives_done) != nullptr) {
      EXPECT_EQ(rig.objects.find(receives_done)->rings.dropped(), drops);
    }
    remove(initiator);
    remove(target);
    for (const xrc_srq_handle q : queue) remove(q);
    remove(receives_done);
    remove(sends_done);
    remove(domain);
    remove(other_domain);
    remove(shared);
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u)
        << (rig.machine.complaints().empty() ? "" : rig.machine.complaints().front());
  }
  /// Destroys the object, if it exists.
  template <class K>
  void remove(handle<K> h) {
    if (rig.objects.find(h) == nullptr) return;
    if constexpr (device_kind<K>) EXPECT_TRUE(destroy(h).ok());
    else EXPECT_TRUE(rig.objects.destroy(h).ok());
  }

  xrc_receive_queue_attributes queue_attributes() {
    return {.pd = domain,
            .domain = shared,
            .cq = receives_done,
            .receives = 7,
            .scatter = 3,
            .cookie = &told};
  }
  void make_pairs() {
    // The target is of another protection domain than the memory.
    const status s =
        create(initiator,
               {.pd = domain, .cq = sends_done, .sends = 16, .gather = 4, .masked_atomics = true});
    ASSERT_TRUE(s.ok()) << words(s);
    const status t =
        create(target, {.domain = shared, .pd = other_domain, .cq = sends_done, .cookie = &told});
    ASSERT_TRUE(t.ok()) << words(t);
  }
  connection_attributes attributes(bool of_target) {
    connection_attributes a;
    a.remote_read = a.remote_write = a.remote_atomic = true;
    a.path_mtu = rig.adapter.port(1).active_mtu;
    a.min_rnr_timer = 12;
    a.remote_qpn = of_target ? qpn_of(rig.objects, initiator) : qpn_of(rig.objects, target);
    a.receive_psn = of_target ? 0x101 : 0x202;
    a.send_psn = of_target ? 0x202 : 0x101;
    a.reads_as_responder = a.reads_as_requester = 4;
    a.address = infiniband_path{.dlid = rig.adapter.port(1).lid};
    return a;
  }
  status move(xrc_qp_handle which, qp_state to) {
    modify_queue_pair m;
    m.start(rig.objects, which, to, attributes(which == target));
    return rig.await(m);
  }
  status change(xrc_qp_handle which, qp_state to, const queue_pair_changes& how = {}) {
    change_queue_pair c;
    c.start(rig.objects, which, to, how);
    return rig.await(c);
  }
  void connect() {
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
      for (const xrc_qp_handle which : {target, initiator}) {
        const status s = move(which, to);
        ASSERT_TRUE(s.ok()) << "to state " << static_cast<unsigned>(to) << ": " << words(s);
      }
  }

  void post(unsigned i, std::uint64_t wr_id, const queues::data_entry& to) {
    const status s = rig.objects.find(queue[i])->rings.post_and_ring(
        {.wr_id = wr_id, .list = &to, .entries = 1});
    ASSERT_TRUE(s.ok()) << words(s);
  }
  template <class Request>
  status request(const Request& r) {
    return rig.objects.find(initiator)->rings.send.post_and_ring(r);
  }
  std::uint32_t number(unsigned i) { return srqn_of(rig.objects, queue[i]); }

  work_completion sent() {
    work_completion w;
    bool there = false;
    queues::cq& from = rig.objects.find(sends_done)->rings;
    EXPECT_TRUE(rig.run([&] { return there || (there = from.poll(&w, 1) == 1); }, longest));
    return w;
  }
  work_completion received() {
    work_completion w;
    bool there = false;
    xrc_completion_queue& from = *rig.objects.find(receives_done);
    EXPECT_TRUE(rig.run([&] { return there || (there = from.take(&w, 1) == 1); }, longest));
    return w;
  }
  unsigned waiting() {
    work_completion w[4];
    rig.run([] { return false; }, clock::milliseconds(1));
    return rig.objects.find(receives_done)->take(w, 4);
  }
  void expect_message(unsigned i, std::uint64_t wr_id, std::uint32_t bytes) {
    const work_completion w = received();
    EXPECT_TRUE(w.ok()) << static_cast<unsigned>(w.status);
    EXPECT_EQ(w.wr_id, wr_id);
    EXPECT_EQ(w.byte_count, bytes);
    EXPECT_TRUE(w.is_receive());
    EXPECT_EQ(w.queue, &rig.objects.find(queue[i])->named);
    EXPECT_EQ(w.qpn(), target_qpn);
    EXPECT_TRUE(sent().ok());
  }
  void remember_target() { target_qpn = qpn_of(rig.objects, target); }

  static constexpr std::uint64_t longest = 60'000'000'000;
  xrc_seen told;
  verbs_rig rig{how(told)};
  pd_handle domain = rig.objects.create<protection_domain>().value();
  pd_handle other_domain = rig.objects.create<protection_domain>().value();
  xrcd_handle shared = rig.objects.create<xrc_domain>().value();
  xrc_cq_handle receives_done;
  cq_handle sends_done;
  xrc_srq_handle queue[2];
  xrc_qp_handle initiator, target;
  std::uint32_t target_qpn = 0;
  std::uint64_t drops = 0;
};

TEST_F(xrc_connection, each_send_arrives_in_the_queue_that_it_names) {
  connect();
  remember_target();
  EXPECT_NE(number(0), number(1));
  registered_buffer memory(rig, domain, 0x4000, 16, {.local_write = true});
  for (const std::uint32_t bytes : {8u, 5000u})
    for (const unsigned i : {1u, 0u, 0u, 1u}) {
      memory.fill(std::byte{0xa5});
      for (std::uint32_t b = 0; b < bytes; ++b) *memory.at(b) = std::byte(b * 7 + i);
      post(i, 100 + i, memory.entry(0x2000, bytes));
      ASSERT_TRUE(
          request(xrc<queues::send>{{.wr_id = 5, .data = memory.entry(0, bytes)}, number(i)}).ok());
      expect_message(i, 100 + i, bytes);
      for (std::uint32_t b = 0; b < bytes; ++b)
        ASSERT_EQ(*memory.at(0x2000 + b), std::byte(b * 7 + i)) << b;
    }
  for (const xrc_srq_handle q : queue) EXPECT_EQ(rig.objects.find(q)->rings.outstanding(), 0u);
}

TEST_F(xrc_connection, every_request_reaches_memory_of_the_named_queues_domain) {
  connect();
  remember_target();
  registered_buffer memory(
      rig, domain, 0x4000, 0,
      {.local_write = true, .remote_read = true, .remote_write = true, .remote_atomic = true});
  const queues::remote_memory there{memory.address(0x2000), memory.key};
  *memory.at(0) = std::byte{0x11};
  ASSERT_TRUE(
      request(xrc<queues::rdma_write>{{.remote = there, .data = memory.entry(0, 100)}, number(0)})
          .ok());
  EXPECT_TRUE(sent().ok());
  EXPECT_EQ(*memory.at(0x2000), std::byte{0x11});
  EXPECT_EQ(waiting(), 0u);

  post(1, 8, memory.entry(0x3000, 8));
  ASSERT_TRUE(
      request(xrc<queues::rdma_write_with_immediate>{
                  {.remote = there, .data = memory.entry(0, 100), .immediate = 0x5a}, number(1)})
          .ok());
  const work_completion w = received();
  EXPECT_EQ(w.opcode, work_opcode::receive_rdma_with_immediate);
  EXPECT_EQ(w.immediate(), 0x5au);
  EXPECT_TRUE(sent().ok());

  *memory.at(0x2000) = std::byte{0x22};
  ASSERT_TRUE(
      request(xrc<queues::rdma_read>{{.remote = there, .data = memory.entry(0x100, 64)}, number(0)})
          .ok());
  EXPECT_EQ(sent().byte_count, 64u);
  EXPECT_EQ(*memory.at(0x100), std::byte{0x22});

  ASSERT_TRUE(
      request(xrc<queues::fetch_and_add>{
                  {.remote = there, .operand = 1, .data = memory.entry(0x200, 8)}, number(0)})
          .ok());
  EXPECT_TRUE(sent().ok());
  EXPECT_EQ(*memory.at(0x200), std::byte{0x22}) << "the value before the addition";
  ASSERT_TRUE(
      request(xrc<queues::masked_fetch_and_add>{
                  {.remote = there, .operand = 1, .boundaries = 0, .data = memory.entry(0x200, 8)},
                  number(0)})
          .ok());
  EXPECT_TRUE(sent().ok());
}

TEST_F(xrc_connection, the_forms_of_other_services_are_refused) {
  connect();
  EXPECT_TRUE(request(queues::send{}).is(driver_error::unsupported)) << "names no queue";
  EXPECT_TRUE(request(xrc<queues::send>{{}, 0x1000000}).is(driver_error::bad_argument))
      << "25 bits";
  queues::qp_rings& rings = rig.objects.find(target)->rings;
  EXPECT_TRUE(rings.send.post(xrc<queues::send>{}).is(driver_error::unsupported));
  EXPECT_TRUE(rings.send.post(queues::nop{}).is(driver_error::unsupported));
  EXPECT_TRUE(rings.receive.post({}).is(driver_error::bad_state));
  EXPECT_TRUE(rig.objects.find(initiator)->rings.receive.post({}).is(driver_error::bad_state));
}

TEST_F(xrc_connection, initiators_and_targets_have_the_changes_of_reliable_connections) {
  namespace given = layouts::qp_optpar;
  const queue_pair_changes rights{.given = given::rre | given::rwe | given::rae,
                                  .remote_read = true,
                                  .remote_write = true,
                                  .remote_atomic = true};
  for (const xrc_qp_handle which : {initiator, target}) {
    ASSERT_TRUE(move(which, qp_state::init).ok());
    EXPECT_TRUE(change(which, qp_state::init, rights).ok());
  }
  for (const qp_state to : {qp_state::rtr, qp_state::rts})
    for (const xrc_qp_handle which : {target, initiator}) ASSERT_TRUE(move(which, to).ok());
  for (const xrc_qp_handle which : {initiator, target}) {
    EXPECT_TRUE(change(which, qp_state::rts, rights).ok());
    EXPECT_TRUE(change(which, qp_state::rts, {.given = given::qkey}).is(driver_error::bad_argument))
        << "it is of datagrams";
  }
  ASSERT_TRUE(change(initiator, qp_state::sq_draining).ok());
  rig.run([] { return false; }, clock::milliseconds(1));
  query_queue_pair query;
  query.start(rig.objects, initiator);
  ASSERT_TRUE(rig.await(query).ok());
  ASSERT_TRUE(change(initiator, qp_state::rts).ok());
  remember_target();
  registered_buffer memory(rig, domain, 0x4000, 16, {.local_write = true});
  post(0, 9, memory.entry(0x2000, 64));
  ASSERT_TRUE(
      request(xrc<queues::send>{{.wr_id = 5, .data = memory.entry(0, 64)}, number(0)}).ok());
  expect_message(0, 9, 64);
}

TEST_F(xrc_connection, receives_move_with_a_completion_queue_that_is_resized) {
  connect();
  remember_target();
  registered_buffer memory(rig, domain, 0x4000, 16, {.local_write = true});
  const auto send = [&](std::uint64_t wr_id) {
    post(0, wr_id, memory.entry(0x2000, 64));
    ASSERT_TRUE(
        request(xrc<queues::send>{{.wr_id = 5, .data = memory.entry(0, 64)}, number(0)}).ok());
    EXPECT_TRUE(sent().ok());
  };
  for (std::uint64_t i = 0; i < 3; ++i) send(i);
  handle<completion_ring> ring;
  ASSERT_TRUE(create<completion_ring>(ring, {.entries = 127}).ok());
  resize_completion_queue resize;
  resize.start(rig.objects, receives_done, ring);
  ASSERT_TRUE(rig.await(resize).ok());
  EXPECT_TRUE(destroy(ring).ok());
  send(3);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const work_completion w = received();
    EXPECT_TRUE(w.ok());
    EXPECT_EQ(w.wr_id, i);
    EXPECT_EQ(w.queue, &rig.objects.find(queue[0])->named);
  }
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(xrc_connection, received_messages_outlive_their_target) {
  connect();
  remember_target();
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  for (std::uint64_t i = 0; i < 3; ++i) {
    post(0, i, memory.entry(0x800, 8));
    ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 8)}, number(0)}).ok());
    EXPECT_TRUE(sent().ok());
  }
  EXPECT_EQ(received().wr_id, 0u);
  EXPECT_TRUE(move(target, qp_state::reset).ok());
  EXPECT_EQ(received().wr_id, 1u);
  EXPECT_TRUE(destroy(target).ok());
  const work_completion last = received();
  EXPECT_EQ(last.wr_id, 2u);
  EXPECT_EQ(last.qpn(), target_qpn);
  EXPECT_EQ(rig.objects.find(queue[0])->rings.outstanding(), 0u);
}

TEST_F(xrc_connection, after_a_reset_of_the_pair_it_connects_again) {
  for (unsigned i = 0; i < 3; ++i) {
    connect();
    remember_target();
    registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
    post(1, i, memory.entry(0x800, 8));
    ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 8)}, number(1)}).ok());
    expect_message(1, i, 8);
    EXPECT_TRUE(move(initiator, qp_state::reset).ok());
    EXPECT_TRUE(move(target, qp_state::reset).ok());
  }
}

TEST_F(xrc_connection, completions_of_a_destroyed_queue_are_gone) {
  connect();
  remember_target();
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  for (std::uint64_t i = 0; i < 4; ++i) {
    post(i % 2, i, memory.entry(0x800, 8));
    ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 8)}, number(i % 2)}).ok());
    EXPECT_TRUE(sent().ok());
  }
  EXPECT_TRUE(destroy(receives_done).is(driver_error::busy));
  EXPECT_TRUE(destroy(queue[0]).ok());
  EXPECT_EQ(received().wr_id, 1u);
  EXPECT_EQ(received().wr_id, 3u);
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(xrc_connection, a_poll_that_does_not_know_the_queues_drops_their_receives) {
  connect();
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  post(0, 1, memory.entry(0x800, 8));
  ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 8)}, number(0)}).ok());
  EXPECT_TRUE(sent().ok());
  work_completion w;
  EXPECT_EQ(rig.objects.find(receives_done)->rings.poll(&w, 1), 0u);
  drops = 1;
}

TEST_F(xrc_connection, a_queue_that_does_not_exist_is_an_error_of_the_initiator_and_the_target) {
  connect();
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 8)}, number(1) + 1}).ok());
  EXPECT_EQ(sent().status, completion_status::remote_operation);
  EXPECT_EQ(rig.objects.find(initiator)->qp_state, qp_state::error);
  query_queue_pair ask;
  ask.start(rig.objects, target);
  EXPECT_TRUE(rig.await(ask).ok());
  EXPECT_EQ(rig.objects.find(target)->qp_state, qp_state::error);
}

TEST_F(xrc_connection, a_message_longer_than_its_receive_fails_in_the_named_queue) {
  connect();
  remember_target();
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  post(1, 77, memory.entry(0x800, 8));
  ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 9)}, number(1)}).ok());
  const work_completion w = received();
  EXPECT_EQ(w.status, completion_status::local_length);
  EXPECT_EQ(w.wr_id, 77u);
  EXPECT_EQ(w.queue, &rig.objects.find(queue[1])->named);
  EXPECT_EQ(rig.objects.find(target)->qp_state, qp_state::error);
  EXPECT_FALSE(sent().ok());
}

TEST_F(xrc_connection, a_queue_of_another_domain_is_refused) {
  connect();
  const xrcd_handle other = rig.objects.create<xrc_domain>().value();
  EXPECT_NE(rig.objects.find(other)->number, rig.objects.find(shared)->number);
  xrc_receive_queue_attributes a = queue_attributes();
  a.domain = other;
  xrc_srq_handle foreign;
  ASSERT_TRUE(create(foreign, a).ok());
  EXPECT_TRUE(rig.objects.destroy(other).is(driver_error::busy));
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  ASSERT_TRUE(
      request(xrc<queues::send>{{.data = memory.entry(0, 8)}, srqn_of(rig.objects, foreign)}).ok());
  EXPECT_EQ(sent().status, completion_status::remote_operation);
  EXPECT_TRUE(destroy(foreign).ok());
  EXPECT_TRUE(rig.objects.destroy(other).ok());
}

TEST_F(xrc_connection, a_queue_that_runs_low_reports_it_once) {
  arm_xrc_receive_queue arm;
  arm.start(rig.objects, queue[0], 8);
  EXPECT_TRUE(rig.await(arm).is(driver_error::bad_argument)) << "more than it holds";
  arm_xrc_receive_queue again;
  again.start(rig.objects, queue[0], 4);
  EXPECT_TRUE(rig.await(again).ok());
  EXPECT_TRUE(rig.run([this] { return told.limits != 0; }, clock::seconds(1)));
  EXPECT_EQ(told.limits, 1u);
  arm_xrc_receive_queue stale;
  stale.start(rig.objects, {}, 4);
  EXPECT_TRUE(rig.await(stale).is(driver_error::stale_handle));
}

TEST_F(xrc_connection, events_of_a_target_reach_its_user) {
  connect();
  registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
  ASSERT_TRUE(request(xrc<queues::rdma_write>{{.remote = {memory.address(0x800), memory.key},
                                               .data = memory.entry(0, 8)},
                                              number(0)})
                  .ok());
  EXPECT_EQ(sent().status, completion_status::remote_access) << "no remote rights";
  rig.run([] { return false; }, clock::milliseconds(1));
  const auto violation = layouts::event_type::wq_access_violation;
  EXPECT_EQ(std::count(told.of_pairs.begin(), told.of_pairs.end(), violation), 1);
  EXPECT_EQ(rig.objects.find(target)->qp_state, qp_state::error);
}

TEST_F(xrc_connection, a_reset_of_the_device_hands_over_and_ends_receives) {
  connect();
  {
    registered_buffer memory(rig, domain, 0x1000, 0, {.local_write = true});
    post(0, 1, memory.entry(0x800, 8));
    post(0, 2, memory.entry(0x800, 8));
    ASSERT_TRUE(request(xrc<queues::send>{{.data = memory.entry(0, 8)}, number(0)}).ok());
    EXPECT_TRUE(sent().ok());
    operation again;
    rig.adapter.recover(again);
    ASSERT_TRUE(rig.await(again).ok());
    memory.region = {};
  }
  EXPECT_EQ(told.ended, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(told.resets, 1u);
  EXPECT_TRUE(rig.objects.holdings().none());
}

TEST_F(xrc_connection, objects_in_use_stay) {
  EXPECT_TRUE(rig.objects.destroy(shared).is(driver_error::busy));
  EXPECT_TRUE(rig.objects.destroy(other_domain).is(driver_error::busy));
  EXPECT_TRUE(destroy(target).ok());
  EXPECT_TRUE(destroy(target).is(driver_error::stale_handle));
  EXPECT_TRUE(destroy(queue[0]).ok());
  EXPECT_TRUE(destroy(queue[0]).is(driver_error::stale_handle));
  EXPECT_TRUE(rig.objects.destroy(shared).is(driver_error::busy)) << "the other queue";
  EXPECT_TRUE(destroy(queue[1]).ok());
  EXPECT_TRUE(rig.objects.destroy(shared).ok());
  EXPECT_TRUE(rig.objects.destroy(shared).is(driver_error::stale_handle));
}

TEST_F(xrc_connection, wrong_handles_and_values_are_refused_without_a_trace) {
  const auto before = counts(rig);
  xrc_srq_handle none;
  const auto queue_with = [&](auto spoil) {
    xrc_receive_queue_attributes a = queue_attributes();
    spoil(a);
    return create(none, a);
  };
  using q = xrc_receive_queue_attributes;
  EXPECT_TRUE(queue_with([](q& a) { a.domain = {}; }).is(driver_error::stale_handle));
  EXPECT_TRUE(queue_with([](q& a) { a.cq = {}; }).is(driver_error::stale_handle));
  EXPECT_TRUE(queue_with([&](q& a) {
                a.cq = {sends_done.index, sends_done.generation};
              }).is(driver_error::stale_handle))
      << "another kind";
  EXPECT_TRUE(queue_with([](q& a) { a.pd = {}; }).is(driver_error::stale_handle));
  EXPECT_TRUE(queue_with([](q& a) { a.receives = 0; }).is(driver_error::bad_argument));
  EXPECT_TRUE(queue_with([](q& a) { a.receives = 0x8000; }).is(driver_error::bad_argument));
  EXPECT_TRUE(queue_with([](q& a) { a.scatter = 128; }).is(driver_error::bad_argument));
  const auto pair_with = [&](const xrc_queue_pair_attributes& a) {
    xrc_qp_handle made;
    return create(made, a);
  };
  EXPECT_TRUE(pair_with({.cq = sends_done, .sends = 1}).is(driver_error::stale_handle));
  EXPECT_TRUE(pair_with({.pd = domain, .sends = 1}).is(driver_error::stale_handle));
  EXPECT_TRUE(
      pair_with({.domain = {shared.index, shared.generation + 1}, .pd = domain, .cq = sends_done})
          .is(driver_error::stale_handle));
  EXPECT_TRUE(pair_with({.domain = shared, .pd = domain, .cq = sends_done, .sends = 1})
                  .is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::sends);
  EXPECT_TRUE(pair_with({.pd = domain, .cq = sends_done, .sends = 1u << 20})
                  .is(driver_error::bad_argument));
  // Queue pairs of other services do not take the queue.
  qp_handle other;
  EXPECT_TRUE(create(other, {.pd = domain,
                             .send_cq = sends_done,
                             .receive_cq = sends_done,
                             .sends = 1,
                             .shared = queue[0]})
                  .is(driver_error::stale_handle));
  EXPECT_TRUE(create(other, {.pd = domain,
                             .send_cq = sends_done,
                             .receive_cq = sends_done,
                             .service = layouts::qp_service::xrc,
                             .sends = 1})
                  .is(driver_error::unsupported));
  EXPECT_EQ(counts(rig), before);
}

TEST(xrc_domains, need_an_adapter_with_xrc) {
  rig_options how;
  how.machine.model.without.add(model::capability::extended_reliable_connection);
  verbs_rig rig(how);
  EXPECT_TRUE(rig.objects.create<xrc_domain>().error().is(driver_error::unsupported));
  create_xrc_queue_pair pair;
  pair.start(rig.objects, {.sends = 1});
  EXPECT_TRUE(rig.await(pair).is(driver_error::unsupported));
  EXPECT_TRUE(rig.objects.holdings().none());
}

TEST(xrc_domains, come_and_go_and_have_numbers_of_their_own) {
  rig_options how;
  how.objects = every_kind().with<xrc_domain>(300);
  verbs_rig rig(how);
  std::vector<xrcd_handle> made;
  std::vector<bool> seen(1u << 16);
  for (;;) {
    const auto next = rig.objects.create<xrc_domain>();
    if (!next.ok()) {
      EXPECT_TRUE(next.error().is(driver_error::no_resource)) << words(next.error());
      break;
    }
    made.push_back(next.value());
    const std::uint32_t number = rig.objects.find(made.back())->number;
    ASSERT_LT(number, seen.size());
    EXPECT_FALSE(seen[number]);
    seen[number] = true;
  }
  EXPECT_EQ(made.size(), 256u);
  for (const xrcd_handle d : made) EXPECT_TRUE(rig.objects.destroy(d).ok());
  EXPECT_TRUE(rig.objects.holdings().none());
  EXPECT_EQ(rig.machine.adapter().complaints(), 0u);
}

}  // namespace
}  // namespace freehca
