// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Network interfaces: frames between two hosts, and all that is refused or undone.
#include <set>
#include <string_view>

#include "network_hosts.hpp"

namespace freehca::testing::network_interface_tests {
namespace {

using network::interface_filter;
using network::interface_operation;
using network::interface_setup;
using network::interface_state;

constexpr std::uint64_t stranger = 0x0002'c9ab'cdef, some_group = 0x0100'5e01'0203,
                        other_group = 0x0100'5e01'0204;

void put_mac(frame& f, std::size_t at, std::uint64_t mac) {
  for (unsigned i = 0; i < 6; ++i) f[at + i] = static_cast<std::byte>(mac >> 8 * (5 - i) & 0xff);
}
void put_16(frame& f, std::size_t at, unsigned value) {
  f[at] = static_cast<std::byte>(value >> 8), f[at + 1] = static_cast<std::byte>(value & 0xff);
}

frame plain(std::uint64_t to, std::uint64_t from, std::size_t bytes, unsigned seed = 3) {
  frame f(std::max<std::size_t>(bytes, 14));
  put_mac(f, 0, to);
  put_mac(f, 6, from);
  put_16(f, 12, 0x88b5);
  for (std::size_t i = 14; i < bytes; ++i) f[i] = static_cast<std::byte>(i * 7 + seed);
  f.resize(bytes);
  return f;
}

/// A frame of TCP or UDP over IPv4, from port `flow`. The IP checksum is 0, that of TCP or UDP is
/// that of the pseudo header: what a stack leaves for the device.
frame ipv4(std::uint64_t to, std::uint64_t from, unsigned protocol, unsigned flow,
           std::size_t payload, bool length_in_sum = true) {
  const std::size_t header = protocol == 6 ? 20 : 8;
  frame f = plain(to, from, 14 + 20 + header + payload);
  const unsigned ip_bytes = static_cast<unsigned>(20 + header + payload);
  std::fill(f.begin() + 14, f.begin() + static_cast<std::ptrdiff_t>(34 + header), std::byte{0});
  put_16(f, 12, 0x0800);
  f[14] = std::byte{0x45};
  put_16(f, 16, ip_bytes);
  put_16(f, 18, flow);
  f[20] = std::byte{0x40}, f[22] = std::byte{64}, f[23] = static_cast<std::byte>(protocol);
  const unsigned words[] = {0x0a00, 0x0901, 0x0a00, 0x0902};
  unsigned sum = protocol + (length_in_sum ? ip_bytes - 20 : 0);
  for (unsigned i = 0; i < 4; ++i) put_16(f, 26 + 2 * i, words[i]), sum += words[i];
  put_16(f, 34, flow);
  put_16(f, 36, 5201);
  if (protocol == 6) f[46] = std::byte{0x50}, f[47] = std::byte{0x10};
  else put_16(f, 38, ip_bytes - 20);
  put_16(f, protocol == 6 ? 50 : 40, (sum & 0xffff) + (sum >> 16));
  return f;
}

TEST(network_interface, frames_of_each_length_arrive_as_they_were_sent) {
  network_hosts hosts;
  hosts.up();
  network_host &a = hosts[0], &b = hosts[1];
  for (const std::size_t bytes :
       {17u, 18u, 59u, 60u, 61u, 64u, 65u, 127u, 128u, 1000u, 1513u, 1514u}) {
    const frame f = plain(b.nic.mac(), a.nic.mac(), bytes);
    ASSERT_TRUE(a.send(f).ok()) << bytes;
    const auto got = b.take(1);
    frame wanted = f;
    wanted.resize(std::max<std::size_t>(bytes, 60));  // the device pads
    EXPECT_EQ(got[0].bytes, wanted) << bytes;
    EXPECT_EQ(got[0].how.vlan, queues::no_tag);
    EXPECT_FALSE(got[0].how.l4_checksum_ok);
  }
  EXPECT_EQ(b.nic.counters().received, 12u);
  EXPECT_EQ(a.nic.counters().sent, 12u);
  // More frames than buffers, both ways.
  for (unsigned i = 0; i < 600; ++i) {
    ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 100 + i, i)).ok());
    ASSERT_TRUE(b.send(plain(a.nic.mac(), b.nic.mac(), 700 + i, i)).ok());
    EXPECT_EQ(b.take(1)[0].bytes, plain(b.nic.mac(), a.nic.mac(), 100 + i, i));
    EXPECT_EQ(a.take(1)[0].bytes, plain(a.nic.mac(), b.nic.mac(), 700 + i, i));
  }
}

