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

namespace {

using halves = std::atomic<std::uint64_t>[2];

ip_address load(const halves& from) {
  ip_address to;
  for (unsigned half = 0; half < 2; ++half) {
    const std::uint64_t bytes = from[half].load(memory_order_relaxed);
    for (unsigned i = 0; i < 8; ++i)
      to[half * 8 + i] = static_cast<std::uint8_t>(bytes >> (56 - 8 * i));
  }
  return to;
}

void store(halves& to, const ip_address& address) {
  for (unsigned half = 0; half < 2; ++half) {
    std::uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; ++i) bytes = bytes << 8 | address[half * 8 + i];
    to[half].store(bytes, memory_order_relaxed);
  }
}

bool has(const slot_record& record, const vlan_address& address) {
  if (record.life.load(memory_order_acquire) % 2 == 0) return false;
  if (address.vlan == no_vlan) return load(record.address) == address.address;
  return std::any_of(std::begin(record.vlans), std::end(record.vlans), [&](const vlan_record& r) {
    return r.vlan.load(memory_order_relaxed) == address.vlan && load(r.address) == address.address;
  });
}

/// As slot_of_address(), of ports that live. Records of ports that have died become free, so that
/// no one finds the address there.
unsigned living_slot(fabric_file& file, const vlan_address& address) {
  for (unsigned slot = 0; slot < slots; ++slot)
    if (has(file.control().slot[slot], address) && !file.bury(slot)) return slot;
  return slots;
}

bool is_free(fabric_file& file, const vlan_address& address, std::string& why) {
  const unsigned slot = living_slot(file, address);
  if (slot == slots) return true;
  const auto process = file.control().slot[slot].process.load(memory_order_relaxed);
  why = file.path() + ": process " + std::to_string(process) +
        " of the fabric has the IP address " + text_of(address.address);
  if (address.vlan != no_vlan) why += " on VLAN " + std::to_string(address.vlan);
  why += ". Choose another one, or end that process.";
  return false;
}

}  // namespace

ip_address address_of(const slot_record& record) {
  return load(record.address);
}

void set_address(slot_record& record, const ip_address& address) {
  store(record.address, address);
}

std::vector<vlan_address> vlan_addresses_of(const slot_record& record) {
  std::vector<vlan_address> all;
  for (const vlan_record& place : record.vlans) {
    const vlan_address found{static_cast<std::uint16_t>(place.vlan.load(memory_order_relaxed)),
                             load(place.address)};
    if (found.address != ip_address{}) all.push_back(found);
  }
  return all;
}

void set_vlan_addresses(slot_record& record, const std::vector<vlan_address>& addresses) {
  std::size_t i = 0;
  for (vlan_record& place : record.vlans) {
    const vlan_address address = i < addresses.size() ? addresses[i++] : vlan_address{};
    store(place.address, address.address);
    place.vlan.store(address.vlan, memory_order_relaxed);
  }
}

unsigned slot_of_address(const control_part& control, const vlan_address& address) {
  for (unsigned slot = 0; slot < slots; ++slot)
    if (has(control.slot[slot], address)) return slot;
  return slots;
}

bool addresses_are_free(fabric_file& file, const join_request& how, std::string& why) {
  if (how.link != link_layer::ethernet) return true;
  if (how.vlan_addresses.size() > fabric_port::most_vlan_addresses) {
    why = file.path() + ": a port has at most " + std::to_string(fabric_port::most_vlan_addresses) +
          " addresses on VLANs";
    return false;
  }
  if (!how.address_is_required) return true;
  if (how.address != ip_address{} && !is_free(file, {no_vlan, how.address}, why)) return false;
  return std::all_of(how.vlan_addresses.begin(), how.vlan_addresses.end(),
                     [&](const vlan_address& a) { return is_free(file, a, why); });
}

ip_address choose_address(fabric_file& file, unsigned slot, const join_request& how) {
  if (how.link != link_layer::ethernet) return {};
  if (how.address != ip_address{} && living_slot(file, {no_vlan, how.address}) == slots)
    return how.address;
  // Another port may have been given an address of this range. There are fewer ports than
  // addresses.
  ip_address chosen{};
  for (unsigned i = 0; i <= slots + fabric_port::most_vlan_addresses; ++i) {
    chosen = ipv4(10, 0, 0, static_cast<std::uint8_t>(1 + slot + i));
    // Nor is an address chosen that this port is to have on a VLAN.
    const bool on_vlan = std::any_of(how.vlan_addresses.begin(), how.vlan_addresses.end(),
                                     [&](const vlan_address& a) { return a.address == chosen; });
    if (!on_vlan && living_slot(file, {no_vlan, chosen}) == slots) break;
  }
  return chosen;
}

std::vector<vlan_address> choose_vlan_addresses(fabric_file& file, const join_request& how) {
  std::vector<vlan_address> chosen;
  if (how.link != link_layer::ethernet) return chosen;
  for (const vlan_address& address : how.vlan_addresses)
    if (living_slot(file, address) == slots) chosen.push_back(address);
  return chosen;
}

}  // namespace shm
}  // namespace freehca::wires
