// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// What a program does: memory, connections, completions, by polling, callbacks and tasks.
#include <freehca/hca/objects/verbs.hpp>

#include "easy_rig.hpp"

namespace freehca {
namespace {

using easy::rights;
using testing::easy_rig;
using testing::words;

class program : public ::testing::Test {
 protected:
  void SetUp() override { rig.bring_up(); }
  /// Two connections of one port, connected.
  void connect() {
    a = rig.get(hca.open_rc());
    b = rig.get(hca.open_rc());
    rig.must(hca.connect(a, b.self));
    rig.must(hca.connect(b, a.self));
  }
  void expect_a_write() {
    const auto from = rig.get(hca.allocate(4096));
    const auto to = rig.get(hca.allocate(4096, rights::remote_write));
    std::memset(from.host, 0x5a, 64);
    ASSERT_TRUE(
        a.post(queues::rdma_write{.wr_id = 7, .remote = to.remote(100), .data = from.part(0, 64)})
            .ok());
    const auto w = rig.get(hca.next(a));
    EXPECT_TRUE(w.ok());
    EXPECT_EQ(w.wr_id, 7u);
    EXPECT_EQ(std::memcmp(from.host, to.host + 100, 64), 0);
    EXPECT_EQ(to.host[99], std::byte{0});
    EXPECT_EQ(to.host[164], std::byte{0});
    rig.must(hca.release(from));
    rig.must(hca.release(to));
  }

