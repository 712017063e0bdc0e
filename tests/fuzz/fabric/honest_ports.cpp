// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "honest_ports.hpp"

#include <algorithm>

#include <freehca/wires_shm/fabrics.hpp>

#include "../check.hpp"
#include "addresses.hpp"

namespace freehca::fuzz {

using wires::fabric_port;

namespace {

constexpr unsigned first_group = 0xc000;
constexpr std::uint64_t short_time = 500;  // nanoseconds
constexpr std::array<std::size_t, 8> lengths{0, 7, 8, 9, 64, 1000, 4352, 4353};

}  // namespace

/// A packet to this LID, or a frame to the MAC of the LID or of a group. All its other bytes are
/// `mark`.
std::vector<std::byte> honest_ports::packet(unsigned dlid, std::size_t bytes, unsigned mark) const {
  constexpr std::size_t mac_bytes = 6;
  constexpr std::uint64_t first_group_mac = 0x3333'0000'0000;  // of IPv6
  std::vector<std::byte> made(std::max(bytes, mac_bytes), static_cast<std::byte>(mark));
  if (link_ == wires::link_layer::ethernet) {
    const std::uint64_t mac = dlid < first_group
                                  ? wires::shm::mac_of_lid(static_cast<std::uint16_t>(dlid))
                                  : first_group_mac + dlid;
    for (unsigned i = 0; i < mac_bytes; ++i)
      made[i] = static_cast<std::byte>(mac >> (8 * (mac_bytes - 1 - i)));
    return made;
  }
  made[2] = static_cast<std::byte>(dlid >> 8);
  made[3] = static_cast<std::byte>(dlid);
  return made;
}

void honest_ports::join(unsigned which) {
  std::string why;
  honest_port& joined = ports_[which];
  joined.port = fabric_port::join(fabric_, why, {link_, {}, false});
  check(joined.port != nullptr, why.c_str());
  const unsigned lid = joined.port->lid();
  check(lid > 0 && lid < first_group, "a port has no unicast LID");
  check(joined.port->slot() < fabric_port::most_ports, "a port has no slot");
  for (unsigned i = 0; i < most; ++i)
    check(i == which || !present(i) || ports_[i].port->slot() != joined.port->slot(),
          "two ports have one slot");
}

void honest_ports::leave(unsigned which) {
  ports_[which].port.reset();
  ports_[which].lent.clear();
}

void honest_ports::join_all() {
  for (unsigned i = 0; i < most; ++i)
    if (!present(i)) join(i);
}

void honest_ports::leave_all() {
  for (unsigned i = 0; i < most; ++i) leave(i);
}

std::span<const std::byte> honest_ports::receive(unsigned which) {
  auto& [port, lent] = ports_[which];
  const auto got = port->receive();
  if (!lent.empty())
    check(std::equal(lent.begin(), lent.end(), got.begin(), got.end()),
          "a packet has changed while it was lent");
  if (got.empty()) return got;
  check(got.size() >= fabric_port::shortest_packet && got.size() <= fabric_port::longest_packet,
        "a packet has a length that is not allowed");
  lent.assign(got.begin(), got.end());
  return got;
}

void honest_ports::release(unsigned which) {
  ports_[which].port->release();
  ports_[which].lent.clear();
}

void honest_ports::take_all(unsigned which) {
  for (unsigned i = 0; i < 8 && !receive(which).empty(); ++i) release(which);
}

unsigned honest_ports::lid_of_other(unsigned which) const {
  for (unsigned i = 1; i < most; ++i)
    if (present((which + i) % most)) return ports_[(which + i) % most].port->lid();
  return 0;
}

void honest_ports::send(unsigned which, unsigned dlid, std::size_t bytes) {
  const auto made = packet(dlid, bytes, which);
  const bool allowed =
      bytes >= fabric_port::shortest_packet && bytes <= fabric_port::longest_packet;
  check(port(which).send(made.data(), bytes) || allowed,
        "a packet that is not allowed has to wait");
}

void honest_ports::send_many(unsigned which, unsigned dlid, unsigned count) {
  const auto made = packet(dlid, fabric_port::longest_packet, which);
  for (unsigned i = 0; i < count && port(which).send(made.data(), made.size()); ++i) {
  }
}

void honest_ports::operate_on_groups(unsigned which, unsigned amount) {
  const unsigned group = first_group - 1 + amount / 2 % 4;
  if (amount % 2 == 0)
    check(port(which).join_group(static_cast<std::uint16_t>(group)) == (group >= first_group),
          "join_group() takes a unicast LID");
  else port(which).leave_group(static_cast<std::uint16_t>(group));
}

// The MAC of the other port's address, or of none: a peer may have written over addresses.
void honest_ports::look_up(unsigned which, unsigned amount) {
  const unsigned other = amount % most;
  if (!present(other)) return;
  const std::uint64_t mac = port(which).mac_of(port(other).address());
  check(mac == 0 || wires::shm::lid_of_mac(mac) < first_group, "an address has a wrong MAC");
  check(link_ == wires::link_layer::ethernet || mac == 0, "an InfiniBand port has a MAC");
}

// Only a wake-up ends this sleep. It was called before, so a peer cannot take it away.
void honest_ports::sleep_woken(unsigned which) {
  port(which).wake();
  port(which).sleep(fabric_port::no_timeout);
}

void honest_ports::list() {
  for (const auto& one : wires::fabrics()) {
    if (one.name != fabric_) continue;
    check(one.members.size() <= fabric_port::most_ports, "a fabric has too many members");
    for (const auto& member : one.members)
      check(member.program.size() <= 32, "a program's name is too long");
  }
}

void honest_ports::operate(input& from) {
  const unsigned what = from.byte(), which = what / 16 % most;
  if (!present(which)) return join(which);
  const unsigned amount = from.byte();
  switch (what % 16) {
    case 0:
    case 1:
      return send(which, lid_of_other(which), lengths[amount % lengths.size()]);
    case 2:
      return send(which, first_group + amount % 4, lengths[amount / 8 % lengths.size()]);
    case 3:
      return send(which, from.word() & 0xffff, amount * 20);
    case 4:
      return static_cast<void>(receive(which));
    case 5:
      return release(which);
    case 6:
      return take_all(which);
    case 7:
      return static_cast<void>(port(which).has_room_again());
    case 8:
      return operate_on_groups(which, amount);
    case 9:
      return amount < 0x80 ? static_cast<void>(port(which).pending()) : look_up(which, amount);
    case 10:
      return port(which).sleep(amount % 4 * short_time);
    case 11:
      return sleep_woken(which);
    case 12:
      return leave(which);
    case 13:
      return amount == 0 ? list() : take_all(which);
    case 14:
      return send_many(which, amount % 2 == 0 ? lid_of_other(which) : first_group + 1, amount);
    default:
      return static_cast<void>(port(which).faults());
  }
}

void honest_ports::drain(unsigned which) {
  // A ring has room for fewer of the shortest packets.
  constexpr unsigned most_packets = fabric_port::most_ports << 16;
  release(which);
  for (unsigned i = 0; !receive(which).empty(); ++i) {
    check(i < most_packets, "a port receives without end");
    release(which);
  }
}

bool honest_ports::reaches(unsigned from, unsigned to) {
  constexpr unsigned most_attempts = 16, most_looks = 1000;
  for (unsigned attempt = 0; attempt < most_attempts; ++attempt) {
    const auto sent = packet(port(to).lid(), 200, 0x80 + attempt);
    // Both do what the adapter's helper thread does: they receive, sleep, and look again.
    drain(from);
    if (!port(from).send(sent.data(), sent.size())) port(from).sleep(short_time);
    port(from).has_room_again();
    port(to).sleep(short_time);
    for (unsigned look = 0; look < most_looks; ++look) {
      const auto got = receive(to);
      if (got.empty()) break;
      const bool same = std::equal(sent.begin(), sent.end(), got.begin(), got.end());
      release(to);
      if (same) return true;
    }
  }
  return false;
}

}  // namespace freehca::fuzz
