// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Unreliable connections, datagrams and shared receives on the modelled adapter.
#include <cstring>
#include <map>
#include <optional>

#include "counts.hpp"
#include "rc_pair.hpp"

namespace freehca {
namespace {

using namespace testing;
using layouts::qp_service;
using layouts::qp_state;
using queues::completion_status;
using queues::work_completion;
using queues::work_opcode;

constexpr memory_access writable{.local_write = true, .remote_read = true, .remote_write = true};

struct services_test : ::testing::Test {
  rig_options options() {
    rig_options o = exact();
    o.events.context = this;
    o.events.qp = [](void* self, qp_handle which, void*, layouts::event_type type) noexcept {
      if (type == layouts::event_type::srq_last_wqe)
        static_cast<services_test*>(self)->last_taken.push_back(which);
    };
    return o;
  }

  services_test() { before = counts(rig); }
  ~services_test() override {
    source.reset();
    target.reset();
    pair.reset();
    EXPECT_EQ(counts(rig), before);
    std::string all;
    for (const std::string& c : rig.machine.complaints()) all += c + "\n";
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u) << all;
  }
  void make(const queue_pair_attributes& shape) {
    pair.emplace(rig, shape);
    pair->connect();
    source.emplace(rig, pair->domain, 16384, 100, writable);
    target.emplace(rig, pair->domain, 16384, 500, writable);
    for (std::size_t i = 0; i < source->bytes(); ++i) *source->at(i) = std::byte(i * 7 + 1);
  }
  bool arrived(std::size_t at, std::size_t from, std::size_t length) {
    return std::memcmp(target->at(at), source->at(from), length) == 0;
  }
  std::size_t mtu() { return layouts::mtu_bytes(rig.adapter.port(1).active_mtu); }
  void a_while() {
    rig.run([] { return false; }, clock::milliseconds(1));
  }

  std::vector<qp_handle> last_taken;  // who told that it takes no more shared receives
  verbs_rig rig{options()};
  std::vector<std::uint64_t> before;
  std::optional<rc_pair> pair;
  std::optional<registered_buffer> source, target;
};

TEST_F(services_test, an_unreliable_connection_sends_and_writes) {
  make({.service = qp_service::uc, .sends = 8, .receives = 8, .inline_bytes = 64});
  for (const std::size_t size : {std::size_t{1}, mtu() - 1, mtu(), mtu() + 1, std::size_t{16384}}) {
    target->fill(std::byte{0xa5});
    const queues::data_entry to = target->entry(0, size);
    ASSERT_TRUE(pair->receive(1).post_and_ring({.wr_id = 3, .list = &to, .entries = 1}).ok());
    ASSERT_TRUE(pair->send(0)
                    .post_and_ring(queues::send_with_immediate{
                        .wr_id = 4, .data = source->entry(0, size), .immediate = 77})
                    .ok());
    EXPECT_TRUE(pair->next(0).ok());
    const work_completion got = pair->next(1);
    ASSERT_TRUE(got.ok()) << name_of(got.status);
    EXPECT_EQ(got.byte_count, size);
    EXPECT_EQ(got.immediate(), 77u);
    EXPECT_TRUE(arrived(0, 0, size) && target->untouched_but(0, size, std::byte{0xa5})) << size;

    target->fill(std::byte{0xa5});
    ASSERT_TRUE(pair->send(0)
                    .post_and_ring(queues::rdma_write{.remote = {target->address(), target->key},
                                                      .data = source->entry(0, size)})
                    .ok());
    EXPECT_TRUE(pair->next(0).ok());
    a_while();
    EXPECT_TRUE(arrived(0, 0, size)) << size;
  }
  // What needs an answer it does not have.
  EXPECT_TRUE(pair->send(0)
                  .post(queues::rdma_read{.data = target->entry(0, 8)})
                  .is(driver_error::unsupported));
  EXPECT_TRUE(pair->send(0)
                  .post(queues::fetch_and_add{.data = target->entry(0, 8)})
                  .is(driver_error::unsupported));
}

struct datagram_test : services_test {
  datagram_test() {
    make({.service = qp_service::ud, .sends = 8, .receives = 8, .gather = 3, .inline_bytes = 64});
    const auto made = rig.objects.create<address_handle>(
        {.pd = pair->domain, .address = infiniband_path{.dlid = rig.adapter.port(1).lid}});
    EXPECT_TRUE(made.ok());
    peer = made.value();
  }
  ~datagram_test() override { EXPECT_TRUE(rig.objects.destroy(peer).ok()); }
  queues::datagram_destination to(std::uint32_t qkey = rc_pair::qkey) {
    return {&rig.objects.find(peer)->address, qpn_of(rig.objects, pair->queue[1]), qkey};
  }
  void receive(std::size_t bytes) {
    const queues::data_entry entry = target->entry(0, bytes);
    ASSERT_TRUE(pair->receive(1).post_and_ring({.wr_id = 9, .list = &entry, .entries = 1}).ok());
  }