  easy_rig rig;
  easy::adapter& hca = rig.hca;
  easy::connection a, b;
};

TEST_F(program, writes_and_gives_everything_back) {
  const auto before = rig.counts();
  connect();
  expect_a_write();
  rig.must(hca.close(a));
  rig.must(hca.close(b));
  EXPECT_EQ(rig.counts(), before);
  EXPECT_EQ(rig.machine.counter("complaints"), 0u);
}

TEST_F(program, sends_to_a_receive) {
  connect();
  const auto memory = rig.get(hca.allocate(8192));
  std::memset(memory.host, 0x3c, 500);
  const queues::data_entry room = memory.part(4096, 1000);
  ASSERT_TRUE(b.post(queues::receive_request{.wr_id = 3, .list = &room, .entries = 1}).ok());
  ASSERT_TRUE(a.post(queues::send{.wr_id = 4, .data = memory.part(0, 500)}).ok());
  const auto received = rig.get(hca.next(b));
  EXPECT_TRUE(received.ok());
  EXPECT_EQ(received.wr_id, 3u);
  EXPECT_EQ(received.byte_count, 500u);
  EXPECT_EQ(rig.get(hca.next(a)).wr_id, 4u);
  EXPECT_EQ(std::memcmp(memory.host, memory.host + 4096, 500), 0);
}

TEST_F(program, sends_datagrams) {
  easy::connection_options how;
  how.qkey = 0x1234;
  const auto from = rig.get(hca.open_ud(how)), to = rig.get(hca.open_ud(how));
  const auto memory = rig.get(hca.allocate(8192));
  std::memset(memory.host, 0x77, 300);
  const queues::data_entry room = memory.part(4096, queues::grh_bytes + 300);
  ASSERT_TRUE(to.post(queues::receive_request{.wr_id = 1, .list = &room, .entries = 1}).ok());
  const auto way = hca.address_of(from, to.self);
  ASSERT_TRUE(way.ok());
  ASSERT_TRUE(from.post(queues::send_datagram{
                            .wr_id = 2,
                            .to = {.at = &way.value(), .qpn = to.self.qpn, .qkey = to.self.qkey},
                            .data = memory.part(0, 300)})
                  .ok());
  const auto received = rig.get(hca.next(to));
  EXPECT_TRUE(received.ok());
  EXPECT_TRUE(received.is_receive());
  EXPECT_EQ(received.byte_count, queues::grh_bytes + 300);
  EXPECT_EQ(received.source_qpn(), from.self.qpn);
  EXPECT_EQ(std::memcmp(memory.host, memory.host + 4096 + queues::grh_bytes, 300), 0);
  EXPECT_FALSE(rig.get(hca.next(from)).is_receive());
}

TEST_F(program, takes_many_completions_in_one_call) {
  connect();
  const auto from = rig.get(hca.allocate(4096));
  const auto to = rig.get(hca.allocate(4096, rights::all));
  queues::work_completion all[8];
  EXPECT_EQ(a.poll(all, 8), 0u);
  for (std::uint64_t n = 0; n < 5; ++n)
    ASSERT_TRUE(
        a.post(queues::rdma_write{.wr_id = n, .remote = to.remote(), .data = from.part(0, 8)})
            .ok());
  rig.settle();
  EXPECT_EQ(a.poll(all, 3), 3u);
  EXPECT_EQ(a.poll(all + 3, 5), 2u);
  for (std::uint64_t n = 0; n < 5; ++n) EXPECT_EQ(all[n].wr_id, n);
  // Those that wait get the next ones.
  ASSERT_TRUE(
      a.post(queues::rdma_write{.wr_id = 5, .remote = to.remote(), .data = from.part(0, 8)}).ok());
  EXPECT_EQ(rig.get(hca.next(a)).wr_id, 5u);
  rig.must(hca.close(a));
  EXPECT_EQ(a.poll(all, 8), 0u);
  EXPECT_EQ(easy::connection{}.poll(all, 8), 0u);
}

// A length that an entry cannot say must not become one that it can: 2^32 would be no bytes at all,
// which completes and moves nothing.
TEST_F(program, parts_that_no_entry_can_name_are_refused) {
  connect();
  easy::memory large = rig.get(hca.allocate(4096, rights::all));
  const auto remote = large.remote();
  large.bytes = std::size_t{1} << 40;
  for (const std::size_t length :
       {std::size_t{1} << 31, (std::size_t{1} << 32) - 1, std::size_t{1} << 32,
        (std::size_t{1} << 32) + 8, (std::size_t{3} << 32) + 4096, std::size_t{1} << 40}) {
    const queues::data_entry part = large.part(0, length);
    for (const status s :
         {a.post(queues::rdma_write{.remote = remote, .data = part}),
          a.post(queues::rdma_read{.remote = remote, .data = part}),
          a.post(queues::send{.data = part}), a.post(queues::send_list{.data = {&part, 1}}),
          b.post(queues::receive_request{.list = &part, .entries = 1})})
      EXPECT_TRUE(s.is(driver_error::bad_argument)) << length << ": " << words(s);
  }
  const queues::data_entry most = large.part(0, queues::most_data_bytes);
  EXPECT_EQ(most.length, queues::most_data_bytes);
  EXPECT_TRUE(b.post(queues::receive_request{.list = &most, .entries = 1}).ok());
}

#ifdef NDEBUG
TEST_F(program, parts_outside_of_their_memory_are_refused) {
  connect();
  const auto memory = rig.get(hca.allocate(4096, rights::all));
  const std::size_t wrongs[][2] = {
      {0, 4097}, {4096, 1}, {4097, 0}, {~std::size_t{0}, 1}, {1, ~std::size_t{0}}};
  for (const auto& [offset, length] : wrongs)
    EXPECT_TRUE(
        a.post(queues::rdma_write{.remote = memory.remote(), .data = memory.part(offset, length)})
            .is(driver_error::bad_argument))
        << offset << ", " << length;
}
#endif

// ---- What peers tell each other.

TEST_F(program, packets_are_as_large_as_both_sides_take) {
  using layouts::ib_mtu;
  const auto mtu_of = [&](const easy::connection& c) {
    query_queue_pair q;
    q.start(hca.objects(), c.pair);
    EXPECT_TRUE(rig.await(q).ok());
    return q.context().get<&layouts::qpc::mtu>();
  };
  const ib_mtu own = hca.hardware().port(1).active_mtu;
  ASSERT_EQ(own, ib_mtu::mtu_4096);
  struct {
    ib_mtu told, expected;
  } const peers[] = {{ib_mtu{}, own},
                     {ib_mtu::mtu_256, ib_mtu::mtu_256},
                     {ib_mtu::mtu_1024, ib_mtu::mtu_1024},
                     {own, own},
                     {ib_mtu::mtu_2048, ib_mtu::mtu_2048},
                     {static_cast<ib_mtu>(6), own},
                     {static_cast<ib_mtu>(255), own}};
  for (const auto& p : peers) {
    a = rig.get(hca.open_rc());
    b = rig.get(hca.open_rc());
    EXPECT_EQ(a.self.mtu, own);
    easy::peer there = b.self, here = a.self;
    there.mtu = here.mtu = p.told;
    rig.must(hca.connect(a, there));
    rig.must(hca.connect(b, here));
    EXPECT_EQ(mtu_of(a), p.expected) << static_cast<unsigned>(p.told);
    expect_a_write();
    rig.must(hca.close(a));
    rig.must(hca.close(b));
  }
}

TEST_F(program, peers_name_their_partition_and_service_level) {
  a = rig.get(hca.open_rc({.sl = 3}));
  EXPECT_EQ(a.self.pkey, 0xffff) << "the default partition, full member";
  EXPECT_EQ(a.self.sl, 3);
  for (const std::uint16_t stranger :
       {std::uint16_t{0x8001}, std::uint16_t{0x0001}, std::uint16_t{0x7ffe}}) {
    easy::peer there = a.self;
    there.pkey = stranger;
    auto refused = hca.connect(a, there);
    EXPECT_TRUE(rig.await(refused).is(driver_error::bad_argument)) << stranger;
  }
  easy::peer limited = a.self;
  limited.pkey = 0x7fff;
  EXPECT_TRUE(easy::share_partition(a.self, limited));
  EXPECT_FALSE(easy::share_partition(limited, limited)) << "two limited members never talk";
  rig.must(hca.connect(a, limited));
  query_queue_pair q;
  q.start(hca.objects(), a.pair);
  ASSERT_TRUE(rig.await(q).ok());
  EXPECT_EQ(q.context().get<&layouts::primary_path::sched_queue>() >> 2 & 0xf, 3u);
}

TEST_F(program, options_that_the_port_does_not_have_are_refused) {
  const unsigned places = hca.hardware().port(1).pkey_table_length;
  const easy::connection_options wrongs[] = {
      {.sl = 16},
      {.sl = 255},
      {.pkey_index = static_cast<std::uint16_t>(places)},
      {.pkey_index = 0xffff},
      {.pkey_index = static_cast<std::uint16_t>(places - 1)},  // empty
      {.pkey_index = 1},                                       // empty
  };
  const auto before = rig.counts();
  for (const auto& how : wrongs) {
    auto opens = hca.open_rc(how);
    EXPECT_TRUE(rig.await(opens).is(driver_error::bad_argument))
        << unsigned{how.sl} << ", " << how.pkey_index;
    auto datagrams = hca.open_ud(how);
    EXPECT_TRUE(rig.await(datagrams).is(driver_error::bad_argument));
  }
  rig.settle();
  EXPECT_EQ(rig.counts(), before);
}

TEST_F(program, a_peer_in_another_subnet_is_sent_to_with_a_grh) {
  easy::connection ud = rig.get(hca.open_ud());
  easy::peer there = ud.self;
  EXPECT_FALSE(easy::path_between(1, ud.self, there).global) << "its own subnet";
  there.gid = {};
  EXPECT_FALSE(easy::path_between(1, ud.self, there).global) << "it did not say";
  there.gid = ud.self.gid;
  there.gid.raw[7] ^= 1;
  there.lid = 0x77;  // of the router
  there.sl = 5;
  const infiniband_path way = easy::path_between(2, ud.self, there);
  EXPECT_TRUE(way.global);
  EXPECT_EQ(way.dgid, there.gid);
  EXPECT_EQ(way.dlid, 0x77);
  EXPECT_EQ(way.port, 2u);
  EXPECT_EQ(way.sl, 5);
  EXPECT_GT(way.hop_limit, 1);
  const auto made = hca.address_of(ud, there);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.value().vector.get<&layouts::address_vector::grh>());
  EXPECT_EQ(made.value().vector.get<&layouts::address_vector::rlid>(), 0x77u);
  a = rig.get(hca.open_rc());
  rig.must(hca.connect(a, there));
  query_queue_pair q;
  q.start(hca.objects(), a.pair);
  ASSERT_TRUE(rig.await(q).ok());
  EXPECT_TRUE(q.context().get<&layouts::primary_path::grh>());
}

TEST_F(program, many_wait_and_each_gets_one_in_turn) {
  connect();
  const auto from = rig.get(hca.allocate(4096));
  const auto to = rig.get(hca.allocate(4096, rights::all));
  easy::next_completion waiting[5];
  for (auto& w : waiting) w.start(hca, a);
  rig.settle();
  for (std::uint64_t n = 0; n < 5; ++n) {
    EXPECT_FALSE(waiting[n].done());
    ASSERT_TRUE(
        a.post(queues::rdma_write{.wr_id = n, .remote = to.remote(), .data = from.part(0, 8)})
            .ok());
    ASSERT_TRUE(rig.await(waiting[n]).ok());
    EXPECT_EQ(waiting[n].value().value().wr_id, n);
  }
}

TEST_F(program, one_that_waits_may_be_cancelled_or_be_late) {
  connect();
  easy::next_completion first, second, third;
  second.set_deadline(rig.machine.time() + clock::milliseconds(3));
  first.start(hca, a), second.start(hca, a), third.start(hca, a);
  rig.settle();
  first.cancel();
  EXPECT_FALSE(first.done());
  EXPECT_TRUE(rig.await(first).is(driver_error::cancelled));
  const std::uint64_t began = rig.machine.time();
  EXPECT_TRUE(rig.await(second).is(transport_error::timeout));
  EXPECT_LE(rig.machine.time(), began + clock::milliseconds(3));
  rig.must(hca.close(a));
  EXPECT_TRUE(rig.await(third).is(driver_error::stale_handle));
}

TEST_F(program, a_deadline_may_be_set_when_it_is_under_way) {
  connect();
  const std::uint64_t began = rig.machine.time();
  auto waits = hca.next(a);
  EXPECT_TRUE(rig.await(waits.until(began + clock::milliseconds(2))).is(transport_error::timeout));
  EXPECT_LE(rig.machine.time(), began + clock::milliseconds(2));
  auto opens = hca.open_rc();
  EXPECT_TRUE(rig.await(opens.until(rig.machine.time() + 1)).is(transport_error::timeout));
  opens.restart();
  opens.start(hca, layouts::qp_service::rc, {});
  EXPECT_TRUE(rig.await(opens).ok());
}

TEST_F(program, a_lost_event_delays_only) {
  connect();
  const auto from = rig.get(hca.allocate(4096));
  const auto to = rig.get(hca.allocate(4096, rights::all));
  auto waits = hca.next(a);
  rig.settle();
  // The device believes that it has told.
  hca.objects().find(a.completions)->rings.on_event();
  hca.objects().find(a.completions)->rings.arm();
  for (std::uint64_t n = 0; n < 3; ++n)
    ASSERT_TRUE(
        a.post(queues::rdma_write{.wr_id = n, .remote = to.remote(), .data = from.part(0, 8)})
            .ok());
  EXPECT_EQ(rig.get(waits).wr_id, 0u);
  EXPECT_EQ(rig.get(hca.next(a)).wr_id, 1u);
  EXPECT_EQ(rig.get(hca.next(a)).wr_id, 2u);
}

// A program that polls finds a completion ahead of its event. To arm for the one behind it before
// that is wrong: the device is still armed for this one (the model's rule cq-arm-number).
TEST_F(program, an_event_that_is_late_is_not_taken_for_one_that_is_lost) {
  connect();
  const auto from = rig.get(hca.allocate(4096));
  const auto to = rig.get(hca.allocate(4096, rights::all));
  const queues::rdma_write write{.remote = to.remote(), .data = from.part(0, 8)};
  auto first = hca.next(a), second = hca.next(a);
  rig.settle();
  const completion_queue& queue = *hca.objects().find(a.completions);
  const auto armed_for = [&queue] {
    std::uint32_t word = 0;
    std::memcpy(&word, queue.record.host + 4, sizeof word);
    return word;
  };
  const std::uint32_t before = armed_for();
  // Nobody hears of events from here on.
  hca.hardware().completion_context(0).set_sinks({});
  ASSERT_TRUE(a.post(write).ok());
  ASSERT_TRUE(rig.run([&] { return first.done(); }));
  EXPECT_EQ(armed_for(), before);
  // After a while the event counts as lost.
  rig.settle();
  EXPECT_NE(armed_for(), before);
  ASSERT_TRUE(a.post(write).ok());
  EXPECT_TRUE(rig.run([&] { return second.done(); }));
}

TEST_F(program, refusals_say_why) {
  connect();
  const auto outcome = [this](operation&& op) { return rig.await(op); };
  EXPECT_TRUE(outcome(hca.bring_up()).is(driver_error::bad_state));
  EXPECT_TRUE(outcome(hca.allocate(0)).is(driver_error::bad_argument));
  EXPECT_TRUE(outcome(hca.allocate(std::size_t{1} << 40)).is(driver_error::no_memory));
  EXPECT_TRUE(outcome(hca.open_rc({.port = 3})).is(driver_error::bad_argument));
  EXPECT_TRUE(outcome(hca.open_rc({.entries = 1000})).is(driver_error::bad_argument));
  EXPECT_TRUE(outcome(hca.connect({}, b.self)).is(driver_error::stale_handle));
  EXPECT_TRUE(outcome(hca.close({})).is(driver_error::stale_handle));
  EXPECT_TRUE(outcome(hca.release({})).is(driver_error::stale_handle));
  EXPECT_TRUE(outcome(hca.next({})).is(driver_error::stale_handle));
  const auto datagrams = rig.get(hca.open_ud());
  EXPECT_TRUE(outcome(hca.connect(datagrams, b.self)).is(driver_error::bad_argument));
  const auto memory = rig.get(hca.allocate(100));
  rig.must(hca.release(memory));
  EXPECT_TRUE(outcome(hca.release(memory)).is(driver_error::stale_handle));
  {
    auto twice = hca.close(a), again = hca.close(a);
    EXPECT_TRUE(rig.await(again).is(driver_error::busy));
    EXPECT_TRUE(rig.await(twice).ok());
  }
  EXPECT_TRUE(a.post(queues::nop{}).is(driver_error::stale_handle));
  rig.must(hca.tear_down());
  EXPECT_TRUE(outcome(hca.allocate(100)).is(driver_error::bad_state));
  EXPECT_TRUE(outcome(hca.open_rc()).is(driver_error::bad_state));
  EXPECT_TRUE(outcome(hca.close(b)).is(driver_error::stale_handle));
}

TEST_F(program, the_places_of_the_budget_are_all_there_are) {
  std::vector<easy::connection> all;
  const auto before = rig.counts();
  for (;;) {
    auto op = hca.open_rc({.sends = 1, .receives = 1});
    if (const status s = rig.await(op); !s.ok()) {
      EXPECT_TRUE(s.is(driver_error::no_resource)) << words(s);
      break;
    }
    all.push_back(op.value().value());
  }
  EXPECT_EQ(all.size(), 16u);
  for (const auto& c : all) rig.must(hca.close(c));
  EXPECT_EQ(rig.counts(), before);
}

TEST_F(program, connects_anew) {
  connect();
  // The peer goes; the connection fails, and is connected to another.
  rig.must(hca.close(b));
  ASSERT_TRUE(a.post(queues::nop{.wr_id = 1}).ok());
  b = rig.get(hca.open_rc());
  rig.must(hca.connect(a, b.self));
  rig.must(hca.connect(b, a.self));
  expect_a_write();
}

TEST_F(program, tear_down_takes_everything_back_and_it_comes_up_again) {
  connect();
  rig.get(hca.allocate(10000));
  auto waits = hca.next(a);
  rig.settle();
  const std::uint64_t resets = hca.hardware().info().resets;
  rig.must(hca.tear_down());
  EXPECT_EQ(hca.hardware().info().resets, resets);
  EXPECT_TRUE(waits.outcome().is(driver_error::stale_handle));
  EXPECT_TRUE(hca.hardware().holdings().none());
  EXPECT_EQ(hca.places_taken(), 0u);
  rig.bring_up();
  EXPECT_TRUE(a.post(queues::nop{}).is(driver_error::stale_handle));
  connect();
  expect_a_write();
}

TEST_F(program, a_card_that_is_pulled_ends_all) {
  connect();
  rig.get(hca.allocate(10000));
  auto waits = hca.next(a);
  auto opens = hca.open_rc();
  rig.machine.remove();
  EXPECT_TRUE(rig.await(waits).is(transport_error::gone)) << words(waits.outcome());
  EXPECT_FALSE(rig.await(opens).ok());
  auto down = hca.tear_down();
  static_cast<void>(rig.await(down));
  EXPECT_EQ(hca.hardware().state(), device_state::down);
  EXPECT_EQ(hca.places_taken(), 0u);
  EXPECT_TRUE(hca.hardware().holdings().none());
  rig.machine.plug_in();
  rig.bring_up();
  connect();
  expect_a_write();
}

// ---- Callbacks and tasks.

TEST_F(program, calls_back) {
  struct seen {
    unsigned times = 0;
    easy::adapter& hca;
    status how{};
  } state{.hca = hca};
  auto op = hca.allocate(4096);
  op.then(
      [](operation& o, void* s) noexcept {
        auto& to = *static_cast<seen*>(s);
        ++to.times;
        to.how = o.outcome();
      },
      &state);
  EXPECT_EQ(state.times, 0u);
  ASSERT_TRUE(rig.await(op).ok());
  EXPECT_EQ(state.times, 1u);
  EXPECT_TRUE(state.how.ok());
}

/// Any coroutine may await an operation: it gets the result.
struct plain {
  struct promise_type {
    plain get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
plain allocate_and_release(easy::adapter& hca, std::size_t bytes, status& outcome, bool& ended) {
  const result<easy::memory> made = co_await hca.allocate(bytes);
  outcome = made.ok() ? co_await hca.release(made.value()) : made.error();
  ended = true;
}

TEST_F(program, any_coroutine_awaits_a_result) {
  const auto before = rig.counts();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{0}}) {
    status outcome{driver_error::busy};
    bool ended = false;
    allocate_and_release(hca, bytes, outcome, ended);
    ASSERT_TRUE(rig.run([&] { return ended; }));
    if (bytes != 0) EXPECT_TRUE(outcome.ok());
    else EXPECT_TRUE(outcome.is(driver_error::bad_argument));
    EXPECT_EQ(rig.counts(), before);
  }
}

/// An owner of an event context beside a program's own connections.
TEST(program_beside_owners, connects_by_a_context_that_nobody_else_has) {
  easy::sizes how = easy_rig::exact_sizes();
  how.budget.completion_event_queues = 2;
  easy_rig rig(how);
  rig.bring_up();
  const verbs_budget kinds = verbs_budget{}.with<completion_queue>(1);
  testing::storage room(verbs::event_owner_storage_bytes(kinds));
  verbs owner;
  ASSERT_TRUE(owner.open(rig.hca.hardware(), kinds, {}, room.at(), room.bytes()).ok());
  const easy::connection c = rig.get(rig.hca.open_rc());
  rig.must(rig.hca.close(c));
  EXPECT_TRUE(owner.close().ok());
}

/// A callback may start the next, also a teardown.
TEST_F(program, goes_down_from_a_callback) {
  struct state {
    easy::adapter& hca;
    easy::tearing_down down;
  } s{.hca = hca, .down = {}};
  auto op = hca.allocate(4096);
  op.then(
      [](operation&, void* at) noexcept {
        auto& to = *static_cast<state*>(at);
        to.down.start(to.hca);
      },
      &s);
  ASSERT_TRUE(rig.run([&] { return op.done() && s.down.done(); }));
  EXPECT_TRUE(s.down.outcome().ok());
  EXPECT_EQ(hca.places_taken(), 0u);
}

easy::task<std::uint64_t> write_once(easy::frames&, easy::adapter& hca, std::uint64_t id) {
  const easy::memory from = co_await hca.allocate(4096);
  const easy::memory to = co_await hca.allocate(4096, rights::remote_write);
  const easy::connection a = co_await hca.open_rc(), b = co_await hca.open_rc();
  co_await hca.connect(a, b.self);
  co_await hca.connect(b, a.self);
  std::memset(from.host, 0x5a, 64);
  const status posted =
      a.post(queues::rdma_write{.wr_id = id, .remote = to.remote(), .data = from.part(0, 64)});
  if (!posted.ok()) co_return posted;
  const queues::work_completion w = co_await hca.next(a);
  if (!w.ok() || std::memcmp(from.host, to.host, 64) != 0)
    co_return status(transport_error::bad_reply);
  co_await hca.close(a);
  co_await hca.close(b);
  co_await hca.release(from);
  co_await hca.release(to);
  co_return w.wr_id;
}

easy::task<std::uint64_t> write_twice(easy::frames& f, easy::adapter& hca) {
  const std::uint64_t first = co_await write_once(f, hca, 20);
  const std::uint64_t second = co_await write_once(f, hca, 22);
  co_return first + second;
}

easy::task<easy::no_result> fail(easy::frames&, easy::adapter& hca, unsigned& reached) {
  reached = 1;
  const status tried = co_await easy::attempt(hca.release({}));
  if (tried.is(driver_error::stale_handle)) reached = 2;
  co_await hca.allocate(0);
  reached = 3;
  co_return easy::done;
}

easy::task<easy::no_result> wait_for_nothing(easy::frames&, easy::adapter& hca) {
  const easy::connection c = co_await hca.open_rc();
  co_await hca.next(c);
  co_return easy::done;
}

class tasks : public program {
 protected:
  alignas(16) std::byte memory[128 * 1024];
  easy::frames frames{memory};
};

TEST_F(tasks, read_from_top_to_bottom) {
  const auto before = rig.counts();
  auto t = write_once(frames, hca, 42);
  ASSERT_TRUE(rig.run([&] { return t.done(); }));
  ASSERT_TRUE(t.value().ok()) << words(t.value().error());
  EXPECT_EQ(t.value().value(), 42u);
  EXPECT_EQ(rig.counts(), before);
}

TEST_F(tasks, call_each_other_and_use_frames_again) {
  const auto before = rig.counts();
  for (unsigned n = 0; n < 20; ++n) {
    auto t = write_twice(frames, hca);
    ASSERT_TRUE(rig.run([&] { return t.done(); }));
    ASSERT_TRUE(t.value().ok()) << n << ": " << words(t.value().error());
    EXPECT_EQ(t.value().value(), 42u);
  }
  EXPECT_EQ(rig.counts(), before);
}

TEST_F(tasks, run_side_by_side) {
  auto first = write_once(frames, hca, 1), second = write_once(frames, hca, 2);
  ASSERT_TRUE(rig.run([&] { return first.done() && second.done(); }));
  EXPECT_EQ(first.value().value() + second.value().value(), 3u);
}

TEST_F(tasks, end_where_something_fails) {
  unsigned reached = 0;
  auto t = fail(frames, hca, reached);
  ASSERT_TRUE(rig.run([&] { return t.done(); }));
  EXPECT_TRUE(t.value().error().is(driver_error::bad_argument));
  EXPECT_EQ(reached, 2u);
}

TEST_F(tasks, are_cancelled) {
  auto t = wait_for_nothing(frames, hca);
  rig.settle();
  EXPECT_FALSE(t.done());
  t.cancel();
  EXPECT_FALSE(t.done());
  ASSERT_TRUE(rig.run([&] { return t.done(); }));
  EXPECT_TRUE(t.value().error().is(driver_error::cancelled));
}

easy::task<std::uint64_t> go_on_whatever_comes(easy::frames& f, easy::adapter& hca) {
  auto beside = write_once(f, hca, 1);
  static_cast<void>(co_await easy::attempt(hca.allocate(4096)));
  co_await write_once(f, hca, 2);
  co_return co_await beside;
}

/// A task may be let go at any time: what it waits for is cancelled, and its frame is used again.
TEST_F(tasks, may_be_let_go_while_they_wait) {
  const auto before = rig.counts();
  bool finished = false;
  for (unsigned polls = 0; !finished; ++polls) {
    ASSERT_LT(polls, 1000u);
    {
      auto t = go_on_whatever_comes(frames, hca);
      unsigned left = polls;
      rig.run([&] { return t.done() || left-- == 0; });
      finished = t.done();
      if (finished) {
        EXPECT_TRUE(t.value().ok()) << words(t.value().error());
      }
    }
    rig.settle();
    auto again = write_once(frames, hca, 3);
    ASSERT_TRUE(rig.run([&] { return again.done(); })) << polls;
    EXPECT_TRUE(again.value().ok()) << polls << ": " << words(again.value().error());
    // What the other had brought by then is the adapter's to give back.
    rig.must(hca.tear_down());
    rig.bring_up();
    EXPECT_EQ(rig.counts(), before) << polls;
  }
}

TEST_F(tasks, without_room_end_at_once) {
  alignas(16) std::byte little[64];
  easy::frames none(little);
  auto t = write_once(none, hca, 1);
  ASSERT_TRUE(t.done());
  EXPECT_TRUE(t.value().error().is(driver_error::no_memory));
}

}  // namespace
}  // namespace freehca
