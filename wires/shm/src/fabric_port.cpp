// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/wires_shm/fabric_port.hpp>

#include <time.h>

#include <algorithm>
#include <array>
#include <bit>

#include "addresses.hpp"
#include "file_registry.hpp"
#include "membership.hpp"
#include "process_forks.hpp"
#include "ring.hpp"
#include "sleeper.hpp"

namespace freehca::wires {

using namespace shm;
using std::memory_order_acquire;
using std::memory_order_relaxed;

namespace {

/// The kernel is asked for memory of a ring in pieces of this size, as the ring fills for the first
/// time.
constexpr std::size_t lent_bytes = 64 << 10;
/// A port that waits for room looks after this time whether the receiver still lives.
constexpr std::uint64_t life_check_ns = 20'000'000;
/// Packets of one ring in a row while others have some too.
constexpr unsigned most_in_a_row = 16;

constexpr std::uint64_t bit(unsigned slot) {
  return std::uint64_t{1} << slot;
}

/// Calls f(slot) for each bit of the set, as long as it returns true. True: it always did.
template <typename F>
bool for_each_slot(std::uint64_t set, F f) {
  for (; set != 0; set &= set - 1)
    if (!f(static_cast<unsigned>(std::countr_zero(set)))) return false;
  return true;
}

/// Since when a ring refuses packets, and how far its receiver had come then. 0: it does not.
struct full_ring {
  std::uint64_t since = 0, tail = 0;
};
constexpr std::uint64_t longest_full = 1'000'000'000;  // nanoseconds

std::uint64_t monotonic_time() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

class fabric_port::parts {
 public:
  parts(std::shared_ptr<fabric_file> file, const membership& own)
      : file_(std::move(file)), own_(own), record_(file_->control().slot[own.slot]) {}

  /// False in the child of a fork().
  bool usable() const { return forks_ == process_forks.load(memory_order_relaxed); }
  void leave();

  bool send(const std::byte* from, std::size_t bytes);
  bool has_room_again();
  bool has_destination(const std::byte* packet) const {
    return (is_ethernet() ? destinations_of_frame(packet) : destinations(packet)) != 0;
  }
  bool change_group(std::uint16_t mlid, bool in);
  std::span<const std::byte> receive();
  void release() { bytes_ = 0; }
  bool pending() const;
  void sleep(std::uint64_t nanoseconds);
  void wake();

  const membership& own() const { return own_; }
  std::uint64_t mac_of(const vlan_address& of) const;
  fabric_faults faults() const {
    return {resets_sent_.load(memory_order_relaxed) + resets_received_.load(memory_order_relaxed),
            bad_lengths_.load(memory_order_relaxed),
            unsent_.load(memory_order_relaxed) + unmapped_.load(memory_order_relaxed)};
  }

 private:
  control_part& control() const { return file_->control(); }
  ring_control& ring_to(unsigned slot) const { return control().rings[slot][own_.slot]; }
  ring_control& ring_from(unsigned slot) const { return control().rings[own_.slot][slot]; }
  std::uint32_t life_of(unsigned slot) const {
    return control().slot[slot].life.load(memory_order_acquire);
  }
  bool is_ethernet() const { return own_.link == link_layer::ethernet; }
  std::size_t shortest() const { return is_ethernet() ? shortest_frame : shortest_packet; }
  std::uint64_t destinations(const std::byte* packet) const;
  std::uint64_t destinations_of_frame(const std::byte* frame) const;
  std::uint64_t port_of(unsigned lid) const;
  bool is_stopped(unsigned slot);
  bool prepare(std::uint64_t& to, unsigned slot, std::size_t bytes);
  void put(unsigned slot, const std::byte* from, std::size_t bytes);
  void announce(unsigned slot);
  void repair(unsigned slot);
  bool room_at(unsigned slot) const;
  // The bytes of a packet come from another processor's cache, as the ring's head does: both at the
  // same time.
  void prefetch(unsigned slot) const {
    const std::byte* const data = file_->used_ring(own_.slot, slot);
    if (data != nullptr) consumers_[slot].prefetch(data);
  }
  bool take_from(unsigned slot);
  static void count(std::atomic<std::uint64_t>& figure, std::uint64_t by = 1) {
    figure.fetch_add(by, memory_order_relaxed);
  }

  static constexpr unsigned none = slots;

  std::shared_ptr<fabric_file> file_;
  const membership own_;
  slot_record& record_;
  const unsigned forks_ = process_forks.load(memory_order_relaxed);

  std::array<ring_producer, slots> producers_;
  std::array<full_ring, slots> full_rings_{};
  std::atomic<unsigned> full_{none};  ///< the slot whose ring refused the last packet
  std::atomic<std::uint64_t> resets_sent_{0}, bad_lengths_{0}, unsent_{0};

