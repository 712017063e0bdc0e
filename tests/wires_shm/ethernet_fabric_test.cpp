// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
//
// Frames, MACs and IP addresses of Ethernet fabrics.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>

#include <freehca/wires_shm/fabrics.hpp>

#include "fabric_layout.hpp"
#include "helper_process.hpp"
#include "packets.hpp"
#include "ring_word.hpp"

namespace freehca::wires {
namespace {

using port_pointer = std::unique_ptr<fabric_port>;

constexpr std::uint64_t broadcast = 0xffff'ffff'ffff, ipv6_group = 0x3333'0000'0001;

constexpr ip_address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}
constexpr ip_address ipv6{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34};

join_request ethernet(const ip_address& address = {}, bool required = true) {
  return {link_layer::ethernet, address, required};
}

std::vector<std::byte> frame(std::uint64_t to, std::uint64_t from, std::uint8_t number,
                             std::size_t bytes = 60) {
  std::vector<std::byte> made(bytes);
  for (unsigned i = 0; i < 6 && i < bytes; ++i)
    made[i] = static_cast<std::byte>(to >> (40 - 8 * i));
  for (unsigned i = 6; i < 12 && i < bytes; ++i)
    made[i] = static_cast<std::byte>(from >> (88 - 8 * i));
  for (std::size_t i = 12; i < bytes; ++i) made[i] = static_cast<std::byte>(number);
  return made;
}

class ethernet_fabric : public ::testing::Test {
 protected:
  ~ethernet_fabric() override { EXPECT_FALSE(exists(path_of(name))); }

  port_pointer join(const join_request& how = ethernet()) {
    std::string why;
    port_pointer made = fabric_port::join(name, why, how);
    EXPECT_NE(nullptr, made) << why;
    return made;
  }
  /// The reason why a port cannot join.
  std::string refusal(const join_request& how) {
    std::string why;
    EXPECT_EQ(nullptr, fabric_port::join(name, why, how));
    EXPECT_NE(std::string::npos, why.find(path_of(name))) << why;
    return why;
  }
  static bool send(fabric_port& from, std::uint64_t to, std::uint8_t number,
                   std::size_t bytes = 60) {
    const auto made = frame(to, from.mac(), number, bytes);
    return from.send(made.data(), made.size());
  }
  /// The number of the next frame, or 0.
  static unsigned receive(fabric_port& at) {
    const auto got = at.receive();
    if (got.empty()) return 0;
    const unsigned number = std::to_integer<unsigned>(got.back());
    at.release();
    return number;
  }

  const std::string name = new_name();
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ethernet_fabric, frames_go_to_the_port_that_has_the_mac) {
  const auto a = join(), b = join(), c = join();
  EXPECT_EQ(3u, (std::set{a->mac(), b->mac(), c->mac()}.size()));
  for (const auto* port : {&a, &b, &c}) {
    EXPECT_EQ(0u, (*port)->mac() >> 48);
    EXPECT_EQ(0u, (*port)->mac() >> 40 & 3) << "neither a group's nor one of local administration";
  }
  EXPECT_TRUE(send(*a, b->mac(), 1));
  EXPECT_TRUE(send(*a, c->mac(), 2, 4352));
  EXPECT_TRUE(send(*c, b->mac(), 3, 14));
  const auto got = b->receive();
  ASSERT_EQ(60u, got.size());
  const auto sent = frame(b->mac(), a->mac(), 1);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin()));
  b->release();
  EXPECT_EQ(3u, receive(*b));
  EXPECT_EQ(0u, receive(*b));
  EXPECT_EQ(2u, receive(*c));
  EXPECT_EQ(0u, receive(*a));
}

TEST_F(ethernet_fabric, frames_of_groups_and_broadcasts_go_to_all_others) {
  const auto a = join(), b = join(), c = join();
  EXPECT_TRUE(send(*a, broadcast, 1));
  EXPECT_TRUE(send(*a, ipv6_group, 2));
  EXPECT_TRUE(send(*b, ipv6_group, 3));
  EXPECT_EQ(3u, receive(*a));
  EXPECT_EQ(0u, receive(*a));
  EXPECT_EQ(1u, receive(*b));
  EXPECT_EQ(2u, receive(*b));
  EXPECT_EQ(0u, receive(*b));
  std::multiset<unsigned> got;
  while (const unsigned number = receive(*c)) got.insert(number);
  EXPECT_EQ((std::multiset<unsigned>{1, 2, 3}), got);
}

