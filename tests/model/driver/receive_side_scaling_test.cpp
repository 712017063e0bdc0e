// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive work queues, RSS queue pairs, and packet counters.
#include "counts.hpp"
#include "spread_frames.hpp"

// Compiled with others of the folder as one source: names of layouts are visible here alone.
namespace freehca::testing::receive_side_scaling_tests {
namespace {

/// Without queues nothing is left.
struct counted_rig {
  static rig_options how() {
    rig_options o = exact();
    o.machine = computed_steering();
    return o;
  }
  counted_rig() { spread_frames<verbs_rig>::open_port(own); }
  ~counted_rig() {
    EXPECT_TRUE(own.objects.holdings().none());
    EXPECT_EQ(counts(own), empty);
    EXPECT_EQ(own.machine.adapter().complaints(), 0u)
        << (own.machine.complaints().empty() ? "" : own.machine.complaints().front());
    port_operation close;
    close.close(own.adapter, 1);
    EXPECT_TRUE(own.await(close).ok());
  }
  verbs_rig own{how()};
  std::vector<std::uint64_t> empty{counts(own)};
};

class receive_side_scaling : public ::testing::Test,
                             protected counted_rig,
                             protected spread_frames<verbs_rig> {
 protected:
  receive_side_scaling() : spread_frames(own) {}
};

TEST_F(receive_side_scaling, frames_go_to_the_queue_of_their_published_hash) {
  make_queues();
  constexpr std::uint8_t all = ipv4 | tcp_ipv4 | udp_ipv4 | ipv6 | tcp_ipv6 | udp_ipv6;
  const status s = create(rss, table(all));
  ASSERT_TRUE(s.ok()) << words(s);
  start_receiving();
  for (const published_hash& v : published) {
    expect_hash(v, tcp, v.of_all);
    expect_hash(v, udp, v.of_all);
    expect_hash(v, 1, v.of_addresses);
  }
}

TEST_F(receive_side_scaling, each_header_is_hashed_if_it_was_chosen) {
  make_queues();
  struct choice {
    std::uint8_t headers;
    bool hashes_ipv4, ipv4_tcp_ports, ipv4_udp_ports, hashes_ipv6, ipv6_tcp_ports, ipv6_udp_ports;
  };
  for (const choice& c : {choice{0, false, false, false, false, false, false},
                          {ipv4, true, false, false, false, false, false},
                          {ipv4 | tcp_ipv4, true, true, false, false, false, false},
                          {ipv4 | udp_ipv4, true, false, true, false, false, false},
                          {ipv6, false, false, false, true, false, false},
                          {ipv6 | tcp_ipv6, false, false, false, true, true, false},
                          {ipv6 | udp_ipv6, false, false, false, true, false, true}}) {
    rss_queue_pair_attributes a = table(c.headers);
    a.default_queue = 2;
    ASSERT_TRUE(create(rss, a).ok());
    start_receiving();
    for (const published_hash& v : {published[0], published[5]}) {
      const bool hashed = v.is_ipv4() ? c.hashes_ipv4 : c.hashes_ipv6;
      const std::uint32_t without = hashed ? v.of_addresses : 0;
      expect_hash(v, tcp, (v.is_ipv4() ? c.ipv4_tcp_ports : c.ipv6_tcp_ports) ? v.of_all : without,
                  2);
      expect_hash(v, udp, (v.is_ipv4() ? c.ipv4_udp_ports : c.ipv6_udp_ports) ? v.of_all : without,
                  2);
    }
    ASSERT_TRUE(destroy(rss).ok());
    rss = {};
    for (const rwq_handle q : queue) EXPECT_TRUE(move(q, qp_state::reset).ok());
  }
}

TEST_F(receive_side_scaling, the_exclusive_or_is_of_the_words_of_the_addresses) {
  make_queues();
  rss_queue_pair_attributes a = table(ipv4);
  a.hash = rss_hash::exclusive_or;
  a.key = nullptr;  // of the Toeplitz hash only
  a.key_bytes = 0;
  const status s = create(rss, a);
  ASSERT_TRUE(s.ok()) << words(s);
  start_receiving();
  expect_hash(published[0], tcp, 0x420995bb ^ 0xa18e6450);
}

TEST_F(receive_side_scaling, a_range_gives_aligned_numbers_once) {
  for (const std::uint32_t count : {1u, 2u, 8u, 64u}) {
    handle<receive_queue_range> made;
    const status s = create(made, {.count = count});
    ASSERT_TRUE(s.ok()) << words(s);
    const std::uint32_t first = rig.objects.find(made)->number;
    EXPECT_EQ(first % count, 0u);
    for (std::uint32_t i = 0; i < count; ++i)
      EXPECT_TRUE(rig.adapter.contexts().mapped(context_group::qp, first + i));
    EXPECT_TRUE(destroy(made).ok());
  }
  make_queues(2);
  const std::uint32_t first = number(0);
  EXPECT_EQ(first % 2, 0u);
  EXPECT_EQ(number(1), first + 1);
  rwq_handle more;
  EXPECT_TRUE(create(more, attributes()).is(driver_error::no_resource));
  EXPECT_TRUE(destroy(range).is(driver_error::busy));
  EXPECT_TRUE(destroy(queue[0]).ok());
  EXPECT_TRUE(create(more, attributes()).is(driver_error::no_resource)) << "the number is used up";
}

TEST_F(receive_side_scaling, a_range_passes_over_context_memory_in_doubt) {
  unsigned held = 0;
  rig.machine.adapter().judge_commands([&](opcode code, std::uint32_t) {
    using fate = model::command_verdict::fate;
    const bool hold = code == opcode::map_icm && held++ == 0;
    return model::command_verdict{.what = hold ? fate::hold : fate::run};
  });
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  EXPECT_TRUE(create(range, {.count = 1}).is(transport_error::timeout));
  EXPECT_NE(rig.adapter.holdings().mappings_in_doubt, 0u);
  const status second = create(range, {.count = 2});
  ASSERT_TRUE(second.ok()) << words(second);
  rwq_handle good;
  EXPECT_TRUE(create(good, attributes()).ok());
  EXPECT_TRUE(destroy(good).ok());
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run(
      [&] {
        return rig.adapter.holdings().mappings_in_doubt == 0 &&
               rig.objects.held<receive_queue_range>() == 1;
      },
      clock::seconds(100)));
}

TEST_F(receive_side_scaling, a_shared_receive_queue_is_refused) {
  srq_handle shared;
  ASSERT_TRUE(create(shared, {.pd = pd, .receives = receives}).ok());
  make_queues(2);
  ASSERT_TRUE(destroy(queue[1]).ok());
  queue.pop_back();
  rwq_handle more;
  receive_work_queue_attributes a = attributes();
  a.queue.receives = 0;
  a.queue.shared = shared;
  EXPECT_TRUE(create(more, a).is(driver_error::unsupported));
  rss_queue_pair_attributes t = table(ipv4);
  t.queue.shared = shared;
  EXPECT_TRUE(create(rss, t).is(driver_error::unsupported));
  EXPECT_TRUE(destroy(shared).ok()) << "nothing uses it";
}

TEST_F(receive_side_scaling, what_is_in_use_stays) {
  make_queues();
  ASSERT_TRUE(create(rss, table(ipv4)).ok());
  rss_handle second;
  ASSERT_TRUE(create(second, table(ipv6)).ok()) << "a queue can be in several tables";
  for (const rwq_handle q : queue) EXPECT_TRUE(destroy(q).is(driver_error::busy));
  EXPECT_TRUE(destroy(second).ok());
  for (const rwq_handle q : queue) EXPECT_TRUE(destroy(q).is(driver_error::busy));
  EXPECT_TRUE(destroy(second).is(driver_error::stale_handle));
  EXPECT_TRUE(destroy(cq).is(driver_error::busy));
  const rss_handle gone = rss;
  EXPECT_TRUE(destroy(rss).ok());
  rss = {};
  EXPECT_TRUE(move(gone, qp_state::init).is(driver_error::stale_handle));
  const rwq_handle stale = queue[3];
  EXPECT_TRUE(destroy(queue[3]).ok());
  EXPECT_TRUE(create(rss, table(ipv4)).is(driver_error::stale_handle)) << "of a queue";
  EXPECT_TRUE(move(stale, qp_state::init).is(driver_error::stale_handle));
}

TEST_F(receive_side_scaling, nothing_is_posted_to_what_only_distributes) {
  make_queues(1);
  ASSERT_TRUE(create(rss, table(ipv4)).ok());
  const qp_handle both[] = {queue[0], rss};
  for (const qp_handle q : both)
    for (const qp_state to : {qp_state::init, qp_state::rtr, qp_state::rts})
      ASSERT_TRUE(move(q, to).ok());
  const queues::data_entry at = memory->entry(0, slot_bytes);
  for (const qp_handle q : both)
    EXPECT_FALSE(rig.objects.find(q)->rings.send.post(queues::send{.data = at}).ok());
  EXPECT_FALSE(
      rig.objects.find(rss)->rings.receive.post({.wr_id = 1, .list = &at, .entries = 1}).ok());
  EXPECT_TRUE(
      rig.objects.find(queue[0])->rings.receive.post({.wr_id = 1, .list = &at, .entries = 1}).ok());
}

TEST_F(receive_side_scaling, a_path_of_frames_is_no_path_to_a_peer) {
  const auto made = rig.objects.create<address_handle>({.pd = pd, .address = frames_of(1)});
  EXPECT_TRUE(made.error().is(driver_error::bad_argument));
  EXPECT_EQ(rig.objects.refused().what, attribute_id::link_layer);
  make_queues(1);
  connection_attributes a;
  a.address = frames_of(2);
  modify_queue_pair op;
  op.start(rig.objects, queue[0], qp_state::init, a);
  EXPECT_TRUE(rig.await(op).is(driver_error::bad_argument)) << "port 2 is of InfiniBand";
  a.address = infiniband_path{.port = 1};
  op.restart();
  op.start(rig.objects, queue[0], qp_state::init, a);
  EXPECT_TRUE(rig.await(op).is(driver_error::bad_argument));
}

TEST_F(receive_side_scaling, a_reset_ends_everything) {
  make_queues();
  ASSERT_TRUE(create(rss, table(ipv4)).ok());
  start_receiving();
  operation up;
  rig.adapter.recover(up);
  EXPECT_TRUE(rig.await(up).ok());
  EXPECT_EQ(rig.objects.find(rss), nullptr);
  EXPECT_EQ(rig.objects.find(range), nullptr);
  EXPECT_TRUE(rig.objects.holdings().none());
  abandon();
  pd = rig.objects.create<protection_domain>().value();
  EXPECT_TRUE(create(cq, {.entries = 127}).ok());
  memory.reset();
  memory.emplace(rig, pd, queues_of_table * receives * slot_bytes, 0,
                 memory_access{.local_write = true});
  port_operation open;
  open.open(rig.adapter, 1);
  EXPECT_TRUE(rig.await(open).ok());
  make_queues();
  EXPECT_TRUE(create(rss, table(ipv4)).ok());
}

TEST_F(receive_side_scaling, a_refused_creation_gives_everything_back) {
  make_queues();
  rig_options without = how();
  without.machine.model.without.add(model::capability::receive_side_scaling);
  verbs_rig other(without);
  create_receive_queue_range two;
  two.start(other.objects, {.count = 2});
  EXPECT_TRUE(other.await(two).is(driver_error::bad_argument));
  EXPECT_EQ(other.objects.refused().what, attribute_id::table_entries);
  EXPECT_EQ(other.objects.refused().limit, 1u);
  rss_queue_pair_attributes a = table(ipv4);
  create_rss_queue_pair op;
  op.start(other.objects, a);
  EXPECT_TRUE(other.await(op).is(driver_error::unsupported));
}

TEST_F(receive_side_scaling, a_counter_counts_the_frames_of_the_queues_that_name_it) {
  const auto first = rig.objects.create<packet_counter>();
  const auto second = rig.objects.create<packet_counter>();
  ASSERT_TRUE(first.ok() && second.ok());
  const std::uint8_t counter = counter_of(rig.objects, second.value());
  EXPECT_NE(counter, counter_of(rig.objects, first.value()));
  make_queues();
  ASSERT_TRUE(create(rss, table(ipv4)).ok());
  start_receiving(counter);
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < 3; ++i) {
    expect_hash(published[i], tcp, published[i].of_addresses);
    bytes += frame_of(published[i], tcp).size() + 4;
  }
  const auto read = [&](std::uint32_t index, bool reset) {
    packet_counter_query query;
    query.start(rig.adapter, index, reset);
    const status s = rig.await(query);
    EXPECT_TRUE(s.ok()) << words(s);
    EXPECT_TRUE(query.is_basic());
    return query.counts();
  };
  EXPECT_EQ(read(counter_of(rig.objects, first.value()), false).rx_frames, 0u);
  const packet_counts now = read(counter, true);
  EXPECT_EQ(now.rx_frames, 3u);
  EXPECT_EQ(now.rx_bytes, bytes);
  EXPECT_EQ(now.tx_frames, 0u);
  EXPECT_EQ(read(counter, false).rx_frames, 0u) << "the query has reset it";
  packet_counter_query beyond;
  beyond.start(rig.adapter, 1u << 16);
  EXPECT_TRUE(rig.await(beyond).is(driver_error::bad_argument));
  EXPECT_EQ(beyond.refused.what, attribute_id::counter);
  EXPECT_TRUE(rig.objects.destroy(second.value()).ok());
  EXPECT_TRUE(rig.objects.destroy(second.value()).is(driver_error::stale_handle));
  EXPECT_EQ(counter_of(rig.objects, second.value()), 0xff);
  EXPECT_TRUE(rig.objects.destroy(first.value()).ok());
}

TEST_F(receive_side_scaling, each_owner_has_eight_counters) {
  handle<packet_counter> counter[8];
  for (unsigned i = 0; i < 8; ++i) {
    counter[i] = rig.objects.create<packet_counter>().value();
    EXPECT_EQ(counter_of(rig.objects, counter[i]), i);
  }
  EXPECT_TRUE(rig.objects.create<packet_counter>().error().is(driver_error::no_resource));
  for (const handle<packet_counter> c : counter) EXPECT_TRUE(rig.objects.destroy(c).ok());
}

TEST(packet_counters, need_a_device_that_has_them) {
  rig_options how = exact();
  how.machine.model.without.add(model::capability::interface_counters);
  verbs_rig rig(how);
  EXPECT_TRUE(rig.objects.create<packet_counter>().error().is(driver_error::unsupported));
  packet_counter_query query;
  query.start(rig.adapter, 0);
  EXPECT_TRUE(rig.await(query).is(driver_error::unsupported));
}

}  // namespace
}  // namespace freehca::testing::receive_side_scaling_tests