  std::array<ring_consumer, slots> consumers_;
  std::atomic<std::uint64_t> resets_received_{0}, unmapped_{0};
  unsigned current_ = 0;  ///< the slot that the last packet came from
  unsigned in_a_row_ = 0;
  std::size_t bytes_ = 0;  ///< of the packet that is lent; 0: none
  alignas(line_bytes) std::array<std::byte, longest_packet> packet_;

  std::atomic<bool> woken_{false};
};

void fabric_port::parts::leave() {
  if (!usable()) return;
  file_registry registry;
  std::string why;
  const bool locked = file_->lock_creation(why);
  end_membership(*file_, own_);
  if (!file_->anyone_alive() && locked) file_->remove_name();
  if (locked) file_->unlock_creation();
  if (!file_->used_by_process()) registry.remove(*file_);
  file_.reset();
}

std::uint64_t fabric_port::parts::mac_of(const vlan_address& of) const {
  if (!usable() || !is_ethernet() || of.address == ip_address{}) return 0;
  const unsigned slot = slot_of_address(control(), of);
  if (slot == slots) return 0;
  const std::uint32_t lid = control().slot[slot].lid.load(memory_order_relaxed);
  return lid < first_multicast_lid ? mac_of_lid(static_cast<std::uint16_t>(lid)) : 0;
}

// The port that has a unicast LID.
std::uint64_t fabric_port::parts::port_of(unsigned lid) const {
  const unsigned slot = control().slot_of_lid[lid].load(memory_order_relaxed) - 1u;
  if (slot >= slots || control().slot[slot].lid.load(memory_order_relaxed) != lid) return 0;
  return life_of(slot) % 2 != 0 ? bit(slot) : 0;
}

std::uint64_t fabric_port::parts::destinations_of_frame(const std::byte* frame) const {
  std::uint64_t mac = 0, found = 0;
  for (unsigned i = 0; i < 6; ++i) mac = mac << 8 | std::to_integer<std::uint64_t>(frame[i]);
  constexpr std::uint64_t group_bit = std::uint64_t{1} << 40;  // IEEE 802.3, I/G
  if ((mac & group_bit) == 0) return port_of(lid_of_mac(mac)) & ~bit(own_.slot);
  for (unsigned slot = 0; slot < slots; ++slot)
    if (life_of(slot) % 2 != 0 && slot != own_.slot) found |= bit(slot);
  return found;
}

std::uint64_t fabric_port::parts::destinations(const std::byte* packet) const {
  const unsigned dlid =
      std::to_integer<unsigned>(packet[2]) << 8 | std::to_integer<unsigned>(packet[3]);
  if (dlid > last_multicast_lid) return 0;
  if (dlid < first_multicast_lid) return port_of(dlid);
  const unsigned group = dlid - first_multicast_lid;
  std::uint64_t found = 0;
  for (unsigned slot = 0; slot < slots; ++slot)
    if (life_of(slot) % 2 != 0 && slot != own_.slot &&
        (control().groups[slot].words[group / 64].load(memory_order_relaxed) >> group % 64 & 1))
      found |= bit(slot);
  return found;
}

// Whether the receiver of a full ring has taken nothing for a second: its process is stopped.
bool fabric_port::parts::is_stopped(unsigned slot) {
  full_ring& full = full_rings_[slot];
  const std::uint64_t tail = ring_to(slot).tail.load(memory_order_relaxed), now = monotonic_time();
  if (full.since == 0 || full.tail != tail) full = {now, tail};
  return now - full.since >= longest_full;
}

// Makes sure that a packet fits into the ring to this slot, or takes the slot out of `to`. False:
// the ring is full.
bool fabric_port::parts::prepare(std::uint64_t& to, unsigned slot, std::size_t bytes) {
  ring_producer& producer = producers_[slot];
  ring_control& ring = ring_to(slot);
  const std::uint32_t life = life_of(slot);
  std::uint64_t resets = 0;
  bool dropped = life % 2 == 0;
  if (!dropped) {
    producer.follow(ring, ring_word::of(own_.life, life));
    const bool fits = producer.fits(ring, bytes, resets);
    if (resets != 0) count(resets_sent_, resets);
    if (!fits) repair(slot);
    if (fits) full_rings_[slot] = {};
    else if (!file_->bury(slot) && !is_stopped(slot)) return false;
    dropped = !fits;
  }
  if (!dropped) {
    const std::size_t reach = producer.reach(bytes);
    if (reach > producer.bytes_lent) {
      const std::size_t wanted_bytes = (reach + lent_bytes - 1) / lent_bytes * lent_bytes;
      if (file_->lend(slot, own_.slot, wanted_bytes)) producer.bytes_lent = wanted_bytes;
    }
    dropped = reach > producer.bytes_lent || file_->ring(slot, own_.slot) == nullptr;
    if (dropped) count(unsent_);
  }
  if (dropped) to &= ~bit(slot);
  return true;
}

void fabric_port::parts::put(unsigned slot, const std::byte* from, std::size_t bytes) {
  producers_[slot].put(ring_to(slot), file_->ring(slot, own_.slot), from, bytes);
  announce(slot);
}

// Leads the receiver to the packets of this port's ring.
void fabric_port::parts::announce(unsigned slot) {
  std::atomic<std::uint64_t>& talkers = control().slot[slot].talkers;
  if ((talkers.load(memory_order_relaxed) & bit(own_.slot)) == 0) talkers.fetch_or(bit(own_.slot));
  wake_slot(control(), slot);
}

// A peer may have overwritten the words that lead the receiver to the packets. As long as the ring
// is full, no further packet writes them again.
void fabric_port::parts::repair(unsigned slot) {
  const std::uint64_t talkers = control().slot[slot].talkers.load(memory_order_relaxed);
  const bool hidden = (talkers & bit(own_.slot)) == 0;
  if (producers_[slot].repair_head(ring_to(slot)) || hidden) announce(slot);
}

bool fabric_port::parts::send(const std::byte* from, std::size_t bytes) {
  if (!usable()) return true;
  if (bytes < shortest() || bytes > longest_packet) {
    count(bad_lengths_);
    return true;
  }
  std::uint64_t to = is_ethernet() ? destinations_of_frame(from) : destinations(from);
  const bool room = for_each_slot(to, [&](unsigned slot) {
    if (prepare(to, slot, bytes)) return true;
    full_.store(slot, memory_order_relaxed);
    return false;
  });
  if (!room) return false;
  full_.store(none, memory_order_relaxed);
  for_each_slot(to, [&](unsigned slot) {
    put(slot, from, bytes);
    return true;
  });
  return true;
}

bool fabric_port::parts::room_at(unsigned slot) const {
  const std::uint32_t life = life_of(slot);
  return life % 2 == 0 || !producers_[slot].is_of(ring_word::of(own_.life, life)) ||
         producers_[slot].has_room(ring_to(slot));
}

bool fabric_port::parts::has_room_again() {
  const unsigned slot = full_.load(memory_order_relaxed);
  if (slot == none || !usable()) return false;
  repair(slot);
  if (!room_at(slot) && !file_->bury(slot) && !is_stopped(slot)) return false;
  full_.store(none, memory_order_relaxed);
  return true;
}

bool fabric_port::parts::change_group(std::uint16_t mlid, bool in) {
  if (mlid < first_multicast_lid || mlid > last_multicast_lid) return false;
  if (!usable()) return true;
  const unsigned group = mlid - unsigned{first_multicast_lid};
  std::atomic<std::uint64_t>& word = control().groups[own_.slot].words[group / 64];
  if (in) word.fetch_or(bit(group % 64));
  else word.fetch_and(~bit(group % 64));
  return true;
}

// True: packet_ has a packet.
bool fabric_port::parts::take_from(unsigned slot) {
  ring_control& ring = ring_from(slot);
  ring_consumer& consumer = consumers_[slot];
  prefetch(slot);
  if (!consumer.has_bytes(ring, own_.life, life_of(slot))) {
    // The producer would wait for ever if a peer had overwritten the tail.
    if (ring.wants_room.load(memory_order_relaxed) != 0 && consumer.give_room(ring))
      wake_slot(control(), slot);
    return false;
  }
  const std::byte* data = file_->ring(own_.slot, slot);
  if (data == nullptr) {
    count(unmapped_);
    return false;
  }
  const auto got =
      consumer.take(ring, data, own_.life, control().slot[slot].life, packet_.data(), bytes_);
  if (got == ring_consumer::result::reset) count(resets_received_);
  if (got != ring_consumer::result::nothing && consumer.give_room(ring)) wake_slot(control(), slot);
  if (got != ring_consumer::result::packet) return false;
  if (bytes_ >= shortest()) return true;
  // Only a peer that does not keep to the rules has sent it.
  bytes_ = 0;
  count(resets_received_);
  return false;
}

std::span<const std::byte> fabric_port::parts::receive() {
  if (!usable()) return {};
  if (bytes_ != 0) return {packet_.data(), bytes_};
  const std::uint64_t talkers = record_.talkers.load(memory_order_acquire);
  const unsigned first = in_a_row_ < most_in_a_row ? current_ : current_ + 1;
  const std::uint64_t turned = std::rotr(talkers, static_cast<int>(first % slots));
  const bool nothing = for_each_slot(turned, [&](unsigned distance) {
    const unsigned slot = (first + distance) % slots;
    if (!take_from(slot)) return true;
    in_a_row_ = slot == current_ && distance == 0 && first == current_ ? in_a_row_ + 1 : 1;
    current_ = slot;
    return false;
  });
  if (!nothing) return {packet_.data(), bytes_};
  // A peer may have written over this port's life. The others then take the port for another one.
  if (record_.life.load(memory_order_relaxed) != own_.life)
    record_.life.store(own_.life, std::memory_order_release);
  return {};
}

bool fabric_port::parts::pending() const {
  if (!usable()) return false;
  return !for_each_slot(record_.talkers.load(memory_order_acquire), [&](unsigned slot) {
    prefetch(slot);
    return !consumers_[slot].has_bytes(ring_from(slot), own_.life, life_of(slot));
  });
}

void fabric_port::parts::sleep(std::uint64_t nanoseconds) {
  if (!usable()) return;
  const std::uint32_t seen = record_.wakeups.load(memory_order_acquire);
  const unsigned full = full_.load(memory_order_relaxed);
  record_.sleeping.store(1, memory_order_relaxed);
  if (full != none) ring_to(full).wants_room.store(1, memory_order_relaxed);
  // A peer stores a packet or room first and reads `sleeping` or `wants_room` then.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!woken_.load(memory_order_relaxed) && !pending() && (full == none || !room_at(full)))
    futex_wait(record_.wakeups, seen,
               full == none ? nanoseconds : std::min(nanoseconds, life_check_ns));
  record_.sleeping.store(0, memory_order_relaxed);
  woken_.store(false, memory_order_relaxed);
}

void fabric_port::parts::wake() {
  if (!usable()) return;
  woken_.store(true, memory_order_relaxed);
  wake_slot(control(), own_.slot);
}

std::unique_ptr<fabric_port> fabric_port::join(const std::string& name, std::string& why,
                                               const join_request& how) {
  return join_in(default_folder(), name, why, how);
}

std::unique_ptr<fabric_port> fabric_port::join_in(const std::string& folder,
                                                  const std::string& name, std::string& why,
                                                  const join_request& how) {
  const std::string path = fabric_path(folder, name, why);
  if (path.empty()) return nullptr;
  file_registry registry;
  std::shared_ptr<fabric_file> file = registry.find(path);
  if (file != nullptr ? !file->lock_creation(why)
                      : (file = fabric_file::open(path, how.link, why)) == nullptr)
    return nullptr;
  membership own;
  const bool taken = take_membership(*file, how, own, why);
  if (!taken && !file->anyone_alive()) file->remove_name();
  file->unlock_creation();
  if (!taken) return nullptr;
  if (registry.find(path) == nullptr) registry.add(file);
  return std::make_unique<fabric_port>(std::make_unique<parts>(std::move(file), own));
}

fabric_port::fabric_port(std::unique_ptr<parts> own) : own_(std::move(own)) {}
fabric_port::~fabric_port() {
  own_->leave();
}
unsigned fabric_port::slot() const {
  return own_->own().slot;
}
std::uint16_t fabric_port::lid() const {
  return own_->own().lid;
}
std::uint64_t fabric_port::mac() const {
  return mac_of_lid(own_->own().lid);
}
ip_address fabric_port::address() const {
  return own_->own().address;
}
const std::vector<vlan_address>& fabric_port::vlan_addresses() const {
  return own_->own().vlan_addresses;
}
std::uint64_t fabric_port::mac_of(const ip_address& address, std::uint16_t vlan) const {
  return own_->mac_of({vlan, address});
}
bool fabric_port::send(const std::byte* from, std::size_t bytes) {
  return own_->send(from, bytes);
}
bool fabric_port::has_room_again() {
  return own_->has_room_again();
}
bool fabric_port::join_group(std::uint16_t mlid) {
  return own_->change_group(mlid, true);
}
void fabric_port::leave_group(std::uint16_t mlid) {
  own_->change_group(mlid, false);
}
std::span<const std::byte> fabric_port::receive() {
  return own_->receive();
}
void fabric_port::release() {
  own_->release();
}
bool fabric_port::pending() const {
  return own_->pending();
}
void fabric_port::sleep(std::uint64_t nanoseconds) {
  own_->sleep(nanoseconds);
}
void fabric_port::wake() {
  own_->wake();
}
fabric_faults fabric_port::faults() const {
  return own_->faults();
}
bool fabric_port::has_destination(const std::byte* packet) const {
  return own_->has_destination(packet);
}

}  // namespace freehca::wires