  ah_handle peer;
};

/// In front of each datagram's bytes; they hold its GRH, if it has one.
constexpr std::size_t grh_bytes = 40;

TEST_F(datagram_test, says_where_it_goes_and_where_it_comes_from) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{256}, mtu()}) {
    receive(grh_bytes + 4096);
    ASSERT_TRUE(pair->send(0)
                    .post_and_ring(queues::send_datagram_with_immediate{
                        .to = to(), .data = source->entry(5, size), .immediate = 1234})
                    .ok());
    EXPECT_TRUE(pair->next(0).ok());
    const work_completion got = pair->next(1);
    ASSERT_TRUE(got.ok()) << name_of(got.status);
    EXPECT_EQ(got.wr_id, 9u);
    EXPECT_EQ(got.byte_count, grh_bytes + size);
    EXPECT_EQ(got.immediate(), 1234u);
    EXPECT_EQ(got.source_qpn(), qpn_of(rig.objects, pair->queue[0]));
    EXPECT_EQ(got.slid(), rig.adapter.port(1).lid);
    EXPECT_FALSE(got.has_grh());
    EXPECT_TRUE(arrived(grh_bytes, 5, size)) << size;
  }
}

TEST_F(datagram_test, in_batches_with_lists_and_inline_data) {
  for (unsigned i = 0; i < 6; ++i) {
    const queues::data_entry entry = target->entry(i * 512, 512);
    ASSERT_TRUE(pair->receive(1).post({.wr_id = i, .list = &entry, .entries = 1}).ok());
  }
  pair->receive(1).ring();
  const queues::data_entry parts[] = {source->entry(0, 10), source->entry(300, 0),
                                      source->entry(10, 23)};
  queues::sq& sends = pair->send(0);
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_TRUE(sends.post(queues::send_datagram{.to = to(), .data = source->entry(0, 33)}).ok());
    ASSERT_TRUE(sends.post(queues::send_datagram_list{.to = to(), .data = {parts, 3}}).ok());
    ASSERT_TRUE(
        sends.post(queues::send_datagram_inline{.to = to(), .data = {source->at(0), 33}}).ok());
  }
  sends.ring();
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_TRUE(pair->next(0).ok());
    const work_completion got = pair->next(1);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got.wr_id, i);
    EXPECT_EQ(got.byte_count, grh_bytes + 33);
    EXPECT_TRUE(arrived(i * 512 + grh_bytes, 0, 33)) << i;
  }
}

TEST_F(datagram_test, with_another_key_arrives_nowhere) {
  receive(512);
  ASSERT_TRUE(pair->send(0)
                  .post_and_ring(queues::send_datagram{.to = to(rc_pair::qkey + 1),
                                                       .data = source->entry(0, 8)})
                  .ok());
  EXPECT_TRUE(pair->next(0).ok()) << "nobody tells the sender";
  a_while();
  work_completion none;
  EXPECT_EQ(pair->cq(1).poll(&none, 1), 0u);
  // Bit 31 takes that of the queue pair, which is the same on both sides here.
  ASSERT_TRUE(
      pair->send(0)
          .post_and_ring(queues::send_datagram{.to = to(0x80000000), .data = source->entry(0, 8)})
          .ok());
  EXPECT_TRUE(pair->next(1).ok());
  EXPECT_TRUE(pair->next(0).ok());
}

TEST_F(datagram_test, what_it_does_not_have_is_refused_before_the_ring_is_touched) {
  queues::sq& sends = pair->send(0);
  EXPECT_TRUE(sends.post(queues::send{.data = source->entry(0, 8)}).is(driver_error::unsupported));
  EXPECT_TRUE(sends.post(queues::rdma_write{}).is(driver_error::unsupported));
  EXPECT_TRUE(sends.post(queues::send_datagram{.to = to(), .data = source->entry(0, 4097)})
                  .is(driver_error::bad_argument));
  EXPECT_TRUE(
      sends.post(queues::send_datagram{.data = source->entry(0, 8)}).is(driver_error::bad_argument))
      << "to nowhere";
  EXPECT_EQ(sends.posted(), 0u);
  rc_pair connected(rig);
  connected.connect();
  EXPECT_TRUE(
      connected.send(0).post(queues::send_datagram{.to = to()}).is(driver_error::unsupported));
}