TEST_F(ethernet_fabric, a_broadcast_goes_to_all_or_to_none) {
  const auto a = join(), b = join(), c = join();
  unsigned sent = 0;
  while (send(*a, c->mac(), 1, 4096)) ++sent;
  EXPECT_FALSE(send(*a, broadcast, 9, 4096));
  EXPECT_EQ(0u, receive(*b));
  for (unsigned i = 0; i < sent; ++i) ASSERT_EQ(1u, receive(*c));
  EXPECT_TRUE(a->has_room_again());
  EXPECT_TRUE(send(*a, broadcast, 9, 4096));
  EXPECT_EQ(9u, receive(*b));
  EXPECT_EQ(9u, receive(*c));
}

TEST_F(ethernet_fabric, frames_to_nobody_are_dropped) {
  const auto a = join();
  const std::uint64_t others[] = {0,
                                  0x0200'0000'0001,
                                  a->mac(),
                                  a->mac() + 1,
                                  (a->mac() & ~std::uint64_t{0xffff}) | 0xffff,
                                  a->mac() ^ std::uint64_t{1} << 44};
  for (const std::uint64_t mac : others) EXPECT_TRUE(send(*a, mac, 1)) << std::hex << mac;
  EXPECT_TRUE(send(*a, broadcast, 1));
  EXPECT_EQ(0u, receive(*a));
  EXPECT_FALSE(a->has_room_again());
}

TEST_F(ethernet_fabric, a_frame_of_a_wrong_length_is_dropped_and_counted) {
  const auto a = join(), b = join();
  for (const std::size_t bytes : {6u, 13u, 4353u}) EXPECT_TRUE(send(*a, b->mac(), 1, bytes));
  EXPECT_EQ(3u, a->faults().bad_lengths);
  EXPECT_FALSE(b->pending());
}

TEST_F(ethernet_fabric, a_slot_taken_again_has_another_mac) {
  const auto a = join();
  auto b = join();
  const std::uint64_t mac = b->mac();
  const unsigned slot = b->slot();
  EXPECT_TRUE(send(*a, mac, 1));
  b.reset();
  b = join();
  EXPECT_EQ(slot, b->slot());
  EXPECT_NE(mac, b->mac());
  EXPECT_TRUE(send(*a, mac, 2));
  EXPECT_TRUE(send(*a, b->mac(), 3));
  EXPECT_EQ(3u, receive(*b));
  EXPECT_EQ(0u, receive(*b));
}

TEST_F(ethernet_fabric, has_one_link_layer) {
  {
    const auto a = join();
    const std::string why = refusal({});
    EXPECT_TRUE(has(why,
                    "have the link layer Ethernet (RoCE), and this program asks for "
                    "InfiniBand"))
        << why;
    // The file is as it was.
    const auto b = join();
    EXPECT_TRUE(send(*a, b->mac(), 1));
    EXPECT_EQ(1u, receive(*b));
  }
  const auto a = join({});
  EXPECT_EQ(ip_address{}, a->address());
  EXPECT_EQ(0u, a->mac_of(ip_address{}));
  const std::string why = refusal(ethernet());
  EXPECT_TRUE(has(why, "have the link layer InfiniBand, and this program asks for Ethernet"))
      << why;
}

TEST_F(ethernet_fabric, a_fabric_without_a_living_port_takes_another_link_layer) {
  helper_process other({"echo", name});
  EXPECT_NE("", other.line());
  EXPECT_TRUE(has(refusal(ethernet()), "InfiniBand"));
  other.kill();
  const auto a = join();
  EXPECT_TRUE(has(refusal({}), "Ethernet"));
}

TEST_F(ethernet_fabric, ports_have_the_addresses_that_they_ask_for) {
  const auto a = join(ethernet(ipv4(192, 168, 1, 2))), b = join(ethernet(ipv6)), c = join();
  EXPECT_EQ("192.168.1.2", text_of(a->address()));
  EXPECT_EQ("fd00::1234", text_of(b->address()));
  EXPECT_EQ("10.0.0." + std::to_string(1 + c->slot()), text_of(c->address()));
  for (const auto* from : {&a, &b, &c})
    for (const auto* to : {&a, &b, &c}) EXPECT_EQ((*to)->mac(), (*from)->mac_of((*to)->address()));
  EXPECT_EQ(0u, a->mac_of(ipv4(192, 168, 1, 3)));
  EXPECT_EQ(0u, a->mac_of(ip_address{}));
}