TEST(network_interface, jumbo_frames_have_headroom) {
  network_hosts hosts;
  constexpr std::uint32_t mtu = 9000, headroom = 66;
  hosts.up({.mtu = mtu,
            .receives = 16,
            .buffer_bytes = network::interface::least_buffer_bytes(mtu, headroom),
            .headroom = headroom});
  network_host &a = hosts[0], &b = hosts[1];
  const frame f = plain(b.nic.mac(), a.nic.mac(), mtu + 14);
  for (unsigned i = 0; i < 40; ++i) {
    ASSERT_TRUE(a.send(f, {.vlan = 5}).ok());
    const auto got = b.take(1);
    EXPECT_EQ(got[0].bytes.size(), f.size() + 4);
    EXPECT_EQ((got[0].how.at - b.memory.at()) % b.nic.setup().buffer_bytes, headroom);
  }
}

TEST(network_interface, frames_in_pieces_and_in_batches) {
  network_hosts hosts;
  hosts.up({.transmit_rings = 2, .sends = 16});
  network_host &a = hosts[0], &b = hosts[1];
  const frame f = plain(b.nic.mac(), a.nic.mac(), 900);
  a.put(f);
  const std::byte* const at = a.memory.at() + network_host::sends_at;
  const queues::data_entry pieces[] = {a.nic.entry(at, 14), a.nic.entry(at + 14, 0),
                                       a.nic.entry(at + 14, 100), a.nic.entry(at + 114, 786)};
  std::vector<network::outgoing_frame> all(20, {.pieces = {pieces, 4}});
  for (unsigned i = 0; i < all.size(); ++i) all[i].cookie = 100 + i;
  for (const unsigned ring : {0u, 1u}) {
    status why;
    EXPECT_EQ(a.nic.send(ring, all.data(), 20, why), 16u);
    EXPECT_TRUE(why.is(driver_error::queue_full)) << words(why);
    EXPECT_EQ(a.nic.outstanding(ring), 16u);
    for (const auto& got : b.take(16)) EXPECT_EQ(got.bytes, f);
    std::uint64_t cookies[20];
    EXPECT_EQ(a.nic.reap(ring, cookies, 20), 16u);
    for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(cookies[i], 100 + i);
    EXPECT_EQ(a.nic.outstanding(ring), 0u);
    EXPECT_EQ(a.nic.send(ring, all.data() + 16, 4, why), 4u);
    EXPECT_TRUE(why.ok());
    b.take(4);
    EXPECT_EQ(a.nic.reap(ring, cookies, 20), 4u);
  }
}

TEST(network_interface, tags_and_checksums) {
  for (const unsigned rings : {1u, 4u}) {
    network_hosts hosts;
    hosts.up({.receive_rings = rings});
    network_host &a = hosts[0], &b = hosts[1];
    for (const unsigned protocol : {6u, 17u}) {
      const frame f = ipv4(b.nic.mac(), a.nic.mac(), protocol, 700, 333);
      ASSERT_TRUE(a.send(f, {.ip_checksum = true, .l4_checksum = true}).ok());
      auto got = b.take(1)[0];
      EXPECT_TRUE(got.how.ip_checksum_ok && got.how.l4_checksum_ok);
      EXPECT_EQ(got.bytes.size(), f.size());
      EXPECT_EQ(got.how.hash != 0, rings > 1);
      // As they were left for the device, the checksums are wrong.
      ASSERT_TRUE(a.send(f).ok());
      got = b.take(1)[0];
      EXPECT_FALSE(got.how.ip_checksum_ok || got.how.l4_checksum_ok);

      ASSERT_TRUE(
          a.send(f, {.ip_checksum = true, .l4_checksum = true, .vlan = 4094, .priority = 6}).ok());
      got = b.take(1)[0];
      EXPECT_EQ(got.how.vlan, 4094u);
      EXPECT_EQ(got.how.priority, 6u);
      EXPECT_EQ(got.bytes.size(), f.size() + 4);
      EXPECT_EQ(got.bytes[12], std::byte{0x81});
      EXPECT_EQ(got.bytes[14], std::byte{0xcf});
      EXPECT_TRUE(got.how.ip_checksum_ok && got.how.l4_checksum_ok);
    }
  }
}