/// Two pairs of connections whose second sides share their receives.
struct shared_receives_test : services_test {
  void make_shared(qp_service service) {
    domain = rig.objects.create<protection_domain>().value();
    create_shared_receive_queue op;
    op.start(rig.objects, {.pd = domain, .receives = 15, .scatter = 2});
    ASSERT_TRUE(rig.await(op).ok());
    shared = op.made();
    for (auto& p : pairs)
      p.emplace(rig, queue_pair_attributes{
                         .service = service, .sends = 8, .shared = shared, .inline_bytes = 32});
    for (auto& p : pairs) p->connect();
    target.emplace(rig, domain, 16384, 500, writable);
  }
  ~shared_receives_test() override {
    for (auto& p : pairs) p.reset();
    if (!shared) return;
    target.reset();
    destroy_shared_receive_queue op;
    op.start(rig.objects, shared);
    EXPECT_TRUE(rig.await(op).ok());
    EXPECT_TRUE(rig.objects.destroy(domain).ok());
  }
  /// The device was reset: there is nothing to destroy, and nothing to compare with.
  void abandon() {
    for (auto& p : pairs) p->abandon();
    shared = {};
    before = counts(rig);
  }
  queues::srq& receives() { return rig.objects.find(shared)->rings; }

  pd_handle domain;
  srq_handle shared;
  std::optional<rc_pair> pairs[2];
};

TEST_F(shared_receives_test, go_to_whoever_gets_a_message_first) {
  make_shared(qp_service::rc);
  destroy_shared_receive_queue busy;
  busy.start(rig.objects, shared);
  EXPECT_TRUE(rig.await(busy).is(driver_error::busy));
  EXPECT_TRUE(pairs[0]->receive(1).post({}).is(driver_error::bad_state))
      << "it has none of its own";
  unsigned expected[2] = {};
  std::uint64_t next = 0;
  for (unsigned round = 0; round < 100; ++round) {
    const unsigned n = round % 5 + 1;
    std::map<std::uint64_t, bool> out;
    for (unsigned i = 0; i < n; ++i) {
      out[next] = true;
      const queues::data_entry entries[] = {target->entry(i * 64, 3),
                                            target->entry(i * 64 + 3, 61)};
      ASSERT_TRUE(receives().post({.wr_id = next++, .list = entries, .entries = 2}).ok());
    }
    receives().ring();
    for (unsigned i = 0; i < n; ++i) {
      const unsigned to = (round * 7 + i * 3) % 2;
      ++expected[to];
      std::byte bytes[20];
      for (std::byte& b : bytes) b = std::byte(round * 5 + i);
      ASSERT_TRUE(pairs[to]
                      ->send(0)
                      .post_and_ring(queues::send_with_immediate_inline{
                          .data = {bytes, sizeof bytes}, .immediate = to})
                      .ok());
      EXPECT_TRUE(pairs[to]->next(0).ok());
      const work_completion got = pairs[to]->next(1);
      ASSERT_TRUE(got.ok()) << name_of(got.status);
      EXPECT_EQ(got.opcode, work_opcode::receive);
      EXPECT_EQ(got.immediate(), to);
      EXPECT_EQ(got.byte_count, sizeof bytes);
      EXPECT_EQ(out.erase(got.wr_id), 1u);
      EXPECT_EQ(std::memcmp(target->at(i * 64), bytes, sizeof bytes), 0);
    }
    EXPECT_EQ(receives().outstanding(), 0u);
  }
  EXPECT_GT(expected[0], 0u);
  EXPECT_GT(expected[1], 0u);
}

TEST_F(shared_receives_test, that_a_queue_pair_took_come_back_when_it_goes) {
  make_shared(qp_service::rc);
  for (std::uint64_t i = 0; i < 15; ++i) ASSERT_TRUE(receives().post({.wr_id = i}).ok());
  receives().ring();
  for (unsigned i = 0; i < 4; ++i) {
    ASSERT_TRUE(pairs[0]->send(0).post_and_ring(queues::send_list{}).ok());
    EXPECT_TRUE(pairs[0]->next(0).ok());
  }
  EXPECT_EQ(receives().outstanding(), 15u) << "nobody has polled";
  ASSERT_TRUE(pairs[0]->move(1, qp_state::reset).ok());
  EXPECT_EQ(receives().outstanding(), 11u);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(receives().post({.wr_id = 100 + i}).ok());
  receives().ring();
  for (unsigned i = 0; i < 15; ++i) {
    ASSERT_TRUE(pairs[1]->send(0).post_and_ring(queues::send_list{}).ok());
    EXPECT_TRUE(pairs[1]->next(0).ok());
    const work_completion got = pairs[1]->next(1);
    EXPECT_EQ(got.wr_id, i < 11 ? i + 4 : i + 89);
  }
  EXPECT_EQ(receives().outstanding(), 0u);
}