TEST_F(ethernet_fabric, an_address_belongs_to_one_port) {
  auto a = join(ethernet(ipv6));
  const std::string why = refusal(ethernet(ipv6));
  EXPECT_TRUE(has(why, "process " + std::to_string(getpid()) +
                           " of the fabric has the IP address "
                           "fd00::1234."))
      << why;
  // The refused port has taken no slot, and an address that is only wished for is replaced.
  const auto b = join(ethernet(ipv6, false));
  EXPECT_EQ(1u, b->slot());
  EXPECT_EQ("10.0.0.2", text_of(b->address()));
  a.reset();
  EXPECT_EQ(0u, b->mac_of(ipv6));
  const auto c = join(ethernet(ipv6, false));
  EXPECT_EQ(ipv6, c->address());
  EXPECT_EQ(c->mac(), b->mac_of(ipv6));
}

join_request on_vlans(std::vector<vlan_address> addresses, bool required = true) {
  join_request how = ethernet({}, required);
  how.vlan_addresses = std::move(addresses);
  return how;
}

TEST_F(ethernet_fabric, addresses_on_vlans_are_found_there_alone) {
  const vlan_address first{100, ipv6}, second{4094, ipv4(192, 168, 1, 2)};
  const auto a = join(on_vlans({first, second})), b = join(on_vlans({{200, ipv6}}));
  EXPECT_EQ((std::vector{first, second}), a->vlan_addresses());
  for (const auto* from : {&a, &b}) {
    EXPECT_EQ(a->mac(), (*from)->mac_of(first.address, 100));
    EXPECT_EQ(a->mac(), (*from)->mac_of(second.address, 4094));
    EXPECT_EQ(b->mac(), (*from)->mac_of(ipv6, 200));
    EXPECT_EQ(a->mac(), (*from)->mac_of(a->address()));
    EXPECT_EQ(0u, (*from)->mac_of(ipv6)) << "on no VLAN";
    EXPECT_EQ(0u, (*from)->mac_of(ipv6, 101)) << "on another VLAN";
    EXPECT_EQ(0u, (*from)->mac_of(a->address(), 100)) << "an address that is on no VLAN";
    EXPECT_EQ(0u, (*from)->mac_of(ip_address{}, 100));
  }
  for (const fabric_listing& one : fabrics())
    if (one.name == name) {
      ASSERT_EQ(2u, one.members.size());
      EXPECT_EQ((std::vector{first, second}), one.members[0].vlan_addresses);
    }
}

TEST_F(ethernet_fabric, an_address_on_a_vlan_belongs_to_one_port) {
  const vlan_address shared{100, ipv6}, other{100, ipv4(192, 168, 1, 2)};
  auto a = join(on_vlans({shared}));
  const std::string why = refusal(on_vlans({other, shared}));
  EXPECT_TRUE(has(why, "process " + std::to_string(getpid()) +
                           " of the fabric has the IP address fd00::1234 on VLAN 100."))
      << why;
  // An address that is only wished for is left out.
  const auto b = join(on_vlans({other, shared}, false));
  EXPECT_EQ(1u, b->slot());
  EXPECT_EQ((std::vector{other}), b->vlan_addresses());
  a.reset();
  EXPECT_EQ(0u, b->mac_of(ipv6, 100));
  a = join();
  EXPECT_EQ(0u, a->slot());
  EXPECT_EQ(0u, b->mac_of(ipv6, 100)) << "an address of the last port of the slot";
  EXPECT_TRUE(a->vlan_addresses().empty());
}

TEST_F(ethernet_fabric, a_port_has_so_many_addresses_on_vlans) {
  std::vector<vlan_address> most;
  for (std::uint8_t i = 0; i < fabric_port::most_vlan_addresses; ++i)
    most.push_back({static_cast<std::uint16_t>(i + 1), ipv4(192, 168, 1, i)});
  const auto a = join(on_vlans(most));
  EXPECT_EQ(most, a->vlan_addresses());
  for (const vlan_address& each : most) EXPECT_EQ(a->mac(), a->mac_of(each.address, each.vlan));
  most.push_back({9, ipv6});
  EXPECT_TRUE(has(refusal(on_vlans(most)), "at most 8 addresses on VLANs"));
}

