// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Receive work queues, RSS queue pairs, and packet counters.
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freehca/firmware_cmds/port.hpp>
#include <freehca/layouts/set_port.hpp>

#include "counts.hpp"
#include "rc_pair.hpp"

// Compiled with others of the folder as one source: names of layouts are visible here alone.
namespace freehca::testing::receive_side_scaling_tests {
namespace {

using namespace layouts;
using namespace rss_headers;
using rwq_handle = handle<receive_work_queue>;
using rss_handle = handle<rss_queue_pair>;

constexpr std::uint32_t queues_of_table = 4, slot_bytes = 2048, receives = 8;

std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}
const std::vector<std::uint8_t> key =
    from_hex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");

/// A vector of "Verifying the RSS Hash Calculation" (Microsoft): source and destination address,
/// the ports, the hash of the addresses, and that of addresses and ports.
struct published_hash {
  std::string_view addresses;
  std::uint16_t source_port, destination_port;
  std::uint32_t of_addresses, of_all;
  bool is_ipv4() const { return addresses.size() == 16; }
};
constexpr published_hash published[] = {
    {"420995bba18e6450", 2794, 1766, 0x323e8fc2, 0x51ccc178},
    {"c75c6f0241458c53", 14230, 4739, 0xd718262a, 0xc626b0ea},
    {"1813c65f0c16cfb8", 12898, 38024, 0xd2d0a5de, 0x5c2b394a},
    {"261bcd1ed18ea306", 48228, 2217, 0x82989176, 0xafc7327f},
    {"9927a3bfcabc7f02", 44251, 1303, 0x5d1809c5, 0x10e828a2},
    {"3ffe250102001fff00000000000000073ffe2501020000030000000000000001", 2794, 1766, 0x2cc18cd5,
     0x40207d3d},
    {"3ffe050100080000026097fffe40efabff020000000000000000000000000001", 14230, 4739, 0x0f0c461c,
     0xdde51bbf},
    {"3ffe1900454500030200f8fffe2167cffe800000000000000200f8fffe2167cf", 44251, 38024, 0x4b61e985,
     0x02d1feef},
};
constexpr std::uint8_t tcp = 6, udp = 17;

/// A frame of 80 bytes or more that no port drops.
std::vector<std::uint8_t> frame_of(const published_hash& v, std::uint8_t protocol) {
  std::vector<std::uint8_t> f = from_hex("0202030405060202030405070800");
  const auto add = [&f](std::string_view hex) {
    const auto more = from_hex(hex);
    f.insert(f.end(), more.begin(), more.end());
  };
  constexpr std::uint8_t payload = 28;
  if (v.is_ipv4()) {
    add("4500003000004000400600000a000001");
    f.resize(f.size() - 4);
    f[14 + 9] = protocol;
  } else {
    f[12] = 0x86, f[13] = 0xdd;
    add("60000000001c0640");
    f[14 + 6] = protocol;
  }
  add(v.addresses);
  const std::size_t ports = f.size();
  f.resize(ports + payload);
  store_be(reinterpret_cast<std::byte*>(f.data() + ports), v.source_port);
  store_be(reinterpret_cast<std::byte*>(f.data() + ports + 2), v.destination_port);
  if (protocol == udp) f[ports + 5] = payload;
  else f[ports + 12] = 0x50;
  return f;
}

/// Port 1 is an Ethernet port whose adapter computes the queue pair of a frame (A0 steering).
class receive_side_scaling : public ::testing::Test {
 protected:
  static rig_options how() {
    rig_options o = exact();
    o.machine.model.link[0] = model::link_layer::ethernet;
    o.machine.model.cable[0] = true;
    o.machine.model.without.add(model::capability::b0_steering);
    return o;
  }
  receive_side_scaling() : empty(counts(rig)) {
    port_operation open;
    open.open(rig.adapter, 1);
    EXPECT_TRUE(rig.await(open).ok());
    EXPECT_TRUE(rig.run([&] { return rig.adapter.port(1).active(); }, clock::seconds(10)));
    pd = rig.objects.create<protection_domain>().value();
    EXPECT_TRUE(create(cq, {.entries = 127}).ok());
    memory.emplace(rig, pd, queues_of_table * receives * slot_bytes, 0,
                   memory_access{.local_write = true});
  }
  ~receive_side_scaling() override {
    remove(rss);
    for (const rwq_handle q : queue) remove(q);
    if (range) {
      EXPECT_TRUE(rig.objects.destroy(range).ok());
    }
    memory.reset();
    EXPECT_TRUE(destroy(cq).ok());
    EXPECT_TRUE(rig.objects.destroy(pd).ok());
    EXPECT_TRUE(rig.objects.holdings().none());
    EXPECT_EQ(counts(rig), empty);
    EXPECT_EQ(rig.machine.adapter().complaints(), 0u)
        << (rig.machine.complaints().empty() ? "" : rig.machine.complaints().front());
    port_operation close;
    close.close(rig.adapter, 1);
    EXPECT_TRUE(rig.await(close).ok());
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
  /// Destroys the object, if it exists.
  template <class K>
  void remove(handle<K> h) {
    if (rig.objects.find(h) != nullptr) {
      EXPECT_TRUE(destroy(h).ok());
    }
  }
  void make_queues(std::uint32_t count = queues_of_table) {
    const auto made = rig.objects.create<receive_queue_range>({.count = count});
    ASSERT_TRUE(made.ok()) << words(made.error());
    range = made.value();
    for (std::uint32_t i = 0; i < count; ++i) {
      rwq_handle q;
      const status s = create(q, attributes());
      ASSERT_TRUE(s.ok()) << words(s);
      queue.push_back(q);
    }
  }
  receive_work_queue_attributes attributes() const {
    return {range, {.pd = pd, .send_cq = cq, .receive_cq = cq, .receives = receives}};
  }
  rss_queue_pair_attributes table(std::uint8_t headers) const {
    return {.queue = {.pd = pd, .send_cq = cq, .receive_cq = cq},
            .table = queue.data(),
            .count = static_cast<std::uint32_t>(queue.size()),
            .headers = headers,
            .key = key.data(),
            .key_bytes = static_cast<std::uint32_t>(key.size())};
  }
  status move(qp_handle which, qp_state to, std::uint8_t counter = 0xff) {
    connection_attributes a;
    a.address = frames_of(1);
    a.counter = counter;
    modify_queue_pair op;
    op.start(rig.objects, which, to, a);
    return rig.await(op);
  }
  void start_receiving(std::uint8_t counter = 0xff) {
    std::vector<qp_handle> all(queue.begin(), queue.end());
    all.push_back(rss);
    for (const qp_handle q : all)
      for (const qp_state to : {qp_state::init, qp_state::rtr}) {
        const status s = move(q, to, counter);
        ASSERT_TRUE(s.ok()) << words(s);
      }
    for (std::uint32_t i = 0; i < queue.size(); ++i)
      for (std::uint32_t n = 0; n < receives; ++n) post(i, i * receives + n);
    steer();
  }
  void post(std::uint32_t to, std::uint64_t slot) {
    const queues::data_entry at = memory->entry(slot * slot_bytes, slot_bytes);
    queues::qp_rings& rings = rig.objects.find(queue[to])->rings;
    ASSERT_TRUE(rings.receive.post({.wr_id = slot, .list = &at, .entries = 1}).ok());
    rings.receive.ring();
  }
  /// All frames go to the RSS queue pair.
  void steer() {
    using l = set_port_rqp_calc;
    firmware_command<commands::set_port_ethernet<l, set_port_selector::rqp_calc>> set{
        std::uint32_t{1}};
    set.input.set<&l::promisc>(true)
        .set<&l::promisc_qpn>(qpn_of(rig.objects, rss))
        .set<&l::mcast_mode>(mcast_mode::standard)
        .set<&l::mcast_qpn>(qpn_of(rig.objects, rss));
    rig.adapter.commands().submit(set);
    EXPECT_TRUE(rig.await(set).ok());
  }
  /// A frame arrives by the cable. Returns its completion.
  queues::work_completion arrive(const std::vector<std::uint8_t>& frame) {
    rig.machine.deliver(1, rig.machine.time(), reinterpret_cast<const std::byte*>(frame.data()),
                        frame.size());
    queues::work_completion done;
    EXPECT_TRUE(
        rig.run([&] { return rig.objects.find(cq)->rings.poll(&done, 1) == 1; }, clock::seconds(1)))
        << "the frame got lost";
    EXPECT_TRUE(done.ok());
    EXPECT_EQ(done.byte_count, frame.size());
    EXPECT_EQ(std::memcmp(memory->at(done.wr_id * slot_bytes), frame.data(), frame.size()), 0);
    const auto ring = static_cast<std::uint32_t>(done.wr_id / receives);
    EXPECT_EQ(done.qpn(), number(ring));
    post(ring, done.wr_id);
    return done;
  }
  std::uint32_t number(std::uint32_t i) { return qpn_of(rig.objects, queue[i]); }
  void expect_hash(const published_hash& v, std::uint8_t protocol, std::uint32_t hash,
                   std::uint32_t default_queue = 0) {
    const queues::work_completion done = arrive(frame_of(v, protocol));
    EXPECT_EQ(hash_of(done), hash) << v.addresses;
    const std::uint32_t to = hash == 0 ? default_queue : hash % queues_of_table;
    EXPECT_EQ(done.qpn(), number(to)) << v.addresses;
  }

  verbs_rig rig{how()};
  std::vector<std::uint64_t> empty;
  pd_handle pd;
  cq_handle cq;
  std::optional<registered_buffer> memory;
  handle<receive_queue_range> range;
  std::vector<rwq_handle> queue;
  rss_handle rss;
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
    const auto made = rig.objects.create<receive_queue_range>({.count = count});
    ASSERT_TRUE(made.ok()) << words(made.error());
    EXPECT_EQ(rig.objects.find(made.value())->next % count, 0u);
    EXPECT_TRUE(rig.objects.destroy(made.value()).ok());
  }
  make_queues(2);
  const std::uint32_t first = number(0);
  EXPECT_EQ(first % 2, 0u);
  EXPECT_EQ(number(1), first + 1);
  rwq_handle more;
  EXPECT_TRUE(create(more, attributes()).is(driver_error::no_resource));
  EXPECT_TRUE(rig.objects.destroy(range).is(driver_error::busy));
  EXPECT_TRUE(destroy(queue[0]).ok());
  EXPECT_TRUE(create(more, attributes()).is(driver_error::no_resource)) << "the number is used up";
}

TEST_F(receive_side_scaling, a_range_passes_over_context_memory_in_doubt) {
  const auto first = rig.objects.create<receive_queue_range>({.count = 1});
  ASSERT_TRUE(first.ok());
  const std::uint32_t doubtful = rig.objects.find(first.value())->next;
  unsigned held = 0;
  rig.machine.adapter().judge_commands([&](opcode code, std::uint32_t) {
    using fate = model::command_verdict::fate;
    const bool hold = code == opcode::map_icm && held++ == 0;
    return model::command_verdict{.what = hold ? fate::hold : fate::run};
  });
  rig.adapter.commands().set_limit(patience::ordinary, clock::milliseconds(20));
  range = first.value();
  rwq_handle late;
  EXPECT_TRUE(create(late, attributes()).is(transport_error::timeout));
  EXPECT_NE(rig.adapter.holdings().mappings_in_doubt, 0u);
  const auto second = rig.objects.create<receive_queue_range>({.count = 2});
  ASSERT_TRUE(second.ok()) << words(second.error());
  EXPECT_GT(rig.objects.find(second.value())->next, doubtful + 1);
  range = second.value();
  rwq_handle good;
  EXPECT_TRUE(create(good, attributes()).ok());
  EXPECT_TRUE(destroy(good).ok());
  rig.machine.adapter().judge_commands({});
  rig.machine.adapter().release_held_commands();
  EXPECT_TRUE(rig.run(
      [&] {
        return rig.adapter.holdings().mappings_in_doubt == 0 &&
               rig.objects.held<receive_work_queue>() == 0;
      },
      clock::seconds(100)));
  EXPECT_TRUE(rig.objects.destroy(first.value()).ok());
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
  rss = {};
  range = {};
  queue.clear();
  pd = rig.objects.create<protection_domain>().value();
  EXPECT_TRUE(create(cq, {.entries = 127}).ok());
  memory->region = {};
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
  const auto made = other.objects.create<receive_queue_range>({.count = 2});
  EXPECT_TRUE(made.error().is(driver_error::bad_argument));
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
