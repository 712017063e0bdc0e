// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames that an RSS queue pair distributes among receive work queues, and their published hashes.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <freehca/firmware_cmds/port.hpp>
#include <freehca/layouts/set_port.hpp>

#include "rc_pair.hpp"

namespace freehca::testing::receive_side_scaling_tests {

using namespace layouts;
using namespace rss_headers;
using rwq_handle = handle<receive_work_queue>;
using rss_handle = handle<rss_queue_pair>;

inline constexpr std::uint32_t queues_of_table = 4, slot_bytes = 2048, receives = 8;

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}
inline const std::vector<std::uint8_t> key =
    from_hex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa");

/// A vector of "Verifying the RSS Hash Calculation" (Microsoft): source and destination address,
/// the ports, the hash of the addresses, and that of addresses and ports.
struct published_hash {
  std::string_view addresses;
  std::uint16_t source_port, destination_port;
  std::uint32_t of_addresses, of_all;
  bool is_ipv4() const { return addresses.size() == 16; }
};
inline constexpr published_hash published[] = {
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
inline constexpr std::uint8_t tcp = 6, udp = 17;

/// A frame of 80 bytes or more that no port drops.
inline std::vector<std::uint8_t> frame_of(const published_hash& v, std::uint8_t protocol) {
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
inline in_process::machine_options computed_steering() {
  in_process::machine_options o;
  o.model.link[0] = model::link_layer::ethernet;
  o.model.cable[0] = true;
  o.model.without.add(model::capability::b0_steering);
  return o;
}

/// Receive work queues of an owner, and the RSS queue pair over them. Rig: verbs_rig, or another
/// that has `machine`, `adapter`, `objects`, run() and await().
template <class Rig>
class spread_frames {
 public:
  explicit spread_frames(Rig& of) : rig(of) {
    pd = rig.objects.template create<protection_domain>().value();
    EXPECT_TRUE(create(cq, {.entries = 127}).ok());
    memory.emplace(rig, pd, queues_of_table * receives * slot_bytes, 0,
                   memory_access{.local_write = true});
  }
  ~spread_frames() {
    remove(rss);
    for (const rwq_handle q : queue) remove(q);
    remove(range);
    memory.reset();
    remove(cq);
    if (pd) {
      EXPECT_TRUE(rig.objects.destroy(pd).ok());
    }
  }
  /// The device was reset: there is nothing to destroy.
  void abandon() {
    rss = {};
    queue.clear();
    range = {};
    memory->region = {};
    cq = {};
    pd = {};
  }
  spread_frames(const spread_frames&) = delete;
  spread_frames& operator=(const spread_frames&) = delete;

  static void open_port(Rig& rig) {
    port_operation open;
    open.open(rig.adapter, 1);
    EXPECT_TRUE(rig.await(open).ok());
    EXPECT_TRUE(rig.run([&] { return rig.adapter.port(1).active(); }, clock::seconds(10)));
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
    const status made = create(range, {.count = count});
    ASSERT_TRUE(made.ok()) << words(made);
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
    const std::uint32_t to = qpn_of(rig.objects, rss);
    firmware_command<commands::set_port_ethernet<l, set_port_selector::rqp_calc>> set{
        std::uint32_t{1}};
    set.input.set<&l::promisc>(true)
        .set<&l::promisc_qpn>(to)
        .set<&l::mcast_mode>(mcast_mode::standard)
        .set<&l::mcast_qpn>(to);
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

  Rig& rig;
  pd_handle pd;
  cq_handle cq;
  std::optional<registered_buffer_of<Rig>> memory;
  handle<receive_queue_range> range;
  std::vector<rwq_handle> queue;
  rss_handle rss;
};

}  // namespace freehca::testing::receive_side_scaling_tests