TEST(network_interface, flows_spread_over_four_rings) {
  network_hosts hosts;
  hosts.up(most_rings_of_tests);
  network_host &a = hosts[0], &b = hosts[1];
  std::set<unsigned> rings;
  for (unsigned flow = 1000; flow < 1064; ++flow) {
    std::set<unsigned> of_flow;
    for (unsigned i = 0; i < 3; ++i) {
      const frame f = ipv4(b.nic.mac(), a.nic.mac(), flow % 2 ? 6 : 17, flow, 40 + i);
      ASSERT_TRUE(a.send(f, {.ip_checksum = true, .l4_checksum = true}, flow % 2).ok());
      const auto got = b.take(1)[0];
      EXPECT_NE(got.how.hash, 0u);
      EXPECT_EQ(got.ring, got.how.hash % 4);
      of_flow.insert(got.ring);
    }
    EXPECT_EQ(of_flow.size(), 1u) << "a flow stays in its ring";
    rings.insert(*of_flow.begin());
  }
  EXPECT_EQ(rings.size(), 4u);
  // What has no hash goes to the first ring.
  ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80)).ok());
  EXPECT_EQ(b.take(1)[0].ring, 0u);
}

TEST(network_interface, a_large_send_becomes_frames) {
  network_hosts hosts;
  hosts.up({.receives = 64});
  network_host &a = hosts[0], &b = hosts[1];
  ASSERT_TRUE(a.nic.has_large_sends());
  constexpr std::size_t header = 54, payload = 65536 - 40, mss = 1460;
  frame all = ipv4(b.nic.mac(), a.nic.mac(), 6, 900, payload, false);
  put_16(all, 16, 0);
  const frame headers(all.begin(), all.begin() + header);
  a.put(all);
  const std::byte* const at = a.memory.at() + network_host::sends_at + header;
  const queues::data_entry pieces[] = {a.nic.entry(at, 30000), a.nic.entry(at + 30000, 20000),
                                       a.nic.entry(at + 50000, payload - 50000)};
  ASSERT_TRUE(a.nic
                  .send(0, {.cookie = 4,
                            .pieces = {pieces, 3},
                            .headers = {headers.data(), header, mss},
                            .options = {.ip_checksum = true, .l4_checksum = true}})
                  .ok());
  const std::size_t frames = (payload + mss - 1) / mss;
  frame joined;
  for (const auto& got : b.take(frames)) {
    EXPECT_TRUE(got.how.ip_checksum_ok && got.how.l4_checksum_ok);
    EXPECT_LE(got.bytes.size(), 1514u);
    joined.insert(joined.end(), got.bytes.begin() + header, got.bytes.end());
  }
  EXPECT_EQ(joined, frame(all.begin() + header, all.end()));
  EXPECT_EQ(a.reap(), 4u);
}

class filters : public ::testing::TestWithParam<steering> {};

/// Who gets a frame to each of these addresses.
std::string taken(network_host& a, network_host& b) {
  const std::pair<std::uint64_t, char> addresses[] = {
      {b.nic.mac(), 'm'}, {most_mac, 'b'}, {some_group, 'g'}, {other_group, 'o'}, {stranger, 's'}};
  std::string got;
  for (const auto& [to, name] : addresses) {
    EXPECT_TRUE(a.send(plain(to, a.nic.mac(), 100)).ok());
    b.run([] { return false; }, clock::milliseconds(1));
    if (!b.take().empty()) got += name;
  }
  return got;
}

