// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "membership.hpp"

#include <errno.h>
#include <unistd.h>

#include <cstring>

#include "addresses.hpp"
#include "ring_word.hpp"
#include "sleeper.hpp"

namespace freehca::wires::shm {
namespace {

using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

// Whether a live port has not yet taken all packets of the slot's last port. The next port of the
// slot would discard them.
bool has_undelivered(const fabric_file& file, unsigned producer) {
  const control_part& control = file.control();
  const std::uint32_t life = control.slot[producer].life.load(memory_order_acquire);
  for (unsigned consumer = 0; consumer < slots; ++consumer) {
    const ring_control& ring = control.rings[consumer][producer];
    const ring_word head{ring.head.load(memory_order_acquire)};
    const ring_word tail{ring.tail.load(memory_order_acquire)};
    const std::uint32_t other = control.slot[consumer].life.load(memory_order_acquire);
    if (other % 2 == 0 || !head.same_lives(ring_word::of(life, other))) continue;
    if (head.position() != (tail.same_ring(head) ? tail.position() : 0) && file.alive(consumer))
      return true;
  }
  return false;
}

// The first free slot; one with packets under way only if there is no other.
unsigned take_free_slot(fabric_file& file) {
  for (const bool any : {false, true})
    for (unsigned slot = 0; slot < slots; ++slot)
      if ((any || (!file.alive(slot) && !has_undelivered(file, slot))) && file.take_slot(slot))
        return slot;
  return slots;
}

// LIDs are given out in turn, so that packets for a former port do not reach its successor.
std::uint16_t take_lid(control_part& control, unsigned slot) {
  std::uint32_t lid = control.next_lid.load(memory_order_relaxed);
  for (std::uint32_t tried = 0; tried < first_multicast_lid; ++tried, ++lid) {
    if (lid == 0 || lid >= first_multicast_lid) lid = 1;
    const unsigned other = control.slot_of_lid[lid].load(memory_order_relaxed);
    const bool taken = other != 0 && other <= slots && other != slot + 1 &&
                       control.slot[other - 1].life.load(memory_order_relaxed) % 2 != 0 &&
                       control.slot[other - 1].lid.load(memory_order_relaxed) == lid;
    if (!taken) break;
  }
  if (lid == 0 || lid >= first_multicast_lid) lid = 1;
  control.next_lid.store(lid + 1, memory_order_relaxed);
  return static_cast<std::uint16_t>(lid);
}

void forget_lid(control_part& control, unsigned slot) {
  const std::uint32_t lid = control.slot[slot].lid.load(memory_order_relaxed);
  if (lid >= first_multicast_lid) return;
  std::uint8_t own = static_cast<std::uint8_t>(slot + 1);
  control.slot_of_lid[lid].compare_exchange_strong(own, 0, memory_order_relaxed);
}

void write_program(slot_record& record) {
  const char* name = program_invocation_short_name;
  bool ended = false;
  for (std::atomic<char>& place : record.program) {
    const bool last = &place == &record.program[sizeof record.program - 1];
    ended = ended || last || *name == 0;
    place.store(ended ? '\0' : *name++, memory_order_relaxed);
  }
}

const char* name_of(link_layer link) {
  return link == link_layer::ethernet ? "Ethernet (RoCE)" : "InfiniBand";
}

bool has_link(const fabric_file& file, link_layer link, std::string& why) {
  if (file.link() == link) return true;
  why = file.path() + ": the ports of this fabric have the link layer " + name_of(file.link()) +
        ", and this program asks for " + name_of(link) +
        ". Use another name for the fabric, or end the programs that use it.";
  return false;
}

}  // namespace

bool take_membership(fabric_file& file, const join_request& how, membership& to, std::string& why) {
  if (!has_link(file, how.link, why) || !addresses_are_free(file, how, why)) return false;
  const unsigned slot = take_free_slot(file);
  if (slot == slots) {
    why = file.path() + ": the fabric is full: it has " + std::to_string(slots) +
          " ports, and no more are possible. End a program that uses it, or use another name.";
    return false;
  }
  control_part& control = file.control();
  slot_record& record = control.slot[slot];
  // That of the slot's last port, which may have been killed.
  set_address(record, {});
  set_vlan_addresses(record, {});
  forget_lid(control, slot);
  const std::uint16_t lid = take_lid(control, slot);
  for (std::atomic<std::uint64_t>& word : control.groups[slot].words)
    word.store(0, memory_order_relaxed);
  record.talkers.store(0, memory_order_relaxed);
  record.sleeping.store(0, memory_order_relaxed);
  record.process.store(getpid(), memory_order_relaxed);
  write_program(record);
  record.lid.store(lid, memory_order_relaxed);
  control.slot_of_lid[lid].store(static_cast<std::uint8_t>(slot + 1), memory_order_relaxed);
  const ip_address address = choose_address(file, slot, how);
  set_address(record, address);
  const std::vector<vlan_address> vlan_addresses = choose_vlan_addresses(file, how);
  set_vlan_addresses(record, vlan_addresses);
  const std::uint32_t former = record.life.load(memory_order_relaxed);
  to = {slot, former % 2 == 0 ? former + 1 : former + 2, lid, how.link, address, vlan_addresses};
  record.life.store(to.life, memory_order_release);
  return true;
}

void end_membership(fabric_file& file, const membership& of) {
  control_part& control = file.control();
  control.slot[of.slot].life.store(of.life + 1, memory_order_release);
  forget_lid(control, of.slot);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (unsigned producer = 0; producer < slots; ++producer)
    if (control.rings[of.slot][producer].wants_room.exchange(0) != 0) wake_slot(control, producer);
  file.free_slot(of.slot);
}

void wake_slot(control_part& control, unsigned slot) {
  slot_record& record = control.slot[slot];
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (record.sleeping.load(memory_order_relaxed) == 0 || record.sleeping.exchange(0) == 0) return;
  record.wakeups.fetch_add(1);
  futex_wake(record.wakeups);
}

}  // namespace freehca::wires::shm