TEST_F(ethernet_fabric, the_address_of_a_killed_process_is_free) {
  const auto a = join();
  helper_process other({"stay-on-ethernet", name, "10.0.0.77"});
  EXPECT_NE("", other.line());
  EXPECT_NE(0u, a->mac_of(ipv4(10, 0, 0, 77)));
  EXPECT_TRUE(has(refusal(ethernet(ipv4(10, 0, 0, 77))), "process " + std::to_string(other.id())));
  other.kill();
  const auto b = join(ethernet(ipv4(10, 0, 0, 77)));
  EXPECT_EQ(b->mac(), a->mac_of(ipv4(10, 0, 0, 77)));
}

TEST_F(ethernet_fabric, the_next_port_of_a_killed_process_s_slot_may_have_its_address) {
  for (const ip_address address : {ipv4(10, 0, 0, 2), ipv4(10, 0, 0, 77)}) {
    const auto a = join();
    helper_process other({"stay-on-ethernet", name, text_of(address)});
    EXPECT_NE("", other.line());
    other.kill();
    const auto b = join(ethernet(address, false));
    EXPECT_EQ(1u, b->slot());
    EXPECT_EQ(address, b->address());
  }
}

TEST_F(ethernet_fabric, sixty_four_ports_have_sixty_four_addresses) {
  // One has the address that another slot would have had.
  std::vector<port_pointer> all{};
  all.push_back(join(ethernet(ipv4(10, 0, 0, 40))));
  std::set<ip_address> addresses{all[0]->address()};
  std::set<std::uint64_t> macs{all[0]->mac()};
  while (all.size() < fabric_port::most_ports) {
    all.push_back(join());
    addresses.insert(all.back()->address());
    macs.insert(all.back()->mac());
  }
  EXPECT_EQ(fabric_port::most_ports, addresses.size());
  EXPECT_EQ(fabric_port::most_ports, macs.size());
}

TEST_F(ethernet_fabric, ports_are_listed_with_their_addresses) {
  const auto a = join(ethernet(ipv6));
  unsigned found = 0;
  for (const fabric_listing& one : fabrics()) {
    if (one.name != name) continue;
    ++found;
    EXPECT_EQ(link_layer::ethernet, one.link);
    ASSERT_EQ(1u, one.members.size());
    EXPECT_EQ(a->mac(), one.members[0].mac);
    EXPECT_EQ(ipv6, one.members[0].address);
  }
  EXPECT_EQ(1u, found);
}

/// A ring takes InfiniBand packets of 8 bytes. A peer that puts one into the ring of an Ethernet
/// fabric does not get it to the adapter.
TEST_F(ethernet_fabric, a_record_shorter_than_a_frame_is_dropped_and_counted) {
  auto a = join(), b = join();
  EXPECT_TRUE(send(*a, b->mac(), 1, 14));
  const int file = open(path_of(name).c_str(), O_RDWR | O_CLOEXEC);
  const std::uint32_t short_length = 8;
  ASSERT_EQ(
      static_cast<ssize_t>(sizeof short_length),
      pwrite(file, &short_length, sizeof short_length, shm::ring_offset(b->slot(), a->slot())));
  EXPECT_TRUE(b->receive().empty());
  EXPECT_EQ(1u, b->faults().rings_reset);
  a.reset();
  b.reset();
  close(file);  // that ends the locks of this process
}

/// A peer may write over addresses and the link layer. Ports keep their own.
TEST_F(ethernet_fabric, a_hostile_peer_changes_neither_link_layer_nor_address_of_a_port) {
  auto a = join(ethernet(ipv6)), b = join();
  const int file = open(path_of(name).c_str(), O_RDWR | O_CLOEXEC);
  void* const at = mmap(nullptr, shm::control_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(MAP_FAILED, at);
  auto& control = *static_cast<shm::control_part*>(at);
  control.link = 77;
  control.slot[a->slot()].address[0] = 1;
  control.slot[b->slot()].lid = ~0u;
  EXPECT_EQ(ipv6, a->address());
  EXPECT_EQ(0u, a->mac_of(ipv6));
  EXPECT_EQ(0u, a->mac_of(b->address())) << "a LID that no port can have";
  EXPECT_TRUE(send(*b, a->mac(), 5));
  EXPECT_EQ(5u, receive(*a));
  EXPECT_TRUE(has(refusal(ethernet()), "link layer"));
  munmap(at, shm::control_bytes);
  a.reset();
  b.reset();
  close(file);
}

}  // namespace
}  // namespace freehca::wires