TEST_P(filters, chosen_at_the_begin) {
  for (const unsigned rings : {1u, 2u}) {
    network_hosts hosts(GetParam());
    network_host &a = hosts[0], &b = hosts[1];
    const std::uint64_t groups[] = {some_group};
    const std::pair<interface_filter, const char*> all[] = {
        {{}, "mb"},
        {{.groups = groups, .group_entries = 1}, "mbg"},
        {{.all_groups = true}, "mbgo"},
        {{.groups = groups, .group_entries = 1, .promiscuous = true}, "mbgos"},
        {{.all_groups = true, .promiscuous = true}, "mbgos"}};
    ASSERT_TRUE(a.up().ok());
    for (const auto& [filter, expected] : all) {
      const status s = b.up({.receive_rings = rings, .filter = filter});
      ASSERT_TRUE(s.ok()) << words(s);
      ASSERT_TRUE(hosts.run([&] { return a.nic.link_up() && b.nic.link_up(); }));
      EXPECT_EQ(taken(a, b), expected);
      EXPECT_TRUE(b.down().ok());
    }
  }
}

TEST_P(filters, changed_while_frames_flow) {
  network_hosts hosts(GetParam());
  hosts.up();
  network_host &a = hosts[0], &b = hosts[1];
  EXPECT_EQ(taken(a, b), "mb");
  std::uint64_t groups[network::most_groups];
  for (unsigned i = 0; i < network::most_groups; ++i) groups[i] = other_group + 1 + i;
  groups[7] = some_group;
  EXPECT_TRUE(b.filter({.groups = groups, .group_entries = 8}).ok());
  groups[7] = 0;  // the list was copied
  EXPECT_EQ(taken(a, b), "mbg");
  EXPECT_TRUE(b.filter({.promiscuous = true}).ok());
  EXPECT_EQ(taken(a, b), "mbgos");
  groups[7] = some_group;
  EXPECT_TRUE(b.filter({.groups = groups, .group_entries = network::most_groups}).ok());
  EXPECT_EQ(taken(a, b), "mbg");
  EXPECT_TRUE(b.filter({.groups = groups, .group_entries = network::most_groups + 1})
                  .is(driver_error::bad_argument));
  EXPECT_EQ(taken(a, b), "mbg") << "as before";
  EXPECT_TRUE(b.filter({}).ok());
  EXPECT_EQ(taken(a, b), "mb");
}

INSTANTIATE_TEST_SUITE_P(network_interface, filters,
                         ::testing::Values(steering::rules, steering::promiscuous_entries));

/// The device computes the number of the queue pair. The driver has no operation for that.
TEST(network_interface, needs_rules_or_promiscuous_entries) {
  network_hosts hosts(steering::computed);
  const auto empty = hosts[0].counts();
  EXPECT_TRUE(hosts[0].up().is(driver_error::unsupported));
  EXPECT_EQ(hosts[0].nic.state(), interface_state::down);
  EXPECT_EQ(hosts[0].counts(), empty);
}

// ---- What is refused.