TEST_F(shared_receives_test, a_queue_pair_in_error_says_when_it_took_the_last) {
  make_shared(qp_service::rc);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(receives().post({.wr_id = i}).ok());
  receives().ring();
  ASSERT_TRUE(pairs[0]->send(0).post_and_ring(queues::send_list{}).ok());
  EXPECT_TRUE(pairs[0]->next(1).ok());
  ASSERT_TRUE(pairs[0]->move(1, qp_state::error).ok());
  EXPECT_TRUE(rig.run([this] { return !last_taken.empty(); }, clock::seconds(1)));
  EXPECT_EQ(last_taken, std::vector<qp_handle>{pairs[0]->queue[1]});
  EXPECT_EQ(receives().outstanding(), 3u) << "those are the other's";
}

TEST_F(shared_receives_test, queue_pairs_that_cannot_be_are_refused) {
  make_shared(qp_service::uc);
  const auto all = counts(rig);
  const queue_pair_attributes good{.pd = domain,
                                   .send_cq = pairs[0]->completion[0],
                                   .receive_cq = pairs[0]->completion[0],
                                   .sends = 4,
                                   .shared = shared};
  create_queue_pair both;
  auto a = good;
  a.receives = 4;
  both.start(rig.objects, a);
  EXPECT_TRUE(rig.await(both).is(driver_error::bad_argument));
  create_queue_pair stale;
  a = good;
  a.shared = {shared.index, shared.generation + 1};
  stale.start(rig.objects, a);
  EXPECT_TRUE(rig.await(stale).is(driver_error::stale_handle));
  create_queue_pair wrong;
  a.shared = {a.send_cq.index, a.send_cq.generation};
  wrong.start(rig.objects, a);
  EXPECT_TRUE(rig.await(wrong).is(driver_error::stale_handle)) << "it names a completion queue";
  EXPECT_EQ(counts(rig), all);
}

TEST_F(services_test, what_init_was_given_stays) {
  for (const qp_service service : {qp_service::rc, qp_service::uc, qp_service::ud}) {
    rc_pair one(rig, {.service = service, .sends = 4, .receives = 4});
    connection_attributes first = one.attributes(0), then = one.attributes(0);
    first.pkey_index = 3;
    then.remote_write = false;
    ASSERT_TRUE(one.move(0, qp_state::init, first).ok());
    ASSERT_TRUE(one.move(0, qp_state::rtr, then).ok());
    query_queue_pair look;
    look.start(rig.objects, one.queue[0]);
    ASSERT_TRUE(rig.await(look).ok());
    EXPECT_EQ(look.context().get<&layouts::primary_path::pkey_index>(), 3u);
    EXPECT_EQ(look.context().get<&layouts::qpc::rwe>(), service != qp_service::ud);
  }
}

/// Its receives are armed, which the device does not answer, when the device is closed. The end of
/// another operation moves a queue pair that takes from it.
TEST_F(shared_receives_test, a_queue_in_doubt_is_there_as_long_as_its_users_at_a_reset) {
  make_shared(qp_service::rc);
  const auto pages = rig.machine.memory().allocate_scattered(2);
  target.reset();  // so that a region has to wait for context memory
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(5));
  rig.machine.adapter().judge_commands(
      [](layouts::opcode, std::uint32_t) -> model::command_verdict {
        return {.what = model::command_verdict::fate::hold};
      });
  arm_shared_receive_queue arm;
  arm.start(rig.objects, shared, 1);
  EXPECT_TRUE(rig.await(arm).is(transport_error::timeout));
  struct looker {
    verbs& objects;
    qp_handle pair;
    bool looked = false;
  } look{rig.objects, pairs[0]->queue[0]};
  create_memory_region region;
  region.then(
      [](operation&, void* self) noexcept {
        auto& l = *static_cast<looker*>(self);
        const queue_pair* const user = l.objects.find(l.pair);
        ASSERT_NE(user, nullptr);
        EXPECT_EQ(user->shared->state, object_record::phase::live);
        EXPECT_NE(user->shared->number, object_record::none);
        l.looked = true;
      },
      &look);
  region.start(rig.objects, {.pd = domain,
                             .pages = page_list(pages.addresses.data(), 12, 0, 4096),
                             .virtual_address = 0});
  rig.run([] { return false; }, clock::milliseconds(1));
  rig.adapter.close();
  EXPECT_TRUE(look.looked);
  rig.objects.poll();
  EXPECT_TRUE(rig.objects.holdings().none());
  rig.machine.adapter().judge_commands({});
  rig.machine.memory().release(pages);
  abandon();
}

}  // namespace
}  // namespace freehca
