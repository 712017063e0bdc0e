// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "addresses.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace freehca::wires {

namespace {

constexpr std::size_t ipv4_at = 12;  // in an IPv4-mapped address

constexpr ip_address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d};
}

}  // namespace

std::string text_of(const ip_address& address) {
  constexpr ip_address mapped = ipv4(0, 0, 0, 0);
  const bool is_ipv4 = std::equal(mapped.begin(), mapped.begin() + ipv4_at, address.begin());
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(is_ipv4 ? AF_INET : AF_INET6, address.data() + (is_ipv4 ? ipv4_at : 0), text,
            sizeof text);
  return text;
}

namespace shm {

using std::memory_order_acquire;
using std::memory_order_relaxed;

ip_address address_of(const slot_record& record) {
  ip_address to;
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t bytes = record.address[half].load(memory_order_relaxed);
    for (unsigned i = 0; i < 8; ++i)
      to[half * 8 + i] = static_cast<std::uint8_t>(bytes >> (56 - 8 * i));
  }
  return to;
}

void set_address(slot_record& record, const ip_address& address) {
  for (unsigned half = 0; half < 2; ++half) {
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; ++i) bytes = bytes << 8 | address[half * 8 + i];
    record.address[half].store(bytes, memory_order_relaxed);
  }
}

unsigned slot_of_address(const control_part& control, const ip_address& address) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const slot_record& record = control.slot[slot];
    if (record.life.load(memory_order_acquire) % 2 != 0 && address_of(record) == address)
      return slot;
  }
  return slots;
}

namespace {

/// As slot_of_address(), of ports that live. Records of ports that have died become free, so that
/// no one finds the address there.
unsigned living_slot(fabric_file& file, const ip_address& address) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const slot_record& record = file.control().slot[slot];
    if (record.life.load(memory_order_acquire) % 2 != 0 && address_of(record) == address &&
        !file.bury(slot))
      return slot;
  }
  return slots;
}

}  // namespace

bool address_is_free(fabric_file& file, const join_request& how, std::string& why) {
  if (how.link != link_layer::ethernet || !how.address_is_required || how.address == ip_address{})
    return true;
  const unsigned slot = living_slot(file, how.address);
  if (slot == slots) return true;
  const auto process = file.control().slot[slot].process.load(memory_order_relaxed);
  why = file.path() + ": process " + std::to_string(process) +
        " of the fabric has the IP address " + text_of(how.address) +
        ". Choose another one, or end that process.";
  return false;
}

ip_address choose_address(fabric_file& file, unsigned slot, const join_request& how) {
  if (how.link != link_layer::ethernet) return {};
  if (how.address != ip_address{} && living_slot(file, how.address) == slots) return how.address;
  // Another port may have been given an address of this range. There are fewer ports than
  // addresses.
  ip_address chosen{};
  for (unsigned i = 0; i <= slots; ++i) {
    chosen = ipv4(10, 0, 0, static_cast<std::uint8_t>(1 + slot + i));
    if (living_slot(file, chosen) == slots) break;
  }
  return chosen;
}

}  // namespace shm
}  // namespace freehca::wires