TEST(network_interface, setups_that_it_cannot_have) {
  network_hosts hosts;
  network_host& a = hosts[0];
  const auto empty = a.counts();
  const auto refused = [&](const interface_setup& s, driver_error why) {
    const status outcome = a.up(s);
    EXPECT_TRUE(outcome.is(why)) << words(outcome);
    EXPECT_EQ(a.nic.state(), interface_state::down);
    EXPECT_EQ(a.counts(), empty);
  };
  refused({.port = 0}, driver_error::bad_argument);
  refused({.port = 3}, driver_error::bad_argument);
  refused({.port = 2}, driver_error::unsupported);  // an InfiniBand port
  for (const std::uint16_t mtu : std::initializer_list<std::uint16_t>{0, 67, 10'000, 0xffff})
    refused({.mtu = mtu, .receives = 4, .buffer_bytes = 0x20000}, driver_error::bad_argument);
  for (const unsigned rings : {0u, 3u, 17u, 0x80000000u})
    refused({.receive_rings = rings}, driver_error::bad_argument);
  for (const unsigned rings : {0u, 17u})
    refused({.transmit_rings = rings}, driver_error::bad_argument);
  refused({.buffer_bytes = 1521}, driver_error::bad_argument);
  refused({.headroom = 0xffffff00}, driver_error::bad_argument);
  refused({.pieces = 1000}, driver_error::bad_argument);
  refused({.completion_context = 99}, driver_error::bad_argument);
  refused({.receives = 0x10000}, driver_error::no_memory);  // of the buffers
  refused({.receive_rings = 16, .transmit_rings = 16, .receives = 16},
          driver_error::no_resource);                    // budget of objects
  refused({.sends = 0x10000}, driver_error::no_memory);  // of the rings
  interface_operation op;
  op.up(a.nic, a.objects, {});
  EXPECT_TRUE(a.await(op).is(driver_error::no_memory));
  interface_setup s = a.with_memory({});
  s.memory_bytes = network::interface::receive_bytes(s) - 1;
  op.restart();
  op.up(a.nic, a.objects, s);
  EXPECT_TRUE(a.await(op).is(driver_error::no_memory));
  EXPECT_TRUE(a.up({.mtu = 68, .receives = 1, .sends = 1}).ok());
  EXPECT_TRUE(a.down().ok());
}

TEST(network_interface, operations_at_the_wrong_time) {
  network_hosts hosts;
  network_host& a = hosts[0];
  network::received_buffer buffer;
  std::uint64_t cookie;
  const network::outgoing_frame nothing{};
  const auto idle = [&] {
    EXPECT_FALSE(a.nic.working() || a.nic.link_up());
    EXPECT_EQ(a.nic.receive(0, &buffer, 1), 0u);
    EXPECT_EQ(a.nic.reap(0, &cookie, 1), 0u);
    EXPECT_TRUE(a.nic.send(0, nothing).is(driver_error::bad_state));
    EXPECT_TRUE(a.nic.release(0, &buffer, 1).is(driver_error::bad_state));
    EXPECT_EQ(a.nic.outstanding(0), 0u);
    a.nic.arm();
  };
  idle();
  interface_operation first, second;
  first.up(a.nic, a.objects, a.with_memory({}));
  second.up(a.nic, a.objects, a.with_memory({}));
  EXPECT_TRUE(a.await(second).is(driver_error::busy));
  second.restart();
  second.down(a.nic);
  EXPECT_TRUE(a.await(second).is(driver_error::busy));
  second.restart();
  second.filter(a.nic, {});
  EXPECT_TRUE(a.await(second).is(driver_error::busy));
  EXPECT_TRUE(a.await(first).ok());
  EXPECT_TRUE(a.up().is(driver_error::bad_state));
  EXPECT_TRUE(a.nic.working());
  EXPECT_TRUE(a.down().ok());
  idle();
  EXPECT_TRUE(a.filter({}).is(driver_error::bad_state));
  EXPECT_TRUE(a.down().ok()) << "nothing is left to undo";
}

TEST(network_interface, buffers_and_frames_that_are_not_its_own) {
  network_hosts hosts;
  hosts.up({.receive_rings = 2, .receives = 8, .headroom = 16, .large_sends = false});
  network_host &a = hosts[0], &b = hosts[1];
  const auto give = [&](unsigned ring, const std::byte* at) {
    const network::received_buffer one{.at = const_cast<std::byte*>(at)};
    return b.nic.release(ring, &one, 1);
  };
  EXPECT_TRUE(give(0, b.memory.at()).is(driver_error::queue_full)) << "it is not out";
  EXPECT_TRUE(give(2, b.memory.at()).is(driver_error::bad_state)) << "no such ring";
  ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80)).ok());
  network::received_buffer got;
  ASSERT_TRUE(b.run([&] { return b.nic.receive(0, &got, 1) == 1; }));
  EXPECT_TRUE(give(0, nullptr).is(driver_error::bad_argument));
  EXPECT_TRUE(give(0, b.memory.at() - 1).is(driver_error::bad_argument));
  EXPECT_TRUE(give(0, b.memory.at() + 8 * 2048).is(driver_error::bad_argument)) << "of ring 1";
  EXPECT_TRUE(give(1, got.at).is(driver_error::bad_argument)) << "of ring 0";
  EXPECT_TRUE(b.nic.release(0, &got, 1).ok());
  EXPECT_TRUE(b.nic.release(0, &got, 1).is(driver_error::queue_full));
  // Without buffers, frames are lost. With them it goes on.
  std::vector<network::received_buffer> held(8);
  for (unsigned i = 0; i < 8; ++i) {
    ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80, i)).ok());
    ASSERT_TRUE(b.run([&] { return b.nic.receive(0, &held[i], 1) == 1; }));
  }
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80, i)).ok());
  EXPECT_TRUE(b.take(0).empty());
  EXPECT_TRUE(b.nic.release(0, held.data(), 8).ok());
  ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80, 77)).ok());
  EXPECT_EQ(b.take(1)[0].bytes, plain(b.nic.mac(), a.nic.mac(), 80, 77));

  // Frames.
  const auto send = [&](std::size_t bytes, const network::outgoing_frame& f = {}) {
    const queues::data_entry piece = a.nic.entry(a.memory.at() + network_host::sends_at, bytes);
    network::outgoing_frame all = f;
    all.pieces = {&piece, 1};
    return a.nic.send(0, all);
  };
  EXPECT_TRUE(a.nic.send(1, {}).is(driver_error::bad_state)) << "no such ring";
  EXPECT_TRUE(a.nic.send(0, {}).is(driver_error::bad_argument)) << "no bytes";
  EXPECT_TRUE(send(16).is(driver_error::bad_argument));
  EXPECT_TRUE(send(60, {.options = {.vlan = 4095}}).is(driver_error::bad_argument));
  EXPECT_TRUE(send(60, {.headers = {a.memory.at(), 54, 100}}).is(driver_error::unsupported));
  const std::vector<queues::data_entry> many(5, a.nic.entry(a.memory.at(), 20));
  EXPECT_TRUE(a.nic.send(0, {.pieces = {many.data(), 5}}).is(driver_error::bad_argument));
  EXPECT_EQ(a.nic.outstanding(0), 0u);
  EXPECT_TRUE(a.nic.working());
  // The port drops a frame that is longer than its MTU.
  ASSERT_TRUE(send(2000).ok());
  EXPECT_EQ(a.reap(), 0u);
  EXPECT_TRUE(b.take(0).empty());
  // A frame outside the memory puts the ring in error.
  const queues::data_entry outside = {1, 100, a.nic.entry(nullptr, 0).lkey};
  ASSERT_TRUE(a.nic.send(0, {.cookie = 3, .pieces = {&outside, 1}}).ok());
  EXPECT_EQ(a.reap(), 3u);
  EXPECT_EQ(a.nic.counters().send_errors, 1u);
  EXPECT_FALSE(a.nic.working());
  EXPECT_TRUE(send(60).is(driver_error::bad_state));
  EXPECT_TRUE(a.down().ok());
  ASSERT_TRUE(a.up().ok());
  EXPECT_TRUE(a.nic.working());
}

