// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Ports of one process on a fabric.
#include <freehca/wires_shm/fabric_port.hpp>

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include <freehca/wires_shm/fabrics.hpp>

#include "packets.hpp"

namespace freehca::wires {
namespace {

using port_pointer = std::unique_ptr<fabric_port>;

class fabric_ports : public ::testing::Test {
 protected:
  ~fabric_ports() override { EXPECT_FALSE(exists(path_of(name))); }

  port_pointer join() {
    std::string why;
    port_pointer made = fabric_port::join(name, why);
    EXPECT_NE(nullptr, made) << why;
    return made;
  }
  static bool send(fabric_port& from, unsigned dlid, std::uint32_t number, std::size_t bytes) {
    const auto made = packet(dlid, from.lid(), number, bytes);
    return from.send(made.data(), made.size());
  }
  /// The number of the next packet, or 0.
  static std::uint32_t receive(fabric_port& at) {
    const auto got = at.receive();
    if (got.empty()) return 0;
    EXPECT_TRUE(is_whole(got));
    const std::uint32_t number = number_of(got);
    at.release();
    return number;
  }
  static std::uint64_t faults(const fabric_port& of) {
    return of.faults().rings_reset + of.faults().bad_lengths + of.faults().without_memory;
  }

  const std::string name = new_name();
};

/// A process that is stopped takes nothing out of its ring. Its peers reach each other.
TEST_F(fabric_ports, a_port_that_takes_nothing_stops_no_others) {
  const auto from = join();
  const auto stopped = join();
  const auto other = join();
  while (send(*from, stopped->lid(), 1, 4352)) continue;
  while (!from->has_room_again()) from->sleep(fabric_port::no_timeout);
  EXPECT_TRUE(send(*from, stopped->lid(), 2, 4352)) << "it is dropped";
  EXPECT_TRUE(send(*from, other->lid(), 3, 100));
  EXPECT_EQ(3u, receive(*other));
  EXPECT_TRUE(send(*from, stopped->lid(), 4, 4352)) << "and so is the next one";
  while (receive(*stopped) != 0) continue;
  EXPECT_TRUE(send(*from, stopped->lid(), 5, 100));
  EXPECT_EQ(5u, receive(*stopped)) << "what was taken makes room";
}

TEST_F(fabric_ports, packets_go_where_the_lid_says) {
  const auto a = join();
  const auto b = join();
  const auto c = join();
  EXPECT_EQ(3u, (std::set{a->lid(), b->lid(), c->lid()}.size()));
  EXPECT_FALSE(b->pending());
  EXPECT_TRUE(send(*a, b->lid(), 1, 100));
  EXPECT_TRUE(send(*a, c->lid(), 2, 4352));
  EXPECT_TRUE(send(*c, b->lid(), 3, 16));
  EXPECT_TRUE(b->pending());
  const auto got = b->receive();
  ASSERT_EQ(100u, got.size());
  EXPECT_EQ(got.data(), b->receive().data());
  b->release();
  EXPECT_EQ(3u, receive(*b));
  EXPECT_EQ(0u, receive(*b));
  EXPECT_FALSE(b->pending());
  EXPECT_EQ(2u, receive(*c));
  EXPECT_TRUE(send(*a, a->lid(), 4, 16));
  EXPECT_EQ(4u, receive(*a));
  EXPECT_EQ(0u, faults(*a) + faults(*b) + faults(*c));
}

TEST_F(fabric_ports, packets_to_nobody_are_dropped) {
  const auto a = join();
  for (const unsigned dlid : {0u, 0xbfffu, 0xc000u, 0xfffeu, 0xffffu, unsigned{a->lid()} + 1u})
    EXPECT_TRUE(send(*a, dlid, 1, 100)) << dlid;
  EXPECT_EQ(0u, receive(*a));
}

TEST_F(fabric_ports, a_length_out_of_bounds_is_dropped_and_counted) {
  const auto a = join();
  const auto b = join();
  EXPECT_TRUE(send(*a, b->lid(), 0, 7));
  EXPECT_TRUE(send(*a, b->lid(), 0, 4353));
  EXPECT_EQ(2u, a->faults().bad_lengths);
  EXPECT_FALSE(b->pending());
}

TEST_F(fabric_ports, a_group_has_the_ports_that_joined_it) {
  const auto a = join();
  const auto b = join();
  const auto c = join();
  EXPECT_FALSE(a->join_group(0xbfff));
  EXPECT_FALSE(a->join_group(0xffff));
  for (const auto* each : {&a, &b, &c}) EXPECT_TRUE((*each)->join_group(0xc000));
  EXPECT_TRUE(b->join_group(0xfffe));
  EXPECT_TRUE(send(*a, 0xc000, 1, 100));
  EXPECT_TRUE(send(*a, 0xfffe, 2, 100));
  EXPECT_EQ(0u, receive(*a));
  EXPECT_EQ(1u, receive(*b));
  EXPECT_EQ(2u, receive(*b));
  EXPECT_EQ(1u, receive(*c));
  EXPECT_EQ(0u, receive(*c));
  b->leave_group(0xc000);
  EXPECT_TRUE(send(*c, 0xc000, 3, 100));
  EXPECT_EQ(3u, receive(*a));
  EXPECT_EQ(0u, receive(*b));
}

TEST_F(fabric_ports, a_packet_to_a_group_goes_to_all_or_to_none) {
  const auto a = join();
  const auto b = join();
  const auto c = join();
  for (const auto* each : {&b, &c}) EXPECT_TRUE((*each)->join_group(0xc001));
  std::uint32_t sent = 0;
  while (send(*a, c->lid(), sent + 1, 4096)) ++sent;
  EXPECT_FALSE(send(*a, 0xc001, 9999, 4096));
  EXPECT_EQ(0u, receive(*b));
  EXPECT_FALSE(a->has_room_again());
  for (std::uint32_t i = 1; i <= sent; ++i) ASSERT_EQ(i, receive(*c));
  EXPECT_TRUE(a->has_room_again());
  EXPECT_FALSE(a->has_room_again());
  EXPECT_TRUE(send(*a, 0xc001, 9999, 4096));
  EXPECT_EQ(9999u, receive(*b));
  EXPECT_EQ(9999u, receive(*c));
}

TEST_F(fabric_ports, a_full_ring_whose_receiver_leaves_has_room) {
  const auto a = join();
  auto b = join();
  const unsigned lid = b->lid();
  while (send(*a, lid, 1, 4096)) {
  }
  EXPECT_FALSE(a->has_room_again());
  b.reset();
  EXPECT_TRUE(a->has_room_again());
  EXPECT_TRUE(send(*a, lid, 2, 4096));
}

TEST_F(fabric_ports, packets_outlive_their_sender_but_not_its_slot) {
  const auto a = join();
  auto b = join();
  const unsigned slot = b->slot();
  EXPECT_TRUE(send(*b, a->lid(), 1, 100));
  EXPECT_TRUE(send(*b, a->lid(), 2, 100));
  b.reset();
  EXPECT_EQ(1u, receive(*a));
  // The slot has a packet under way, so it is not taken yet.
  auto other = join();
  EXPECT_NE(slot, other->slot());
  EXPECT_EQ(2u, receive(*a));
  b = join();
  EXPECT_EQ(slot, b->slot());
  EXPECT_EQ(0u, receive(*a));
  EXPECT_TRUE(send(*b, a->lid(), 3, 100));
  EXPECT_EQ(3u, receive(*a));
}

TEST_F(fabric_ports, a_slot_taken_again_has_another_lid_and_no_old_packets) {
  const auto a = join();
  auto b = join();
  const unsigned lid = b->lid();
  const unsigned slot = b->slot();
  EXPECT_TRUE(b->join_group(0xc00a));
  EXPECT_TRUE(send(*a, lid, 1, 100));
  b.reset();
  b = join();
  EXPECT_EQ(slot, b->slot());
  EXPECT_NE(lid, b->lid());
  EXPECT_EQ(0u, receive(*b));
  EXPECT_TRUE(send(*a, lid, 2, 100));
  EXPECT_TRUE(send(*a, 0xc00a, 3, 100));
  EXPECT_TRUE(send(*a, b->lid(), 4, 100));
  EXPECT_EQ(4u, receive(*b));
}

TEST_F(fabric_ports, sixty_four_ports_fit) {
  std::vector<port_pointer> all;
  for (unsigned i = 0; i < fabric_port::most_ports; ++i) all.push_back(join());
  std::string why;
  EXPECT_EQ(nullptr, fabric_port::join(name, why));
  EXPECT_NE(std::string::npos, why.find("full: it has 64 ports")) << why;
  for (const auto& from : all)
    for (const auto& to : all) EXPECT_TRUE(send(*from, to->lid(), 1 + from->slot(), 100));
  for (const auto& at : all) {
    std::set<std::uint32_t> got;
    while (const std::uint32_t number = receive(*at)) got.insert(number);
    EXPECT_EQ(fabric_port::most_ports, got.size());
  }
  all[17].reset();
  all[17] = join();
  EXPECT_EQ(17u, all[17]->slot());
}

TEST_F(fabric_ports, are_listed) {
  const auto a = join();
  const auto b = join();
  unsigned found = 0;
  for (const fabric_listing& one : fabrics()) {
    if (one.name != name) continue;
    ++found;
    EXPECT_EQ("", one.problem);
    ASSERT_EQ(2u, one.members.size());
    EXPECT_EQ(b->slot(), one.members[1].slot);
    EXPECT_EQ(b->lid(), one.members[1].lid);
    EXPECT_EQ(getpid(), one.members[1].process);
    EXPECT_EQ(std::string(program_invocation_short_name).substr(0, 31), one.members[1].program);
  }
  EXPECT_EQ(1u, found);
}

TEST_F(fabric_ports, wake_ends_the_current_or_the_next_sleep) {
  const auto a = join();
  a->wake();
  a->sleep(fabric_port::no_timeout);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) a->wake();
  });
  for (unsigned i = 0; i < 1000; ++i) a->sleep(fabric_port::no_timeout);
  done = true;
  other.join();
}

TEST_F(fabric_ports, a_sleep_ends_by_a_packet_and_by_a_timeout) {
  const auto a = join();
  const auto b = join();
  a->sleep(1000);
  EXPECT_TRUE(send(*b, a->lid(), 1, 100));
  a->sleep(fabric_port::no_timeout);
  EXPECT_EQ(1u, receive(*a));
}

}  // namespace
}  // namespace freehca::wires