// ---- What goes wrong, and what is undone.

TEST(network_interface, goes_down_with_frames_outstanding) {
  network_hosts hosts;
  for (const unsigned rings : {1u, 4u}) {
    hosts.up({.receive_rings = rings});
    network_host &a = hosts[0], &b = hosts[1];
    const queues::data_entry piece = a.put(plain(b.nic.mac(), a.nic.mac(), 1000));
    for (unsigned i = 0; i < 50; ++i) ASSERT_TRUE(a.nic.send(0, {.pieces = {&piece, 1}}).ok());
    if (rings == 4) b.run([] { return false; }, 10'000);
    network::received_buffer held;
    b.nic.receive(0, &held, 1);  // never given back
    EXPECT_TRUE(a.down().ok());
    EXPECT_TRUE(b.down().ok());
  }
}

TEST(network_interface, a_link_that_is_pulled_under_traffic) {
  network_hosts hosts;
  hosts.up();
  network_host &a = hosts[0], &b = hosts[1];
  const frame f = plain(b.nic.mac(), a.nic.mac(), 1000);
  const queues::data_entry piece = a.put(f);
  unsigned sent = 0, received = 0;
  std::uint64_t cookies[16];
  const auto turn = [&] {
    if (a.nic.send(0, {.pieces = {&piece, 1}}).ok()) ++sent;
    a.nic.reap(0, cookies, 16);
    received += static_cast<unsigned>(b.take().size());
    return false;
  };
  hosts.run(turn, clock::milliseconds(1));
  EXPECT_GT(received, 10u);
  a.machine.adapter().plug_cable(1, false);
  hosts.run(turn, clock::milliseconds(20));
  EXPECT_FALSE(a.nic.link_up());
  EXPECT_TRUE(a.nic.working()) << "frames are lost, the rings go on";
  a.machine.adapter().plug_cable(1, true);
  EXPECT_TRUE(hosts.run([&] { return turn() || (a.nic.link_up() && b.nic.link_up()); }));
  hosts.run([&] { return a.nic.reap(0, cookies, 16) == 0 && a.nic.outstanding(0) == 0; });
  b.take();
  ASSERT_TRUE(a.send(f).ok());
  EXPECT_EQ(b.take(1)[0].bytes, f);
}

/// Each command of up() and down() is refused once, or never answered.
TEST(network_interface, is_undone_after_each_command_that_fails) {
  using fate = model::command_verdict::fate;
  for (const steering how : {steering::rules, steering::promiscuous_entries}) {
    network_hosts hosts(how);
    network_host& a = hosts[0];
    const auto empty = a.counts();
    const interface_setup setup{.receive_rings = 2, .receives = 4, .filter = {.all_groups = true}};
    unsigned wrong = 0, commands = 0;
    const auto judge = [&](layouts::opcode code, std::uint32_t) -> model::command_verdict {
      // What the driver does by itself is not counted.
      if (code == layouts::opcode::mad_ifc || code == layouts::opcode::query_port ||
          code == layouts::opcode::unmap_icm)
        return {};
      return {.what = ++commands == wrong ? fate::refuse : fate::run};
    };
    for (wrong = 1;; ++wrong) {
      commands = 0;
      a.machine.adapter().judge_commands(judge);
      const status s = a.up(setup);
      a.machine.adapter().judge_commands({});
      if (commands < wrong) {
        EXPECT_TRUE(s.ok()) << words(s);
        break;
      }
      EXPECT_EQ(s.who(), origin::firmware) << words(s);
      EXPECT_EQ(a.nic.state(), interface_state::down) << wrong;
      EXPECT_EQ(a.counts(), empty) << wrong;
    }
    EXPECT_GT(commands, 15u);
    for (wrong = 1; a.nic.state() != interface_state::down; ++wrong) {
      commands = 0;
      a.machine.adapter().judge_commands(judge);
      const status s = a.down();
      a.machine.adapter().judge_commands({});
      EXPECT_EQ(s.ok(), a.nic.state() == interface_state::down);
      ASSERT_LT(wrong, 100u);
    }
    EXPECT_EQ(a.counts(), empty);
  }
}

/// With rules, a rule whose creation was not awaited stays until a reset (create_flow_rule).
TEST(network_interface, may_be_cancelled_late_or_dropped_at_each_step) {
  network_hosts hosts(steering::promiscuous_entries);
  network_host& a = hosts[0];
  const interface_setup setup = a.with_memory({.receive_rings = 2, .receives = 4});
  const auto empty = a.counts();
  bool finished = false;
  for (unsigned turns = 0; !finished; ++turns) {
    ASSERT_LT(turns, 2000u);
    for (const bool cancel : {true, false}) {
      {
        interface_operation op;
        op.up(a.nic, a.objects, setup);
        for (unsigned i = 0; i < turns && !op.done(); ++i)
          hosts.fabric.step(std::min(a.poll(), hosts[1].poll()));
        finished = op.done();
        if (cancel) {
          op.cancel();
          EXPECT_EQ(a.await(op).ok(), finished);
        }
      }
      // Late answers.
      hosts.run([&] { return a.objects.holdings().in_doubt == 0; });
      hosts.run([] { return false; }, clock::milliseconds(1));
      if (a.nic.state() != interface_state::down) {
        const status s = a.down();
        EXPECT_TRUE(s.ok()) << turns << ": " << words(s);
      }
      EXPECT_EQ(a.counts(), empty) << turns;
    }
  }
  interface_operation op;
  op.set_deadline(hosts.fabric.time() + 10'000);
  op.up(a.nic, a.objects, setup);
  EXPECT_TRUE(a.await(op).is(transport_error::timeout));
  hosts.run([] { return false; }, clock::milliseconds(1));
  if (a.nic.state() != interface_state::down) {
    EXPECT_TRUE(a.down().ok());
  }
}

TEST(network_interface, comes_back_after_a_reset_of_the_device) {
  for (const steering how : {steering::rules, steering::promiscuous_entries}) {
    network_hosts hosts(how);
    hosts.up({.receive_rings = 2, .filter = {.promiscuous = true}});
    network_host &a = hosts[0], &b = hosts[1];
    const frame f = plain(b.nic.mac(), a.nic.mac(), 500);
    const queues::data_entry piece = a.put(f);
    for (unsigned i = 0; i < 9; ++i) ASSERT_TRUE(a.nic.send(0, {.pieces = {&piece, 1}}).ok());
    operation again;
    a.adapter.recover(again);
    ASSERT_TRUE(a.await(again).ok());
    EXPECT_FALSE(a.nic.working());
    EXPECT_TRUE(a.nic.send(0, {}).is(driver_error::bad_state));
    EXPECT_TRUE(a.up().is(driver_error::bad_state)) << "down() comes first";
    EXPECT_TRUE(a.down().ok());
    EXPECT_EQ(a.nic.state(), interface_state::down);
    ASSERT_TRUE(a.up({.receive_rings = 2}).ok());
    ASSERT_TRUE(hosts.run([&] { return a.nic.link_up() && b.nic.link_up(); }));
    b.take();
    ASSERT_TRUE(a.send(f).ok());
    EXPECT_EQ(b.take(1)[0].bytes, f);
  }
}

TEST(network_interface, reports_completions_that_were_asked_for) {
  network_hosts hosts;
  hosts.up({.receive_rings = 2});
  network_host &a = hosts[0], &b = hosts[1];
  ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80)).ok());
  b.take(1);
  EXPECT_EQ(b.completion_events, 0u);
  b.nic.arm();
  ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80)).ok());
  EXPECT_TRUE(b.run([&] { return b.completion_events == 1; }, clock::seconds(1)));
  b.take(1);
  ASSERT_TRUE(a.send(plain(b.nic.mac(), a.nic.mac(), 80)).ok());
  b.take(1);
  EXPECT_EQ(b.completion_events, 1u);
}

TEST(network_interface, takes_pages_that_the_caller_names) {
  network_hosts hosts;
  network_host& a = hosts[0];
  auto pages = a.machine.memory().allocate_scattered(64);
  interface_setup s{.receives = 16, .memory = pages.memory};
  s.pages = page_list(pages.addresses.data(), 12, 0, 64 * 4096);
  interface_operation op;
  op.up(a.nic, a.objects, s);
  EXPECT_TRUE(a.await(op).ok());
  ASSERT_TRUE(hosts[1].up().ok());
  ASSERT_TRUE(hosts.run([&] { return a.nic.link_up() && hosts[1].nic.link_up(); }));
  const frame f = plain(a.nic.mac(), hosts[1].nic.mac(), 1514);
  ASSERT_TRUE(hosts[1].send(f).ok());
  EXPECT_EQ(a.take(1)[0].bytes, f);
  EXPECT_TRUE(a.down().ok());
  a.machine.memory().release(pages);
}

}  // namespace
}  // namespace freehca::testing::network_interface_tests
